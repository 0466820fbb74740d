//! Answers that belong to no request that waits for one, and whom they are charged to.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::log::{CaseLog, Logged};
use super::pending::{Open, Settled};
use super::sink::evidence;
use super::{Judge, answer, shifted};
use mcp_hil_core::conversation::FIRST_ID;
use mcp_hil_core::obligation::{EXACT_IN_DOUBLE, Owes};
use mcp_hil_core::step;
use mcp_hil_core::transcript::What;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::narrows_to;
use mcp_hil_scenario::{Action, Case, Step, area};

/// An answer that could not be attributed when it came.
#[derive(Debug)]
pub(super) struct Unmatched {
    pub(super) seq: u64,
    pub(super) at_us: u64,
    pub(super) id: Value,
    /// Number of the link on which it came.
    pub(super) link: u64,
    /// Whether it has the member `id` at all: null is one.
    pub(super) has_id: bool,
    pub(super) is_error: bool,
    pub(super) text: String,
    /// The request that had this id and was answered before.
    pub(super) earlier: Option<Settled>,
}

impl Unmatched {
    /// Whether the id is one of those that the harness gives.
    fn is_numbered(&self) -> bool {
        self.id.as_u64().is_some_and(|id| id >= FIRST_ID)
    }

    /// Whether it is an error about what has no id that can be used.
    fn refuses(&self) -> bool {
        self.id.is_null() && self.is_error
    }

    /// Its id, for people.
    pub(super) fn shown_id(&self) -> String {
        match self.has_id {
            true => format!("id {}", self.id),
            false => "no id".to_owned(),
        }
    }
}

impl Judge {
    /// Settles the answers that belonged to nobody when they came.
    ///
    /// A message of this case that is without an answer may have been answered under another id.
    /// Else an id that was answered before was answered twice. An error with id null may answer a
    /// malformed message. What is left was not asked for.
    pub(super) fn pair_strays(&mut self, case: Option<&Case>) {
        if self.unmatched.is_empty() {
            return;
        }
        let hard = case.map(hard_steps).unwrap_or_default();
        let is_robustness = area(&self.sink.case) == "robustness";
        let mut left = self.left_without_answer();
        if !is_robustness {
            self.pair_refused_one_by_one(&mut left, &hard);
        }
        self.pair_shifted(&mut left);
        for unmatched in std::mem::take(&mut self.unmatched) {
            let refuses = unmatched.refuses();
            // An error with id null belongs to a request or to what has no usable id; anything
            // else first of all to a good request that is missing its answer. Of several, the
            // latest is meant.
            let before = || (0..left.len()).filter(|at| left[*at].seq < unmatched.seq);
            // What had been given up, or was shown to be dropped, when something was sent that is no
            // good request is not what an answer belongs to that came after both.
            let odd = |at: &usize| left[*at].duty.owes != Owes::Answer;
            let latest_odd = before().filter(odd).map(|at| left[at].seq).max();
            let rank = |open: &Open| rank(&self.log, open, &unmatched, latest_odd);
            // What an id becomes in a number that is too small for it, or in few digits, tells whose it was.
            let is_cut = |at: &usize| is_cut(left[*at].duty.id.as_ref(), &unmatched.id);
            let cut = before().filter(is_cut).max_by_key(|at| left[*at].seq);
            if let Some(at) = cut {
                let open = left.remove(at);
                self.wrong_id(&unmatched, &open);
                continue;
            }
            // Who cannot give an id back may say null instead: that is more likely meant than a request that can be named.
            let is_named = |open: &Open| !(refuses && is_large(open.duty.id.as_ref()));
            // Who answers a notification may say which.
            let is_quoted =
                |open: &Open| refuses && open.is_note() && open.is_quoted_in(&unmatched.text);
            let order =
                |open: &Open| (!is_quoted(open), rank(open), is_named(open), Reverse(open.seq));
            let asked = before().min_by_key(|at| order(&left[*at]));
            // A parser may refuse what it cannot take, and then cannot know that it was no request.
            let is_hard = |open: Option<&Open>| match open {
                Some(open) => open.step.as_deref().is_some_and(|step| hard.contains(step)),
                None => !hard.is_empty(),
            };
            let hostile = refuses && (is_robustness || is_hard(asked.map(|at| &left[at])));
            let asked = asked.filter(|at| {
                !refuses || rank(&left[*at]) == 0 || !hostile || is_quoted(&left[*at])
            });
            let when = (unmatched.seq, unmatched.at_us);
            match asked.map(|at| left.remove(at)) {
                Some(open) if refuses && is_malformed(&open) => {
                    self.judge_id_member(&unmatched, &open, &left);
                    self.refusals.answered(open.seq, unmatched.seq);
                    self.log.refused_without_id(open.seq);
                }
                None if hostile || refuses && self.refusals.excuse(when) => {}
                Some(open) if refuses && rank(&open) > 0 && self.refusals.excuse(when) => {
                    left.push(open);
                }
                // An id that the harness gave to another request is no invention of the device.
                Some(open)
                    if unmatched.earlier.is_some()
                        && unmatched.is_numbered()
                        && rank(&open) > 0
                        && !is_rounded(&unmatched.id, open.duty.id.as_ref()) =>
                {
                    left.push(open);
                    self.unasked(unmatched);
                }
                Some(open) => self.wrong_id(&unmatched, &open),
                None => self.unasked(unmatched),
            }
        }
    }

