//! Properties: inputs are generated, carried out and judged one by one, and what fails is followed.
//!
//! All inputs of a property are one case with one transcript. Each begins with a mark that holds it
//! as a scenario, so that a replay judges it again; tries on the way to a smaller input are marked
//! too, and count for nothing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Verdict};
use mcp_hil_generate::{Context, Draw, PROPERTIES, Property, good_requests};
use mcp_hil_judge::check::{CaseOutcome, FailureSignature, Merged, in_order};
use mcp_hil_scenario::{Case, write};

use super::dut_run::{CONFIRMATIONS, Confirm, DEAD_CASES, DutRun, STOPPED, micros};
use super::search::StartFrom;
use super::session::{Exchange, Session};
use super::settings::{Settings, effects};
use mcp_hil_record::event::{Event, Generated, OUT_OF_BUDGET, OUT_OF_TIME};

/// How many failures of one property are enough: what comes then has most likely been seen.
const MOST_FAILURES: usize = 3;

/// How many inputs of one property may leave requests unanswered for a reason that is told: each costs a
/// long wait.
const MOST_SILENT: usize = 5;

/// How many silent inputs of one property are tried once more, on a device that was started afresh.
const CONFIRMED: usize = 2;

/// How many exchanges back a failure may have its cause, in another property, too.
const REMEMBERED_EXCHANGES: usize = 50;

/// From this time on that a device takes to answer, its properties have as much time as so many answers take one after
/// the other, and with messages in flight together.
const SLOW: Duration = Duration::from_millis(30);
const TRIPS: (u32, u32) = (600, 90);

/// Of a device that answers within this time, as a rule, more is asked where it wears nothing out.
const QUICK: Duration = Duration::from_millis(20);

/// The search for failures of one property.
pub(super) struct PropertyCase<'a> {
    pub(super) property: &'static Property,
    pub(super) context: &'a Context,
    /// What its parts come to.
    pub(super) merged: Merged,
    /// What is told of its inputs.
    pub(super) told: Generated,
    /// What tells each failure that is told from others.
    pub(super) likenesses: Vec<Vec<FailureSignature>>,
    /// The same for what was told of other properties, where that is no news.
    pub(super) elsewhere: Vec<FailureSignature>,
    /// How many of its inputs left requests unanswered, and showed nothing new.
    pub(super) silent: usize,
    /// The device's settings as they were before.
    pub(super) saved: Settings,
    /// When its share of the time is over.
    pub(super) until: Instant,
}

impl PropertyCase<'_> {
    /// Whether a finding belongs to a failure that is told already.
    pub(super) fn knows(&self, judgement: &Judgement) -> bool {
        let known = self.likenesses.iter().flatten();
        let mut known = known.chain(&self.elsewhere);
        known.any(|known| known.is_of(judgement))
    }

    /// Takes note of which kinds of values were tried at which places, and which of them broke something. What
    /// would have come after the end of the device's life was not tried.
    pub(super) fn note_places(&mut self, number: u32, failing: &[Judgement]) {
        let steps = failing.iter().filter_map(|one| one.step.as_deref());
        let broken: BTreeSet<usize> =
            steps.filter_map(|step| step.split(['.', '#']).next()?.parse().ok()).collect();
        let ended = failing.iter().any(|one| one.requirement.is_liveness());
        let last = broken.last().copied().filter(|_| ended);
        for (at, (place, kind)) in self.property.tried(number, self.context).iter().enumerate() {
            if last.is_none_or(|last| at <= last) {
                self.told.tried(place, kind, !broken.contains(&at));
            }
        }
    }

    /// Takes a finding for a part of a failure that is told, when that shows at the same step, or
    /// ended the device's life: it has most likely the same cause.
    fn attach(&mut self, judgement: &Judgement, beside: &[Judgement]) {
        let near =
            |other: &&Judgement| other.step == judgement.step || other.requirement.is_liveness();
        let of = |known: &Vec<FailureSignature>| {
            let mut near = beside.iter().filter(near);
            near.any(|other| known.iter().any(|known| known.is_of(other)))
        };
        if let Some(at) = self.likenesses.iter().position(of) {
            self.likenesses[at].push(FailureSignature::of(judgement));
            let requirements = &mut self.told.failures[at].requirements;
            let slug = judgement.requirement.to_string();
            if !requirements.contains(&slug) {
                requirements.push(slug);
            }
        }
    }
}

