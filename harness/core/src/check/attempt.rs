//! A case that was tried twice, because the device fell silent in the first attempt.

use super::log::CaseLog;
use super::sink::Sink;
use super::{Judge, expectation, unanswered};
use crate::capability::Facts;
use crate::scenario::Case;
use crate::verdict::{Evidence, Outcome};

impl Judge {
    /// What stayed unclear in both attempts at a case is the device's doing: the second one was
    /// made on a freshly started device.
    pub(super) fn confirm(&mut self, case: &Case, first: &CaseLog, facts: &Facts) {
        let mut before = Sink {
            case: self.sink.case.clone(),
            ..Sink::default()
        };
        unanswered::judge(first, &self.ledger, &mut before);
        expectation::judge(case, first, facts, &mut before);
        for judgement in &mut self.sink.found {
            let unclear_before = before.found.iter().any(|earlier| {
                earlier.requirement == judgement.requirement
                    && earlier.step == judgement.step
                    && matches!(earlier.outcome, Outcome::Unclear(_))
            });
            if let Outcome::Unclear(why) = &judgement.outcome
                && unclear_before
            {
                let received = format!("{why}; the same again on a freshly started device");
                judgement.outcome = Outcome::Broken(Box::new(Evidence {
                    expected: "the device goes on answering".into(),
                    received,
                    sent: judgement
                        .step
                        .as_deref()
                        .and_then(|step| self.log.sent_text(step)),
                    seq: None,
                }));
            }
        }
        let still: Vec<&'static str> = self
            .sink
            .found
            .iter()
            .map(|judgement| judgement.requirement)
            .collect();
        // Silence that did not come back stays what it was: nothing was shown.
        for judgement in before.found {
            // What was broken before stays broken.
            let told = still.contains(&judgement.requirement);
            if !told && !matches!(judgement.outcome, Outcome::Held) {
                self.sink.found.push(judgement);
            }
        }
    }
}
