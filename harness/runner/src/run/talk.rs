//! Carrying out the orders of a program of its own, one by one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_boards::{Target, TargetError};
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::{Role, TargetEvent, What};
use mcp_hil_core::wire::{Frame, outbound};
use regex::Regex;
use tokio::sync::mpsc;

use super::dut_run::DutRun;
use super::interactive::{Act, Heard, Order, Say, Undone};
use super::log::ConsoleLog;
use super::session::{Exchange, Manner, Session};
use crate::plan::Plan;
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;

/// How often is looked, a millisecond apart, for connections that a device has opened before its end: all of
/// their bytes are there already.
const LAST_CONNECTIONS: usize = 10;

/// The conversation of one program with its device.
pub(super) struct Talk<'a, 'p, 'r> {
    plan: &'a Plan,
    session: &'a mut Session,
    dut_run: &'a mut DutRun<'p, 'r>,
    /// How many orders there were, which is the name of the last step.
    steps: u64,
    /// Whether it was started afresh, and has not connected since.
    is_fresh: bool,
    /// Whether its connection was taken from it, by whatever was done to it.
    was_left: bool,
}

impl<'a, 'p, 'r> Talk<'a, 'p, 'r> {
    pub(super) fn new(
        plan: &'a Plan,
        session: &'a mut Session,
        dut_run: &'a mut DutRun<'p, 'r>,
    ) -> Self {
        Self { plan, session, dut_run, steps: 0, is_fresh: false, was_left: false }
    }

