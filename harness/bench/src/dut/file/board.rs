//! The section `[board]` of a device's file: how an attached board is found, flashed, made to dial and
//! brought back.
//!
//! Paths are as seen from the folder in which the program is started, as everywhere in these files.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use mcp_hil_boards::board::{Mac, Selector};
use mcp_hil_boards::flash::{Chip, FlashSize};
use mcp_hil_core::problem::{Problem, nearest};
use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::place::Text;
use super::schema;

/// How long the button is held unless told otherwise. A click is shorter than 1.5 s and longer than
/// the 10 ms of debouncing (`iot_button`'s defaults).
const PULSE: Duration = Duration::from_millis(100);

/// Pulses that buttons understand as clicks, in milliseconds.
const PULSES_MS: std::ops::RangeInclusive<u64> = 20..=1400;

/// Rates that serial converters reach and ROM bootloaders follow, in bits per second.
const BAUDS: std::ops::RangeInclusive<u32> = 9600..=3_000_000;

/// What the console of stock firmware says when a click means "dial". Before that a click leads into
/// Wi-Fi configuration.
const WAIT_FOR: &str = "State: activating -> idle";

/// Flash memory is erased in sectors of this many bytes.
const SECTOR: u32 = 4096;

/// The section `[board]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardFile {
    /// The serial number that its USB device tells.
    #[schemars(regex(pattern = r"\S"))]
    pub serial: Option<String>,
    /// The MAC address of its chip.
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(schema_with = "schema::mac")]
    pub mac: Option<Mac>,
    /// Where it is plugged in, as the kernel names the place: `1-2.3` is bus 1, port 2, port 3 of the
    /// hub there.
    #[schemars(regex(pattern = r"^[0-9]+-[0-9]+([.][0-9]+)*$"))]
    pub location: Option<String>,
    /// A serial port by its path instead, for emulators: no USB port, because those change.
    #[schemars(schema_with = "schema::port")]
    pub port: Option<PathBuf>,
    /// What it must be.
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(schema_with = "schema::chip")]
    pub chip: Option<Chip>,
    /// Size of its flash memory, where it is not to be asked.
    #[serde(default, deserialize_with = "flash_size")]
    #[schemars(schema_with = "schema::flash_size")]
    pub flash_size: Option<FlashSize>,
    /// Rate at which it is flashed, in bits per second.
    #[schemars(range(min = 9600, max = 3_000_000))]
    pub flash_baud: Option<u32>,
    /// What its console comes out of; by default as its USB device is.
    pub console: Option<ConsoleFile>,
    /// The program as the linker left it, to read backtraces with.
    pub elf: Option<PathBuf>,
    /// Text on the console after which a trigger is allowed.
    #[schemars(regex(pattern = r"\S"))]
    pub wait_for: Option<String>,
    /// Pieces of its flash memory, instead of the file's `firmware`.
    #[serde(default)]
    pub parts: Vec<PartFile>,
    /// The network that it is told.
    pub wifi: Option<WifiFile>,
    /// What makes it dial.
    #[serde(default)]
    pub trigger: TriggerFile,
    /// How its power is switched.
    pub power: Option<PowerFile>,
    /// The label of the CI runner that it is attached to; the device's name unless given.
    #[schemars(regex(pattern = r"\S"))]
    pub runner: Option<String>,
}

/// What a board's console comes out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConsoleFile {
    /// A serial converter on the board.
    Uart,
    /// The USB device in the chip.
    UsbSerialJtag,
    /// Nothing.
    None,
}

/// A piece of flash memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// Where it begins, in bytes from the start of the flash memory.
    #[schemars(extend("multipleOf" = 4096))]
    pub offset: u32,
    /// What it holds.
    pub file: PathBuf,
}

/// A Wi-Fi network.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WifiFile {
    /// Its name.
    #[schemars(length(min = 1, max = 32))]
    pub ssid: String,
    /// The environment variable that holds its password; none for an open network.
    #[schemars(regex(pattern = r"^[A-Z_][A-Z0-9_]*$"))]
    pub password_env: Option<String>,
    /// Never read: it is here so that its mistake is told without showing it.
    #[schemars(skip)]
    password: Option<IgnoredAny>,
}

/// What makes a board dial.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerFile {
    /// How the device is triggered.
    #[serde(default)]
    pub kind: TriggerKind,
    /// How long the button is held, in milliseconds.
    #[schemars(range(min = 20, max = 1400))]
    pub pulse_ms: Option<u64>,
    /// The command that does it.
    pub command: Option<String>,
}

/// What is done to make a board dial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerKind {
    /// The button at GPIO0 is pressed, by the line DTR.
    Button,
    /// A command is run.
    Command,
    /// A person at the terminal is asked.
    Prompt,
    /// Nothing: it dials by itself.
    #[default]
    None,
}

/// How a board's power is switched.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerFile {
    /// The command that takes its power away and gives it back.
    #[schemars(regex(pattern = r"\S"))]
    pub cycle: String,
    /// The command that takes its power away, for tests that want it so.
    #[schemars(regex(pattern = r"\S"))]
    pub off: Option<String>,
    /// The command that gives it back.
    #[schemars(regex(pattern = r"\S"))]
    pub on: Option<String>,
}

