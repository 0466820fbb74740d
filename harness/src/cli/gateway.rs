//! Arguments of `gateway`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use mcp_hil_core::transcript::Transport;

use super::values::{DEFAULT_DEADLINE, seconds};

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
