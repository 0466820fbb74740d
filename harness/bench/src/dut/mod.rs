//! The device under test: how it is named on the command line and how it is started.

mod address;
mod auto;
pub mod board;
pub mod declared;
mod emulated;
mod esp_emu;
mod fidelity;
mod file;
mod files;
pub mod image;
pub mod native;
mod qemu;
mod qemu_esp;
pub mod wokwi;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_hil_boards::Command;
use mcp_hil_core::capability::{Permission, Trust};
use mcp_hil_core::problem::nearest;
use mcp_hil_core::transport::Transport;

use crate::host::{HostBuild, HostOptions};
use mcp_hil_args::AUTO;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{DutInfo, StoodInFor};

pub use auto::{choose, first_at_hand};
pub use board::BoardDut;
pub use declared::{Choice, InPlaceOf, named};
pub use emulated::{Emulated, Emulator};
pub use fidelity::Fidelity;
pub use file::{
    BoardFile, ConsoleFile, DutFile, MqttFile, PartFile, PowerFile, RedactionRule, SnapshotsFile,
    ToolsFile, TriggerFile, TriggerKind, WifiFile,
};
pub use files::Files;
pub use image::FlashImage;
pub use native::NativeProgram;
pub use qemu::Qemu;

/// Shortest token that can be told from other text.
pub const SHORTEST_TOKEN: usize = 8;

/// A device under test.
#[derive(Debug, Clone)]
pub struct Dut {
    /// Its name in reports.
    pub name: String,
    /// How it is run.
    pub how: How,
    /// What its file says beyond that.
    pub file: Option<DutFile>,
    /// Where its failures are made small, if not on itself.
    pub surrogate: Option<Box<Dut>>,
    /// Tools that may be called beyond what its file says: names, in which `*` stands for any characters.
    pub allow: Vec<String>,
    /// What is said where it is a board that is not there.
    pub absent: Option<String>,
    /// The board for which it stands in.
    pub in_place_of: Option<Box<InPlaceOf>>,
}

/// How a device is run.
#[derive(Debug, Clone)]
pub enum How {
    /// The reference device as a process on this host.
    Native {
        /// Its program.
        program: NativeProgram,
        /// What is to be different about it.
        difference: Option<Difference>,
    },
    /// The reference device on an emulated CPU.
    Qemu(Qemu),
    /// An image of a whole flash on an emulated chip.
    Emulated(Box<Emulated>),
    /// A board at a serial port of this host.
    Board(Box<BoardDut>),
    /// Somebody's firmware as a program of this host.
    Host(Box<HostBuild>),
    /// Any program, started through the shell.
    Exec(String),
    /// A device that somebody else starts.
    Wait,
}

/// The longest keep-alive, in seconds, that a device is told and a case waits for.
pub const LONGEST_KEEP_ALIVE_S: u16 = 10;

/// What is asked of a device beside its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// What is to be different about it.
    pub difference: Option<&'a Difference>,
    /// The image for its flash.
    pub firmware: Option<&'a Path>,
    /// Further arguments of its emulator.
    pub arguments: &'a [String],
    /// How firmware is built for this host.
    pub host: Option<&'a HostOptions>,
}

/// What is different about a reference device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// It has this defect.
    Mutant(String),
    /// It does something in another way that no document forbids.
    Variant(String),
}

impl Difference {
    /// What `--mutant` and `--variant` ask for together; at most one of them is there.
    pub fn asked(mutant: Option<&str>, variant: Option<&str>) -> Option<Self> {
        let mutant = mutant.map(|name| Self::Mutant(name.to_owned()));
        mutant.or_else(|| variant.map(|name| Self::Variant(name.to_owned())))
    }

    /// Its kind in one word; the argument is named so.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mutant(_) => "mutant",
            Self::Variant(_) => "variant",
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Mutant(name) | Self::Variant(name) => name,
        }
    }
}

