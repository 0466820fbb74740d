//! Arguments of `flash`, and of the settings that are flashed.

use std::num::ParseIntError;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgGroup, Args};
use mcp_hil_boards::flash::{Chip, FlashJob};

use super::image_size::ImageSize;

/// Arguments of `flash`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("place").required(true).args(["port", "probe"])))]
#[command(group(ArgGroup::new("what").required(true).args(["firmware", "parts"])))]
pub struct FlashArgs {
    /// The serial port of the board; a name under /dev/serial/by-id is stable
    #[arg(long, value_name = "PORT")]
    pub port: Option<PathBuf>,

    /// A debug probe instead of a port, `VID:PID:SERIAL` [default: the only one]
    #[arg(long, value_name = "PROBE", num_args = 0..=1)]
    pub probe: Option<Option<String>>,

    /// What to flash: a program (ELF), or a vendor's merged image for offset 0x0
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,

    /// A part and its offset, such as `0x20000=xiaozhi.bin`; may be given several times
    #[arg(long = "part", value_name = "OFFSET=FILE")]
    pub parts: Vec<Part>,

    /// The chip; needed for a program [default: whatever is attached]
    #[arg(long, value_name = "CHIP")]
    pub chip: Option<Chip>,

    /// Size of the flash memory [default: the board's own; 4MB for a program]
    #[arg(long, value_enum, value_name = "SIZE")]
    pub size: Option<ImageSize>,

    /// Bits per second while flashing
    #[arg(long, value_name = "BAUD", default_value_t = FlashJob::BAUD)]
    pub baud: u32,

    /// Content of the settings partition, instead of the settings given below
    #[arg(long, value_name = "FILE", conflicts_with = "SettingsArgs")]
    pub nvs: Option<PathBuf>,

    /// Seconds without progress after which the board is considered hung
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub silence: u64,

    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields say it")]
    pub settings: SettingsArgs,
}

/// A part of flash memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Offset in bytes from the start of the flash memory.
    pub offset: u32,
    /// The file with its content.
    pub file: PathBuf,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected an offset and a file, such as `0x20000=xiaozhi.bin`";
        let (offset, file) = text.split_once('=').ok_or(expected)?;
        let offset = bytes(offset).map_err(|error| format!("{expected}: {error}"))?;
        if file.is_empty() {
            return Err(expected.to_owned());
        }
        let file = file.into();
        Ok(Self { offset, file })
    }
}

/// A number of bytes, decimal or hexadecimal.
pub(super) fn bytes(text: &str) -> Result<u32, ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

/// Settings of stock firmware. Passwords come from the environment: arguments are seen by everybody on
/// the machine.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings of stock firmware")]
pub struct SettingsArgs {
    /// The Wi-Fi network
    #[arg(long, value_name = "SSID")]
    pub wifi: Option<String>,

    /// The environment variable that holds its password [default: the network is open]
    #[arg(long, value_name = "VARIABLE", requires = "wifi")]
    pub wifi_password_env: Option<String>,

    /// Where the device requests its configuration: the configuration URL of the harness
    #[arg(long, value_name = "URL")]
    pub ota_url: Option<String>,

    /// The device's identifier [default: the device generates one]
    #[arg(long, value_name = "UUID")]
    pub uuid: Option<String>,

    /// Where it connects over WebSocket, until its configuration says otherwise
    #[arg(long, value_name = "URL")]
    pub websocket_url: Option<String>,

    /// The environment variable that holds its WebSocket token [default: none]
    #[arg(long, value_name = "VARIABLE", requires = "websocket_url")]
    pub websocket_token_env: Option<String>,

    /// Version of the binary framing over WebSocket
    #[arg(long, value_name = "VERSION", requires = "websocket_url", value_parser = clap::value_parser!(i32).range(1..=3))]
    pub websocket_version: Option<i32>,

    /// Where it connects over MQTT, `host:port`, until its configuration says otherwise
    #[arg(long, value_name = "HOST:PORT", requires_all = ["mqtt_client_id", "mqtt_topic"])]
    pub mqtt_endpoint: Option<String>,

    /// Its MQTT client identifier
    #[arg(long, value_name = "ID", requires = "mqtt_endpoint")]
    pub mqtt_client_id: Option<String>,

    /// Its MQTT user name
    #[arg(long, value_name = "NAME", requires = "mqtt_endpoint")]
    pub mqtt_username: Option<String>,

    /// The environment variable that holds its MQTT password
    #[arg(long, value_name = "VARIABLE", requires = "mqtt_endpoint")]
    pub mqtt_password_env: Option<String>,

    /// The topic that it publishes to
    #[arg(long, value_name = "TOPIC", requires = "mqtt_endpoint")]
    pub mqtt_topic: Option<String>,

    /// The MQTT keep-alive interval in seconds
    #[arg(long, value_name = "SECONDS", requires = "mqtt_endpoint")]
    pub mqtt_keepalive: Option<i32>,
}
