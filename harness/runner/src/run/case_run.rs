//! One scripted case on a device: its attempts, and what they come to.

use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::transcript::{Entry, Mark, Part, What, is_generated};
use mcp_hil_core::verdict::{Judgement, Verdict};
use mcp_hil_judge::check::CaseOutcome;
use mcp_hil_record::event::CaseReport;
use mcp_hil_scenario::{Case, write};

use super::dut_run::{Confirm, DutRun, STOPPED, micros};
use super::report::line_of;
use super::session::{Exchange, Session};

/// The step at which another attempt at a case begins.
const RETRY: &str = "retry";

/// Whether another attempt at a case begins with an entry: what was before it is judged by itself.
pub fn is_retry(entry: &Entry) -> bool {
    let second = matches!(&entry.what, What::Mark { mark: Mark::SecondAttempt });
    second && entry.step.as_deref() == Some(RETRY)
}

impl DutRun<'_, '_> {
    /// Carries a case out and reports it. `next` is the one after it.
    pub(super) async fn case(&mut self, session: &mut Session, case: &Case, next: Option<&Case>) {
        let mut report = self.blank(&case.id, &case.title, Some(&case.file));
        if case.restarts() && !self.plan.dut.permission().restarts() {
            report.verdict = Verdict::NotApplicable;
            report.transcript = None;
            report.reason = Some("the device's file denies restarts".into());
            self.case_reports.add(report, self.reporters);
            return;
        }
        let Some(mut report) = self.applies(session, &case.needs, report) else {
            return;
        };
        let began = Instant::now();
        session.begin_case(&case.id);
        self.since_look += 1;
        if is_generated(&case.id) {
            // A replay finds it in the transcript: the file may be gone.
            session.begin_part(Part::Input, write(case, &[]));
        }
        let mut before: Option<CaseReport> = None;
        loop {
            let (end, mut outcome) = self.tried(session, case, next).await;
            report.took_us = micros(began);
            if end == Exchange::Interrupted {
                // What was found until now is told; the rest of the case was not shown.
                outcome.not_carried_out = Some(STOPPED.into());
                let policy = self.plan.policy();
                self.case_reports.finish_after(before, report, outcome, &policy, self.reporters);
                return;
            }
            if outcome.not_carried_out.is_some() {
                // A board that could not be brought back, for this case or in the one before.
                outcome.trouble = outcome.trouble.or_else(|| session.bench.trouble.clone());
            }
            let policy = self.plan.policy();
            report.line = line_of(case, &outcome, &self.case_reports.policy(&policy));
            let tried = before.as_ref().map_or(1, |before| before.attempts.unwrap_or(1) + 1);
            let is_last = tried > self.plan.retries
                || outcome.trouble.is_some()
                || self.case_reports.passes(&report, &outcome, &policy);
            if is_last {
                self.case_reports.finish_after(before, report, outcome, &policy, self.reporters);
                return;
            }
            before =
                Some(self.case_reports.attempt(&report, before, outcome, &policy, self.reporters));
            self.prepare_retry(session, case).await;
        }
    }

    /// Prepares another attempt at a case, on a device that was started for it if that is allowed.
    async fn prepare_retry(&mut self, session: &mut Session, case: &Case) {
        let at: Arc<str> = RETRY.into();
        session.mark(&at, Mark::SecondAttempt);
        session.judge.begin_case(&case.id);
        if self.plan.dut.permission().restarts() {
            session.restart(&at, &mut self.dialing).await;
        }
    }

    /// Carries a case out, with its messages in flight together where they may be. Where that leaves a doubt, it is
    /// carried out once more with each message alone.
    async fn tried(
        &mut self,
        session: &mut Session,
        case: &Case,
        next: Option<&Case>,
    ) -> (Exchange, CaseOutcome) {
        let is_quick = self.dialing.is_quick(session);
        let flies = session.may_fly(case, is_quick);
        session.flights.begin(flies, true);
        let (dead, settings) = (self.silence.dead, session.flights.settings.clone());
        let (end, outcome) = self.carry_through(session, case, next).await;
        // One that refuses a message by closing the connection is not asked what came behind it.
        let is_cut = end == Exchange::Gone && !session.bench.crashed;
        let is_sure = outcome.doubtful.is_empty() && end != Exchange::Doubtful && !is_cut;
        let is_over = end == Exchange::Interrupted || outcome.trouble.is_some();
        if !session.flights.has_flown() || is_sure || is_over {
            return (end, outcome);
        }
        let (is_excused, refused) = (session.flights.is_excused(), session.flights.refused.take());
        session.flights.begin(false, false);
        session.flights.refused = refused;
        self.silence.dead = dead;
        session.begin_alone(&settings).await;
        let (end, alone) = self.carry_through(session, case, next).await;
        session.flights.has_tried_alone();
        if is_cut && end != Exchange::Gone && !is_excused {
            session.flights.was_cut();
        }
        let told = |doubt: &Judgement| {
            alone.judgements.iter().any(|one| one.requirement == doubt.requirement)
        };
        let all_told = match outcome.doubtful.is_empty() {
            true => !alone.judgements.is_empty(),
            false => outcome.doubtful.iter().all(told),
        };
        if !is_excused && !is_cut && !all_told && !session.settling.takes_time() {
            session.flights.end();
        }
        (end, outcome.tried_alone(&case.id, alone))
    }

    /// Carries a case out, reads what its settings came to, and leaves the usual configuration behind.
    async fn carry_through(
        &mut self,
        session: &mut Session,
        case: &Case,
        next: Option<&Case>,
    ) -> (Exchange, CaseOutcome) {
        let mut end = self.carry(session, case, Confirm::Sparingly).await;
        if end == Exchange::Settled {
            end = session.read_kept().await;
            if end != Exchange::Settled {
                self.look_after(session, end).await;
            }
        }
        // One restart is enough where the next case wants another configuration again.
        let restarts =
            |next: &Case| next.begins_afresh() && session.device.facts.lacks(&next.needs).is_none();
        if end == Exchange::Interrupted {
            return (end, session.end_case(None));
        }
        if !next.is_some_and(restarts) {
            session.offer_the_usual(&mut self.dialing).await;
            session.drain_console();
        }
        self.look_before_it_counts(session).await;
        (end, session.end_case(Some(case)))
    }
}
