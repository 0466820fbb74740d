//! Answers that each carry the id of the request before: the first of them is one too many for its id, those that follow
//! seem to be late, and the last request gets none.

use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::{Role, What};
use mcp_hil_core::wire::Frame;

use super::log::{CaseLog, Logged};
use super::pending::Open;
use super::unmatched::Unmatched;

/// The ends of such a row of answers.
#[derive(Debug)]
pub(super) struct Shifted {
    /// The request that the first of them, the unmatched one, was about.
    pub(super) first: Open,
    /// The answer that was the last one's.
    pub(super) answer: u64,
    /// Where the request stands in `left` that has no answer for this reason.
    pub(super) last: usize,
}

/// The row of answers that begins with this one, whose id was answered before.
///
/// It came while one request was waiting. That one was answered only when the device was long done with it, and again
/// while one other request was waiting; and so on, to one that is without an answer.
pub(super) fn row(unmatched: &Unmatched, left: &[Open], log: &CaseLog) -> Option<Shifted> {
    unmatched.earlier.as_ref()?;
    let mut answer = unmatched.seq;
    let mut first: Option<Open> = None;
    loop {
        let asked = only_waiting(answer, log)?;
        let seq = asked.entry.seq;
        if let Some(last) = left.iter().position(|open| open.seq == seq) {
            return first.map(|first| Shifted { first, answer, last });
        }
        if first.is_none() && Duty::of(asked.entry.frame()?).owes != Owes::Answer {
            return None;
        }
        let own = log.answered_at(seq)?;
        let done = log.done_with(asked.entry.step.as_deref()?, true)?;
        if done > own || own <= answer {
            return None;
        }
        first = first.or_else(|| opened(asked));
        answer = own;
    }
}

/// The request that was waiting for its answer when this one came, if it was the only one.
fn only_waiting(answer: u64, log: &CaseLog) -> Option<&Logged> {
    let is_waiting = |logged: &&Logged| {
        let What::Sent { role: Role::Stimulus, frame } = &logged.entry.what else { return false };
        let (seq, duty) = (logged.entry.seq, Duty::of(frame));
        // One that may be refused in silence may be answered as well.
        seq < answer
            && log.answered_at(seq).is_none_or(|at| at > answer)
            && duty.id.is_some()
            && !matches!(duty.owes, Owes::Silence(_))
    };
    let mut waiting = log.entries.iter().filter(is_waiting);
    waiting.next().filter(|_| waiting.next().is_none())
}

/// A request as it was before it was answered.
fn opened(asked: &Logged) -> Option<Open> {
    let frame = asked.entry.frame()?;
    let Frame::Text(text) = frame else { return None };
    Some(Open {
        seq: asked.entry.seq,
        at_us: asked.entry.at_us,
        case: asked.entry.case.clone(),
        step: asked.entry.step.clone(),
        link: 0,
        duty: Duty::of(frame),
        text: text.as_str().into(),
        in_line: false,
    })
}
