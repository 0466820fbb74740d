//! A case that somebody's own program carries out, exchange by exchange, in place of a scenario.
//!
//! Everything else is as in a run: the device is brought up and closed, every entry is recorded and judged
//! as it comes. Nothing is tried a second time: only the program knows what its steps are for.

use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::transcript::{Role, Transport};
use mcp_hil_core::wire::{Frame, outbound};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::lane::{self, Lane, micros};
use super::session::{Exchange, Manner, Session};
use super::{RunError, Tally, exit_code};
use crate::event::{CaseReport, DutInfo, Event, RunStarted, SCHEMA, Summary};
use crate::plan::Plan;
use crate::report::Reporters;

/// What the program wants to be sent.
#[derive(Debug)]
pub(crate) enum Say {
    /// A request, with an id of the harness.
    Request(String, Option<Value>),
    /// A notification: it has no id, and must not be answered.
    Notification(String, Option<Value>),
    /// A text as it is, in place of a payload.
    Payload(String),
}

/// An order of the program, and where what comes of it is told.
pub(crate) struct Order {
    pub(crate) say: Say,
    pub(crate) done: std::sync::mpsc::Sender<Heard>,
}

/// What came of an order.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The step in the transcript.
    pub(crate) step: String,
    /// The answer, as scenarios see it.
    pub(crate) answer: Option<Value>,
    /// How the exchange ended.
    pub(crate) end: Exchange,
}

/// The case.
pub(crate) struct ByHand<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) transport: Transport,
    /// Its id.
    pub(crate) case: &'a str,
    /// The command that carries it out again.
    pub(crate) repro: &'a str,
}

impl ByHand<'_> {
    /// Brings the device up, says so, and carries out orders until there are no more.
    ///
    /// # Errors
    ///
    /// The bench could not do its part.
    pub(crate) async fn run(
        &self,
        reporters: &mut Reporters<'_>,
        mut orders: mpsc::UnboundedReceiver<Order>,
        ready: impl FnOnce(),
    ) -> Result<Vec<CaseReport>, RunError> {
        let plan = self.plan;
        let began = Instant::now();
        reporters.event(&Event::RunStarted(self.started()));
        // Nobody is there to interrupt it but the end of the whole program.
        let (_never, interrupt) = watch::channel(false);
        let opened = lane::open(plan, self.transport, interrupt).await;
        let (mut cases, mut firmware, mut facts) = (Vec::new(), None, None);
        let mut error = None;
        match opened {
            Err(why) => error = Some(why),
            Ok(mut session) => {
                let mut lane = Lane::new(plan, self.transport, reporters);
                match lane.bring_up(&mut session).await {
                    Err(why) => error = Some(why),
                    Ok(()) => {
                        ready();
                        self.converse(&mut session, &mut lane, &mut orders).await;
                        lane.close(&mut session).await;
                        facts = Some(session.recorder.without_secrets(&session.facts));
                    }
                }
                session.target.stop().await;
                session.recorder.flush();
                error = error.or(session.recorder.take_failure());
                firmware = lane.book.firmware().map(str::to_owned);
                cases = lane.book.into_cases();
            }
        }
        let mut tally = Tally::of_part(plan.ruling());
        cases.iter().for_each(|case| tally.case(case));
        if let Some(facts) = facts {
            let name = &plan.dut.name;
            tally.device(name, self.transport.name(), &facts.capabilities, firmware);
        }
        let mut summary = Summary {
            duts: 1,
            took_us: micros(began),
            bench_error: error.as_ref().map(ToString::to_string),
            folder: plan.folder.display().to_string(),
            ..tally.summary()
        };
        summary.exit = exit_code(&summary);
        reporters.event(&Event::RunFinished(summary));
        match error {
            Some(error) => Err(error),
            None => Ok(cases),
        }
    }

    async fn converse(
        &self,
        session: &mut Session,
        lane: &mut Lane<'_, '_>,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) {
        let began = Instant::now();
        session.begin_case(&self.case.into());
        let title = "What a program of its own said to the device";
        let mut report = lane.blank(self.case, title, None);
        report.repro = self.repro.to_owned();
        let mut steps = 0;
        while let Some(Order { say, done }) = orders.recv().await {
            steps += 1;
            let at: Arc<str> = steps.to_string().into();
            let end = exchange(session, lane, &at, say).await;
            session.drain_console();
            session.recorder.flush();
            let answer = session.judge.answer_view(&at);
            // Who no longer waits for it has been told enough.
            let _ = done.send(Heard {
                step: at.to_string(),
                answer,
                end,
            });
        }
        session.drain_console();
        report.took_us = micros(began);
        let outcome = session.judge.end_case(None, &session.facts);
        lane.book
            .finish(report, outcome, &self.plan.ruling(), lane.reporters);
    }

    fn started(&self) -> RunStarted {
        let plan = self.plan;
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        RunStarted {
            schema: SCHEMA,
            tool: crate::TOOL.into(),
            run: plan.run.clone(),
            started: plan.started.clone(),
            seed: plan.seed,
            strict: plan.strict,
            rules: words(&plan.rules),
            duts: vec![DutInfo {
                name: plan.dut.name.clone(),
                target: plan.dut.kind().to_owned(),
                transport: self.transport.name().into(),
                fidelity: plan.dut.stands_on(),
                level: plan.dut.fidelity().name().to_owned(),
                cannot_show: words(plan.dut.cannot_show()),
            }],
            cases: 3,
            basis: None,
            joined: Vec::new(),
        }
    }
}

/// Says one thing to the device, and waits for what it owes for it.
async fn exchange(
    session: &mut Session,
    lane: &mut Lane<'_, '_>,
    at: &Arc<str>,
    say: Say,
) -> Exchange {
    if session.link.is_none() {
        let again: Arc<str> = format!("{at}.again").into();
        if !session.reconnect(&again, &mut lane.dialing).await {
            return Exchange::Gone;
        }
    }
    let frame: Frame = match say {
        Say::Request(method, params) => session.request_frame(&method, params.as_ref()),
        Say::Notification(method, params) => {
            let payload = outbound::notification(&method, params.as_ref());
            session.envelope(&payload.to_string())
        }
        Say::Payload(text) => session.envelope(&text),
    };
    session
        .exchange(at, Role::Stimulus, frame, Manner::Plain)
        .await
}