impl PowerFile {
    /// The commands that take the power away and give it back, where there are such.
    pub fn switch(&self) -> Option<[String; 2]> {
        Some([self.off.clone()?, self.on.clone()?])
    }
}

impl BoardFile {
    /// The text on the console after which a trigger is allowed.
    pub fn wait_for(&self) -> &str {
        self.wait_for.as_deref().unwrap_or(WAIT_FOR)
    }

    /// Which board on USB is meant; `None` of one that is reached by a `port`.
    pub fn selector(&self) -> Option<Selector> {
        self.port.is_none().then(|| Selector {
            serial: self.serial.clone(),
            mac: self.mac,
            location: self.location.clone(),
        })
    }

    /// What is wrong with it beyond its form, the first thing.
    pub(super) fn check(&self, firmware: bool, text: &Text<'_>) -> Result<(), Problem> {
        self.check_identity(text)?;
        self.check_flash(firmware, text)?;
        self.check_wifi(text)?;
        self.check_trigger(text)?;
        let power = self.power.as_ref();
        let commands = [
            (&["board", "wait_for"][..], self.wait_for.as_deref()),
            (&["board", "power", "cycle"], power.map(|power| power.cycle.as_str())),
            (&["board", "power", "off"], power.and_then(|power| power.off.as_deref())),
            (&["board", "power", "on"], power.and_then(|power| power.on.as_deref())),
            (&["board", "runner"], self.runner.as_deref()),
        ];
        for (keys, value) in commands {
            if value.is_some_and(|value| value.trim().is_empty()) {
                let what = format!("`{}`: expected text, got none", keys.join("."));
                return Err(text.problem(keys, what).hint("leave it out, or give a value"));
            }
        }
        if let Some(power) = power.filter(|power| power.off.is_some() != power.on.is_some()) {
            let keys = match power.off {
                Some(_) => ["board", "power", "off"],
                None => ["board", "power", "on"],
            };
            let what = "`board.power`: expected `off` and `on`, got one without the other";
            return Err(text
                .problem(&keys, what)
                .hint("a test that switches a board off must be able to switch it on again"));
        }
        Ok(())
    }

    fn check_identity(&self, text: &Text<'_>) -> Result<(), Problem> {
        const BOARD: &[&str] = &["board"];
        let usb = self.serial.is_some() || self.mac.is_some() || self.location.is_some();
        if let Some(port) = &self.port {
            let keys = ["board", "port"];
            let name = port.file_name().unwrap_or_default().to_string_lossy();
            let changes = ["ttyUSB", "ttyACM", "cu.", "tty.usb"];
            if changes.iter().any(|start| name.starts_with(start)) {
                let what = format!(
                    "`board.port`: expected a port with a stable name, got `{}`",
                    port.display()
                );
                return Err(text.problem(&keys, what).hint(
                    "the next board that is plugged in may get this name; identify the board by \
                     `serial`, `mac` or `location`: `mcp-hil duts` shows them",
                ));
            }
            if usb {
                let what = "`board.port` together with `serial`, `mac` or `location`: expected one \
                            or the other";
                return Err(text
                    .problem(&keys, what)
                    .hint("`port` is for emulators; leave it out for a board on USB"));
            }
            return Ok(());
        }
        if !usb {
            let what = "`[board]`: expected `serial`, `mac` or `location`, got none of them";
            return Err(text.problem(BOARD, what).hint(
                "`mcp-hil duts` shows them for attached boards, and `--write` creates this file",
            ));
        }
        if self.serial.as_deref().is_some_and(|s| s.trim().is_empty()) {
            let what = "`board.serial`: expected the serial number of its USB device, got nothing";
            return Err(text
                .problem(&["board", "serial"], what)
                .hint("a converter without one is identified by `location`"));
        }
        match &self.location {
            Some(location) if !is_location(location) => {
                let what = format!(
                    "`board.location`: expected bus and ports such as `1-2.3`, got `{location}`"
                );
                Err(text
                    .problem(&["board", "location"], what)
                    .hint("`mcp-hil duts` shows it, and so does /sys/bus/usb/devices"))
            }
            _ => Ok(()),
        }
    }

    fn check_flash(&self, firmware: bool, text: &Text<'_>) -> Result<(), Problem> {
        if firmware && !self.parts.is_empty() {
            let what = "`firmware` together with `[[board.parts]]`: expected one or the other";
            return Err(text
                .problem(&["board", "parts", "0", "offset"], what)
                .hint("`firmware` is a program or an image of the whole flash memory"));
        }
        for (number, part) in self.parts.iter().enumerate() {
            let keys = ["board", "parts", &number.to_string(), "offset"].map(str::to_owned);
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            if !part.offset.is_multiple_of(SECTOR) {
                let what =
                    format!("`offset`: expected a multiple of {SECTOR:#x}, got {:#x}", part.offset);
                return Err(text.problem(&keys, what).hint(
                    "flash memory is erased in sectors: the content before it would be lost",
                ));
            }
            let twice = self.parts[..number].iter().find(|o| o.offset == part.offset);
            if let Some(other) = twice {
                let what = format!(
                    "`offset`: `{}` already begins at {:#x}",
                    other.file.display(),
                    part.offset
                );
                return Err(text.problem(&keys, what).hint("leave one of them out"));
            }
        }
        match self.flash_baud {
            Some(baud) if !BAUDS.contains(&baud) => {
                let what = format!(
                    "`board.flash_baud`: expected {} to {}, got {baud}",
                    BAUDS.start(),
                    BAUDS.end()
                );
                Err(text
                    .problem(&["board", "flash_baud"], what)
                    .hint("460800 works with most converters, 115200 with all"))
            }
            _ => Ok(()),
        }
    }

