//! Defects that show when a connection follows another one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use reference_device::Board;
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "session-id-stale",
        "After a new connection the first session id is used on.",
        || {
            let mut first = None;
            Defect::default().on_message(move |kind, envelope, _| {
                if kind == "mcp" {
                    envelope["session_id"] = first
                        .get_or_insert_with(|| envelope["session_id"].clone())
                        .clone();
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-id-stale-in-errors",
        "After a new connection errors carry the first session id.",
        || {
            let mut first = None;
            Defect::default().on_message(move |kind, envelope, _| {
                if kind == "mcp" {
                    let first = first.get_or_insert_with(|| envelope["session_id"].clone());
                    if envelope["payload"].get("error").is_some() {
                        envelope["session_id"] = first.clone();
                    }
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-id-lost",
        "After a new connection the session id is empty.",
        || {
            let again = Rc::new(Cell::new(false));
            let is_again = Rc::clone(&again);
            Defect::default()
                .on_message(move |kind, envelope, _| {
                    if kind == "mcp" && is_again.get() {
                        envelope["session_id"] = json!("");
                    }
                    Flow::Pass
                })
                .disconnected(move |_| again.set(true))
        },
    ),
    mutant(
        "session-no-redial",
        "When the connection is lost the device goes to sleep for good.",
        || {
            Defect::default().disconnected(|hands| {
                hands.act(Act::Print("I (0) PowerSaveTimer: Enabling sleep mode"));
                hands.act(Act::Exit);
            })
        },
    ),
    mutant(
        "session-no-hello-again",
        "After a new connection the device does not say hello again.",
        || {
            let mut greeted = false;
            Defect::default().on_message(move |kind, _, _| {
                if kind == "hello" && std::mem::replace(&mut greeted, true) {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "session-stale-answer",
        "The last answer of the old session is repeated in the new one.",
        || {
            let last = Rc::new(RefCell::new(None::<Value>));
            let stale = Rc::new(RefCell::new(None));
            let kept = (Rc::clone(&last), Rc::clone(&stale));
            Defect::default()
                .on_message(move |kind, envelope, hands| {
                    if kind == "mcp" && envelope["payload"].get("method").is_none() {
                        *last.borrow_mut() = Some(envelope["payload"].clone());
                    }
                    if kind == "listen"
                        && let Some(answer) = stale.borrow_mut().take()
                    {
                        hands.send_payload(&answer);
                    }
                    Flow::Pass
                })
                .disconnected(move |_| *kept.1.borrow_mut() = kept.0.borrow_mut().take())
        },
    ),
    mutant(
        "session-needs-initialize",
        "tools/list is refused before initialize.",
        || {
            let initialized = Rc::new(Cell::new(false));
            let seen = Rc::clone(&initialized);
            Defect::default()
                .on_payload(move |payload, hands| {
                    let method = payload
                        .get("method")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    if method == "initialize" {
                        seen.set(true);
                    }
                    if method != "tools/list"
                        || seen.get()
                        || !payload.get("id").is_some_and(Value::is_i64)
                    {
                        return Flow::Pass;
                    }
                    let error = json!({"code": -32002, "message": "Server not initialized"});
                    hands.send_payload(
                        &json!({"jsonrpc": "2.0", "id": payload.get("id"), "error": error}),
                    );
                    Flow::Drop
                })
                .disconnected(move |_| initialized.set(false))
        },
    ),
    mutant(
        "session-list-deaf",
        "After a new connection tools/list is not answered before initialize.",
        || {
            let initialized = Rc::new(Cell::new(true));
            let seen = Rc::clone(&initialized);
            Defect::default()
                .on_payload(move |payload, _| {
                    match payload.get("method").and_then(Value::as_str) {
                        Some("initialize") => seen.set(true),
                        Some("tools/list") if !seen.get() => return Flow::Drop,
                        _ => {}
                    }
                    Flow::Pass
                })
                .disconnected(move |_| initialized.set(false))
        },
    ),
    mutant(
        "session-settings-lost",
        "All settings return to their defaults when the connection is lost.",
        || Defect::default().disconnected(|hands| *hands.device.board_mut() = Board::default()),
    ),
    mutant(
        "session-volume-lost",
        "The volume is 10 after a new connection.",
        || Defect::default().disconnected(|hands| hands.device.board_mut().speaker.volume = 10),
    ),
];
