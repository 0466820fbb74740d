//! Requests that documents leave open, read in another way.

use reference_device::Id;

use crate::platform::Frame;
use crate::rows::prelude::*;

/// Longest text that a parser with a bound takes.
const ROOM: usize = 4096;

/// An id that nobody sends.
const OWN: i64 = -7_301_977;

pub(super) const VARIANTS: &[Row] = rows! {
    "bad-id-answered": "Requests whose id is not an integer are answered with -32600 and id null."
        => requests(|payload, hands| {
            if payload.get("id").is_some_and(|id| Id::from_value(id).is_none()) {
                // The device itself logs and drops it.
                refuse(&Value::Null, INTEGER, hands);
            }
            Flow::Pass
        });
    "bad-text-answered":
        "Text that is not JSON, or too long for the parser, is answered with -32700 and id null."
        => defect().inbound(|inbound, hands| {
            let is_json = serde_json::from_str::<Value>(&inbound.text).is_ok();
            let is_good = is_json && inbound.text.len() <= ROOM;
            if !is_good {
                hands.send_payload(&error(&Value::Null, -32700, "Parse error"));
            }
            drop_if(!is_good)
        });
    "large-closed":
        "A text of more than 8,192 bytes ends the connection with close code 1009, and the device connects again."
        => defect().inbound(|inbound, hands| {
            let is_large = inbound.text.len() > 8192 && !hands.over_mqtt();
            if is_large {
                hands.act(Act::Send(Frame::Close(1009)));
            }
            drop_if(is_large)
        });
    "huge-closed-silently":
        "A text of more than 65,535 bytes ends the connection without a Close frame, and the device connects again."
        => link(|options| options.refuses_silently = true);
    "large-dropped":
        "Over MQTT a packet with more than 8,192 bytes of text overflows the buffer of the client, which drops the \
         connection without DISCONNECT and connects again."
        => defect().inbound(|inbound, hands| {
            act_if(inbound.text.len() > 8192 && hands.over_mqtt(), Act::Disconnect, hands)
        });
    "not-utf8-taken": "Text that is not UTF-8 is taken, as by stock firmware."
        => link(|options| options.takes_any_text = true);
    "nul-dropped": "Text with U+0000 in a string is none that the parser takes: it is not answered."
        => defect().inbound(|inbound, _| drop_if(holds_nul(&inbound.text)));
    "nul-refused": "Text with U+0000 in a string is answered with -32700 and id null."
        => defect().inbound(|inbound, hands| {
            let is_refused = holds_nul(&inbound.text);
            if is_refused {
                hands.send_payload(&error(&Value::Null, -32700, "Parse error"));
            }
            drop_if(is_refused)
        });
    "string-id-answered": "Requests with a string id are answered with -32600 and that id."
        => requests(|payload, hands| {
            if let Some(id @ Value::String(_)) = payload.get("id") {
                refuse(id, INTEGER, hands);
            }
            Flow::Pass
        });
    "responses-refused": "A response is answered with -32600: it is no valid request."
        => defect().on_payload(|payload, hands| {
            let is_response = payload.contains_key("result") || payload.contains_key("error");
            let is_refused = is_response && !payload.contains_key("method");
            if is_refused {
                refuse(get(payload, "id"), "no request", hands);
            }
            drop_if(is_refused)
        });
    "meta-checked": "Requests whose `_meta` is not an object, as MCP's schema has it, are refused."
        => requests(|payload, hands| {
            let meta = get(payload, "params").get("_meta");
            let is_refused = meta.is_some_and(|meta| !meta.is_object())
                && Id::from_value(get(payload, "id")).is_some();
            if is_refused {
                refuse(get(payload, "id"), "_meta must be an object", hands);
            }
            drop_if(is_refused)
        });
    "initialize-first":
        "On each connection only initialize and ping are carried out until initialize has come; other \
         requests are refused." => {
        let [opened, closed] = shared(false);
        requests(move |payload, hands| {
            let id = get(payload, "id");
            let method = get(payload, "method");
            let is_such = Id::from_value(id).is_some();
            let opens = method == "initialize" && is_such;
            opened.set(opened.get() || opens);
            let is_early = is_such && !opened.get() && method != "ping";
            if is_early {
                refuse(id, "initialize must be first", hands);
            }
            drop_if(is_early)
        })
        .disconnected(move |_| closed.set(false))
    };
    "version-refused":
        "A version that the device does not support is refused with -32602, as in MCP's example."
        => version_refused(-32602);
    "version-refused-otherwise": "A version that the device does not support is refused with a code of its own."
        => version_refused(-32001);
    "ids-remembered":
        "Of a session the last 64 ids are remembered, and a request under one of them is refused. \
         It begins with initialize, also on another connection."
        => ids_once(64, false);
    "ids-remembered-by-connection":
        "All ids are remembered until a new connection begins with initialize, and a request under \
         one of them is refused."
        => ids_once(usize::MAX, true);
    "initialize-once": "A second initialize in a session is refused." => {
        let [initialized, seen] = shared(false);
        requests(move |payload, hands| {
            let id = get(payload, "id");
            let is_such = get(payload, "method") == "initialize" && Id::from_value(id).is_some();
            let is_second = is_such && seen.replace(true);
            if is_second {
                refuse(id, "already initialized", hands);
            }
            drop_if(is_second)
        })
        .disconnected(move |_| initialized.set(false))
    };
    "initialized-awaited":
        "Between the first initialize of a connection and notifications/initialized everything but \
         ping is refused, as an SDK of MCP does." => {
        #[derive(Clone, Copy, PartialEq)]
        enum Session {
            New,
            Awaits,
            Open,
        }
        let [session, ended] = shared(Session::New);
        requests(move |payload, hands| {
            let (id, method) = (get(payload, "id"), get(payload, "method"));
            let is_early = session.get() == Session::Awaits
                && Id::from_value(id).is_some()
                && !["initialize", "ping"].contains(&method.as_str().unwrap_or_default());
            if is_early {
                let message = "Received request before initialization was complete";
                hands.send_payload(&error(id, -32602, message));
            }
            match method.as_str() {
                Some("initialize") if session.get() == Session::New => session.set(Session::Awaits),
                Some("notifications/initialized") => session.set(Session::Open),
                _ => {}
            }
            drop_if(is_early)
        })
        .disconnected(move |_| ended.set(Session::New))
    };
    "mute-again-refused": "Who is muted already says so, and stays muted." => {
        let mut is_muted = false;
        requests(move |payload, hands| {
            let (id, name) = (get(payload, "id"), &get(payload, "params")["name"]);
            let is_call = get(payload, "method") == "tools/call" && Id::from_value(id).is_some();
            let is_speaker = name.as_str().is_some_and(|name| name.contains("audio_speaker"));
            if !is_call || !is_speaker {
                return Flow::Pass;
            }
            let is_again = is_muted && name == "self.audio_speaker.mute";
            is_muted = name == "self.audio_speaker.mute";
            if is_again {
                let text = json!([{"type": "text", "text": "The speaker is muted already."}]);
                let refused = result(id, json!({"content": text, "isError": true}));
                hands.send_payload(&refused);
            }
            drop_if(is_again)
        })
    };
    "nesting-limited": "What is nested deeper than ten levels is not read, as by a usual parser." =>
        arriving("mcp", |envelope, _| {
            drop_if(envelope.values().map(depth).max().unwrap_or_default() >= 10)
        });
    "extra-argument-refused": "An argument that a tool does not know is refused."
        => requests(|payload, hands| {
            let (id, params) = (get(payload, "id"), get(payload, "params"));
            let called = hands.tool_of(params).zip(params["arguments"].as_object());
            let has_extra = called.is_some_and(|(tool, sent)| {
                let known = |name: &String| tool.properties.iter().any(|known| known.name == name);
                !sent.keys().all(known)
            });
            let is_call = get(payload, "method") == "tools/call" && Id::from_value(id).is_some();
            if is_call && has_extra {
                hands.send_payload(&error(id, -32602, "Unexpected argument"));
            }
            drop_if(is_call && has_extra)
        });
    "null-arguments-accepted": "`arguments` null means no arguments, as in one real client."
        => requests(|payload, _| {
            if let Some(params) = payload.get_mut("params")
                && params.get("arguments") == Some(&Value::Null)
            {
                remove(params, "arguments");
            }
            Flow::Pass
        });
    "null-params-accepted": "`params` null means no params."
        => requests(|payload, _| {
            if payload.get("params") == Some(&Value::Null) {
                payload.remove("params");
            }
            Flow::Pass
        });
    "integer-with-point-refused":
        "A number such as 50.0 is refused for an integer argument."
        // What is a string has the wrong type, too. Arguments that are texts get no such number.
        => defect().on_argument(|_, value| Some(match value.as_f64() {
            Some(number) if value.is_f64() && number == crate::float::trunc(number) && number.abs() < 1e9 => {
                json!(value.to_string())
            }
            _ => value,
        }));
    "id-less-call-executed":
        "A call without id is executed and not answered, as in JSON-RPC."
        => requests(|payload, _| {
            if get(payload, "method") == "tools/call" && !payload.contains_key("id") {
                set(payload, "id", OWN);
            }
            Flow::Pass
        })
        .on_answer(|_, payload, _| drop_if(payload["id"] == OWN));
};

