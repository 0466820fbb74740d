//! Pure judgements over a transcript.
//!
//! [`Judge::observe`] takes the entries one by one, live or from a file, and runs the generic
//! checks on each; [`Judge::end_case`] adds the checks that look at a case as a whole and the
//! case's own expectations, and may find more about earlier cases. Nothing here sends,
//! waits or reads a clock, so a replay comes to the same verdicts.

mod answer;
mod attempt;
mod bootstrap;
mod channel;
mod console;
mod expectation;
pub mod gateway;
mod handshake;
mod ledger;
mod listing;
mod log;
mod memory;
mod merged;
mod message;
mod mqtt;
mod refusal;
mod sink;
mod stray;
mod unanswered;
mod vision;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::capability::Facts;
use crate::obligation::{Duty, Owes};
use crate::scenario::Case;
use crate::transcript::{
    Entry, Mark, MqttNote, Party, Role, TargetEvent, Transport, What, is_generated,
};
use crate::verdict::{Judgement, Outcome};
use crate::wire::{Frame, Inbound, Payload, outbound, recover_id};

use ledger::{Found, Ledger, Open, Reuse};
use log::{CaseLog, Logged};
use sink::{Sink, evidence};
use stray::Stray;

pub use handshake::AUTHORIZED;
pub use log::{side, view};
pub use merged::{Likeness, Merged, in_order};

/// What an entry turned out to be, as far as the conversation must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// An answer to the message sent at this `seq`.
    Answer(u64),
    /// An answer that belongs to no message that waits for one.
    Stray,
    /// The device's hello.
    Hello,
    /// A pong.
    Pong,
    /// An MQTT PINGREQ.
    KeptAlive,
    /// An MQTT PUBACK.
    Acknowledged,
    /// A request of the device that a backend answers: see [`Judge::take_reply`].
    Asked,
    /// A console line that tells of a panic or a reset.
    Crash,
    /// Anything else.
    Other,
}

/// What a case comes to.
#[derive(Debug, Default)]
pub struct CaseOutcome {
    /// Requirements that were exercised, whether they hold or not.
    pub exercised: BTreeSet<&'static str>,
    /// What was found; judgements on earlier cases are among them.
    pub judgements: Vec<Judgement>,
    /// Why nothing of the case could be carried out, when that is so.
    pub not_carried_out: Option<String>,
    /// What broke on the bench in the middle of it: then nothing of it is about the device.
    pub trouble: Option<String>,
    /// Console lines that tell at what places of its program the device broke down.
    pub places: Vec<String>,
}

/// How many types of messages are remembered that a device sends by itself.
const KINDS_REMEMBERED: usize = 32;

/// Most lines about places in the program that are kept of a case.
const MOST_PLACES: usize = 48;

/// Whether what breaks this requirement may show on the console where in the program it happened.
pub fn breaks_down(requirement: &str) -> bool {
    ["liveness.no-panic", "liveness.no-reset"].contains(&requirement)
}

/// The judge of one session with one device.
#[derive(Debug, Default)]
pub struct Judge {
    sink: Sink,
    ledger: Ledger,
    log: CaseLog,
    /// The first attempt at the case, when there is a second one.
    first_attempt: Option<CaseLog>,
    strays: Vec<Stray>,
    refusals: refusal::Refusals,
    link: handshake::LinkState,
    mqtt: mqtt::Acknowledgements,
    console: console::Watch,
    lists: listing::Lists,
    bootstrap: bootstrap::Bootstrap,
    vision: vision::Vision,
    channel: channel::Channel,
    notified: bool,
    /// What broke on the bench in this case.
    trouble: Option<String>,
    /// The device was told to restart, and has not connected since.
    restarting: bool,
    token_given: bool,
    /// What is owed for the frame that was sent last.
    duty: Duty,
    /// What was owed for the last stimulus.
    last_owed: Option<Owes>,
    /// Types of messages that the device sends without being asked.
    kinds: BTreeSet<String>,
    /// A batch was sent in this case.
    batch_sent: bool,
    /// The answer that is due to the latest request of the device.
    reply: Option<Value>,
    /// The data of the latest ping.
    ping: Vec<u8>,
    /// Time of the entry that is being observed.
    now_us: u64,
}

