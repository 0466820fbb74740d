//! Arguments of `run`.

use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use mcp_hil_core::transport::Transport;

use super::OutputArgs;
use super::kind::{AUTO, Kind};
use super::snapshots::Mode;
use super::values::{DEFAULT_DEADLINE, argument, duration, duration_or_none};
use mcp_hil_record::shard::Shard;

/// How long all properties may take together, unless told otherwise.
const DEFAULT_MAX_TIME: Duration = Duration::from_secs(60);

/// How many inputs a property gets unless told otherwise: as many as leave a run over WebSocket with
/// the native device far below fifteen seconds.
pub const DEFAULT_INPUTS: u32 = 25;

/// Where failures are kept unless told otherwise.
const REGRESSIONS: &str = "regressions";

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The device: `auto` (the available one that is closest to a real chip), `native` (the reference
    /// device as a process), `qemu` (the same on an emulated RISC-V board), `qemu-esp`, `esp-emu` or
    /// `wokwi` (an ESP32 image in Espressif's QEMU, in esp-emulator, or in Wokwi's cloud),
    /// `host:<folder>` (a checkout of xiaozhi firmware, built as a program of this host), `exec:<command>` (any
    /// program), `wait` (a device that you start yourself), or a file
    /// `*.toml` with more settings (needed for a board). Repeatable: all devices are tested at once; a folder
    /// stands for the files in it
    #[arg(long, value_name = "DEVICE", default_value = AUTO, help_heading = "Device")]
    pub dut: Vec<String>,

    /// The profile in `mcp-hil.toml` to take options from; what is typed comes first. `none`: not even the profile
    /// `default`
    #[arg(long, value_name = "NAME", env = "MCP_HIL_PROFILE", help_heading = "Selection")]
    pub profile: Option<String>,

    /// How many devices are tested at once [default: all]
    #[arg(long, short, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Device")]
    pub jobs: Option<u32>,

    /// The image of the whole flash that an emulated ESP32 boots, as `idf.py merge-bin` creates it
    #[arg(long, value_name = "FILE", help_heading = "Device")]
    pub firmware: Option<PathBuf>,

    /// The board of firmware on this host: `plain`, `lamp`, `display` or `camera`, or one of its own, a folder below
    /// `main/boards` [default: `plain`]
    #[arg(long, value_name = "BOARD", help_heading = "Device")]
    pub host_board: Option<String>,

    /// A folder with components of firmware on this host, beside those in its checkout (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Device")]
    pub host_components: Vec<PathBuf>,

    /// A folder with headers, and sources, that a board of the firmware's own needs beyond the kit's (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Device")]
    pub host_stubs: Vec<PathBuf>,

    /// Build firmware on this host with address and undefined-behaviour sanitizers
    #[arg(long, help_heading = "Device")]
    pub host_sanitize: bool,

    /// The heap of firmware on this host: beyond it, memory is refused as on a full chip; not with sanitizers
    /// [default: no limit]
    #[arg(long, value_name = "BYTES", help_heading = "Device")]
    pub host_heap: Option<NonZeroU64>,

    /// How much larger the stacks of tasks are than what firmware on this host asks for [default: 4, with sanitizers
    /// 16]
    #[arg(long, value_name = "FACTOR", help_heading = "Device")]
    pub host_stack_scale: Option<NonZeroU8>,

    /// The device's program with debug information (ELF), to show the locations of a panic with
    /// function and line
    #[arg(long, value_name = "FILE", help_heading = "Device")]
    pub elf: Option<PathBuf>,

    /// What `--dut auto` tries, in this order, and nothing else [default: the value of MCP_HIL_PREFER,
    /// in the same form; otherwise everything]
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',', help_heading = "Device")]
    pub prefer: Vec<Kind>,

    /// Let another device replace a board that has a file but is not attached, of these kinds in this
    /// order; every report says so. Without KINDS: what `--dut auto` tries after boards [default: `fallback`
    /// in the board's file; otherwise an absent board ends the run with exit code 3]
    #[arg(
        long,
        value_enum,
        value_name = "KINDS",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true, help_heading = "Device")]
    pub fallback: Option<Vec<Kind>>,

    /// What is under test: a device, or a volume gateway between a caller and a device
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Sut::Device, help_heading = "Gateway")]
    pub sut: Sut,

    /// Where the gateway under test accepts control messages: mqtt://host:port/topic, with `user:password@`
    /// before the host if needed, and `?reply=topic` if answers are not sent to `topic/reply`
    #[arg(long, value_name = "URL", help_heading = "Gateway")]
    pub gateway_in: Option<String>,

    /// Where the gateway under test accepts its device: ws://host:port/path, or
    /// mqtt://host:port/topic
    #[arg(long, value_name = "URL", help_heading = "Gateway")]
    pub gateway_out: Option<String>,

    /// Start the gateway under test; it finds both addresses in MCP_HIL_GATEWAY_IN and _OUT
    #[arg(long, value_name = "COMMAND", help_heading = "Gateway")]
    pub gateway_cmd: Option<String>,

    /// Seed one defect in the reference device (`native`, `qemu`), to see it found (`mcp-hil native --list-mutants`)
    #[arg(long, value_name = "NAME", help_heading = "Device")]
    pub mutant: Option<String>,

    /// Let the reference device do one thing differently in a way that no document forbids, to see
    /// that nothing is found (`mcp-hil native --list-variants`)
    #[arg(long, value_name = "NAME", conflicts_with = "mutant", help_heading = "Device")]
    pub variant: Option<String>,

    /// How messages reach the device [default: what the device's file says, else websocket]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Connection")]
    pub transport: Option<Transports>,

    /// Reach an MQTT device through this ordinary broker, to which it subscribes [default: the
    /// harness is the broker]
    #[arg(long, value_name = "HOST:PORT", help_heading = "Connection")]
    pub mqtt_broker: Option<String>,

    /// Run only the cases whose id begins with this, or that judge this requirement (repeatable)
    #[arg(long, value_name = "ID", help_heading = "Selection")]
    pub only: Vec<String>,

    /// Leave out the cases whose id begins with this, or that judge this requirement (repeatable)
    #[arg(long, value_name = "ID", help_heading = "Selection")]
    pub exclude: Vec<String>,

    /// Run only what was not passed when it was last run on this device, by the runs in the folder of `--out`;
    /// everything if there is none
    #[arg(long, help_heading = "Selection")]
    pub last_failed: bool,

    /// Stop after so many cases that failed, were inconclusive or broke the bench; what is known or flaky is not counted
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "fail_fast", help_heading = "Verdicts")]
    pub max_fail: Option<u32>,

    /// Stop after the first such case; same as `--max-fail 1`
    #[arg(long, help_heading = "Verdicts")]
    pub fail_fast: bool,

    /// How often a scripted case that did not pass is tried again, on a device that was started for it. If it passes
    /// then, its verdict is `flaky`
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Verdicts")]
    pub retries: u32,

    /// What flaky cases make of a run that is conforming otherwise; they are reported in any case
    #[arg(long, value_enum, value_name = "RESULT", default_value_t = FlakyResult::Pass, help_heading = "Verdicts")]
    pub flaky_result: FlakyResult,

    /// Inputs to generate for each property; 0 for none [default: 25, or fewer on a device that takes 30 ms or more to
    /// answer]
    #[arg(long, value_name = "NUMBER", alias = "cases", help_heading = "Generated inputs")]
    pub inputs: Option<u32>,

    /// Run only one of several equal parts of the selection, such as `2/3`; `mcp-hil merge` joins the
    /// runs. All parts need the same `--seed`
    #[arg(long, value_name = "K/N", help_heading = "Selection")]
    pub shard: Option<Shard>,

    /// End within this time from when the device is connected, such as `60s`: the cases that find most for the time
    /// that they take are carried out, and the others named. One that has begun is carried through [default: all run]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Selection")]
    pub time_budget: Option<Duration>,

    /// Do not try the commands that show findings again before they are printed
    #[arg(long, help_heading = "Verdicts")]
    pub no_confirm: bool,

    /// How long all properties together may take, such as `90s` or `5m` [default: 60s; less on a device that takes 30 ms
    /// or more to answer, unless `--inputs` says how many inputs]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Generated inputs")]
    pub max_time: Option<Duration>,

    /// Also call this tool, whatever its name says; `*` stands for any characters (repeatable). `allow` in
    /// the device's file says it for good
    #[arg(long, value_name = "TOOL", help_heading = "Selection")]
    pub allow: Vec<String>,

    /// Maximum number of restarts and of tool calls with effects that properties may make, for boards
    /// whose flash wears out or that move parts [default: unlimited]
    #[arg(long, value_name = "NUMBER", help_heading = "Generated inputs")]
    pub budget: Option<u64>,

    /// Run only this scenario file (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with = "only", help_heading = "Selection")]
    pub scenario: Vec<PathBuf>,

    /// Scenario files of failures that were found earlier, to be tried first [default: `regressions`,
    /// if there is such a folder]
    #[arg(long, value_name = "FOLDER", help_heading = "Generated inputs")]
    pub regressions: Option<PathBuf>,

    /// Copy the scenario files of new failures into the folder of `--regressions`
    #[arg(long, help_heading = "Generated inputs")]
    pub keep_failures: bool,

    /// Where to listen [default: `listen` in the device's file; otherwise a free port of an address that
    /// a board can reach, 127.0.0.1:8765 with `--dut wait`, and a free port of 127.0.0.1 for all other
    /// devices]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, help_heading = "Connection")]
    pub listen: Option<SocketAddr>,

    /// Where devices request their configuration over HTTP [default: `http_listen` in the device's file;
    /// otherwise the address of `--listen`, with port 8003 for boards and `--dut wait`, and a free port
    /// for all other devices]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, help_heading = "Connection")]
    pub http_listen: Option<SocketAddr>,

    /// The token that the device presents [default: a new one for each run; none with `wait`]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MCP_HIL_TOKEN",
        hide_env_values = true,
        help_heading = "Connection"
    )]
    pub token: Option<String>,

    /// How long to wait for an answer, such as `10s`
    #[arg(long, value_name = "TIME", default_value = DEFAULT_DEADLINE, value_parser = duration, allow_negative_numbers = true, help_heading = "Connection")]
    pub deadline: Duration,

    /// How long to wait for the device to connect [default: 20s; 30s on an emulated ESP32, 90s in
    /// Wokwi's cloud; 2m with `wait`]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_negative_numbers = true, help_heading = "Connection")]
    pub connect_deadline: Option<Duration>,

    /// How long to wait for the device to reconnect by itself when its connection was closed
    /// [default: 11s, or 3s for the reference device; 65s over MQTT]
    #[arg(long, value_name = "TIME", alias = "redial-deadline", value_parser = duration, allow_negative_numbers = true, help_heading = "Connection")]
    pub reconnect_deadline: Option<Duration>,

    /// How long to stay connected with good requests alone: half of it quiet, then half of it busy; 0 leaves it
    /// out [default: 12s; 0 for the reference device]
    #[arg(long, value_name = "TIME", value_parser = duration_or_none, help_heading = "Selection")]
    pub linger: Option<Duration>,

    /// How many messages may be under way together, if the device answers so many in order: shortens runs on
    /// devices that take long to answer [default: 1, one after the other]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "MCP_HIL_IN_FLIGHT",
        value_parser = clap::value_parser!(u16).range(1..=64),
        help_heading = "Connection"
    )]
    pub in_flight: Option<u16>,

    /// How long to wait for a board that somebody else uses, such as `30m` [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = duration, overrides_with = "wait_for_board", help_heading = "Device")]
    pub wait_for_board: Option<Duration>,

    /// Rule set to test the device against (repeatable) [default: xiaozhi and jsonrpc-2.0]
    #[arg(long, value_name = "NAME", help_heading = "Verdicts")]
    pub rules: Vec<String>,

    /// Treat warnings (violated SHOULDs) as failures
    #[arg(long, help_heading = "Verdicts")]
    pub strict: bool,

    /// File of known failures, TOML
    #[arg(long, value_name = "FILE", help_heading = "Verdicts")]
    pub baseline: Option<PathBuf>,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER", help_heading = "Selection")]
    pub scenarios: Option<PathBuf>,

    /// What to do with the answers of steps that have a snapshot name [default: `check` if there are
    /// reviewed answers of the device or of its family, unless it has a seeded difference; otherwise
    /// `off`]
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Verdicts")]
    pub snapshots: Option<Mode>,

    /// The folder of reviewed answers, with a subfolder for each device
    #[arg(long, value_name = "FOLDER", default_value = "snapshots", help_heading = "Verdicts")]
    pub snapshots_dir: PathBuf,

    /// Seed of everything random
    #[arg(
        long,
        value_name = "NUMBER",
        env = "MCP_HIL_SEED",
        hide_env_values = true,
        help_heading = "Generated inputs"
    )]
    pub seed: Option<u64>,

    /// Where the folders of runs are created
    #[arg(long, value_name = "FOLDER", default_value = "target/mcp-hil", help_heading = "Reports")]
    pub out: PathBuf,

    /// How to report.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sut {
    /// A device
    Device,
    /// A volume gateway
    Gateway,
}

