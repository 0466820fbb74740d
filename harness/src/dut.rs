//! The device under test: how it is named on the command line and how it is started.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use mcp_hil_core::capability::Trust;
use mcp_hil_core::transcript::Transport;
use mcp_hil_rig::{Command, Process, Target};

use crate::plan::{Plan, Refusal};

/// The package of the native reference device, and its program.
const NATIVE_PACKAGE: &str = "reference-native";
const NATIVE_PROGRAM: &str = "mcp-hil-native";

/// A device under test.
#[derive(Debug, Clone)]
pub struct Dut {
    /// Its name in reports.
    pub name: String,
    /// How it is run.
    pub how: How,
}

/// How a device is run.
#[derive(Debug, Clone)]
pub enum How {
    /// The reference device as a process on this host.
    Native {
        /// Its program.
        program: PathBuf,
        /// The defect that it is to have.
        mutant: Option<String>,
    },
    /// Any program, started through the shell.
    Exec(String),
    /// A device that somebody else starts.
    Wait,
}

impl Dut {
    /// Reads a `--dut` argument: `native`, `exec:<command>` or `wait`.
    ///
    /// # Errors
    ///
    /// Another word, an empty command, or a reference device that is neither built nor buildable.
    pub fn parse(spec: &str, mutant: Option<&str>) -> Result<Self, Refusal> {
        let (name, how) = match spec.split_once(':') {
            None if spec == "native" => {
                let program = native_program()?;
                let mutant = mutant
                    .map(|name| known_mutant(&program, name))
                    .transpose()?;
                ("native", How::Native { program, mutant })
            }
            None if spec == "wait" => ("wait", How::Wait),
            Some(("exec", command)) if !command.trim().is_empty() => {
                ("exec", How::Exec(command.to_owned()))
            }
            _ => {
                return Err(Refusal::usage(
                    format!(
                        "unknown device `{spec}`: expected `native`, `exec:<command>` or `wait`"
                    ),
                    "for example `--dut exec:'python3 my_device.py'`",
                ));
            }
        };
        if mutant.is_some() && name != "native" {
            return Err(Refusal::usage(
                format!("`--mutant` with `--dut {spec}`: only the native device has mutants"),
                "leave one of them out",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            how,
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
            How::Native { mutant: None, .. } => "simulation, no board attached",
            How::Native { .. } => "simulation with a seeded defect, no board attached",
            How::Exec(_) => "a program on this host, no board attached",
            How::Wait => "a device that somebody else started",
        }
    }

    /// Which of its tools may be called.
    pub fn trust(&self) -> Trust {
        match self.how {
            How::Native { .. } | How::Exec(_) => Trust::Simulated,
            How::Wait => Trust::WellKnown,
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
        match &self.how {
            How::Native { mutant: None, .. } => "native".into(),
            How::Native {
                mutant: Some(mutant),
                ..
            } => format!("native --mutant {mutant}"),
            How::Exec(command) => format!("exec:{}", quote(command)),
            How::Wait => "wait".into(),
        }
    }

    /// The command that starts it; `None` when somebody else does.
    pub fn command(&self) -> Option<Command> {
        match &self.how {
            How::Native { program, mutant } => {
                let command = Command::direct(program);
                Some(match mutant {
                    Some(name) => command.arg("--mutant").arg(name),
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
                .env("MCP_HIL_MQTT_PUBLISH_TOPIC", &plan.mqtt.publish_topic),
        };
        Target::Process(Process::new(command))
    }
}

/// The name of a mutant that the device knows.
fn known_mutant(program: &Path, name: &str) -> Result<String, Refusal> {
    let listed = std::process::Command::new(program)
        .arg("--list-mutants")
        .output();
    let listed = listed.map_err(|error| {
        Refusal::bench(
            format!(
                "cannot start the reference device `{}`: {error}",
                program.display()
            ),
            "check MCP_HIL_NATIVE",
        )
    })?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let mut names = text.lines().filter_map(|line| line.split('\t').next());
    if names.clone().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let hint = match mcp_hil_core::problem::nearest(name, &mut names) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    Err(Refusal::usage(
        format!("the native device has no mutant `{name}`"),
        &format!("{hint}`mcp-hil-native --list-mutants` lists all"),
    ))
}

fn quote(command: &str) -> String {
    format!("'{}'", command.replace('\'', r"'\''"))
}

/// Finds the reference device: named by `MCP_HIL_NATIVE`, built from the source tree that this
/// program came from, or beside this program.
fn native_program() -> Result<PathBuf, Refusal> {
    if let Some(named) = std::env::var_os("MCP_HIL_NATIVE") {
        return Ok(named.into());
    }
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    if let Some(tree) = tree.filter(|tree| tree.join("firmware/native/Cargo.toml").exists()) {
        return build(tree);
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(NATIVE_PROGRAM)));
    beside.filter(|path| path.exists()).ok_or_else(|| {
        Refusal::bench(
            format!("the reference device `{NATIVE_PROGRAM}` is not here, and neither is its source"),
            "name its program in MCP_HIL_NATIVE, or test a device of your own with `--dut exec:<command>`",
        )
    })
}

/// Whether a build of the reference device lies where cargo puts it as a rule: good enough to say
/// something before a long wait, not to rely on.
fn looks_built(tree: &Path) -> bool {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| tree.join("target"), PathBuf::from);
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    target.join(profile).join(NATIVE_PROGRAM).exists()
}

/// Builds the reference device in the profile that this program was built in. Takes a moment the
/// first time, and next to nothing after that.
fn build(tree: &Path) -> Result<PathBuf, Refusal> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(&cargo);
    command
        .current_dir(tree)
        .args([
            "build",
            "--quiet",
            "--package",
            NATIVE_PACKAGE,
            "--bin",
            NATIVE_PROGRAM,
        ])
        .args(["--message-format", "json-render-diagnostics"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    if !looks_built(tree) {
        eprintln!("building the reference device; this takes a moment, the first time only");
    }
    let failed = |what: String| {
        Refusal::bench(
            format!("cannot build the reference device: {what}"),
            "run `cargo build --package reference-native` in the source tree to see why",
        )
    };
    let output = command
        .output()
        .map_err(|error| failed(format!("`cargo` does not start: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!(
            "`cargo build` ended with {}",
            output.status
        )));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(message.get("executable")?.as_str()?.into()))
        .next_back()
        .ok_or_else(|| failed("cargo named no program".into()))
}