impl Judge {
    /// A judge at the beginning of a session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns to a case. What is observed from now on is charged to it.
    pub fn begin_case(&mut self, case: &Arc<str>) {
        self.sink.case = case.clone();
        self.log = CaseLog::default();
        self.first_attempt = None;
        self.last_owed = None;
        self.batch_sent = false;
        self.trouble = None;
        self.console.begin_case();
    }

    /// Takes the next entry of the transcript.
    pub fn observe(&mut self, entry: Entry) -> Seen {
        self.sink.step = entry.step.clone();
        self.now_us = entry.at_us;
        let mut logged = Logged {
            entry,
            inbound: None,
            answers: None,
            wrong_id: false,
        };
        let seen = match &logged.entry.what {
            What::Sent { role, frame } => {
                self.sent(&logged.entry, *role, frame);
                Seen::Other
            }
            What::Received { frame } => {
                let inbound = Inbound::read(frame);
                let seen = self.received(logged.entry.seq, frame, &inbound);
                if let Seen::Answer(seq) = seen {
                    logged.answers = Some(seq);
                }
                logged.inbound = Some(inbound);
                seen
            }
            What::Console { line } => {
                self.lists.console_line(logged.entry.seq, line);
                let crash = self.console.line(logged.entry.seq, line, &mut self.sink);
                if crash { Seen::Crash } else { Seen::Other }
            }
            What::LinkUp {
                transport,
                session_id,
                headers,
                token_given,
                mqtt,
                ..
            } => {
                let seq = logged.entry.seq;
                self.token_given |= *token_given;
                self.restarting = false;
                self.console.connected();
                let sink = &mut self.sink;
                self.link
                    .up(*transport, session_id, headers, *token_given, seq, sink);
                if let Some(connect) = mqtt {
                    mqtt::judge_connect(connect, seq, sink);
                }
                self.bootstrap.link_up(headers, seq, sink);
                Seen::Other
            }
            What::LinkDown { by, why, breach } => {
                self.link.down(*by);
                self.mqtt.link_down();
                self.channel.unsettled();
                if let Some(breach) = breach.filter(|_| self.link.transport() == Transport::Mqtt) {
                    mqtt::judge_breach(breach, why, logged.entry.seq, &mut self.sink);
                } else if *by == Party::Device && !self.restarting && !self.console.is_powerless() {
                    self.sink.test("liveness.link-kept", false, || {
                        evidence("the connection stays open", why.clone(), logged.entry.seq)
                    });
                }
                Seen::Other
            }
            What::Mqtt { note } => {
                let seq = logged.entry.seq;
                self.mqtt.note(note, seq, &mut self.sink);
                match note {
                    MqttNote::Ping => Seen::KeptAlive,
                    MqttNote::Acknowledged => Seen::Acknowledged,
                    _ => Seen::Other,
                }
            }
            What::Refused { why } => {
                self.sink.test("mqtt.credentials", false, || {
                    let expected = "the user name and password of its configuration";
                    evidence(expected, why.clone(), logged.entry.seq)
                });
                Seen::Other
            }
            What::Http { exchange } => {
                let seq = logged.entry.seq;
                self.bootstrap.exchange(exchange, seq, &mut self.sink);
                self.vision.exchange(exchange, seq, &mut self.sink);
                Seen::Other
            }
            What::Audio { seen } => {
                let (at_us, seq) = (logged.entry.at_us, logged.entry.seq);
                self.channel.heard(seen, at_us, seq, &mut self.sink);
                Seen::Other
            }
            What::Target { event } => {
                match event {
                    TargetEvent::Started => {
                        self.console.restarted();
                        self.link.restarted();
                    }
                    // It was told to restart, and whoever starts it again is not its own affair.
                    TargetEvent::Exited(_) if self.restarting => {}
                    TargetEvent::Exited(how) if self.link.was_dropped() => {
                        self.sink.test(self.link.reconnects(), false, || {
                            let received = format!("its process {how}");
                            evidence("the device connects again", received, logged.entry.seq)
                        });
                    }
                    TargetEvent::Bench(_) => {}
                    TargetEvent::Trouble(what) => {
                        self.trouble.get_or_insert_with(|| what.clone());
                    }
                    TargetEvent::Exited(how) => {
                        self.console.exited(logged.entry.seq, how, &mut self.sink);
                    }
                }
                Seen::Other
            }
            What::Mark { mark } => {
                self.marked(&logged.entry, mark);
                Seen::Other
            }
            // Another judge's: see [`gateway`].
            What::Control { .. } | What::Reply { .. } => Seen::Other,
        };
        self.log.push(logged);
        seen
    }

