//! One session with one device: its target, endpoint and link, with the recorder and the judge
//! that see all of it.
//!
//! Every event of the rig becomes an entry of the transcript first and is judged and acted upon
//! afterwards, so that a replay sees what the run saw.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::Facts;
use mcp_hil_core::check::{Judge, Seen, side};
use mcp_hil_core::conversation::Conversation;
use mcp_hil_core::identity::Identity;
use mcp_hil_core::obligation::Owes;
use mcp_hil_core::transcript::{Entry, Mark, MqttNote, Part, Role, Transport, What};
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_rig::{AudioSink, Endpoint, HttpServer, Link, Target};
use serde_json::Value;
use tokio::sync::watch;

use super::recorder::Recorder;
use crate::random::Random;

/// How long a console line is waited for: it crosses another channel than the answer did.
const CONSOLE_PATIENCE: Duration = Duration::from_secs(2);

/// How long the acknowledgement of a message is waited for once it is answered.
const ACKNOWLEDGEMENT_PATIENCE: Duration = Duration::from_secs(3);

/// How long the answer to a message is waited for that need not be answered, once its fence is.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// How long the end of a connection that was not kept alive is waited for, at most, beyond twice
/// the keep-alive.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(5);

/// How the exchange over a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// The message was answered, or its silence is proven.
    Settled,
    /// A good request was not answered; the device answers others.
    Ignored,
    /// The device answers nothing any more.
    Silent,
    /// The link is gone, or the device with it.
    Gone,
    /// The user wants to stop.
    Interrupted,
}

/// In which manner a frame is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As one unit.
    Plain,
    /// In pieces of so many bytes.
    Pieces(usize),
    /// With the transport's own acknowledgement, where it has one.
    Acknowledged,
}

/// What came next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Seen(Seen),
    Gone,
    Deadline,
    Interrupted,
}

/// Where the harness listens in a session.
pub(crate) struct Ports {
    pub(crate) endpoint: Endpoint,
    pub(crate) http: HttpServer,
    pub(crate) audio: Option<AudioSink>,
}

