//! What a device is told when it asks for its configuration, in the form that stock firmware
//! stands: one section only, names of at most 15 characters, numbers as numbers, no activation; the
//! firmware that it has, and none to load.

use std::{collections::BTreeMap, fmt};

use mcp_hil_core::wire::Frame;
use serde_json::{Value, json};

/// Most digits of a part of a version that is told back: stock firmware reads each into 32 bits, and ends itself where
/// that fails.
const MAX_VERSION_DIGITS: usize = 9;

/// What the next configuration request gets.
#[derive(Clone, PartialEq, Eq)]
pub enum Configuration {
    /// Dial a WebSocket.
    WebSocket {
        /// Where.
        url: String,
        /// What to present there.
        token: String,
        /// Version of the framing of binary messages: 1, 2 or 3.
        version: u8,
    },
    /// Dial an MQTT broker.
    Mqtt {
        /// Where: `host:port`. Stock firmware takes port 8883 for TLS and any other for plain TCP.
        endpoint: String,
        /// The client id; `None` makes one from the headers of the request, made of `Device-Id` and `Client-Id`.
        client_id: Option<String>,
        /// The user name.
        username: String,
        /// The password.
        password: String,
        /// Where the device publishes.
        publish_topic: String,
        /// Where it may subscribe; stock firmware does not.
        subscribe_topic: String,
        /// The keep-alive interval in seconds.
        keepalive: u16,
    },
}

/// Shows what is no secret.
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WebSocket { url, version, .. } => f
                .debug_struct("WebSocket")
                .field("url", url)
                .field("version", version)
                .finish_non_exhaustive(),
            Self::Mqtt { endpoint, client_id, .. } => f
                .debug_struct("Mqtt")
                .field("endpoint", endpoint)
                .field("client_id", client_id)
                .finish_non_exhaustive(),
        }
    }
}

/// The time that a device is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTime {
    /// Milliseconds since 1970-01-01 UTC.
    pub timestamp_ms: u64,
    /// Minutes that local time is ahead of UTC.
    pub timezone_offset: i32,
}

/// What an answer told a device, as far as it is judged whether the device does so.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The MQTT client id.
    pub(super) client_id: Option<String>,
    /// The version of the framing of binary messages.
    pub(super) binary_version: Option<u8>,
}

/// The answer to a configuration request, and what it tells.
pub(super) fn answer(
    configuration: Option<&Configuration>,
    time: Option<ServerTime>,
    headers: &BTreeMap<String, String>,
    asked: Option<&Frame>,
) -> (Value, Told) {
    let mut answer = json!({});
    let mut told = Told::default();
    // Every server that devices meet names a firmware, and some devices cannot do without. Its own version and no
    // address lead none into an update.
    if let Some(version) = asked.and_then(firmware_version) {
        answer["firmware"] = json!({"version": version, "url": ""});
    }
    if let Some(time) = time {
        answer["server_time"] = json!({
            "timestamp": time.timestamp_ms,
            "timezone_offset": time.timezone_offset,
        });
    }
    match configuration {
        None => {}
        Some(Configuration::WebSocket { url, token, version }) => {
            answer["websocket"] = json!({"url": url, "token": token, "version": version});
            told.binary_version = Some(*version);
        }
        Some(Configuration::Mqtt {
            endpoint,
            client_id: fixed,
            username,
            password,
            publish_topic,
            subscribe_topic,
            keepalive,
        }) => {
            let id = fixed.clone().unwrap_or_else(|| client_id(headers));
            answer["mqtt"] = json!({
                "endpoint": endpoint,
                "client_id": id,
                "username": username,
                "password": password,
                "publish_topic": publish_topic,
                "subscribe_topic": subscribe_topic,
                "keepalive": keepalive,
            });
            told.client_id = Some(id);
        }
    }
    (answer, told)
}