/// What somebody may have meant who named a device that there is none of.
fn meant(spec: &str) -> String {
    let file = format!("ci/duts/{spec}.toml");
    let names = [AUTO, "native", "qemu", "wait"];
    let kinds = emulated::KINDS.iter().copied();
    match nearest(spec, names.into_iter().chain(kinds)) {
        _ if Path::new(&file).is_file() => format!("did you mean `{file}`?"),
        Some(name) => format!("did you mean `{name}`?"),
        None => "for example `--dut exec:'python3 my_device.py'`".to_owned(),
    }
}

impl Dut {
    /// Reads a `--dut` argument: `native`, `qemu`, `qemu-esp`, `esp-emu`, `wokwi`, `host:<folder>`,
    /// `exec:<command>`, `wait`, or the path of a file. Choosing one ([`AUTO`]) is not done here.
    ///
    /// # Errors
    ///
    /// Another word, an empty command, a reference device whose program is not to be found, or an emulator
    /// that is not installed.
    pub fn find(spec: &str, asked: &Asked<'_>) -> Result<Self, UserError> {
        if spec.ends_with(".toml") {
            let file = DutFile::read(Path::new(spec))?;
            let host = file
                .host
                .as_ref()
                .map(|file| asked.host.map_or(file.clone(), |host| host.or(file)));
            let asked = Asked {
                firmware: asked.firmware.or(file.firmware.as_deref()),
                arguments: file.emulator.as_ref().map_or(&[], |file| &file.arguments),
                host: host.as_ref().or(asked.host),
                ..*asked
            };
            let dut = if file.target == file::BOARD {
                Self::new("", How::Board(board::find(&file, &asked)?))
            } else {
                let named = |refusal: UserError| refusal.about(format!("`{spec}`"));
                Self::parse_target(&file.target, &asked).map_err(named)?
            };
            let surrogate = file.surrogate.as_deref().map(Self::parse_surrogate).transpose()?;
            return Ok(Self {
                name: file.name.clone(),
                surrogate: surrogate.map(Box::new),
                file: Some(file),
                ..dut
            });
        }
        Self::parse_target(spec, asked)
    }

    /// [`find`](Self::find) without more than a difference.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find).
    pub fn parse(spec: &str, difference: Option<&Difference>) -> Result<Self, UserError> {
        let asked = Asked { difference, ..Asked::default() };
        Self::find(spec, &asked)
    }

    fn parse_surrogate(spec: &str) -> Result<Self, UserError> {
        let surrogate = Self::parse_target(spec, &Asked::default())?;
        match surrogate.how {
            How::Wait => Err(UserError::usage(
                "`surrogate = \"wait\"`: expected a device that the harness can start",
                "name the reference device, `native`, or a program, `exec:<command>`",
            )),
            _ => Ok(surrogate),
        }
    }

