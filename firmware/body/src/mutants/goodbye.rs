//! Defects that show at the end of an audio channel and across connections to a broker.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "session-goodbye-deaf",
        "After the server's goodbye MCP is not answered any more.",
        || {
            let is_over = Rc::new(Cell::new(false));
            let over = Rc::clone(&is_over);
            Defect::default()
                .on_envelope(move |envelope, hands| {
                    if is_goodbye(envelope, hands) && is_current(envelope, hands) {
                        is_over.set(true);
                    }
                    if is_over.get() && kind(envelope) == "mcp" {
                        Flow::Drop
                    } else {
                        Flow::Pass
                    }
                })
                .disconnected(move |_| over.set(false))
        },
    ),
    mutant(
        "session-goodbye-crash",
        "The server's goodbye crashes the device.",
        || {
            Defect::default().on_envelope(|envelope, hands| {
                if is_goodbye(envelope, hands) && is_current(envelope, hands) {
                    hands.act(Act::Panic);
                    return Flow::Drop;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-goodbye-hangs",
        "The device hangs when the server says goodbye.",
        || {
            Defect::default().on_envelope(|envelope, hands| {
                if is_goodbye(envelope, hands) && is_current(envelope, hands) {
                    hands.act(Act::Hang);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-goodbye-foreign-obeyed",
        "A goodbye with another session id closes the channel.",
        || {
            Defect::default().on_envelope(|envelope, hands| {
                if is_goodbye(envelope, hands) {
                    let own = serde_json::from_str(hands.device.session_json());
                    envelope.insert("session_id".to_string(), own.unwrap_or_default());
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-goodbye-foreign-adopted",
        "A goodbye with another session id changes the id of the session.",
        || {
            let adopted = Rc::new(RefCell::new(None::<String>));
            let sent = Rc::clone(&adopted);
            Defect::default()
                .on_envelope(move |envelope, hands| {
                    if is_goodbye(envelope, hands) && !is_current(envelope, hands) {
                        let id = envelope.get("session_id").and_then(Value::as_str);
                        *adopted.borrow_mut() = id.map(str::to_string);
                    }
                    Flow::Pass
                })
                .on_message(move |kind, envelope, _| {
                    if kind == "mcp"
                        && let Some(id) = &*sent.borrow()
                    {
                        envelope["session_id"] = json!(id);
                    }
                    Flow::Pass
                })
        },
    ),
    mutant(
        "session-mqtt-id-missing",
        "Over MQTT answers carry an empty session id.",
        || {
            Defect::default().on_message(|kind, envelope, hands| {
                if kind == "mcp" && hands.over_mqtt() {
                    envelope["session_id"] = json!("");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-mqtt-id-kept",
        "After a new connection to the broker the first session id is used on.",
        || {
            let mut first = None;
            Defect::default().on_message(move |kind, envelope, hands| {
                if kind == "mcp" && hands.over_mqtt() {
                    if first.is_none() && envelope["session_id"] != "" {
                        first = Some(envelope["session_id"].clone());
                    }
                    if let Some(first) = &first {
                        envelope["session_id"] = first.clone();
                    }
                }
                Flow::Pass
            })
        },
    ),
];

fn kind(envelope: &Map<String, Value>) -> &str {
    let kind = envelope.get("type").and_then(Value::as_str);
    kind.unwrap_or_default()
}

/// Over WebSocket the word means nothing.
fn is_goodbye(envelope: &Map<String, Value>, hands: &Hands) -> bool {
    hands.over_mqtt() && kind(envelope) == "goodbye"
}

/// Whether a message names the session of the device.
fn is_current(envelope: &Map<String, Value>, hands: &Hands) -> bool {
    let own = serde_json::from_str::<Value>(hands.device.session_json()).ok();
    envelope.get("session_id") == own.as_ref()
}
