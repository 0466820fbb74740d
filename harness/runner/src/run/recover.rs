//! Bringing a board back, and making it dial.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_boards::board::ladder::Step;
use mcp_hil_boards::{Target, TargetOutput};
use mcp_hil_core::transcript::{Mark, Role, TargetEvent, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, outbound};

use super::link::{Dialing, OBEYS};
use super::session::{Manner, Next, Session};

/// How often a board is made to dial before something else is tried.
const PULLS: usize = 3;

/// How long it may take to dial: ten seconds for each of two answers of the server, and the time to look
/// it up (device-protocol 2.3).
const DIALS: Duration = Duration::from_secs(15);

/// How long after the loss of its connection a board's port may show that the board is gone.
const NOTICE: Duration = Duration::from_secs(1);

/// The tries to make a board dial that are left.
pub(super) struct Pulls {
    left: usize,
    next: Instant,
}

impl Pulls {
    /// Ready when the board is to be made to dial; for ever pending when it is not.
    pub(super) fn ready(&self, target: &mut Target) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let board = target.board().filter(|_| self.left > 0);
        let Some(board) = board else {
            return Box::pin(std::future::pending());
        };
        let (may, next) = (board.may_be_triggered(), self.next);
        Box::pin(async move {
            tokio::time::sleep_until(next.into()).await;
            may.await;
        })
    }
}

impl Session {
    /// Whether the device dials only when it is made to. Over MQTT all do by themselves.
    pub(super) fn is_pulled(&mut self) -> bool {
        let over = self.transport == Transport::WebSocket;
        over && self.target.board().is_some_and(|board| board.is_triggered())
    }

    /// As many tries as there are.
    pub(super) fn pulls(&mut self) -> Pulls {
        Pulls { left: if self.is_pulled() { PULLS } else { 0 }, next: Instant::now() }
    }

    /// Makes the board dial.
    pub(super) async fn pull(&mut self, pulls: &mut Pulls) {
        let Some(board) = self.target.board() else {
            return;
        };
        let text = match board.trigger().await {
            Ok(done) => format!("trigger: {done}"),
            Err(why) => format!("trigger: {why}"),
        };
        self.tell_of_bench(text);
        pulls.left -= 1;
        pulls.next = Instant::now() + DIALS;
    }

    /// Waits for a port that went away, so that what was seen without it is charged to the bench when it
    /// does not come back. The connection of a board that is unplugged may be lost before that shows at its
    /// port; after such a loss this takes a moment longer.
    pub(super) async fn wait_for_port(&mut self, lost: bool) {
        let until = Instant::now() + if lost { NOTICE } else { Duration::ZERO };
        while self.target.board().is_some_and(|board| board.is_well()) && Instant::now() < until {
            tokio::select! {
                output = self.target.next() => {
                    self.output(output);
                }
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
        while self.target.board().is_some_and(|board| board.is_away()) {
            let output = self.target.next().await;
            self.output(output);
        }
        self.drain_console();
    }

    /// Waits until it is known whose doing it was that the device is gone, or has answered less than when it had missed
    /// so many answers: that has to be known before it is judged.
    pub(super) async fn wait_for_reason(&mut self, missed: u32) {
        let is_gone = self.connection.link.is_none();
        if is_gone {
            self.wait_for_exit().await;
            self.wait_for_port(true).await;
        }
        if is_gone || self.conversation.misses() > missed {
            self.suspect_bench();
        }
    }

    /// Looks whether the bench has broken where a device seems to have: what was seen without it is then charged to the
    /// bench. A network, a broker or a process that stands still shows at no port.
    pub(super) fn suspect_bench(&mut self) {
        if self.bench.spoilt || self.bench.trouble.is_some() {
            return;
        }
        if let Err(why) = std::fs::File::open("/dev/null") {
            self.output(TargetOutput::Trouble(format!(
                "this program can open nothing more: {why}"
            )));
        } else if let Some(why) = self.target.stopped() {
            self.output(TargetOutput::Lost { why, by_reset: false });
        } else if let Some(what) = self.ports.endpoint.trouble() {
            self.output(TargetOutput::Trouble(what));
        }
    }

    /// Starts the board afresh and waits for it to dial, by one means after the other.
    pub(super) async fn recover(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> bool {
        self.wait_for_port(false).await;
        let soft = self.connection.link.is_some();
        let ladder = self.target.board().map(|board| board.ladder(soft));
        let mut tried = Vec::new();
        for step in ladder.unwrap_or_default() {
            if self.is_interrupted() || self.bench.trouble.is_some() {
                return false;
            }
            self.drain_console();
            let done = match step {
                Step::Soft => self.obeys(at).await,
                _ => {
                    self.drop_link("the device is restarted");
                    self.climb(step).await
                }
            };
            if let Err(why) = done {
                self.tell_of_bench(format!("the board was not {}: {why}", step.told()));
                continue;
            }
            tried.push(step.told());
            self.tell_of_bench(format!("the board was {}", step.told()));
            self.enter(Some(at), What::Target { event: TargetEvent::Started });
            self.ports.endpoint.forget_waiting().await;
            if self.connect(at, dialing, dialing.deadline).await {
                return true;
            }
        }
        if self.is_interrupted() || self.bench.trouble.is_some() {
            return false;
        }
        if self.bench.taken && tried.is_empty() {
            // With its power came a boot, or it has a battery.
            self.tell_of_bench("the board cannot be reset, and is tested as it is".to_owned());
            // It may have dialed with the last of its power.
            self.ports.endpoint.forget_waiting().await;
            if self.connect(at, dialing, dialing.deadline).await {
                return true;
            }
        }
        if !self.is_interrupted() && self.bench.trouble.is_none() {
            self.is_dead(at, &tried);
        }
        false
    }

    async fn climb(&mut self, step: Step) -> Result<(), String> {
        match self.target.board() {
            Some(board) => board.climb(step).await,
            None => Err("it is not a board".to_owned()),
        }
    }

    /// Tells the device to restart, over the link, and waits until it has gone.
    async fn obeys(&mut self, at: &Arc<str>) -> Result<(), String> {
        let frame = Frame::Text(outbound::system(&self.connection.session_id, "reboot"));
        let sent = self.send(at, Role::Probe, frame, Manner::Plain).await;
        let until = Instant::now() + OBEYS.max(self.conversation.fence_patience());
        while sent.is_some() {
            match self.next(Some(at), until).await {
                Next::Seen(_) => {}
                Next::Gone => break,
                Next::Deadline | Next::Interrupted => {
                    self.drop_link("the device is restarted");
                    return Err("it did not obey".to_owned());
                }
            }
        }
        Ok(())
    }

    /// Nothing more can be done. What was found until now stands; the rest says nothing about the device.
    fn is_dead(&mut self, at: &Arc<str>, tried: &[&str]) {
        let tried = match tried {
            [] => "there is no way to restart it".to_owned(),
            tried => format!("it was {}, and did not connect", tried.join(", ")),
        };
        let what = format!("the board stays dead: {tried}");
        self.mark(at, Mark::NoLink { waited_ms: 0 });
        // In the transcript, or a replay would not know why the case has no verdict.
        let event = TargetEvent::Trouble(what.clone());
        self.enter(None, What::Target { event });
        self.bench.trouble = Some(what);
    }
}
