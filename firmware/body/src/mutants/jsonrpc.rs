//! Defects of the JSON-RPC layer: what is a request, and what is an answer.

use crate::rows::prelude::*;

/// White space that stands between members alone: within a string it would be escaped.
const SPACE: [char; 3] = ['\n', '\t', '\r'];

pub(super) const MUTANTS: &[Row] = rows! {
    "answer-version-missing": "Error answers lack the member jsonrpc."
        => refusals(|payload| remove(payload, "jsonrpc"));
    "answer-version-number": "Error answers say 2.0 as a number."
        => refusals(|payload| payload["jsonrpc"] = json!(2.0));
    "notification-version-missing": "Notifications lack the member jsonrpc."
        => defect().on_notification(|payload| remove(payload, "jsonrpc"));
    "answer-error-null": "Results are accompanied by an error that is null."
        => method("initialize").answer(|payload| if payload.get("result").is_some() {
            payload["error"] = Value::Null;
        });
    "answer-result-null": "Errors are accompanied by a result that is null."
        => refusals(|payload| payload["result"] = Value::Null);
    "answer-result-and-error": "Errors are accompanied by an empty result."
        => refusals(|payload| payload["result"] = json!({}));
    "answer-neither": "Errors are answered with neither result nor error."
        => refusals(|payload| remove(payload, "error"));
    "answer-twice": "Unknown methods are answered twice."
        => repeated_answer(|name| !["initialize", "tools/list", "tools/call"].contains(&name), 0);
    "answer-list-twice": "The tool list is answered twice."
        => repeated_answer(|method| method == "tools/list", 0);
    "answer-twice-late": "Calls are answered a second time 300 ms later."
        => repeated_answer(|method| method == "tools/call", 300);
    "answer-missing": "A call of self.audio_speaker.mute is executed and never answered."
        => tool("self.audio_speaker.mute").unanswered();
    "answer-unsolicited": "Each change of state is followed by an unsolicited answer."
        => notifications(|_, hands| hands.send_payload(&result(&json!(990_017), json!({}))));
    "answer-result-text": "The result of unmute is the word true instead of an object."
        => tool("self.audio_speaker.unmute").result(|result| *result = json!("true"));
    "answer-result-boolean": "The result of set_volume is true instead of an object."
        => tool("self.audio_speaker.set_volume").result(|result| *result = json!(true));
    "answer-result-array": "The result of initialize is an array."
        => method("initialize").result(|result| *result = json!([result.take()]));
    "version-unchecked": "The member jsonrpc is ignored."
        => payloads(|payload| set(payload, "jsonrpc", "2.0"));
    "version-missing-accepted": "A request without jsonrpc is executed."
        => payloads(|payload| {
            payload.entry("jsonrpc").or_insert(json!("2.0"));
        });
    "version-one-accepted": "A request of JSON-RPC 1.0 is executed."
        => version_two_if(|version| version == "1.0");
    "version-number-accepted": "A request with the number 2.0 as version is executed."
        => version_two_if(Value::is_number);
    "method-missing-accepted": "A request without method is treated as a ping."
        => payloads(|payload| {
            if !payload.contains_key("result") && !payload.contains_key("error") {
                payload.entry("method").or_insert(json!("ping"));
            }
        });
    "method-number-accepted": "A request whose method is not a string is treated as a ping."
        => payloads(|payload| if payload.get("method").is_some_and(|method| !method.is_string()) {
            set(payload, "method", "ping");
        });
    "method-ping-trimmed": "A ping with blanks around it is one."
        => payloads(|payload| if get(payload, "method").as_str().is_some_and(|it| it.trim() == "ping") {
            set(payload, "method", "ping");
        });
    "method-of-array": "A method that stands in an array is taken out of it."
        => payloads(|payload| if get(payload, "method") == &json!(["ping"]) {
            set(payload, "method", "ping");
        });
    "params-unchecked": "Parameters that are not an object are treated as missing."
        => payloads(|payload| payload.retain(|name, value| name != "params" || value.is_object()));
    "response-acknowledged": "A response is answered with an empty result."
        => responses(|id| result(id, json!({})));
    "members-case-insensitive": "METHOD, ID and JSONRPC are read like the lower-case members."
        => payloads(|payload| {
            for name in ["jsonrpc", "id", "method", "params"] {
                let is_other = |key: &&String| key.eq_ignore_ascii_case(name) && *key != name;
                let other = payload.keys().find(is_other).cloned();
                if let Some(value) = other.and_then(|other| payload.remove(&other)) {
                    payload.entry(name).or_insert(value);
                }
            }
        });
    "request-extra-member-refused": "A request with an unknown member is ignored."
        => payloads_lost(|payload| {
            let known = ["jsonrpc", "id", "method", "params", "result", "error"];
            !payload.keys().all(|name| known.contains(&name.as_str()))
        });
    "member-order-method-first": "A request is ignored if its method comes before its jsonrpc."
        => texts_lost(|text| {
            payload_positions(text, "method", "jsonrpc")
                .is_some_and(|(method, version)| method < version)
        });
    "member-order-params-first": "Parameters are lost if they come before the method."
        => defect().inbound(|inbound, hands| {
            if let Some((params, method)) = payload_positions(&inbound.text, "params", "method")
                && params < method
                && let Ok(mut envelope) = serde_json::from_str::<Value>(&inbound.text)
                && let Some(id) = envelope["payload"].get_mut("id").map(Value::take)
            {
                hands.send_payload(&error(&id, -32602, "params must follow method"));
                return Flow::Drop;
            }
            Flow::Pass
        });
    "whitespace-refused": "A message with line feeds or tabs between its members is ignored."
        => texts_lost(|text| text.contains(SPACE) && is_json(text));
    "whitespace-empty-array-refused": "A message with blanks in an empty array is ignored."
        => texts_lost(|text| is_json(text) && text.split('[').skip(1).any(|rest| {
            let inner = rest.trim_start();
            inner.len() < rest.len() && inner.starts_with(']')
        }));
    "escapes-not-understood": "The escape \\u is left as it stands, in names and in strings."
        => texts_as(|text| if is_json(text) {
            *text = text.replace("\\u", "\\\\u")
        });
    "escaped-slash-not-understood":
        "The escape \\/ is left as it stands: `tools\\/list` is unknown."
        => texts_as(|text| if is_json(text) {
            *text = text.replace("\\/", "\\\\/")
        });
    "braces-in-text-counted": "The braces of a message are counted, also those within its texts."
        => texts_lost(|text| text.contains("\"a}]b{"));
    "blank-behind-colon-lost": "A request with a blank behind the colon of `method` is not found to be one."
        => texts_lost(|text| text.contains("\"method\": "));
    "first-method-found": "The method is the first of that name in the text, wherever it stands."
        => texts_as(|text| {
            let found = text.split("\"method\":\"").nth(1).and_then(|rest| rest.split('"').next());
            let found = found.map(ToString::to_string);
            let envelope = serde_json::from_str::<Value>(text);
            if let (Some(found), Ok(mut envelope)) = (found, envelope)
                && envelope["payload"]["method"].as_str().is_some_and(|method| *method != found)
            {
                envelope["payload"]["method"] = json!(found);
                *text = envelope.to_string();
            }
        });
    "in-flight-mixed": "Of several requests in flight each gets the content of its neighbour."
        => held_answers(|answers| {
            let contents: Vec<_> = answers.iter().map(content).collect();
            for (index, answer) in answers.iter_mut().enumerate() {
                set_content(answer, contents[(index + 1) % contents.len()].clone());
            }
        });
    "in-flight-one-id": "Of several requests in flight all are answered with the id of the last."
        => held_answers(|answers| {
            let last = answers.last().map(|answer| answer["id"].clone());
            answers.iter_mut().for_each(|answer| answer["id"] = last.clone().into());
        });
    "in-flight-last-only": "Of several requests in flight only the last is answered."
        => held_answers(|answers| drop(answers.drain(..answers.len() - 1)));
    "in-flight-readings-share-buffer":
        "Tools that tell something and are called together all tell what the last one does."
        => held_answers(|answers| {
            const TEXT: &str = "/result/content/0/text";
            let is_told = |text: &&Value| text.as_str().is_some_and(|text| text.starts_with('{'));
            let told = |answer: &Value| answer.pointer(TEXT).filter(is_told).cloned();
            let last = answers.iter().rev().find_map(told);
            for answer in answers {
                if let (Some(text), Some(last)) = (answer.pointer_mut(TEXT), &last)
                    && is_told(&&*text)
                {
                    text.clone_from(last);
                }
            }
        });
    "in-flight-pages-share-buffer":
        "Pages of the list that are in flight together all have the tools of the last one."
        => held_answers(|answers| {
            let mut pages = answers.iter().filter(|answer| !answer["result"]["tools"].is_null());
            if let Some(last) = pages.next_back().map(content) {
                let pages = answers.iter_mut().filter(|one| !one["result"]["tools"].is_null());
                pages.for_each(|page| set_content(page, last.clone()));
            }
        });
    "ping-unknown": "ping is an unknown method, as in most devices of the family."
        => method("ping").answer(|payload| {
            *payload = error(&payload["id"], -32601, "Method not implemented: ping");
        });
    "ping-params-refused": "ping is refused when it has params, be they empty."
        => defect().on_method("ping", |payload, hands| {
            reply_if(payload.get("params").is_some(), payload, hands, |id| error(id, -32602, "No params expected"))
        });
    "ping-talks": "The result of ping is not empty."
        => method("ping").result(|result| *result = json!({"pong": true}));
};

