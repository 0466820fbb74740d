//! Messages that the harness sends: legal by construction, or marked as a stimulus that is not.

use serde_json::{Map, Value, json};

use crate::transcript::Transport;

/// A JSON-RPC request. Members stand in the order of the documents.
pub fn request(id: &Value, method: &str, params: Option<&Value>) -> Value {
    let mut payload = Map::new();
    payload.insert("jsonrpc".into(), "2.0".into());
    payload.insert("id".into(), id.clone());
    payload.insert("method".into(), method.into());
    if let Some(params) = params {
        payload.insert("params".into(), params.clone());
    }
    Value::Object(payload)
}

/// A JSON-RPC notification.
pub fn notification(method: &str, params: Option<&Value>) -> Value {
    let mut payload = Map::new();
    payload.insert("jsonrpc".into(), "2.0".into());
    payload.insert("method".into(), method.into());
    if let Some(params) = params {
        payload.insert("params".into(), params.clone());
    }
    Value::Object(payload)
}

/// The envelope around a payload given as JSON text (which need not be valid: a stimulus).
pub fn envelope(session_id: &str, payload: &str) -> String {
    let session = Value::from(session_id);
    format!(r#"{{"session_id":{session},"type":"mcp","payload":{payload}}}"#)
}

/// The server's hello. `transport` is always there: stock firmware crashes without it over
/// WebSocket (device-protocol 2.3). `udp` is where a device that came over MQTT sends its audio
/// (device-protocol 3.3).
pub fn server_hello(transport: Transport, session_id: &str, udp: Option<&Value>) -> String {
    let mut hello = json!({
        "type": "hello",
        "transport": transport.in_hello(),
        "session_id": session_id,
        "audio_params": {
            "format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60
        }
    });
    if let Some(udp) = udp {
        hello["udp"] = udp.clone();
    }
    hello.to_string()
}
