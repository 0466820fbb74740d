//! Defects of the JSON-RPC layer: what is a request, and what is an answer.

use alloc::rc::Rc;
use core::cell::RefCell;

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "answer-version-missing",
        "Error answers lack the member jsonrpc.",
        || {
            error_answers(|payload| {
                payload.remove("jsonrpc");
            })
        },
    ),
    mutant(
        "answer-version-number",
        "Error answers say 2.0 as a number.",
        || {
            error_answers(|payload| {
                payload.insert("jsonrpc".to_string(), json!(2.0));
            })
        },
    ),
    mutant(
        "notification-version-missing",
        "Notifications lack the member jsonrpc.",
        || {
            Defect::default().on_notification(|payload| {
                payload
                    .as_object_mut()
                    .map(|payload| payload.remove("jsonrpc"));
            })
        },
    ),
    mutant(
        "answer-error-null",
        "Results are accompanied by an error that is null.",
        || {
            Defect::default().on_answer(|cause, payload, _| {
                if cause.method() == "initialize" && payload.get("result").is_some() {
                    payload["error"] = Value::Null;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "answer-result-null",
        "Errors are accompanied by a result that is null.",
        || {
            error_answers(|payload| {
                payload.insert("result".to_string(), Value::Null);
            })
        },
    ),
    mutant(
        "answer-result-and-error",
        "Errors are accompanied by an empty result.",
        || {
            error_answers(|payload| {
                payload.insert("result".to_string(), json!({}));
            })
        },
    ),
    mutant(
        "answer-neither",
        "Errors are answered with neither result nor error.",
        || {
            error_answers(|payload| {
                payload.remove("error");
            })
        },
    ),
    mutant(
        "answer-twice",
        "Unknown methods are answered twice.",
        || {
            repeated_answer(
                |method| !["initialize", "tools/list", "tools/call"].contains(&method),
                0,
            )
        },
    ),
    mutant(
        "answer-list-twice",
        "The tool list is answered twice.",
        || repeated_answer(|method| method == "tools/list", 0),
    ),
    mutant(
        "answer-twice-late",
        "Calls are answered a second time 300 ms later.",
        || repeated_answer(|method| method == "tools/call", 300),
    ),
    mutant(
        "answer-missing",
        "A call of self.audio_speaker.mute is executed and never answered.",
        || {
            Defect::default().on_answer(|cause, _, _| {
                if cause.tool() == "self.audio_speaker.mute" {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "answer-unsolicited",
        "Each change of state is followed by an answer that nobody asked for.",
        || {
            Defect::default().on_message(|kind, envelope, hands| {
                if kind == "mcp" && envelope["payload"].get("method").is_some() {
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": 990_017, "result": {}}));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "answer-result-text",
        "The result of unmute is the word true instead of an object.",
        || tool_result("self.audio_speaker.unmute", || json!("true")),
    ),
    mutant(
        "answer-result-boolean",
        "The result of set_volume is true instead of an object.",
        || tool_result("self.audio_speaker.set_volume", || json!(true)),
    ),
    mutant(
        "answer-result-array",
        "The result of initialize is an array.",
        || Defect::default().on_result("initialize", |_, result| *result = json!([result.take()])),
    ),
    mutant(
        "version-unchecked",
        "The member jsonrpc is not looked at.",
        || {
            payload_edit(|payload| {
                payload.insert("jsonrpc".to_string(), json!("2.0"));
            })
        },
    ),
    mutant(
        "version-missing-accepted",
        "A request without jsonrpc is executed.",
        || {
            payload_edit(|payload| {
                payload.entry("jsonrpc").or_insert(json!("2.0"));
            })
        },
    ),
    mutant(
        "version-one-accepted",
        "A request of JSON-RPC 1.0 is executed.",
        || {
            payload_edit(|payload| {
                if payload.get("jsonrpc") == Some(&json!("1.0")) {
                    payload.insert("jsonrpc".to_string(), json!("2.0"));
                }
            })
        },
    ),
    mutant(
        "version-number-accepted",
        "A request with the number 2.0 for a version is executed.",
        || {
            payload_edit(|payload| {
                if payload.get("jsonrpc").is_some_and(Value::is_number) {
                    payload.insert("jsonrpc".to_string(), json!("2.0"));
                }
            })
        },
    ),
    mutant(
        "method-missing-accepted",
        "A request without method is taken for a ping.",
        || {
            payload_edit(|payload| {
                if !payload.contains_key("result") && !payload.contains_key("error") {
                    payload.entry("method").or_insert(json!("ping"));
                }
            })
        },
    ),
    mutant(
        "method-number-accepted",
        "A request whose method is no string is taken for a ping.",
        || {
            payload_edit(|payload| {
                if payload
                    .get("method")
                    .is_some_and(|method| !method.is_string())
                {
                    payload.insert("method".to_string(), json!("ping"));
                }
            })
        },
    ),
    mutant(
        "params-unchecked",
        "Parameters that are no object are taken for none.",
        || {
            payload_edit(|payload| {
                if payload
                    .get("params")
                    .is_some_and(|params| !params.is_object())
                {
                    payload.remove("params");
                }
            })
        },
    ),
    mutant(
        "response-answered",
        "A response is answered as an invalid request.",
        || {
            responses(|payload, hands| {
                hands.send_payload(&json!({
                    "jsonrpc": "2.0",
                    "id": payload.get("id"),
                    "error": {"code": -32600, "message": "Missing method"},
                }));
            })
        },
    ),
    mutant(
        "response-acknowledged",
        "A response is answered with an empty result.",
        || {
            responses(|payload, hands| {
                hands.send_payload(
                    &json!({"jsonrpc": "2.0", "id": payload.get("id"), "result": {}}),
                );
            })
        },
    ),
    mutant(
        "members-case-insensitive",
        "METHOD, ID and JSONRPC are read like their small brothers.",
        || {
            payload_edit(|payload| {
                for name in ["jsonrpc", "id", "method", "params"] {
                    let other = payload
                        .keys()
                        .find(|key| key.eq_ignore_ascii_case(name) && *key != name)
                        .cloned();
                    if let Some(value) = other.and_then(|other| payload.remove(&other)) {
                        payload.entry(name).or_insert(value);
                    }
                }
            })
        },
    ),
    mutant(
        "request-extra-member-refused",
        "A request with an unknown member is dropped.",
        || {
            Defect::default().on_payload(|payload, _| {
                let known = ["jsonrpc", "id", "method", "params", "result", "error"];
                if payload.keys().all(|name| known.contains(&name.as_str())) {
                    Flow::Pass
                } else {
                    Flow::Drop
                }
            })
        },
    ),
    mutant(
        "member-order-method-first",
        "A request is dropped when its method stands before its jsonrpc.",
        || {
            Defect::default().inbound(|inbound, _| {
                match payload_positions(&inbound.text, "method", "jsonrpc") {
                    Some((method, version)) if method < version => Flow::Drop,
                    _ => Flow::Pass,
                }
            })
        },
    ),
    mutant(
        "member-order-params-first",
        "Parameters are lost when they stand before the method.",
        || {
            Defect::default().inbound(|inbound, hands| {
                if let Some((params, method)) = payload_positions(&inbound.text, "params", "method")
                    && params < method
                    && let Ok(mut envelope) = serde_json::from_str::<Value>(&inbound.text)
                    && let Some(id) = envelope["payload"].get_mut("id").map(Value::take)
                {
                    let error = json!({"code": -32602, "message": "params must follow method"});
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                    return Flow::Drop;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "whitespace-refused",
        "A message with line feeds or tabs between its members is dropped.",
        || {
            Defect::default().inbound(|inbound, _| {
                // Within a string they would be escaped.
                let has_space = inbound.text.contains(['\n', '\t', '\r']);
                if has_space && serde_json::from_str::<Value>(&inbound.text).is_ok() {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "escapes-not-understood",
        "The escape \\u is left as it stands, in names and in strings.",
        || {
            Defect::default().inbound(|inbound, _| {
                if serde_json::from_str::<Value>(&inbound.text).is_ok() {
                    inbound.text = inbound.text.replace("\\u", "\\\\u");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "escaped-slash-not-understood",
        "The escape \\/ is left as it stands: `tools\\/list` is unknown.",
        || {
            Defect::default().inbound(|inbound, _| {
                if serde_json::from_str::<Value>(&inbound.text).is_ok() {
                    inbound.text = inbound.text.replace("\\/", "\\\\/");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "in-flight-mixed",
        "Of several requests in flight each gets the content of its neighbour.",
        || {
            held_answers(|answers| {
                let contents: Vec<Value> = answers
                    .iter()
                    .map(|answer| content(answer).clone())
                    .collect();
                let count = answers.len();
                for (index, answer) in answers.iter_mut().enumerate() {
                    let neighbour = &contents[(index + 1) % count];
                    for member in ["result", "error"] {
                        answer.remove(member);
                    }
                    let member = if neighbour.get("code").is_some() {
                        "error"
                    } else {
                        "result"
                    };
                    answer.insert(member.to_string(), neighbour.clone());
                }
            })
        },
    ),
    mutant(
        "in-flight-one-id",
        "Of several requests in flight all are answered under the id of the last.",
        || {
            held_answers(|answers| {
                let last = answers
                    .last()
                    .and_then(|answer| answer.get("id"))
                    .cloned()
                    .unwrap_or_default();
                for answer in answers {
                    answer.insert("id".to_string(), last.clone());
                }
            })
        },
    ),
    mutant(
        "in-flight-last-only",
        "Of several requests in flight the last alone is answered.",
        || {
            held_answers(|answers| {
                answers.drain(..answers.len() - 1);
            })
        },
    ),
    mutant(
        "ping-unknown",
        "ping is an unknown method, as in most devices of the family.",
        || {
            Defect::default().on_answer(|cause, payload, _| {
                if cause.method() == "ping" {
                    payload
                        .as_object_mut()
                        .map(|payload| payload.remove("result"));
                    payload["error"] =
                        json!({"code": -32601, "message": "Method not implemented: ping"});
                }
                Flow::Pass
            })
        },
    ),
    mutant("ping-talks", "The result of ping is not empty.", || {
        Defect::default().on_result("ping", |_, result| *result = json!({"pong": true}))
    }),
];

/// Edits the payload of error answers.
fn error_answers(edit: fn(&mut Map<String, Value>)) -> Defect {
    Defect::default().on_answer(move |_, payload, _| {
        if let Value::Object(payload) = payload
            && payload.contains_key("error")
        {
            edit(payload);
        }
        Flow::Pass
    })
}

/// Sends the answers of some methods once more.
fn repeated_answer(is_repeated: fn(&str) -> bool, delay_ms: u64) -> Defect {
    Defect::default().on_answer_text(move |cause, text, hands| {
        if is_repeated(cause.method()) {
            hands.send_later(delay_ms, text.clone());
        }
        Flow::Pass
    })
}

/// Replaces the results of one tool.
fn tool_result(tool: &'static str, result: fn() -> Value) -> Defect {
    Defect::default().on_result("tools/call", move |cause, value| {
        if cause.tool() == tool {
            *value = result();
        }
    })
}

fn payload_edit(edit: fn(&mut Map<String, Value>)) -> Defect {
    Defect::default().on_payload(move |payload, _| {
        edit(payload);
        Flow::Pass
    })
}

/// Sees the responses that arrive, in the place of the device.
fn responses(hook: fn(&Map<String, Value>, &mut Hands)) -> Defect {
    Defect::default().on_payload(move |payload, hands| {
        let has_content = payload.contains_key("result") || payload.contains_key("error");
        if payload.contains_key("method") || !has_content {
            return Flow::Pass;
        }
        hook(payload, hands);
        Flow::Drop
    })
}

/// Where two members of the payload stand in the text, when both are there.
fn payload_positions(text: &str, first: &str, second: &str) -> Option<(usize, usize)> {
    let payload = text.find("\"payload\"")?;
    let find = |name: &str| text[payload..].find(&format!("\"{name}\""));
    Some((find(first)?, find(second)?))
}

fn content(answer: &Map<String, Value>) -> &Value {
    answer
        .get("result")
        .or_else(|| answer.get("error"))
        .unwrap_or(&Value::Null)
}

/// How long answers are collected: longer than requests that are sent back to back are apart.
const HOLD_MS: u64 = 5;

/// Collects answers for a moment, as a device does that answers in another task, and edits what
/// has come together when it is more than one.
fn held_answers(edit: fn(&mut Vec<Map<String, Value>>)) -> Defect {
    let held = Rc::new(RefCell::new(Vec::new()));
    let out = Rc::clone(&held);
    Defect::default()
        .on_answer(move |_, payload, hands| {
            let Value::Object(payload) = payload else {
                return Flow::Pass;
            };
            let mut held = held.borrow_mut();
            if held.is_empty() {
                hands.act_later(HOLD_MS, Act::Wake);
            }
            held.push(core::mem::take(payload));
            Flow::Drop
        })
        .wake(move |hands| {
            let mut answers = core::mem::take(&mut *out.borrow_mut());
            if answers.len() > 1 {
                edit(&mut answers);
            }
            for answer in answers {
                hands.send_payload(&Value::Object(answer));
            }
        })
}