/// One session.
pub(crate) struct Session {
    pub(crate) target: Target,
    pub(crate) endpoint: Endpoint,
    /// Where the device asks for its configuration and sends its pictures.
    pub(crate) http: HttpServer,
    /// Where it sends its audio, over MQTT.
    pub(crate) audio: Option<AudioSink>,
    pub(crate) random: Random,
    /// Variables for scenarios that are known before the device is.
    pub(crate) told_variables: Vec<(&'static str, String)>,
    /// Packets of audio that the transcript tells of.
    pub(super) audio_told: u64,
    /// What the device said of itself when it asked for its configuration.
    pub(crate) identity: Option<Identity>,
    pub(crate) link: Option<Link>,
    pub(crate) judge: Judge,
    pub(crate) conversation: Conversation,
    pub(crate) recorder: Recorder,
    pub(crate) facts: Facts,
    /// The ordinary tools, as the device listed them when it got known.
    pub(crate) tools: Vec<Value>,
    /// What its status told then.
    pub(crate) status: Option<Value>,
    /// `serverInfo` of the first `initialize` answer.
    pub(crate) server: Option<(String, String)>,
    pub(crate) transport: Transport,
    /// The id of the running session; empty until the server's hello was sent.
    pub(crate) session_id: String,
    /// The id that the server's next hello gives.
    pub(crate) next_session_id: String,
    /// Whether a device has ever connected.
    pub(crate) connected: bool,
    /// What broke on the bench for good, if anything did.
    pub(crate) trouble: Option<String>,
    /// Why one was turned away, if it was: for its password, or for how it asked for its configuration.
    pub(crate) refused: Option<&'static str>,
    /// Whether it said hello on its latest connection.
    pub(crate) says_hello: bool,
    /// The keep-alive that it promised, in seconds; none over WebSocket.
    pub(crate) keep_alive: Option<u16>,
    /// Whether the device has got its configuration.
    pub(crate) bootstrapped: bool,
    /// Whether the device was told what to present over MQTT.
    pub(crate) told: bool,
    /// Whether it is a board, or may be one.
    pub(crate) silicon: bool,
    /// Whether `initialize` was sent on this link.
    pub(crate) initialized: bool,
    /// Whether the console told of a panic or reset in this case.
    pub(crate) crashed: bool,
    /// Whether a console is attached, and whether it shows tagged lines and the boot's tool list.
    pub(crate) console: (bool, bool, bool),
    pub(super) console_patience: Duration,
    pub(super) acknowledgement_patience: Duration,
    /// Messages of this link whose acknowledgement has not come yet.
    pub(super) unacknowledged: usize,
    pub(super) began: Instant,
    pub(super) seq: u64,
    pub(super) case: Arc<str>,
    pub(super) unasked: usize,
    pub(super) bytes: usize,
    pub(super) lines: usize,
    pub(super) interrupt: watch::Receiver<bool>,
}

impl Session {
    pub(crate) fn new(
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
            endpoint: ports.endpoint,
            http: ports.http,
            audio: ports.audio,
            audio_told: 0,
            told_variables: Vec::new(),
            random,
            identity: None,
            link: None,
            judge: Judge::new(),
            conversation: Conversation::new(deadline),
            recorder,
            facts: Facts::default(),
            tools: Vec::new(),
            status: None,
            server: None,
            transport,
            session_id: String::new(),
            next_session_id: String::new(),
            connected: false,
            trouble: None,
            refused: None,
            says_hello: false,
            keep_alive: None,
            bootstrapped: false,
            told: false,
            silicon: false,
            initialized: false,
            crashed: false,
            console: (false, false, false),
            console_patience: CONSOLE_PATIENCE,
            acknowledgement_patience: ACKNOWLEDGEMENT_PATIENCE,
            unacknowledged: 0,
            began: Instant::now(),
            seq: 0,
            case: "".into(),
            unasked: 0,
            bytes: 0,
            lines: 0,
            interrupt,
        }
    }

    /// Turns to a case.
    pub(crate) fn begin_case(&mut self, case: &Arc<str>) {
        self.case = case.clone();
        (self.unasked, self.bytes, self.lines, self.crashed) = (0, 0, 0, false);
        self.recorder.begin_case(case);
        self.judge.begin_case(case);
    }

    /// Turns to the next part of a generated case.
    pub(crate) fn begin_part(&mut self, part: Part, scenario: String) {
        (self.unasked, self.bytes, self.lines, self.crashed) = (0, 0, 0, false);
        self.judge.begin_case(&self.case);
        let mark = Mark::Generated { part, scenario };
        self.enter(None, What::Mark { mark });
    }

    /// Enters something into the transcript, and judges it.
    pub(crate) fn enter(&mut self, step: Option<&Arc<str>>, what: What) -> (u64, Seen) {
        let mut entry = Entry {
            seq: self.seq,
            at_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            case: self.case.clone(),
            step: step.cloned(),
            what,
        };
        self.seq += 1;
        self.recorder.scrub(&mut entry);
        self.recorder.write(&entry);
        let seq = entry.seq;
        (seq, self.judge.observe(entry))
    }

    /// Adds a remark at a step.
    pub(crate) fn mark(&mut self, step: &Arc<str>, mark: Mark) {
        self.enter(Some(step), What::Mark { mark });
    }

