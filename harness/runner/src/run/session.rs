//! One session with one device: its target, endpoint and link, with the recorder and the judge
//! that see all of it.
//!
//! Every event of link and target becomes an entry of the transcript first and is judged and acted upon
//! afterwards, so that a replay sees what the run saw.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_boards::Target;
use mcp_hil_core::conversation::Conversation;
use mcp_hil_core::transcript::{Entry, Mark, MqttNote, Part, Role, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::{CaseOutcome, Judge, Seen};
use mcp_hil_scenario::Case;
use serde_json::Value;
use tokio::sync::watch;

use super::RunError;
use super::flights::Flights;
use super::log::ConsoleLog;
use super::rate::Rate;
use super::recorder::Recorder;
use super::settings::Settings;
use super::settle::Settling;
use super::state::{
    BenchState, Connection, KnownDevice, LOOKS, Patience, Ports, Received, Terms, Transcript,
};
use crate::random::Random;

/// The same once a line was missing.
const CONSOLE_PATIENCE_AGAIN: Duration = Duration::from_secs(1);

/// The same once one was missing.
const ACKNOWLEDGEMENT_PATIENCE_AGAIN: Duration = Duration::from_secs(1);

/// How long the end of a connection that was not kept alive is waited for, at most, beyond twice
/// the keep-alive.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(5);

/// How the exchange over a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exchange {
    /// The message was answered, or its silence is proven.
    Settled,
    /// A good request was not answered; the device answers others.
    Ignored,
    /// The device answers nothing any more.
    Silent,
    /// What was in flight together did not come back as it should: it is to be tried alone.
    Doubtful,
    /// The link is gone, or the device with it.
    Gone,
    /// The user wants to stop.
    Interrupted,
}

/// The data of a ping between two pieces of a message.
const PING_BETWEEN: &[u8] = b"mcp-hil between";

/// In which manner a frame is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As one unit.
    Plain,
    /// In pieces of so many bytes.
    Pieces(usize),
    /// The same with a ping after the first piece, where the transport has pings.
    PiecesAroundPing(usize),
    /// In pieces of so many bytes and an empty one behind them.
    PiecesAndNothing(usize),
    /// In TCP segments that end anywhere in it.
    Segments,
    /// With the transport's own acknowledgement, where it has one, and perhaps as if it were sent again.
    Acknowledged { dup: bool },
}

/// What came next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Seen(Seen),
    Gone,
    Deadline,
    Interrupted,
}

/// One session.
pub(super) struct Session {
    pub(super) target: Target,
    pub(super) ports: Ports,
    pub(super) transport: Transport,
    pub(super) random: Random,
    pub(super) judge: Judge,
    pub(super) conversation: Conversation,
    pub(super) settling: Settling,
    pub(super) flights: Flights,
    pub(super) rate: Rate,
    pub(super) connection: Connection,
    pub(super) device: KnownDevice,
    pub(super) terms: Terms,
    pub(super) transcript: Transcript,
    pub(super) received: Received,
    pub(super) patience: Patience,
    pub(super) bench: BenchState,
    /// Lines of the console, for programs of their own that look at them.
    pub(super) log: Option<ConsoleLog>,
    pub(super) interrupt: watch::Receiver<bool>,
}

impl Session {
    pub(super) fn new(
        transport: Transport,
        target: Target,
        ports: Ports,
        random: Random,
        recorder: Recorder,
        deadline: Duration,
        interrupt: watch::Receiver<bool>,
    ) -> Self {
        Self {
            target,
            ports,
            transport,
            random,
            judge: Judge::new(),
            conversation: Conversation::new(deadline),
            settling: Settling::default(),
            flights: Flights::default(),
            rate: Rate::default(),
            connection: Connection::default(),
            device: KnownDevice::default(),
            terms: Terms::default(),
            transcript: Transcript::new(recorder),
            received: Received::default(),
            patience: Patience::default(),
            bench: BenchState::default(),
            log: None,
            interrupt,
        }
    }

    /// Ends the device and gives the ports back: when this returns, the next session can listen on them.
    /// Gives what kept the recorder from writing, if anything did.
    pub(super) async fn end(mut self) -> Option<RunError> {
        self.target.stop().await;
        drop(self.connection.link.take());
        self.ports.close().await;
        self.transcript.recorder.flush();
        self.transcript.recorder.take_failure()
    }

