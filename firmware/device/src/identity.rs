//! Who the device is, and the settings that tell it where to dial.

use alloc::string::{String, ToString};

/// How messages travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Text frames and audio on one WebSocket.
    #[default]
    Websocket,
    /// Messages as PUBLISH packets, audio as UDP datagrams.
    Mqtt,
}

impl Transport {
    /// Tag of its console lines.
    pub fn tag(self) -> &'static str {
        match self {
            Transport::Websocket => "WS",
            Transport::Mqtt => "MQTT",
        }
    }
}

/// Seconds between two signs of life towards the broker when the configuration says nothing.
const KEEP_ALIVE_S: u16 = 240;

/// Settings of the MQTT transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttSettings {
    /// `host` or `host:port`; empty when there is none.
    pub endpoint: String,
    /// Identifier in the CONNECT packet.
    pub client_id: String,
    /// User name; empty for none.
    pub username: String,
    /// Password. Never shown.
    pub password: String,
    /// Where every message goes.
    pub publish_topic: String,
    /// Keep-alive interval of the CONNECT packet in seconds.
    pub keep_alive_s: u16,
}

impl Default for MqttSettings {
    fn default() -> Self {
        MqttSettings {
            endpoint: String::new(),
            client_id: String::new(),
            username: String::new(),
            password: String::new(),
            publish_topic: String::new(),
            keep_alive_s: KEEP_ALIVE_S,
        }
    }
}

/// Who the device is and where it dials.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Board name, `serverInfo.name`.
    pub board: String,
    /// Firmware version, `serverInfo.version`.
    pub version: String,
    /// MAC address in lower case with colons, header `Device-Id`.
    pub mac: String,
    /// UUID, header `Client-Id`.
    pub client_id: String,
    /// Where the configuration comes from at every boot; empty when the settings below hold as
    /// they are.
    pub ota_url: String,
    /// What it speaks to its server.
    pub transport: Transport,
    /// Address of the WebSocket server; shown on the console.
    pub url: String,
    /// Bearer token; empty for none. Never shown.
    pub token: String,
    /// Version of the WebSocket protocol: 1 sends bare audio frames, 2 and 3 with a header.
    pub websocket_version: u8,
    /// Settings of the MQTT transport.
    pub mqtt: MqttSettings,
    /// Over MQTT: whether the device opens an audio channel by itself, as if its button were
    /// pressed once it is connected. Over WebSocket it always does.
    pub opens_channel: bool,
}

impl Default for Identity {
    fn default() -> Self {
        Identity {
            board: "mcp-hil-reference".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            mac: "02:00:00:4d:43:50".to_string(),
            client_id: "6d63702d-6869-4c00-8000-000000000001".to_string(),
            ota_url: String::new(),
            transport: Transport::Websocket,
            url: String::new(),
            token: String::new(),
            websocket_version: 1,
            mqtt: MqttSettings::default(),
            opens_channel: true,
        }
    }
}
