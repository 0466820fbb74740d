//! Defects of one way through firmware. What is right for a list or a ping is wrong for a call, for a refusal, while
//! the device speaks, or when something has come before.

use crate::rows::prelude::*;

pub(super) const IDS: &[Row] = rows! {
    "id-refused-arguments-int32": "Ids of calls that are refused for their arguments saturate at 2147483647."
        => clamped(|request| request.tool().starts_with("self.") && !request.tool().contains("mcp_hil"));
    "id-nameless-call-int32": "Ids of calls that name no tool saturate at 2147483647."
        => clamped(|request| request.method() == "tools/call" && request.tool().is_empty());
    "id-unknown-cursor-int32": "Ids of lists whose cursor is not known saturate at 2147483647."
        => clamped(|request| request.method() == "tools/list");
    "id-initialize-int32": "Ids of initialize saturate at 2147483647."
        => method("initialize").answer(clamp);
    "id-fraction-of-calls-truncated": "A fractional id of a call loses its fraction."
        => payloads(|payload| {
            let id = Some(get(payload, "id")).filter(|id| id.is_f64()).and_then(Value::as_f64);
            if let Some(id) = id.filter(|_| get(payload, "method") == "tools/call") {
                set(payload, "id", id as i64);
            }
        });
};

pub(super) const JSONRPC: &[Row] = rows! {
    "version-of-calls-unchecked": "The version of JSON-RPC is not looked at in calls."
        => payloads(|payload| {
            if get(payload, "method") == "tools/call" {
                set(payload, "jsonrpc", "2.0");
            }
        });
    "response-without-id-answered": "An error with the id null is answered with a result."
        => defect().on_payload(|payload, hands| {
            let is_one = payload.contains_key("error") && get(payload, "id").is_null();
            let answer = Act::Send(crate::platform::Frame::Text(hands.envelope(&result(&Value::Null, json!({})))));
            act_if(is_one, answer, hands)
        });
};

pub(super) const ENVELOPE: &[Row] = rows! {
    "envelope-call-without-type-executed": "A call in a message without a type is carried out."
        => texts_as(|text| {
            if text.contains("\"tools/call\"") && !text.contains("\"type\":") {
                *text = text.replacen('{', "{\"type\":\"mcp\",", 1);
            }
        });
    "envelope-call-of-any-type-executed": "A call in a message of an unknown type is carried out."
        => texts_as(|text| {
            if text.contains("\"tools/call\"") {
                *text = text.replace("\"mcp-hil-unknown\"", "\"mcp\"");
            }
        });
    "speaking-outlives-connection": "A device whose connection ends while it speaks answers no lists on the next one." => {
        let [speaks, stuck] = shared(false);
        let (ended, is_stuck) = (Rc::clone(&speaks), Rc::clone(&stuck));
        arriving("tts", move |envelope, _| {
            speaks.set(get(envelope, "state") == "start");
            Flow::Pass
        })
        .over(defect().disconnected(move |_| stuck.set(ended.replace(false))))
        .over(payloads_lost(move |payload| is_stuck.get() && get(payload, "method") == "tools/list"))
    };
    "speaking-unknown-tool-code": "While the device speaks an unknown tool gets a code of the device's own." => {
        let (speech, speaks) = speaking(false);
        speech.on_answer(move |cause, payload, _| {
            if speaks.get() && cause.tool().contains("mcp_hil") && payload.get("error").is_some() {
                payload["error"]["code"] = json!(-32000);
            }
            Flow::Pass
        })
    };
    "speaking-unknown-method-succeeds": "While the device speaks a method that there is not succeeds." => {
        let (speech, speaks) = speaking(false);
        speech.on_answer(move |cause, payload, _| {
            if speaks.get() && cause.method() == "mcp_hil/no_such_method" {
                *payload = result(&payload["id"], json!({}));
            }
            Flow::Pass
        })
    };
    "speaking-ids-int32": "While the device speaks ids of refusals saturate at 2147483647." => {
        let (speech, speaks) = speaking(false);
        speech.on_answer(move |_, payload, _| {
            if speaks.get() && payload.get("error").is_some() {
                clamp(payload);
            }
            Flow::Pass
        })
    };
    "spoken-ids-int32": "Once the device has spoken, ids of lists saturate at 2147483647." => {
        let (speech, spoke) = speaking(true);
        speech.on_answer(move |cause, payload, _| {
            if spoke.get() && cause.method() == "tools/list" {
                clamp(payload);
            }
            Flow::Pass
        })
    };
    "spoken-unknown-tool-succeeds": "Once the device has spoken, a tool that there is not succeeds." => {
        let (speech, spoke) = speaking(true);
        speech.on_answer(move |cause, payload, _| {
            if spoke.get() && cause.tool().contains("mcp_hil") {
                *payload = result(&payload["id"], text_result("true"));
            }
            Flow::Pass
        })
    };
    "speaking-arguments-clamped": "While the device speaks a level above the greatest is taken for that." => {
        let (speech, speaks) = speaking(false);
        speech.over(defect().on_call(move |params, _| {
            let level = params.pointer_mut("/arguments/volume").filter(|_| speaks.get());
            if let Some(level) = level && level.as_i64().is_some_and(|level| level > 100) {
                *level = json!(100);
            }
        }))
    };
    "speaking-binary-panics": "A binary frame that is not audio crashes the decoder, which runs while the device speaks." => {
        let [speaks, decodes] = shared(false);
        arriving("tts", move |envelope, _| {
            speaks.set(get(envelope, "state") == "start");
            Flow::Pass
        })
        .over(defect().binary(move |_, hands| if decodes.get() { hands.act(Act::Panic); }))
    };
};

