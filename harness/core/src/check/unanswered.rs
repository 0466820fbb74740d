//! Judgement on requests that were given up: ignored by a living device, or lost with a dead one.

use super::ledger::Ledger;
use super::log::{CaseLog, side};
use super::sink::Sink;
use crate::obligation::Owes;
use crate::transcript::{Mark, What};
use crate::verdict::{Evidence, Outcome};

/// Judges all requests of the case that went unanswered.
pub(crate) fn judge(log: &CaseLog, ledger: &Ledger, sink: &mut Sink) {
    for logged in &log.entries {
        let What::Mark {
            mark: Mark::NoAnswer { waited_ms },
        } = &logged.entry.what
        else {
            continue;
        };
        let Some(step) = logged.entry.step.as_deref() else {
            continue;
        };
        // A fence that is lost says nothing by itself: the message before it is judged.
        if step.ends_with(".fence") {
            continue;
        }
        let Some(sent) = log.sent(step) else { continue };
        if log.answered(step) {
            continue;
        }
        let Some(open) = ledger.unanswered(sent.entry.seq) else {
            continue;
        };
        if open.duty.owes != Owes::Answer {
            continue;
        }
        let fence = side(step, "fence");
        let alive = log.answered(&fence)
            || (log.sent(&fence).is_none() && log.answered_after(logged.entry.seq));
        let outcome = if alive {
            Outcome::Broken(Box::new(Evidence {
                expected: "an answer".into(),
                received: format!(
                    "none within {waited_ms} ms, though a later request was answered"
                ),
                sent: Some(open.text.to_string()),
                seq: Some(sent.entry.seq),
            }))
        } else {
            Outcome::Unclear(format!(
                "no answer within {waited_ms} ms, and none to the fence"
            ))
        };
        sink.add(
            "jsonrpc.answer-required",
            sink.case.clone(),
            Some(step.into()),
            outcome,
        );
    }
}
