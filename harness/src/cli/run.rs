//! Arguments of `run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use mcp_hil_core::transcript::Transport;

use super::OutputArgs;
use super::values::{DEFAULT_DEADLINE, duration, seconds};
use crate::dut::{AUTO, Kind};
use crate::shard::Shard;
use crate::snapshots::Mode;

/// How many inputs a property gets unless told otherwise: as many as leave a run over WebSocket with
/// the native device far below fifteen seconds.
const DEFAULT_CASES: u32 = 25;

/// Where failures are kept unless told otherwise.
const REGRESSIONS: &str = "regressions";

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The device: `auto` (the one closest to a chip that is at hand), `native` (the reference
    /// device as a process), `qemu` (the same on an emulated RISC-V board), `qemu-esp`, `esp-emu` or
    /// `wokwi` (an ESP32 image in Espressif's QEMU, in esp-emulator, or in Wokwi's cloud),
    /// `exec:<command>` (any program), `wait` (a device that somebody else starts), or a file
    /// `*.toml` that tells more of it, and of a board all
    #[arg(long, value_name = "DEVICE", default_value = AUTO)]
    pub dut: String,

    /// The image of a whole flash that an emulated ESP32 boots, as `idf.py merge-bin` makes it
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,

    /// The program of the device with its debug information (ELF), to tell the places of a panic by
    /// function and line
    #[arg(long, value_name = "FILE")]
    pub elf: Option<PathBuf>,

    /// What `--dut auto` tries, in this order, and nothing else [default: what MCP_HIL_PREFER says in
    /// the same way, else all]
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',')]
    pub prefer: Vec<Kind>,

    /// What is under test: a device, or a volume gateway between a caller and a device
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Sut::Device)]
    pub sut: Sut,

    /// Where the gateway under test takes controls: mqtt://host:port/topic, with `user:password@`
    /// before the host if need be, and `?reply=topic` where answers do not come on `topic/reply`
    #[arg(long, value_name = "URL")]
    pub gateway_in: Option<String>,

    /// Where the gateway under test takes its device: ws://host:port/path, or
    /// mqtt://host:port/topic
    #[arg(long, value_name = "URL")]
    pub gateway_out: Option<String>,

    /// Start the gateway under test; it finds both addresses in MCP_HIL_GATEWAY_IN and _OUT
    #[arg(long, value_name = "COMMAND")]
    pub gateway_cmd: Option<String>,

    /// Seed one defect in the reference device (`native`, `qemu`), to see it caught (`mcp-hil-native --list-mutants`)
    #[arg(long, value_name = "NAME")]
    pub mutant: Option<String>,

    /// Let the reference device do one thing in another way that no document forbids, to see that
    /// nothing is found (`mcp-hil-native --list-variants`)
    #[arg(long, value_name = "NAME", conflicts_with = "mutant")]
    pub variant: Option<String>,

    /// How messages reach the device [default: websocket, or what the device's file says]
    #[arg(long, value_enum, value_name = "NAME")]
    pub transport: Option<Transports>,

    /// Reach an MQTT device through this ordinary broker, to which it subscribes [default: the
    /// harness is the broker]
    #[arg(long, value_name = "HOST:PORT")]
    pub mqtt_broker: Option<String>,

    /// Run only the cases whose id begins so, or that judge this requirement (repeatable)
    #[arg(long, value_name = "ID")]
    pub only: Vec<String>,

    /// Inputs to generate for each property; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_CASES)]
    pub cases: u32,

    /// Run only this one of several equal parts of the selection, such as `2/3`; `mcp-hil merge` joins
    /// their runs. All parts need the same `--seed`
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,

    /// How long all properties together may take, such as `90s` or `5m`
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub max_time: Duration,

    /// Most restarts and calls of tools with effects that properties may make, for boards that wear
    /// flash or move parts [default: any number]
    #[arg(long, value_name = "NUMBER")]
    pub budget: Option<u64>,

    /// Run just this scenario file (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    pub scenario: Vec<PathBuf>,

    /// Scenario files of failures that were found once, to be tried first [default: `regressions`,
    /// where there is such a folder]
    #[arg(long, value_name = "FOLDER")]
    pub regressions: Option<PathBuf>,

    /// Copy the scenario files of failures that are found into the folder of `--regressions`
    #[arg(long)]
    pub keep_failures: bool,

    /// Where to listen [default: a free port of 127.0.0.1; 127.0.0.1:8765 with `--dut wait`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Where devices ask for their configuration over HTTP [default: a free port of the address of
    /// `--listen`; port 8003 with `--dut wait`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http_listen: Option<SocketAddr>,

    /// The token that the device presents [default: one made up for each run; none with `wait`]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MCP_HIL_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// How long to wait for an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_DEADLINE, value_parser = seconds, allow_negative_numbers = true)]
    pub deadline: f64,

    /// How long to wait for the device to connect, in seconds [default: 20; 30 on an emulated ESP32,
    /// 90 in Wokwi's cloud; 120 with `wait`]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub connect_deadline: Option<f64>,

    /// How long to wait for the device to connect again by itself after a drop, in seconds
    /// [default: 3; 65 over MQTT]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub redial_deadline: Option<f64>,

    /// Rule set to hold the device to (repeatable) [default: xiaozhi and jsonrpc-2.0]
    #[arg(long, value_name = "NAME")]
    pub rules: Vec<String>,

    /// Let broken SHOULDs fail, not only warn
    #[arg(long)]
    pub strict: bool,

    /// Known failures, TOML
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,

    /// What to do with the answers of steps that carry a snapshot name [default: `check` where there
    /// are reviewed answers of the device or of its family, unless it has a seeded difference; else
    /// `off`]
    #[arg(long, value_enum, value_name = "MODE")]
    pub snapshots: Option<Mode>,

    /// Where reviewed answers lie, a folder for each device
    #[arg(long, value_name = "FOLDER", default_value = "snapshots")]
    pub snapshots_dir: PathBuf,

    /// Seed of whatever is drawn by chance
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// Where the folders of runs are made
    #[arg(long, value_name = "FOLDER", default_value = "target/mcp-hil")]
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