/// What flaky cases make of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FlakyResult {
    /// It conforms
    Pass,
    /// It does not
    Fail,
}

/// The transports of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transports {
    /// WebSocket
    Websocket,
    /// MQTT
    Mqtt,
    /// One after the other; the answers are compared
    Both,
}

impl Transports {
    /// The transports, in the order in which they run.
    pub fn list(self) -> Vec<Transport> {
        match self {
            Self::Websocket => vec![Transport::WebSocket],
            Self::Mqtt => vec![Transport::Mqtt],
            Self::Both => vec![Transport::WebSocket, Transport::Mqtt],
        }
    }
}

/// How a repro command names a baseline.
pub fn baseline_argument(path: &Path) -> String {
    format!(" --baseline '{}'", path.display())
}

impl RunArgs {
    /// How many inputs each property gets.
    pub fn inputs(&self) -> u32 {
        self.inputs.unwrap_or(DEFAULT_INPUTS)
    }

    /// How long all properties together may take.
    pub fn max_time(&self) -> Duration {
        self.max_time.unwrap_or(DEFAULT_MAX_TIME)
    }

    /// Whether the selection is the whole suite, as far as arguments tell.
    pub fn selects_all(&self) -> bool {
        self.only.is_empty() && self.scenario.is_empty() && self.exclude.is_empty()
    }

