//! A device under test as a file: what the command line would not hold.

use std::path::{Path, PathBuf};

use mcp_hil_core::problem::Problem;
use mcp_hil_core::transcript::Transport;
use serde::Deserialize;

use super::Fidelity;
use crate::plan::Refusal;
use crate::snapshots::SnapshotsFile;

/// A file such as `ci/duts/kitchen.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DutFile {
    /// The file's path, as it was given; not in the file.
    #[serde(skip)]
    pub path: String,
    /// The device's name in reports.
    pub name: String,
    /// How it is run: `native`, `qemu`, `qemu-esp`, `esp-emu`, `wokwi`, `wait` or `exec:<command>`.
    pub target: String,
    /// What it is, where `exec` and `wait` cannot know: `board`, `emulated chip`, `emulated CPU` or
    /// `host process`.
    pub fidelity: Option<Fidelity>,
    /// The image that an emulated chip boots; `--firmware` overrides it.
    pub firmware: Option<PathBuf>,
    /// What most likely fails in the same way and costs less: a target that the harness starts on this
    /// host. Failures are made small there, and the outcome is tried on the device itself.
    pub twin: Option<String>,
    /// The transports that it speaks, in the order in which they run; `--transport` overrides it.
    #[serde(default)]
    pub transports: Vec<Transport>,
    /// What concerns MQTT.
    #[serde(default)]
    pub mqtt: MqttFile,
    /// Which of its tools may be called.
    #[serde(default)]
    pub tools: ToolsFile,
    /// What concerns its reviewed answers.
    #[serde(default)]
    pub snapshots: SnapshotsFile,
}

/// How a device is reached over MQTT.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MqttFile {
    /// The ordinary broker between, `host:port`; `--mqtt-broker` overrides it.
    pub broker: Option<String>,
    /// User name at that broker, for harness and device. Its password is in the environment
    /// variable `MCP_HIL_MQTT_BROKER_PASSWORD`.
    pub username: Option<String>,
    /// The device's client id.
    pub client_id: Option<String>,
    /// Where the device publishes.
    pub publish_topic: Option<String>,
    /// Where it listens.
    pub subscribe_topic: Option<String>,
}

/// Which tools may be called, beyond what their names tell.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolsFile {
    /// Harmless, whatever the name.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Never called, whatever the name.
    #[serde(default)]
    pub deny: Vec<String>,
}

impl DutFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no TOML, has unknown members, or no name that can be part of a path.
    pub fn read(path: &Path) -> Result<Self, Refusal> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Refusal::usage(
                format!("cannot read the device file `{shown}`: {error}"),
                "check the path after `--dut`",
            )
        })?;
        Ok(Self::load(&shown, &text)?)
    }

    fn load(path: &str, text: &str) -> Result<Self, Problem> {
        let mut file: Self =
            toml::from_str(text).map_err(|error| Problem::from_toml(path, text, &error))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if file.name.is_empty() || !file.name.chars().all(plain) {
            let what = format!(
                "`name`: expected letters, digits, `-`, `_` and `.`, got `{}`",
                file.name
            );
            return Err(Problem::at(path, 0, 0, what)
                .hint("the name is part of paths and of names of tests"));
        }
        path.clone_into(&mut file.path);
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole() {
        let text = r#"
            name = "kitchen"
            target = "exec:python3 device.py"
            transports = ["mqtt"]
            [mqtt]
            broker = "127.0.0.1:1883"
            publish_topic = "up"
            subscribe_topic = "down"
            [tools]
            deny = ["self.lamp.set"]
        "#;
        let file = DutFile::load("k.toml", text).unwrap();
        assert_eq!(
            (&*file.name, &*file.path, file.transports),
            ("kitchen", "k.toml", vec![Transport::Mqtt])
        );
        assert_eq!(file.mqtt.subscribe_topic.as_deref(), Some("down"));
        assert_eq!(file.tools.deny, ["self.lamp.set"]);
    }

    #[test]
    fn a_mistake_names_the_place_and_the_likely_word() {
        let text = "name = \"a\"\ntarget = \"wait\"\ntransport = [\"mqtt\"]\n";
        let problem = DutFile::load("a.toml", text).unwrap_err();
        assert_eq!((problem.line, &*problem.file), (3, "a.toml"));
        assert!(problem.to_string().contains("`transports`"), "{problem}");
        let problem = DutFile::load("a.toml", "name = \"a/b\"\ntarget = \"wait\"").unwrap_err();
        assert!(problem.to_string().contains("`a/b`"), "{problem}");
    }
}
