//! Arguments of `serve`.

use std::net::IpAddr;

use clap::{Args, ValueEnum};

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
While it runs, a line typed goes to the device that came last:
  call self.audio_speaker.set_volume {\"volume\": 50}   calls a tool
  tools                                               lists the tools again
  {\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}    goes out as it is, as MCP message
  {\"type\": \"tts\", \"state\": \"start\"}                goes out as it is, as message of its type
Ctrl-C ends it with exit code 0.")]
pub struct ServeArgs {
    /// Which ports are open, and which one devices are told that ask for their configuration
    #[arg(long, value_enum, default_value_t = Served::Both, value_name = "NAME")]
    pub transport: Served,

    /// Where to listen; `0.0.0.0` takes all interfaces, and lets others in this network in
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,

    /// Port of HTTP: configuration, activation, pictures; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8003)]
    pub http_port: u16,

    /// Port of WebSocket; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8000)]
    pub ws_port: u16,

    /// Port of MQTT; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 1883)]
    pub mqtt_port: u16,

    /// The token that devices must present: over WebSocket as `Authorization: Bearer <token>`, over
    /// MQTT as password. Devices get it with their configuration [default: one made up]
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MCP_HIL_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// Send nothing but answers: no `initialize`, no `tools/list`
    #[arg(long, short)]
    pub quiet: bool,

    /// Show messages whole
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
    /// Both ports; devices are told MQTT, which stock firmware prefers
    Both,
}
