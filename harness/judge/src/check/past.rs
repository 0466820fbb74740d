//! Cases that ended while messages of theirs were unanswered: an answer that comes after all revises what
//! was said about them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::attempt;
use super::control::Controls;
use super::log::{CaseLog, Logged};
use super::sink::Sink;
use mcp_hil_core::capability::Facts;
use mcp_hil_core::verdict::Judgement;
use mcp_hil_scenario::Case;

/// How many such cases are remembered.
const REMEMBERED: usize = 32;

/// The cases of a session that lack answers, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pasts(VecDeque<Past>);

/// A case that has ended.
#[derive(Debug)]
struct Past {
    id: Arc<str>,
    case: Option<Case>,
    log: CaseLog,
    first: Option<CaseLog>,
    facts: Facts,
    /// What was said about its steps.
    told: Vec<Judgement>,
}

/// What a late answer changes.
#[derive(Debug, Default)]
pub(super) struct Revision {
    /// What was said, and does not hold.
    pub(super) withdrawn: Vec<Judgement>,
    /// What is to be said instead.
    pub(super) found: Vec<Judgement>,
}

impl Pasts {
    /// Remembers a case, if an answer may still change what is said about it.
    pub(super) fn remember(
        &mut self,
        id: &Arc<str>,
        case: Option<&Case>,
        (log, first): (&CaseLog, Option<&CaseLog>),
        facts: &Facts,
        controls: &mut Controls,
    ) {
        let told = judged(id, case, (log, first), facts, controls);
        let lacks = |judgement: &Judgement| {
            let step = judgement.step.as_deref();
            step.is_some_and(|step| log.sent(step).is_some() && !log.answered(step))
        };
        if !told.iter().any(lacks) {
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Past {
            id: id.clone(),
            case: case.cloned(),
            log: log.clone(),
            first: first.cloned(),
            facts: facts.clone(),
            told,
        });
    }

    /// Forgets what no answer can come to any more: its connection is gone.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets a case that is carried out again from its beginning.
    pub(super) fn forget(&mut self, case: &Arc<str>) {
        self.0.retain(|past| past.id != *case);
    }

    /// Takes a late answer to a message of one of the cases, and judges the case again.
    pub(super) fn answered(
        &mut self,
        asked: u64,
        answer: &Logged,
        controls: &mut Controls,
    ) -> Revision {
        let mut pasts = self.0.iter_mut();
        let Some(past) = pasts.find(|past| past.log.holds(asked)) else {
            return Revision::default();
        };
        past.log.push(answer.clone());
        let logs = (&past.log, past.first.as_ref());
        let found = judged(&past.id, past.case.as_ref(), logs, &past.facts, controls);
        let without = |all: &[Judgement], others: &[Judgement]| -> Vec<Judgement> {
            let left = all.iter().filter(|one| !others.contains(one));
            left.cloned().collect()
        };
        let revision =
            Revision { withdrawn: without(&past.told, &found), found: without(&found, &past.told) };
        past.told = found;
        revision
    }
}

/// What the steps of a case come to.
fn judged(
    id: &Arc<str>,
    case: Option<&Case>,
    logs: (&CaseLog, Option<&CaseLog>),
    facts: &Facts,
    controls: &mut Controls,
) -> Vec<Judgement> {
    let mut sink = Sink { case: id.clone(), ..Sink::default() };
    attempt::judge(case, logs, facts, controls, &mut sink);
    sink.found
}