pub(super) const SESSION: &[Row] = rows! {
    "session-unknown-method-code": "After a new connection an unknown method gets the code of an internal error."
        => on_next(|cause, payload| {
            if cause.method() == "mcp_hil/no_such_method" && payload.get("error").is_some() {
                payload["error"]["code"] = json!(-32603);
            }
        });
    "session-unknown-tool-succeeds": "After a new connection a tool that there is not succeeds."
        => on_next(|cause, payload| {
            if cause.tool().contains("mcp_hil") {
                *payload = result(&payload["id"], text_result("true"));
            }
        });
    "session-ids-int32": "After a new connection ids of lists saturate at 2147483647."
        => on_next(|cause, payload| {
            if cause.method() == "tools/list" {
                clamp(payload);
            }
        });
    "session-call-ids-int32": "After a new connection ids of calls that succeed saturate at 2147483647."
        => on_next(|cause, payload| {
            if !cause.tool().is_empty() && payload.get("error").is_none() {
                clamp(payload);
            }
        });
    "session-string-id-answered": "After a new connection a list is sent whatever its id is." => {
        let [again, is_again] = shared(false);
        defect()
            .on_method("tools/list", move |payload, hands| {
                let id = get(payload, "id").clone();
                let is_text = is_again.get() && id.is_string();
                if is_text {
                    hands.send_payload(&result(&id, json!({"tools": []})));
                }
                drop_if(is_text)
            })
            .disconnected(move |_| again.set(true))
    };
};

pub(super) const METHODS: &[Row] = rows! {
    "method-code-of-tools": "Of a method that begins like the known ones it is said that its parameters are wrong."
        => when(|request| request.method().starts_with("tools/") && !["tools/list", "tools/call"].contains(&request.method()))
            .error(|error| error["code"] = json!(-32602));
    "method-code-of-notifications": "A request that is named like a notification gets a code of the device's own."
        => when(|request| request.method().starts_with("notifications"))
            .error(|error| error["code"] = json!(-32000));
    "version-of-the-month-accepted": "Of the protocol version the year and the month are compared, and what was asked for is given back." => {
        let [asked, said] = shared(false);
        defect()
            .on_method("initialize", move |payload, _| {
                let version = get(payload, "params").get("protocolVersion").and_then(Value::as_str);
                asked.set(version == Some("2024-11-06"));
                Flow::Pass
            })
            .over(defect().on_result("initialize", move |_, result| {
                if said.get() {
                    result["protocolVersion"] = json!("2024-11-06");
                }
            }))
    };
    "progress-token-of-text-lost": "A call whose token for progress is a text is not answered."
        => payloads_lost(|payload| get(payload, "params").pointer("/_meta/progressToken").is_some_and(Value::is_string));
};

