//! Defects that have nothing to do with what was asked: crashes, resets, floods, lost connections.

use reference_device::Device;
use serde_json::json;

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Request};
use crate::platform::{Frame, LinkOptions};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "panic-at-quote",
        "A quote in the name of a tool crashes the device.",
        || instead_of(|request, _| request.tool().contains('"'), Act::Panic),
    ),
    mutant(
        "panic-at-unknown-method",
        "An unknown method crashes the device.",
        || {
            instead_of(
                |request, _| {
                    !["", "initialize", "ping", "tools/list", "tools/call"]
                        .contains(&request.method())
                },
                Act::Panic,
            )
        },
    ),
    mutant(
        "panic-at-error",
        "The first error answer is written to a freed buffer.",
        || {
            let mut done = false;
            Defect::default().on_answer_text(move |_, text, hands| {
                if !text.contains("\"error\":") || core::mem::replace(&mut done, true) {
                    return Flow::Pass;
                }
                hands.act(Act::Panic);
                Flow::Drop
            })
        },
    ),
    mutant(
        "panic-at-volume-zero",
        "set_volume 0 divides by zero.",
        || {
            instead_of(
                |request, _| {
                    request.tool() == "self.audio_speaker.set_volume"
                        && request.argument("volume") == &json!(0)
                },
                Act::Panic,
            )
        },
    ),
    mutant(
        "abort-line",
        "An assertion fails in another task when a tool is called for the first time.",
        || {
            print_once(
                "assert failed: xQueueGenericSend queue.c:937 (pxQueue->pcHead != ((void *)0))",
            )
        },
    ),
    mutant(
        "silent-reset",
        "The device restarts at the thirtieth request without telling why.",
        || {
            let mut count = 0;
            Defect::default().on_answer_text(move |_, _, hands| {
                count += 1;
                if count != 30 {
                    return Flow::Pass;
                }
                hands.act(Act::Restart);
                Flow::Drop
            })
        },
    ),
    mutant(
        "reset-at-redial",
        "The device restarts whenever its connection is lost.",
        || Defect::default().disconnected(|hands| hands.act(Act::Restart)),
    ),
    mutant(
        "brownout-line",
        "The brown-out detector speaks when the speaker is loudest.",
        || {
            print_at(
                |request| {
                    request.tool() == "self.audio_speaker.set_volume"
                        && request.argument("volume") == &json!(100)
                },
                "Brownout detector was triggered",
            )
        },
    ),
    mutant(
        "brownout-at-first-call",
        "The brown-out detector speaks at the first call.",
        || print_once("Brownout detector was triggered"),
    ),
    mutant(
        "watchdog-line",
        "The task watchdog complains at the first call.",
        || {
            print_once(
                "E (10417) task_wdt: Task watchdog got triggered. The following tasks/users did not reset the watchdog in time:",
            )
        },
    ),
    mutant(
        "drop-at-unknown-tool",
        "A call of an unknown tool ends the connection.",
        || {
            instead_of(
                |request, device| {
                    !request.tool().is_empty() && device.registry().find(request.tool()).is_none()
                },
                Act::Disconnect,
            )
        },
    ),
    mutant(
        "drop-after-error",
        "The first error on a connection is answered, then the connection ends.",
        || {
            let mut done = false;
            Defect::default().on_answer_text(move |_, text, hands| {
                if text.contains("\"error\":") && !core::mem::replace(&mut done, true) {
                    hands.act_later(2, Act::Disconnect);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "drop-at-fortieth",
        "The connection ends at the fortieth answer.",
        || {
            let mut count = 0;
            Defect::default().on_answer_text(move |_, _, hands| {
                count += 1;
                if count == 40 {
                    hands.act_later(1, Act::Disconnect);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "exit-at-error",
        "The device dies at the first error.",
        || {
            Defect::default().on_answer_text(|_, text, hands| {
                if text.contains("\"error\":") {
                    hands.act(Act::Exit);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "flood-of-audio",
        "The first call lets loose 60000 audio frames.",
        || {
            let mut done = false;
            Defect::default().on_answer_text(move |cause, _, hands| {
                if !cause.tool().is_empty() && !core::mem::replace(&mut done, true) {
                    for _ in 0..60_000 {
                        hands.act(Act::Send(Frame::Binary(vec![0x58; 8])));
                    }
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "flood-of-notifications",
        "The first call lets loose 30000 notifications.",
        || {
            let mut done = false;
            Defect::default().on_answer_text(move |cause, _, hands| {
                if !cause.tool().is_empty() && !core::mem::replace(&mut done, true) {
                    let text = hands.envelope(&json!({
                        "jsonrpc": "2.0",
                        "method": "notifications/state_changed",
                        "params": {"newState": "listening", "oldState": "listening"},
                    }));
                    for _ in 0..30_000 {
                        hands.send(text.clone());
                    }
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "frame-too-large",
        "The error about an unknown method is 6 MiB.",
        || {
            Defect::default().on_error(|cause, error| {
                if !["initialize", "tools/list", "tools/call"].contains(&cause.method()) {
                    error["message"] = json!("x".repeat(6 << 20));
                }
            })
        },
    ),
    mutant("frame-enormous", "The first list answer is 16 MiB.", || {
        let mut done = false;
        Defect::default().on_result("tools/list", move |_, result| {
            if !core::mem::replace(&mut done, true) {
                result["_padding"] = json!("x".repeat(16 << 20));
            }
        })
    }),
    mutant("pong-missing", "WebSocket pings are not answered.", || {
        Defect::default().link(LinkOptions {
            drop_pongs: true,
            ..LinkOptions::default()
        })
    }),
];

/// Does something instead of handling such a request.
fn instead_of(is_such: fn(&Request, &Device) -> bool, act: Act) -> Defect {
    Defect::default().inbound(move |inbound, hands| {
        if !is_such(&Request::read(&inbound.text), hands.device) {
            return Flow::Pass;
        }
        hands.act(act.clone());
        Flow::Drop
    })
}

/// Prints a line whenever such a request is answered.
fn print_at(is_such: fn(&Request) -> bool, line: &'static str) -> Defect {
    Defect::default().on_answer_text(move |cause, _, hands| {
        if is_such(cause) {
            hands.act(Act::Print(line));
        }
        Flow::Pass
    })
}

/// Prints a line when the first call is answered.
fn print_once(line: &'static str) -> Defect {
    let mut done = false;
    Defect::default().on_answer_text(move |cause, _, hands| {
        if !cause.tool().is_empty() && !core::mem::replace(&mut done, true) {
            hands.act(Act::Print(line));
        }
        Flow::Pass
    })
}
