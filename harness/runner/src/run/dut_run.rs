//! One device over one transport, from its start to its last case.

use std::time::{Duration, Instant};

use mcp_hil_boards::Target;
use mcp_hil_core::capability::{Facts, SILICON, untouched};
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::timing::Row;
use mcp_hil_core::transcript::{CLOSE, Mark, is_generated};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Verdict;
use mcp_hil_judge::compare;
use mcp_hil_scenario::Case;
use tokio::sync::watch;

use super::RunError;
use super::bug;
use super::link::Dialing;
use super::open::{Kept, Living, open};
use super::report::{CaseReports, spoilt};
use super::session::{Exchange, Session};
use super::state::{PropertyRun, Silence};
use super::surrogate::Surrogate;
use super::time_budget::TimeBudget;
use crate::plan::Plan;
use crate::random::Random;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{CaseReport, Event, Unanswered};
use mcp_hil_record::names::transcript_name;
use mcp_hil_record::text::layout::few;

/// How many cases in a row may find no device before the rest is given up.
pub(super) const DEAD_CASES: usize = 3;

/// How many cases in which the device fell silent are tried once more; after that it is known to.
pub(super) const CONFIRMATIONS: usize = 5;

/// Most tools that are named which might be called.
const UNTOUCHED_NAMED: usize = 3;

/// How many cases make a session long enough to look for late answers at its end.
const LONG_SESSION: usize = 10;

/// How long the last look takes at the end of a short session.
const SHORT_LOOK: Duration = Duration::from_millis(400);

/// The same over MQTT, where audio that goes on after its end is looked for, too.
const SHORT_LOOK_MQTT: Duration = Duration::from_millis(700);

/// How long a stopped run goes on for the device's settings.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Why a case has no verdict that the user has stopped.
pub(super) const STOPPED: &str = "the run was stopped during this case";

/// Whether silence is tried a second time, on a freshly started device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirm {
    /// It is not.
    Never,
    /// It is, until the device is known to fall silent.
    Sparingly,
    /// It is.
    Always,
}

/// What became of a run of one device.
#[derive(Debug, Default)]
pub struct DutRunEnd {
    /// The reports of its cases.
    pub cases: Vec<CaseReport>,
    /// What was learned of the device.
    pub facts: Option<Facts>,
    /// The version that it told.
    pub firmware: Option<String>,
    /// How long it took for its answers.
    pub timing: Vec<Row>,
    /// How often an answer was waited for that no other one came with.
    pub round_trips: u64,
    /// How many messages were in flight together at most, at the end.
    pub in_flight: u64,
    /// The answers that were waited for in vain.
    pub unanswered: Unanswered,
    /// Its free memory, as its console told it.
    pub memory: Option<FreeMemory>,
    /// Why it could not be carried out.
    pub error: Option<RunError>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Whether it stopped by itself, after so many failures.
    pub stopped: bool,
    /// Whether answers that came late have taken some of them back since.
    pub taken_back: bool,
    /// The cases that there was no time for.
    pub left_out: Vec<String>,
}

/// Runs all cases of the plan on its device, over one transport. Where something is kept, the device is that of the run
/// before, if it lives, and lives on for the next.
pub(super) async fn run(
    plan: &Plan,
    transport: Transport,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
    kept: Option<&mut Kept>,
) -> DutRunEnd {
    let mut end = DutRunEnd::default();
    let (living, keeps) = match kept {
        Some(kept) => (kept.living.take(), Some(&mut kept.living)),
        None => (None, None),
    };
    let mut session = match open(plan, transport, interrupt, living).await {
        Ok(session) => session,
        Err(error) => {
            end.error = Some(error);
            return end;
        }
    };
    let surrogate_plan = plan.for_surrogate();
    let mut nobody = Reporters::new(std::io::sink());
    let mut dut_run = DutRun::new(plan, transport, reporters);
    dut_run.properties.surrogate = surrogate_plan.as_ref().map(|plan| {
        let dut_run = DutRun::new(plan, transport, &mut nobody);
        Box::new(Surrogate::new(dut_run, session.interrupt.clone()))
    });
    if let Err(what) = bug::caught(dut_run.carry_all(&mut session, &mut end)).await {
        let case = session.transcript.case.to_string();
        end.error = Some(RunError::Bug { case, what });
    }
    if let Some(surrogate) = dut_run.properties.surrogate.take() {
        surrogate.stop().await;
    }
    dut_run.end(session, end, keeps).await
}

