//! How the run of a device begins: it is started, connects, and gets known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::transcript::{BRING_UP, Mark, TargetEvent, What};
use mcp_hil_record::event::{DutReady, Event};

use super::RunError;
use super::dut_run::{DEAD_CASES, DutRun, micros};
use super::session::{Exchange, Session};
use super::start;

/// An answer that takes longer makes the run long; people are told.
const SLOW: Duration = Duration::from_millis(150);

/// How many exchanges a case has on average, to tell how long a run will take.
const EXCHANGES_PER_CASE: f64 = 9.0;

/// How often a case waits on average where its messages are in flight together.
const FLIGHTS_PER_CASE: f64 = 3.0;

impl DutRun<'_, '_> {
    /// Starts the device, waits until it is connected, and gets to know it.
    pub(super) async fn bring_up(&mut self, session: &mut Session) -> Result<(), RunError> {
        let began = Instant::now();
        let case: Arc<str> = BRING_UP.into();
        session.begin_case(&case);
        let url = session.ports.endpoint.url();
        let ota_url = session.ports.http.ota_url();
        let invitation = start::invitation(self.plan, self.transport, &url, &ota_url);
        if let Some(text) = invitation {
            self.reporters.event(&Event::Notice { text });
        }
        let at: Arc<str> = "start".into();
        if session.terms.lives_on {
            session.reconnect(&at, &mut self.dialing).await;
        } else {
            session.target.start().await?;
            session.enter(Some(&at), What::Target { event: TargetEvent::Started });
            session.connect(&at, &mut self.dialing, self.plan.connect_deadline).await;
        }
        if session.is_interrupted() {
            return Ok(());
        }
        if !session.connection.connected {
            return self.not_connected(session, &url);
        }
        self.connected = Instant::now();
        let mut known = session.get_to_know(&self.plan.dut.permission()).await;
        if known.end == Exchange::Gone {
            session.wait_for_exit().await;
        }
        if known.end != Exchange::Settled {
            session.suspect_bench();
        }
        if known.end == Exchange::Gone || session.bench.taken {
            // It was lost while it got known: once may be an accident, and tells little.
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
        self.case_reports.told(version);
        let mut report = self.blank(BRING_UP, "The device connects and answers", None);
        report.took_us = micros(began);
        self.reporters.event(&Event::DutReady(Box::new(DutReady {
            dut: report.dut.clone(),
            transport: report.transport.clone(),
            server: session.transcript.recorder.without(known.server),
            identity: session.transcript.recorder.without(session.device.identity.clone()),
            facts: session.transcript.recorder.without_secrets(&session.device.facts),
            took_us: report.took_us,
        })));
        if session.connection.link.is_none() {
            self.dialing.wedged();
        }
        self.announce_pace(session);
        if session.bench.taken || session.bench.trouble.is_some() {
            // What it did not show then it may show in the next case.
            self.silence.unknown = Some("the bench lost the device while it was explored");
        } else if known.end == Exchange::Gone {
            self.silence.unknown = Some("the connection was lost while the device was explored");
            self.give_up("the connection was lost twice during bring-up");
        } else if session.conversation.fence(false).is_none() {
            self.give_up("the device answers neither initialize, nor tools/list, nor ping");
        }
        self.look_before_it_counts(session).await;
        let outcome = session.end_case(None);
        self.case_reports.finish(report, outcome, &self.plan.policy(), self.reporters);
        Ok(())
    }

    pub(super) fn give_up(&mut self, why: &'static str) {
        self.silence.dead = DEAD_CASES;
        self.silence.why = why;
    }

    /// Tells how long the run will take, when the device is slow.
    fn announce_pace(&mut self, session: &Session) {
        let Some(latency) = session.conversation.median_latency() else {
            return;
        };
        if latency > SLOW {
            let (trips, together) = match session.flights.width() {
                1 => (EXCHANGES_PER_CASE, String::new()),
                number => (
                    FLIGHTS_PER_CASE,
                    format!(", and up to {number} requests in order that are in flight together"),
                ),
            };
            let minutes = latency.as_secs_f64() * trips * self.plan.cases.len() as f64 / 60.0;
            let time = match minutes < 1.0 {
                true => "less than a minute".to_owned(),
                false => format!("about {minutes:.0} min"),
            };
            let text = format!(
                "the device takes about {:.1} s to answer{together}: expect {time}",
                latency.as_secs_f64(),
            );
            self.reporters.event(&Event::Notice { text });
        }
    }
}
