//! Judgement on requests that were given up: ignored by a living device, or lost with a dead one.

use super::log::CaseLog;
use super::sink::Sink;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{self, StepKind};
use mcp_hil_core::transcript::{Mark, What};
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::Frame;

/// Judges all requests of the case that went unanswered.
pub(crate) fn judge(log: &CaseLog, sink: &mut Sink) {
    for logged in &log.entries {
        let What::Mark { mark: Mark::NoAnswer { waited_ms } } = &logged.entry.what else {
            continue;
        };
        let Some(step) = logged.entry.step.as_deref() else {
            continue;
        };
        // A fence that is lost says nothing by itself: the message before it is judged.
        if step::parts(step).1.is_some_and(StepKind::is_fence) {
            continue;
        }
        let Some(sent) = log.sent(step) else { continue };
        if log.answered(step) {
            continue;
        }
        let Some(Frame::Text(text)) = sent.entry.frame() else {
            continue;
        };
        if Duty::of(&Frame::Text(text.clone())).owes != Owes::Answer {
            continue;
        }
        let alive =
            log.fenced(step) || (!log.has_fence(step) && log.answered_after(logged.entry.seq));
        let outcome = if alive {
            Outcome::Broken(Box::new(Evidence {
                expected: "an answer".into(),
                // The time to that one would read like a limit.
                received: "none, though a later request was answered".into(),
                sent: Some(text.clone()),
                seq: Some(sent.entry.seq),
            }))
        } else {
            Outcome::Unclear(format!("no answer within {waited_ms} ms, and none to the fence"))
        };
        sink.add(Id::JsonrpcAnswerRequired, sink.case.clone(), Some(step.into()), outcome);
    }
}