    fn parse_target(spec: &str, asked: &Asked<'_>) -> Result<Self, UserError> {
        let difference = asked.difference;
        if emulated::KINDS.contains(&spec) {
            return Ok(Self::new(spec, How::Emulated(Box::new(Emulated::find(spec, asked)?))));
        }
        let (name, how) = match spec.split_once(':') {
            None if spec == "native" => {
                let program = NativeProgram::find()?;
                if let Some(difference) = difference {
                    program.check_known(difference)?;
                }
                let difference = difference.cloned();
                let how = How::Native { program, difference };
                ("native", how)
            }
            None if spec == "qemu" => {
                if let Some(difference) = difference {
                    // Both bodies of the reference device have the same.
                    NativeProgram::find()?.check_known(difference)?;
                }
                ("qemu", How::Qemu(Qemu::find(asked)?))
            }
            None if spec == "wait" => ("wait", How::Wait),
            Some(("host", folder)) if !folder.is_empty() => {
                let options = asked.host.cloned().unwrap_or_default();
                let say = &mut |line: &str| mcp_hil_core::notice!("{line}");
                ("host", How::Host(Box::new(HostBuild::make(Path::new(folder), &options, say)?)))
            }
            Some(("exec", command)) if !command.trim().is_empty() => {
                ("exec", How::Exec(command.to_owned()))
            }
            _ => {
                return Err(UserError::usage(
                    format!(
                        "unknown device `{spec}`: expected `native`, `qemu`, {}, `host:<folder>`, \
                         `exec:<command>`, `wait` or a file `*.toml`",
                        emulated::KINDS.map(|kind| format!("`{kind}`")).join(", ")
                    ),
                    &meant(spec),
                ));
            }
        };
        if let Some(difference) = difference
            && !matches!(how, How::Native { .. } | How::Qemu(_))
        {
            let kind = difference.kind();
            return Err(UserError::usage(
                format!("`--{kind}` with `--dut {spec}`: only `native` and `qemu` have {kind}s"),
                "leave one of them out",
            ));
        }
        if asked.host.is_some_and(|host| *host != HostOptions::default())
            && !matches!(how, How::Host(_))
        {
            return Err(UserError::usage(
                format!(
                    "an option `--host-...` with `--dut {spec}`: expected a device `host:<folder>`"
                ),
                "leave them out, or name a checkout of firmware: `--dut host:.`",
            ));
        }
        if asked.firmware.is_some() {
            return Err(UserError::usage(
                format!(
                    "`--firmware` with `--dut {spec}`: only {} boot one",
                    emulated::KINDS.map(|kind| format!("`{kind}`")).join(", ")
                ),
                "leave one of them out",
            ));
        }
        Ok(Self::new(name, how))
    }

    fn new(name: &str, how: How) -> Self {
        let name = name.to_owned();
        Self {
            name,
            how,
            file: None,
            allow: Vec::new(),
            surrogate: None,
            absent: None,
            in_place_of: None,
        }
    }

