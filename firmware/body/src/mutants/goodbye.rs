//! Defects that show at the end of an audio channel and across connections to a broker.

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "session-goodbye-deaf": "After the server's goodbye MCP is no longer answered." => {
        let [is_over, over] = shared(false);
        defect()
            .on_envelope(move |envelope, hands| {
                is_over.set(is_over.get() || ends(envelope, hands));
                drop_if(is_over.get() && get(envelope, "type") == "mcp")
            })
            .disconnected(move |_| over.set(false))
    };
    "session-goodbye-crash": "The server's goodbye crashes the device."
        => defect().on_envelope(|envelope, hands| act_if(ends(envelope, hands), Act::Panic, hands));
    "session-goodbye-hangs": "The device hangs when the server sends goodbye."
        => defect().on_envelope(|envelope, hands| {
            act_if(ends(envelope, hands), Act::Hang, hands);
            Flow::Pass
        });
    "session-goodbye-websocket-crash": "A goodbye over WebSocket, where there is no broker to leave, crashes the device."
        => defect().on_envelope(|envelope, hands| {
            act_if(!hands.over_mqtt() && get(envelope, "type") == "goodbye", Act::Panic, hands)
        });
    "session-goodbye-websocket-foreign-deaf":
        "Over WebSocket a goodbye with a different session id ends the answers, one with the right id does not." => {
        let [is_over, over] = shared(false);
        defect()
            .on_envelope(move |envelope, hands| {
                let is_own = envelope.get("session_id") == Some(&session_id(hands));
                let is_foreign = get(envelope, "type") == "goodbye" && !is_own;
                is_over.set(is_over.get() || is_foreign && !hands.over_mqtt());
                drop_if(is_over.get() && get(envelope, "type") == "mcp")
            })
            .disconnected(move |_| over.set(false))
    };
    "session-goodbye-foreign-obeyed": "A goodbye with a different session id closes the channel."
        => defect().on_envelope(|envelope, hands| {
            if is_goodbye(envelope, hands) {
                set(envelope, "session_id", session_id(hands));
            }
            Flow::Pass
        });
    "session-goodbye-foreign-adopted":
        "A goodbye with a different session id changes the id of the session." => {
        let adopted = Rc::new(RefCell::new(None));
        let sent = Rc::clone(&adopted);
        messages("mcp", move |envelope, _| if let Some(id) = &*sent.borrow() {
            envelope["session_id"] = json!(id);
        })
        .on_envelope(move |envelope, hands| {
            if is_goodbye(envelope, hands) && !ends(envelope, hands) {
                *adopted.borrow_mut() = get(envelope, "session_id").as_str().map(str::to_string);
            }
            Flow::Pass
        })
    };
    "session-mqtt-id-missing": "Over MQTT answers carry an empty session id."
        => messages("mcp", |envelope, hands| if hands.over_mqtt() {
            envelope["session_id"] = json!("");
        });
    "session-mqtt-id-kept":
        "After a new connection to the broker the first session id is still used." => {
        let mut first = None;
        messages("mcp", move |envelope, hands| {
            if hands.over_mqtt() && (first.is_some() || envelope["session_id"] != "") {
                envelope["session_id"] =
                    first.get_or_insert_with(|| envelope["session_id"].clone()).clone();
            }
        })
    };
};

/// Over WebSocket the word means nothing.
fn is_goodbye(envelope: &Map<String, Value>, hands: &Hands) -> bool {
    hands.over_mqtt() && get(envelope, "type") == "goodbye"
}

/// Whether a message ends the session of the device.
fn ends(envelope: &Map<String, Value>, hands: &Hands) -> bool {
    is_goodbye(envelope, hands) && envelope.get("session_id") == Some(&session_id(hands))
}

fn session_id(hands: &Hands) -> Value {
    serde_json::from_str(hands.device.session_json()).unwrap_or_default()
}
