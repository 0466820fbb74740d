//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mcp_hil_core::transcript::Transport;
use mcp_hil_rig::flash::{Chip, FlashSize};

use crate::dut::{AUTO, Kind};

/// How long an answer is waited for unless told otherwise, in seconds: real cameras take long.
const DEFAULT_DEADLINE: f64 = 10.0;

/// How many inputs a property gets unless told otherwise: as many as leave a run over WebSocket with
/// the native device far below fifteen seconds.
const DEFAULT_CASES: u32 = 25;

/// Plays the backend to an MCP device (xiaozhi family), judges every answer, writes reports.
#[derive(Debug, Parser)]
#[command(name = "mcp-hil", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the suite against a device
    Run(Box<RunArgs>),
    /// Take device_control messages over MQTT, drive a device, and bring its answers back
    Gateway(Box<GatewayArgs>),
    /// List the cases, or the requirements
    List(ListArgs),
    /// Explain a requirement or a case
    Explain(ExplainArgs),
    /// Judge the transcripts of an earlier run again, without a device
    Replay(ReplayArgs),
    /// Compare two runs: verdicts, findings, answers, tools, and how long answers took
    Diff(DiffArgs),
    /// Build images of the reference device, and make flash images
    #[command(subcommand)]
    Firmware(FirmwareCommand),
    /// Tell what is here to run devices on, what is missing, and what brings it
    Doctor(DoctorArgs),
    /// Bring in a program that no package manager has
    #[command(subcommand)]
    Setup(SetupCommand),
    /// Play the backend for devices on the bench and show the traffic, without testing
    Serve(ServeArgs),
    /// Test the harness: are all known defects found, and nothing in devices that do no wrong
    SelfTest(SelfTestArgs),
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The device: `auto` (the one closest to a chip that is at hand), `native` (the reference
    /// device as a process), `qemu` (the same on an emulated RISC-V board), `qemu-esp`, `esp-emu` or
    /// `wokwi` (an ESP32 image in Espressif's QEMU, in esp-emulator, or in Wokwi's cloud),
    /// `exec:<command>` (any program), `wait` (a device that somebody else starts), or a file
    /// `*.toml` that tells more of it
    #[arg(long, value_name = "DEVICE", default_value = AUTO)]
    pub dut: String,

    /// The image of a whole flash that an emulated ESP32 boots, as `idf.py merge-bin` makes it
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,

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

    /// How long all properties together may take, such as `90s` or `5m`
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub max_time: Duration,

    /// Most calls of tools with effects that properties may make, for boards whose tools wear flash
    /// or move parts [default: any number]
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

/// Arguments of `gateway`.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    /// The device: `wait` (one that somebody else starts), `native` (the reference device as a
    /// process) or `exec:<command>` (any program)
    #[arg(long, value_name = "DEVICE", default_value = "wait")]
    pub dut: String,

    /// How the device connects
    #[arg(long, value_enum, value_name = "NAME", default_value_t = DeviceTransport::Websocket)]
    pub transport: DeviceTransport,

    /// Where the device dials [default: 127.0.0.1:8765; a free port unless `--dut wait`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// The token that the device presents; over MQTT its password [default: none with `wait`]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MCP_HIL_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// Where callers connect over MQTT [default: 127.0.0.1:1884; none with `--broker`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub control_listen: Option<SocketAddr>,

    /// Meet callers at an ordinary MQTT broker
    #[arg(long, value_name = "HOST:PORT")]
    pub broker: Option<String>,

    /// User name for the broker
    #[arg(long, value_name = "NAME", requires = "broker")]
    pub broker_user: Option<String>,

    /// Password for the broker
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "MCP_HIL_BROKER_PASSWORD",
        hide_env_values = true
    )]
    pub broker_password: Option<String>,

    /// The topic of controls
    #[arg(long, value_name = "TOPIC", default_value = "device_control")]
    pub control_topic: String,

    /// The topic of answers
    #[arg(long, value_name = "TOPIC", default_value = "device_control/reply")]
    pub reply_topic: String,

    /// Take ids from request ids as they are, also those that no 32-bit device can answer
    #[arg(long)]
    pub wide_ids: bool,

    /// How long the device may take for an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_DEADLINE, value_parser = seconds, allow_negative_numbers = true)]
    pub deadline: f64,
}

/// How a device connects to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceTransport {
    /// WebSocket
    Websocket,
    /// MQTT
    Mqtt,
}

