//! Judgement on requests that were given up: ignored by a living device, or lost with a dead one.

use super::log::{CaseLog, Logged};
use super::sink::Sink;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{self, StepKind};
use mcp_hil_core::transcript::{Mark, What};
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::Frame;

/// Judges all requests of the case that went unanswered.
pub(crate) fn judge(log: &CaseLog, sink: &mut Sink) {
    swallowed(log, sink);
    for logged in &log.entries {
        let What::Mark { mark: Mark::NoAnswer { waited_ms } } = &logged.entry.what else {
            continue;
        };
        let Some(step) = logged.entry.step.as_deref() else {
            continue;
        };
        // A fence that is lost says nothing by itself: the message before it is judged, and `swallowed`.
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

/// How often the request behind a message must be lost in a case before that is the device's doing: a bench
/// may lose one.
const SWALLOWED: usize = 2;

/// Judges good requests that never got an answer though the same request was answered when it was sent again:
/// the message before them took them with it.
fn swallowed(log: &CaseLog, sink: &mut Sink) {
    let lost = |logged: &Logged| {
        let What::Mark { mark: Mark::NoAnswer { .. } } = &logged.entry.what else {
            return None;
        };
        let fence = logged.entry.step.clone()?;
        let (step, kind) = step::parts(&fence);
        let again = step::beside(step, StepKind::FenceAgain);
        (kind == Some(StepKind::Fence) && !log.answered(&fence) && log.answered(&again))
            .then_some(fence)
    };
    let lost: Vec<_> = log.entries.iter().filter_map(lost).collect();
    if lost.len() < SWALLOWED {
        return;
    }
    let Some(sent) = log.sent(&lost[0]) else { return };
    let before = log.sent_text(step::parts(&lost[0]).0).unwrap_or_default();
    let evidence = Evidence {
        expected: "an answer to each of these requests".into(),
        received: format!(
            "none to {} of them, each the first one behind another message, such as {before}; \
             sent again, each was answered",
            lost.len()
        ),
        sent: log.sent_text(&lost[0]),
        seq: Some(sent.entry.seq),
    };
    let outcome = Outcome::Broken(Box::new(evidence));
    sink.add(Id::JsonrpcAnswerRequired, sink.case.clone(), Some(lost[0].clone()), outcome);
}
