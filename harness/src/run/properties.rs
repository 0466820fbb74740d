//! Properties: inputs are generated, carried out and judged one by one, and what fails is followed.
//!
//! All inputs of a property are one case with one transcript. Each begins with a mark that holds it
//! as a scenario, so that a replay judges it again; tries on the way to a smaller input are marked
//! too, and count for nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::check::{CaseOutcome, Likeness, Merged, in_order};
use mcp_hil_core::generate::{Draw, Ground, Property};
use mcp_hil_core::scenario::{Case, write};
use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Verdict};

use super::lane::{Confirm, DEAD_CASES, Lane, STOPPED, micros};
use super::session::{Exchange, Session};
use super::settings::{Settings, effects};
use super::shrink::exchanges;
use crate::event::Generated;

/// How many failures of one property are enough: what comes then has most likely been seen.
const MOST_FAILURES: usize = 3;

/// How many exchanges back a failure may have its cause.
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
    /// The device's settings as they were before.
    pub(super) saved: Settings,
    /// The latest inputs.
    pub(super) recent: VecDeque<Case>,
}

impl Hunt<'_> {
    /// Whether a finding belongs to a failure that is told already.
    pub(super) fn knows(&self, judgement: &Judgement) -> bool {
        self.likenesses
            .iter()
            .flatten()
            .any(|known| known.is_of(judgement))
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

    fn remember(&mut self, case: Case) {
        self.recent.push_back(case);
        while self.recent.iter().map(exchanges).sum::<usize>() > REMEMBERED_EXCHANGES {
            self.recent.pop_front();
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
            self.property(session, property, &ground, until).await;
        }
    }

    async fn property(
        &mut self,
        session: &mut Session,
        property: &'static Property,
        ground: &Ground,
        until: Instant,
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
        self.confirmed = 0;
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
            saved: Settings::default(),
            recent: VecDeque::new(),
        };
        self.around(session, &mut hunt, true).await;
        for number in 0..self.plan.generation.inputs {
            if let Some(why) = self.why_no_more(session, &hunt, number, until) {
                hunt.told.ended = Some(why);
                break;
            }
            self.input(session, &mut hunt, number).await;
        }
        let stopped = session.is_interrupted();
        if !stopped {
            self.around(session, &mut hunt, false).await;
        }
        report.took_us = micros(began);
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
    fn why_no_more(
        &self,
        session: &Session,
        hunt: &Hunt<'_>,
        number: u32,
        until: Instant,
    ) -> Option<String> {
        if session.is_interrupted() {
            Some(STOPPED.into())
        } else if hunt.likenesses.len() >= MOST_FAILURES {
            Some(format!("{MOST_FAILURES} failures were found"))
        } else if self.dead >= DEAD_CASES {
            Some("the device could not be reached any more".into())
        } else if number > 0 && Instant::now() >= until {
            Some("its share of `--max-time` was over".into())
        } else {
            None
        }
    }

    /// Generates an input, carries it out, and follows what fails.
    async fn input(&mut self, session: &mut Session, hunt: &mut Hunt<'_>, number: u32) {
        let draw = Draw::new(hunt.property, hunt.ground, self.plan.seed, number);
        let (case, count) = (draw.case(), draw.exchanges());
        if !self.affords(&case) {
            hunt.told.ended = Some("inputs beyond `--budget` were left out".into());
            return;
        }
        let outcome = self.part(session, Part::Input, &case, None).await;
        hunt.told.inputs += 1;
        hunt.told.exchanges += count;
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
                let draw = Draw::new(hunt.property, hunt.ground, self.plan.seed, number);
                self.follow(session, hunt, draw, judgement, number).await;
            }
        }
        hunt.remember(case);
    }

    /// Carries out one part of a generated case: from where the device is, or from a known state.
    pub(super) async fn part(
        &mut self,
        session: &mut Session,
        part: Part,
        case: &Case,
        saved: Option<&Settings>,
    ) -> CaseOutcome {
        session.begin_part(part, write(case, &[]));
        if let Some(saved) = saved {
            self.known_state(session, saved).await;
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
    async fn known_state(&mut self, session: &mut Session, saved: &Settings) {
        if session.link.is_some() && self.dialing.is_quick(session) {
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
        let ruling = self.plan.ruling();
        let fails = |judgement: &&Judgement| {
            *judgement.case == *case
                && ruling
                    .finding(judgement, false)
                    .is_some_and(|finding| finding.verdict == Verdict::Fail && !finding.known)
        };
        outcome.judgements.iter().filter(fails).cloned().collect()
    }
}
