//! The same answers at other times.

use super::{Variant, variant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};

/// How late an answer may come here, in milliseconds.
const LATE_MS: u64 = 15;

pub(super) const VARIANTS: &[Variant] = &[
    variant("slow", "Every answer comes 15 ms late.", || {
        late(|_, _| LATE_MS)
    }),
    variant(
        "calls-late",
        "Calls are answered after what came behind them, as by stock firmware.",
        || late(|cause, _| if executed(cause) { 2 } else { 0 }),
    ),
    variant(
        "calls-overtake",
        "Calls overtake each other, as in versions that have a thread for each.",
        || {
            late(|cause, count| match (executed(cause), count % 3) {
                (false, _) => 0,
                (true, 0) => LATE_MS,
                (true, _) => 3,
            })
        },
    ),
    variant(
        "uneven",
        "Answers of all kinds come between 0 and 15 ms late, in no order.",
        || late(|_, count| count * 7 % (LATE_MS + 1)),
    ),
];

/// Whether a request runs a tool.
fn executed(cause: &Request) -> bool {
    cause.method() == "tools/call"
}

/// Delays answers by milliseconds that follow from the request and the number of the answer.
fn late(delay: fn(&Request, u64) -> u64) -> Defect {
    let mut count = 0;
    Defect::default().on_answer_text(move |cause, text, hands| {
        count += 1;
        match delay(cause, count) {
            0 => Flow::Pass,
            delay => {
                hands.send_later(delay, core::mem::take(text));
                Flow::Drop
            }
        }
    })
}