    /// Ends the case, or the part of it, that runs. Its transcript is in its file before anybody is told what it came to.
    pub(super) fn end_case(&mut self, case: Option<&Case>) -> CaseOutcome {
        self.transcript.recorder.flush();
        self.judge.end_case(case, &self.device.facts)
    }

    /// Turns to a case.
    pub(super) fn begin_case(&mut self, case: &Arc<str>) {
        self.transcript.case = case.clone();
        self.start_counting();
        self.patience.looks = LOOKS;
        self.transcript.recorder.begin_case(case);
        self.judge.begin_case(case);
        super::bug::put_in(case);
    }

    /// Turns to the second attempt at a case, with each message alone and from the same settings.
    pub(super) async fn begin_alone(&mut self, settings: &Settings) {
        self.start_counting();
        self.judge.begin_case(&self.transcript.case);
        self.mark(&"alone".into(), Mark::Alone);
        // What a message has changed it does not change again.
        if self.connection.link.is_some() && self.connection.initialized {
            self.put_back(settings, "alone.settings").await;
        }
    }

    /// Counts anew what a device may send unasked. A case of somebody's own program has no end in sight.
    pub(super) fn count_anew(&mut self) {
        self.received.count_anew();
    }

    /// Turns to the next part of a generated case.
    pub(super) fn begin_part(&mut self, part: Part, scenario: String) {
        self.start_counting();
        self.judge.begin_case(&self.transcript.case);
        let mark = Mark::Generated { part, scenario };
        self.enter(None, What::Mark { mark });
    }

    fn start_counting(&mut self) {
        self.received.count_anew();
        (self.bench.crashed, self.bench.spoilt) = (false, false);
    }

