//! Defects of the outer message: text frames, `type`, `payload`, `session_id`.

use crate::platform::Frame;
use crate::rows::prelude::*;

/// Envelope types that this device knows.
const KNOWN_TYPES: [&str; 8] = ["hello", "mcp", "tts", "stt", "llm", "alert", "system", "custom"];

pub(super) const MUTANTS: &[Row] = rows! {
    "envelope-latin1": "The tool list contains a degree sign in Latin-1, which is not UTF-8."
        => defect().on_answer_text(|cause, text, hands| {
            if cause.method() != "tools/list" {
                return Flow::Pass;
            }
            let mut bytes = text.clone().into_bytes();
            if let Some(at) = text.find("\"description\":\"") {
                bytes.insert(at + "\"description\":\"".len(), 0xB0);
            }
            instead(Act::Send(Frame::RawText(bytes)), hands)
        });
    "envelope-utf8-cut": "The session notification ends in the middle of a character."
        => defect().outbound(|outbound, hands| {
            let is_cut = outbound.text.contains("state_changed");
            let Some(head) = outbound.text.strip_suffix("}}}").filter(|_| is_cut) else {
                return Flow::Pass;
            };
            let mut bytes = format!("{head},\"mood\":\"").into_bytes();
            bytes.extend(b"\xF0\x9F\x98\"}}}");
            instead(Act::Send(Frame::RawText(bytes)), hands)
        });
    "envelope-trailing-comma": "Error answers end with a comma before the last brace."
        => text_of_errors(|text| text.insert(text.len() - 1, ','));
    "envelope-trailing-nul": "Answers are sent with the NUL that terminates a C string."
        => method("initialize").text(|text| text.push('\0'));
    "envelope-two-in-one-frame": "An error answer and a log message share one frame."
        => text_of_errors(|text| text.push_str(r#"{"session_id":"","type":"log"}"#));
    "envelope-single-quotes": "The device's own messages are quoted the way Python prints them."
        => defect().outbound(|outbound, _| {
            if outbound.text.contains("\"listen\"") {
                outbound.text = outbound.text.replace('"', "'");
            }
            Flow::Pass
        });
    "envelope-array": "The device's own messages are wrapped in an array."
        => messages("listen", |envelope, _| *envelope = json!([envelope.take()]));
    "envelope-string": "The device's own messages are a JSON string that contains JSON."
        => messages("listen", |envelope, _| *envelope = Value::String(envelope.to_string()));
    "envelope-type-missing": "The device's own messages have no type."
        => messages("listen", |envelope, _| remove(envelope, "type"));
    "envelope-type-number": "The type of the device's own messages is a number."
        => messages("listen", |envelope, _| envelope["type"] = json!(3));
    "envelope-type-upper": "Answers have the type `MCP`."
        => messages("mcp", |envelope, _| envelope["type"] = json!("MCP"));
    "envelope-type-of-errors": "Error answers have the type `error`."
        => with_errors(|envelope| envelope["type"] = json!("error"));
    "envelope-missing-around-errors": "Error answers are sent without an envelope."
        => with_errors(|envelope| *envelope = envelope["payload"].take());
    "envelope-payload-string": "The payload of error answers is a string that contains JSON."
        => with_errors(|envelope| envelope["payload"] = json!(envelope["payload"].to_string()));
    "envelope-payload-array": "The payload of error answers is an array of one answer."
        => with_errors(|envelope| envelope["payload"] = json!([envelope["payload"].take()]));
    "envelope-payload-null": "Notifications are followed by a message with payload null."
        => notifications(|_, hands| hands.send_payload(&Value::Null));
    "envelope-session-missing": "Error answers carry no session id."
        => with_errors(|envelope| remove(envelope, "session_id"));
    "envelope-session-empty": "Notifications carry an empty session id."
        => notifications(|envelope, _| envelope["session_id"] = json!(""));
    "envelope-session-cut": "Answers carry only the first 8 bytes of the session id."
        => messages("mcp", |envelope, _| {
            let id = envelope["session_id"].as_str().unwrap_or_default();
            // A session id that short would be whole, and the device good.
            let from = usize::from(id.chars().count() <= 8);
            envelope["session_id"] = json!(id.chars().take(8).skip(from).collect::<String>());
        });
    "envelope-binary": "Error answers travel in binary frames."
        => defect().on_answer_text(|_, text, hands| {
            let frame = Frame::Binary(text.clone().into_bytes());
            act_if(text.contains("\"error\":"), Act::Send(frame), hands)
        });
    "envelope-binary-as-well": "Every list answer is repeated in a binary frame."
        => method("tools/list")
            .with_answer_by(|text, hands| hands.act(Act::Send(Frame::Binary(text.into()))));
    "envelope-type-twice": "Answers have the member `type` twice."
        => all().text(|text| {
            *text = text.replacen(r#""type":"mcp","#, r#""type":"mcp","type":"mcp","#, 1)
        });
    "envelope-name-twice": "Each listed tool has the member `name` twice."
        => when(|request| request.method() == "tools/list" && request.cursor().is_empty())
            .text(|text| *text = text.replacen(r#"{"name":"#, r#"{"name":"","name":"#, 1));
    "envelope-unknown-type-answered":
        "A message of unknown type is answered with a message of type error."
        => unknown_type(|_, hands| {
            let text = r#"{"session_id":"","type":"error","message":"unknown type"}"#;
            instead(Act::Send(Frame::Text(text.into())), hands)
        });
    "envelope-unknown-type-refused":
        "A message of unknown type is answered with an error, its id null."
        => unknown_type(|_, hands| {
            hands.send_payload(&error(&Value::Null, -32600, "Unknown type"));
            Flow::Drop
        });
    "envelope-unknown-type-executed": "The payload of a message of unknown type is executed."
        => unknown_type(|envelope, _| {
            set(envelope, "type", "mcp");
            Flow::Pass
        });
    "envelope-unknown-type-hangs": "A message of unknown type stops the message loop."
        => unknown_type(|_, hands| instead(Act::Hang, hands));
    "envelope-missing-type-executed": "An envelope without type is treated as MCP."
        => envelopes(|envelope| if envelope.contains_key("payload") {
            envelope.entry("type").or_insert(json!("mcp"));
        });
    "envelope-array-first": "Of an array of messages the first one is executed."
        => texts_as(|text| if let Ok(Value::Array(all)) = serde_json::from_str(text)
            && let Some(first @ Value::Object(_)) = all.first()
        {
            *text = first.to_string();
        });
    "envelope-missing-type-panics": "An envelope without type reads a null pointer."
        => envelopes_instead(|envelope| !envelope.contains_key("type"), Act::Panic);
    "envelope-extra-member-refused": "An MCP envelope with an additional member is ignored."
        => envelopes_lost(|envelope| {
            let known = ["session_id", "type", "payload"];
            let is_strange = envelope.keys().any(|name| !known.contains(&name.as_str()));
            is_strange && get(envelope, "type") == "mcp"
        });
    "envelope-session-required": "An MCP envelope without session id is ignored."
        => envelopes_lost(|envelope| !envelope.contains_key("session_id"));
    "envelope-payload-null-panics": "A payload that is null reads a null pointer."
        => envelopes_instead(
            |mcp| get(mcp, "type") == "mcp" && get(mcp, "payload").is_null(),
            Act::Panic,
        );
    "envelope-payload-number-answered":
        "A payload that is not an object is answered with an empty result."
        => arriving("mcp", |envelope, hands| {
            if matches!(envelope.get("payload"), Some(Value::Object(_) | Value::Array(_))) {
                return Flow::Pass;
            }
            hands.send_payload(&result(&json!(0), json!({})));
            Flow::Drop
        });
    "envelope-listen-refused": "A `listen` from the server is answered with an MCP error."
        => arriving("listen", |_, hands| {
            hands.send_payload(&error(&Value::Null, -32600, "unexpected message"));
            Flow::Pass
        });
    "envelope-speech-acknowledged": "`tts` is acknowledged with an MCP result."
        => arriving("tts", |_, hands| {
            hands.send_payload(&result(&Value::Null, json!({})));
            Flow::Pass
        });
    "envelope-emotion-unknown-panics":
        "An emotion that is not in the table of faces reads a null pointer."
        => arriving("llm", |envelope, hands| {
            let emotion = get(envelope, "emotion").as_str();
            let is_unknown =
                emotion.is_some_and(|face| !["neutral", "happy", "sad"].contains(&face));
            act_if(is_unknown, Act::Panic, hands)
        });
    "envelope-system-unknown-restarts":
        "Every `system` command restarts the device, not only `reboot`."
        => arriving("system", |_, hands| instead(Act::Restart, hands));
    "envelope-alert-hangs": "An `alert` waits for a button, and the message loop with it."
        => arriving("alert", |_, hands| instead(Act::Hang, hands));
    "envelope-abort-disconnects":
        "An `abort` of the server ends the connection instead of the speech."
        => arriving("abort", |_, hands| instead(Act::Disconnect, hands));
    "envelope-stt-executed": "The payload of an `stt` message is executed."
        => arriving("stt", |envelope, _| {
            if envelope.contains_key("payload") {
                set(envelope, "type", "mcp");
            }
            Flow::Pass
        });
    "envelope-custom-executed": "The payload of a `custom` message is executed."
        => arriving("custom", |envelope, _| {
            if envelope.contains_key("payload") {
                set(envelope, "type", "mcp");
            }
            Flow::Pass
        });
    "envelope-list-deaf-at-start": "Between the start of speech and its first sentence no tools are listed." => {
        let [speaking, seen] = shared(false);
        arriving("tts", move |envelope, _| {
            seen.set(get(envelope, "state") == "start");
            Flow::Pass
        })
        .on_answer(move |cause, _, _| drop_if(speaking.get() && cause.method() == "tools/list"))
    };
    "envelope-list-deaf-after-stop": "The end of a speech that there was not leaves the device deaf for lists until the next one begins." => {
        let [deaf, ends, lost] = shared(false);
        let mut speaks = false;
        arriving("tts", move |envelope, _| {
            let state = get(envelope, "state");
            ends.set(state == "stop" && !speaks);
            speaks = state == "start" || state != "stop" && speaks;
            Flow::Pass
        })
        .on_answer(move |cause, _, _| drop_if(deaf.get() && cause.method() == "tools/list"))
        .disconnected(move |_| lost.set(false))
    };
    "envelope-deaf-while-speaking": "Requests that arrive while the device speaks are ignored."
        => while_speaking(|_| true, false);
    "envelope-calls-wait-for-silence":
        "Calls that arrive while the device speaks are executed when it has finished."
        => while_speaking(|request| !request.tool().is_empty(), true);
    "envelope-bare-executed": "A request without an envelope around it is executed."
        => defect().inbound(|inbound, _| {
            let message = serde_json::from_str::<Value>(&inbound.text).unwrap_or_default();
            if message.get("jsonrpc").is_some() && message.get("type").is_none() {
                inbound.text = json!({"type": "mcp", "payload": message}).to_string();
            }
            Flow::Pass
        });
    "envelope-emotion-drops-next":
        "The message after an emotion is lost: its buffer is used for the face." => {
        let mut drawing = false;
        envelopes_lost(move |envelope| {
            let is_face = get(envelope, "type") == "llm";
            core::mem::replace(&mut drawing, is_face) && !is_face
        })
    };
};

/// Edits the text of error answers.
fn text_of_errors(edit: fn(&mut String)) -> Defect {
    all().text(move |text| {
        if text.contains("\"error\":") {
            edit(text);
        }
    })
}

/// Edits the envelope of error answers.
fn with_errors(edit: fn(&mut Value)) -> Defect {
    messages("mcp", move |envelope, _| {
        if envelope["payload"].get("error").is_some() {
            edit(envelope);
        }
    })
}

/// Sees the messages of types that the device does not know.
fn unknown_type(hook: fn(&mut Map<String, Value>, &mut Hands) -> Flow) -> Defect {
    defect().on_envelope(move |envelope, hands| match get(envelope, "type").as_str() {
        Some(kind) if !KNOWN_TYPES.contains(&kind) => hook(envelope, hands),
        _ => Flow::Pass,
    })
}

/// Some answers are lost while the device speaks, or held back until it has ended.
fn while_speaking(is_such: fn(&Request) -> bool, held_back: bool) -> Defect {
    let [speaking, seen, lost] = shared(false);
    let held = Rc::new(RefCell::new(Vec::<String>::new()));
    let kept = Rc::clone(&held);
    arriving("tts", move |envelope, hands| {
        seen.set(get(envelope, "state") != "stop");
        if !seen.get() && held_back {
            held.take().into_iter().for_each(|text| hands.send(text));
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
