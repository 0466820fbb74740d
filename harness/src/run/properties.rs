//! Properties: inputs are generated, carried out and judged one by one, and what fails is followed.
//!
//! All inputs of a property are one case with one transcript. Each begins with a mark that holds it
//! as a scenario, so that a replay judges it again; tries on the way to a smaller input are marked
//! too, and count for nothing.

use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::check::{CaseOutcome, Likeness, Merged, in_order};
use mcp_hil_core::generate::{Draw, Ground, Property, good_requests};
use mcp_hil_core::scenario::{Case, write};
use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Verdict};

use super::lane::{CONFIRMATIONS, Confirm, DEAD_CASES, Lane, STOPPED, micros};
use super::report::Ruling;
use super::search::From;
use super::session::{Exchange, Session};
use super::settings::{Settings, effects};
use super::smaller::exchanges;
use crate::event::Generated;

/// How many failures of one property are enough: what comes then has most likely been seen.
const MOST_FAILURES: usize = 3;

/// How many inputs of one property may leave requests unanswered for a reason that is told: each costs a
/// long wait.
const MOST_SILENT: usize = 5;

/// How many silent inputs of one property are tried once more, on a device that was started afresh.
const CONFIRMED: usize = 2;

/// How many exchanges back a failure may have its cause, in another property, too.
const REMEMBERED_EXCHANGES: usize = 50;

/// The search for failures of one property.
pub(super) struct Hunt<'a> {
    pub(super) property: &'static Property,
    pub(super) ground: &'a Ground,
    /// What its parts come to.
    pub(super) merged: Merged,
    /// What is told of its inputs.
    pub(super) told: Generated,
    /// What tells each failure that is told from others.
    pub(super) likenesses: Vec<Vec<Likeness>>,
    /// The same for what was told of other properties, where that is no news.
    pub(super) elsewhere: Vec<Likeness>,
    /// How many of its inputs left requests unanswered, and showed nothing new.
    pub(super) silent: usize,
    /// The device's settings as they were before.
    pub(super) saved: Settings,
    /// When its share of the time is over.
    pub(super) until: Instant,
}

impl Hunt<'_> {
    /// Whether a finding belongs to a failure that is told already.
    pub(super) fn knows(&self, judgement: &Judgement) -> bool {
        let known = self.likenesses.iter().flatten();
        let mut known = known.chain(&self.elsewhere);
        known.any(|known| known.is_of(judgement))
    }

    /// Takes a finding for a part of a failure that is told, when that shows at the same step, or
    /// ended the device's life: it has most likely the same cause.
    fn attach(&mut self, judgement: &Judgement, beside: &[Judgement]) {
        let near = |other: &&Judgement| {
            other.step == judgement.step || other.requirement.starts_with("liveness.")
        };
        let of = |known: &Vec<Likeness>| {
            let mut near = beside.iter().filter(near);
            near.any(|other| known.iter().any(|known| known.is_of(other)))
        };
        if let Some(at) = self.likenesses.iter().position(of) {
            self.likenesses[at].push(Likeness::of(judgement));
            let requirements = &mut self.told.failures[at].requirements;
            let slug = judgement.requirement.to_owned();
            if !requirements.contains(&slug) {
                requirements.push(slug);
            }
        }
    }
}

impl Lane<'_, '_> {
    /// Runs the properties of the plan, each within its share of the time.
    pub(super) async fn properties(&mut self, session: &mut Session) {
        let generation = &self.plan.generation;
        let permission = self.plan.dut.permission();
        let ground = Ground::new(&session.facts, &session.tools, &permission);
        let began = Instant::now();
        let number = u32::try_from(generation.properties.len()).unwrap_or(u32::MAX);
        for (at, property) in (1..).zip(&generation.properties) {
            if session.is_interrupted() {
                return;
            }
            let until = began + generation.max_time * at / number;
            let is_last = at == number;
            self.property(session, property, &ground, until, is_last)
                .await;
        }
    }