/// A device over one transport, from its start to its end.
pub(super) struct DutRun<'a, 'r> {
    pub(super) plan: &'a Plan,
    pub(super) reporters: &'a mut Reporters<'r>,
    pub(super) case_reports: CaseReports,
    pub(super) dialing: Dialing,
    pub(super) transport: Transport,
    pub(super) silence: Silence,
    /// How many cases ran since the last look for late answers.
    pub(super) since_look: usize,
    pub(super) properties: PropertyRun<'a, 'r>,
    /// When the device was connected.
    pub(super) connected: Instant,
    /// The time that is left, where that is limited.
    pub(super) time: Option<TimeBudget>,
    /// The cases that there was no time for.
    pub(super) left_out: Vec<String>,
    /// How many of its failures were counted, where a run stops after so many.
    counted: usize,
}

impl<'a, 'r> DutRun<'a, 'r> {
    pub(super) fn new(
        plan: &'a Plan,
        transport: Transport,
        reporters: &'a mut Reporters<'r>,
    ) -> Self {
        Self {
            plan,
            reporters,
            case_reports: CaseReports::of(Some(transport), None),
            dialing: Dialing::new(
                plan.connect_deadline,
                plan.reconnect_deadline(transport),
                plan.token.is_some(),
                plan.dut.keep_alive_s(),
                Random::new(plan.seed),
            ),
            transport,
            silence: Silence::default(),
            since_look: 0,
            properties: PropertyRun::default(),
            connected: Instant::now(),
            time: None,
            left_out: Vec::new(),
            counted: 0,
        }
    }

    /// Ends the device, or leaves it for the next run, and completes what the run of it came to.
    pub(super) async fn end(
        self,
        session: Session,
        mut end: DutRunEnd,
        keeps: Option<&mut Option<Living>>,
    ) -> DutRunEnd {
        end.timing = session.conversation.timing().rows();
        end.round_trips = session.received.round_trips;
        end.in_flight = session.flights.width() as u64;
        end.unanswered = session.received.in_vain.told();
        end.memory = session.judge.free_memory();
        let trouble = match keeps {
            Some(keeps) if end.error.is_none() => {
                let (living, trouble) = session.leave();
                *keeps = Some(living);
                trouble
            }
            _ => session.end().await,
        };
        end.error = end.error.or(trouble);
        end.firmware = self.case_reports.firmware().map(str::to_owned);
        end.cases = self.case_reports.into_cases();
        end
    }
}

impl DutRun<'_, '_> {
    /// Whether there were so many failures that the rest is left out. Those of this device since it was last asked are
    /// counted.
    pub(super) fn is_stopped(&mut self) -> bool {
        let Some(limit) = &self.plan.limit else {
            return false;
        };
        let new = self.case_reports.take_new().inspect(|case| limit.count(case));
        self.counted += new.filter(|case| case.is_red()).count();
        limit.is_reached()
    }

    /// Carries out all that is planned, from the bring-up to the close.
    async fn carry_all(&mut self, session: &mut Session, end: &mut DutRunEnd) {
        end.error = self.bring_up(session).await.err();
        end.interrupted = session.is_interrupted();
        if end.error.is_none() {
            let plan = self.plan;
            self.time_begins(session);
            for (index, case) in plan.cases.iter().enumerate() {
                if session.is_interrupted() || self.is_stopped() {
                    break;
                }
                if self.has_time_for(index, &case.id) {
                    let began = Instant::now();
                    self.case(session, case, plan.cases.get(index + 1)).await;
                    self.took(index, began);
                }
            }
            self.properties(session).await;
            end.left_out = std::mem::take(&mut self.left_out);
            end.interrupted = session.is_interrupted();
            end.stopped = self.is_stopped();
            match end.interrupted {
                false => self.close(session).await,
                true => self.close_at_once(session).await,
            }
            end.taken_back = end.stopped && self.counted > self.case_reports.red();
            let late = session.judge.late_capabilities();
            session.device.facts.capabilities.extend(late);
            end.facts = session
                .connection
                .connected
                .then(|| session.transcript.recorder.without_secrets(&session.device.facts));
        }
    }