    /// Ends the case: what it comes to, its own expectations included.
    pub fn end_case(&mut self, case: Option<&Case>, facts: &Facts) -> CaseOutcome {
        self.sink.step = None;
        self.pair_strays(case);
        unanswered::judge(&self.log, &self.ledger, &mut self.sink);
        self.ledger.end_case();
        self.lists.end_case(&self.log, &mut self.sink);
        if self.link.is_up() {
            self.sink.held("liveness.link-kept");
        }
        self.mqtt.end_case(&mut self.sink);
        self.console.end_case(&mut self.sink);
        if let Some(case) = case {
            expectation::judge(case, &self.log, facts, &mut self.sink);
            if let Some(first) = self.first_attempt.take() {
                self.confirm(case, &first, facts);
            }
        }
        self.console.blame(&mut self.sink);
        let carried_out = case.is_none() || self.log.has_stimulus();
        let broke_down = self
            .sink
            .found
            .iter()
            .any(|one| breaks_down(one.requirement));
        let places = self.log.console().map(|(_, line)| line);
        let places = places.filter(|line| broke_down && console::names_places(line));
        CaseOutcome {
            places: places.take(MOST_PLACES).map(str::to_owned).collect(),
            not_carried_out: (!carried_out).then(|| self.log.why_not_carried_out()),
            exercised: std::mem::take(&mut self.sink.exercised),
            judgements: std::mem::take(&mut self.sink.found),
            trouble: self.trouble.clone(),
        }
    }

    /// Capabilities that only the course of the session shows: the device sends messages of its
    /// own, was given a token, sends audio beside the link, tells of its free memory.
    pub fn late_capabilities(&self) -> impl Iterator<Item = String> {
        [
            ("notifications", self.notified),
            ("token", self.token_given),
            ("channel", self.channel.has_heard()),
            ("memory", self.console.watches_memory()),
            ("console.boot", self.lists.saw_boot()),
        ]
        .into_iter()
        .filter(|(_, shown)| *shown)
        .map(|(name, _)| name.to_owned())
    }

    /// What is owed for the frame that was sent last.
    pub fn duty(&self) -> &Duty {
        &self.duty
    }

    /// The answer that a backend owes to the request of the device that was seen last.
    pub fn take_reply(&mut self) -> Option<Value> {
        self.reply.take()
    }

    /// Whether the device has answered anything in the running case.
    pub fn is_alive(&self) -> bool {
        self.log
            .entries
            .iter()
            .any(|logged| logged.answers.is_some())
    }

    /// Whether the console tells of a panic in the running case, and has not come to the end of it.
    pub fn is_dumping(&self) -> bool {
        let mut dumping = false;
        for line in self.console_lines() {
            dumping |= console::is_panic(line);
            dumping &= !console::ends_panic(line);
        }
        dumping
    }

    /// The console lines of the running case.
    pub fn console_lines(&self) -> impl Iterator<Item = &str> {
        self.log.console().map(|(_, line)| line)
    }

    /// Whether the message sent at a step of the running case was answered, readably or not.
    pub fn is_answered(&self, step: &str) -> bool {
        self.log.answered(step)
    }

    /// The answer to the message sent at a step of the running case, as scenarios see it.
    pub fn answer_view(&self, step: &str) -> Option<Value> {
        match self.log.reply(step) {
            log::Reply::Answer(_, payload) => Some(Value::Object(view(payload))),
            _ => None,
        }
    }