    async fn property(
        &mut self,
        session: &mut Session,
        property: &'static Property,
        ground: &Ground,
        until: Instant,
        is_last: bool,
    ) {
        let report = self.blank(property.id, property.title, None);
        let needs: Vec<String> = property.needs.iter().map(|need| (*need).into()).collect();
        let Some(mut report) = self.applies(session, &needs, report) else {
            return;
        };
        let began = Instant::now();
        let id: Arc<str> = property.id.into();
        session.begin_case(&id);
        self.since_look += 1;
        self.confirmed = CONFIRMATIONS - CONFIRMED;
        let mut hunt = Hunt {
            property,
            ground,
            merged: Merged::new(&id),
            told: Generated {
                missing: property
                    .missing(ground)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
                ..Generated::default()
            },
            likenesses: Vec::new(),
            elsewhere: match property.is_mixed {
                true => self.told.clone(),
                false => Vec::new(),
            },
            silent: 0,
            saved: Settings::default(),
            until,
        };
        self.around(session, &mut hunt, true).await;
        for number in 0..self.plan.generation.inputs {
            if let Some(why) = self.why_no_more(session, &hunt, number) {
                hunt.told.ended = Some(why);
                break;
            }
            self.input(session, &mut hunt, number).await;
        }
        if is_last && hunt.told.inputs > 0 && self.why_no_more(session, &hunt, 1).is_none() {
            self.aftermath(session, &mut hunt).await;
        }
        let stopped = session.is_interrupted();
        if !stopped {
            self.around(session, &mut hunt, false).await;
        }
        report.took_us = micros(began);
        self.told.extend(hunt.likenesses.into_iter().flatten());
        let Hunt { merged, told, .. } = hunt;
        if told.inputs == 0 && !stopped && told.ended.is_some() {
            report.verdict = Verdict::NotApplicable;
            report.reason = told.ended;
            self.book.add(report, self.reporters);
            return;
        }
        report.repro = match told.failures.first() {
            Some(failure) => failure.repro.clone(),
            None => report.repro,
        };
        report.generated = Some(told);
        let mut outcome = merged.into_outcome();
        if stopped {
            outcome.not_carried_out = Some(STOPPED.into());
        }
        self.book
            .finish(report, outcome, &self.plan.ruling(), self.reporters);
    }

    /// Why no further input is carried out.
    fn why_no_more(&self, session: &Session, hunt: &Hunt<'_>, number: u32) -> Option<String> {
        if session.is_interrupted() {
            Some(STOPPED.into())
        } else if hunt.likenesses.len() >= MOST_FAILURES {
            Some(format!("{MOST_FAILURES} failures were found"))
        } else if hunt.silent >= MOST_SILENT {
            Some(format!("{MOST_SILENT} inputs were left unanswered again"))
        } else if self.dead >= DEAD_CASES {
            Some("the device could not be reached any more".into())
        } else if number > 0 && Instant::now() >= hunt.until {
            Some("its share of `--max-time` was over".into())
        } else {
            None
        }
    }

    /// Generates an input, carries it out, and follows what fails.
    async fn input(&mut self, session: &mut Session, hunt: &mut Hunt<'_>, number: u32) {
        let draw = Draw::new(hunt.property, hunt.ground, self.plan.seed, number);
        let case = draw.case();
        if !self.affords(&case) {
            hunt.told.ended = Some("inputs beyond `--budget` were left out".into());
            return;
        }
        hunt.told.inputs += 1;
        self.judged(session, hunt, Some(number), case).await;
    }

    /// Sends good requests for as long as what was sent before may have its effect. Where none of them
    /// ends the device's life, no input did.
    async fn aftermath(&mut self, session: &mut Session, hunt: &mut Hunt<'_>) {
        let case = Case {
            steps: good_requests(REMEMBERED_EXCHANGES),
            ..Draw::new(hunt.property, hunt.ground, self.plan.seed, 0).case()
        };
        self.judged(session, hunt, None, case).await;
    }