    /// Reports a case that the device cannot be asked, or that it is too late for; of any other, says
    /// that it begins.
    pub(super) fn applies(
        &mut self,
        session: &mut Session,
        needs: &[String],
        mut report: CaseReport,
    ) -> Option<CaseReport> {
        let lacking = session.device.facts.lacks(needs);
        let unknown = self.silence.unknown.filter(|_| lacking.is_some_and(|it| it != SILICON));
        if let (Some(lacking), None) = (lacking, unknown) {
            report.verdict = Verdict::NotApplicable;
            report.transcript = None;
            report.reason = Some(if lacking == SILICON {
                let level = self.plan.dut.fidelity().name();
                format!("not observed: needs a real chip, but the device runs as {level}")
            } else {
                self.lacking(session, lacking)
            });
            self.case_reports.add(report, self.reporters);
            return None;
        }
        if let Some(what) = &session.bench.trouble {
            report.transcript = None;
            let report = spoilt(report, &format!("not run: {what}"));
            self.case_reports.add(report, self.reporters);
            return None;
        }
        if self.silence.dead >= DEAD_CASES {
            report.verdict = Verdict::Inconclusive;
            report.transcript = None;
            report.reason = Some(format!("not run: {}", self.silence.why));
            self.case_reports.add(report, self.reporters);
            return None;
        }
        if let Some(why) = unknown {
            report.verdict = Verdict::Inconclusive;
            report.transcript = None;
            report.reason =
                Some(format!("not run: what the device has is not known, because {why}"));
            self.case_reports.add(report, self.reporters);
            return None;
        }
        if session.rate.is_news() {
            let text = "the device limits how fast it may be called: the run goes on more slowly, and properties \
                        may have fewer inputs"
                .to_owned();
            self.reporters.event(&Event::Notice { text });
        }
        self.reporters.event(&Event::CaseStarted {
            dut: report.dut.clone(),
            transport: report.transport.clone(),
            case: report.case.clone(),
        });
        Some(report)
    }

    /// Why a case does not apply to a device that has not got a capability: perhaps only because its tools are not
    /// called, which people can change.
    fn lacking(&self, session: &Session, capability: &str) -> String {
        let mut reason = compare::capabilities::lacking(capability);
        let (tools, permission) = (&session.device.tools, &session.device.permission);
        let untouched = untouched(tools, permission, capability);
        if !untouched.is_empty() {
            let names = few(&untouched, UNTOUCHED_NAMED);
            let (are, them) = match untouched.len() {
                1 => ("is", "it"),
                _ => ("are", "them"),
            };
            reason += &format!(
                "; {names} {are} not known to be harmless (`--allow`, or `allow` in the device's \
                 file, allows {them})"
            );
        }
        reason
    }

    /// Carries a case out, and takes note of the state in which it leaves the device.
    pub(super) async fn carry(
        &mut self,
        session: &mut Session,
        case: &Case,
        confirm: Confirm,
    ) -> Exchange {
        let mut end = self.attempt(session, case).await;
        let more = match confirm {
            // What was in flight together is tried alone first.
            _ if session.flights.has_flown() => false,
            Confirm::Never => false,
            Confirm::Sparingly => self.silence.confirmed < CONFIRMATIONS,
            Confirm::Always => true,
        };
        if end == Exchange::Silent {
            // A board without power is silent, too, and its port may show that later.
            session.wait_for_port(true).await;
            session.suspect_bench();
        }
        let doubtful =
            end == Exchange::Silent && !session.bench.crashed && !session.bench.spoilt && more;
        if doubtful && session.target.is_running().is_some() {
            // Whether the device or the bench fell silent shows when it is tried once more.
            self.silence.confirmed += 1;
            session.mark(&"again".into(), Mark::SecondAttempt);
            session.conversation.be_thorough(true);
            if session.restart(&"again".into(), &mut self.dialing).await {
                end = self.attempt(session, case).await;
            }
            session.conversation.be_thorough(false);
        }
        self.look_after(session, end).await;
        end
    }

    /// Takes note of the state in which a case leaves the device, and lets its last words arrive.
    pub(super) async fn look_after(&mut self, session: &mut Session, end: Exchange) {
        match end {
            Exchange::Interrupted => return,
            Exchange::Gone => session.wait_for_exit().await,
            Exchange::Silent => {
                session.drop_link("the device is silent");
                self.dialing.wedged();
            }
            Exchange::Settled | Exchange::Ignored | Exchange::Doubtful => {}
        }
        if matches!(end, Exchange::Gone | Exchange::Silent) {
            session.suspect_bench();
        }
        self.silence.dead = match (session.judge.is_alive(), session.bench.spoilt) {
            (true, _) => 0,
            (false, true) => self.silence.dead,
            (false, false) => self.silence.dead + 1,
        };
        session.tell_of_audio();
        session.drain_console();
        if session.bench.crashed && matches!(self.plan.symbols, Some(Ok(_))) {
            session.wait_for_dump().await;
        }
        session.wait_for_port(end == Exchange::Gone).await;
    }

