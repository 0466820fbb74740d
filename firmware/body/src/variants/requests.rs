//! Requests that documents leave open, read in another way.

use reference_device::Id;
use serde_json::{Map, Value, json};

use super::{Variant, variant};
use crate::defect::Defect;
use crate::hooks::{Flow, Hands};
use crate::prelude::*;

pub(super) const VARIANTS: &[Variant] = &[
    variant(
        "bad-id-answered",
        "Requests whose id is no integer are answered with -32600 and id null.",
        || {
            on_request(|payload, hands| {
                if payload
                    .get("id")
                    .is_some_and(|id| Id::from_value(id).is_none())
                {
                    // The device itself logs and drops it.
                    refuse(&Value::Null, "id must be an integer", hands);
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "bad-text-answered",
        "Text that is no JSON, or too long for the parser, is answered with -32700 and id null.",
        || {
            /// Longest text that it takes.
            const ROOM: usize = 4096;
            Defect::default().inbound(|inbound, hands| {
                let json = serde_json::from_str::<Value>(&inbound.text).is_ok();
                if json && inbound.text.len() <= ROOM {
                    return Flow::Pass;
                }
                let error = json!({"code": -32700, "message": "Parse error"});
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
                Flow::Drop
            })
        },
    ),
    variant(
        "string-id-answered",
        "Requests with a string id are answered with -32600 and that id.",
        || {
            on_request(|payload, hands| {
                if let Some(id @ Value::String(_)) = payload.get("id") {
                    refuse(id, "id must be an integer", hands);
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "initialize-once",
        "A second initialize in a session is refused.",
        || {
            let initialized = alloc::rc::Rc::new(core::cell::Cell::new(false));
            let forget = alloc::rc::Rc::clone(&initialized);
            on_request(move |payload, hands| {
                let id = payload.get("id").filter(|id| Id::from_value(id).is_some());
                let (Some(id), Some("initialize")) =
                    (id, payload.get("method").and_then(Value::as_str))
                else {
                    return Flow::Pass;
                };
                if !initialized.replace(true) {
                    return Flow::Pass;
                }
                refuse(id, "already initialized", hands);
                Flow::Drop
            })
            .disconnected(move |_| forget.set(false))
        },
    ),
    variant(
        "extra-argument-refused",
        "An argument that a tool does not know is refused.",
        || {
            on_request(|payload, hands| {
                let call = payload.get("method").and_then(Value::as_str) == Some("tools/call");
                let (Some(id), Some(params), true) =
                    (payload.get("id"), payload.get("params"), call)
                else {
                    return Flow::Pass;
                };
                let Some((tool, sent)) = hands.tool_of(params).zip(params["arguments"].as_object())
                else {
                    return Flow::Pass;
                };
                let known = |name: &String| tool.properties.iter().any(|known| known.name == name);
                if Id::from_value(id).is_none() || sent.keys().all(known) {
                    return Flow::Pass;
                }
                let error = json!({"code": -32602, "message": "Unexpected argument"});
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                Flow::Drop
            })
        },
    ),
    variant(
        "null-arguments-accepted",
        "`arguments` null stands for none, as in one real client.",
        || {
            on_request(|payload, _| {
                if let Some(Value::Object(params)) = payload.get_mut("params")
                    && params.get("arguments") == Some(&Value::Null)
                {
                    params.remove("arguments");
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "null-params-accepted",
        "`params` null stands for none.",
        || {
            on_request(|payload, _| {
                if payload.get("params") == Some(&Value::Null) {
                    payload.remove("params");
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "integer-with-point-refused",
        "A number such as 50.0 is no integer argument.",
        || {
            Defect::default().on_argument(|_, value| {
                // What is a string has the wrong type, too.
                Some(match value.is_f64() {
                    true => json!(value.to_string()),
                    false => value,
                })
            })
        },
    ),
    variant(
        "id-less-call-executed",
        "A call without id is executed and not answered, as JSON-RPC has it.",
        || {
            /// An id that nobody sends.
            const OWN: i64 = -7_301_977;
            on_request(|payload, _| {
                if payload.get("method").and_then(Value::as_str) == Some("tools/call")
                    && !payload.contains_key("id")
                {
                    payload.insert("id".to_string(), json!(OWN));
                }
                Flow::Pass
            })
            .on_answer(|_, payload, _| match payload["id"] == json!(OWN) {
                true => Flow::Drop,
                false => Flow::Pass,
            })
        },
    ),
];

/// Sees the payloads that are JSON-RPC 2.0 requests or notifications in an MCP message.
fn on_request(
    mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static,
) -> Defect {
    Defect::default().on_envelope(move |envelope, hands| {
        if envelope.get("type").and_then(Value::as_str) != Some("mcp") {
            return Flow::Pass;
        }
        match envelope.get_mut("payload") {
            Some(Value::Object(payload))
                if payload.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
                    && payload.get("method").is_some_and(Value::is_string) =>
            {
                hook(payload, hands)
            }
            _ => Flow::Pass,
        }
    })
}

/// Answers with -32600.
fn refuse(id: &Value, message: &str, hands: &mut Hands) {
    let error = json!({"code": -32600, "message": message});
    hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}
