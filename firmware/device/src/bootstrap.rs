//! The configuration that the device asks for at every boot: what it sends, what it makes of the
//! answer.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::http::{HttpRequest, Purpose};
use crate::identity::{Identity, Transport};
use crate::json::{self, Object, Text, Value};
use crate::limits::{LONGEST_ECHO, LONGEST_SETTING};
use crate::memory::Memory;

/// Longest name of a setting, in bytes: what the non-volatile storage takes.
const LONGEST_NAME: usize = 15;

/// What a machine tells that does not know its memory, in bytes.
const USUAL_MEMORY: usize = 121_004;

/// What an answer said, apart from the settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The answer has an object `mqtt`.
    pub(crate) mqtt: bool,
    /// The answer has an object `websocket`.
    pub(crate) websocket: bool,
    /// The code that a person has to enter first; empty when only a challenge was sent.
    pub(crate) activation: Option<String>,
    /// Local time in milliseconds of the Unix epoch.
    pub(crate) local_time_ms: Option<i64>,
}

/// Why an answer cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It is no JSON object.
    Json,
    /// A setting has a name that the storage refuses, which nobody survives.
    LongName,
    /// A setting is longer than the storage takes.
    LongText,
}

/// The request for the configuration.
pub(crate) fn request(identity: &Identity, language: &str, memory: Option<Memory>) -> HttpRequest {
    HttpRequest {
        purpose: Purpose::Configuration,
        method: "POST",
        url: identity.ota_url.clone(),
        headers: headers(identity, language),
        body: description(identity, language, memory).into_bytes(),
    }
}

/// The question whether the activation code has been entered.
pub(crate) fn activation_request(identity: &Identity, language: &str) -> HttpRequest {
    let slash = if identity.ota_url.ends_with('/') { "" } else { "/" };
    HttpRequest {
        purpose: Purpose::Activation,
        method: "POST",
        url: format!("{}{slash}activate", identity.ota_url),
        headers: headers(identity, language),
        body: b"{}".to_vec(),
    }
}

fn headers(identity: &Identity, language: &str) -> Vec<(&'static str, String)> {
    vec![
        ("Activation-Version", "1".to_string()),
        ("Device-Id", identity.mac.clone()),
        ("Client-Id", identity.client_id.clone()),
        ("User-Agent", format!("{}/{}", identity.board, identity.version)),
        ("Accept-Language", language.to_string()),
        ("Content-Type", "application/json".to_string()),
    ]
}

/// What the device tells about itself.
fn description(identity: &Identity, language: &str, memory: Option<Memory>) -> String {
    format!(
        concat!(
            r#"{{"version":2,"language":{language},"flash_size":16777216,"#,
            r#""minimum_free_heap_size":"{lowest}","mac_address":{mac},"uuid":{uuid},"#,
            r#""chip_model_name":"reference","#,
            r#""chip_info":{{"model":9,"cores":2,"revision":2,"features":18}},"#,
            r#""application":{{"name":"xiaozhi","version":{version},"#,
            r#""compile_time":"2026-01-01T00:00:00Z","idf_version":"v6.0.2","#,
            r#""elf_sha256":"6d63702d68696c006d63702d68696c006d63702d68696c006d63702d68696c00"}},"#,
            r#""partition_table":[{{"label":"nvs","type":1,"subtype":2,"address":36864,"size":16384}},"#,
            r#"{{"label":"ota_0","type":0,"subtype":16,"address":131072,"size":4128768}}],"#,
            r#""ota":{{"label":"ota_0"}},"display":{{"monochrome":false,"width":240,"height":240}},"#,
            r#""board":{{"type":{board},"name":{board},"manufacturer":"","ssid":"reference","#,
            r#""rssi":-50,"channel":1,"ip":"127.0.0.1","mac":{mac}}}}}"#,
        ),
        // Firmware sends a number here, as a text (device-protocol 1.1).
        lowest = memory.map_or(USUAL_MEMORY, |memory| memory.lowest),
        language = json::string(language),
        mac = json::string(&identity.mac),
        uuid = json::string(&identity.client_id),
        version = json::string(&identity.version),
        board = json::string(&identity.board),
    )
}

/// Reads an answer and stores its settings.
pub(crate) fn read(body: &[u8], identity: &mut Identity) -> Result<Answer, Unusable> {
    let answer = core::str::from_utf8(body).ok().and_then(Value::read);
    let Some(answer) = answer.and_then(Value::as_object) else {
        return Err(Unusable::Json);
    };
    let section = |name: &str| answer.object(name);
    let activation = section("activation").and_then(|activation| {
        let code = activation.text("code");
        let code = code.map(|code| code.shortened(LONGEST_ECHO));
        code.or_else(|| activation.text("challenge").map(|_| String::new()))
    });
    let (mqtt, websocket) = (section("mqtt"), section("websocket"));
    for section in [mqtt, websocket].into_iter().flatten() {
        for (name, value) in section.members() {
            match (value.as_text(), value.as_number()) {
                (None, None) => {}
                // The storage takes texts and numbers under short names.
                _ if name.len() > LONGEST_NAME => return Err(Unusable::LongName),
                (Some(text), _) if text.len() > LONGEST_SETTING => return Err(Unusable::LongText),
                _ => {}
            }
        }
    }
    if let Some(section) = mqtt {
        store_mqtt(section, identity);
    }
    if let Some(section) = websocket {
        store_websocket(section, identity);
    }
    // MQTT wins over WebSocket, and is what is tried when nothing was said.
    identity.transport = match (mqtt, websocket) {
        (None, Some(_)) => Transport::Websocket,
        _ => Transport::Mqtt,
    };
    Ok(Answer {
        mqtt: mqtt.is_some(),
        websocket: websocket.is_some(),
        activation,
        local_time_ms: section("server_time").and_then(local_time),
    })
}

