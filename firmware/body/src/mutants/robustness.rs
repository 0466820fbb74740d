//! Defects that wait for hostile input.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow};
use crate::platform::LinkOptions;
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "garbage-hangs",
        "Text that is no JSON stops the message loop.",
        || text(is_no_json, Act::Hang),
    ),
    mutant(
        "garbage-panics",
        "Text that is no JSON reads a null pointer.",
        || text(is_no_json, Act::Panic),
    ),
    mutant(
        "garbage-disconnects",
        "Text that is no JSON ends the connection.",
        || text(is_no_json, Act::Disconnect),
    ),
    mutant(
        "empty-text-panics",
        "An empty text frame reads before its buffer.",
        || text(|text| text.trim().is_empty(), Act::Panic),
    ),
    mutant(
        "trailing-text-executed",
        "A second message in a text frame reads a freed buffer.",
        || text(|text| is_no_json(text) && text.contains("}{"), Act::Panic),
    ),
    mutant(
        "truncated-text-hangs",
        "A message that breaks off is waited for until its end comes.",
        || {
            text(
                |text| text.starts_with('{') && is_no_json(text) && !text.ends_with('}'),
                Act::Hang,
            )
        },
    ),
    mutant(
        "deep-nesting-panics",
        "Deep nesting overflows the stack of the network task.",
        || text(|text| depth(text) > 40, Act::Panic),
    ),
    mutant(
        "deep-nesting-hangs",
        "Deep nesting keeps the parser busy for good.",
        || text(|text| depth(text) > 40, Act::Hang),
    ),
    mutant(
        "long-string-hangs",
        "A message above 32 kB stops the message loop.",
        || text(|text| text.len() > 32 << 10 && depth(text) < 40, Act::Hang),
    ),
    mutant(
        "long-string-panics",
        "A message above 32 kB is copied to the stack.",
        || text(|text| text.len() > 32 << 10 && depth(text) < 40, Act::Panic),
    ),
    mutant(
        "binary-short-panics",
        "A binary frame of less than 16 bytes is read beyond its end.",
        || {
            Defect::default().binary(|frame, hands| {
                if frame.len() < 16 {
                    hands.act(Act::Panic);
                }
            })
        },
    ),
    mutant(
        "binary-hangs",
        "A binary frame that is no sound stops the message loop.",
        || Defect::default().binary(|_, hands| hands.act(Act::Hang)),
    ),
    mutant(
        "number-exponent-panics",
        "A number with a large exponent raises a floating-point exception.",
        || {
            text(
                |text| {
                    ["e999", "E999", "e+999", "e308", "e309", "e400"]
                        .iter()
                        .any(|exponent| text.contains(exponent))
                },
                Act::Panic,
            )
        },
    ),
    mutant(
        "number-digits-hang",
        "A number of more than 30 digits is converted in an endless loop.",
        || text(|text| digits_in_a_row(text) > 30, Act::Hang),
    ),
    mutant(
        "surrogate-panics",
        "A lone surrogate escape is decoded beyond the end of the string.",
        || text(has_surrogate, Act::Panic),
    ),
    mutant(
        "surrogate-hangs",
        "A lone surrogate escape waits for its other half.",
        || text(has_surrogate, Act::Hang),
    ),
    mutant(
        "nul-panics",
        "A NUL escape ends a string before its buffer does.",
        || text(|text| text.contains("\\u0000"), Act::Panic),
    ),
    mutant(
        "non-bmp-hangs",
        "A character beyond the basic plane stops the message loop.",
        || {
            text(
                |text| text.chars().any(|character| character > '\u{FFFF}'),
                Act::Hang,
            )
        },
    ),
    mutant("batch-panics", "A batch is read as an object.", || {
        batch(Some(Act::Panic))
    }),
    mutant("batch-hangs", "A batch stops the message loop.", || {
        batch(Some(Act::Hang))
    }),
    mutant(
        "burst-overflow",
        "Of requests back to back those beyond the sixteenth are lost.",
        || queue(|index| index < 16),
    ),
    mutant(
        "burst-every-twentieth-lost",
        "Of requests back to back every twentieth is lost.",
        || queue(|index| index % 20 != 19),
    ),
    mutant(
        "burst-panics",
        "More than 24 requests back to back exhaust the memory.",
        || {
            let waiting = Rc::new(Cell::new(0_u32));
            let count = Rc::clone(&waiting);
            Defect::default()
                .on_answer_text(move |_, _, hands| {
                    if waiting.get() == 0 {
                        hands.act_later(QUEUE_MS, Act::Wake);
                    }
                    waiting.set(waiting.get() + 1);
                    if waiting.get() > 24 {
                        waiting.set(0);
                        hands.act(Act::Panic);
                        return Flow::Drop;
                    }
                    Flow::Pass
                })
                .wake(move |_| count.set(0))
        },
    ),
    mutant(
        "fragments-dropped",
        "A message in several WebSocket fragments is dropped.",
        || fragments(|inbound| inbound.clear()),
    ),
    mutant(
        "fragments-first-only",
        "Of a message in several WebSocket fragments only the beginning is read.",
        || {
            fragments(|inbound| {
                let half = (0..=inbound.len() / 2)
                    .rev()
                    .find(|at| inbound.is_char_boundary(*at))
                    .unwrap_or(0);
                inbound.truncate(half);
            })
        },
    ),
    mutant(
        "fragments-panic",
        "A message in several WebSocket fragments overruns a buffer.",
        || {
            Defect::default()
                .link(LinkOptions {
                    watch_fragments: true,
                    ..LinkOptions::default()
                })
                .inbound(|inbound, hands| {
                    if !inbound.fragmented {
                        return Flow::Pass;
                    }
                    hands.act(Act::Panic);
                    Flow::Drop
                })
        },
    ),
];