impl DutRun<'_, '_> {
    /// Runs the properties of the plan, each within its share of the time.
    pub(super) async fn properties(&mut self, session: &mut Session) {
        let generation = &self.plan.generation;
        let permission = self.plan.dut.permission();
        let median = session.conversation.timing().median();
        let is_quick = !session.device.silicon && median.is_some_and(|median| median < QUICK);
        let context = Context::new(&session.device.facts, &session.device.tools, &permission);
        let context = context.quick(is_quick);
        let all = self.time_of_all(session);
        let began = Instant::now();
        let number = u32::try_from(generation.properties.len()).unwrap_or(u32::MAX);
        for (at, property) in (1..).zip(&generation.properties) {
            if session.is_interrupted() || self.is_stopped() {
                return;
            }
            let index = self.plan.cases.len() + at as usize - 1;
            if !self.has_time_for(index, property.id) {
                continue;
            }
            let now = Instant::now();
            let until = share(began, all, at, number, now);
            let until = self.time_ends().map_or(until, |end| until.min(end));
            let is_last = at == number;
            self.property(session, property, &context, until, is_last).await;
            self.took(index, now);
        }
    }

    /// How long all properties may take: less on a slow device, unless somebody said how long, how many inputs, or which.
    fn time_of_all(&mut self, session: &Session) -> Duration {
        let generation = &self.plan.generation;
        let usual = session.conversation.median_latency().unwrap_or_default();
        let (alone, together) = TRIPS;
        let trips = if session.flights.are_open() { together } else { alone };
        let share = usual * trips;
        let is_chosen = generation.is_asked_for || generation.properties.len() < PROPERTIES.len();
        if is_chosen || usual < SLOW || share >= generation.max_time {
            return generation.max_time;
        }
        let text = format!(
            "the device takes about {} ms to answer: its properties get {:.0} s together and may have fewer inputs than \
             25; `--max-time 5m` gives them more",
            usual.as_millis(),
            share.as_secs_f64().max(1.0),
        );
        self.reporters.event(&Event::Notice { text });
        share
    }

