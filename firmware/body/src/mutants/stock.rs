//! What unmodified stock firmware of generation 2.4 makes of MCP, where that goes against the documents
//! (device-protocol 4 and 9): not one defect but all of them together, so that a baseline for stock
//! devices can be tried without one.

use reference_device::Tool;
use serde_json::{Map, Value};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands, Inbound};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[mutant(
    "stock-2.4",
    "Requests are read and answered as by stock firmware 2.4.",
    stock,
)];

/// The version that it tells.
const VERSION: &str = "2.4.2";

/// What stock firmware says to a cursor that it does not know; two spaces, for want of a name.
const UNKNOWN_CURSOR: &str = "Failed to add tool  because of payload size limit";

fn stock() -> Defect {
    let answers = Defect::default().on_message(|kind, envelope, _| {
        if kind != "mcp" {
            return Flow::Pass;
        }
        let payload = &mut envelope["payload"];
        if payload["method"].is_string() {
            // It sends none of the notifications that documents describe.
            return Flow::Drop;
        }
        if payload["result"]["isError"] == Value::Bool(true) {
            let text = payload["result"]["content"][0]["text"].take();
            payload["error"] = serde_json::json!({ "message": text });
            if let Some(payload) = payload.as_object_mut() {
                payload.remove("result");
            }
        } else if let Some(error) = payload.get_mut("error").and_then(Value::as_object_mut) {
            error.retain(|name, _| name == "message");
            let cursor = error.get("message").and_then(Value::as_str);
            if cursor.is_some_and(|message| message.contains("cursor")) {
                error.insert("message".to_string(), UNKNOWN_CURSOR.into());
            }
        }
        Flow::Pass
    });
    answers
        .setup(|device| device.identity_mut().version = VERSION.into())
        .inbound(read)
}

/// Reads a message as stock firmware does.
fn read(inbound: &mut Inbound, hands: &mut Hands) -> Flow {
    let Ok(Value::Object(mut envelope)) = serde_json::from_str(&inbound.text) else {
        return Flow::Pass;
    };
    if envelope.get("type").and_then(Value::as_str) != Some("mcp") {
        return Flow::Pass;
    }
    let Some(Value::Object(payload)) = envelope.get_mut("payload") else {
        return Flow::Drop;
    };
    *payload = any_case(
        core::mem::take(payload),
        &["jsonrpc", "method", "params", "id"],
    );
    let flow = match request(payload, hands) {
        Ok(flow) => flow,
        Err(Refusal::Silence(line)) => {
            let uptime = hands.device.uptime_ms();
            hands.act(Act::Print(format!("E ({uptime}) MCP: {line}")));
            Flow::Drop
        }
        Err(Refusal::Unlogged) => Flow::Drop,
        Err(Refusal::Error(id, message)) => {
            // What it was sent goes into the answer as it came.
            let session = hands.device.session_json();
            let text = format!(
                r#"{{"session_id":{session},"type":"mcp","payload":{{"jsonrpc":"2.0","id":{id},"error":{{"message":"{message}"}}}}}}"#
            );
            hands.send(text);
            Flow::Drop
        }
    };
    inbound.text = Value::Object(envelope).to_string();
    flow
}

/// How a message is not carried out.
enum Refusal {
    /// Nothing but a line on the console tells of it.
    Silence(String),
    /// Nothing at all does.
    Unlogged,
    /// By an error without a code.
    Error(i64, String),
}

fn request(payload: &mut Map<String, Value>, hands: &mut Hands) -> Result<Flow, Refusal> {
    if payload.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(Refusal::Silence("Invalid JSONRPC version: null".into()));
    }
    let Some(method) = payload.get("method").and_then(Value::as_str) else {
        return Err(Refusal::Silence("Missing method".into()));
    };
    let method = method.to_string();
    if method.starts_with("notifications") {
        return Err(Refusal::Unlogged);
    }
    if !payload.get("params").is_none_or(Value::is_object) {
        let line = format!("Invalid params for method: {method}");
        return Err(Refusal::Silence(line));
    }
    let Some(id) = payload.get("id").and_then(integer) else {
        return Err(Refusal::Silence(format!("Invalid id for method: {method}")));
    };
    payload.insert("id".to_string(), id.into());
    match &*method {
        "initialize" => {}
        "tools/list" => {
            if let Some(Value::Object(params)) = payload.get_mut("params") {
                params.retain(|name, value| match &**name {
                    "cursor" => value.is_string(),
                    "withUserTools" => value.is_boolean(),
                    _ => false,
                });
            }
        }
        "tools/call" => {
            let Some(Value::Object(params)) = payload.get_mut("params") else {
                return Err(Refusal::Error(id, "Missing params".into()));
            };
            call(params, hands).map_err(|message| Refusal::Error(id, message))?;
            if params.get("name").and_then(Value::as_str) == Some("self.reboot") {
                // It restarts before the answer is out.
                let uptime = hands.device.uptime_ms();
                hands.act(Act::Print(format!(
                    "W ({uptime}) MCP: User requested reboot"
                )));
                hands.act(Act::Print(format!(
                    "I ({uptime}) Application: Rebooting..."
                )));
                hands.act(Act::Restart);
                return Ok(Flow::Drop);
            }
        }
        _ => {
            let message = format!("Method not implemented: {method}");
            return Err(Refusal::Error(id, message));
        }
    }
    Ok(Flow::Pass)
}

/// Checks the arguments of a call and makes of them what the tool gets.
fn call(params: &mut Map<String, Value>, hands: &Hands) -> Result<(), String> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err("Missing name".into());
    };
    if !params.get("arguments").is_none_or(Value::is_object) {
        return Err("Invalid arguments".into());
    }
    let Some(tool) = hands.device.registry().find(name).copied() else {
        return Err(format!("Unknown tool: {name}"));
    };
    let given = match params.remove("arguments") {
        Some(Value::Object(given)) => given,
        _ => Map::new(),
    };
    params.insert("arguments".to_string(), arguments(&tool, given)?.into());
    Ok(())
}

fn arguments(tool: &Tool, mut given: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut taken = Map::new();
    for property in tool.properties {
        let name = given
            .keys()
            .find(|name| name.eq_ignore_ascii_case(property.name))
            .cloned();
        let value = name.and_then(|name| given.remove(&name));
        let value = value.and_then(|value| match property.type_name() {
            "integer" => integer(&value).map(Value::from),
            "boolean" => Some(value).filter(Value::is_boolean),
            _ => Some(value).filter(Value::is_string),
        });
        let Some(value) = value else {
            if property.default().is_none() {
                return Err(format!("Missing valid argument: {}", property.name));
            }
            continue;
        };
        let range = property.range();
        if value.as_i64().is_some_and(|value| value > range.maximum) {
            let most = range.maximum;
            return Err(format!("Value exceeds maximum allowed: {most}"));
        }
        if value.as_i64().is_some_and(|value| value < range.minimum) {
            let least = range.minimum;
            return Err(format!("Value is below minimum allowed: {least}"));
        }
        taken.insert(property.name.to_string(), value);
    }
    Ok(taken)
}

/// A number as C's `int`: without its fraction, and within its bounds.
fn integer(value: &Value) -> Option<i64> {
    // Of a float beyond the bounds of the type the cast gives the bound.
    let number = value.as_f64()? as i64;
    Some(number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)))
}

/// The members under the names that are meant, however they are spelt.
fn any_case(members: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let mut read = Map::new();
    for (name, value) in members {
        let known = names.iter().find(|known| known.eq_ignore_ascii_case(&name));
        let name = known.map_or(name, ToString::to_string);
        read.entry(name).or_insert(value);
    }
    read
}