    /// Judges an error about a request whose id cannot be used: it says so by the id null.
    fn judge_id_member(&mut self, unmatched: &Unmatched, open: &Open, left: &[Open]) {
        // Who answers a notification has no id for that, and is told of it elsewhere.
        let is_note = |one: &Open| one.duty.id.is_none() && one.seq < unmatched.seq;
        let may_answer_a_note = !unmatched.has_id && left.iter().any(is_note);
        if open.duty.id.is_none() || may_answer_a_note || self.claims.may_leave_out_ids() {
            return;
        }
        let home = std::mem::replace(&mut self.sink.step, open.step.clone());
        self.sink.test_once(Id::JsonrpcIdMember, unmatched.has_id, || Evidence {
            sent: Some(open.text.to_string()),
            ..evidence("an answer with the member `id`", unmatched.text.clone(), unmatched.seq)
        });
        self.sink.step = home;
    }

    /// What was sent in this case and is without an answer, in the order of sending.
    fn left_without_answer(&self) -> Vec<Open> {
        let sent = |logged: &&Logged| matches!(&logged.entry.what, What::Sent { .. });
        let sent = self.log.entries.iter().filter(sent);
        sent.filter_map(|logged| self.pending.unanswered(logged.entry.seq).cloned()).collect()
    }

    /// Settles answers with which the ids began to be those of the request before: that is one thing, and
    /// not an answer too many, some that are late and one that is missing.
    fn pair_shifted(&mut self, left: &mut Vec<Open>) {
        for unmatched in std::mem::take(&mut self.unmatched) {
            let Some(row) = shifted::row(&unmatched, left, &self.log) else {
                self.unmatched.push(unmatched);
                continue;
            };
            self.wrong_id(&unmatched, &row.first);
            let last = left.remove(row.last);
            if let Some(id) = &last.duty.id {
                self.pending.answered(id);
            }
            self.log.answered_under_wrong_id(row.answer, last.seq);
        }
    }

    /// Settles errors with id null that came behind one message each that owes silence, before the
    /// fence of that message was answered: two of them in one case are no late refusals of
    /// something else.
    fn pair_refused_one_by_one(&mut self, left: &mut Vec<Open>, hard: &BTreeSet<Arc<str>>) {
        let refused = |open: &Open| {
            let step = open.step.as_ref().filter(|step| !hard.contains(*step))?;
            let done = self.log.done_with(step, true)?;
            let within = |one: &&Unmatched| {
                one.id.is_null() && one.is_error && (open.seq..done).contains(&one.seq)
            };
            let mut refusals = self.unmatched.iter().filter(within);
            refusals.next().filter(|_| refusals.next().is_none()).map(|one| (one.seq, open.seq))
        };
        let silent = left.iter().filter(|open| matches!(open.duty.owes, Owes::Silence(_)));
        let pairs: Vec<_> = silent.filter_map(refused).collect();
        if pairs.len() < 2 {
            return;
        }
        for (refusal, asked) in pairs {
            let refusal = self.unmatched.extract_if(.., |one| one.seq == refusal).next();
            let open = left.extract_if(.., |open| open.seq == asked).next();
            if let Some((refusal, open)) = refusal.zip(open) {
                self.wrong_id(&refusal, &open);
            }
        }
    }

