//! One device over one transport, from its start to its last case.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{Facts, SILICON};
use mcp_hil_core::check::Likeness;
use mcp_hil_core::scenario::{Case, write};
use mcp_hil_core::transcript::{
    BRING_UP, CLOSE, Mark, Part, TargetEvent, Transport, What, is_generated,
};
use mcp_hil_core::verdict::Verdict;
use mcp_hil_rig::{AudioSink, Endpoint, HttpServer, ServerTime};
use tokio::sync::watch;

use super::RunError;
use super::link::Dialing;
use super::recorder::{Recorder, transcript_name};
use super::report::{Book, line_of, spoilt};
use super::session::{Exchange, Ports, Session};
use super::twin::Twin;
use crate::event::{CaseReport, DutReady, Event};
use crate::plan::Plan;
use crate::random::Random;
use crate::report::Reporters;

/// How many cases in a row may find no device before the rest is given up.
pub(super) const DEAD_CASES: usize = 3;

/// How many refused connections are told when no device connects.
const REFUSED_TOLD: usize = 5;

/// How many cases in which the device fell silent are tried once more; after that it is known to.
pub(super) const CONFIRMATIONS: usize = 5;

/// How many cases make a session long enough to look for late answers at its end.
const LONG_SESSION: usize = 10;

/// How long the last look takes at the end of a short session.
const SHORT_LOOK: Duration = Duration::from_millis(400);

/// The same over MQTT, where audio that goes on after its end is looked for, too.
const SHORT_LOOK_MQTT: Duration = Duration::from_millis(700);

/// How long a stopped run goes on for the device's settings.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// What the harness says about a picture.
const VISION_REPLY: &str = "mcp-hil has seen the picture";

/// An answer that takes longer makes the run long; people are told.
const SLOW: Duration = Duration::from_millis(150);

/// How many exchanges a case has on average, to tell how long a run will take.
const EXCHANGES_PER_CASE: f64 = 9.0;

/// Why a case has no verdict that the user has stopped.
pub(super) const STOPPED: &str = "the run was stopped in the middle of it";

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

