//! What the steps of a case come to, also where it was tried twice because the device fell silent in the
//! first attempt.

use super::control::Controls;
use super::log::CaseLog;
use super::sink::Sink;
use super::{expectation, unanswered};
use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_scenario::Case;

/// Judges the requests of a case that were given up, its own expectations, and its first attempt.
pub(super) fn judge(
    case: Option<&Case>,
    (log, first): (&CaseLog, Option<&CaseLog>),
    facts: &Facts,
    controls: &mut Controls,
    sink: &mut Sink,
) {
    unanswered::judge(log, sink);
    if let Some(case) = case {
        expectation::judge(case, log, facts, controls, sink);
        if let Some(first) = first {
            confirm(case, (log, first), facts, controls, sink);
        }
    }
}

/// What stayed unclear in both attempts at a case is the device's doing: the second one was made on a
/// freshly started device.
fn confirm(
    case: &Case,
    (log, first): (&CaseLog, &CaseLog),
    facts: &Facts,
    controls: &mut Controls,
    sink: &mut Sink,
) {
    let mut before = Sink { case: sink.case.clone(), ..Sink::default() };
    unanswered::judge(first, &mut before);
    expectation::judge(case, first, facts, controls, &mut before);
    let mut silent = None;
    for judgement in &mut sink.found {
        let unclear_before = before.found.iter().any(|earlier| {
            earlier.requirement == judgement.requirement
                && of_messages(earlier.step.as_deref()) == of_messages(judgement.step.as_deref())
                && matches!(earlier.outcome, Outcome::Unclear(_))
        });
        if let Outcome::Unclear(why) = &judgement.outcome
            && unclear_before
        {
            let received = format!("{why}; the same again on a freshly started device");
            let evidence = Evidence {
                expected: "the device keeps answering".into(),
                received,
                sent: judgement.step.as_deref().and_then(|step| log.sent_text(step)),
                seq: None,
            };
            silent.get_or_insert_with(|| (judgement.step.clone(), evidence.clone()));
            judgement.outcome = Outcome::Broken(Box::new(evidence));
        }
    }
    // Whatever the message was to show, and whether that is a MUST: the device fell silent on it.
    if let Some((step, evidence)) = silent {
        let case = sink.case.clone();
        let outcome = Outcome::Broken(Box::new(evidence));
        sink.add(Id::LivenessAnswers, case, step, outcome);
    }
    let still: Vec<Id> = sink.found.iter().map(|judgement| judgement.requirement).collect();
    for judgement in before.found {
        // What was broken before stays broken. Silence shows nothing once the second attempt has shown
        // what the first one could not.
        let is_shown = log.has_stimulus() && matches!(judgement.outcome, Outcome::Unclear(_));
        let told = still.contains(&judgement.requirement);
        if !told && !is_shown && !matches!(judgement.outcome, Outcome::Held) {
            sink.found.push(judgement);
        }
    }
}

/// The step that sent a message, where it sends many: at which of them a device falls silent may differ.
fn of_messages(name: Option<&str>) -> Option<&str> {
    let is_number = |end: &str| end.bytes().all(|byte| byte.is_ascii_digit());
    name.map(|name| name.rsplit_once('.').filter(|(_, end)| is_number(end)).map_or(name, |it| it.0))
}