    /// What is different about it on purpose, if it is a reference device.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.how {
            How::Native { difference, .. } => difference.as_ref(),
            How::Qemu(qemu) => qemu.difference.as_ref(),
            How::Emulated(emulated) => emulated.difference.as_ref(),
            How::Board(_) | How::Host(_) | How::Exec(_) | How::Wait => None,
        }
    }

    /// Whether it is the reference device of this project, and no firmware of anybody else.
    pub fn is_reference(&self) -> bool {
        match &self.how {
            How::Native { .. } | How::Qemu(_) => true,
            // Only images of the reference device tell their version so.
            How::Emulated(emulated) => emulated.image.version.is_some(),
            How::Board(_) | How::Host(_) | How::Exec(_) | How::Wait => false,
        }
    }

    /// What reports say of it over a transport.
    pub fn info(&self, transport: Transport) -> DutInfo {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        DutInfo {
            name: self.name.clone(),
            target: self.kind().to_owned(),
            transport: transport.name().into(),
            fidelity: self.stands_on(),
            level: self.fidelity().name().to_owned(),
            cannot_show: words(self.cannot_show()),
            reference: self.is_reference(),
            in_place_of: self.in_place_of.as_ref().map(|board| StoodInFor {
                board: board.file.name.clone(),
                file: board.file.path.clone(),
                why: board.why.clone(),
            }),
        }
    }

    /// The kind of target in one word.
    pub fn kind(&self) -> &'static str {
        match &self.how {
            How::Native { .. } => "native",
            How::Qemu(_) => "qemu",
            How::Emulated(emulated) => emulated.kind(),
            How::Board(_) => "board",
            How::Host(_) => "host",
            How::Exec(_) => "exec",
            How::Wait => "wait",
        }
    }

    /// The files that it runs, where the harness has them.
    pub fn images(&self) -> Vec<&Path> {
        match &self.how {
            How::Qemu(qemu) => vec![qemu.image()],
            How::Emulated(emulated) => vec![&emulated.image.path],
            How::Board(board) => {
                let parts = board.file.parts.iter().map(|part| part.file.as_path());
                board.firmware.as_deref().into_iter().chain(parts).collect()
            }
            How::Host(host) => vec![&host.program],
            How::Native { .. } | How::Exec(_) | How::Wait => Vec::new(),
        }
    }

    /// The password of the network that a board is given: its console may tell it.
    pub fn network_password(&self) -> Option<String> {
        let How::Board(board) = &self.how else {
            return None;
        };
        let name = board.file.wifi.as_ref()?.password_env.as_ref()?;
        // What is shorter is no password of WPA, and striking it out would take other text with it.
        let long_enough = |value: &String| value.len() >= SHORTEST_TOKEN;
        std::env::var(name).ok().filter(long_enough)
    }

    /// The version that the device must tell, where the harness knows what it runs.
    pub fn version(&self) -> Option<&str> {
        match &self.how {
            How::Qemu(qemu) => qemu.version(),
            // What a seeded defect tells may be another one.
            How::Emulated(emulated) if emulated.difference.is_some() => None,
            How::Emulated(emulated) => emulated.image.version.as_deref(),
            How::Native { .. } | How::Board(_) | How::Host(_) | How::Exec(_) | How::Wait => None,
        }
    }

    /// An address of the harness, as the device sees it.
    pub fn seen(&self, address: &str) -> String {
        match &self.how {
            How::Qemu(_) => qemu::seen(address),
            How::Emulated(emulated) => emulated.seen(address),
            How::Native { .. } | How::Board(_) | How::Host(_) | How::Exec(_) | How::Wait => {
                address.to_owned()
            }
        }
    }

    /// Which of its tools may be called.
    pub fn permission(&self) -> Permission {
        let tools = self.file.as_ref().map(|file| file.tools.clone());
        let ToolsFile { mut allow, deny } = tools.unwrap_or_default();
        allow.extend(self.allow.iter().cloned());
        Permission {
            trust: match self.how {
                How::Wait | How::Board(_) => Trust::WellKnown,
                // What a program brings up may be a board, and have motors.
                How::Exec(_) if self.fidelity() == Fidelity::Board => Trust::WellKnown,
                How::Native { .. }
                | How::Qemu(_)
                | How::Emulated(_)
                | How::Host(_)
                | How::Exec(_) => Trust::Simulated,
            },
            allow,
            deny,
        }
    }

    /// How a device that has not connected could, and has this on its console.
    pub fn how_to_connect(&self, transport: Transport, console: &[&str]) -> &'static str {
        match (&self.how, transport) {
            (How::Board(board), _) => board.file.how_to_connect(transport, console),
            (How::Wait, _) => {
                "configure the device with that address and make it connect, for example by its button"
            }
            (How::Qemu(_), _) => {
                "the console shows how far the image got; a line `sta ip` means that the \
                 emulator's network works"
            }
            (How::Emulated(emulated), _) => emulated.how_to_connect(),
            (How::Host(_), _) => {
                "the console shows how far the firmware got; it must ask the address in MCP_HIL_OTA_URL for its \
                 configuration"
            }
            (_, Transport::WebSocket) => {
                "the device must connect to the address in MCP_HIL_WS_URL with the token in \
                 MCP_HIL_WS_TOKEN"
            }
            (_, Transport::Mqtt) => {
                "the device must connect over MQTT to MCP_HIL_MQTT_ENDPOINT, with \
                 MCP_HIL_MQTT_CLIENT_ID, MCP_HIL_MQTT_USERNAME and MCP_HIL_MQTT_PASSWORD"
            }
        }
    }

    /// The `--dut` argument that means this device.
    pub fn spec(&self) -> String {
        if let Some(file) = &self.file {
            return quote(&file.path);
        }
        match &self.how {
            How::Native { difference, .. } => with(difference.as_ref(), "native"),
            How::Qemu(qemu) => with(qemu.difference.as_ref(), "qemu"),
            How::Emulated(emulated) => {
                let image = quote(&emulated.image.path.to_string_lossy());
                let spec = with(emulated.difference.as_ref(), emulated.kind());
                format!("{spec} --firmware {image}")
            }
            How::Host(host) => host_spec(&host.source, &host.options),
            How::Exec(command) => format!("exec:{}", quote(command)),
            How::Board(_) => "board".into(),
            How::Wait => "wait".into(),
        }
    }

    /// How long its connection is waited for unless told otherwise.
    pub fn patience(&self) -> Duration {
        match &self.how {
            How::Native { .. } | How::Qemu(_) | How::Host(_) | How::Exec(_) => {
                Duration::from_secs(20)
            }
            How::Emulated(emulated) => emulated.patience(),
            How::Board(_) => board::PATIENCE,
            How::Wait => Duration::from_secs(120),
        }
    }

    /// How long a run lingers with it unless told otherwise. What the reference device does in time is known.
    pub fn linger(&self) -> Duration {
        if self.is_reference() { Duration::ZERO } else { Duration::from_secs(12) }
    }

    /// The MQTT keep-alive that it is told, in seconds: short, so that a run sees it kept. Clients hang up when
    /// the answer to a PINGREQ takes half of that (esp-mqtt, `process_keepalive`), and a radio or a busy host may
    /// stall for seconds.
    pub fn keep_alive_s(&self) -> u16 {
        match &self.how {
            How::Native { .. } | How::Qemu(_) => 2,
            How::Emulated(_) | How::Board(_) | How::Host(_) | How::Exec(_) | How::Wait => {
                LONGEST_KEEP_ALIVE_S
            }
        }
    }

    /// The command that starts it; `None` when somebody else does. One that cannot read its
    /// environment is told where to dial by this command. What it needs is left in `folder`.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn command(&self, ota_url: &str, folder: &Path) -> io::Result<Option<Command>> {
        Ok(match &self.how {
            How::Native { program, difference } => Some(program.command(difference.as_ref())),
            How::Qemu(qemu) => Some(qemu.command(ota_url)),
            How::Emulated(emulated) => Some(emulated.boot(ota_url, folder)?),
            How::Host(host) => {
                let settings = host.settings(ota_url, folder)?;
                let mut command = Command::direct(&host.program);
                for (name, value) in host.options.environment() {
                    command = command.env(name, value);
                }
                Some(command.env("MCP_HIL_NVS", settings.to_string_lossy()))
            }
            How::Exec(line) => Some(Command::shell(line)),
            How::Board(_) | How::Wait => None,
        })
    }
}

