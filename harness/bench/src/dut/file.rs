//! A device under test as a file: what the command line would not hold.

mod board;
mod place;
mod schema;
mod snapshots;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use mcp_hil_core::problem::Problem;
use mcp_hil_core::transport::Transport;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{Fidelity, emulated};
use crate::host::HostOptions;
use mcp_hil_args::Kind;
use mcp_hil_record::error::UserError;
use place::Text;

pub use board::{BoardFile, ConsoleFile, PartFile, PowerFile, TriggerFile, TriggerKind, WifiFile};
pub use snapshots::{RedactionRule, SnapshotsFile};

/// The `target` of boards that this machine is attached to.
pub(super) const BOARD: &str = "board";

/// A file such as `ci/duts/kitchen.toml`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DutFile {
    /// The file's path, as it was given; not in the file.
    #[serde(skip)]
    pub path: String,
    /// The device's name in reports.
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]+$"))]
    pub name: String,
    /// How it is run: `board`, `native`, `qemu`, `qemu-esp`, `esp-emu`, `wokwi`, `wait`, `host:<folder>` or
    /// `exec:<command>`.
    #[schemars(schema_with = "schema::target")]
    pub target: String,
    /// What it is, where `exec` and `wait` cannot know: `board`, `emulated chip`, `emulated CPU` or
    /// `host process`.
    pub fidelity: Option<Fidelity>,
    /// The image that an emulated chip boots, or what a board is flashed with: a program (ELF) or an
    /// image of its whole flash memory. `--firmware` overrides it.
    pub firmware: Option<PathBuf>,
    /// Its known failures; `--baseline` overrides it.
    pub baseline: Option<PathBuf>,
    /// What most likely fails in the same way and costs less: a target that the harness starts on this
    /// host. Failures are made small there, and the outcome is tried on the device itself.
    #[serde(alias = "twin")]
    pub surrogate: Option<String>,
    /// What may stand in for a board that is not attached: `true` for whatever `--dut auto` tries after
    /// boards (an empty list here), or kinds such as `["qemu-esp", "native"]`, in this order. `--fallback`
    /// overrides it.
    #[serde(default, deserialize_with = "fallback")]
    #[schemars(schema_with = "schema::fallback")]
    pub fallback: Option<Vec<Kind>>,
    /// Where the harness listens for it; `--listen` overrides it.
    #[serde(default, deserialize_with = "address")]
    #[schemars(schema_with = "schema::address")]
    pub listen: Option<SocketAddr>,
    /// Where it asks for its configuration over HTTP; `--http-listen` overrides it.
    #[serde(default, deserialize_with = "address")]
    #[schemars(schema_with = "schema::address")]
    pub http_listen: Option<SocketAddr>,
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
    /// What concerns the emulator; there for targets that have one.
    pub emulator: Option<EmulatorFile>,
    /// How firmware is built for this host; there for the target `host:<folder>`.
    pub host: Option<HostOptions>,
    /// How an attached board is reached; there for the target `board` and for no other.
    pub board: Option<BoardFile>,
}

/// How a device is reached over MQTT.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
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