    /// Whether the user wants to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        *self.interrupt.borrow()
    }

    /// A request inside its envelope.
    pub(crate) fn request_frame(&mut self, method: &str, params: Option<&Value>) -> Frame {
        let id = self.conversation.fresh_id().into();
        self.envelope(&outbound::request(&id, method, params).to_string())
    }

    /// A payload inside its envelope.
    pub(crate) fn envelope(&self, payload: &str) -> Frame {
        Frame::Text(outbound::envelope(&self.session_id, payload))
    }

    /// Sends a frame and waits until it is answered, or its silence is proven by a fence.
    pub(crate) async fn exchange(
        &mut self,
        at: &Arc<str>,
        role: Role,
        frame: Frame,
        manner: Manner,
    ) -> Exchange {
        let ping = matches!(frame, Frame::Ping(_));
        let sent_at = Instant::now();
        let Some(seq) = self.send(at, role, frame, manner).await else {
            return Exchange::Gone;
        };
        let duty = self.judge.duty().clone();
        if duty.method.as_deref() == Some("initialize") {
            self.initialized = true;
        }
        if duty.owes != Owes::Answer && !ping {
            return self.fence(at, duty.is_call()).await;
        }
        let patience = self.conversation.patience_for(&duty);
        let mut until = sent_at + patience;
        let mut confirmed = false;
        loop {
            match self.next(Some(at), until).await {
                Next::Seen(Seen::Answer(answered)) if answered == seq => {
                    self.conversation.learn(sent_at.elapsed());
                    return Exchange::Settled;
                }
                Next::Seen(Seen::Pong) if ping => return Exchange::Settled,
                Next::Seen(Seen::Stray) if !ping && !confirmed => {
                    // Perhaps the answer under another id: if a fence is answered first and
                    // nothing follows, it was.
                    confirmed = true;
                    until = until.min(Instant::now() + self.conversation.grace() * 4);
                }
                Next::Seen(Seen::Crash) => {
                    until = until.min(Instant::now() + Duration::from_secs(1))
                }
                Next::Seen(_) => {}
                Next::Gone => return Exchange::Gone,
                Next::Interrupted => return Exchange::Interrupted,
                Next::Deadline => break,
            }
        }
        let waited_ms = u64::try_from(sent_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.mark(at, Mark::NoAnswer { waited_ms });
        if !confirmed {
            self.conversation.missed();
        }
        match self.fence(at, duty.is_call()).await {
            Exchange::Settled => {
                // What was answered under another id is no kind of request that the device ignores.
                if !confirmed {
                    self.conversation.was_ignored(&duty);
                }
                Exchange::Ignored
            }
            other => other,
        }
    }

    /// Sends a frame and records it. `None` when the link is gone.
    pub(crate) async fn send(
        &mut self,
        at: &Arc<str>,
        role: Role,
        frame: Frame,
        manner: Manner,
    ) -> Option<u64> {
        if manner == Manner::Acknowledged && self.transport == Transport::Mqtt {
            let note = MqttNote::AckWanted;
            self.enter(Some(at), What::Mqtt { note });
            self.unacknowledged += 1;
        }
        let link = self.link.as_mut()?;
        let sent = match (&frame, manner) {
            (Frame::Text(text), Manner::Pieces(bytes)) => link.send_fragments(text, bytes).await,
            (_, Manner::Acknowledged) => link.send_acknowledged(&frame).await,
            _ => link.send(&frame).await,
        };
        // A frame that did not go out whole was still meant to: the loss is the next entry.
        let (seq, _) = self.enter(Some(at), What::Sent { role, frame });
        if let Err(lost) = sent {
            self.lost(lost);
            return None;
        }
        Some(seq)
    }

    /// Sends a good request of the same kind and waits for its answer, then a moment longer.
    pub(crate) async fn fence(&mut self, at: &Arc<str>, is_call: bool) -> Exchange {
        let Some((method, params)) = self.conversation.fence(is_call) else {
            return Exchange::Settled;
        };
        let at = side(at, "fence");
        let frame = self.request_frame(&method, params.as_ref());
        let sent_at = Instant::now();
        let Some(seq) = self.send(&at, Role::Fence, frame, Manner::Plain).await else {
            return Exchange::Gone;
        };
        let mut until = sent_at + self.conversation.patience();
        loop {
            match self.next(Some(&at), until).await {
                Next::Seen(Seen::Answer(answered)) if answered == seq => {
                    self.conversation.learn(sent_at.elapsed());
                    return self.listen(&at, self.conversation.grace()).await;
                }
                Next::Seen(Seen::Crash) => {
                    until = until.min(Instant::now() + Duration::from_secs(1))
                }
                Next::Seen(_) => {}
                Next::Gone => return Exchange::Gone,
                Next::Interrupted => return Exchange::Interrupted,
                Next::Deadline => {
                    let waited_ms =
                        u64::try_from(sent_at.elapsed().as_millis()).unwrap_or(u64::MAX);
                    self.mark(&at, Mark::NoAnswer { waited_ms });
                    self.conversation.missed();
                    return Exchange::Silent;
                }
            }
        }
    }

    /// Takes in whatever comes for a while.
    pub(crate) async fn listen(&mut self, at: &Arc<str>, time: Duration) -> Exchange {
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
    pub(crate) async fn wait_for(
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

    /// Waits until all of these messages are answered; what is left is returned.
    pub(crate) async fn wait_for_all(&mut self, at: &Arc<str>, mut open: Vec<u64>) -> Vec<u64> {
        // Each answer buys time for the next: a slow device works them off one by one.
        let mut until = Instant::now() + self.conversation.patience();
        let mut strays = 0;
        while !open.is_empty() {
            match self.next(Some(at), until).await {
                Next::Seen(Seen::Answer(seq)) => {
                    open.retain(|waiting| *waiting != seq);
                    until = Instant::now() + self.conversation.patience();
                }
                Next::Seen(Seen::Stray) => strays += 1,
                Next::Seen(Seen::Crash) => {
                    until = until.min(Instant::now() + Duration::from_secs(1));
                }
                Next::Seen(_) => {}
                _ => break,
            }
            if strays >= open.len() {
                // Perhaps the answers that are missing, under other ids.
                until = until.min(Instant::now() + self.conversation.grace() * 4);
            }
        }
        open
    }

    /// Waits until the message of a step is answered, although no document makes the device answer
    /// it: what does not answer in turn may have answered the fence first.
    pub(crate) async fn wait_for_answer(&mut self, at: &Arc<str>) {
        let until = Instant::now() + self.conversation.patience().min(ANSWER_PATIENCE);
        while !self.judge.is_answered(at) {
            let seen = |seen| matches!(seen, Seen::Answer(_));
            if !self.wait_for(at, until, seen).await {
                return;
            }
        }
    }

    /// Waits until the device has acknowledged what was sent to it so: it may do so after it has
    /// answered.
    pub(crate) async fn wait_for_acknowledgement(&mut self, at: &Arc<str>) {
        let until = Instant::now() + self.acknowledgement_patience;
        while self.unacknowledged > 0 {
            let seen = |seen| seen == Seen::Acknowledged;
            if !self.wait_for(at, until, seen).await {
                self.acknowledgement_patience = ACKNOWLEDGEMENT_PATIENCE / 10;
                return;
            }
        }
    }

    /// Says nothing until the device sends what it promised in its CONNECT. The endpoint ends the
    /// connection of one that does not.
    pub(crate) async fn wait_for_keep_alive(&mut self, at: &Arc<str>) {
        if let Some(seconds) = self.keep_alive {
            let longest = Duration::from_secs(u64::from(seconds) * 2) + KEEP_ALIVE_PATIENCE;
            let until = Instant::now() + longest;
            self.wait_for(at, until, |seen| seen == Seen::KeptAlive)
                .await;
        }
    }

    /// Waits until a console line of this case satisfies the test.
    pub(crate) async fn wait_for_console(&mut self, at: &Arc<str>, test: &regex::Regex) {
        let until = Instant::now() + self.console_patience;
        while !self.judge.console_lines().any(|line| test.is_match(line)) {
            match self.next(Some(at), until).await {
                Next::Seen(_) => {}
                Next::Deadline => {
                    // A console that lacks one line in time is slow, or silent: no more long waits.
                    self.console_patience = CONSOLE_PATIENCE / 10;
                    return;
                }
                Next::Gone | Next::Interrupted => return,
            }
        }
    }
}