impl From<DeviceTransport> for Transport {
    fn from(transport: DeviceTransport) -> Self {
        match transport {
            DeviceTransport::Websocket => Self::WebSocket,
            DeviceTransport::Mqtt => Self::Mqtt,
        }
    }
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

/// How to report.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write JUnit to this file too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// What to print on standard output: text for people, or events as JSON, one a line
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Print warnings and cases that do not apply one by one
    #[arg(long, short)]
    pub verbose: bool,

    /// When to colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Human,
    /// JSON, one object a line
    Json,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List the requirements instead of the cases
    #[arg(long)]
    pub requirements: bool,

    /// Only ids that begin so
    #[arg(value_name = "PREFIX", default_value = "")]
    pub prefix: String,

    /// Rule set in force (repeatable) [default: xiaozhi and jsonrpc-2.0]
    #[arg(long, value_name = "NAME")]
    pub rules: Vec<String>,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Slug of a requirement (`ids.echo`) or id of a case (`ids/numbers`)
    pub id: String,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The run's folder, such as `target/mcp-hil/latest`
    pub run: PathBuf,

    /// Let broken SHOULDs fail, not only warn
    #[arg(long)]
    pub strict: bool,

    /// Known failures, TOML
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,

    /// How to report.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The folder of the first run, such as `target/mcp-hil/2026-11-21T121220Z-native`
    #[arg(value_name = "RUN-A")]
    pub first: PathBuf,

    /// The folder of the second run
    #[arg(value_name = "RUN-B")]
    pub second: PathBuf,

    /// What to print: text for people, or all of it as one JSON object
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Show all latencies, and differences in words for people one by one
    #[arg(long, short)]
    pub verbose: bool,
}

/// What to do with firmware.
#[derive(Debug, Subcommand)]
pub enum FirmwareCommand {
    /// Build images of the reference device from the source tree, and print where they are
    Build(BuildArgs),
    /// Make a flash image of a program: bootloader, partition table, program, settings
    Image(ImageArgs),
}

/// Arguments of `firmware build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// For what: `virt` (QEMU's RISC-V board), `esp32c3`, `esp32c6` or `esp32c3-qemu` [default: all]
    #[arg(value_name = "CHIP")]
    pub chips: Vec<String>,
}

/// Arguments of `firmware image`.
#[derive(Debug, Args)]
pub struct ImageArgs {
    /// The chip: esp32, esp32s2, esp32s3, esp32c3 or esp32c6
    #[arg(long, value_name = "CHIP")]
    pub chip: Chip,

    /// The program, an ELF file as the linker left it
    #[arg(long, value_name = "FILE")]
    pub elf: PathBuf,

    /// What is to stand in the partition of settings [default: nothing; it is erased]
    #[arg(long, value_name = "FILE")]
    pub nvs: Option<PathBuf>,

    /// A partition table, `.csv` or `.bin` [default: settings at 0x9000, the program at 0x10000]
    #[arg(long, value_name = "FILE")]
    pub partitions: Option<PathBuf>,

    /// Size of the flash memory
    #[arg(long, value_enum, value_name = "SIZE", default_value_t = ImageSize::Four)]
    pub size: ImageSize,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Sizes of flash memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageSize {
    /// 2 MiB
    #[value(name = "2MB")]
    Two,
    /// 4 MiB
    #[value(name = "4MB")]
    Four,
    /// 8 MiB
    #[value(name = "8MB")]
    Eight,
    /// 16 MiB
    #[value(name = "16MB")]
    Sixteen,
}

impl From<ImageSize> for FlashSize {
    fn from(size: ImageSize) -> Self {
        match size {
            ImageSize::Two => Self::Two,
            ImageSize::Four => Self::Four,
            ImageSize::Eight => Self::Eight,
            ImageSize::Sixteen => Self::Sixteen,
        }
    }
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Exit with 3 when something is missing that is not optional
    #[arg(long)]
    pub strict: bool,

    /// What to print: text for people, or all of it as one JSON object
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
}

/// What to bring in.
#[derive(Debug, Subcommand)]
pub enum SetupCommand {
    /// Espressif's QEMU, which knows the chips: a pinned release, checked, into a cache folder
    QemuEsp(SetupArgs),
}

/// The cores of chips, for each of which Espressif's QEMU has a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cores {
    /// ESP32-C3
    Riscv,
    /// ESP32 and ESP32-S3
    Xtensa,
}