    /// After how many failures the run stops, if it does.
    pub fn most_failures(&self) -> Option<u32> {
        self.max_fail.or(self.fail_fast.then_some(1))
    }

    /// The folder of regressions.
    pub fn regressions_folder(&self) -> Option<PathBuf> {
        let folder = self.regressions.clone();
        let default = || PathBuf::from(REGRESSIONS);
        folder.or_else(|| Some(default()).filter(|path| self.keep_failures || path.is_dir()))
    }

    /// Whether what is in that folder is to be read: a folder to which failures are going to be
    /// copied need not be there yet.
    pub fn tries_regressions(&self) -> bool {
        let folder = self.regressions_folder();
        !self.keep_failures || folder.is_some_and(|path| path.exists())
    }

    /// The arguments that change verdicts, as they must stand in a repro command again.
    pub fn repro_arguments(&self) -> String {
        let mut text = String::new();
        for rule in &self.rules {
            text.push_str(&format!(" --rules {rule}"));
        }
        if self.strict {
            text.push_str(" --strict");
        }
        for tool in &self.allow {
            text.push_str(&format!(" --allow '{tool}'"));
        }
        for (name, path) in
            [("--scenarios", &self.scenarios), ("--baseline", &self.baseline), ("--elf", &self.elf)]
        {
            if let Some(path) = path {
                text.push_str(&format!(" {name} '{}'", path.display()));
            }
        }
        let deadline = argument(self.deadline);
        if deadline != DEFAULT_DEADLINE {
            text.push_str(&format!(" --deadline {deadline}"));
        }
        if let Some(time) = self.linger {
            text.push_str(&format!(" --linger {}", argument(time)));
        }
        if let Some(number) = self.in_flight {
            text.push_str(&format!(" --in-flight {number}"));
        }
        if let Some(broker) = &self.mqtt_broker {
            text.push_str(&format!(" --mqtt-broker {broker}"));
        }
        if let Some(time) = self.reconnect_deadline {
            text.push_str(&format!(" --reconnect-deadline {}", argument(time)));
        }
        for (name, address) in [("--listen", self.listen), ("--http-listen", self.http_listen)] {
            if let Some(address) = address {
                text.push_str(&format!(" {name} {address}"));
            }
        }
        text
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 0.0.0.0:8765".to_owned())
}