    fn sent(&mut self, entry: &Entry, role: Role, frame: &Frame) {
        if role == Role::Hello {
            self.link.server_hello(entry.seq, &mut self.sink);
            self.channel.offered();
            return;
        }
        if role == Role::Reply {
            // What the device makes of an answer to its own request is its own affair.
            return;
        }
        let duty = Duty::of(frame);
        self.duty = duty.clone();
        if let Some(session) = &duty.ends_session {
            self.link.goodbye(Some(session));
        }
        if Duty::restarts(frame) {
            self.restarting = true;
            self.console.demanded();
        }
        if let Frame::Ping(data) = frame {
            self.ping.clone_from(data);
        }
        let Frame::Text(text) = frame else { return };
        self.channel.sent(text, self.link.session(), entry.at_us);
        if !matches!(duty.owes, Owes::Answer | Owes::Silence(_)) {
            self.refusals.sent(entry.seq, entry.at_us);
        }
        let legal = duty.owes == Owes::Answer;
        let batch = Duty::batch_ids(frame);
        self.batch_sent |= batch.is_some();
        for id in batch.into_iter().flatten() {
            let duty = Duty {
                id: Some(id),
                ..duty.clone()
            };
            self.enter(entry, duty, text);
        }
        if role == Role::Stimulus {
            self.last_owed = Some(duty.owes);
        }
        if legal {
            let (method, tool) = (duty.method.as_deref(), duty.tool.as_deref());
            self.vision.sent(method, tool, text);
        }
        if legal && duty.method.as_deref() == Some("initialize") {
            self.link.initialize(entry.seq);
        }
        let reused = self.enter(entry, duty, text);
        let used_twice = reused.is_some_and(|earlier| {
            // In generated cases ids come again, once they are settled. What was left unanswered was
            // given up then.
            !is_generated(&entry.case) && !is_generated(&earlier.case)
        });
        if used_twice && legal {
            // The requestor must not use an id twice in a session (MCP, basic/messages).
            self.sink.add(
                "ids.echo",
                entry.case.clone(),
                entry.step.clone(),
                Outcome::OurFault(format!("an id was used twice: {text}")),
            );
        }
    }

    /// Enters a message into the ledger; whether its id was used before.
    fn enter(&mut self, entry: &Entry, duty: Duty, text: &str) -> Option<Reuse> {
        self.ledger.sent(Open {
            seq: entry.seq,
            at_us: entry.at_us,
            case: entry.case.clone(),
            step: entry.step.clone(),
            link: self.link.number(),
            duty,
            text: text.into(),
        })
    }

    fn received(&mut self, seq: u64, frame: &Frame, inbound: &Inbound) -> Seen {
        if let Frame::Pong(data) = frame {
            // A pong may also come unasked (RFC 6455, section 5.5.3); it answers nothing then.
            return if *data == self.ping {
                Seen::Pong
            } else {
                Seen::Other
            };
        }
        if self.link.transport() == Transport::Mqtt {
            mqtt::judge_publish(&mut self.sink);
        }
        message::judge_frame(seq, frame, inbound, &mut self.sink);
        let Some(message) = inbound.message() else {
            let id = match inbound {
                Inbound::NotUtf8 { id } | Inbound::NotJson { id, .. } => id.clone(),
                Inbound::JsonInBinary { id } => id.clone(),
                _ => None,
            };
            return id.map_or(Seen::Other, |id| self.broken_answer(&id));
        };
        if message.kind() == Some("hello") {
            self.link.hello(&message.envelope, seq, &mut self.sink);
            return Seen::Hello;
        }
        self.link
            .message(message.kind(), seq, frame, &mut self.sink);
        if message.kind() == Some("goodbye") {
            self.link.goodbye(None);
        }
        self.link
            .own_message(&message.envelope, seq, &mut self.sink);
        if message.kind() != Some("mcp") {
            self.channel.unsettled();
            let unknown = Owes::Silence("envelope.unknown-type-ignored");
            let own = message
                .kind()
                .is_some_and(|kind| message::OWN_TYPES.contains(&kind));
            let kind = message.kind().unwrap_or_default();
            let asked = self.last_owed == Some(unknown) && !self.kinds.contains(kind);
            // By itself: what follows an odd message may be its answer.
            let odd = self.last_owed.is_some_and(|owed| owed != Owes::Answer);
            if !odd && self.kinds.len() < KINDS_REMEMBERED {
                self.kinds.insert(kind.to_owned());
            }
            if !own && asked {
                self.sink.test("envelope.unknown-type-ignored", false, || {
                    evidence(
                        "no answer to a message of unknown type",
                        frame.display(),
                        seq,
                    )
                });
            }
            return Seen::Other;
        }
        let asked = match message.payload() {
            Payload::Answer(payload) => payload.get("id").and_then(|id| self.ledger.waiting(id)),
            _ => None,
        };
        self.link
            .session_id(&message.envelope, asked, seq, &mut self.sink);
        match message.payload() {
            Payload::Answer(payload) => {
                message::judge_version(seq, payload, &mut self.sink);
                self.answer(seq, frame, payload)
            }
            Payload::Notification(payload) | Payload::Request(payload) => {
                message::judge_version(seq, payload, &mut self.sink);
                self.notified |= !payload.contains_key("id");
                message::judge_device_call(seq, payload, &mut self.sink);
                self.reply = outbound::reply(payload);
                if self.reply.is_some() {
                    Seen::Asked
                } else {
                    Seen::Other
                }
            }
            Payload::Batch(_) if self.batch_sent => Seen::Other,
            payload @ (Payload::Batch(_) | Payload::Invalid(_)) => {
                self.sink.test("envelope.payload-object", false, || {
                    evidence("an object as payload", frame.display(), seq)
                });
                let text = match payload {
                    // What it holds may be the answer.
                    Payload::Invalid(Some(Value::String(inner))) => inner.clone(),
                    _ => frame.display(),
                };
                recover_id(&text).map_or(Seen::Other, |id| self.broken_answer(&id))
            }
        }
    }

