//! Other answers to the same requests.

use serde_json::{Value, json};

use super::{Variant, variant};
use crate::defect::Defect;
use crate::hooks::{Flow, Hands, Request};
use crate::prelude::*;

/// JSON-RPC 2.0 section 5.1.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC 2.0 section 5.1.
const INVALID_REQUEST: i64 = -32600;

pub(super) const VARIANTS: &[Variant] = &[
    variant(
        "unknown-tool-32601",
        "An unknown tool gets the code -32601, as the MCP flow shows.",
        || {
            refusals(|is_known, payload| {
                if !is_known {
                    payload["error"]["code"] = json!(METHOD_NOT_FOUND);
                }
            })
        },
    ),
    variant(
        "unknown-tool-is-error",
        "A call of an unknown tool gives a result with isError.",
        || {
            refusals(|is_known, payload| {
                if !is_known {
                    as_result(payload);
                }
            })
        },
    ),
    variant(
        "bad-argument-is-error",
        "A call of a tool with bad arguments gives a result with isError.",
        || {
            refusals(|is_known, payload| {
                if is_known {
                    as_result(payload);
                }
            })
        },
    ),
    variant(
        "bad-calls-are-errors",
        "Every call that cannot be carried out gives a result with isError.",
        || refusals(|_, payload| as_result(payload)),
    ),
    variant(
        "failure-as-error",
        "A tool that fails is answered with an error, as by stock firmware.",
        || {
            Defect::default().on_answer(|cause, payload, _| {
                if cause.method() == "tools/call" && payload["result"]["isError"] == json!(true) {
                    let text = payload["result"]["content"][0]["text"].take();
                    let id = payload["id"].take();
                    *payload = json!({"jsonrpc": "2.0", "id": id,
                        "error": {"code": -32603, "message": text}});
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "error-messages-alike",
        "The message of every error is `Error`.",
        || Defect::default().on_error(|_, error| error["message"] = json!("Error")),
    ),
    variant("error-data", "Errors have `data`.", || {
        Defect::default().on_error(|cause, error| {
            error["data"] = json!({"method": cause.method(), "hint": ["see", "manual"]})
        })
    }),
    variant(
        "is-error-omitted",
        "Successful results have no isError.",
        || {
            Defect::default().on_result("tools/call", |_, result| {
                if result["isError"] == json!(false) {
                    result
                        .as_object_mut()
                        .map(|result| result.remove("isError"));
                }
            })
        },
    ),
    variant(
        "more-content",
        "Results of calls have another text and a picture behind the first text.",
        || {
            Defect::default().on_result("tools/call", |_, result| {
                if let Some(content) = result["content"].as_array_mut() {
                    content.push(json!({"type": "text", "text": "Anything else?",
                        "annotations": {"audience": ["user"], "priority": 0.1}}));
                    content.push(
                        json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}),
                    );
                }
            })
        },
    ),
    variant(
        "status-indented",
        "The text of the status is indented, and tells more.",
        || {
            Defect::default().on_result("tools/call", |cause, result| {
                if cause.tool() != "self.get_device_status" {
                    return;
                }
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                if let Ok(mut status @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
                    status["uptime"] = json!(12.5);
                    status["audio_speaker"]["codec"] = json!("ES8311");
                    result["content"][0]["text"] = json!(format!("{status:#}"));
                }
            })
        },
    ),
    variant(
        "extra-members",
        "Envelopes, answers and results have members that no document names.",
        || {
            Defect::default().on_message(|kind, envelope, _| {
                envelope["timestamp"] = json!(1_758_893_424_665_u64);
                if kind == "mcp" {
                    let payload = &mut envelope["payload"];
                    payload["device"] = json!({"heap": 142_331});
                    if let Some(result @ Value::Object(_)) = payload.get_mut("result") {
                        // The result of ping is empty, by the text of MCP.
                        if *result != json!({}) {
                            result["note"] = json!(null);
                        }
                        result["_meta"] = json!({"took": 3});
                    }
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "initialize-more",
        "The answer to initialize has more capabilities, and instructions.",
        || {
            Defect::default().on_result("initialize", |_, result| {
                result["capabilities"]["tools"]["listChanged"] = json!(false);
                result["capabilities"]["logging"] = json!({});
                result["capabilities"]["experimental"] = json!({"x": {}});
                result["instructions"] = json!("Speak slowly.");
                result["serverInfo"]["title"] = json!("A \"board\"");
            })
        },
    ),
    variant(
        "initialize-negotiates",
        "initialize is answered with the version asked for, where that one exists.",
        || {
            Defect::default().on_result("initialize", |cause, result| {
                let asked = &cause.params()["protocolVersion"];
                if ["2024-11-05", "2025-03-26", "2025-06-18"]
                    .iter()
                    .any(|known| asked == known)
                {
                    result["protocolVersion"] = asked.clone();
                }
            })
        },
    ),
    variant(
        "server-name-empty",
        "The name of the device is empty, as in one client library.",
        || {
            Defect::default().on_result("initialize", |_, result| {
                result["serverInfo"]["name"] = json!("");
            })
        },
    ),
    variant(
        "no-ping",
        "ping is an unknown method, as to all measured devices.",
        || {
            Defect::default().on_answer(|cause, payload, _| {
                if cause.method() == "ping" && payload.get("result").is_some() {
                    let error = json!({"code": METHOD_NOT_FOUND, "message": "Method not implemented: ping"});
                    let id = payload["id"].take();
                    *payload = json!({"jsonrpc": "2.0", "id": id, "error": error});
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "bad-requests-dropped",
        "Messages that are no requests are logged and not answered, as by stock firmware.",
        || {
            Defect::default().on_answer(|cause, payload, _| {
                let bad_params = matches!(
                    cause.params(),
                    Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Array(_)
                );
                if payload["error"]["code"] == json!(INVALID_REQUEST) || bad_params {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
];

/// Edits the error answers to tool calls; the first argument tells whether the device has the tool.
fn refusals(edit: fn(bool, &mut Value)) -> Defect {
    Defect::default().on_answer(move |cause: &Request, payload, hands: &mut Hands| {
        let is_refusal = payload.get("error").is_some() && payload["id"].is_number();
        // What is no request at all stays an error: no tool was asked.
        let is_call = cause.method() == "tools/call" && payload["error"]["code"] == json!(-32602);
        if is_refusal && is_call && cause.params()["name"].is_string() {
            edit(hands.tool_of(cause.params()).is_some(), payload);
        }
        Flow::Pass
    })
}

/// Turns an error into a result that says the same.
fn as_result(payload: &mut Value) {
    let text = payload["error"]["message"].take();
    let id = payload["id"].take();
    *payload = json!({"jsonrpc": "2.0", "id": id,
        "result": {"content": [{"type": "text", "text": text}], "isError": true}});
}