/// How an emulator is started.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmulatorFile {
    /// Further arguments for its program, after those of the harness, so that they override them.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// Which tools may be called, beyond what their names tell.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
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
    /// Reads a device file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no TOML, has unknown members, no name that can be part of a path, or a
    /// board that cannot be what it says.
    pub fn read(path: &Path) -> Result<Self, UserError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            UserError::usage(
                format!("cannot read the device file `{shown}`: {error}"),
                "check the path after `--dut`",
            )
        })?;
        Ok(Self::load(&shown, &text)?)
    }

    /// Reads a device file whose text is at hand; `path` is for messages.
    ///
    /// # Errors
    ///
    /// The first mistake in it, with its place.
    pub fn load(path: &str, text: &str) -> Result<Self, Problem> {
        let mut file: Self =
            toml::from_str(text).map_err(|error| Problem::from_toml(path, text, &error))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if file.name.is_empty() || !file.name.chars().all(plain) {
            let what =
                format!("`name`: expected letters, digits, `-`, `_` and `.`, got `{}`", file.name);
            return Err(
                Problem::at(path, 0, 0, what).hint("the name is part of paths and test names")
            );
        }
        file.check_board(&Text { path, text })?;
        if file.fallback.is_some() && file.target != BOARD {
            let what = format!(
                "`fallback` with `target = \"{}\"`: expected `target = \"{BOARD}\"`",
                file.target
            );
            return Err(Text { path, text }
                .problem(&["fallback"], what)
                .hint("only a board can be absent; leave it out"));
        }
        file.check_emulator(&Text { path, text })?;
        if file.host.is_some() && !file.target.starts_with("host:") {
            let what =
                format!("`[host]` with `target = \"{}\"`: expected `host:<folder>`", file.target);
            return Err(Text { path, text }
                .problem(&["host"], what)
                .hint("leave the section out, or change the target"));
        }
        path.clone_into(&mut file.path);
        Ok(file)
    }

    /// The JSON Schema of a device file: what it refuses is refused by [`DutFile::load`], too.
    pub fn schema() -> serde_json::Value {
        schema::schema()
    }

    fn check_emulator(&self, text: &Text<'_>) -> Result<(), Problem> {
        let has_one = self.target == "qemu" || emulated::KINDS.contains(&&*self.target);
        if self.emulator.is_none() || has_one {
            return Ok(());
        }
        let kinds = emulated::KINDS.map(|kind| format!("`{kind}`")).join(", ");
        let what =
            format!("`[emulator]` with `target = \"{}\"`: expected `qemu`, {kinds}", self.target);
        Err(text.problem(&["emulator"], what).hint(
            "leave the section out, or change the target; arguments of a program belong to `exec:`",
        ))
    }

    fn check_board(&self, text: &Text<'_>) -> Result<(), Problem> {
        match &self.board {
            Some(board) if self.target == BOARD => board.check(self.firmware.is_some(), text),
            Some(_) => {
                let what = format!(
                    "`[board]` with `target = \"{}\"`: expected `target = \"{BOARD}\"`",
                    self.target
                );
                Err(text
                    .problem(&["board"], what)
                    .hint("leave the section out, or change the target"))
            }
            None if self.target == BOARD => {
                let what =
                    format!("`target = \"{BOARD}\"`: expected a section `[board]`, got none");
                Err(text.problem(&["target"], what).hint(
                    "it says which board; `mcp-hil duts --write <file>` creates it for an attached \
                     board",
                ))
            }
            None => Ok(()),
        }
    }
}

/// A truth, or kinds of devices.
fn fallback<'de, D>(deserializer: D) -> Result<Option<Vec<Kind>>, D::Error>
where
    D: Deserializer<'de>,
{
    let value = toml::Value::deserialize(deserializer)?;
    let got = value.to_string();
    let kinds = match value {
        toml::Value::Boolean(allowed) => return Ok(allowed.then(Vec::new)),
        value => value.try_into::<Vec<Kind>>().ok(),
    };
    let may = |kinds: &Vec<Kind>| !kinds.is_empty() && !kinds.contains(&Kind::Board);
    kinds.filter(may).map(Some).ok_or_else(|| {
        D::Error::custom(format!(
            "expected `true`, or a list of `qemu-esp`, `qemu`, `wokwi`, `esp-emu` and `native`, got `{got}`"
        ))
    })
}