    /// Serves the device until the next order. `None` when there are no more.
    pub(super) async fn idle(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Option<Order> {
        let at = beside(&self.at(), StepKind::Idle);
        let mut order = None;
        let next = async { order = orders.recv().await };
        self.session.serve(&at, &mut self.dut_run.dialing, next).await;
        self.session.count_anew();
        self.steps += 1;
        order
    }

    fn at(&self) -> Arc<str> {
        self.steps.to_string().into()
    }

    /// Says one thing to the device, and waits for what it owes for it.
    pub(super) async fn say(&mut self, say: Say) -> Heard {
        let at = self.at();
        let why = match self.exchange(&at, say).await {
            Ok(Exchange::Settled) => "none is owed".to_owned(),
            Ok(Exchange::Ignored) => {
                "the device answers other requests, but not this one".to_owned()
            }
            Ok(Exchange::Silent | Exchange::Doubtful) => {
                "the device no longer answers anything".to_owned()
            }
            Ok(Exchange::Gone) => {
                self.session.wait_for_exit().await;
                self.session.wait_for_port(true).await;
                match &self.session.bench.trouble {
                    Some(trouble) => trouble.clone(),
                    None => "the connection is gone".to_owned(),
                }
            }
            Ok(Exchange::Interrupted) => "the run was interrupted".to_owned(),
            Err(undone) => undone.what,
        };
        self.session.tell_of_audio();
        self.session.drain_console();
        self.session.transcript.recorder.flush();
        let answer = self.session.judge.answer_view(&at);
        let console = match answer {
            Some(_) => Vec::new(),
            None => self.tail(),
        };
        Heard { step: at.to_string(), answer, why, console }
    }

    async fn exchange(&mut self, at: &Arc<str>, say: Say) -> Result<Exchange, Undone> {
        self.connect(&beside(at, StepKind::Again)).await?;
        let opens = matches!(&say, Say::Request(method, _) if method == "initialize");
        if !self.session.connection.initialized && !opens {
            // On a connection of its own a device may insist on it, as each case of a run does for it.
            let end = self.session.initialize(&beside(at, StepKind::Initialize)).await;
            if !matches!(end, Exchange::Settled | Exchange::Ignored) {
                return Ok(end);
            }
        }
        let session = &mut *self.session;
        let frame: Frame = match say {
            Say::Request(method, params) => session.request_frame(&method, params.as_ref()),
            Say::Notification(method, params) => {
                let payload = outbound::notification(&method, params.as_ref());
                session.envelope(&payload.to_string())
            }
            Say::Payload(text) => session.envelope(&text),
        };
        let stimulus = session.exchange(at, Role::Stimulus, frame, Manner::Plain);
        Ok(stimulus.await)
    }

    /// Does something to the device.
    pub(super) async fn act(&mut self, act: Act) -> Result<(), Undone> {
        if let Some(trouble) = self.session.bench.trouble.clone() {
            return Err(self.undone(trouble, "fix the bench, and run the test again"));
        }
        let at = self.at();
        let done = match act {
            Act::Connect => self.connect(&at).await,
            Act::Disconnect => {
                self.leave("the test closes the connection");
                Ok(())
            }
            Act::Reset => self.reset(&at).await,
            Act::PowerCycle => match self.session.target.board() {
                None => self.reset(&at).await,
                Some(board) => {
                    if let Err(error) = board.check_cycle() {
                        return Err(self.failed(&error));
                    }
                    self.leave("the test cycles the power of the device");
                    self.console_begins_anew();
                    let done = match self.session.target.board() {
                        Some(board) => board.cycle_power().await,
                        None => Err(TargetError::NotOurs),
                    };
                    self.started(&at, done, "power cycled").await
                }
            },
            Act::PowerOff => self.power_off().await,
            Act::PowerOn => self.power_on(&at).await,
            Act::Trigger => self.trigger().await,
        };
        self.session.drain_console();
        self.session.transcript.recorder.flush();
        done
    }

    /// Starts the device afresh, by the gentlest means that does not need its help.
    async fn reset(&mut self, at: &Arc<str>) -> Result<(), Undone> {
        self.leave("the test resets the device");
        let target = &mut self.session.target;
        let done = match target {
            Target::Board(_) => {
                self.console_begins_anew();
                self.session.target.restart().await
            }
            Target::Process(_) => {
                target.stop().await;
                self.forget_connections().await;
                self.console_begins_anew();
                self.session.target.start().await
            }
            Target::Wait => target.restart().await,
        };
        self.started(at, done, "reset").await
    }

    async fn power_off(&mut self) -> Result<(), Undone> {
        if self.session.bench.is_off {
            return Ok(());
        }
        let board = self.session.target.board();
        if let Some(Err(error)) = board.map(|board| board.check_switch()) {
            return Err(self.failed(&error));
        }
        self.leave("the test switches the device off");
        let target = &mut self.session.target;
        let done = match target {
            Target::Board(board) => board.switch(false).await,
            Target::Process(_) => {
                target.stop().await;
                Ok(())
            }
            Target::Wait => Err(TargetError::NotOurs),
        };
        if let Err(error) = done {
            return Err(self.failed(&error));
        }
        self.session.tell_of_bench("the device was switched off".into());
        self.session.bench.is_off = true;
        self.forget_connections().await;
        Ok(())
    }

    /// Drops what the device dialed before its end: it may have dialed again at once when it was left.
    async fn forget_connections(&mut self) {
        for _ in 0..LAST_CONNECTIONS {
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.session.ports.endpoint.forget_waiting().await;
        }
    }

    async fn power_on(&mut self, at: &Arc<str>) -> Result<(), Undone> {
        if !self.session.bench.is_off {
            return Ok(());
        }
        self.console_begins_anew();
        let done = match &mut self.session.target {
            Target::Board(board) => board.switch(true).await,
            target => target.start().await,
        };
        self.started(at, done, "switched on").await
    }

    /// The device was started afresh, or was not.
    async fn started(
        &mut self,
        at: &Arc<str>,
        done: Result<(), TargetError>,
        how: &str,
    ) -> Result<(), Undone> {
        if let Err(error) = done {
            self.session.drain_console();
            return Err(self.failed(&error));
        }
        self.session.bench.is_off = false;
        self.is_fresh = true;
        self.session.tell_of_bench(format!("the device was {how} by the test"));
        let event = TargetEvent::Started;
        self.session.enter(Some(at), What::Target { event });
        // What dialed before it was restarted is not the device any more.
        self.session.ports.endpoint.forget_waiting().await;
        Ok(())
    }

    async fn trigger(&mut self) -> Result<(), Undone> {
        let none =
            "cannot trigger the device: expected a board with a `[board.trigger]` in its file";
        let hint = "without one it connects by itself, and `connect` waits for it";
        let done = match self.session.target.board() {
            Some(board) if board.is_triggered() => board.trigger().await,
            _ => return Err(self.undone(none.to_owned(), hint)),
        };
        match done {
            Ok(done) => {
                self.session.tell_of_bench(format!("trigger: {done}"));
                Ok(())
            }
            Err(why) => {
                let what = format!("cannot trigger the board: {why}");
                Err(self.undone(what, "see `[board.trigger]` in its file"))
            }
        }
    }

    /// Sees to it that the device is connected.
    async fn connect(&mut self, at: &Arc<str>) -> Result<(), Undone> {
        let is_fresh = std::mem::take(&mut self.is_fresh);
        if self.session.connection.link.is_some() {
            return Ok(());
        }
        if self.session.bench.is_off {
            return Err(self.undone("the device is switched off".into(), "call `power_on` first"));
        }
        let began = Instant::now();
        let (session, dialing) = (&mut *self.session, &mut self.dut_run.dialing);
        let is_up = match is_fresh {
            // It boots, joins its network and all that.
            true => session.connect(at, dialing, dialing.deadline).await,
            false => session.reconnect(at, dialing).await,
        };
        if is_up {
            return Ok(());
        }
        let what = match &self.session.bench.trouble {
            Some(trouble) => trouble.clone(),
            None => format!(
                "the device did not reconnect within {:.1} s",
                began.elapsed().as_secs_f64()
            ),
        };
        let lines = self.lines();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let hint = self.plan.dut.how_to_connect(self.session.transport, &lines);
        Err(self.undone(what, hint))
    }

    /// Waits until the console shows a line that was not looked at before.
    pub(super) async fn wait_for_line(
        &mut self,
        pattern: &Regex,
        patience: Duration,
    ) -> Result<String, Undone> {
        let (began, at) = (Instant::now(), self.at());
        loop {
            self.session.drain_console();
            let found = self.session.log.as_mut().and_then(|log| log.find(pattern));
            if let Some(line) = found {
                return Ok(line);
            }
            let why = match (&self.session.bench.trouble, self.session.target.is_running()) {
                (Some(trouble), _) => trouble.clone(),
                (None, Some(false)) if self.session.bench.is_off => {
                    "the device is switched off".to_owned()
                }
                (None, Some(false)) => "the device's process has ended".to_owned(),
                _ if began.elapsed() >= patience => {
                    format!("none was received within {} s", patience.as_secs_f64())
                }
                _ => {
                    let held = self.session.log.as_ref().and_then(ConsoleLog::held);
                    let end = began + patience;
                    let look = held.filter(|held| *held > Instant::now());
                    let until = look.map_or(end, |look| look.min(end));
                    let until = tokio::time::sleep_until(until.into());
                    let dialing = &mut self.dut_run.dialing;
                    self.session.serve_once(&at, dialing, until).await;
                    continue;
                }
            };
            self.session.transcript.recorder.flush();
            let what = format!("no console line matches `{pattern}`: {why}");
            let hint = "each line is looked at only once, and lines from before a reset are \
                        skipped; all lines are in `console.log` in the run's folder";
            return Err(self.undone(what, hint));
        }
    }

    /// All lines of the console.
    pub(super) fn lines(&mut self) -> Vec<String> {
        self.session.drain_console();
        let log = self.session.log.as_ref();
        log.map(|log| log.lines()).unwrap_or_default()
    }

    /// Leaves the device as it was found: switched on, and connected where it can be asked to put its
    /// settings back.
    pub(super) async fn end(mut self) {
        let at = beside(&self.at(), StepKind::End);
        if self.session.bench.is_off {
            // What comes of it shows when it does not connect.
            let _ = self.power_on(&at).await;
        }
        if self.was_left && self.connect(&at).await.is_ok() && !self.session.connection.initialized
        {
            let _ = self.session.initialize(&beside(&at, StepKind::Initialize)).await;
        }
        self.session.tell_of_audio();
        self.session.drain_console();
    }

    fn leave(&mut self, why: &str) {
        self.session.drain_console();
        self.session.drop_link(why);
        self.was_left = true;
    }

    /// Lines of the life before count for nothing that is expected from now on. Of a program all of them are
    /// there when it has ended; of a board some are still on their way.
    fn console_begins_anew(&mut self) {
        self.session.drain_console();
        let is_board = self.session.target.board().is_some();
        if let Some(log) = &mut self.session.log {
            match is_board {
                true => log.pass_over_to_boot(),
                false => log.pass_over(),
            }
        }
    }

    fn tail(&self) -> Vec<String> {
        let log = self.session.log.as_ref();
        log.map(|log| log.tail()).unwrap_or_default()
    }

    fn failed(&self, error: &TargetError) -> Undone {
        let UserError { what, hint, .. } = UserError::from_below(exit::BENCH, error);
        self.undone(what, hint.as_deref().unwrap_or("fix the bench, and run the test again"))
    }

    fn undone(&self, what: String, hint: &str) -> Undone {
        Undone { what, hint: hint.to_owned(), console: self.tail() }
    }
}
