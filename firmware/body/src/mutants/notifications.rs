//! Defects of notifications, in both directions.

use super::robustness::{Queue, is_call, queue_of};
use crate::platform::Frame;
use crate::rows::prelude::*;

/// Notifications of the server.
const INITIALIZED: &str = "notifications/initialized";
const CANCELLED: &str = "notifications/cancelled";

pub(super) const MUTANTS: &[Row] = rows! {
    "request-sampling-text": "The device asks for a message of the model with a text in place of the messages."
        => asks(|| json!({
            "id": "device-1", "method": "sampling/createMessage",
            "params": {"messages": "What is the weather like?", "maxTokens": 50},
        }));
    "request-id-null": "A ping of the device has the id null." => asks(|| json!({"id": null, "method": "ping"}));
    "request-params-array": "The device asks for roots with an array as params."
        => asks(|| json!({"id": "device-1", "method": "roots/list", "params": []}));
    "request-id-again": "Each ping of the device has the id 1." => {
        let mut count = 0;
        calls().with_answer_by(move |_, hands| {
            count += 1;
            if count % 2 == 0 {
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
            }
        })
    };
    "notification-answered": "Every message without id is answered with id null."
        => without_id(|_| true, acknowledge);
    "id-less-call-carried-out":
        "A call without id sets the volume anyway, and is not answered."
        => with_own_id(|answer| drop_if(is_own(answer)));
    "notification-initialized-answered":
        "notifications/initialized is answered with an empty result."
        => without_id(|method| method == INITIALIZED, acknowledge);
    "notification-initialized-without-id": "notifications/initialized is answered without id."
        => without_id(
            |method| method == INITIALIZED,
            |hands| {
                hands.send_payload(&json!({"jsonrpc": "2.0", "result": {}}));
            },
        );
    "notification-unknown-refused": "An unknown notification is answered with an error."
        => without_id(
            |method| ![INITIALIZED, CANCELLED, "tools/call"].contains(&method),
            |hands| {
                hands.send_payload(&error(&Value::Null, -32601, "Method not implemented"));
            },
        );
    "notification-cancelled-answered": "notifications/cancelled is answered."
        => without_id(|method| method == CANCELLED, acknowledge);
    "notification-cancelled-done-answered": "notifications/cancelled for a request that was answered is answered." => {
        let mut done = Vec::new();
        defect().on_payload(move |payload, hands| {
            let id = get(payload, "params")["requestId"].clone();
            if method_of(payload) == CANCELLED && done.contains(&id) {
                hands.send_payload(&error(&id, -32800, "Cancelled"));
            }
            done.extend(payload.get("id").cloned());
            Flow::Pass
        })
    };
    "notification-cancelled-panics": "notifications/cancelled for no request reads a null pointer."
        => without_id(|method| method == CANCELLED, |hands| hands.act(Act::Panic));
    "notification-cancelled-hangs": "notifications/cancelled for no request waits for it forever."
        => without_id(|method| method == CANCELLED, |hands| hands.act(Act::Hang));
    "notification-cancelled-swallows-next":
        "notifications/cancelled ends the next request, whichever request it names." => {
        let mut cancelled = false;
        payloads_lost(move |payload| {
            core::mem::replace(&mut cancelled, method_of(payload) == CANCELLED)
        })
    };
    "notification-cancelled-remembered":
        "A request whose id was cancelled before it came is not answered." => {
        let mut cancelled = Vec::new();
        payloads_lost(move |payload| {
            if method_of(payload) == CANCELLED {
                cancelled.push(get(payload, "params")["requestId"].clone());
            }
            payload.get("id").is_some_and(|id| cancelled.contains(id))
        })
    };
    "notification-cancelled-ends-all": "notifications/cancelled ends all calls that are under way."
        => ends_calls(CANCELLED);
    "initialize-ends-calls": "initialize ends all calls that are under way." => ends_calls("initialize");
    "notification-progress-panics": "Progress of a request that there is not reads a null pointer."
        => without_id(
            |method| method == "notifications/progress",
            |hands| hands.act(Act::Panic),
        );
    "notification-list-changed-hangs": "News of other tools makes the device wait for their list."
        => without_id(
            |method| method == "notifications/tools/list_changed",
            |hands| hands.act(Act::Hang),
        );
    "notification-call-carried-out": "What follows `notifications/` is carried out like a request." => {
        payloads(|payload| {
            if method_of(payload) == "notifications/tools/call" && !payload.contains_key("id") {
                payload.insert("method".into(), json!("tools/call"));
                payload.insert("id".into(), json!(STAND_IN));
            }
        })
        .on_answer(|_, payload, _| drop_if(is_own(payload)))
    };
    "call-without-id-answered": "A call without id is executed and answered with id null."
        => with_own_id(|answer| {
            if is_own(answer) {
                answer["id"] = Value::Null;
            }
            Flow::Pass
        });
    "call-without-id-of-one-tool-answered": "A call without id for the climate is answered with id null." => {
        defect().on_payload(|payload, hands| {
            let is_such = get(payload, "params")["name"] == "self.sensor.get_climate";
            if is_such && !payload.contains_key("id") {
                hands.send_payload(&result(&Value::Null, text_result("{}")));
            }
            drop_if(is_such && !payload.contains_key("id"))
        })
    };
    "call-without-id-refused": "A call without id is answered with an error."
        => without_id(
            |method| method == "tools/call",
            |hands| {
                hands.send_payload(&error(&Value::Null, -32600, "Invalid id"));
            },
        );
    "notification-prefix-swallows":
        "Everything that begins with `notifications` is ignored, with or without an id."
        => payloads_lost(|payload| method_of(payload).starts_with("notifications"));
    "notification-slash-swallows":
        "Everything that begins with `notifications/` is ignored, with or without an id."
        => payloads_lost(|payload| method_of(payload).starts_with("notifications/"));
    "device-notification-id-null": "The device's notifications have the id null."
        => sent(|payload| payload["id"] = Value::Null);
    "device-notification-id-number": "The device's notifications are numbered by an id." => {
        let mut count = 800_000;
        defect().on_notification(move |payload| {
            count += 1;
            payload["id"] = json!(count);
        })
    };
    "device-notification-method-bare":
        "The method of the device's notifications lacks `notifications/`."
        => sent(|payload| payload["method"] = json!("state_changed"));
    "device-notification-method-singular":
        "The device's notifications are called `notification/...`."
        => sent(|payload| payload["method"] = json!("notification/state_changed"));
    "device-notification-method-number": "The method of the device's notifications is a number."
        => sent(|payload| payload["method"] = json!(7));
    "device-notification-params-string":
        "The parameters of the device's notifications are a string."
        => sent(|payload| payload["params"] = json!(payload["params"].to_string()));
    "device-notification-params-array": "The parameters of the device's notifications are an array."
        => sent(|payload| payload["params"] = json!(["listening", "speaking"]));
    "device-notification-params-null": "The parameters of the device's notifications are null."
        => sent(|payload| payload["params"] = Value::Null);
    "device-progress-unasked": "Each call is followed by progress, whether somebody asked for it or not."
        => calls().with_answer_by(|_, hands| hands.send_payload(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "mcp", "progress": 1},
        })));
    "device-progress-late": "The last progress of a call comes after its answer." => {
        defect().on_answer(|cause, payload, hands| {
            let token = &cause.params()["_meta"]["progressToken"];
            if token.is_number() {
                hands.send_payload(payload);
                hands.send_payload(&json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1},
                }));
                return Flow::Drop;
            }
            Flow::Pass
        })
    };
    "device-progress-falls": "Half of a call's progress is told after all of it."
        => defect().on_answer_text(|cause, text, hands| {
            let token = &cause.params()["_meta"]["progressToken"];
            if !token.is_number() {
                return Flow::Pass;
            }
            for progress in [1.0, 0.5] {
                let params = json!({"progressToken": token, "progress": progress, "total": 1});
                hands.send_payload(&json!({
                    "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
                }));
            }
            hands.send(core::mem::take(text));
            Flow::Drop
        });
    "device-progress-text": "How far a call has come is told as text."
        => defect().on_answer(|cause, _, hands| {
            let token = &cause.params()["_meta"]["progressToken"];
            if token.is_number() {
                let params = json!({"progressToken": token, "progress": "1"});
                hands.send_payload(&json!({
                    "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
                }));
            }
            Flow::Pass
        });
    "device-message-undeclared": "A message for the log is sent, and initialize does not tell of such."
        => sent(|payload| {
            payload["method"] = json!("notifications/message");
            payload["params"] = json!({"level": "info", "data": "state changed"});
        });
    "device-change-undeclared": "A change of the list is told, and initialize does not tell of such."
        => sent(|payload| payload["method"] = json!("notifications/tools/list_changed"));
    "device-message-without-data": "A message for the log has no data."
        => sent(|payload| {
            payload["method"] = json!("notifications/message");
            payload["params"] = json!({"level": "info", "message": "changed"});
        });
    "device-message-without-level": "A message for the log has no level."
        => sent(|payload| {
            payload["method"] = json!("notifications/message");
            payload["params"] = json!({"data": "changed"});
        });
    "device-message-level-unknown": "A message for the log has a level that MCP does not know."
        => sent(|payload| {
            payload["method"] = json!("notifications/message");
            payload["params"] = json!({"level": "verbose", "data": "state changed"});
        });
    "device-notification-bare": "The device's notifications are sent without the envelope."
        => notifications(|envelope, _| *envelope = envelope["payload"].take());
    "device-notification-array": "The device's notifications are sent as a batch of one."
        => sent(|payload| *payload = json!([payload.take()]));
    "device-notification-result": "The device's notifications have a result."
        => sent(|payload| payload["result"] = json!({}));
    "device-notification-binary": "The device's notifications are sent in binary frames."
        => defect().outbound(|outbound, hands| {
            let frame = Frame::Binary(outbound.text.clone().into_bytes());
            let is_such = outbound.text.contains("notifications/state_changed");
            act_if(is_such, Act::Send(frame), hands)
        });
};