    /// Carries an input out, and follows what fails. One without a number was not drawn.
    async fn judged(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        number: Option<u32>,
        case: Case,
    ) {
        let (told, misses) = (hunt.likenesses.len(), session.conversation.misses());
        let outcome = self.part(session, Part::Input, &case, None).await;
        let is_silent = session.conversation.misses() > misses;
        hunt.told.exchanges += exchanges(&case);
        let failing = self.failing(&outcome, hunt.property.id);
        hunt.merged.add(Part::Input, outcome);
        for (known, failure) in hunt.likenesses.iter().zip(&mut hunt.told.failures) {
            let shown = |judgement| known.iter().any(|known| known.is_of(judgement));
            failure.times += u32::from(failing.iter().any(shown));
        }
        for judgement in &failing {
            if !hunt.knows(judgement) {
                hunt.attach(judgement, &failing);
            }
            let enough = hunt.likenesses.len() >= MOST_FAILURES || session.is_interrupted();
            if !enough && !hunt.knows(judgement) {
                let draw = |number| Draw::new(hunt.property, hunt.ground, self.plan.seed, number);
                let input = (number.map(draw), case.clone());
                let number = number.unwrap_or(hunt.told.inputs);
                self.follow(session, hunt, input, judgement, &failing, number)
                    .await;
            }
        }
        hunt.silent += usize::from(is_silent && hunt.likenesses.len() == told);
        self.remember(case);
    }

    /// Keeps an input for the time when something later fails, be it in another property.
    fn remember(&mut self, case: Case) {
        self.recent.push_back(case);
        let mut number: usize = self.recent.iter().map(exchanges).sum();
        while let Some(first) = self.recent.front().map(exchanges)
            && number >= REMEMBERED_EXCHANGES + first
        {
            number -= first;
            self.recent.pop_front();
        }
    }

    /// Carries out one part of a generated case: from where the device is, or from a known state.
    pub(super) async fn part(
        &mut self,
        session: &mut Session,
        part: Part,
        case: &Case,
        known: Option<(From, &Settings)>,
    ) -> CaseOutcome {
        session.begin_part(part, write(case, &[]));
        if let Some((from, saved)) = known {
            self.known_state(session, from, saved).await;
        }
        let confirm = match part {
            Part::Trial => Confirm::Never,
            Part::Input | Part::Around => Confirm::Sparingly,
            Part::Smallest => Confirm::Always,
        };
        self.spent += effects(case);
        if self.carry(session, case, confirm).await == Exchange::Interrupted {
            return CaseOutcome {
                not_carried_out: Some(STOPPED.into()),
                ..session.judge.end_case(None, &session.facts)
            };
        }
        in_order(session.judge.end_case(Some(case), &session.facts))
    }

    /// Brings the device into a known state: a fresh session where it dials again by itself, and the
    /// settings that it had. A dead one is restarted on the way.
    async fn known_state(&mut self, session: &mut Session, from: From, saved: &Settings) {
        if from == From::Start && session.target.is_running().is_some() {
            session.restart(&"start".into(), &mut self.dialing).await;
        } else if session.link.is_some() && self.dialing.is_quick(session) {
            session.drop_link("the next try wants a fresh session");
        }
        if self.ready(session, false).await == Exchange::Settled {
            self.spent += session.put_back(saved).await;
        }
    }

    /// Reads the settings before all inputs, or puts them back after them.
    async fn around(&mut self, session: &mut Session, hunt: &mut Hunt<'_>, before: bool) {
        session.begin_part(Part::Around, String::new());
        if self.ready(session, false).await == Exchange::Settled {
            if before {
                hunt.saved = session.settings(&self.plan.dut.permission()).await;
            } else {
                self.spent += session.put_back(&hunt.saved).await;
            }
        }
        session.drain_console();
        let outcome = session.judge.end_case(None, &session.facts);
        hunt.merged.add(Part::Around, outcome);
    }

    /// Whether the budget allows for the calls of a case.
    pub(super) fn affords(&self, case: &Case) -> bool {
        let budget = self.plan.generation.budget;
        budget.is_none_or(|budget| self.spent + effects(case) <= budget)
    }

    /// The findings of a case that make it fail, and are no news to nobody.
    pub(super) fn failing(&self, outcome: &CaseOutcome, case: &str) -> Vec<Judgement> {
        let ruling = Ruling {
            firmware: self.book.firmware(),
            ..self.plan.ruling()
        };
        let fails = |judgement: &&Judgement| {
            *judgement.case == *case
                && ruling
                    .finding(judgement, false)
                    .is_some_and(|finding| finding.verdict == Verdict::Fail && !finding.known)
        };
        outcome.judgements.iter().filter(fails).cloned().collect()
    }
}