fn store_mqtt(section: Object<'_>, identity: &mut Identity) {
    let mqtt = &mut identity.mqtt;
    store_text(section, "endpoint", &mut mqtt.endpoint);
    store_text(section, "client_id", &mut mqtt.client_id);
    store_text(section, "username", &mut mqtt.username);
    store_text(section, "password", &mut mqtt.password);
    store_text(section, "publish_topic", &mut mqtt.publish_topic);
    if let Some(seconds) = section.get("keepalive").and_then(Value::as_u64) {
        mqtt.keep_alive_s = u16::try_from(seconds).unwrap_or(u16::MAX);
    }
}

fn store_websocket(section: Object<'_>, identity: &mut Identity) {
    store_text(section, "url", &mut identity.url);
    store_text(section, "token", &mut identity.token);
    // Only a number counts; of a text nothing is made.
    if let Some(version) = section.get("version").and_then(Value::as_u64) {
        let known = u8::try_from(version).ok().filter(|v| (1..=3).contains(v));
        identity.websocket_version = known.unwrap_or(1);
    }
}

fn store_text(section: Object<'_>, name: &str, setting: &mut String) {
    let stored = |text: Text<'_>| text.copy(LONGEST_SETTING);
    if let Some(text) = section.text(name).and_then(stored) {
        *setting = text;
    }
}

fn local_time(section: Object<'_>) -> Option<i64> {
    let timestamp = section.get("timestamp").and_then(Value::as_i64)?;
    let minutes = section.get("timezone_offset").and_then(Value::as_i64);
    timestamp.checked_add(minutes.unwrap_or(0).checked_mul(60_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn configured(body: &str) -> Identity {
        let mut identity = Identity::default();
        read(body.as_bytes(), &mut identity).expect("usable");
        identity
    }

    #[rstest]
    #[case(r#"{"websocket":{"url":"ws://h/"}}"#, Transport::Websocket)]
    #[case(r#"{"mqtt":{}}"#, Transport::Mqtt)]
    #[case(r#"{"mqtt":{},"websocket":{"url":"ws://h/"}}"#, Transport::Mqtt)]
    #[case(r#"{"mqtt":null,"websocket":{}}"#, Transport::Websocket)]
    #[case("{}", Transport::Mqtt)]
    fn mqtt_wins(#[case] body: &str, #[case] transport: Transport) {
        assert_eq!(configured(body).transport, transport);
    }

    #[test]
    fn settings_are_read_and_foreign_kinds_are_left() {
        let identity = configured(
            r#"{"mqtt":{"endpoint":"h:1","client_id":"c","username":"u","password":"p",
                "publish_topic":"t","keepalive":2,"subscribe_topic":"null"},
                "websocket":{"url":"ws://h/","token":"x","version":"2"}}"#,
        );
        assert_eq!(identity.mqtt.endpoint, "h:1");
        assert_eq!(identity.mqtt.publish_topic, "t");
        assert_eq!(identity.mqtt.keep_alive_s, 2);
        assert_eq!((&*identity.url, &*identity.token), ("ws://h/", "x"));
        assert_eq!(identity.websocket_version, 1);
        let identity = configured(r#"{"websocket":{"version":3}}"#);
        assert_eq!(identity.websocket_version, 3);
        assert_eq!(identity.mqtt.keep_alive_s, 240);
    }

    #[rstest]
    #[case("[]", Unusable::Json)]
    #[case("{", Unusable::Json)]
    #[case(r#"{"mqtt":{"subscribe_topics":"x"}}"#, Unusable::LongName)]
    #[case(r#"{"websocket":{"sixteen_letters_":1}}"#, Unusable::LongName)]
    #[case(&format!(r#"{{"websocket":{{"url":"{}"}}}}"#, "x".repeat(4000)), Unusable::LongText)]
    fn some_answers_cannot_be_used(#[case] body: &str, #[case] why: Unusable) {
        let mut identity = Identity::default();
        assert_eq!(read(body.as_bytes(), &mut identity), Err(why));
        assert_eq!(identity.mqtt.endpoint, "");
    }

    #[test]
    fn the_description_is_json_about_this_device() {
        let identity = Identity::default();
        let request = request(&identity, "en-US", None);
        let body: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(body["version"], 2);
        assert_eq!(body["mac_address"], *identity.mac);
        assert_eq!(body["uuid"], *identity.client_id);
        assert_eq!(body["application"]["version"], *identity.version);
        assert_eq!(body["board"]["type"], *identity.board);
        assert_eq!(body["partition_table"][0]["label"], "nvs");
    }

    #[rstest]
    #[case("http://h/ota", "http://h/ota/activate")]
    #[case("http://h/ota/", "http://h/ota/activate")]
    fn activation_is_asked_beneath_the_configuration(#[case] url: &str, #[case] expected: &str) {
        let identity = Identity { ota_url: url.to_string(), ..Identity::default() };
        assert_eq!(activation_request(&identity, "en-US").url, expected);
    }
}