    /// Brings the link into the state that the case wants, and carries the case out.
    async fn attempt(&mut self, session: &mut Session, case: &Case) -> Exchange {
        if case.begins_afresh() {
            self.look_for_late_answers(session).await;
            return session.carry_out(case, &mut self.dialing).await;
        }
        if !case.fresh && session.connection.initialized && session.repeats_an_id(case) {
            match self.another_session(session).await {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        match self.ready(session, case.fresh).await {
            Exchange::Settled => session.carry_out(case, &mut self.dialing).await,
            other => other,
        }
    }

    /// Sees to it that there is a link, a new one if that is wanted, and a session on an old one.
    pub(super) async fn ready(&mut self, session: &mut Session, fresh: bool) -> Exchange {
        if fresh {
            self.look_for_late_answers(session).await;
            session.drop_link("the case needs a new connection");
        }
        if session.connection.link.is_none()
            && !session.reconnect(&"connect".into(), &mut self.dialing).await
        {
            return if session.is_interrupted() { Exchange::Interrupted } else { Exchange::Gone };
        }
        if !fresh && !session.connection.initialized {
            match session.initialize(&"initialize".into()).await {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        Exchange::Settled
    }

    /// Ends the session, so that ids may come again: with the connection, where that costs nothing.
    async fn another_session(&mut self, session: &mut Session) -> Exchange {
        if session.connection.link.is_none() {
            return Exchange::Settled;
        }
        if !self.dialing.is_quick(session) {
            return session.initialize_again().await;
        }
        self.look_for_late_answers(session).await;
        session.drop_link("an id comes again, which is for a new session");
        Exchange::Settled
    }

    /// Listens for a while for answers to what was judged before, once for each long session.
    async fn look_for_late_answers(&mut self, session: &mut Session) {
        let wanted = self.since_look >= LONG_SESSION || !session.connection.given_up.is_empty();
        if wanted && session.connection.link.is_some() {
            self.since_look = 0;
            let lacks_answers = !session.connection.given_up.is_empty();
            let time = session.conversation.late_look(lacks_answers);
            session.listen(&"late-look".into(), time).await;
            // What did not come now does not come any more.
            session.connection.given_up.clear();
        }
    }

    /// Waits once more for answers that have not come, where the run may stop for want of them: what a late answer takes
    /// back must not have ended it.
    pub(super) async fn look_before_it_counts(&mut self, session: &mut Session) {
        if self.plan.limit.is_some() && !session.connection.given_up.is_empty() {
            self.look_for_late_answers(session).await;
        }
    }

    /// Puts the device's settings back, and takes the last look for late answers.
    pub(super) async fn close(&mut self, session: &mut Session) {
        // A program that has ended in the last case is started again, as any other case would do it.
        let has_ended =
            matches!(&session.target, Target::Process(process) if !process.is_running());
        let is_gone = session.connection.link.is_none() && !has_ended;
        if is_gone || self.silence.dead >= DEAD_CASES {
            return;
        }
        let began = Instant::now();
        let missed = session.conversation.misses();
        session.begin_case(&CLOSE.into());
        let mut report =
            self.blank(CLOSE, "No late answers arrive, and settings are restored", None);
        if has_ended {
            self.ready(session, false).await;
        }
        let saved =
            session.settings_in(session.device.status.as_ref(), &self.plan.dut.permission());
        session.put_back(&saved, "settings").await;
        if self.since_look >= LONG_SESSION || !session.connection.given_up.is_empty() {
            self.look_for_late_answers(session).await;
        } else {
            let time = match self.transport {
                Transport::WebSocket => SHORT_LOOK,
                Transport::Mqtt => SHORT_LOOK_MQTT,
            };
            session.listen(&"late-look".into(), time).await;
        }
        session.wait_for_reason(missed).await;
        session.tell_of_audio();
        session.drain_console();
        report.took_us = micros(began);
        let outcome = session.end_case(None);
        self.case_reports.finish(report, outcome, &self.plan.policy(), self.reporters);
    }

    /// Puts the settings back when the user has stopped the run, if the device answers at once. Nothing
    /// is judged any more.
    async fn close_at_once(&mut self, session: &mut Session) {
        if session.connection.link.is_none() || self.silence.dead >= DEAD_CASES {
            return;
        }
        let saved =
            session.settings_in(session.device.status.as_ref(), &self.plan.dut.permission());
        // The user is heard; what follows is short.
        let (_not_again, interrupt) = watch::channel(false);
        session.interrupt = interrupt;
        let _ = tokio::time::timeout(LAST_MOMENT, session.put_back(&saved, "settings")).await;
        // What it came to is told to nobody: the case that was stopped is.
        session.end_case(None);
    }

    pub(super) fn blank(&self, case: &str, title: &str, file: Option<&str>) -> CaseReport {
        CaseReport {
            file: file.map(str::to_owned),
            transcript: Some(self.plan.path_of(self.transport, &transcript_name(case))),
            repro: match file {
                Some(file) if is_generated(case) => self.plan.repro_file(file, self.transport),
                _ => self.plan.repro(case, self.transport),
            },
            ..CaseReport::blank(&self.plan.dut.name, self.transport.name(), case, title)
        }
    }
}

pub(super) fn micros(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
}