/// What became of a lane.
#[derive(Debug, Default)]
pub struct LaneEnd {
    /// The reports of its cases.
    pub cases: Vec<CaseReport>,
    /// What was learned of the device.
    pub facts: Option<Facts>,
    /// The version that it told.
    pub firmware: Option<String>,
    /// Why it could not be carried out.
    pub error: Option<RunError>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Runs all cases of the plan on its device, over one transport.
pub(crate) async fn run(
    plan: &Plan,
    transport: Transport,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
) -> LaneEnd {
    let mut end = LaneEnd::default();
    let mut session = match open(plan, transport, interrupt).await {
        Ok(session) => session,
        Err(error) => {
            end.error = Some(error);
            return end;
        }
    };
    let twin_plan = plan.for_twin();
    let mut nobody = Reporters::new(std::io::sink());
    let mut lane = Lane::new(plan, transport, reporters);
    lane.twin = twin_plan.as_ref().map(|plan| {
        let lane = Lane::new(plan, transport, &mut nobody);
        Box::new(Twin::new(lane, session.interrupt.clone()))
    });
    end.error = lane.bring_up(&mut session).await.err();
    end.interrupted = session.is_interrupted();
    if end.error.is_none() {
        for case in &plan.cases {
            if session.is_interrupted() {
                break;
            }
            lane.case(&mut session, case).await;
        }
        lane.properties(&mut session).await;
        end.interrupted = session.is_interrupted();
        match end.interrupted {
            false => lane.close(&mut session).await,
            true => lane.close_at_once(&mut session).await,
        }
        let late = session.judge.late_capabilities();
        session.facts.capabilities.extend(late);
        end.facts = session
            .connected
            .then(|| session.recorder.without_secrets(&session.facts));
    }
    session.target.stop().await;
    session.recorder.flush();
    if let Some(twin) = lane.twin.take() {
        twin.stop().await;
    }
    end.error = end.error.or(session.recorder.take_failure());
    end.firmware = lane.book.firmware().map(str::to_owned);
    end.cases = lane.book.into_cases();
    end
}

pub(super) async fn open(
    plan: &Plan,
    transport: Transport,
    interrupt: watch::Receiver<bool>,
) -> Result<Session, RunError> {
    let folder = plan.lane_folder(transport);
    let recorder = Recorder::new(&folder, plan.secrets())?;
    let endpoint = match (transport, &plan.mqtt.broker) {
        (Transport::WebSocket, _) => Endpoint::websocket(plan.listen).await?,
        (Transport::Mqtt, None) => Endpoint::mqtt(plan.listen, plan.mqtt.terms()).await?,
        (Transport::Mqtt, Some(broker)) => Endpoint::broker(broker.clone()).await?,
    };
    let mut random = Random::new(plan.seed.rotate_left(7));
    let audio = match transport {
        Transport::WebSocket => None,
        Transport::Mqtt => {
            let mut audio = AudioSink::bind(plan.listen.ip(), random.bytes()).await?;
            let host = audio.address().ip().to_string();
            audio.show_as(plan.dut.seen(&host));
            Some(audio)
        }
    };
    let http = match HttpServer::bind(plan.http_listen).await {
        Err(_) if !plan.http_listen_asked => {
            let any_port = SocketAddr::new(plan.http_listen.ip(), 0);
            HttpServer::bind(any_port).await?
        }
        bound => bound?,
    };
    let dial = plan.dut.seen(&endpoint.url());
    http.set_bootstrap(plan.configuration(transport, &dial));
    http.set_clock(clock);
    let [token, other_token] = &plan.vision_tokens;
    http.set_vision(&[token, other_token], VISION_REPLY);
    let target = plan
        .dut
        .target(plan, transport, &endpoint.url(), &http.ota_url())?;
    let told_variables = vec![
        ("vision.url", plan.dut.seen(&http.vision_url())),
        ("vision.token", token.clone()),
        ("vision.other_token", other_token.clone()),
        ("vision.reply", VISION_REPLY.to_owned()),
    ];
    let ports = Ports {
        endpoint,
        http,
        audio,
    };
    let mut session = Session::new(
        transport,
        target,
        ports,
        random,
        recorder,
        plan.deadline,
        interrupt,
    );
    session.told_variables = told_variables;
    session.silicon = plan.dut.fidelity().may_be_silicon();
    Ok(session)
}

/// The time that devices are told. Their local time is UTC: nothing depends on it.
pub(crate) fn clock() -> ServerTime {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    ServerTime {
        timestamp_ms: now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
        timezone_offset: 0,
    }
}

pub(super) struct Lane<'a, 'r> {
    pub(super) plan: &'a Plan,
    pub(super) reporters: &'a mut Reporters<'r>,
    pub(super) book: Book,
    pub(super) dialing: Dialing,
    pub(super) transport: Transport,
    /// How many cases in a row found no device.
    pub(super) dead: usize,
    /// Why the rest is not run, once it is given up.
    why_dead: &'static str,
    /// How many silent cases were tried once more.
    pub(super) confirmed: usize,
    /// How many cases ran since the last look for late answers.
    pub(super) since_look: usize,
    /// How many calls with effects properties have made.
    pub(super) spent: u64,
    /// The latest inputs of properties.
    pub(super) recent: VecDeque<Case>,
    /// What tells the failures of properties from others.
    pub(super) told: Vec<Likeness>,
    /// How long failures of properties were followed.
    pub(super) followed: Duration,
    /// Where they are made small, if not on the device itself.
    pub(super) twin: Option<Box<Twin<'a, 'r>>>,
}

impl<'a, 'r> Lane<'a, 'r> {
    pub(super) fn new(
        plan: &'a Plan,
        transport: Transport,
        reporters: &'a mut Reporters<'r>,
    ) -> Self {
        Self {
            plan,
            reporters,
            book: Book::default(),
            dialing: Dialing::new(
                plan.connect_deadline,
                plan.redial_deadline(transport),
                plan.token.is_some(),
                Random::new(plan.seed),
            ),
            transport,
            dead: 0,
            why_dead: "the device could not be reached in three cases in a row",
            confirmed: 0,
            since_look: 0,
            spent: 0,
            recent: VecDeque::new(),
            told: Vec::new(),
            followed: Duration::ZERO,
            twin: None,
        }
    }
}

impl Lane<'_, '_> {
    /// Starts the device, waits until it is connected, and gets to know it.
    pub(super) async fn bring_up(&mut self, session: &mut Session) -> Result<(), RunError> {
        let began = Instant::now();
        let case: Arc<str> = BRING_UP.into();
        session.begin_case(&case);
        let url = session.endpoint.url();
        let ota_url = session.http.ota_url();
        let invitation = self
            .plan
            .dut
            .invitation(self.transport, &url, &ota_url, self.plan);
        if let Some(text) = invitation {
            self.reporters.event(&Event::Notice { text });
        }
        session.target.start().await?;
        let at: Arc<str> = "start".into();
        session.enter(
            Some(&at),
            What::Target {
                event: TargetEvent::Started,
            },
        );
        session
            .connect(&at, &mut self.dialing, self.plan.connect_deadline)
            .await;
        if session.is_interrupted() {
            return Ok(());
        }
        if !session.connected {
            let Some(why) = session.refused else {
                return Err(self.no_connection(session, &url));
            };
            self.give_up(why);
            let report = self.blank(BRING_UP, "The device connects and can be talked to", None);
            let outcome = session.judge.end_case(None, &session.facts);
            self.book
                .finish(report, outcome, &self.plan.ruling(), self.reporters);
            return Ok(());
        }
        let mut known = session.get_to_know(&self.plan.dut.permission()).await;
        if known.end == Exchange::Gone {
            // It was lost while it got known: once may be an accident, and tells little.
            session.wait_for_exit().await;
            let again: Arc<str> = "again".into();
            session.mark(&again, Mark::SecondAttempt);
            if session.reconnect(&again, &mut self.dialing).await {
                known = session.get_to_know(&self.plan.dut.permission()).await;
            }
        }
        if let (Some(expected), Some((_, got))) = (self.plan.dut.version(), &known.server)
            && expected != got
        {
            return Err(RunError::OtherFirmware {
                expected: expected.to_owned(),
                got: got.clone(),
            });
        }
        let version = known.server.as_ref().map(|(_, version)| version.clone());
        self.book.told(version);
        let mut report = self.blank(BRING_UP, "The device connects and can be talked to", None);
        report.took_us = micros(began);
        self.reporters.event(&Event::DutReady(Box::new(DutReady {
            dut: report.dut.clone(),
            transport: report.transport.clone(),
            server: known.server,
            identity: session.identity.clone(),
            facts: session.recorder.without_secrets(&session.facts),
            took_us: report.took_us,
        })));
        if session.link.is_none() {
            self.dialing.wedged();
        }
        self.announce_pace(session);
        if known.end == Exchange::Gone {
            self.give_up("the connection was lost while the device got known, twice");
        } else if session.conversation.fence(false).is_none() {
            self.give_up("the device answers neither initialize, nor tools/list, nor ping");
        }
        let outcome = session.judge.end_case(None, &session.facts);
        self.book
            .finish(report, outcome, &self.plan.ruling(), self.reporters);
        Ok(())
    }