    /// Enters something into the transcript, and judges it.
    pub(super) fn enter(&mut self, step: Option<&Arc<str>>, what: What) -> (u64, Seen) {
        let mut entry = Entry {
            seq: self.transcript.seq,
            at_us: u64::try_from(self.transcript.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            case: self.transcript.case.clone(),
            step: step.cloned(),
            what,
        };
        self.transcript.seq += 1;
        self.transcript.recorder.scrub(&mut entry);
        self.transcript.recorder.write(&entry);
        let seq = entry.seq;
        let seen = self.judge.observe(entry);
        self.received.unmatched += u64::from(seen == Seen::Unmatched);
        (seq, seen)
    }

    /// Adds a remark at a step.
    pub(super) fn mark(&mut self, step: &Arc<str>, mark: Mark) {
        self.enter(Some(step), What::Mark { mark });
    }

    /// Whether the user wants to stop.
    pub(super) fn is_interrupted(&self) -> bool {
        *self.interrupt.borrow()
    }

    /// A request inside its envelope.
    pub(super) fn request_frame(&mut self, method: &str, params: Option<&Value>) -> Frame {
        let id = self.conversation.fresh_id().into();
        self.envelope(&outbound::request(&id, method, params).to_string())
    }

    /// A payload inside its envelope.
    pub(super) fn envelope(&self, payload: &str) -> Frame {
        Frame::Text(outbound::envelope(&self.connection.session_id, payload))
    }

    /// Sends a frame and records it. `None` when the link is gone.
    pub(super) async fn send(
        &mut self,
        at: &Arc<str>,
        role: Role,
        frame: Frame,
        manner: Manner,
    ) -> Option<u64> {
        if matches!(manner, Manner::Acknowledged { .. }) && self.transport == Transport::Mqtt {
            let note = MqttNote::AckWanted;
            self.enter(Some(at), What::Mqtt { note });
            self.connection.unacknowledged += 1;
        }
        if matches!(manner, Manner::PiecesAroundPing(_)) && self.transport == Transport::WebSocket {
            let ping = Frame::Ping(PING_BETWEEN.to_vec());
            self.enter(None, What::Sent { role: Role::Probe, frame: ping });
        }
        if let Some(next) = self.rate.next() {
            tokio::time::sleep_until(next.into()).await;
        }
        let link = self.connection.link.as_mut()?;
        let sent = match (&frame, manner) {
            (Frame::Text(_) | Frame::Binary(_), Manner::Pieces(bytes)) => {
                link.send_fragments(&frame, bytes, None).await
            }
            (Frame::Text(_) | Frame::Binary(_), Manner::PiecesAroundPing(bytes)) => {
                link.send_fragments(&frame, bytes, Some(PING_BETWEEN)).await
            }
            (Frame::Text(_) | Frame::Binary(_), Manner::PiecesAndNothing(bytes)) => {
                link.send_with_empty_end(&frame, bytes).await
            }
            (_, Manner::Segments) => link.send_in_segments(&frame).await,
            (_, Manner::Acknowledged { dup }) => link.send_acknowledged(&frame, dup).await,
            _ => link.send(&frame).await,
        };
        // A frame that did not go out whole was still meant to: the loss is the next entry.
        let (seq, _) = self.enter(Some(at), What::Sent { role, frame });
        self.connection.unheard = Some(Instant::now());
        self.note_id(role);
        if let Err(lost) = sent {
            self.lost(lost);
            return None;
        }
        Some(seq)
    }

    /// Takes in whatever comes for a while.
    pub(super) async fn listen(&mut self, at: &Arc<str>, time: Duration) -> Exchange {
        let until = Instant::now() + time;
        loop {
            match self.next(Some(at), until).await {
                Next::Deadline => return Exchange::Settled,
                Next::Gone => return Exchange::Gone,
                Next::Interrupted => return Exchange::Interrupted,
                Next::Seen(_) => {}
            }
        }
    }

    /// Waits until something of the wanted kind was seen. `None` at the deadline or the end.
    pub(super) async fn wait_for(
        &mut self,
        at: &Arc<str>,
        until: Instant,
        mut wanted: impl FnMut(Seen) -> bool,
    ) -> bool {
        loop {
            match self.next(Some(at), until).await {
                Next::Seen(seen) if wanted(seen) => return true,
                Next::Seen(_) => {}
                _ => return false,
            }
        }
    }

    /// Waits until the device has acknowledged what was sent to it so: it may do so after it has
    /// answered.
    pub(super) async fn wait_for_acknowledgement(&mut self, at: &Arc<str>) {
        let until = Instant::now() + self.patience.acknowledgement;
        while self.connection.unacknowledged > 0 {
            let seen = |seen| seen == Seen::Acknowledged;
            if !self.wait_for(at, until, seen).await {
                self.patience.acknowledgement = ACKNOWLEDGEMENT_PATIENCE_AGAIN;
                return;
            }
        }
    }

    /// Waits for the pong to a ping between other things: it is sent as soon as is practical (RFC 6455, section
    /// 5.5.2), which may be after what follows.
    pub(super) async fn wait_for_pong(&mut self, at: &Arc<str>) {
        if self.judge.waits_for_pong() {
            let until = Instant::now() + self.conversation.patience();
            self.wait_for(at, until, |seen| seen == Seen::Pong).await;
        }
    }

    /// Says nothing until the device sends what it promised in its CONNECT. The endpoint ends the
    /// connection of one that does not.
    pub(super) async fn wait_for_keep_alive(&mut self, at: &Arc<str>) {
        if let Some(seconds) = self.connection.keep_alive {
            let longest = Duration::from_secs(u64::from(seconds) * 2) + KEEP_ALIVE_PATIENCE;
            let until = Instant::now() + longest;
            self.wait_for(at, until, |seen| seen == Seen::KeptAlive).await;
        }
    }

    /// Waits until a console line of this case satisfies the test.
    pub(super) async fn wait_for_console(&mut self, at: &Arc<str>, test: &regex::Regex) {
        let until = Instant::now() + self.patience.console;
        while !self.judge.console_lines().any(|line| test.is_match(line)) {
            match self.next(Some(at), until).await {
                Next::Seen(_) => {}
                Next::Deadline => {
                    // A console that lacks one line in time is slow, or silent: shorter waits do.
                    self.patience.console = CONSOLE_PATIENCE_AGAIN;
                    return;
                }
                Next::Gone | Next::Interrupted => return,
            }
        }
    }
}