/// An address of this host with a port.
fn address<'de, D>(deserializer: D) -> Result<Option<SocketAddr>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    let wrong = |_| {
        let what = "expected `ADDRESS:PORT` such as `192.168.1.5:8765` or `0.0.0.0:0`";
        D::Error::custom(format!("{what}, got `{text}`"))
    };
    text.parse().map(Some).map_err(wrong)
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
            listen = "192.168.1.5:8765"
            http_listen = "0.0.0.0:0"
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
        let listen = file.listen.map(|address| address.to_string());
        assert_eq!(listen.as_deref(), Some("192.168.1.5:8765"));
        assert_eq!(file.http_listen.map(|address| address.port()), Some(0));
        assert_eq!(file.mqtt.subscribe_topic.as_deref(), Some("down"));
        assert_eq!(file.tools.deny, ["self.lamp.set"]);
    }

    #[test]
    fn a_mistake_names_the_place_and_the_likely_word() {
        let text = "name = \"a\"\ntarget = \"wait\"\ntransport = [\"mqtt\"]\n";
        let problem = DutFile::load("a.toml", text).unwrap_err();
        assert_eq!((problem.line, &*problem.file), (3, "a.toml"));
        assert!(problem.to_string().contains("`transports`"), "{problem}");
        let text = "name = \"a\"\ntarget = \"wait\"\nlisten = \"8765\"\n";
        let problem = DutFile::load("a.toml", text).unwrap_err();
        assert_eq!(problem.line, 3, "{problem}");
        assert!(problem.to_string().contains("such as `192.168.1.5:8765`"), "{problem}");
        let problem = DutFile::load("a.toml", "name = \"a/b\"\ntarget = \"wait\"").unwrap_err();
        assert!(problem.to_string().contains("`a/b`"), "{problem}");
    }

    /// A file of a board with these lines in it; they begin in line 4.
    fn board(lines: &str) -> Result<DutFile, Problem> {
        let text = format!("name = \"desk\"\ntarget = \"board\"\n[board]\n{lines}");
        DutFile::load("d.toml", &text)
    }

    #[test]
    fn a_board_is_read_whole() {
        let file = board(
            r#"
            serial = "F4:12:FA:00:11:22"
            mac = "F4:12:FA:00:11:22"
            location = "1-2.3"
            chip = "esp32c3"
            flash_size = "4MB"
            flash_baud = 460800
            console = "usb-serial-jtag"
            elf = "xiaozhi.elf"
            [[board.parts]]
            offset = 0x20000
            file = "xiaozhi.bin"
            [board.wifi]
            ssid = "bench"
            password_env = "BENCH_WIFI_PASSWORD"
            [board.trigger]
            kind = "button"
            [board.power]
            cycle = "uhubctl -l 1-2 -p 3 -a cycle"
            off = "uhubctl -l 1-2 -p 3 -a off"
            on = "uhubctl -l 1-2 -p 3 -a on"
            "#,
        );
        let board = file.unwrap().board.unwrap();
        assert_eq!(board.mac.unwrap().to_string(), "f4:12:fa:00:11:22");
        assert_eq!(board.console, Some(ConsoleFile::UsbSerialJtag));
        assert_eq!(board.parts[0].offset, 0x20000);
        assert_eq!(board.trigger.kind, TriggerKind::Button);
        assert_eq!(board.trigger.pulse().as_millis(), 100);
        assert_eq!(board.wait_for(), "State: activating -> idle");
        let [off, on] = board.power.and_then(|power| power.switch()).unwrap();
        assert!(off.ends_with("off") && on.ends_with("on"));
    }

    #[test]
    fn what_may_stand_in_for_a_board_is_any_device_or_some_kinds() {
        let load = |fallback: &str, target: &str| {
            let board = if target == "board" { "[board]\nserial = \"1\"" } else { "" };
            let text =
                format!("name = \"a\"\ntarget = \"{target}\"\nfallback = {fallback}\n{board}\n");
            DutFile::load("a.toml", &text).map(|file| file.fallback)
        };
        assert_eq!(load("true", "board").unwrap(), Some(Vec::new()));
        assert_eq!(load("false", "board").unwrap(), None);
        let kinds = load("[\"qemu-esp\", \"native\"]", "board").unwrap();
        assert_eq!(kinds, Some(vec![Kind::QemuEsp, Kind::Native]));
        for (fallback, target, says) in [
            ("[]", "board", "expected `true`, or a list"),
            ("[\"board\"]", "board", "expected `true`, or a list"),
            ("[\"quemu\"]", "board", "got `[\"quemu\"]`"),
            ("1", "board", "got `1`"),
            ("true", "wait", "expected `target = \"board\"`"),
        ] {
            let problem = load(fallback, target).unwrap_err();
            assert_eq!(problem.line, 3, "{problem}");
            assert!(problem.to_string().contains(says), "{problem}");
        }
    }

    #[test]
    fn a_port_is_for_what_is_not_on_usb() {
        let file = board("port = \"/dev/pts/7\"\nconsole = \"none\"").unwrap();
        assert_eq!(file.board.unwrap().trigger.kind, TriggerKind::None);
        for port in ["/dev/ttyUSB0", "/dev/ttyACM12", "/dev/cu.usbserial-1"] {
            let problem = board(&format!("port = \"{port}\"")).unwrap_err();
            assert_eq!(problem.line, 4);
            assert!(problem.to_string().contains("mcp-hil duts"), "{problem}");
        }
    }

    #[test]
    fn each_mistake_of_a_board_is_told_with_its_line() {
        for (lines, line, says) in [
            ("", 3, "expected `serial`, `mac` or `location`, got none"),
            ("serial = \"\"", 4, "serial number of its USB device"),
            ("mac = \"f4:12\"", 4, "six bytes in hexadecimal"),
            ("location = \"usb1/1-2\"", 4, "bus and ports such as `1-2.3`"),
            ("serial = \"1\"\nport = \"/dev/pts/1\"", 5, "one or the other"),
            ("serial = \"1\"\nchip = \"esp32c33\"", 5, "did you mean `esp32c3`?"),
            ("serial = \"1\"\nflash_size = \"4MiB\"", 5, "got `4MiB`"),
            ("serial = \"1\"\nflash_baud = 300", 5, "9600 to 3000000, got 300"),
            ("serial = \"1\"\nconsole = \"uhart\"", 5, "did you mean `uart`?"),
            ("serial = \"1\"\nserail = \"1\"", 5, "did you mean `serial`?"),
            ("serial = \"1\"\nwait_for = \"\"", 5, "`board.wait_for`"),
            (
                "serial = \"1\"\n[[board.parts]]\nfile = \"a\"\noffset = 0x100",
                7,
                "a multiple of 0x1000, got 0x100",
            ),
            (
                "serial = \"1\"\nparts = [{offset = 0, file = \"a\"}, {offset = 0, file = \"b\"}]",
                5,
                "`a` already begins at 0x0",
            ),
            ("serial = \"1\"\nwifi.ssid = \"\"", 5, "1 to 32 bytes, got 0"),
            ("serial = \"1\"\ntrigger.kind = \"command\"", 5, "expected a `command` as well"),
            (
                "serial = \"1\"\n[board.trigger]\nkind = \"prompt\"\ncommand = \"a\"",
                7,
                "only with `kind = \"command\"`",
            ),
            (
                "serial = \"1\"\n[board.trigger]\nkind = \"button\"\npulse_ms = 3000",
                7,
                "20 to 1400, got 3000",
            ),
            ("serial = \"1\"\n[board.trigger]\npulse_ms = 100", 6, "only with `kind = \"button\"`"),
            ("serial = \"1\"\npower.cycle = \" \"", 5, "`board.power.cycle`"),
            (
                "serial = \"1\"\n[board.power]\ncycle = \"a\"\noff = \"b\"",
                7,
                "expected `off` and `on`, got one",
            ),
            (
                "serial = \"1\"\n[board.power]\ncycle = \"a\"\non = \"b\"",
                7,
                "expected `off` and `on`, got one",
            ),
        ] {
            let problem = board(lines).unwrap_err();
            assert_eq!(problem.line, line, "{lines}\n{problem}");
            assert!(problem.to_string().contains(says), "{lines}\n{problem}");
        }
        assert!(board("serial = \"1\"").is_ok());
    }

    #[test]
    fn an_emulator_gets_further_arguments() {
        let text =
            "name = \"a\"\ntarget = \"qemu-esp\"\n[emulator]\narguments = [\"-icount\", \"3\"]";
        let file = DutFile::load("a.toml", text).unwrap();
        assert_eq!(file.emulator.unwrap().arguments, ["-icount", "3"]);
    }

    #[test]
    fn a_section_and_its_target_come_together() {
        for (text, line, says) in [
            (
                "name = \"a\"\ntarget = \"native\"\n[emulator]\narguments = []",
                3,
                "expected `qemu`, `qemu-esp`",
            ),
            ("name = \"a\"\ntarget = \"board\"", 2, "a section `[board]`"),
            (
                "name = \"a\"\ntarget = \"wait\"\n[board]\nserial = \"1\"",
                3,
                "expected `target = \"board\"`",
            ),
            (
                "name = \"a\"\ntarget = \"board\"\nfirmware = \"x.bin\"\n[board]\nserial = \"1\"\n\
                 [[board.parts]]\noffset = 0\nfile = \"y.bin\"",
                7,
                "one or the other",
            ),
        ] {
            let problem = DutFile::load("a.toml", text).unwrap_err();
            assert_eq!(problem.line, line, "{problem}");
            assert!(problem.to_string().contains(says), "{problem}");
        }
    }

    #[test]
    fn a_password_in_the_file_is_refused_and_not_shown() {
        for (lines, line) in [
            ("serial = \"1\"\n[board.wifi]\nssid = \"b\"\npassword = \"hunter22\"", 7),
            ("serial = \"1\"\n[board.wifi]\nssid = \"b\"\npassword_env = \"hunter22\"", 7),
        ] {
            let problem = board(lines).unwrap_err();
            assert_eq!(problem.line, line, "{problem}");
            assert!(problem.to_string().contains("BENCH_WIFI_PASSWORD"), "{problem}");
            assert!(!format!("{problem:?}").contains("hunter22"), "{problem}");
        }
    }
}