    fn give_up(&mut self, why: &'static str) {
        self.dead = DEAD_CASES;
        self.why_dead = why;
    }

    /// Tells how long the run will take, when the device is slow.
    fn announce_pace(&mut self, session: &Session) {
        let Some(latency) = session.conversation.median_latency() else {
            return;
        };
        if latency > SLOW {
            let minutes =
                latency.as_secs_f64() * EXCHANGES_PER_CASE * self.plan.cases.len() as f64 / 60.0;
            let text = format!(
                "the device takes about {:.1} s for an answer: expect about {:.0} min",
                latency.as_secs_f64(),
                minutes.max(1.0),
            );
            self.reporters.event(&Event::Notice { text });
        }
    }

    fn no_connection(&self, session: &mut Session, url: &str) -> RunError {
        let seconds = self.plan.connect_deadline.as_secs_f64();
        let tail: Vec<&str> = session.judge.console_lines().collect();
        let tail = &tail[tail.len().saturating_sub(8)..];
        let mut more = match tail {
            [] => "its console showed nothing".to_owned(),
            lines => format!("its console ended with:\n  {}", lines.join("\n  ")),
        };
        // Who knocked, and spoke another protocol, may have been the device.
        let mut reasons: Vec<(String, usize)> = Vec::new();
        for refused in session.endpoint.take_refused() {
            // The port is another one each time; the reason is what counts.
            let why = refused.split_once(" refused: ").map(|(_, why)| why);
            match reasons
                .iter_mut()
                .find(|(told, _)| why.is_some_and(|why| told.ends_with(why)))
            {
                Some((_, times)) => *times += 1,
                None => reasons.push((refused, 1)),
            }
        }
        for (refused, times) in reasons.iter().take(REFUSED_TOLD) {
            more.push('\n');
            more.push_str(refused);
            if *times > 1 {
                more.push_str(&format!(" ({times} times)"));
            }
        }
        let what = match session.target.is_running() {
            Some(false) if let Some(what) = &session.trouble => what.clone(),
            Some(false) => "the device's process ended before it connected".to_owned(),
            _ => format!("no device connected to `{url}` within {seconds} s"),
        };
        let lines: Vec<&str> = session.judge.console_lines().collect();
        let how = self.plan.dut.how_to_connect(self.transport, &lines);
        RunError::NoConnection(format!(
            "{what}; {more}\n\nhint: {how}; `--connect-deadline` gives it more time"
        ))
    }

