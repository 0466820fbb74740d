//! The settings of stock firmware, under the names and in the types that it keeps them.

use super::nvs::{NvsError, Settings, Value};

/// Text that is never shown: not by [`Debug`](std::fmt::Debug), not in a report.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A wireless network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// Its name, 1 to 32 bytes.
    pub ssid: String,
    /// Empty for an open network; the key is written all the same, or the device passes it over.
    pub password: Secret,
}

/// Where a device dials by WebSocket. A device asks its bootstrap address first, which overrides it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebSocketSettings {
    /// `ws://` or `wss://`.
    pub url: String,
    /// Sent as `Authorization`.
    pub token: Secret,
    /// Version of the frames: 1, 2 or 3.
    pub version: Option<i32>,
}

/// Where a device dials by MQTT.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MqttSettings {
    /// `host` or `host:port`; without a port it is 8883, with TLS.
    pub endpoint: String,
    /// Client identifier.
    pub client_id: String,
    /// User name.
    pub username: String,
    /// Password.
    pub password: Secret,
    /// Topic that the device publishes to.
    pub publish_topic: String,
    /// Seconds between pings.
    pub keepalive: Option<i32>,
}

/// What stock firmware of the xiaozhi family finds in its partition `nvs`. What is absent is not
/// written, and the firmware takes its own value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StockSettings {
    /// Wireless networks, tried in their order; at most ten.
    pub networks: Vec<Network>,
    /// Where it asks for its configuration (`wifi/ota_url`).
    pub ota_url: Option<String>,
    /// Whether it may fall asleep when nobody speaks (`wifi/sleep_mode`). On a bench it must not.
    pub sleep: bool,
    /// Who it is (`board/uuid`); made up by the firmware when absent.
    pub uuid: Option<String>,
    /// `websocket/*`.
    pub websocket: Option<WebSocketSettings>,
    /// `mqtt/*`.
    pub mqtt: Option<MqttSettings>,
}

/// Networks that stock firmware reads: `ssid`, `ssid1` to `ssid9`.
const NETWORKS: usize = 10;

impl StockSettings {
    /// As entries.
    ///
    /// # Errors
    ///
    /// A value is none that the firmware takes.
    pub fn settings(&self) -> Result<Settings, NvsError> {
        self.check()?;
        let mut all = Settings::new();
        let text = |text: &str| Value::Str(text.to_owned());
        for (at, network) in self.networks.iter().enumerate() {
            let number = match at {
                0 => String::new(),
                at => at.to_string(),
            };
            all.set("wifi", &format!("ssid{number}"), text(&network.ssid))?;
            let password = text(network.password.reveal());
            all.set("wifi", &format!("password{number}"), password)?;
        }
        if let Some(url) = &self.ota_url {
            all.set("wifi", "ota_url", text(url))?;
        }
        all.set("wifi", "sleep_mode", Value::U8(self.sleep.into()))?;
        if let Some(uuid) = &self.uuid {
            all.set("board", "uuid", text(uuid))?;
        }
        if let Some(websocket) = &self.websocket {
            all.set("websocket", "url", text(&websocket.url))?;
            all.set("websocket", "token", text(websocket.token.reveal()))?;
            if let Some(version) = websocket.version {
                all.set("websocket", "version", Value::I32(version))?;
            }
        }
        if let Some(mqtt) = &self.mqtt {
            all.set("mqtt", "endpoint", text(&mqtt.endpoint))?;
            all.set("mqtt", "client_id", text(&mqtt.client_id))?;
            all.set("mqtt", "username", text(&mqtt.username))?;
            all.set("mqtt", "password", text(mqtt.password.reveal()))?;
            all.set("mqtt", "publish_topic", text(&mqtt.publish_topic))?;
            if let Some(keepalive) = mqtt.keepalive {
                all.set("mqtt", "keepalive", Value::I32(keepalive))?;
            }
        }
        Ok(all)
    }

    fn check(&self) -> Result<(), NvsError> {
        let wrong = |what, expected, got, hint| NvsError::Setting { what, expected, got, hint };
        if self.networks.len() > NETWORKS {
            let got = self.networks.len().to_string();
            let hint = "leave the others out";
            return Err(wrong("the Wi-Fi networks", "at most ten", got, hint));
        }
        for Network { ssid, password } in &self.networks {
            if !(1..=32).contains(&ssid.len()) {
                let got = format!("{} bytes", ssid.len());
                let hint = "give the name that the access point announces";
                return Err(wrong("the name of the Wi-Fi network", "1 to 32 bytes", got, hint));
            }
            let length = password.reveal().len();
            if length != 0 && !(8..=64).contains(&length) {
                let got = format!("{length} bytes");
                let expected = "none, or 8 to 64 bytes";
                let hint = "leave the password of an open network empty";
                return Err(wrong("the password of the Wi-Fi network", expected, got, hint));
            }
        }
        if let Some(url) = &self.ota_url {
            let taken = (10..256).contains(&url.len()) && url.contains("://");
            if !taken {
                let got = format!("{} bytes: `{url}`", url.len());
                let expected = "10 to 255 bytes with `://`";
                let hint = "give the address of the harness, such as `http://192.168.1.10:8003/xiaozhi/ota/`";
                return Err(wrong("the configuration URL", expected, got, hint));
            }
        }
        Ok(())
    }
}