/// Sends the answers of some methods once more.
fn repeated_answer(is_repeated: fn(&str) -> bool, delay_ms: u64) -> Defect {
    Defect::default().on_answer_text(move |cause, text, hands| {
        if is_repeated(cause.method()) {
            hands.send_later(delay_ms, text.clone());
        }
        Flow::Pass
    })
}

/// Where two members of the payload stand in the text, when both are there.
fn payload_positions(text: &str, first: &str, second: &str) -> Option<(usize, usize)> {
    let payload = text.find("\"payload\"")?;
    let find = |name: &str| text[payload..].find(&format!("\"{name}\""));
    Some((find(first)?, find(second)?))
}

/// Reads another version of JSON-RPC as 2.0.
fn version_two_if(is_such: fn(&Value) -> bool) -> Defect {
    payloads(move |payload| {
        if payload.get("jsonrpc").is_some_and(is_such) {
            set(payload, "jsonrpc", "2.0");
        }
    })
}

/// Answers the responses that arrive, in the place of the device.
fn responses(answer: fn(&Value) -> Value) -> Defect {
    defect().on_payload(move |payload, hands| {
        let has_content = payload.contains_key("result") || payload.contains_key("error");
        if payload.contains_key("method") || !has_content {
            return Flow::Pass;
        }
        hands.send_payload(&answer(get(payload, "id")));
        Flow::Drop
    })
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// Collects answers, and edits what has come together when it is more than one.
fn held_answers(edit: fn(&mut Vec<Value>)) -> Defect {
    collected(move |answers| {
        if answers.len() > 1 {
            edit(answers);
        }
    })
}