    async fn case(&mut self, session: &mut Session, case: &Case) {
        let mut report = self.blank(&case.id, &case.title, Some(&case.file));
        if case.restarts() && !self.plan.dut.permission().restarts() {
            report.verdict = Verdict::NotApplicable;
            report.transcript = None;
            report.reason = Some("the device's file denies restarts".into());
            self.book.add(report, self.reporters);
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
        let end = self.carry(session, case, Confirm::Sparingly).await;
        if end == Exchange::Interrupted {
            // What was found until now is told; the rest of the case was not shown.
            report.took_us = micros(began);
            let mut outcome = session.judge.end_case(None, &session.facts);
            outcome.not_carried_out = Some(STOPPED.into());
            self.book
                .finish(report, outcome, &self.plan.ruling(), self.reporters);
            return;
        }
        report.took_us = micros(began);
        let mut outcome = session.judge.end_case(Some(case), &session.facts);
        if outcome.not_carried_out.is_some() {
            // A board that could not be brought back, for this case or in the one before.
            outcome.trouble = outcome.trouble.or_else(|| session.trouble.clone());
        }
        report.line = line_of(case, &outcome, &self.plan.ruling());
        self.book
            .finish(report, outcome, &self.plan.ruling(), self.reporters);
    }

    /// Reports a case that the device cannot be asked, or that it is too late for; of any other, says
    /// that it begins.
    pub(super) fn applies(
        &mut self,
        session: &Session,
        needs: &[String],
        mut report: CaseReport,
    ) -> Option<CaseReport> {
        if let Some(lacking) = session.facts.lacks(needs) {
            report.verdict = Verdict::NotApplicable;
            report.transcript = None;
            report.reason = Some(if lacking == SILICON {
                let level = self.plan.dut.fidelity().name();
                format!("not observed: it takes silicon, and the device is run as {level}")
            } else {
                format!("the device has no `{lacking}`")
            });
            self.book.add(report, self.reporters);
            return None;
        }
        if let Some(what) = &session.trouble {
            report.transcript = None;
            let report = spoilt(report, &format!("not run: {what}"));
            self.book.add(report, self.reporters);
            return None;
        }
        if self.dead >= DEAD_CASES {
            report.verdict = Verdict::Inconclusive;
            report.transcript = None;
            report.reason = Some(format!("not run: {}", self.why_dead));
            self.book.add(report, self.reporters);
            return None;
        }
        self.reporters.event(&Event::CaseStarted {
            dut: report.dut.clone(),
            transport: report.transport.clone(),
            case: report.case.clone(),
        });
        Some(report)
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
            Confirm::Never => false,
            Confirm::Sparingly => self.confirmed < CONFIRMATIONS,
            Confirm::Always => true,
        };
        let doubtful = end == Exchange::Silent && !session.crashed && more;
        if doubtful && session.target.is_running().is_some() {
            // Whether the device or the bench fell silent shows when it is tried once more.
            self.confirmed += 1;
            session.mark(&"again".into(), Mark::SecondAttempt);
            if session.restart(&"again".into(), &mut self.dialing).await {
                end = self.attempt(session, case).await;
            }
        }
        match end {
            Exchange::Interrupted => return end,
            Exchange::Gone => session.wait_for_exit().await,
            Exchange::Silent => {
                session.drop_link("the device is silent");
                self.dialing.wedged();
            }
            Exchange::Settled | Exchange::Ignored => {}
        }
        self.dead = if session.judge.is_alive() {
            0
        } else {
            self.dead + 1
        };
        session.tell_of_audio();
        session.drain_console();
        if session.crashed && matches!(self.plan.symbols, Some(Ok(_))) {
            session.wait_for_dump().await;
        }
        session.wait_for_port(end == Exchange::Gone).await;
        end
    }

