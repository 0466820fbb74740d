//! Messages: what was sent to the device and what it sent, matched with each other.

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::conversation::FIRST_ID;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::{Entry, Role, is_generated};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::{Frame, Inbound, Message, Payload, outbound, recover_id};
use serde_json::{Map, Value};
use std::sync::Arc;

use super::pending::{Found, Open, Reuse};
use super::sink::evidence;
use super::unmatched::Unmatched;
use super::{Judge, KINDS_REMEMBERED, Seen, answer, message, mqtt, own};

/// A ping in a frame in which no server may send it.
#[derive(Debug)]
pub(super) struct OddPing {
    case: Arc<str>,
    step: Option<Arc<str>>,
    data: String,
    shown: String,
}

impl Judge {
    pub(super) fn sent(&mut self, entry: &Entry, role: Role, frame: &Frame) {
        if role == Role::Hello {
            self.link.server_hello(entry.seq, &mut self.sink);
            self.own_ids.begin();
            self.channel.offered();
            return;
        }
        if role == Role::Reply {
            // What the device makes of an answer to its own request is its own affair.
            return;
        }
        if let Frame::Text(text) = frame
            && (text.contains("\"hello\"") || text.contains("initialize"))
        {
            // Whatever a device may take for the beginning of a session begins its ids.
            self.own_ids.begin();
        }
        let duty = Duty::of(frame);
        self.closings.sent((entry.seq, entry.at_us), frame, &duty);
        self.setters.sent(entry.seq, frame, &duty);
        self.duty = duty.clone();
        self.console.asked(&duty);
        if let Some(session) = &duty.ends_session {
            self.link.goodbye(Some(session));
        }
        if Duty::restarts(frame) {
            self.restarting = true;
            self.console.demanded();
        }
        if let Frame::Ping(data) = frame {
            self.ping.clone_from(data);
            self.ping_between = (role == Role::Probe).then_some(entry.seq);
        }
        let Frame::Text(text) = frame else { return self.sent_oddly(entry, frame, duty) };
        self.channel.sent(text, self.link.session(), entry.at_us);
        self.link.sent(text);
        self.mqtt.sent(text);
        if !matches!(duty.owes, Owes::Answer | Owes::Silence(_)) {
            self.refusals.sent(entry.seq, entry.at_us);
        }
        let legal = duty.owes == Owes::Answer;
        let batch = self.batches.sent(entry, frame, &mut self.sink);
        let possible = match duty.owes {
            Owes::Nothing => Duty::possible_ids(frame).unwrap_or_default(),
            _ => Vec::new(),
        };
        let is_free =
            |id: &Value| self.pending.waiting(id).is_none() && duty.id.as_ref() != Some(id);
        let possible: Vec<Value> = possible.into_iter().filter(is_free).collect();
        for id in batch.into_iter().flatten().chain(possible) {
            let duty = Duty { id: Some(id), ..duty.clone() };
            self.enter(entry, duty, text);
        }
        if role == Role::Stimulus {
            self.last_owed = Some(duty.owes);
        }
        match legal {
            true => {
                self.asked_well(entry.seq, (duty.method.as_deref(), duty.tool.as_deref()), text)
            }
            false => self.vision.sent_oddly(entry.seq, text),
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
                Id::IdsEcho,
                entry.case.clone(),
                entry.step.clone(),
                Outcome::OurFault(format!("an id was used twice: {text}")),
            );
        }
    }

    /// What goes out is no text message; an answer to what an odd frame holds shows that it was taken all the same.
    fn sent_oddly(&mut self, entry: &Entry, frame: &Frame, duty: Duty) {
        if let Frame::Odd(how, text) = frame {
            self.odd_ping = how.is_ping().then(|| OddPing {
                case: entry.case.clone(),
                step: entry.step.clone(),
                data: text.clone(),
                shown: frame.display(),
            });
            self.enter(entry, duty, text);
        }
    }

    /// Enters a message into the pending; whether its id was used before.
    fn enter(&mut self, entry: &Entry, duty: Duty, text: &str) -> Option<Reuse> {
        let in_line = self.pending.any_waits(&entry.case, self.link.number());
        self.pending.sent(Open {
            seq: entry.seq,
            at_us: entry.at_us,
            case: entry.case.clone(),
            step: entry.step.clone(),
            link: self.link.number(),
            duty,
            text: text.into(),
            in_line,
        })
    }

    pub(super) fn received(&mut self, seq: u64, frame: &Frame, inbound: &Inbound) -> Seen {
        if let Frame::Pong(data) = frame {
            return self.ponged(seq, data);
        }
        if self.mqtt.take_duplicate() && !self.is_of_this_link(seq, frame, inbound) {
            return Seen::Other;
        }
        if self.link.transport() == Transport::Mqtt {
            mqtt::judge_publish(&mut self.sink);
        }
        let is_first = self.link.has_said_nothing();
        message::judge_frame(seq, frame, inbound, is_first, &mut self.sink);
        own::judge_framing(self.link.protocol_version(), frame, seq, &mut self.sink);
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
        self.link.message(message.kind(), seq, frame, &mut self.sink);
        if message.kind() == Some("goodbye") {
            self.link.goodbye(None);
        }
        self.link.own_message(&message.envelope, seq, &mut self.sink);
        own::judge_members(&message.envelope, seq, &mut self.sink);
        if message.kind() != Some("mcp") {
            return self.of_another_type(seq, frame, message);
        }
        let asked = match message.payload() {
            Payload::Answer(payload) => payload.get("id").and_then(|id| self.pending.waiting(id)),
            _ => None,
        };
        if !self.is_as_unnamed(message, asked) {
            self.link.session_id(&message.envelope, asked, seq, &mut self.sink);
        }
        match message.payload() {
            Payload::Answer(payload) => {
                self.sink.held(Id::EnvelopeAnswerType);
                message::judge_version(seq, payload, &mut self.sink);
                self.answer(seq, frame, payload)
            }
            Payload::Notification(payload) | Payload::Request(payload) => self.asked(seq, payload),
            Payload::Batch(answers) if self.may_answer_batch(answers) => {
                self.batches.answered(seq, answers, &mut self.sink);
                Seen::Other
            }
            payload @ (Payload::Batch(_) | Payload::Invalid(_)) => {
                self.sink.test(Id::EnvelopePayloadObject, false, || {
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

    /// A pong came. It may also come unasked (RFC 6455, section 5.5.3), and answers nothing then.
    fn ponged(&mut self, seq: u64, data: &[u8]) -> Seen {
        if let Some(ping) = self.odd_ping.take_if(|ping| ping.data.as_bytes() == data) {
            let expected = "no pong to a ping in a frame that no server may send";
            let proof = Evidence {
                sent: Some(ping.shown),
                ..evidence(expected, "a pong with its data", seq)
            };
            let outcome = Outcome::Broken(Box::new(proof));
            self.sink.add(Id::SessionOddFrames, ping.case, ping.step, outcome);
            return Seen::Other;
        }
        if data != self.ping {
            return Seen::Other;
        }
        if self.ping_between.take().is_some() {
            self.sink.held(Id::LivenessPong);
        }
        Seen::Pong
    }

    /// Whether an array may be the answer to a batch, which may come when the next case has begun. What answers a request
    /// that stood alone is none, and nor is what the device tells by itself.
    fn may_answer_batch(&self, answers: &[Value]) -> bool {
        let stood_alone = |answer: &Value| {
            let asked = answer.get("id").and_then(|id| self.pending.waiting(id));
            let open = asked.and_then(|asked| self.pending.unanswered(asked));
            open.is_some_and(|open| Duty::batch_ids(&Frame::Text(open.text.to_string())).is_none())
        };
        let is_own = |message: &Value| message.get("method").is_some();
        self.batches.is_any()
            && !answers.iter().any(stood_alone)
            && (answers.is_empty() || !answers.iter().all(is_own))
    }

    /// Whether a message that is marked as sent again is to be taken all the same. It may be one that was lost with an
    /// earlier connection, and of a session that is over. What answers a request of this connection was never sent
    /// before (MQTT 3.1.1, 3.3.1-1), but is no less an answer (4.3.2-2); and a first hello opens the conversation.
    fn is_of_this_link(&mut self, seq: u64, frame: &Frame, inbound: &Inbound) -> bool {
        let Some(message) = inbound.message() else {
            return false;
        };
        if message.kind() == Some("hello") {
            return self.link.number() == 1;
        }
        let Payload::Answer(payload) = message.payload() else {
            return false;
        };
        let asked = payload.get("id").and_then(|id| self.pending.waiting(id));
        let open = asked.and_then(|asked| self.pending.unanswered(asked));
        let session = message.envelope.get("session_id").and_then(Value::as_str);
        let is_current = open.is_some_and(|open| open.link == self.link.number())
            && session.is_none_or(|id| id.is_empty() || id == self.link.session());
        if is_current {
            self.sink.test_once(Id::MqttPackets, false, || {
                let expected = "no DUP flag on what is sent for the first time";
                evidence(expected, format!("DUP, and {}", frame.display()), seq)
            });
        }
        is_current
    }

    /// Whether a message names no session, as the one that it answers: a device may give back what it got.
    fn is_as_unnamed(&self, message: &Message, asked: Option<u64>) -> bool {
        let names = |envelope: &Map<String, Value>| {
            envelope.get("session_id").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
        };
        let open = || self.pending.unanswered(asked?);
        !names(&message.envelope)
            && open().is_some_and(|open| {
                serde_json::from_str(&open.text).is_ok_and(|asked| !names(&asked))
            })
    }

    /// The id of an answer that is waited for, in an envelope that is none for answers.
    fn misplaced(&self, message: &Message) -> Option<Value> {
        let answer = match message.payload() {
            Payload::Answer(payload) => payload,
            // Without an envelope.
            Payload::Invalid(None) => &message.envelope,
            _ => return None,
        };
        let id = answer.get("id").filter(|_| answer.contains_key("jsonrpc"))?;
        self.pending.waiting(id).map(|_| id.clone())
    }

    /// A message came that is no `mcp` message.
    fn of_another_type(&mut self, seq: u64, frame: &Frame, message: &Message) -> Seen {
        self.channel.unsettled();
        if let Some(id) = self.misplaced(message) {
            // That a message has no type at all is told already.
            if message.kind().is_some() {
                self.sink.test(Id::EnvelopeAnswerType, false, || {
                    evidence("an answer in an envelope of `type` \"mcp\"", frame.display(), seq)
                });
            }
            return self.broken_answer(&id);
        }
        let unknown = Owes::Silence(Id::EnvelopeUnknownTypeIgnored);
        let own = message.kind().is_some_and(|kind| message::OWN_TYPES.contains(&kind));
        let kind = message.kind().unwrap_or_default();
        let asked = self.last_owed == Some(unknown) && !self.kinds.contains(kind);
        // By itself: what follows an odd message may be its answer.
        let odd = self.last_owed.is_some_and(|owed| owed != Owes::Answer);
        if !odd && self.kinds.len() < KINDS_REMEMBERED {
            self.kinds.insert(kind.to_owned());
        }
        if !own && asked {
            self.sink.test(Id::EnvelopeUnknownTypeIgnored, false, || {
                evidence("no answer to a message of unknown type", frame.display(), seq)
            });
        }
        Seen::Other
    }

    /// The device tells or asks something of its own.
    fn asked(&mut self, seq: u64, payload: &Map<String, Value>) -> Seen {
        message::judge_version(seq, payload, &mut self.sink);
        self.notified |= !payload.contains_key("id");
        message::judge_device_call(seq, payload, &mut self.sink);
        self.claims.notified(payload, &self.pending, seq, &mut self.sink);
        own::judge_request(payload, seq, &mut self.sink);
        self.own_ids.asked(payload, seq, &mut self.sink);
        self.asks |= self.own_ids.is_any();
        self.reply = outbound::reply(payload);
        if self.reply.is_some() { Seen::Asked } else { Seen::Other }
    }

    /// An answer that cannot be read still settles its request, so that nobody waits for it.
    fn broken_answer(&mut self, id: &Value) -> Seen {
        match self.pending.answered(id) {
            Found::Open(open) => Seen::Answer(open.seq),
            _ => Seen::Unmatched,
        }
    }

    fn answer(&mut self, seq: u64, frame: &Frame, payload: &Map<String, Value>) -> Seen {
        let id = payload.get("id").cloned().unwrap_or(Value::Null);
        let found = if id.is_null() { Found::Unknown } else { self.pending.answered(&id) };
        let is_error = answer::error_of(payload).is_some();
        // What became of an id that the device cannot read may be one that a request of another connection had.
        let is_ours = id.as_u64().is_some_and(|id| id >= FIRST_ID);
        let found = match found {
            Found::Open(open) if open.link != self.link.number() && !is_ours => Found::Unknown,
            other => other,
        };
        let earlier = match found {
            Found::Open(open) => {
                let latency_us = self.now_us.saturating_sub(open.at_us);
                self.refusals.learn(open.seq, seq, latency_us);
                self.answered(seq, payload, &open);
                return Seen::Answer(open.seq);
            }
            Found::Settled(settled) => Some(settled),
            Found::Unknown => None,
        };
        answer::judge_shape(seq, payload, None, &mut self.sink);
        self.unmatched.push(Unmatched {
            link: self.link.number(),
            seq,
            at_us: self.now_us,
            has_id: payload.contains_key("id"),
            id,
            is_error,
            text: frame.display(),
            earlier,
        });
        Seen::Unmatched
    }

    /// Follows a good request.
    fn asked_well(&mut self, seq: u64, (method, tool): (Option<&str>, Option<&str>), text: &str) {
        self.vision.sent(seq, (method, tool), text);
        self.made_up.sent(seq, method, tool);
        if method == Some("initialize") {
            self.link.initialize(seq);
        }
    }

    /// Judges an answer whose request is known.
    fn answered(&mut self, seq: u64, payload: &Map<String, Value>, open: &Open) {
        // A late answer is charged to the case that asked, not to the one that is running.
        let home = (self.sink.case.clone(), self.sink.step.clone());
        self.sink.case = open.case.clone();
        self.sink.step = open.step.clone();
        let exercised = (self.sink.case != home.0).then(|| self.sink.exercised.clone());
        answer::judge_shape(seq, payload, Some(open), &mut self.sink);
        answer::judge_owed(seq, payload, open, &mut self.sink);
        self.made_up.judge(seq, payload, open, &mut self.sink);
        self.echoes.judge(seq, payload, open, &mut self.sink);
        self.told.answered(seq, payload, open, &mut self.sink);
        self.results.answered(seq, payload, open, &mut self.sink);
        if let Some(tool) = open.duty.tool.as_deref().filter(|_| open.duty.is_call()) {
            let times = (open.at_us, self.now_us);
            self.behind.answered(seq, tool, payload, times, &mut self.sink);
        }
        let schemas = self.lists.schemas();
        self.listed_unknown.answered(seq, payload, open, schemas, &mut self.sink);
        self.structured.answered(seq, payload, open, &mut self.sink);
        if open.duty.method.as_deref() == Some("initialize") && self.link.opened_by(open.seq) {
            answer::judge_opening(seq, payload, open, &mut self.sink);
        }
        if open.duty.method.as_deref() == Some("initialize") {
            self.bootstrap.initialized(payload, seq, &mut self.sink);
            if payload.contains_key("result") && !open.text.contains("\"vision\"") {
                self.sink.held(Id::InitializeVisionOptional);
            }
        }
        // Over MQTT the session is another one with the next hello, and a client may keep for a broker what it could
        // not deliver.
        if self.link.number() > 1 && self.link.transport() == Transport::WebSocket {
            let current = open.link == self.link.number();
            self.sink.test(Id::SessionNoStaleAnswer, current, || Evidence {
                expected: "no answer of an earlier session".into(),
                received: Value::Object(payload.clone()).to_string(),
                sent: Some(open.text.to_string()),
                seq: Some(seq),
            });
        }
        self.lists.answered(seq, payload, open, &self.link, &mut self.sink);
        self.claims.answered(seq, payload, open, &mut self.sink);
        self.vision.answered(open.seq);
        if let Some(exercised) = exercised {
            self.sink.exercised = exercised;
        }
        (self.sink.case, self.sink.step) = home;
    }
}