    async fn property(
        &mut self,
        session: &mut Session,
        property: &'static Property,
        context: &Context,
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
        self.silence.confirmed = CONFIRMATIONS - CONFIRMED;
        let mut property_case = PropertyCase {
            property,
            context,
            merged: Merged::new(&id),
            told: Generated {
                missing: property.missing(context).into_iter().map(str::to_owned).collect(),
                ..Generated::default()
            },
            likenesses: Vec::new(),
            elsewhere: match property.is_mixed {
                true => self.properties.told.clone(),
                false => Vec::new(),
            },
            silent: 0,
            saved: Settings::default(),
            until,
        };
        self.around(session, &mut property_case, true).await;
        self.inputs(session, &mut property_case).await;
        if is_last
            && property_case.told.inputs > 0
            && self.why_no_more(session, &property_case, 1).is_none()
        {
            self.aftermath(session, &mut property_case).await;
        }
        let stopped = session.is_interrupted();
        if !stopped {
            self.around(session, &mut property_case, false).await;
        }
        report.took_us = micros(began);
        // What was taken back is no failure: its answer came late.
        let tells =
            |known: &Vec<FailureSignature>| known.iter().any(|one| property_case.merged.tells(one));
        let told = property_case.likenesses.iter().map(tells);
        let mut told: VecDeque<bool> = told.collect();
        property_case.told.failures.retain(|_| told.pop_front().unwrap_or(true));
        self.properties.told.extend(property_case.likenesses.into_iter().flatten());
        let PropertyCase { merged, told, .. } = property_case;
        let is_broken = session.bench.trouble.is_some();
        if told.inputs == 0 && !stopped && !is_broken && told.ended.is_some() {
            report.verdict = Verdict::NotApplicable;
            report.reason.clone_from(&told.ended);
            report.generated = Some(told);
            self.case_reports.add(report, self.reporters);
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
        self.case_reports.finish(report, outcome, &self.plan.policy(), self.reporters);
    }

    /// Carries all inputs out.
    async fn inputs(&mut self, session: &mut Session, property_case: &mut PropertyCase<'_>) {
        let asked = self.plan.generation.inputs;
        let mut left = 0..property_case.property.inputs(asked, property_case.context);
        while let Some(number) = left.next() {
            if let Some(why) = self.why_no_more(session, property_case, number) {
                property_case.told.ended = Some(why);
                return;
            }
            match self.together(session, property_case, number, left.end).await {
                Some(next) => left.start = next,
                None => self.input(session, property_case, number).await,
            }
        }
    }

    /// Why no further input is carried out.
    pub(super) fn why_no_more(
        &self,
        session: &Session,
        property_case: &PropertyCase<'_>,
        number: u32,
    ) -> Option<String> {
        if session.is_interrupted() {
            Some(STOPPED.into())
        } else if let Some(trouble) = &session.bench.trouble {
            Some(trouble.clone())
        } else if property_case.likenesses.len() >= MOST_FAILURES {
            Some(format!("{MOST_FAILURES} failures were found"))
        } else if property_case.silent >= MOST_SILENT {
            Some(format!("{MOST_SILENT} inputs again got no answer"))
        } else if self.silence.dead >= DEAD_CASES {
            Some("the device could not be reached any more".into())
        } else if number > 0 && Instant::now() >= property_case.until {
            Some(OUT_OF_TIME.into())
        } else {
            None
        }
    }

    /// Generates an input, carries it out, and follows what fails.
    pub(super) async fn input(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        number: u32,
    ) {
        let draw = Draw::new(property_case.property, property_case.context, self.plan.seed, number);
        let case = draw.case();
        if !self.affords(&case) {
            property_case.told.ended = Some(OUT_OF_BUDGET.into());
            return;
        }
        property_case.told.inputs += 1;
        self.judged(session, property_case, Some(number), case).await;
    }

    /// Sends good requests for as long as what was sent before may have its effect. Where none of them
    /// ends the device's life, no input did.
    async fn aftermath(&mut self, session: &mut Session, property_case: &mut PropertyCase<'_>) {
        let case = Case {
            steps: good_requests(REMEMBERED_EXCHANGES),
            ..Draw::new(property_case.property, property_case.context, self.plan.seed, 0).case()
        };
        self.judged(session, property_case, None, case).await;
    }

    /// Carries an input out, and follows what fails. One without a number was not drawn.
    pub(super) async fn judged(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        number: Option<u32>,
        case: Case,
    ) {
        let (told, misses) = (property_case.likenesses.len(), session.conversation.misses());
        let outcome = self.part(session, Part::Input, &case, None).await;
        let is_silent = session.conversation.misses() > misses;
        property_case.told.exchanges += case.exchanges();
        let failing = self.failing(&outcome, property_case.property.id);
        property_case.merged.add(Part::Input, outcome);
        if let Some(number) = number {
            property_case.note_places(number, &failing);
        }
        for (known, failure) in
            property_case.likenesses.iter().zip(&mut property_case.told.failures)
        {
            let shown = |judgement| known.iter().any(|known| known.is_of(judgement));
            failure.times += u32::from(failing.iter().any(shown));
        }
        for judgement in &failing {
            if !property_case.knows(judgement) {
                property_case.attach(judgement, &failing);
            }
            let enough =
                property_case.likenesses.len() >= MOST_FAILURES || session.is_interrupted();
            if !enough && !property_case.knows(judgement) {
                let draw = |number| {
                    Draw::new(property_case.property, property_case.context, self.plan.seed, number)
                };
                let input = (number.map(draw), case.clone());
                let number = number.unwrap_or(property_case.told.inputs);
                self.follow(session, property_case, input, judgement, &failing, number).await;
            }
        }
        property_case.silent += usize::from(is_silent && property_case.likenesses.len() == told);
        self.remember(case);
    }

    /// Keeps an input for the time when something later fails, be it in another property.
    pub(super) fn remember(&mut self, case: Case) {
        self.properties.recent.push_back(case);
        let mut number: usize = self.properties.recent.iter().map(Case::exchanges).sum();
        while let Some(first) = self.properties.recent.front().map(Case::exchanges)
            && number >= REMEMBERED_EXCHANGES + first
        {
            number -= first;
            self.properties.recent.pop_front();
        }
    }

    /// Carries out one part of a generated case: from where the device is, or from a known state.
    pub(super) async fn part(
        &mut self,
        session: &mut Session,
        part: Part,
        case: &Case,
        known: Option<(StartFrom, &Settings)>,
    ) -> CaseOutcome {
        session.begin_part(part, write(case, &[]));
        session.settling.is_hurried = part == Part::Trial;
        session.conversation.be_trying(false);
        if let Some((from, saved)) = known {
            self.known_state(session, from, saved).await;
        }
        session.conversation.be_trying(part == Part::Trial);
        session.flights.begin(part == Part::Flight, false);
        let confirm = match part {
            Part::Trial | Part::Flight => Confirm::Never,
            Part::Input | Part::Around => Confirm::Sparingly,
            Part::Smallest => Confirm::Always,
        };
        self.properties.spent += effects(case);
        let end = self.carry(session, case, confirm).await;
        if end != Exchange::Interrupted && part != Part::Trial {
            session.wait_for_given_up().await;
        }
        if end == Exchange::Interrupted {
            return CaseOutcome { not_carried_out: Some(STOPPED.into()), ..session.end_case(None) };
        }
        in_order(session.end_case(Some(case)))
    }

    /// Brings the device into a known state: a fresh session where it dials again by itself, and the
    /// settings that it had. A dead one is restarted on the way.
    async fn known_state(&mut self, session: &mut Session, from: StartFrom, saved: &Settings) {
        if from == StartFrom::Start && session.target.is_running().is_some() {
            session.restart(&"start".into(), &mut self.dialing).await;
        } else if session.connection.link.is_some() && self.dialing.is_quick(session) {
            session.drop_link("the next try needs a fresh session");
        }
        if self.ready(session, false).await == Exchange::Settled {
            self.properties.spent += session.put_back(saved, "settings").await;
        }
    }

    /// Reads the settings before all inputs, or puts them back after them.
    pub(super) async fn around(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        before: bool,
    ) {
        session.settling.is_hurried = false;
        session.conversation.be_trying(false);
        let missed = session.conversation.misses();
        session.begin_part(Part::Around, String::new());
        // With a slow device what was put back last is not read again.
        let known = self.properties.saved.clone().filter(|_| before && session.flights.are_open());
        if let Some(known) = known {
            property_case.saved = known;
        } else if self.ready(session, false).await == Exchange::Settled {
            if before {
                property_case.saved = session.settings(&self.plan.dut.permission()).await;
            } else {
                self.properties.spent += session.put_back(&property_case.saved, "settings").await;
            }
            self.properties.saved = Some(property_case.saved.clone());
        }
        session.wait_for_reason(missed).await;
        session.drain_console();
        let outcome = session.end_case(None);
        property_case.merged.add(Part::Around, outcome);
    }

    /// Whether the budget allows for the calls of a case.
    pub(super) fn affords(&self, case: &Case) -> bool {
        let budget = self.plan.generation.budget;
        budget.is_none_or(|budget| self.properties.spent + effects(case) <= budget)
    }

    /// The findings of a case that make it fail, and are no news to nobody.
    pub(super) fn failing(&self, outcome: &CaseOutcome, case: &str) -> Vec<Judgement> {
        let policy = self.plan.policy();
        let policy = self.case_reports.policy(&policy);
        let fails = |judgement: &&Judgement| {
            *judgement.case == *case
                && policy
                    .finding(judgement, false)
                    .is_some_and(|finding| finding.verdict == Verdict::Fail && !finding.known)
        };
        outcome.judgements.iter().filter(fails).cloned().collect()
    }
}

/// When the share of the time of a property is over that is the `at`th of so many: what those before it left
/// is its own, and where they took more, what is left is shared out anew.
fn share(began: Instant, all: Duration, at: u32, number: u32, now: Instant) -> Instant {
    let left = (began + all).saturating_duration_since(now);
    (began + all * at / number).max(now + left / (number + 1 - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_that_takes_long_leaves_the_others_their_share() {
        let began = Instant::now();
        let ends = |at, after| {
            let now = began + Duration::from_secs(after);
            (share(began, Duration::from_secs(60), at, 6, now) - began).as_secs()
        };
        assert_eq!(ends(1, 0), 10);
        // The first was quick.
        assert_eq!(ends(2, 1), 20);
        // The first took as long as three may.
        assert_eq!(ends(2, 30), 36);
        assert_eq!(ends(6, 55), 60);
        assert_eq!(ends(6, 70), 70);
    }
}