/// A version that the device does not support is refused.
fn version_refused(code: i32) -> Defect {
    requests(move |payload, hands| {
        let (id, params) = (get(payload, "id"), get(payload, "params"));
        let asked = params.get("protocolVersion");
        let is_refused = get(payload, "method") == "initialize"
            && Id::from_value(id).is_some()
            && asked.is_some_and(|asked| asked != "2024-11-05");
        if is_refused {
            let mut answer = error(id, code, "Unsupported protocol version");
            answer["error"]["data"] = json!({"supported": ["2024-11-05"], "requested": asked});
            hands.send_payload(&answer);
        }
        drop_if(is_refused)
    })
}

const INTEGER: &str = "id must be an integer";

/// Sees the payloads that are JSON-RPC 2.0 requests or notifications in an MCP message.
fn requests(mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static) -> Defect {
    arriving("mcp", move |envelope, hands| match envelope.get_mut("payload") {
        Some(Value::Object(payload))
            if get(payload, "jsonrpc") == "2.0" && get(payload, "method").is_string() =>
        {
            hook(payload, hands)
        }
        _ => Flow::Pass,
    })
}

/// How deep a value is nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(inner) => 1 + inner.iter().map(depth).max().unwrap_or_default(),
        Value::Object(inner) => 1 + inner.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Whether a string in a text has an escaped U+0000.
fn holds_nul(text: &str) -> bool {
    // Of two backslashes the first one escapes the second.
    text.replace(r"\\", "").contains(r"\u0000")
}

/// Answers with -32600.
fn refuse(id: &Value, message: &str, hands: &mut Hands) {
    hands.send_payload(&error(id, -32600, message));
}

/// Refuses a request under one of the latest ids of the session. On a connection a session ends with `initialize`, or it
/// lasts as long as the connection.
fn ids_once(most: usize, to_the_end: bool) -> Defect {
    let [opened, closed] = shared(false);
    let mut seen: Vec<String> = Vec::new();
    requests(move |payload, hands| {
        let id = get(payload, "id");
        if !(id.is_number() || id.is_string()) || !get(payload, "method").is_string() {
            return Flow::Pass;
        }
        let key = id.to_string();
        let is_again = seen.contains(&key);
        if is_again {
            refuse(id, "duplicate request id in session", hands);
        } else {
            if get(payload, "method") == "initialize" && !(opened.replace(true) && to_the_end) {
                seen.clear();
            }
            seen.push(key);
            seen.drain(..seen.len().saturating_sub(most));
        }
        drop_if(is_again)
    })
    .disconnected(move |_| closed.set(false))
}
