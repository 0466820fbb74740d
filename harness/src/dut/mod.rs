//! The device under test: how it is named on the command line and how it is started.

mod address;
mod auto;
pub(crate) mod board;
mod emulated;
mod esp_emu;
mod fidelity;
mod file;
pub(crate) mod image;
pub(crate) mod native;
mod qemu;
mod qemu_esp;
pub(crate) mod wokwi;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_hil_core::capability::{Permission, Trust};
use mcp_hil_core::transcript::Transport;
use mcp_hil_rig::{Board, Command, Process, Target};

use crate::plan::{Plan, Refusal};
use crate::run::RunError;

pub use auto::{AUTO, Kind, choose, first_at_hand};
pub use board::BoardDut;
pub use emulated::{Emulated, Emulator};
pub use fidelity::Fidelity;
pub use file::{
    BoardFile, ConsoleFile, DutFile, MqttFile, PartFile, PowerFile, ToolsFile, TriggerFile,
    TriggerKind, WifiFile,
};
pub use image::FlashImage;
pub use qemu::Qemu;

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
    pub twin: Option<Box<Dut>>,
}

/// How a device is run.
#[derive(Debug, Clone)]
pub enum How {
    /// The reference device as a process on this host.
    Native {
        /// Its program.
        program: PathBuf,
        /// What is to be different about it.
        difference: Option<Difference>,
    },
    /// The reference device on an emulated CPU.
    Qemu(Qemu),
    /// An image of a whole flash on an emulated chip.
    Emulated(Box<Emulated>),
    /// A board at a serial port of this host.
    Board(Box<BoardDut>),
    /// Any program, started through the shell.
    Exec(String),
    /// A device that somebody else starts.
    Wait,
}

/// What is asked of a device beside its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// What is to be different about it.
    pub difference: Option<&'a Difference>,
    /// The image for its flash.
    pub firmware: Option<&'a Path>,
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

