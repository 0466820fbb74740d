//! Messages that the harness sends: legal by construction, or marked as a stimulus that is not.

use serde_json::{Map, Value, json};

use crate::transport::Transport;

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

/// Parameters of `initialize` (MCP 2024-11-05, lifecycle). `client` is the name of who asks.
pub fn initialize_params(client: &str, capabilities: &Value) -> Value {
    json!({
        "protocolVersion": "2024-11-05",
        "capabilities": capabilities,
        "clientInfo": {"name": client, "version": env!("CARGO_PKG_VERSION")}
    })
}

/// What a backend answers to a request of the device: an empty result to a `ping` (MCP 2024-11-05,
/// basic/utilities/ping), and to everything else error -32601 (JSON-RPC 2.0, section 5.1).
///
/// `None` where no answer is due: without a usable id, without a method, or for a notification that
/// carries an id by mistake.
pub fn reply(request: &Map<String, Value>) -> Option<Value> {
    let id = request.get("id").filter(|id| id.is_string() || id.is_number())?;
    let method = request.get("method")?.as_str()?;
    if method.starts_with("notifications/") {
        return None;
    }
    Some(match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => json!({
            "jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}
        }),
    })
}

/// The envelope around a payload given as JSON text (which need not be valid: a stimulus).
pub fn envelope(session_id: &str, payload: &str) -> String {
    let session = Value::from(session_id);
    format!(r#"{{"session_id":{session},"type":"mcp","payload":{payload}}}"#)
}

/// A message of the type `system`, such as the command `reboot` (device-protocol 2.4).
pub fn system(session_id: &str, command: &str) -> String {
    json!({"session_id": session_id, "type": "system", "command": command}).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(json!({"jsonrpc": "2.0", "id": "d-1", "method": "ping"}), Some(json!({"jsonrpc": "2.0", "id": "d-1", "result": {}})))]
    #[case(
        json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}}),
        Some(json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "Method not found"}}))
    )]
    #[case(json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), None)]
    #[case(json!({"jsonrpc": "2.0", "id": 7, "method": 1}), None)]
    #[case(json!({"jsonrpc": "2.0", "id": 7, "method": "notifications/state_changed"}), None)]
    #[case(json!({"jsonrpc": "2.0", "method": "ping"}), None)]
    fn requests_of_the_device_are_answered_and_nothing_else(
        #[case] request: Value,
        #[case] answer: Option<Value>,
    ) {
        assert_eq!(reply(request.as_object().unwrap()), answer);
    }
}