    /// An answer that cannot be read still settles its request, so that nobody waits for it.
    fn broken_answer(&mut self, id: &Value) -> Seen {
        match self.ledger.answered(id) {
            Found::Open(open) => Seen::Answer(open.seq),
            _ => Seen::Stray,
        }
    }

    fn answer(
        &mut self,
        seq: u64,
        frame: &Frame,
        payload: &serde_json::Map<String, Value>,
    ) -> Seen {
        let id = payload.get("id").cloned().unwrap_or(Value::Null);
        let found = if id.is_null() {
            Found::Unknown
        } else {
            self.ledger.answered(&id)
        };
        let is_error = answer::error_of(payload).is_some();
        let earlier = match found {
            Found::Open(open) => {
                self.refusals.learn(self.now_us.saturating_sub(open.at_us));
                self.answered(seq, payload, &open);
                return Seen::Answer(open.seq);
            }
            Found::Settled(settled) => Some(settled),
            Found::Unknown => None,
        };
        answer::judge_shape(seq, payload, None, &mut self.sink);
        self.strays.push(Stray {
            seq,
            at_us: self.now_us,
            id,
            is_error,
            text: frame.display(),
            earlier,
        });
        Seen::Stray
    }

    /// Judges an answer whose request is known.
    fn answered(&mut self, seq: u64, payload: &serde_json::Map<String, Value>, open: &Open) {
        // A late answer is charged to the case that asked, not to the one that is running.
        let home = (self.sink.case.clone(), self.sink.step.clone());
        self.sink.case = open.case.clone();
        self.sink.step = open.step.clone();
        let exercised = (self.sink.case != home.0).then(|| self.sink.exercised.clone());
        answer::judge_shape(seq, payload, Some(open), &mut self.sink);
        answer::judge_owed(seq, payload, open, &mut self.sink);
        if open.duty.method.as_deref() == Some("initialize") && self.link.opened_by(open.seq) {
            answer::judge_opening(seq, payload, open, &mut self.sink);
        }
        if open.duty.method.as_deref() == Some("initialize") {
            self.bootstrap.initialized(payload, seq, &mut self.sink);
        }
        if self.link.number() > 1 {
            let current = open.link == self.link.number();
            self.sink.test("session.no-stale-answer", current, || {
                crate::verdict::Evidence {
                    expected: "no answer of an earlier session".into(),
                    received: Value::Object(payload.clone()).to_string(),
                    sent: Some(open.text.to_string()),
                    seq: Some(seq),
                }
            });
        }
        self.lists.answered(seq, payload, open, &mut self.sink);
        if let Some(exercised) = exercised {
            self.sink.exercised = exercised;
        }
        (self.sink.case, self.sink.step) = home;
    }

    fn marked(&mut self, entry: &Entry, mark: &Mark) {
        match mark {
            Mark::SecondAttempt => {
                self.pair_strays(None);
                self.first_attempt = Some(std::mem::take(&mut self.log));
            }
            Mark::NoLink { waited_ms } if self.link.was_dropped() => {
                self.sink.test(self.link.reconnects(), false, || {
                    let received = format!("not within {waited_ms} ms");
                    evidence("the device connects again by itself", received, entry.seq)
                });
            }
            Mark::Limit { name, value } => {
                let requirement = match name.as_str() {
                    "MAX_MESSAGE_BYTES" => "liveness.frame-size",
                    _ => "liveness.no-flood",
                };
                self.sink.test(requirement, false, || {
                    evidence(
                        format!("below {name} = {value}"),
                        "the limit was passed",
                        entry.seq,
                    )
                });
            }
            _ => {}
        }
    }
}