    fn wrong_id(&mut self, unmatched: &Unmatched, open: &Open) {
        answer::judge_wrong_id(unmatched, open, &mut self.sink);
        if let Some(id) = &open.duty.id {
            self.pending.answered(id);
        }
        // The step counts as answered now, if in a wrong way: its other faults follow from this.
        self.log.answered_under_wrong_id(unmatched.seq, open.seq);
    }

    fn unasked(&mut self, unmatched: Unmatched) {
        let here = (self.sink.case.clone(), None);
        let (requirement, expected, (case, step)) = match unmatched.earlier {
            Some(earlier)
                if earlier.link != self.link.number()
                    && self.link.transport() == Transport::WebSocket =>
            {
                (Id::SessionNoStaleAnswer, "no answer of an earlier session", here)
            }
            Some(Settled { case, step, .. }) => {
                (Id::JsonrpcOneAnswer, "one answer to a request", (case, step))
            }
            None => (Id::JsonrpcNoUnsolicitedAnswer, "no answer without a request", here),
        };
        let proof = evidence(expected, unmatched.text, unmatched.seq);
        self.sink.add(requirement, case, step, Outcome::Broken(Box::new(proof)));
    }
}

/// How unlikely it is that an answer belongs to this message, of those that are without one.
fn rank(log: &CaseLog, open: &Open, unmatched: &Unmatched, latest_odd: Option<u64>) -> u8 {
    let is_past = |fences: bool| {
        let done = open.step.as_deref().and_then(|step| log.done_with(step, fences));
        done.zip(latest_odd).is_some_and(|(done, odd)| done < odd)
    };
    let refuses = unmatched.refuses();
    match open.duty.owes {
        // What refuses says nothing of a connection that has ended.
        _ if refuses && open.link != unmatched.link => 3,
        Owes::Answer if is_past(false) => 3,
        Owes::Answer => 0,
        Owes::NoSuccess(_) | Owes::Nothing if refuses => 0,
        Owes::NoSuccess(_) | Owes::Nothing if is_past(true) => 3,
        Owes::NoSuccess(_) | Owes::Nothing => 1,
        Owes::Silence(_) => 2,
    }
}

/// Whether an id is another one above 2^53 as a float shows it, with 15 digits or more.
fn is_rounded(id: &Value, asked: Option<&Value>) -> bool {
    let (Some(id), Some(asked)) = (id.as_f64(), asked.and_then(Value::as_f64)) else {
        return false;
    };
    asked.abs() >= EXACT_IN_DOUBLE as f64 && (id - asked).abs() <= asked.abs() * 1e-14
}

/// Whether a message may be no request to the device.
fn is_malformed(open: &Open) -> bool {
    matches!(open.duty.owes, Owes::NoSuccess(_) | Owes::Nothing)
}

/// Whether an id came as what is left of one in a number that is too small for it, or in few digits.
fn is_cut(asked: Option<&Value>, id: &Value) -> bool {
    asked.is_some_and(|asked| narrows_to(asked, id)) || is_rounded(id, asked)
}

/// Whether an id is beyond what a double holds exactly.
fn is_large(id: Option<&Value>) -> bool {
    id.and_then(Value::as_f64).is_some_and(|id| id.abs() >= EXACT_IN_DOUBLE as f64)
}

/// The steps whose messages a parser may find too hard: all that is asked is to survive them. So it
/// is in `robustness/`, and in generated inputs, which may have such messages among others.
fn hard_steps(case: &Case) -> BTreeSet<Arc<str>> {
    let is_hard = |step: &Step| {
        let mut expect = step.expect.iter();
        expect.any(|expect| expect.requirement.area() == "robustness")
    };
    let mut steps = BTreeSet::new();
    for flat in case.flatten() {
        if let Action::Burst(inner) = &flat.step.action {
            let hard = inner.iter().enumerate().filter(|(_, step)| is_hard(step));
            steps.extend(hard.map(|(index, _)| step::message(&flat.at, index)));
        } else if is_hard(flat.step) {
            steps.insert(flat.at);
        }
    }
    steps
}
