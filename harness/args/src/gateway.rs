//! Arguments of `gateway`.

use std::net::SocketAddr;

use std::time::Duration;

use clap::{Args, ValueEnum};
use mcp_hil_core::transport::Transport;

use super::values::{DEFAULT_DEADLINE, duration};

/// Arguments of `gateway`.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    /// The device: `wait` (one that you start yourself), `native` (the reference device as a
    /// process) or `exec:<command>` (any program)
    #[arg(long, value_name = "DEVICE", default_value = "wait")]
    pub dut: String,

    /// How the device connects
    #[arg(long, value_enum, value_name = "NAME", default_value_t = DeviceTransport::Websocket)]
    pub transport: DeviceTransport,

    /// Where the device connects [default: 127.0.0.1:8765; a free port unless `--dut wait`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Where the device requests its configuration over HTTP [default: port 8003 on the address of `--listen`,
    /// or any free one; a free one unless `--dut wait`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http_listen: Option<SocketAddr>,

    /// The token that the device presents; over MQTT its password [default: none with `wait`]
    #[arg(long, value_name = "TOKEN", env = "MCP_HIL_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    /// Where callers connect over MQTT [default: 127.0.0.1:1884; none with `--broker`]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub control_listen: Option<SocketAddr>,

    /// Serve callers through an ordinary MQTT broker
    #[arg(long, value_name = "HOST:PORT")]
    pub broker: Option<String>,

    /// User name for the broker
    #[arg(long, value_name = "NAME", requires = "broker")]
    pub broker_user: Option<String>,

    /// Password for the broker
    #[arg(long, value_name = "PASSWORD", env = "MCP_HIL_BROKER_PASSWORD", hide_env_values = true)]
    pub broker_password: Option<String>,

    /// The topic of control messages
    #[arg(long, value_name = "TOPIC", default_value = "device_control")]
    pub control_topic: String,

    /// The topic of answers
    #[arg(long, value_name = "TOPIC", default_value = "device_control/reply")]
    pub reply_topic: String,

    /// Use the numbers in request ids unchanged, even if no 32-bit device can answer them
    #[arg(long)]
    pub wide_ids: bool,

    /// How long the device may take to answer
    #[arg(long, value_name = "TIME", default_value = DEFAULT_DEADLINE, value_parser = duration, allow_negative_numbers = true)]
    pub deadline: Duration,
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
