//! A case that somebody's own program carries out, order by order, in place of a scenario.
//!
//! Everything else is as in a run: the device is brought up and closed, every entry is recorded and judged
//! as it comes. Nothing is tried a second time: only the program knows what its steps are for. Between two
//! orders the device is served all the same, however long the program takes.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use mcp_hil_core::transport::Transport;
use regex::Regex;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::dut_run::{DutRun, DutRunEnd, micros};
use super::log::ConsoleLog;
use super::open::open;
use super::session::Session;
use super::talk::Talk;
use super::{Demands, Driver, RunError, notice_of_device};
use crate::plan::Plan;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::CaseReport;

/// What the program wants to be sent.
#[derive(Debug)]
pub enum Say {
    /// A request, with an id of the harness.
    Request(String, Option<Value>),
    /// A notification: it has no id, and must not be answered.
    Notification(String, Option<Value>),
    /// A text as it is, in place of a payload.
    Payload(String),
}

/// What the program wants to be done to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It is started afresh.
    Reset,
    /// Its power is taken away.
    PowerOff,
    /// Its power is given back.
    PowerOn,
    /// Its power is taken away and given back.
    PowerCycle,
    /// What makes it dial is done.
    Trigger,
    /// Its connection is dropped.
    Disconnect,
    /// It is waited for, where it is not connected.
    Connect,
}

/// An order of the program, and where what comes of it is told.
#[derive(Debug)]
pub enum Order {
    /// To say something.
    Say(Say, Sender<Heard>),
    /// To do something.
    Do(Act, Sender<Result<(), Undone>>),
    /// To wait for a line of the console.
    Await(Regex, Duration, Sender<Result<String, Undone>>),
    /// To tell all lines of the console.
    Tell(Sender<Vec<String>>),
}

/// What came of a message.
#[derive(Debug)]
pub struct Heard {
    /// The step in the transcript.
    pub step: String,
    /// The answer, as scenarios see it.
    pub answer: Option<Value>,
    /// Why there is none, where there is none.
    pub why: String,
    /// What was on the console last, where there is none.
    pub console: Vec<String>,
}

/// Why something that was wanted did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// What failed, what was expected and what came.
    pub what: String,
    /// The hint for the user.
    pub hint: String,
    /// What was on the console last.
    pub console: Vec<String>,
}

/// The case.
pub struct Interactive<'a> {
    /// What is started, and how.
    pub plan: &'a Plan,
    /// The transport over which it is talked to.
    pub transport: Transport,
    /// Its id.
    pub case: &'a str,
    /// The command that carries it out again.
    pub repro: &'a str,
}

impl Interactive<'_> {
    /// Brings the device up, says so, and carries out orders until there are no more.
    ///
    /// # Errors
    ///
    /// The bench could not do its part.
    pub async fn run(
        &self,
        reporters: &mut Reporters<'_>,
        mut orders: mpsc::UnboundedReceiver<Order>,
        ready: impl FnOnce(),
    ) -> Result<Vec<CaseReport>, RunError> {
        let (plan, transport) = (self.plan, self.transport);
        // The cases around it, and itself.
        let started = plan.started(&[transport], 3);
        let demands = Demands { is_part: true, ..Demands::default() };
        let folder = plan.folder.display().to_string();
        let mut driver = Driver::begin(started, plan.policy(), demands, folder, reporters);
        notice_of_device(plan, reporters);
        let end = self.dut_run(reporters, &mut orders, ready).await;
        let error = driver.dut_run(&plan.dut.name, transport.name(), end);
        let cases = driver.cases().to_vec();
        driver.finish(reporters);
        match error {
            Some(error) => Err(error),
            None => Ok(cases),
        }
    }

    /// The device from its start to its end.
    async fn dut_run(
        &self,
        reporters: &mut Reporters<'_>,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        ready: impl FnOnce(),
    ) -> DutRunEnd {
        let mut end = DutRunEnd::default();
        // Nobody is there to interrupt it but the end of the whole program.
        let (_never, interrupt) = watch::channel(false);
        let mut session = match open(self.plan, self.transport, interrupt, None).await {
            Ok(session) => session,
            Err(error) => {
                end.error = Some(error);
                return end;
            }
        };
        session.log = Some(ConsoleLog::default());
        let mut dut_run = DutRun::new(self.plan, self.transport, reporters);
        match dut_run.bring_up(&mut session).await {
            Err(error) => end.error = Some(error),
            Ok(()) => {
                ready();
                self.converse(&mut session, &mut dut_run, orders).await;
                dut_run.close(&mut session).await;
                let recorder = &session.transcript.recorder;
                end.facts = Some(recorder.without_secrets(&session.device.facts));
            }
        }
        dut_run.end(session, end, None).await
    }

    async fn converse(
        &self,
        session: &mut Session,
        dut_run: &mut DutRun<'_, '_>,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) {
        let began = Instant::now();
        session.begin_case(&self.case.into());
        let title = "What a separate program sent to the device";
        let mut report = dut_run.blank(self.case, title, None);
        report.repro = self.repro.to_owned();
        let mut talk = Talk::new(self.plan, &mut *session, &mut *dut_run);
        while let Some(order) = talk.idle(orders).await {
            // Who no longer waits for it has been told enough.
            match order {
                Order::Say(say, done) => drop(done.send(talk.say(say).await)),
                Order::Do(act, done) => drop(done.send(talk.act(act).await)),
                Order::Await(pattern, patience, done) => {
                    drop(done.send(talk.wait_for_line(&pattern, patience).await));
                }
                Order::Tell(done) => drop(done.send(talk.lines())),
            }
        }
        talk.end().await;
        report.took_us = micros(began);
        let mut outcome = session.end_case(None);
        // What was found before a board stayed dead stands; without a finding nothing was shown.
        outcome.not_carried_out = outcome.not_carried_out.or_else(|| session.bench.trouble.clone());
        dut_run.case_reports.finish(report, outcome, &self.plan.policy(), dut_run.reporters);
    }
}
