//! Answers that belong to no request that waits for one, and whom they are charged to.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::ledger::{Open, Settled};
use super::log::{Logged, side};
use super::sink::evidence;
use super::{Judge, answer};
use crate::conversation::FIRST_ID;
use crate::obligation::Owes;
use crate::scenario::{Action, Case, Step};
use crate::transcript::What;
use crate::verdict::Outcome;

/// An answer that could not be attributed when it came.
#[derive(Debug)]
pub(super) struct Stray {
    pub(super) seq: u64,
    pub(super) at_us: u64,
    pub(super) id: Value,
    pub(super) is_error: bool,
    pub(super) text: String,
    /// The request that had this id and was answered before.
    pub(super) earlier: Option<Settled>,
}

impl Stray {
    /// Whether the id is one of those that the harness gives.
    fn is_numbered(&self) -> bool {
        self.id.as_u64().is_some_and(|id| id >= FIRST_ID)
    }
}

impl Judge {
    /// Settles the answers that belonged to nobody when they came.
    ///
    /// A message of this case that is without an answer may have been answered under another id.
    /// Else an id that was answered before was answered twice. An error with id null may answer a
    /// malformed message. What is left was not asked for.
    pub(super) fn pair_strays(&mut self, case: Option<&Case>) {
        if self.strays.is_empty() {
            return;
        }
        let hard = case.map(hard_steps).unwrap_or_default();
        let area = self.sink.case.starts_with("robustness/");
        let sent = |logged: &&Logged| matches!(&logged.entry.what, What::Sent { .. });
        let mut left: Vec<Open> = self
            .log
            .entries
            .iter()
            .filter(sent)
            .filter_map(|logged| self.ledger.unanswered(logged.entry.seq).cloned())
            .collect();
        for stray in std::mem::take(&mut self.strays) {
            let refuses = stray.id.is_null() && stray.is_error;
            // An error with id null belongs to a request or to what has no usable id; anything
            // else first of all to a good request that is missing its answer. Of several, the
            // latest is meant.
            let rank = |open: &Open| match open.duty.owes {
                Owes::Answer => 0,
                Owes::NoSuccess(_) | Owes::Nothing => usize::from(!refuses),
                Owes::Silence(_) => 2,
            };
            let asked = (0..left.len())
                .filter(|at| left[*at].seq < stray.seq)
                .min_by_key(|at| (rank(&left[*at]), Reverse(left[*at].seq)));
            // A parser may refuse what it cannot take, and then cannot know that it was no request.
            let is_hard = |open: Option<&Open>| match open {
                Some(open) => open.step.as_deref().is_some_and(|step| hard.contains(step)),
                None => !hard.is_empty(),
            };
            let hostile = refuses && (area || is_hard(asked.map(|at| &left[at])));
            let asked = asked.filter(|at| !refuses || rank(&left[*at]) == 0 || !hostile);
            let open = asked.map(|at| left.remove(at));
            let malformed =
                |open: &Open| matches!(open.duty.owes, Owes::NoSuccess(_) | Owes::Nothing);
            match open {
                Some(open) if refuses && malformed(&open) => self.refusals.answered(open.seq),
                None if hostile || refuses && self.refusals.excuse(stray.at_us) => {}
                Some(open) if refuses && rank(&open) > 0 && self.refusals.excuse(stray.at_us) => {
                    left.push(open);
                }
                // An id that the harness gave to another request is no invention of the device.
                Some(open) if stray.earlier.is_some() && stray.is_numbered() && rank(&open) > 0 => {
                    left.push(open);
                    self.unasked(stray);
                }
                Some(open) => self.wrong_id(&stray, &open),
                None => self.unasked(stray),
            }
        }
    }

    fn wrong_id(&mut self, stray: &Stray, open: &Open) {
        answer::judge_wrong_id(stray, open, &mut self.sink);
        if let Some(id) = &open.duty.id {
            self.ledger.answered(id);
        }
        // The step counts as answered now, if in a wrong way: its other faults follow from this.
        self.log.answered_under_wrong_id(stray.seq, open.seq);
    }

    fn unasked(&mut self, stray: Stray) {
        let here = (self.sink.case.clone(), None);
        let (requirement, expected, (case, step)) = match stray.earlier {
            Some(earlier) if earlier.link != self.link.number() => (
                "session.no-stale-answer",
                "no answer of an earlier session",
                here,
            ),
            Some(Settled { case, step, .. }) => (
                "jsonrpc.one-answer",
                "one answer to a request",
                (case, step),
            ),
            None => (
                "jsonrpc.no-unsolicited-answer",
                "no answer without a request",
                here,
            ),
        };
        let proof = evidence(expected, stray.text, stray.seq);
        self.sink
            .add(requirement, case, step, Outcome::Broken(Box::new(proof)));
    }
}

/// The steps whose messages a parser may find too hard: all that is asked is to survive them. So it
/// is in `robustness/`, and in generated inputs, which may have such messages among others.
fn hard_steps(case: &Case) -> BTreeSet<Arc<str>> {
    let is_hard = |step: &Step| {
        let mut expect = step.expect.iter();
        expect.any(|expect| expect.requirement.starts_with("robustness."))
    };
    let mut steps = BTreeSet::new();
    for flat in case.flatten() {
        if let Action::Burst(inner) = &flat.step.action {
            let hard = inner.iter().enumerate().filter(|(_, step)| is_hard(step));
            steps.extend(hard.map(|(index, _)| side(&flat.at, &index.to_string())));
        } else if is_hard(flat.step) {
            steps.insert(flat.at);
        }
    }
    steps
}
