//! The same answers at other times.

use reference_device::Board;

use crate::Frame;
use crate::console::Reset;
use crate::mutants::robustness::{Queue, is_call, queue_of};
use crate::rows::prelude::*;

/// How late an answer may come here, in milliseconds.
const LATE_MS: u64 = 15;

/// After how many milliseconds without a message a device does what it does by itself.
const ALONE_MS: u64 = 2_500;

pub(super) const VARIANTS: &[Row] = rows! {
    "slow": "Every answer is 15 ms late." => late(|_, _| LATE_MS);
    "calls-late": "Calls are answered after what arrived after them, as by stock firmware."
        => late(|is_call, _| if is_call { 2 } else { 0 });
    "calls-overtake": "Calls overtake each other, as in versions with a thread for each call."
        => late(|is_call, count| match (is_call, count % 3) {
            (false, _) => 0,
            (true, 0) => LATE_MS,
            (true, _) => 3,
        });
    "backlog-refused": "Of requests back to back those beyond the sixteenth are refused: the queue is full." => {
        let queue = Queue::default();
        let left = Rc::clone(&queue);
        queue_of(queue, |_| true, |index, text| Some(if index < 16 { text } else { refused(&text, -32000, "queue is full") }))
            .disconnected(move |_| left.borrow_mut().clear())
    };
    "calls-not-queued": "Of calls back to back those beyond the sixth are refused: there is no memory for them." => {
        let queue = Queue::default();
        let left = Rc::clone(&queue);
        let room = |index, text: String| {
            Some(if index < 6 { text } else { refused(&text, -32603, "out of memory") })
        };
        queue_of(queue, is_call, room).disconnected(move |_| left.borrow_mut().clear())
    };
    "calls-limited": "More than sixty calls in a tenth of a second are refused, as MCP asks of servers." => {
        let [count, again, gone] = shared(0_u32);
        defect()
            .on_method("tools/call", move |payload, hands| {
                count.set(count.get() + 1);
                if count.get() == 1 {
                    hands.act_later(100, Act::Wake);
                }
                reply_if(count.get() > 60, payload, hands, |id| {
                    let mut refused = text_result("Too many calls, wait a second");
                    refused["isError"] = json!(true);
                    result(id, refused)
                })
            })
            .wake(move |_| again.set(0))
            .disconnected(move |_| gone.set(0))
    };
    "calls-put-off": "One call of ninety is refused: the device is busy, and asks to try again." => {
        let mut count = 0;
        defect().on_method("tools/call", move |payload, hands| {
            count += 1;
            reply_if(count % 90 == 0, payload, hands, |id| {
                let mut refused = text_result("The device is busy, try again later.");
                refused["isError"] = json!(true);
                result(id, refused)
            })
        })
    };
    "settings-locked": "Volume, brightness and theme are locked: whoever sets them is told so." => locked(0);
    "settings-locked-later": "Volume, brightness and theme are locked when they were set forty times." => locked(40);
    "sleeps": "A WebSocket connection without messages for 2.5 s is closed, and made again."
        => alone(|hands| if !hands.over_mqtt() {
            hands.act(Act::Send(Frame::Close(1000)));
        });
    "button-resets": "Somebody presses reset when there was no message for 2.5 s." => {
        let mut pressed = false;
        alone(move |hands| if !core::mem::replace(&mut pressed, true) {
            hands.act(Act::Reset(&["I (2500) Application: Rebooting..."], Reset::Software));
        })
    };
    "uneven": "Answers of all kinds are between 0 and 15 ms late, in no particular order."
        => late(|_, count| count * 7 % (LATE_MS + 1));
};

/// The settings cannot be changed once they were set so many times. Bad arguments are refused as ever.
fn locked(times: usize) -> Defect {
    const SET: [&str; 3] =
        ["self.audio_speaker.set_volume", "self.screen.set_brightness", "self.screen.set_theme"];
    let mut set = 0;
    let before = Rc::new(RefCell::new(Board::default()));
    let kept = Rc::clone(&before);
    defect().on_call(move |_, hands| kept.borrow_mut().clone_from(hands.device.board())).on_answer(
        move |cause, payload, hands| {
            if !SET.contains(&cause.tool()) || payload["result"]["isError"] != false {
                return Flow::Pass;
            }
            set += 1;
            if set > times {
                hands.device.board_mut().clone_from(&before.borrow());
                payload["result"] = text_result("Child lock: this cannot be changed.");
                payload["result"]["isError"] = json!(true);
            }
            Flow::Pass
        },
    )
}

/// What the device does when there was no message for a while.
fn alone(becomes: impl FnMut(&mut Hands) + 'static) -> Defect {
    let [latest, at] = shared(0_u64);
    let mut becomes = becomes;
    defect()
        .inbound(move |_, hands| {
            latest.set(hands.device.uptime_ms());
            hands.act_later(ALONE_MS, Act::Wake);
            Flow::Pass
        })
        .wake(move |hands| {
            if hands.device.uptime_ms().saturating_sub(at.get()) >= ALONE_MS {
                becomes(hands);
            }
        })
}

/// The same envelope with the error of a server that has too much to do, which is its own to define (JSON-RPC 2.0,
/// section 5.1).
fn refused(text: &str, code: i32, message: &str) -> String {
    let mut envelope: Value = serde_json::from_str(text).unwrap_or_default();
    envelope["payload"] = error(&envelope["payload"]["id"], code, message);
    envelope.to_string()
}

/// Delays answers by milliseconds that follow from whether the request runs a tool, and from the number of the
/// answer.
fn late(delay: fn(bool, u64) -> u64) -> Defect {
    let mut count = 0;
    defect().on_answer_text(move |cause, text, hands| {
        count += 1;
        let delay = delay(cause.method() == "tools/call", count);
        if delay > 0 {
            hands.send_later(delay, core::mem::take(text));
        }
        drop_if(delay > 0)
    })
}