/// A message of a method ends the calls that wait for their turn.
fn ends_calls(method: &'static str) -> Defect {
    let queue = Queue::default();
    let waiting = Rc::clone(&queue);
    queue_of(queue, is_call, |_, text| Some(text)).on_payload(move |payload, _| {
        if method_of(payload) == method {
            waiting.borrow_mut().clear();
        }
        Flow::Pass
    })
}

/// The id of calls that came without one, on their way through the device.
const STAND_IN: u64 = 0x6d63_7068_696c_0002;

fn method_of(payload: &Map<String, Value>) -> &str {
    get(payload, "method").as_str().unwrap_or_default()
}

fn acknowledge(hands: &mut Hands) {
    hands.send_payload(&result(&Value::Null, json!({})));
}

/// Edits the notifications that the device sends.
fn sent(edit: fn(&mut Value)) -> Defect {
    defect().on_notification(edit)
}

/// Sees some of the messages that have a method and no id, before the device drops them.
fn without_id(is_such: fn(&str) -> bool, hook: fn(&mut Hands)) -> Defect {
    defect().on_payload(move |payload, hands| {
        let method = method_of(payload);
        if payload.contains_key("id") || method.is_empty() || !is_such(method) {
            return Flow::Pass;
        }
        hook(hands);
        // What the hook did is the whole reaction: the device would say nothing either.
        Flow::Drop
    })
}

/// Carries out calls without id under an id of the device's own, and sees all answers.
fn with_own_id(hook: fn(&mut Value) -> Flow) -> Defect {
    defect()
        .on_method("tools/call", |payload, _| {
            payload.entry("id").or_insert(json!(STAND_IN));
            Flow::Pass
        })
        .on_answer(move |_, payload, _| hook(payload))
}

fn is_own(answer: &Value) -> bool {
    answer["id"] == STAND_IN
}

/// Asks something once, when the session is initialized.
fn asks(request: fn() -> Value) -> Defect {
    let mut has_asked = false;
    defect().on_payload(move |payload, hands| {
        if method_of(payload) == INITIALIZED && !core::mem::replace(&mut has_asked, true) {
            let mut request = request();
            request["jsonrpc"] = json!("2.0");
            hands.send_payload(&request);
        }
        Flow::Pass
    })
}