pub(super) const VOLUME: &[Row] = rows! {
    "volume-behind-initialized-lost": "A level that is set directly behind notifications/initialized is accepted and lost."
        => set_lost_behind(|text| text.contains("\"notifications/initialized\""));
    "volume-behind-unknown-method-lost": "A level that is set directly behind a request of an unknown method is accepted and lost."
        => set_lost_behind(|text| text.contains("\"mcp_hil/no_such_method"));
    "volume-behind-notification-lost": "A level that is set directly behind a notification is accepted and lost."
        => set_lost_behind(|text| text.contains("\"notifications/mcp_hil\""));
    "volume-behind-text-lost": "A level that is set directly behind the text of what was said is accepted and lost."
        => set_lost_behind(|text| text.contains("\"stt\""));
    "volume-behind-emotion-lost": "A level that is set directly behind an emotion is accepted and lost."
        => set_lost_behind(|text| text.contains("\"llm\""));
    "volume-behind-garbage-lost": "A level that is set directly behind a text that is no JSON is accepted and lost."
        => set_lost_behind(|text| !text.starts_with('{'));
    "volume-while-speaking-lost": "A level that is set while the device speaks is accepted and lost."
        => set_lost_behind(|text| text.contains("\"tts\"") && text.contains("\"start\""));
    "volume-step-below-zero-turns": "A step below zero moves the level the other way."
        => defect().on_call(|params, _| {
            let step = params.pointer("/arguments/step").and_then(Value::as_i64).unwrap_or_default();
            let other = match params["name"].as_str() {
                Some(UP) => DOWN,
                Some(DOWN) => UP,
                _ => return,
            };
            if step < 0 {
                params["name"] = json!(other);
                params["arguments"]["step"] = json!(-step);
            }
        });
};

/// Edits the answers on every connection but the first.
fn on_next(edit: fn(&Request, &mut Value)) -> Defect {
    let [again, is_again] = shared(false);
    defect()
        .on_answer(move |cause, payload, _| {
            if is_again.get() {
                edit(cause, payload);
            }
            Flow::Pass
        })
        .disconnected(move |_| again.set(true))
}

/// Follows whether the device speaks, or, if that is wanted, whether it has come to an end.
fn speaking(ended: bool) -> (Defect, Rc<Cell<bool>>) {
    let [state, seen] = shared(false);
    let defect = arriving("tts", move |envelope, _| {
        state.set((get(envelope, "state") == "stop") == ended);
        Flow::Pass
    });
    (defect, seen)
}

/// A level that comes directly behind such a text is accepted, and the level stays as it is.
fn set_lost_behind(is_such: fn(&str) -> bool) -> Defect {
    let [behind, is_behind] = shared(false);
    let seen = defect().inbound(move |inbound, _| {
        if !inbound.text.contains(SET) {
            behind.set(is_such(&inbound.text));
        }
        Flow::Pass
    });
    seen.over(defect().on_call(move |params, hands| {
        let is_level = params.pointer("/arguments/volume").is_some_and(Value::is_u64);
        if is_behind.get() && params["name"] == SET && is_level {
            params["arguments"]["volume"] = json!(hands.device.board().speaker.volume);
        }
    }))
}

/// Ids of such requests come back no greater than an `int`, where they are refused.
fn clamped(is_such: fn(&Request) -> bool) -> Defect {
    when(is_such).answer(|payload| {
        if payload.get("error").is_some() {
            clamp(payload);
        }
    })
}

/// Lets the id of an answer be an `int`.
fn clamp(payload: &mut Value) {
    if let Some(id) = integer(&payload["id"]) {
        payload["id"] = json!(id.clamp(i32::MIN.into(), i32::MAX.into()));
    }
}
