//! Defects that show when a connection follows another one.

use reference_device::Board;

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "session-id-stale": "After a new connection the first session id is still used."
        => stale_where(|_| true);
    "session-id-stale-in-errors": "After a new connection errors carry the first session id."
        => stale_where(|payload| payload.get("error").is_some());
    "session-id-lost": "After a new connection the session id is empty." => {
        let [again, is_again] = shared(false);
        messages("mcp", move |envelope, _| if is_again.get() {
            envelope["session_id"] = json!("");
        })
        .disconnected(move |_| again.set(true))
    };
    "session-id-late": "The first two answers name no session, later ones do." => {
        let mut unnamed = 2;
        messages("mcp", move |envelope, _| if unnamed > 0 {
            unnamed -= 1;
            envelope["session_id"] = json!("");
        })
    };
    "session-no-reconnect": "When the connection is lost the device goes to sleep forever."
        => defect().disconnected(|hands| {
            hands.act(Act::Print("I (0) PowerSaveTimer: Enabling sleep mode".into()));
            hands.act(Act::Exit);
        });
    "session-no-hello-again": "After a new connection the device does not send hello again." => {
        let mut first = once();
        defect().on_message(move |kind, _, _| drop_if(kind == "hello" && !first()))
    };
    "session-stale-answer": "The last answer of the old session is repeated in the new one." => {
        let [last, kept] = shared(None);
        let [stale, repeated] = shared(None);
        defect()
            .on_message(move |kind, envelope, hands| {
                if kind == "mcp" && envelope["payload"].get("method").is_none() {
                    last.set(Some(envelope["payload"].clone()));
                } else if kind == "listen"
                    && let Some(answer) = stale.take()
                {
                    hands.send_payload(&answer);
                }
                Flow::Pass
            })
            .disconnected(move |_| repeated.set(kept.take()))
    };
    "session-needs-initialize": "tools/list is refused before initialize."
        => needs_initialize("tools/list", false, not_initialized);
    "session-list-deaf": "After a new connection tools/list is not answered before initialize."
        => needs_initialize("tools/list", true, |_, _| Flow::Drop);
    "session-settings-lost": "All settings return to their defaults when the connection is lost."
        => defect().disconnected(|hands| *hands.device.board_mut() = Board::default());
    "session-volume-lost": "The volume is 10 after a new connection."
        => defect().disconnected(|hands| hands.device.board_mut().speaker.volume = 10);
    "session-id-previous":
        "From the third connection on answers carry the session id of the one before." => {
        let mut ids = Vec::new();
        messages("mcp", move |envelope, _| {
            if !ids.contains(&envelope["session_id"]) {
                ids.push(envelope["session_id"].clone());
            }
            if ids.len() > 2 {
                envelope["session_id"] = ids[ids.len() - 2].clone();
            }
        })
    };
    "session-id-stale-in-lists":
        "After a new connection pages of the tool list carry the first session id."
        => stale_where(|payload| payload.pointer("/result/tools").is_some());
    "session-id-stale-in-notifications":
        "After a new connection notifications carry the first session id."
        => stale_where(|payload| payload.get("method").is_some());
    "session-id-stale-in-listen":
        "After speech the device listens again, with the session id of the first connection." => {
        let first = RefCell::new(None);
        listens_after_speech(move |session| {
            let first = first.borrow_mut().get_or_insert(session.to_string()).clone();
            format!(r#"{{"session_id":{first},"type":"listen","state":"start","mode":"auto"}}"#)
        })
    };
    "session-id-missing-in-listen": "After speech the device listens again, without a session id."
        => listens_after_speech(|_| {
            r#"{"type":"listen","state":"start","mode":"auto"}"#.to_string()
        });
    "session-stale-answer-after-first":
        "The last answer of the old session is repeated after the first one of the new." => {
        let [last, kept] = shared(None);
        let [stale, repeated] = shared(None);
        defect()
            .on_answer(move |_, payload, hands| {
                last.set(Some(payload.clone()));
                if let Some(answer) = stale.take() {
                    hands.send_later(1, hands.envelope(&answer));
                }
                Flow::Pass
            })
            .disconnected(move |_| repeated.set(kept.take()))
    };
    "session-answers-old-request":
        "Lists are answered from a queue that outlives the connection." => {
        let [queue, due] = shared(Vec::new());
        defect()
            .on_answer(move |cause, payload, hands| {
                if cause.method() != "tools/list" {
                    return Flow::Pass;
                }
                queue.set([queue.take(), vec![payload.clone()]].concat());
                // Long enough to have dialled again by then, on a busy machine too.
                hands.act_later(50, Act::Wake);
                Flow::Drop
            })
            .wake(move |hands| due.take().iter().for_each(|answer| hands.send_payload(answer)))
    };
    "session-reconnect-late":
        "When the connection is lost the device waits half a minute before it reconnects."
        => defect().disconnected(|hands| hands.act(Act::Pause(30_000)));
    "session-storm-after-reconnect":
        "After a new connection the device reports every state that it was ever in, 6000 of them." => {
        let [again, is_again] = shared(false);
        defect()
            .on_answer(move |_, _, hands| {
                if is_again.take() {
                    let text = state_changed(hands, "idle", "listening");
                    (0..6_000).for_each(|_| hands.send(text.clone()));
                }
                Flow::Pass
            })
            .disconnected(move |_| again.set(true))
    };
    "session-call-needs-initialize": "After a new connection calls are refused before initialize."
        => needs_initialize("tools/call", true, not_initialized);
    "session-last-id-kept":
        "A request with the id of the one before is dropped as its repetition, on a new connection, too." => {
        let mut last = Value::Null;
        payloads_lost(move |payload| {
            let id = get(payload, "id").clone();
            id.is_number() && core::mem::replace(&mut last, id.clone()) == id
        })
    };
    "session-hello-repeated-loses-id": "A second hello from the server clears the session id." => {
        let [hellos, seen, lost] = shared(0);
        on_server_hello(seen)
            .on_message(move |kind, envelope, _| {
                if kind == "mcp" && hellos.get() > 1 {
                    envelope["session_id"] = json!("");
                }
                Flow::Pass
            })
            .disconnected(move |_| lost.set(0))
    };
    "session-hello-repeated-deaf": "After a second hello from the server no request is answered." => {
        let [hellos, seen, lost] = shared(0);
        on_server_hello(seen)
            .on_answer_text(move |_, _, _| drop_if(hellos.get() > 1))
            .disconnected(move |_| lost.set(0))
    };
    "session-hello-repeated-answered":
        "A second hello from the server is answered with another hello." => {
        let [hellos, seen] = shared(0);
        let own = Rc::new(RefCell::new(String::new()));
        let kept = Rc::clone(&own);
        messages("hello", move |hello, _| *kept.borrow_mut() = hello.to_string())
            .on_envelope(move |envelope, hands| {
                if get(envelope, "type") == "hello" && seen.replace(seen.get() + 1) > 0 {
                    hands.send(own.borrow().clone());
                }
                Flow::Pass
            })
            .disconnected(move |_| hellos.set(0))
    };
    "session-hello-without-id-panics":
        "The device crashes on a second hello that names no session."
        => second_hello(|hello| hello.get("session_id").is_none(), Act::Panic);
    "session-hello-without-audio-panics":
        "The device crashes on a second hello without audio parameters."
        => second_hello(|hello| hello.get("audio_params").is_none(), Act::Panic);
    "session-hello-bare-hangs": "A second hello without audio parameters hangs the device."
        => second_hello(|hello| hello.get("audio_params").is_none(), Act::Hang);
    "listen-state-unknown": "After speech the device listens again, in a state that no document has."
        => listens_after_speech(|session| {
            format!(r#"{{"session_id":{session},"type":"listen","state":"started","mode":"auto"}}"#)
        });
    "listen-mode-number": "After speech the device listens again, in a mode that is a number."
        => listens_after_speech(|session| {
            format!(r#"{{"session_id":{session},"type":"listen","state":"start","mode":1}}"#)
        });
    "listen-state-missing": "After speech the device listens again, and names no state."
        => listens_after_speech(|session| {
            format!(r#"{{"session_id":{session},"type":"listen","mode":"auto"}}"#)
        });
    "abort-reason-number": "After speech the device sends an abort whose reason is a number."
        => listens_after_speech(|session| {
            format!(r#"{{"session_id":{session},"type":"abort","reason":1}}"#)
        });
};

/// Does something when a hello of this kind arrives that is not the first of its connection.
fn second_hello(is_such: fn(&Map<String, Value>) -> bool, act: Act) -> Defect {
    let [hellos, lost] = shared(0);
    arriving("hello", move |envelope, hands| {
        hellos.set(hellos.get() + 1);
        act_if(hellos.get() > 1 && is_such(envelope), act.clone(), hands)
    })
    .disconnected(move |_| lost.set(0))
}

/// Some MCP messages carry the session id of the first connection.
fn stale_where(is_such: fn(&Value) -> bool) -> Defect {
    let mut first = None;
    messages("mcp", move |envelope, _| {
        let first = first.get_or_insert_with(|| envelope["session_id"].clone());
        if is_such(&envelope["payload"]) {
            envelope["session_id"] = first.clone();
        }
    })
}

/// Sees the requests of one method that come before `initialize`, which the first connection may not need.
fn needs_initialize(
    name: &'static str,
    is_initialized: bool,
    hook: fn(&Map<String, Value>, &mut Hands) -> Flow,
) -> Defect {
    let [initialized, seen] = shared(is_initialized);
    defect()
        .on_payload(move |payload, hands| {
            seen.set(seen.get() || get(payload, "method") == "initialize");
            match get(payload, "method") == name && !seen.get() {
                true => hook(payload, hands),
                false => Flow::Pass,
            }
        })
        .disconnected(move |_| initialized.set(false))
}

fn not_initialized(payload: &Map<String, Value>, hands: &mut Hands) -> Flow {
    reply_if(true, payload, hands, |id| error(id, -32002, "Server not initialized"))
}

/// At the end of speech the device sends what the hook makes of the session id, which is JSON.
fn listens_after_speech(message: impl Fn(&str) -> String + 'static) -> Defect {
    arriving("tts", move |envelope, hands| {
        if get(envelope, "state") == "stop" {
            let text = message(hands.device.session_json());
            hands.send(text);
        }
        Flow::Pass
    })
}

/// Counts the server's hellos.
fn on_server_hello(hellos: Rc<Cell<u32>>) -> Defect {
    arriving("hello", move |_, _| {
        hellos.set(hellos.get() + 1);
        Flow::Pass
    })
}
