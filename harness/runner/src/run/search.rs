//! The failure that an input is made smaller for, and one try to show it again.

use std::collections::BTreeSet;
use std::time::Instant;

use mcp_hil_core::catalogue::RequirementId;
use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Outcome};
use mcp_hil_judge::check::FailureSignature;
use mcp_hil_scenario::Case;

use super::dut_run::DutRun;
use super::property_run::PropertyCase;
use super::session::Session;

/// From which state of the device a try begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartFrom {
    /// A fresh session, with the settings that it had.
    Session,
    /// The same after a fresh start, where the harness can start it.
    Start,
}

/// What a try has shown.
pub(super) enum Tried {
    /// The failure.
    Shown,
    /// Something else, in words.
    Other(String),
    /// Nothing: there was no try, and why.
    Not(&'static str),
}

/// The failure that is looked for, and how far the tries may go.
#[derive(Clone)]
pub(super) struct Search {
    pub(super) wanted: FailureSignature,
    /// What may be broken beside it: what broke with the input that was found, or the first time it was
    /// tried again.
    pub(super) beside: BTreeSet<RequirementId>,
    /// Whether what is tried is still the input that was found, so that all it breaks belongs to it.
    pub(super) is_whole: bool,
    /// What was read where the failure showed last, if it is a reading.
    pub(super) read: Option<String>,
    /// Whether steps are left out, on which a reading may rest: only the same one is the same failure.
    pub(super) leaves_out: bool,
    /// From which state each try begins.
    pub(super) from: StartFrom,
    pub(super) steps: u32,
    pub(super) most: u32,
    pub(super) until: Instant,
}

impl DutRun<'_, '_> {
    /// Whether a case shows the failure that is searched for.
    pub(super) async fn shows(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        case: &Case,
    ) -> bool {
        search.steps += 1;
        let tried = self.try_again(session, property_case, search, case).await;
        matches!(tried, Tried::Shown)
    }

    /// Carries an input out from a known state.
    pub(super) async fn try_again(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        case: &Case,
    ) -> Tried {
        if session.is_interrupted() {
            return Tried::Not("the run was stopped");
        }
        if !self.affords(case) {
            return Tried::Not("the budget was used up");
        }
        let part = Part::Trial;
        let from = Some((search.from, &property_case.saved));
        let outcome = self.part(session, part, case, from).await;
        let own = |judgement: &&Judgement| {
            *judgement.case == *property_case.property.id
                && !matches!(judgement.outcome, Outcome::Held)
        };
        let found: Vec<Judgement> = outcome.judgements.iter().filter(own).cloned().collect();
        let failing = self.failing(&outcome, property_case.property.id);
        property_case.merged.add(part, outcome);
        let shown = found.iter().find(|judgement| search.wanted.is_of(judgement));
        let Some(read) = shown.map(reading) else {
            return Tried::Other(in_words(&found));
        };
        if !search.allows(&failing) || (search.leaves_out && read != search.read) {
            return Tried::Other(in_words(&found));
        }
        search.read = read;
        Tried::Shown
    }
}

impl Search {
    /// Whether a try that shows the failure shows nothing that the input did not. A step that is missing
    /// may leave an expectation behind that nothing prepares any more, and the device is not to blame for
    /// that. What a device that ends takes with it is chance.
    fn allows(&mut self, failing: &[Judgement]) -> bool {
        let broken = failing.iter().filter(|one| {
            matches!(one.outcome, Outcome::Broken(_)) && !one.requirement.is_liveness()
        });
        let mut requirements = broken.map(|one| one.requirement);
        if std::mem::take(&mut self.is_whole) {
            self.beside.extend(requirements);
            return true;
        }
        self.wanted.requirement.is_liveness() || requirements.all(|one| self.beside.contains(&one))
    }

    pub(super) fn reached(&self) -> Option<&'static str> {
        if self.steps >= self.most {
            Some("the limit of 60 steps was reached")
        } else if Instant::now() >= self.until {
            Some("its time was used up")
        } else {
            None
        }
    }
}

/// What was read in the place of what was expected, where it is a part of an answer.
fn reading(judgement: &Judgement) -> Option<String> {
    let (_, received) = expected_and_received(judgement);
    let (value, _) = received.split_once(", in {")?;
    Some(value.to_owned())
}

/// What findings say, in one line.
pub(super) fn in_words(found: &[Judgement]) -> String {
    if found.is_empty() {
        return "nothing was found".to_owned();
    }
    let each = found.iter().map(|judgement| {
        let (expected, received) = expected_and_received(judgement);
        let requirement = judgement.requirement;
        format!("{requirement}: expected {expected}, received {received}")
    });
    each.collect::<Vec<_>>().join("; ")
}

pub(super) fn expected_and_received(judgement: &Judgement) -> (String, String) {
    match &judgement.outcome {
        Outcome::Broken(evidence) | Outcome::Bench(evidence) => {
            (evidence.expected.clone(), evidence.received.clone())
        }
        Outcome::Unclear(why) | Outcome::OurFault(why) => ("an answer".into(), why.clone()),
        Outcome::Held => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::RequirementId as Id;

    #[test]
    fn a_smaller_input_breaks_nothing_that_the_whole_one_did_not() {
        let judgement = |requirement, outcome| Judgement {
            requirement,
            case: "properties/state".into(),
            step: None,
            outcome,
        };
        let broken = |requirement| judgement(requirement, Outcome::Broken(Box::default()));
        let unclear = |requirement| judgement(requirement, Outcome::Unclear(String::new()));
        let search = |wanted: Id| Search {
            wanted: FailureSignature::of(&broken(wanted)),
            beside: BTreeSet::from([wanted]),
            is_whole: true,
            read: None,
            leaves_out: false,
            from: StartFrom::Session,
            steps: 0,
            most: 1,
            until: Instant::now(),
        };
        let mut theme = search(Id::CallSuccess);
        // What the input breaks when it is tried again belongs to it.
        assert!(theme.allows(&[broken(Id::CallSuccess), broken(Id::VolumeMute)]));
        assert!(theme.allows(&[broken(Id::CallSuccess)]));
        assert!(theme.allows(&[broken(Id::VolumeMute), broken(Id::LivenessLinkKept)]));
        assert!(theme.allows(&[broken(Id::CallSuccess), unclear(Id::VolumeSet)]));
        assert!(!theme.allows(&[broken(Id::CallSuccess), broken(Id::VolumeSet)]));
        // The end of a device spoils what comes after it.
        let mut panic = search(Id::LivenessNoPanic);
        assert!(panic.allows(&[broken(Id::LivenessNoPanic)]));
        assert!(panic.allows(&[broken(Id::LivenessNoPanic), broken(Id::VolumeSet)]));
    }
}
