//! Defects that have nothing to do with what was asked: crashes, resets, floods, lost connections.

use alloc::rc::Rc;
use core::cell::Cell;

use reference_device::Device;
use serde_json::json;

use super::{Mutant, mutant};
use crate::console::{self, Reset};
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
        || at_answer(30, Act::Restart),
    ),
    mutant(
        "silent-reset-late",
        "The device restarts at the eight hundredth request without telling why.",
        || at_answer(800, Act::Restart),
    ),
    mutant(
        "late-panic",
        "A name with a character beyond U+FFFF spoils the heap: forty answers later the device crashes.",
        || late(has_astral, 40, Act::Panic),
    ),
    mutant(
        "late-exit",
        "A member with a name of 500 bytes or more that nobody reads spoils the heap: forty-eight answers later the device dies.",
        || late(|request| request.longest_name() >= 500, 48, Act::Exit),
    ),
    mutant(
        "memory-leak",
        "Each refused request leaks 256 bytes, and the heartbeat shows it.",
        || {
            heartbeat(|text, leaked, _| {
                if text.contains("\"error\":") || text.contains("\"isError\":true") {
                    leaked + 256
                } else {
                    leaked
                }
            })
        },
    ),
    mutant(
        "reset-at-redial",
        "The device restarts whenever its connection is lost.",
        || Defect::default().disconnected(|hands| hands.act(Act::Restart)),
    ),
    mutant(
        "watchdog-reset",
        "The device turns interrupts off at the thirtieth request, and a watchdog resets it.",
        || at_answer(30, Act::Reset(&[], Reset::Watchdog)),
    ),
    mutant(
        "interrupt-watchdog",
        "The device turns interrupts off at the thirtieth request, and panics.",
        || {
            at_answer(
                30,
                Act::Reset(&console::INTERRUPT_WATCHDOG, Reset::Software),
            )
        },
    ),
    mutant(
        "reset-unseen",
        "The device restarts at the thirtieth request, and nothing shows it but the clock of its log.",
        reset_unseen,
    ),
    mutant(
        "stack-overflow",
        "A stack overflows at the thirtieth request.",
        || at_answer(30, Act::Reset(&console::STACK_OVERFLOW, Reset::Software)),
    ),
    mutant(
        "stack-protection",
        "A stack overflows at the thirtieth request on a chip that watches it.",
        || at_answer(30, Act::Reset(&console::STACK_PROTECTION, Reset::Software)),
    ),
    mutant(
        "stack-canary",
        "A stack overflows into its canary in another task when a tool is called for the first time.",
        || {
            print_once(
                "Guru Meditation Error: Core  1 panic'ed (Unhandled debug exception). Debug exception reason: Stack canary watchpoint triggered (audio_input)",
            )
        },
    ),
    mutant(
        "error-check-at-set-volume",
        "set_volume aborts when the settings cannot be stored.",
        || {
            instead_of(
                |request, _| request.tool() == "self.audio_speaker.set_volume",
                Act::Reset(&console::ERROR_CHECK, Reset::Software),
            )
        },
    ),
    mutant(
        "brownout-reset",
        "The supply breaks down at the thirtieth request.",
        || at_answer(30, Act::Reset(&console::BROWN_OUT, Reset::BrownOut)),
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
                "E (417) task_wdt: Task watchdog got triggered. The following tasks/users did not reset the watchdog in time:",
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

/// Does something instead of giving the answer of this number, once.
fn at_answer(number: usize, act: Act) -> Defect {
    let mut count = 0;
    Defect::default().on_answer_text(move |_, _, hands| {
        count += 1;
        if count != number {
            return Flow::Pass;
        }
        hands.act(act.clone());
        Flow::Drop
    })
}

/// A console whose reader misses what the ROM prints and the start of the application. The device has
/// been up for a minute before it restarts.
fn reset_unseen() -> Defect {
    let restarted = Rc::new(Cell::new(false));
    let is_new = Rc::clone(&restarted);
    let mut count = 0;
    Defect::default()
        .console(move |line| {
            if is_new.get() {
                return match line.contains("main_task: ") {
                    true => Flow::Drop,
                    false => Flow::Pass,
                };
            }
            let boots = ["cpu_start: ", "app_init: ", "main_task: "];
            if !boots.iter().any(|tag| line.contains(tag))
                && let Some((level, rest)) = line.split_once(" (")
                && let Some((uptime, rest)) = rest.split_once(')')
                && let Ok(uptime) = uptime.parse::<u64>()
            {
                *line = format!("{level} ({}){rest}", uptime + 60_000);
            }
            Flow::Pass
        })
        .on_answer_text(move |_, _, hands| {
            count += 1;
            if count != 30 {
                return Flow::Pass;
            }
            restarted.set(true);
            hands.act(Act::Reset(&[], Reset::Unseen));
            Flow::Drop
        })
}

/// Does something instead of the answer that comes so many after such a request.
fn late(is_such: fn(&Request) -> bool, answers: usize, act: Act) -> Defect {
    let spoiled = Rc::new(Cell::new(None));
    let left = Rc::clone(&spoiled);
    Defect::default()
        .inbound(move |inbound, _| {
            if spoiled.get().is_none() && is_such(&Request::read(&inbound.text)) {
                spoiled.set(Some(answers));
            }
            Flow::Pass
        })
        .on_answer_text(move |_, _, hands| {
            left.set(match left.get() {
                Some(0) => None,
                Some(answers) => Some(answers - 1),
                None => return Flow::Pass,
            });
            if left.get().is_some() {
                return Flow::Pass;
            }
            hands.act(act.clone());
            Flow::Drop
        })
}

fn has_astral(request: &Request) -> bool {
    [request.method(), request.tool()]
        .iter()
        .any(|name| name.chars().any(|c| c > '\u{ffff}'))
}

/// Tells of its memory at every tenth answer, and does not wait ten seconds for it. What an answer takes
/// of it is told: of its text, what was taken before, and the number of the answer.
pub(crate) fn heartbeat(takes: fn(&str, u64, u64) -> u64) -> Defect {
    let (mut count, mut taken) = (0, 0);
    let own = |line: &mut String| match line.contains(" SystemInfo: ") {
        true => Flow::Drop,
        false => Flow::Pass,
    };
    Defect::default()
        .console(own)
        .on_answer_text(move |_, text, hands| {
            count += 1;
            taken = takes(text, taken, count);
            if count % 10 == 0 {
                let free = 142_331_u64.saturating_sub(taken);
                hands.act(Act::Print(format!(
                    "I ({}) SystemInfo: free sram: {free} minimal sram: {}",
                    hands.device.uptime_ms(),
                    free.min(121_004)
                )));
            }
            Flow::Pass
        })
}

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
            hands.act(Act::Print(line.into()));
        }
        Flow::Pass
    })
}

/// Prints a line when the first call is answered.
fn print_once(line: &'static str) -> Defect {
    let mut done = false;
    Defect::default().on_answer_text(move |cause, _, hands| {
        if !cause.tool().is_empty() && !core::mem::replace(&mut done, true) {
            hands.act(Act::Print(line.into()));
        }
        Flow::Pass
    })
}
