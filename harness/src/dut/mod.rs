//! The device under test: how it is named on the command line and how it is started.

mod file;
pub(crate) mod native;

use std::path::{Path, PathBuf};

use mcp_hil_core::capability::{Permission, Trust};
use mcp_hil_core::transcript::Transport;
use mcp_hil_rig::{Command, Process, Target};

use crate::plan::{Plan, Refusal};

pub use file::{DutFile, MqttFile, ToolsFile};

/// A device under test.
#[derive(Debug, Clone)]
pub struct Dut {
    /// Its name in reports.
    pub name: String,
    /// How it is run.
    pub how: How,
    /// What its file says beyond that.
    pub file: Option<DutFile>,
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
    /// Any program, started through the shell.
    Exec(String),
    /// A device that somebody else starts.
    Wait,
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
    /// Reads a `--dut` argument: `native`, `exec:<command>`, `wait`, or the path of a file.
    ///
    /// # Errors
    ///
    /// Another word, an empty command, or a reference device that is neither built nor buildable.
    pub fn parse(spec: &str, difference: Option<&Difference>) -> Result<Self, Refusal> {
        if spec.ends_with(".toml") {
            let file = DutFile::read(Path::new(spec))?;
            let dut = Self::parse_target(&file.target, difference)?;
            return Ok(Self {
                name: file.name.clone(),
                file: Some(file),
                ..dut
            });
        }
        Self::parse_target(spec, difference)
    }

    fn parse_target(spec: &str, difference: Option<&Difference>) -> Result<Self, Refusal> {
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
            None if spec == "wait" => ("wait", How::Wait),
            Some(("exec", command)) if !command.trim().is_empty() => {
                ("exec", How::Exec(command.to_owned()))
            }
            _ => {
                return Err(Refusal::usage(
                    format!(
                        "unknown device `{spec}`: expected `native`, `exec:<command>`, `wait` or a \
                         file `*.toml`"
                    ),
                    "for example `--dut exec:'python3 my_device.py'`",
                ));
            }
        };
        if let Some(difference) = difference
            && name != "native"
        {
            let kind = difference.kind();
            return Err(Refusal::usage(
                format!("`--{kind}` with `--dut {spec}`: only the native device has {kind}s"),
                "leave one of them out",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            how,
            file: None,
        })
    }

    /// The kind of target in one word.
    pub fn kind(&self) -> &'static str {
        match self.how {
            How::Native { .. } => "native",
            How::Exec(_) => "exec",
            How::Wait => "wait",
        }
    }

    /// What verdicts about it stand on.
    pub fn fidelity(&self) -> &'static str {
        match &self.how {
            How::Native { difference, .. } => match difference {
                None => "simulation, no board attached",
                Some(Difference::Mutant(_)) => "simulation with a seeded defect, no board attached",
                Some(Difference::Variant(_)) => {
                    "simulation of a harmless variation, no board attached"
                }
            },
            How::Exec(_) => "a program on this host, no board attached",
            How::Wait => "a device that somebody else started",
        }
    }

    /// Which of its tools may be called.
    pub fn permission(&self) -> Permission {
        let tools = self.file.as_ref().map(|file| file.tools.clone());
        let ToolsFile { allow, deny } = tools.unwrap_or_default();
        Permission {
            trust: match self.how {
                How::Native { .. } | How::Exec(_) => Trust::Simulated,
                How::Wait => Trust::WellKnown,
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

    /// How a device that has not connected could.
    pub fn how_to_connect(&self, transport: Transport) -> &'static str {
        match (&self.how, transport) {
            (How::Wait, _) => "point the device at that address and make it dial, as by its button",
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
            How::Native { difference, .. } => match difference {
                None => "native".into(),
                Some(difference) => {
                    format!("native --{} {}", difference.kind(), difference.name())
                }
            },
            How::Exec(command) => format!("exec:{}", quote(command)),
            How::Wait => "wait".into(),
        }
    }

    /// The command that starts it; `None` when somebody else does.
    pub fn command(&self) -> Option<Command> {
        match &self.how {
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
            How::Exec(line) => Some(Command::shell(line)),
            How::Wait => None,
        }
    }

    /// The target, not yet started. It is told by its environment where to dial; the names are a
    /// public contract.
    pub fn target(&self, plan: &Plan, transport: Transport, url: &str, ota_url: &str) -> Target {
        let Some(command) = self.command() else {
            return Target::Wait;
        };
        let command = command
            .env("MCP_HIL_TRANSPORT", transport.name())
            .env("MCP_HIL_OTA_URL", ota_url);
        let token = plan.token.as_deref().unwrap_or_default();
        let command = match transport {
            Transport::WebSocket => command
                .env("MCP_HIL_WS_URL", url)
                .env("MCP_HIL_WS_TOKEN", token),
            Transport::Mqtt => command
                .env("MCP_HIL_MQTT_ENDPOINT", url)
                .env("MCP_HIL_MQTT_CLIENT_ID", &plan.mqtt.client_id)
                .env("MCP_HIL_MQTT_USERNAME", &plan.mqtt.username)
                .env("MCP_HIL_MQTT_PASSWORD", &plan.mqtt.password)
                .env("MCP_HIL_MQTT_PUBLISH_TOPIC", &plan.mqtt.publish_topic)
                .env("MCP_HIL_MQTT_SUBSCRIBE_TOPIC", &plan.mqtt.subscribe_topic),
        };
        Target::Process(Process::new(command))
    }
}

fn quote(command: &str) -> String {
    format!("'{}'", command.replace('\'', r"'\''"))
}
