//! Defects that show when a connection follows another one.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use reference_device::Board;
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow};
use crate::prelude::*;

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
                hands.act(Act::Print(
                    "I (0) PowerSaveTimer: Enabling sleep mode".into(),
                ));
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
                if kind == "hello" && core::mem::replace(&mut greeted, true) {
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
    mutant(
        "session-id-previous",
        "From the third connection on answers carry the session id of the one before.",
        || {
            let ids = Rc::new(RefCell::new(Vec::<Value>::new()));
            Defect::default().on_message(move |kind, envelope, _| {
                if kind == "mcp" {
                    let mut ids = ids.borrow_mut();
                    if !ids.contains(&envelope["session_id"]) {
                        ids.push(envelope["session_id"].clone());
                    }
                    if ids.len() > 2 {
                        envelope["session_id"] = ids[ids.len() - 2].clone();
                    }
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "session-id-stale-in-lists",
        "After a new connection pages of the tool list carry the first session id.",
        || stale_where(|payload| payload.pointer("/result/tools").is_some()),
    ),
    mutant(
        "session-id-stale-in-notifications",
        "After a new connection notifications carry the first session id.",
        || stale_where(|payload| payload.get("method").is_some()),
    ),
    mutant(
        "session-id-stale-in-listen",
        "After speech the device listens again, with the session id of the first connection.",
        || {
            let first = Rc::new(RefCell::new(None::<String>));
            listens_after_speech(move |session| {
                let first = first
                    .borrow_mut()
                    .get_or_insert(session.to_string())
                    .clone();
                format!(r#"{{"session_id":{first},"type":"listen","state":"start","mode":"auto"}}"#)
            })
        },
    ),
    mutant(
        "session-id-missing-in-listen",
        "After speech the device listens again, in no session.",
        || {
            listens_after_speech(|_| {
                r#"{"type":"listen","state":"start","mode":"auto"}"#.to_string()
            })
        },
    ),
    mutant(
        "session-stale-answer-after-first",
        "The last answer of the old session is repeated after the first one of the new.",
        || {
            let last = Rc::new(RefCell::new(None::<Value>));
            let stale = Rc::new(RefCell::new(None::<Value>));
            let kept = (Rc::clone(&last), Rc::clone(&stale));
            Defect::default()
                .on_answer(move |_, payload, hands| {
                    *last.borrow_mut() = Some(payload.clone());
                    if let Some(answer) = stale.borrow_mut().take() {
                        let text = hands.envelope(&answer);
                        hands.send_later(1, text);
                    }
                    Flow::Pass
                })
                .disconnected(move |_| *kept.1.borrow_mut() = kept.0.borrow_mut().take())
        },
    ),
    mutant(
        "session-answers-old-request",
        "Lists are answered from a queue that outlives the connection.",
        || {
            let queue = Rc::new(RefCell::new(Vec::<Value>::new()));
            let due = Rc::clone(&queue);
            Defect::default()
                .on_answer(move |cause, payload, hands| {
                    if cause.method() == "tools/list" {
                        queue.borrow_mut().push(payload.clone());
                        // Long enough to have dialled again by then, on a busy machine too.
                        hands.act_later(50, Act::Wake);
                        return Flow::Drop;
                    }
                    Flow::Pass
                })
                .wake(move |hands| {
                    let queued = core::mem::take(&mut *due.borrow_mut());
                    queued.iter().for_each(|answer| hands.send_payload(answer));
                })
        },
    ),
    mutant(
        "session-redial-late",
        "When the connection is lost the device rests for half a minute before it dials again.",
        || Defect::default().disconnected(|hands| hands.act(Act::Pause(30_000))),
    ),
    mutant(
        "session-storm-after-redial",
        "After a new connection the device tells every state that it was ever in, 6000 of them.",
        || {
            let again = Rc::new(Cell::new(false));
            let is_again = Rc::clone(&again);
            Defect::default()
                .on_answer(move |_, _, hands| {
                    if is_again.take() {
                        let text = hands.envelope(&json!({
                            "jsonrpc": "2.0",
                            "method": "notifications/state_changed",
                            "params": {"newState": "idle", "oldState": "listening"},
                        }));
                        for _ in 0..6_000 {
                            hands.send(text.clone());
                        }
                    }
                    Flow::Pass
                })
                .disconnected(move |_| again.set(true))
        },
    ),
    mutant(
        "session-call-needs-initialize",
        "After a new connection calls are refused before initialize.",
        || {
            let initialized = Rc::new(Cell::new(true));
            let seen = Rc::clone(&initialized);
            Defect::default()
                .on_payload(move |payload, hands| {
                    let method = payload.get("method").and_then(Value::as_str);
                    if method == Some("initialize") {
                        seen.set(true);
                    }
                    let id = payload.get("id").filter(|id| id.is_i64());
                    if method != Some("tools/call") || seen.get() || id.is_none() {
                        return Flow::Pass;
                    }
                    let error = json!({"code": -32002, "message": "Server not initialized"});
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                    Flow::Drop
                })
                .disconnected(move |_| initialized.set(false))
        },
    ),
    mutant(
        "session-hello-repeated-loses-id",
        "A second hello of the server empties the session id.",
        || {
            let (hellos, seen) = hello_counter();
            let lost = Rc::clone(&hellos);
            on_server_hello(seen)
                .on_message(move |kind, envelope, _| {
                    if kind == "mcp" && hellos.get() > 1 {
                        envelope["session_id"] = json!("");
                    }
                    Flow::Pass
                })
                .disconnected(move |_| lost.set(0))
        },
    ),
    mutant(
        "session-hello-repeated-deaf",
        "After a second hello of the server no request is answered.",
        || {
            let (hellos, seen) = hello_counter();
            let lost = Rc::clone(&hellos);
            on_server_hello(seen)
                .on_answer_text(move |_, _, _| {
                    if hellos.get() > 1 {
                        Flow::Drop
                    } else {
                        Flow::Pass
                    }
                })
                .disconnected(move |_| lost.set(0))
        },
    ),
    mutant(
        "session-hello-repeated-answered",
        "A second hello of the server is answered with another hello.",
        || {
            let (hellos, seen) = hello_counter();
            let own = Rc::new(RefCell::new(String::new()));
            let kept = Rc::clone(&own);
            Defect::default()
                .on_envelope(move |envelope, hands| {
                    if envelope.get("type") == Some(&json!("hello")) {
                        seen.set(seen.get() + 1);
                        if seen.get() > 1 {
                            hands.send(own.borrow().clone());
                        }
                    }
                    Flow::Pass
                })
                .on_message(move |kind, envelope, _| {
                    if kind == "hello" {
                        *kept.borrow_mut() = envelope.to_string();
                    }
                    Flow::Pass
                })
                .disconnected(move |_| hellos.set(0))
        },
    ),
];

/// Some MCP messages carry the session id of the first connection.
fn stale_where(is_such: fn(&Value) -> bool) -> Defect {
    let mut first = None;
    Defect::default().on_message(move |kind, envelope, _| {
        if kind == "mcp" {
            let first = first.get_or_insert_with(|| envelope["session_id"].clone());
            if is_such(&envelope["payload"]) {
                envelope["session_id"] = first.clone();
            }
        }
        Flow::Pass
    })
}

/// At the end of speech the device sends what the hook makes of the session id, which is JSON.
fn listens_after_speech(message: impl Fn(&str) -> String + 'static) -> Defect {
    Defect::default().on_envelope(move |envelope, hands| {
        let member = |name| envelope.get(name).and_then(Value::as_str);
        if (member("type"), member("state")) == (Some("tts"), Some("stop")) {
            let text = message(hands.device.session_json());
            hands.send(text);
        }
        Flow::Pass
    })
}

/// A counter of the server's hellos on a connection, twice.
fn hello_counter() -> (Rc<Cell<u32>>, Rc<Cell<u32>>) {
    let hellos = Rc::new(Cell::new(0));
    (Rc::clone(&hellos), hellos)
}

/// Counts the server's hellos.
fn on_server_hello(hellos: Rc<Cell<u32>>) -> Defect {
    Defect::default().on_envelope(move |envelope, _| {
        if envelope.get("type") == Some(&json!("hello")) {
            hellos.set(hellos.get() + 1);
        }
        Flow::Pass
    })
}