    /// Brings the link into the state that the case wants, and carries the case out.
    async fn attempt(&mut self, session: &mut Session, case: &Case) -> Exchange {
        match self.ready(session, case.fresh).await {
            Exchange::Settled => session.carry_out(case, &mut self.dialing).await,
            other => other,
        }
    }

    /// Sees to it that there is a link, a new one if that is wanted, and a session on an old one.
    pub(super) async fn ready(&mut self, session: &mut Session, fresh: bool) -> Exchange {
        if fresh {
            self.look_for_late_answers(session).await;
            session.drop_link("the case wants a connection of its own");
        }
        if session.link.is_none()
            && !session
                .reconnect(&"connect".into(), &mut self.dialing)
                .await
        {
            return if session.is_interrupted() {
                Exchange::Interrupted
            } else {
                Exchange::Gone
            };
        }
        if !fresh && !session.initialized {
            match session.initialize(&"initialize".into()).await {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        Exchange::Settled
    }

    /// Listens for a while for answers to what was judged before, once for each long session.
    async fn look_for_late_answers(&mut self, session: &mut Session) {
        if self.since_look >= LONG_SESSION && session.link.is_some() {
            self.since_look = 0;
            let time = session.conversation.late_look();
            session.listen(&"late-look".into(), time).await;
        }
    }

    /// Puts the device's settings back, and takes the last look for late answers.
    pub(super) async fn close(&mut self, session: &mut Session) {
        if session.link.is_none() || self.dead >= DEAD_CASES {
            return;
        }
        let began = Instant::now();
        session.begin_case(&CLOSE.into());
        let mut report = self.blank(CLOSE, "Nothing comes late, and settings are put back", None);
        let saved = session.settings_in(session.status.as_ref(), &self.plan.dut.permission());
        session.put_back(&saved).await;
        if self.since_look >= LONG_SESSION {
            self.look_for_late_answers(session).await;
        } else {
            let time = match self.transport {
                Transport::WebSocket => SHORT_LOOK,
                Transport::Mqtt => SHORT_LOOK_MQTT,
            };
            session.listen(&"late-look".into(), time).await;
        }
        session.tell_of_audio();
        session.drain_console();
        report.took_us = micros(began);
        let outcome = session.judge.end_case(None, &session.facts);
        self.book
            .finish(report, outcome, &self.plan.ruling(), self.reporters);
    }

    /// Puts the settings back when the user has stopped the run, if the device answers at once. Nothing
    /// is judged any more.
    async fn close_at_once(&mut self, session: &mut Session) {
        if session.link.is_none() || self.dead >= DEAD_CASES {
            return;
        }
        let saved = session.settings_in(session.status.as_ref(), &self.plan.dut.permission());
        // The user is heard; what follows is short.
        let (_not_again, interrupt) = watch::channel(false);
        session.interrupt = interrupt;
        let _ = tokio::time::timeout(LAST_MOMENT, session.put_back(&saved)).await;
        // What it came to is told to nobody: the case that was stopped is.
        session.judge.end_case(None, &session.facts);
    }

    pub(super) fn blank(&self, case: &str, title: &str, file: Option<&str>) -> CaseReport {
        CaseReport {
            file: file.map(str::to_owned),
            transcript: Some(self.plan.lane_path(self.transport, &transcript_name(case))),
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