    fn check_wifi(&self, text: &Text<'_>) -> Result<(), Problem> {
        const HINT: &str = "`password_env = \"BENCH_WIFI_PASSWORD\"` names the environment variable \
                            that holds it; files are shared and passwords are not";
        let Some(wifi) = &self.wifi else {
            return Ok(());
        };
        if wifi.password.is_some() {
            let what = "`board.wifi.password`: expected no password in this file, got one";
            return Err(text.problem(&["board", "wifi", "password"], what).hint(HINT));
        }
        // ESP-IDF keeps the name in 32 bytes.
        if !(1..=32).contains(&wifi.ssid.len()) {
            let what =
                format!("`board.wifi.ssid`: expected 1 to 32 bytes, got {}", wifi.ssid.len());
            return Err(text
                .problem(&["board", "wifi", "ssid"], what)
                .hint("this is the network's name"));
        }
        match &wifi.password_env {
            // What does not look like a variable may be the password: it is not shown.
            Some(name) if !is_variable(name) => {
                let what = "`board.wifi.password_env`: expected the name of an environment \
                            variable, got something else";
                Err(text.problem(&["board", "wifi", "password_env"], what).hint(HINT))
            }
            _ => Ok(()),
        }
    }

    fn check_trigger(&self, text: &Text<'_>) -> Result<(), Problem> {
        let TriggerFile { kind, pulse_ms, command } = &self.trigger;
        let command_keys = ["board", "trigger", "command"];
        let has_command = command.as_deref().is_some_and(|c| !c.trim().is_empty());
        match kind {
            TriggerKind::Command if !has_command => {
                let what = "`kind = \"command\"`: expected a `command` as well, got none";
                return Err(text
                    .problem(&command_keys, what)
                    .hint("for example `command = \"./press-button.sh\"`; the shell runs it"));
            }
            TriggerKind::Command => {}
            _ if command.is_some() => {
                let what = "`board.trigger.command`: expected only with `kind = \"command\"`";
                return Err(text
                    .problem(&command_keys, what)
                    .hint("set the kind, or leave the command out"));
            }
            _ => {}
        }
        let pulse_keys = ["board", "trigger", "pulse_ms"];
        match pulse_ms {
            Some(_) if *kind != TriggerKind::Button => {
                let what = "`board.trigger.pulse_ms`: expected only with `kind = \"button\"`";
                Err(text.problem(&pulse_keys, what).hint("set the kind, or leave the pulse out"))
            }
            Some(pulse) if !PULSES_MS.contains(pulse) => {
                let what = format!(
                    "`board.trigger.pulse_ms`: expected {} to {}, got {pulse}",
                    PULSES_MS.start(),
                    PULSES_MS.end()
                );
                Err(text
                    .problem(&pulse_keys, what)
                    .hint("a shorter pulse counts as contact bounce, a longer one as a long press; 100 is right"))
            }
            _ => Ok(()),
        }
    }
}

impl TriggerFile {
    /// How long the button is held.
    pub fn pulse(&self) -> Duration {
        self.pulse_ms.map_or(PULSE, Duration::from_millis)
    }
}

/// Whether it names a place on USB: bus, `-`, and ports with dots between them.
fn is_location(text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('-').is_some_and(|(bus, ports)| number(bus) && ports.split('.').all(number))
}

fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Text that means something, such as a chip.
fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    let text = String::deserialize(deserializer)?;
    match text.parse() {
        Ok(value) => Ok(Some(value)),
        Err(expected) if expected.contains("got `") => Err(D::Error::custom(expected)),
        Err(expected) => {
            let known: Vec<&str> =
                expected.trim_start_matches("expected one of ").split(", ").collect();
            let near = nearest(&text, known).map(|near| format!("; did you mean `{near}`?"));
            let near = near.unwrap_or_default();
            Err(D::Error::custom(format!("{expected}, got `{text}`{near}")))
        }
    }
}

fn flash_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FlashSize>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let sizes = [FlashSize::Two, FlashSize::Four, FlashSize::Eight, FlashSize::Sixteen];
    let found = sizes.into_iter().find(|size| size.to_string() == text);
    match found {
        Some(size) => Ok(Some(size)),
        None => {
            let names = sizes.map(|size| size.to_string()).join(", ");
            Err(D::Error::custom(format!("expected one of {names}, got `{text}`")))
        }
    }
}
