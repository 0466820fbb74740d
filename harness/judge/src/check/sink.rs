//! Where checks put what they found.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_hil_core::verdict::{Evidence, Judgement, Outcome};

/// Collects judgements; what holds is only counted as exercised.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) case: Arc<str>,
    pub(crate) step: Option<Arc<str>>,
    pub(crate) exercised: BTreeSet<Id>,
    pub(crate) found: Vec<Judgement>,
    /// What was told that would come with every message or connection.
    pub(crate) told: BTreeSet<Id>,
    /// What of that was told before this case.
    pub(crate) told_before: BTreeSet<Id>,
}

impl Sink {
    /// A case begins, or is carried out again.
    pub(crate) fn begin_case(&mut self, case: &Arc<str>) {
        if self.case != *case {
            self.told_before.clone_from(&self.told);
        }
        self.case = case.clone();
    }

    /// The case is carried out again from its beginning, and what it has told is in doubt.
    pub(crate) fn again(&mut self) {
        self.told.clone_from(&self.told_before);
    }

    /// Notes that a requirement was exercised and holds.
    pub(crate) fn held(&mut self, requirement: Id) {
        self.exercised.insert(requirement);
    }

    /// Judges a requirement; returns whether it holds.
    pub(crate) fn test(
        &mut self,
        requirement: Id,
        holds: bool,
        evidence: impl FnOnce() -> Evidence,
    ) -> bool {
        self.exercised.insert(requirement);
        if !holds {
            let (case, step) = (self.case.clone(), self.step.clone());
            self.add(requirement, case, step, Outcome::Broken(Box::new(evidence())));
        }
        holds
    }

    /// Judges what stays the same from one message or connection to the next: when it is broken,
    /// the first case that shows it tells.
    pub(crate) fn test_once(
        &mut self,
        requirement: Id,
        holds: bool,
        evidence: impl FnOnce() -> Evidence,
    ) {
        if holds || self.told.insert(requirement) {
            self.test(requirement, holds, evidence);
        } else {
            self.exercised.insert(requirement);
        }
    }

    /// Adds an outcome that is charged to a case and step.
    pub(crate) fn add(
        &mut self,
        requirement: Id,
        case: Arc<str>,
        step: Option<Arc<str>>,
        outcome: Outcome,
    ) {
        if case == self.case {
            self.exercised.insert(requirement);
        }
        let same = |known: &Judgement| {
            known.requirement == requirement
                && known.case == case
                && known.step == step
                && std::mem::discriminant(&known.outcome) == std::mem::discriminant(&outcome)
        };
        // One finding for one requirement and step: the first is the nearest to the cause.
        if !self.found.iter().any(same) {
            self.found.push(Judgement { requirement, case, step, outcome });
        }
    }
}

/// Evidence without a message that provoked it.
pub(crate) fn evidence(
    expected: impl Into<String>,
    received: impl Into<String>,
    seq: u64,
) -> Evidence {
    Evidence { expected: expected.into(), received: received.into(), sent: None, seq: Some(seq) }
}
