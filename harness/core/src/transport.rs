//! How messages reach a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How messages reach a device.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Text frames of a WebSocket.
    #[default]
    WebSocket,
    /// Payloads of MQTT PUBLISH packets.
    Mqtt,
}

impl Transport {
    /// The name in files, arguments and the environment of devices.
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Mqtt => "mqtt",
        }
    }

    /// The transport of a name; `None` for another word, such as that of a comparison of both.
    pub fn named(name: &str) -> Option<Self> {
        [Self::WebSocket, Self::Mqtt].into_iter().find(|transport| transport.name() == name)
    }

    /// The name in `transport` of a hello message: over MQTT audio goes by UDP, and the hello says
    /// so (device-protocol 3.3).
    pub fn in_hello(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Mqtt => "udp",
        }
    }
}