/// The version of its firmware that a device names in its request, if it is numbers with dots between.
fn firmware_version(asked: &Frame) -> Option<String> {
    let Frame::Text(text) = asked else {
        return None;
    };
    let asked: Value = serde_json::from_str(text).ok()?;
    let version = asked.pointer("/application/version")?.as_str()?;
    let is_number = |part: &str| {
        (1..=MAX_VERSION_DIGITS).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    version.split('.').all(is_number).then(|| version.to_owned())
}

/// The MQTT client id for a device, as the published gateway forms it:
/// `GID_mcp_hil@@@<mac with underscores>@@@<uuid>`, from its `Device-Id` and `Client-Id`.
///
/// Only letters and digits of ASCII, `-` and `_` get into it, 64 of each header at most.
fn client_id(headers: &BTreeMap<String, String>) -> String {
    let part = |name: &str| {
        let value = headers.get(name).map_or("", String::as_str);
        let part: String = value
            .chars()
            .map(|c| if c == ':' { '_' } else { c })
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            .take(64)
            .collect();
        if part.is_empty() { "unknown".to_owned() } else { part }
    };
    format!("GID_mcp_hil@@@{}@@@{}", part("device-id"), part("client-id"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mqtt(client_id: Option<&str>) -> Configuration {
        Configuration::Mqtt {
            endpoint: "127.0.0.1:1".into(),
            client_id: client_id.map(str::to_owned),
            username: "name".into(),
            password: "hush".into(),
            publish_topic: "up".into(),
            subscribe_topic: "down".into(),
            keepalive: 2,
        }
    }

    #[test]
    fn stock_firmware_stands_the_answer() {
        let web_socket =
            Configuration::WebSocket { url: "ws://h/".into(), token: "hush".into(), version: 3 };
        for configuration in [mqtt(None), mqtt(Some("me")), web_socket] {
            let time = ServerTime { timestamp_ms: 1, timezone_offset: -60 };
            let asked = Frame::Text(r#"{"application":{"version":"2.4.2"}}"#.into());
            let (answer, _) =
                answer(Some(&configuration), Some(time), &BTreeMap::new(), Some(&asked));
            let members = answer.as_object().unwrap();
            assert_eq!(answer["firmware"], json!({"version": "2.4.2", "url": ""}));
            assert!(!members.contains_key("activation"));
            assert_eq!(members.contains_key("mqtt"), !members.contains_key("websocket"));
            assert!(answer["server_time"]["timezone_offset"].is_i64());
            for section in ["mqtt", "websocket"] {
                for (name, value) in
                    members.get(section).and_then(Value::as_object).into_iter().flatten()
                {
                    assert!(name.len() <= 15, "{name}");
                    let number = ["version", "keepalive"].contains(&name.as_str());
                    assert_eq!(value.is_number(), number, "{name}");
                }
            }
            assert!(!format!("{configuration:?}").contains("hush"));
        }
    }

    #[test]
    fn a_version_that_firmware_could_not_read_is_not_told_back() {
        let told = |version: &str| {
            let asked = json!({"application": {"version": version}}).to_string();
            let (answer, _) = answer(None, None, &BTreeMap::new(), Some(&Frame::Text(asked)));
            answer.get("firmware").map(|firmware| firmware["version"].clone())
        };
        for good in ["2.4.2", "1", "0.0.123456789"] {
            assert_eq!(told(good), Some(good.into()));
        }
        for bad in ["", "v2.4", "2.4.2-rc1", "2..4", "2.4.", " 2", "1234567890", "2.4.\u{661}"] {
            assert_eq!(told(bad), None, "{bad}");
        }
        for asked in ["", "[]", r#"{"application":{"version":2}}"#] {
            let asked = Frame::Text(asked.into());
            assert_eq!(answer(None, None, &BTreeMap::new(), Some(&asked)).0, json!({}));
        }
    }

    #[test]
    fn a_client_id_comes_from_the_headers_unless_it_is_fixed() {
        let headers = [
            ("device-id".to_owned(), "aa:bb:cc:00:11:22".to_owned()),
            ("client-id".to_owned(), "1-2".to_owned()),
        ]
        .into();
        let told = |fixed| {
            let (_, told) = answer(Some(&mqtt(fixed)), None, &headers, None);
            told.client_id.unwrap()
        };
        assert_eq!(told(None), "GID_mcp_hil@@@aa_bb_cc_00_11_22@@@1-2");
        assert_eq!(told(Some("me")), "me");
        assert_eq!(client_id(&BTreeMap::new()), "GID_mcp_hil@@@unknown@@@unknown");
    }

    #[test]
    fn the_version_that_was_told_is_known() {
        let configuration =
            Configuration::WebSocket { url: "ws://h/".into(), token: String::new(), version: 2 };
        let (answer, told) = answer(Some(&configuration), None, &BTreeMap::new(), None);
        assert_eq!(answer["websocket"]["version"], 2);
        assert_eq!((told.binary_version, told.client_id), (Some(2), None));
    }

    proptest! {
        #[test]
        fn only_harmless_characters_get_into_a_client_id(device in ".*", client in ".*") {
            let id = client_id(&[("device-id".to_owned(), device), ("client-id".to_owned(), client)].into());
            prop_assert!(id.len() <= 160);
            prop_assert!(id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_@".contains(&b)));
            prop_assert_eq!(id.matches("@@@").count(), 2);
        }
    }
}