impl Cores {
    /// What QEMU calls them.
    pub(crate) fn family(self) -> &'static str {
        match self {
            Self::Riscv => "riscv32",
            Self::Xtensa => "xtensa",
        }
    }

    /// The name of the program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Riscv => "qemu-system-riscv32",
            Self::Xtensa => "qemu-system-xtensa",
        }
    }
}

/// Arguments of `setup qemu-esp`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Which cores it is to emulate
    #[arg(long, value_enum, value_name = "CORES", default_value_t = Cores::Riscv)]
    pub cores: Cores,

    /// Where to download the archive (`.tar.xz`) [default: the pinned release on GitHub]
    #[arg(long, value_name = "URL", env = "MCP_HIL_QEMU_ESP_URL")]
    pub url: Option<String>,

    /// SHA-256 that the archive must have [default: that of the pinned release for this computer]
    #[arg(long, value_name = "HEX", env = "MCP_HIL_QEMU_ESP_SHA256")]
    pub sha256: Option<String>,

    /// The cache folder [default: `mcp-hil` in the user's own, such as `~/.cache/mcp-hil`]
    #[arg(long, value_name = "FOLDER", env = "MCP_HIL_CACHE")]
    pub cache: Option<PathBuf>,

    /// Download again what is there already
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `self-test`.
#[derive(Debug, Args)]
pub struct SelfTestArgs {
    /// Only mutants and variations whose name begins so; `good` is the device without either
    /// (repeatable)
    #[arg(long, value_name = "PREFIX")]
    pub only: Vec<String>,

    /// Try each mutant with the cases alone that are known to kill it, and variations over WebSocket
    /// alone
    #[arg(long)]
    pub quick: bool,

    /// Try no mutants, only the device itself and its variations
    #[arg(long)]
    pub harmless: bool,

    /// Try mutants with generated inputs alone, once: which ones need no script, and what shrinking
    /// costs
    #[arg(long, conflicts_with = "quick")]
    pub generated: bool,

    /// Generated inputs for each property, in every run [default: as many as `run` has]
    #[arg(long, value_name = "NUMBER")]
    pub cases: Option<u32>,

    /// How many runs at a time [default: twice the number of processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Seed of all runs
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// What to print: tables for people, or events as JSON, one a line
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Take a mutant for a variation, or the other way round, to see that it is noticed
    /// (repeatable)
    #[arg(long, value_name = "NAME", hide = true)]
    pub mistake: Vec<String>,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
While it runs, a line typed goes to the device that came last:
  call self.audio_speaker.set_volume {\"volume\": 50}   calls a tool
  tools                                               lists the tools again
  {\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}    goes out as it is, as MCP message
  {\"type\": \"tts\", \"state\": \"start\"}                goes out as it is, as message of its type
Ctrl-C ends it with exit code 0.")]
pub struct ServeArgs {
    /// Which ports are open, and which one devices are told that ask for their configuration
    #[arg(long, value_enum, default_value_t = Served::Both, value_name = "NAME")]
    pub transport: Served,

    /// Where to listen; `0.0.0.0` takes all interfaces, and lets others in this network in
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,

    /// Port of HTTP: configuration, activation, pictures; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8003)]
    pub http_port: u16,

    /// Port of WebSocket; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8000)]
    pub ws_port: u16,

    /// Port of MQTT; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 1883)]
    pub mqtt_port: u16,

    /// The token that devices must present: over WebSocket as `Authorization: Bearer <token>`, over
    /// MQTT as password. Devices get it with their configuration [default: one made up]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MCP_HIL_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// Send nothing but answers: no `initialize`, no `tools/list`
    #[arg(long, short)]
    pub quiet: bool,

    /// Show messages whole
    #[arg(long, short)]
    pub verbose: bool,
}

/// The transports that `serve` offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Served {
    /// WebSocket only
    Websocket,
    /// MQTT only
    Mqtt,
    /// Both ports; devices are told MQTT, which stock firmware prefers
    Both,
}

/// Where failures are kept unless told otherwise.
const REGRESSIONS: &str = "regressions";

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

/// A time with its unit: `500ms`, `90s`, `5m`, `1h`; a plain number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("", 1.0),
    ];
    let parsed = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    match parsed {
        Some(seconds) if seconds > 0.0 && seconds <= 86_400.0 => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("expected a time above 0 and up to a day, such as `90s` or `5m`".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0 and up to a day".into()),
    }
}
