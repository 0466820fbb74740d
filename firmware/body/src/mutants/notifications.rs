//! Defects of notifications, in both directions.

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands};
use crate::platform::Frame;
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "notification-answered",
        "Every message without id is answered with id null.",
        || without_id(|_| true, acknowledge),
    ),
    mutant(
        "notification-initialized-answered",
        "notifications/initialized is answered with an empty result.",
        || without_id(|method| method == "notifications/initialized", acknowledge),
    ),
    mutant(
        "notification-initialized-without-id",
        "notifications/initialized is answered without id.",
        || {
            without_id(
                |method| method == "notifications/initialized",
                |hands| {
                    hands.send_payload(&json!({"jsonrpc": "2.0", "result": {}}));
                },
            )
        },
    ),
    mutant(
        "notification-unknown-refused",
        "An unknown notification is answered with an error.",
        || {
            without_id(
                |method| {
                    ![
                        "notifications/initialized",
                        "notifications/cancelled",
                        "tools/call",
                    ]
                    .contains(&method)
                },
                |hands| {
                    let error = json!({"code": -32601, "message": "Method not implemented"});
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
                },
            )
        },
    ),
    mutant(
        "notification-cancelled-answered",
        "notifications/cancelled is answered.",
        || without_id(|method| method == "notifications/cancelled", acknowledge),
    ),
    mutant(
        "notification-cancelled-panics",
        "notifications/cancelled of no request reads a null pointer.",
        || {
            without_id(
                |method| method == "notifications/cancelled",
                |hands| hands.act(Act::Panic),
            )
        },
    ),
    mutant(
        "notification-cancelled-hangs",
        "notifications/cancelled of no request waits for it forever.",
        || {
            without_id(
                |method| method == "notifications/cancelled",
                |hands| hands.act(Act::Hang),
            )
        },
    ),
    mutant(
        "call-without-id-answered",
        "A call without id is executed and answered with id null.",
        || {
            Defect::default()
                .on_method("tools/call", |payload, _| {
                    payload.entry("id").or_insert(json!(STAND_IN));
                    Flow::Pass
                })
                .on_answer(|_, payload, _| {
                    if payload["id"] == json!(STAND_IN) {
                        payload["id"] = Value::Null;
                    }
                    Flow::Pass
                })
        },
    ),
    mutant(
        "call-without-id-refused",
        "A call without id is answered with an error.",
        || {
            without_id(
                |method| method == "tools/call",
                |hands| {
                    let error = json!({"code": -32600, "message": "Invalid id"});
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
                },
            )
        },
    ),
    mutant(
        "notification-prefix-swallows",
        "Everything that begins with `notifications` is dropped, id or not.",
        || {
            Defect::default().on_payload(|payload, _| {
                if method_of(payload).starts_with("notifications") {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "notification-slash-swallows",
        "Everything that begins with `notifications/` is dropped, id or not.",
        || {
            Defect::default().on_payload(|payload, _| {
                if method_of(payload).starts_with("notifications/") {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "device-notification-id-null",
        "The device's notifications have an id, null.",
        || Defect::default().on_notification(|payload| payload["id"] = Value::Null),
    ),
    mutant(
        "device-notification-id-number",
        "The device's notifications are numbered by an id.",
        || {
            let mut count = 800_000;
            Defect::default().on_notification(move |payload| {
                count += 1;
                payload["id"] = json!(count);
            })
        },
    ),
    mutant(
        "device-notification-method-bare",
        "The method of the device's notifications lacks `notifications/`.",
        || Defect::default().on_notification(|payload| payload["method"] = json!("state_changed")),
    ),
    mutant(
        "device-notification-method-singular",
        "The device's notifications are called `notification/...`.",
        || {
            Defect::default()
                .on_notification(|payload| payload["method"] = json!("notification/state_changed"))
        },
    ),
    mutant(
        "device-notification-method-number",
        "The method of the device's notifications is a number.",
        || Defect::default().on_notification(|payload| payload["method"] = json!(7)),
    ),
    mutant(
        "device-notification-params-string",
        "The parameters of the device's notifications are a string.",
        || {
            Defect::default()
                .on_notification(|payload| payload["params"] = json!(payload["params"].to_string()))
        },
    ),
    mutant(
        "device-notification-params-array",
        "The parameters of the device's notifications are an array.",
        || {
            Defect::default()
                .on_notification(|payload| payload["params"] = json!(["listening", "speaking"]))
        },
    ),
    mutant(
        "device-notification-params-null",
        "The parameters of the device's notifications are null.",
        || Defect::default().on_notification(|payload| payload["params"] = Value::Null),
    ),
    mutant(
        "device-notification-bare",
        "The device's notifications come without the envelope.",
        || {
            Defect::default().on_message(|kind, envelope, _| {
                if kind == "mcp" && envelope["payload"].get("method").is_some() {
                    *envelope = envelope["payload"].take();
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "device-notification-array",
        "The device's notifications come as a batch of one.",
        || Defect::default().on_notification(|payload| *payload = json!([payload.take()])),
    ),
    mutant(
        "device-notification-result",
        "The device's notifications have a result.",
        || Defect::default().on_notification(|payload| payload["result"] = json!({})),
    ),
    mutant(
        "device-notification-binary",
        "The device's notifications travel in binary frames.",
        || {
            Defect::default().outbound(|outbound, hands| {
                if !outbound.text.contains("notifications/state_changed") {
                    return Flow::Pass;
                }
                hands.act(Act::Send(Frame::Binary(outbound.text.clone().into_bytes())));
                Flow::Drop
            })
        },
    ),
];

/// The id of calls that came without one, on their way through the device.
const STAND_IN: u64 = 0x6d63_7068_696c_0002;

fn method_of(payload: &Map<String, Value>) -> &str {
    payload
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn acknowledge(hands: &mut Hands) {
    hands.send_payload(&json!({"jsonrpc": "2.0", "id": null, "result": {}}));
}

/// Sees some of the messages that have a method and no id, before the device drops them.
fn without_id(is_such: fn(&str) -> bool, hook: fn(&mut Hands)) -> Defect {
    Defect::default().on_payload(move |payload, hands| {
        let method = method_of(payload);
        if !payload.contains_key("id") && !method.is_empty() && is_such(method) {
            hook(hands);
            // What the hook did is the whole reaction: the device would say nothing either.
            return Flow::Drop;
        }
        Flow::Pass
    })
}