impl Dut {
    /// Reads a `--dut` argument: `native`, `qemu`, `qemu-esp`, `esp-emu`, `wokwi`, `exec:<command>`,
    /// `wait`, or the path of a file. Choosing one ([`AUTO`]) is not done here.
    ///
    /// # Errors
    ///
    /// Another word, an empty command, a reference device that is neither built nor buildable, or
    /// an emulator that is not installed.
    pub fn find(spec: &str, asked: &Asked<'_>) -> Result<Self, Refusal> {
        if spec.ends_with(".toml") {
            let file = DutFile::read(Path::new(spec))?;
            let asked = Asked {
                firmware: asked.firmware.or(file.firmware.as_deref()),
                ..*asked
            };
            let dut = if file.target == file::BOARD {
                Self {
                    name: String::new(),
                    how: How::Board(board::find(&file, &asked)?),
                    file: None,
                    twin: None,
                }
            } else {
                Self::parse_target(&file.target, &asked)?
            };
            let twin = file.twin.as_deref().map(Self::parse_twin).transpose()?;
            return Ok(Self {
                name: file.name.clone(),
                twin: twin.map(Box::new),
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
    /// As there.
    pub fn parse(spec: &str, difference: Option<&Difference>) -> Result<Self, Refusal> {
        let asked = Asked {
            difference,
            ..Asked::default()
        };
        Self::find(spec, &asked)
    }

    fn parse_twin(spec: &str) -> Result<Self, Refusal> {
        let twin = Self::parse_target(spec, &Asked::default())?;
        match twin.how {
            How::Wait => Err(Refusal::usage(
                "`twin = \"wait\"`: expected a device that the harness can start",
                "name the reference device, `native`, or a program, `exec:<command>`",
            )),
            _ => Ok(twin),
        }
    }

    fn parse_target(spec: &str, asked: &Asked<'_>) -> Result<Self, Refusal> {
        let difference = asked.difference;
        if emulated::KINDS.contains(&spec) {
            return Ok(Self {
                name: spec.to_owned(),
                how: How::Emulated(Box::new(Emulated::find(spec, asked)?)),
                file: None,
                twin: None,
            });
        }
        let (name, how) = match spec.split_once(':') {
            None if spec == "native" => {
                let program = native::program()?;
                if let Some(difference) = difference {
                    native::check_known(&program, difference)?;
                }
                let difference = difference.cloned();
                let how = How::Native {
                    program,
                    difference,
                };
                ("native", how)
            }
            None if spec == "qemu" => {
                if let Some(difference) = difference {
                    // Both bodies of the reference device have the same.
                    native::check_known(&native::program()?, difference)?;
                }
                ("qemu", How::Qemu(Qemu::find(difference)?))
            }
            None if spec == "wait" => ("wait", How::Wait),
            Some(("exec", command)) if !command.trim().is_empty() => {
                ("exec", How::Exec(command.to_owned()))
            }
            _ => {
                return Err(Refusal::usage(
                    format!(
                        "unknown device `{spec}`: expected `native`, `qemu`, {}, `exec:<command>`, \
                         `wait` or a file `*.toml`",
                        emulated::KINDS.map(|kind| format!("`{kind}`")).join(", ")
                    ),
                    "for example `--dut exec:'python3 my_device.py'`",
                ));
            }
        };
        if let Some(difference) = difference
            && !matches!(how, How::Native { .. } | How::Qemu(_))
        {
            let kind = difference.kind();
            return Err(Refusal::usage(
                format!("`--{kind}` with `--dut {spec}`: only `native` and `qemu` have {kind}s"),
                "leave one of them out",
            ));
        }
        if asked.firmware.is_some() {
            return Err(Refusal::usage(
                format!(
                    "`--firmware` with `--dut {spec}`: only {} boot one",
                    emulated::KINDS.map(|kind| format!("`{kind}`")).join(", ")
                ),
                "leave one of them out",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            how,
            file: None,
            twin: None,
        })
    }

    /// What is different about it on purpose, if it is a reference device.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.how {
            How::Native { difference, .. } => difference.as_ref(),
            How::Qemu(qemu) => qemu.difference.as_ref(),
            How::Emulated(emulated) => emulated.difference.as_ref(),
            How::Board(_) | How::Exec(_) | How::Wait => None,
        }
    }

    /// The kind of target in one word.
    pub fn kind(&self) -> &'static str {
        match &self.how {
            How::Native { .. } => "native",
            How::Qemu(_) => "qemu",
            How::Emulated(emulated) => emulated.kind(),
            How::Board(_) => "board",
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
            How::Native { .. } | How::Exec(_) | How::Wait => Vec::new(),
        }
    }

    /// The password of the network that a board is given: its console may tell it.
    pub(crate) fn network_password(&self) -> Option<String> {
        let How::Board(board) = &self.how else {
            return None;
        };
        let name = board.file.wifi.as_ref()?.password_env.as_ref()?;
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    /// The version that the device must tell, where the harness knows what it runs.
    pub fn version(&self) -> Option<&str> {
        match &self.how {
            How::Qemu(qemu) => qemu.version(),
            // What a seeded defect tells may be another one.
            How::Emulated(emulated) if emulated.difference.is_some() => None,
            How::Emulated(emulated) => emulated.image.version.as_deref(),
            How::Native { .. } | How::Board(_) | How::Exec(_) | How::Wait => None,
        }
    }

    /// An address of the harness, as the device sees it.
    pub fn seen(&self, address: &str) -> String {
        match &self.how {
            How::Qemu(_) => qemu::seen(address),
            How::Emulated(emulated) => emulated.seen(address),
            How::Native { .. } | How::Board(_) | How::Exec(_) | How::Wait => address.to_owned(),
        }
    }

    /// Which of its tools may be called.
    pub fn permission(&self) -> Permission {
        let tools = self.file.as_ref().map(|file| file.tools.clone());
        let ToolsFile { allow, deny } = tools.unwrap_or_default();
        Permission {
            trust: match self.how {
                How::Wait | How::Board(_) => Trust::WellKnown,
                // What a program brings up may be a board, and have motors.
                How::Exec(_) if self.fidelity() == Fidelity::Board => Trust::WellKnown,
                How::Native { .. } | How::Qemu(_) | How::Emulated(_) | How::Exec(_) => {
                    Trust::Simulated
                }
            },
            allow,
            deny,
        }
    }

    /// What a person must do for the device to connect, if anything.
    pub fn invitation(
        &self,
        transport: Transport,
        url: &str,
        ota_url: &str,
        plan: &Plan,
    ) -> Option<String> {
        let How::Wait = self.how else { return None };
        let seconds = plan.connect_deadline.as_secs_f64();
        if let (Transport::Mqtt, Some(_)) = (transport, &plan.mqtt.broker) {
            return Some(format!(
                "waiting up to {seconds} s for a device at the broker {url} that listens on `{}` \
                 and publishes to `{}`",
                plan.mqtt.subscribe_topic, plan.mqtt.publish_topic
            ));
        }
        let token = match (&plan.token, transport) {
            (None, _) => "",
            (Some(_), Transport::WebSocket) => ", with the token that you gave",
            (Some(_), Transport::Mqtt) => ", with the token that you gave as its password",
        };
        let by = match transport {
            Transport::WebSocket => "",
            Transport::Mqtt => " over MQTT",
        };
        Some(format!(
            "waiting up to {seconds} s for a device to dial {url}{by}{token}, or to ask \
             {ota_url} for its configuration"
        ))
    }

    /// How a device that has not connected could, and has this on its console.
    pub fn how_to_connect(&self, transport: Transport, console: &[&str]) -> &'static str {
        match (&self.how, transport) {
            (How::Board(board), _) => board.file.how_to_connect(transport, console),
            (How::Wait, _) => "point the device at that address and make it dial, as by its button",
            (How::Qemu(_), _) => {
                "the console tells how far the image came; a line `sta ip` means that the emulator's \
                 network works"
            }
            (How::Emulated(emulated), _) => emulated.how_to_connect(),
            (_, Transport::WebSocket) => {
                "the device must dial the address in MCP_HIL_WS_URL with the token in \
                 MCP_HIL_WS_TOKEN"
            }
            (_, Transport::Mqtt) => {
                "the device must connect by MQTT to MCP_HIL_MQTT_ENDPOINT, with MCP_HIL_MQTT_CLIENT_ID, \
                 MCP_HIL_MQTT_USERNAME and MCP_HIL_MQTT_PASSWORD"
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
            How::Exec(command) => format!("exec:{}", quote(command)),
            How::Board(_) => "board".into(),
            How::Wait => "wait".into(),
        }
    }

    /// How long its connection is waited for unless told otherwise.
    pub fn patience(&self) -> Duration {
        match &self.how {
            How::Native { .. } | How::Qemu(_) | How::Exec(_) => Duration::from_secs(20),
            How::Emulated(emulated) => emulated.patience(),
            How::Board(_) => board::PATIENCE,
            How::Wait => Duration::from_secs(120),
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
            How::Native {
                program,
                difference,
            } => {
                let command = Command::direct(program);
                Some(match difference {
                    Some(difference) => command
                        .arg(format!("--{}", difference.kind()))
                        .arg(difference.name()),
                    None => command,
                })
            }
            How::Qemu(qemu) => Some(qemu.command(ota_url)),
            How::Emulated(emulated) => Some(emulated.boot(ota_url, folder)?),
            How::Exec(line) => Some(Command::shell(line)),
            How::Board(_) | How::Wait => None,
        })
    }

    /// The target, not yet started. It is told by its environment where to dial; the names are a
    /// public contract.
    ///
    /// # Errors
    ///
    /// The run's folder cannot be written, or what is to be flashed cannot be.
    pub fn target(
        &self,
        plan: &Plan,
        transport: Transport,
        url: &str,
        ota_url: &str,
    ) -> Result<Target, RunError> {
        let folder = plan.lane_folder(transport);
        let unwritable = |reason| RunError::Write {
            path: folder.display().to_string(),
            reason,
        };
        let env = environment(plan, transport, url, ota_url);
        if let How::Board(board) = &self.how {
            let flash = board
                .file
                .flash(board.firmware.as_deref(), ota_url)
                .map_err(|refusal| RunError::NoConnection(refusal.text))?;
            let bridge = crate::program::path().map_err(unwritable)?;
            let setup = board.file.setup(bridge, &plan.folder, ota_url, env, flash);
            return Ok(Target::Board(Box::new(Board::new(setup))));
        }
        let Some(command) = self.command(ota_url, &folder).map_err(unwritable)? else {
            return Ok(Target::Wait);
        };
        let told = |command: Command, (name, value)| command.env(name, value);
        let command = env.into_iter().fold(command, told);
        Ok(Target::Process(Process::new(command)))
    }
}

/// What a program finds in its environment: where the device is to dial.
fn environment(
    plan: &Plan,
    transport: Transport,
    url: &str,
    ota_url: &str,
) -> Vec<(String, String)> {
    let token = plan.token.as_deref().unwrap_or_default();
    let mqtt = &plan.mqtt;
    let dial = match transport {
        Transport::WebSocket => vec![("MCP_HIL_WS_URL", url), ("MCP_HIL_WS_TOKEN", token)],
        Transport::Mqtt => vec![
            ("MCP_HIL_MQTT_ENDPOINT", url),
            ("MCP_HIL_MQTT_CLIENT_ID", &mqtt.client_id),
            ("MCP_HIL_MQTT_USERNAME", &mqtt.username),
            ("MCP_HIL_MQTT_PASSWORD", &mqtt.password),
            ("MCP_HIL_MQTT_PUBLISH_TOPIC", &mqtt.publish_topic),
            ("MCP_HIL_MQTT_SUBSCRIBE_TOPIC", &mqtt.subscribe_topic),
        ],
    };
    let always = [
        ("MCP_HIL_TRANSPORT", transport.name()),
        ("MCP_HIL_OTA_URL", ota_url),
    ];
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    always.into_iter().chain(dial).map(owned).collect()
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

fn quote(command: &str) -> String {
    format!("'{}'", command.replace('\'', r"'\''"))
}