/// Where cargo puts what it builds in a source tree.
fn target_folder(tree: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| tree.join("target"), PathBuf::from)
}

fn with(difference: Option<&Difference>, word: &str) -> String {
    match difference {
        None => word.into(),
        Some(difference) => format!("{word} --{} {}", difference.kind(), difference.name()),
    }
}

/// Firmware on this host as arguments of `run`.
fn host_spec(source: &Path, options: &HostOptions) -> String {
    let mut text = format!("host:{}", quote(&source.to_string_lossy()));
    if let Some(board) = &options.board {
        text.push_str(&format!(" --host-board {}", quote(board)));
    }
    for folder in &options.components {
        text.push_str(&format!(" --host-components {}", quote(&folder.to_string_lossy())));
    }
    for folder in &options.stubs {
        text.push_str(&format!(" --host-stubs {}", quote(&folder.to_string_lossy())));
    }
    if options.sanitize {
        text.push_str(" --host-sanitize");
    }
    if let Some(bytes) = options.heap {
        text.push_str(&format!(" --host-heap {bytes}"));
    }
    if let Some(scale) = options.stack_scale {
        text.push_str(&format!(" --host-stack-scale {scale}"));
    }
    text
}

fn quote(command: &str) -> String {
    format!("'{}'", command.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_lingers_with_firmware_of_others() {
        let linger = |spec| Dut::parse(spec, None).unwrap().linger();
        assert_eq!([linger("wait"), linger("exec:device")], [Duration::from_secs(12); 2]);
    }

    #[test]
    fn what_may_sit_behind_a_radio_gets_a_keep_alive_that_outlasts_a_stall() {
        // Clients hang up after half of it; links were seen to stall for three seconds.
        for spec in ["wait", "exec:device"] {
            let dut = Dut::parse(spec, None).unwrap();
            assert!(dut.keep_alive_s() / 2 > 3, "{spec}");
        }
    }
}
