//! What unmodified stock firmware of generation 2.4 makes of MCP, where that goes against the documents
//! (device-protocol 4 and 9): not one defect but all of them together, so that a baseline for stock
//! devices can be tried without one. Two of them break down besides, where that baseline tolerates a
//! wrong answer: it must not hide them.

use reference_device::{Property, Tool};

use super::framing::{HEAP, in_use, size_2};
use crate::platform::LinkOptions;
use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "stock-2.4": "Requests are read and answered as by stock firmware 2.4." => stock();
    "stock-2.4-panics-at-large-id":
        "As stock firmware 2.4, but an id beyond 32 bits crashes the device."
        => stock_but(has_large_id, Act::Panic);
    "stock-2.4-dies-at-fraction":
        "As stock firmware 2.4, but a fraction as an argument ends the device's life."
        => stock_but(has_fraction, Act::Exit);
};

/// The version that it tells.
const VERSION: &str = "2.4.2";

/// The tool that upgrades the firmware.
const UPGRADE: &str = "self.upgrade_firmware";

/// Its argument: what was meant as the description stands where the default does.
const UPGRADE_URL: &[Property] = &[Property::text("url", "")
    .with_default_text("The URL of the firmware binary file to download and install")];

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
            remove(payload, "result");
        } else if let Some(error) = payload.get_mut("error").and_then(Value::as_object_mut) {
            error.retain(|name, _| name == "message");
            let message = get(error, "message").as_str();
            if message.is_some_and(|message| message.contains("cursor")) {
                set(error, "message", UNKNOWN_CURSOR);
            }
        }
        Flow::Pass
    });
    answers
        .setup(|device| {
            device.identity_mut().version = VERSION.into();
            let registry = device.registry_mut();
            if let Some(upgrade) = registry.find(UPGRADE).copied() {
                registry.retain(|tool| tool.name != UPGRADE);
                // It fits: it is shorter than it was.
                let _ = registry.add(Tool { properties: UPGRADE_URL, ..upgrade });
            }
        })
        .inbound(read)
        .binary(|frame, hands| {
            // The payload is copied as far as its header says. A little too far is garbage to play; what no
            // heap holds ends in an exception that nobody catches.
            act_if(in_use(hands) == 2 && size_2(frame) > HEAP, Act::Panic, hands);
        })
        .link(LinkOptions { drop_closes: true, lingers: true, ..LinkOptions::default() })
}

/// Stock firmware that does something else with such a request.
fn stock_but(is_such: fn(&Request) -> bool, act: Act) -> Defect {
    stock().inbound(move |inbound, hands| match is_such(&Request::read(&inbound.text)) {
        true => instead(act.clone(), hands),
        false => read(inbound, hands),
    })
}

fn has_large_id(request: &Request) -> bool {
    let id = request.id().as_f64();
    id.is_some_and(|id| integer(&id.into()) != Some(id as i64))
}

fn has_fraction(request: &Request) -> bool {
    let Some(arguments) = request.params()["arguments"].as_object() else {
        return false;
    };
    let mut numbers = arguments.values().filter_map(Value::as_f64);
    numbers.any(|number| number != (number as i64) as f64)
}

/// Reads a message as stock firmware does.
fn read(inbound: &mut Inbound, hands: &mut Hands) -> Flow {
    let Ok(Value::Object(mut envelope)) = serde_json::from_str(&inbound.text) else {
        return Flow::Pass;
    };
    if get(&envelope, "type") != "mcp" {
        return Flow::Pass;
    }
    let Some(Value::Object(payload)) = envelope.get_mut("payload") else {
        return Flow::Drop;
    };
    payload.values_mut().for_each(end_at_nul);
    *payload = any_case(core::mem::take(payload), &["jsonrpc", "method", "params", "id"]);
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

/// To cJSON a string ends at NUL.
fn end_at_nul(value: &mut Value) {
    match value {
        Value::String(text) => {
            let end = text.find('\0').unwrap_or(text.len());
            text.truncate(end);
        }
        Value::Array(items) => items.iter_mut().for_each(end_at_nul),
        Value::Object(members) => members.values_mut().for_each(end_at_nul),
        _ => {}
    }
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
    if get(payload, "jsonrpc") != "2.0" {
        return Err(Refusal::Silence("Invalid JSONRPC version: null".into()));
    }
    let Some(method) = get(payload, "method").as_str() else {
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
    set(payload, "id", id);
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
            if get(params, "name") == "self.reboot" {
                // It restarts before the answer is out.
                let uptime = hands.device.uptime_ms();
                for line in ["W (@) MCP: User requested reboot", "I (@) Application: Rebooting..."]
                {
                    hands.act(Act::Print(line.replace('@', &uptime.to_string())));
                }
                return Ok(instead(Act::Restart, hands));
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
    let Some(name) = get(params, "name").as_str() else {
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
    set(params, "arguments", arguments(&tool, given)?);
    Ok(())
}

fn arguments(tool: &Tool, mut given: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut taken = Map::new();
    for property in tool.properties {
        let name = given.keys().find(|name| name.eq_ignore_ascii_case(property.name)).cloned();
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
