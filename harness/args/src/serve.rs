//! Arguments of `serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
While it runs, lines that you type are sent to the device that connected last:
  call self.audio_speaker.set_volume {\"volume\": 50}   calls a tool
  tools                                               lists the tools again
  {\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}    sent unchanged, as an MCP message
  {\"type\": \"tts\", \"state\": \"start\"}                sent unchanged, as a message of its type
Ctrl-C ends it with exit code 0.")]
pub struct ServeArgs {
    /// Which ports are open, and which of them devices get with their configuration
    #[arg(long, value_enum, default_value_t = Served::Both, value_name = "NAME")]
    pub transport: Served,

    /// The file of the board that will connect: decides where to listen
    #[arg(long, value_name = "FILE")]
    pub dut: Option<PathBuf>,

    /// Where to listen; `0.0.0.0` means all interfaces, and admits others in this network [default:
    /// what the board's file says; otherwise an address that a board can reach if one is attached or
    /// has a file in `ci/duts`; otherwise 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,

    /// Port for HTTP: configuration, activation, pictures; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8003)]
    pub http_port: u16,

    /// Port for WebSocket; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8000)]
    pub ws_port: u16,

    /// Port for MQTT; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 1883)]
    pub mqtt_port: u16,

    /// The token that devices must present: over WebSocket as `Authorization: Bearer <token>`, over
    /// MQTT as password. Devices get it with their configuration [default: a new one]
    #[arg(long, value_name = "TOKEN", env = "MCP_HIL_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    /// Send nothing but answers: no `initialize`, no `tools/list`
    #[arg(long, short)]
    pub quiet: bool,

    /// Show whole messages
    #[arg(long, short)]
    pub verbose: bool,
}

/// The transports that `serve` offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Served {
    /// WebSocket only
    Websocket,
    /// MQTT only
    Mqtt,
    /// Both ports; devices are directed to MQTT, which stock firmware prefers
    Both,
}