/// Does something instead of reading such a text.
fn text(is_such: fn(&str) -> bool, act: Act) -> Defect {
    Defect::default().inbound(move |inbound, hands| {
        if !is_such(&inbound.text) {
            return Flow::Pass;
        }
        hands.act(act.clone());
        Flow::Drop
    })
}

fn batch(act: Option<Act>) -> Defect {
    Defect::default().on_envelope(move |envelope, hands| {
        if envelope.get("type") != Some(&json!("mcp"))
            || !envelope.get("payload").is_some_and(Value::is_array)
        {
            return Flow::Pass;
        }
        if let Some(act) = act.clone() {
            hands.act(act);
        }
        Flow::Drop
    })
}

/// How long answers wait in the queue before it is emptied.
const QUEUE_MS: u64 = 6;

/// Answers pass a queue; `is_kept` tells which places in it are good.
fn queue(is_kept: fn(usize) -> bool) -> Defect {
    let queue = Rc::new(RefCell::new(Vec::<String>::new()));
    let out = Rc::clone(&queue);
    Defect::default()
        .on_answer_text(move |_, text, hands| {
            let mut queue = queue.borrow_mut();
            if queue.is_empty() {
                hands.act_later(QUEUE_MS, Act::Wake);
            }
            queue.push(core::mem::take(text));
            Flow::Drop
        })
        .wake(move |hands| {
            let waiting = core::mem::take(&mut *out.borrow_mut());
            for (_, text) in waiting
                .into_iter()
                .enumerate()
                .filter(|(index, _)| is_kept(*index))
            {
                hands.send(text);
            }
        })
}

/// Spoils the text of messages that came in fragments.
fn fragments(spoil: fn(&mut String)) -> Defect {
    Defect::default()
        .link(LinkOptions {
            watch_fragments: true,
            ..LinkOptions::default()
        })
        .inbound(move |inbound, _| {
            if inbound.fragmented {
                spoil(&mut inbound.text);
            }
            Flow::Pass
        })
}

/// Text that does not even look like JSON to a lenient parser. Nesting, surrogates and numbers
/// that the device's parser refuses have mutants of their own.
fn is_no_json(text: &str) -> bool {
    depth(text) < 40
        && serde_json::from_str::<Value>(text).is_err_and(|error| {
            let message = error.to_string();
            !message.contains("out of range")
                && !message.contains("surrogate")
                && !message.contains("hex escape")
        })
}

/// Deepest nesting of brackets, those in strings included: hostile text is not parsed twice.
fn depth(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn digits_in_a_row(text: &str) -> usize {
    text.split(|character: char| !character.is_ascii_digit())
        .map(str::len)
        .max()
        .unwrap_or(0)
}

fn has_surrogate(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let lone = |text: &str| serde_json::from_str::<Value>(text).is_err();
    [
        "\\ud8", "\\ud9", "\\uda", "\\udb", "\\udc", "\\udd", "\\ude", "\\udf",
    ]
    .iter()
    .any(|half| lower.contains(half))
        && lone(text)
}