impl RunArgs {
    /// The folder of regressions.
    pub(crate) fn regressions_folder(&self) -> Option<PathBuf> {
        let folder = self.regressions.clone();
        let default = || PathBuf::from(REGRESSIONS);
        folder.or_else(|| Some(default()).filter(|path| self.keep_failures || path.is_dir()))
    }

    /// Whether what is in that folder is to be read: a folder to which failures are going to be
    /// copied need not be there yet.
    pub(crate) fn tries_regressions(&self) -> bool {
        let folder = self.regressions_folder();
        !self.keep_failures || folder.is_some_and(|path| path.exists())
    }

    /// The arguments that change verdicts, as they must stand in a repro command again.
    pub(crate) fn repro_arguments(&self) -> String {
        let mut text = String::new();
        for rule in &self.rules {
            text.push_str(&format!(" --rules {rule}"));
        }
        if self.strict {
            text.push_str(" --strict");
        }
        for (name, path) in [
            ("--scenarios", &self.scenarios),
            ("--baseline", &self.baseline),
            ("--elf", &self.elf),
        ] {
            if let Some(path) = path {
                text.push_str(&format!(" {name} '{}'", path.display()));
            }
        }
        if self.deadline != DEFAULT_DEADLINE {
            text.push_str(&format!(" --deadline {}", self.deadline));
        }
        if let Some(broker) = &self.mqtt_broker {
            text.push_str(&format!(" --mqtt-broker {broker}"));
        }
        if let Some(seconds) = self.redial_deadline {
            text.push_str(&format!(" --redial-deadline {seconds}"));
        }
        for (name, address) in [
            ("--listen", self.listen),
            ("--http-listen", self.http_listen),
        ] {
            if let Some(address) = address {
                text.push_str(&format!(" {name} {address}"));
            }
        }
        text
    }
}
