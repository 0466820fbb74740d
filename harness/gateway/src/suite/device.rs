//! The device that the harness plays to a gateway: it answers at once, and the same each time.

use mcp_hil_core::wire::{Frame, Inbound, Payload, as_integer, outbound};
use serde_json::{Value, json};

/// The tool that fails, by a result with `isError` true.
pub const FAILING_TOOL: &str = "self.tool_that_fails";

/// Tools that are there without being listed: they are called to see that they are called.
const UNLISTED: [&str; 2] = ["self.screen.set_brightness", "constructor"];

/// The device's own hello.
pub fn hello(transport: &str) -> String {
    let (version, transport) = match transport {
        "mqtt" => (3, "udp"),
        other => (1, other),
    };
    json!({
        "type": "hello", "version": version, "features": {"mcp": true}, "transport": transport,
        "audio_params": {
            "format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60
        }
    })
    .to_string()
}

/// What the device answers to a message of the gateway, if anything. `level` is the volume that
/// its status shows, whatever is set.
pub fn answer(frame: &Frame, level: i64) -> Option<String> {
    let inbound = Inbound::read(frame);
    let message = inbound.message()?;
    let Payload::Request(request) = message.payload() else {
        return None;
    };
    // Devices drop other ids without a word.
    let id = as_integer(request.get("id")?)?;
    let session = message.envelope.get("session_id");
    let session = session.and_then(Value::as_str).unwrap_or_default();
    let outcome = match request.get("method")?.as_str()? {
        "initialize" => Ok(json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mcp-hil", "version": env!("CARGO_PKG_VERSION")}
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools()})),
        "tools/call" => call(request.get("params"), level),
        other => Err((-32_601, format!("Method not implemented: {other}"))),
    };
    let answer = match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    };
    Some(outbound::envelope(session, &answer.to_string()))
}

fn call(params: Option<&Value>, level: i64) -> Result<Value, (i64, String)> {
    let name = params.and_then(|params| params.get("name")?.as_str());
    let name = name.unwrap_or_default();
    let known = tools().iter().any(|tool| tool["name"] == name) || UNLISTED.contains(&name);
    let text = match name {
        "self.get_device_status" => json!({"audio_speaker": {"volume": level}}).to_string(),
        FAILING_TOOL => "it failed".into(),
        _ if known => "true".into(),
        _ => return Err((-32_602, format!("Unknown tool: {name}"))),
    };
    Ok(json!({
        "content": [{"type": "text", "text": text}],
        "isError": name == FAILING_TOOL
    }))
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, argument: Option<&str>| {
        let properties = match argument {
            Some(name) => json!({name: {"type": "integer", "minimum": 0, "maximum": 100}}),
            None => json!({}),
        };
        let schema = json!({"type": "object", "properties": properties});
        json!({"name": name, "description": name, "inputSchema": schema})
    };
    vec![
        tool("self.get_device_status", None),
        tool("self.audio_speaker.set_volume", Some("volume")),
        tool("self.audio_speaker.volume_up", Some("step")),
        tool("self.audio_speaker.volume_down", Some("step")),
        tool("self.audio_speaker.mute", None),
        tool("self.audio_speaker.unmute", None),
        tool(FAILING_TOOL, None),
    ]
}
