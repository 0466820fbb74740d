//! Defects of the outer message: text frames, `type`, `payload`, `session_id`.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands, Request};
use crate::platform::Frame;
use crate::prelude::*;

/// Envelope types that this device knows.
const KNOWN_TYPES: [&str; 8] = [
    "hello", "mcp", "tts", "stt", "llm", "alert", "system", "custom",
];

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "envelope-latin1",
        "The tool list holds a degree sign in Latin-1, which is no UTF-8.",
        || {
            Defect::default().on_answer_text(|cause, text, hands| {
                if cause.method() != "tools/list" {
                    return Flow::Pass;
                }
                let mut bytes = text.clone().into_bytes();
                if let Some(at) = text.find("\"description\":\"") {
                    bytes.insert(at + "\"description\":\"".len(), 0xB0);
                }
                hands.act(Act::Send(Frame::RawText(bytes)));
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-utf8-cut",
        "The session notification ends in the middle of a character.",
        || {
            Defect::default().outbound(|outbound, hands| {
                let Some(head) = outbound
                    .text
                    .strip_suffix("}}}")
                    .filter(|_| outbound.text.contains("state_changed"))
                else {
                    return Flow::Pass;
                };
                let mut bytes = format!("{head},\"mood\":\"").into_bytes();
                bytes.extend([0xF0, 0x9F, 0x98]);
                bytes.extend(b"\"}}}");
                hands.act(Act::Send(Frame::RawText(bytes)));
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-trailing-comma",
        "Error answers end with a comma before the last brace.",
        || {
            text_of_errors(|text| {
                let end = text.len() - 1;
                text.insert(end, ',');
            })
        },
    ),
    mutant(
        "envelope-trailing-nul",
        "Answers are sent with the NUL that ends a C string.",
        || {
            Defect::default().on_answer_text(|cause, text, _| {
                if cause.method() == "initialize" {
                    text.push('\0');
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-two-in-one-frame",
        "An error answer and a log message share one frame.",
        || text_of_errors(|text| text.push_str(r#"{"session_id":"","type":"log"}"#)),
    ),
    mutant(
        "envelope-single-quotes",
        "The device's own messages are quoted like Python prints them.",
        || {
            Defect::default().outbound(|outbound, _| {
                if outbound.text.contains("\"listen\"") {
                    outbound.text = outbound.text.replace('"', "'");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-array",
        "The device's own messages are wrapped in an array.",
        || own_message(|envelope| *envelope = json!([envelope.take()])),
    ),
    mutant(
        "envelope-string",
        "The device's own messages are a JSON string that holds JSON.",
        || own_message(|envelope| *envelope = Value::String(envelope.to_string())),
    ),
    mutant(
        "envelope-type-missing",
        "The device's own messages have no type.",
        || {
            own_message(|envelope| {
                envelope
                    .as_object_mut()
                    .map(|envelope| envelope.remove("type"));
            })
        },
    ),
    mutant(
        "envelope-type-number",
        "The type of the device's own messages is a number.",
        || own_message(|envelope| envelope["type"] = json!(3)),
    ),
    mutant(
        "envelope-payload-string",
        "The payload of error answers is a string that holds JSON.",
        || {
            payload_of_errors(|envelope| {
                let payload = envelope["payload"].to_string();
                envelope["payload"] = json!(payload);
            })
        },
    ),
    mutant(
        "envelope-payload-array",
        "The payload of error answers is an array of one answer.",
        || payload_of_errors(|envelope| envelope["payload"] = json!([envelope["payload"].take()])),
    ),
    mutant(
        "envelope-payload-null",
        "Notifications are followed by a message with payload null.",
        || {
            Defect::default().on_message(|kind, envelope, hands| {
                if kind == "mcp" && envelope["payload"].get("method").is_some() {
                    let text = hands.envelope(&Value::Null);
                    hands.send(text);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-session-missing",
        "Error answers carry no session id.",
        || {
            payload_of_errors(|envelope| {
                envelope
                    .as_object_mut()
                    .map(|envelope| envelope.remove("session_id"));
            })
        },
    ),
    mutant(
        "envelope-session-empty",
        "Notifications carry an empty session id.",
        || {
            Defect::default().on_message(|kind, envelope, _| {
                if kind == "mcp" && envelope["payload"].get("method").is_some() {
                    envelope["session_id"] = json!("");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-session-cut",
        "Answers carry the first 8 bytes of the session id only.",
        || {
            Defect::default().on_message(|kind, envelope, _| {
                if kind == "mcp" {
                    let cut: String = envelope["session_id"]
                        .as_str()
                        .unwrap_or_default()
                        .chars()
                        .take(8)
                        .collect();
                    // A session id that short would be whole, and the device good.
                    envelope["session_id"] =
                        json!(if Some(cut.as_str()) == envelope["session_id"].as_str() {
                            cut.chars().skip(1).collect()
                        } else {
                            cut
                        });
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-binary",
        "Error answers travel in binary frames.",
        || {
            Defect::default().on_answer_text(|_, text, hands| {
                if !text.contains("\"error\":") {
                    return Flow::Pass;
                }
                hands.act(Act::Send(Frame::Binary(text.clone().into_bytes())));
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-binary-as-well",
        "Every list answer is repeated in a binary frame.",
        || {
            Defect::default().on_answer_text(|cause, text, hands| {
                if cause.method() == "tools/list" {
                    hands.act(Act::Send(Frame::Binary(text.clone().into_bytes())));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-type-twice",
        "Answers have the member `type` twice.",
        || {
            Defect::default().on_answer_text(|_, text, _| {
                *text = text.replacen(r#""type":"mcp","#, r#""type":"mcp","type":"mcp","#, 1);
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-name-twice",
        "Each listed tool has the member `name` twice.",
        || {
            Defect::default().on_answer_text(|cause, text, _| {
                if cause.method() == "tools/list" && cause.cursor().is_empty() {
                    *text = text.replacen(r#"{"name":"#, r#"{"name":"","name":"#, 1);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-unknown-type-answered",
        "A message of unknown type is answered with a message of type error.",
        || {
            unknown_type(|_, hands| {
                hands.send(r#"{"session_id":"","type":"error","message":"unknown type"}"#);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-unknown-type-executed",
        "The payload of a message of unknown type is executed.",
        || {
            unknown_type(|envelope, _| {
                envelope.insert("type".to_string(), json!("mcp"));
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-unknown-type-hangs",
        "A message of unknown type stops the message loop.",
        || {
            unknown_type(|_, hands| {
                hands.act(Act::Hang);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-missing-type-executed",
        "An envelope without type is taken for MCP.",
        || {
            Defect::default().on_envelope(|envelope, _| {
                if envelope.contains_key("payload") {
                    envelope.entry("type").or_insert(json!("mcp"));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-missing-type-panics",
        "An envelope without type reads a null pointer.",
        || {
            Defect::default().on_envelope(|envelope, hands| {
                if envelope.contains_key("type") {
                    return Flow::Pass;
                }
                hands.act(Act::Panic);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-extra-member-refused",
        "An MCP envelope with a member too many is dropped.",
        || {
            Defect::default().on_envelope(|envelope, _| {
                let known = ["session_id", "type", "payload"];
                let is_strange = envelope.keys().any(|name| !known.contains(&name.as_str()));
                if is_strange && envelope.get("type") == Some(&json!("mcp")) {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "envelope-session-required",
        "An MCP envelope without session id is dropped.",
        || {
            Defect::default().on_envelope(|envelope, _| {
                if envelope.contains_key("session_id") {
                    Flow::Pass
                } else {
                    Flow::Drop
                }
            })
        },
    ),
    mutant(
        "envelope-payload-null-panics",
        "A payload that is null reads a null pointer.",
        || {
            Defect::default().on_envelope(|envelope, hands| {
                if envelope.get("type") == Some(&json!("mcp"))
                    && envelope.get("payload").is_none_or(Value::is_null)
                {
                    hands.act(Act::Panic);
                    return Flow::Drop;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-payload-number-answered",
        "A payload that is no object is answered with an empty result.",
        || {
            Defect::default().on_envelope(|envelope, hands| {
                let is_structured = matches!(
                    envelope.get("payload"),
                    Some(Value::Object(_) | Value::Array(_))
                );
                if envelope.get("type") == Some(&json!("mcp")) && !is_structured {
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
                    return Flow::Drop;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-listen-refused",
        "A `listen` of the server is answered with an MCP error.",
        || {
            other_type("listen", |_, hands| {
                let error = json!({"code": -32600, "message": "unexpected message"});
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-speech-acknowledged",
        "`tts` is acknowledged with an MCP result.",
        || {
            other_type("tts", |_, hands| {
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": null, "result": {}}));
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-emotion-unknown-panics",
        "An emotion that is not in the table of faces reads a null pointer.",
        || {
            other_type("llm", |envelope, hands| {
                let known = ["neutral", "happy", "sad"];
                let emotion = envelope.get("emotion").and_then(Value::as_str);
                if emotion.is_none_or(|emotion| known.contains(&emotion)) {
                    return Flow::Pass;
                }
                hands.act(Act::Panic);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-system-unknown-restarts",
        "Every `system` command restarts the device, not `reboot` alone.",
        || {
            other_type("system", |_, hands| {
                hands.act(Act::Restart);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-alert-hangs",
        "An `alert` waits for a button, and the message loop with it.",
        || {
            other_type("alert", |_, hands| {
                hands.act(Act::Hang);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-abort-disconnects",
        "An `abort` of the server ends the connection instead of the speech.",
        || {
            other_type("abort", |_, hands| {
                hands.act(Act::Disconnect);
                Flow::Drop
            })
        },
    ),
    mutant(
        "envelope-stt-executed",
        "The payload of an `stt` message is executed.",
        || {
            other_type("stt", |envelope, _| {
                if envelope.contains_key("payload") {
                    envelope.insert("type".to_string(), json!("mcp"));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "envelope-deaf-while-speaking",
        "Requests that come while the device speaks are dropped.",
        || while_speaking(|_| true, false),
    ),
    mutant(
        "envelope-calls-wait-for-silence",
        "Calls that come while the device speaks are carried out when it has ended.",
        || while_speaking(|request| !request.tool().is_empty(), true),
    ),
    mutant(
        "envelope-emotion-drops-next",
        "The message after an emotion is lost: its buffer is used for the face.",
        || {
            let mut drawing = false;
            Defect::default().on_envelope(move |envelope, _| {
                let is_face = envelope.get("type") == Some(&json!("llm"));
                if core::mem::replace(&mut drawing, is_face) && !is_face {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
];

/// Edits the text of error answers.
fn text_of_errors(edit: fn(&mut String)) -> Defect {
    Defect::default().on_answer_text(move |_, text, _| {
        if text.contains("\"error\":") {
            edit(text);
        }
        Flow::Pass
    })
}

/// Edits the envelope of error answers.
fn payload_of_errors(edit: fn(&mut Value)) -> Defect {
    Defect::default().on_message(move |kind, envelope, _| {
        if kind == "mcp" && envelope["payload"].get("error").is_some() {
            edit(envelope);
        }
        Flow::Pass
    })
}

/// Edits the `listen` message, which is neither hello nor MCP.
fn own_message(edit: fn(&mut Value)) -> Defect {
    Defect::default().on_message(move |kind, envelope, _| {
        if kind == "listen" {
            edit(envelope);
        }
        Flow::Pass
    })
}

fn unknown_type(
    hook: fn(&mut serde_json::Map<String, Value>, &mut crate::hooks::Hands) -> Flow,
) -> Defect {
    Defect::default().on_envelope(move |envelope, hands| {
        match envelope.get("type").and_then(Value::as_str) {
            Some(kind) if !KNOWN_TYPES.contains(&kind) => hook(envelope, hands),
            _ => Flow::Pass,
        }
    })
}

/// Sees the messages of one type.
fn other_type(
    kind: &'static str,
    mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static,
) -> Defect {
    Defect::default().on_envelope(move |envelope, hands| {
        if envelope.get("type").and_then(Value::as_str) == Some(kind) {
            hook(envelope, hands)
        } else {
            Flow::Pass
        }
    })
}

/// Some answers are lost while the device speaks, or held back until it has ended.
fn while_speaking(is_such: fn(&Request) -> bool, held_back: bool) -> Defect {
    let speaking = Rc::new(Cell::new(false));
    let (seen, lost) = (Rc::clone(&speaking), Rc::clone(&speaking));
    let held = Rc::new(RefCell::new(Vec::<String>::new()));
    let kept = Rc::clone(&held);
    other_type("tts", move |envelope, hands| {
        seen.set(envelope.get("state") != Some(&json!("stop")));
        if !seen.get() && held_back {
            held.borrow_mut()
                .drain(..)
                .for_each(|text| hands.send(text));
        }
        Flow::Pass
    })
    .on_answer_text(move |cause, text, _| {
        if !speaking.get() || !is_such(cause) {
            return Flow::Pass;
        }
        kept.borrow_mut().push(text.clone());
        Flow::Drop
    })
    .disconnected(move |_| lost.set(false))
}
