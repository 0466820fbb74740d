//! Pure judgements over a transcript.
//!
//! [`Judge::observe`] takes the entries one by one, live or from a file, and runs the generic
//! checks on each; [`Judge::end_case`] adds the checks that look at a case as a whole and the
//! case's own expectations; [`Judge::end_session`] settles what is left. Nothing here sends,
//! waits or reads a clock, so a replay comes to the same verdicts.

mod answer;
mod console;
mod expectation;
mod handshake;
mod ledger;
mod listing;
mod log;
mod message;
mod refusal;
mod sink;
mod unanswered;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::capability::Facts;
use crate::obligation::{Duty, Owes};
use crate::scenario::Case;
use crate::transcript::{Entry, Mark, Party, Role, TargetEvent, What};
use crate::verdict::{Judgement, Outcome};
use crate::wire::{Frame, Inbound, Payload, recover_id};

use ledger::{Found, Ledger, Open};
use log::{CaseLog, Logged};
use sink::{Sink, evidence};

pub use handshake::AUTHORIZED;
pub use log::{side, view};

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
}

/// An answer that could not be attributed when it came.
#[derive(Debug)]
struct Stray {
    seq: u64,
    at_us: u64,
    id: Value,
    is_error: bool,
    text: String,
    /// The request that had this id and was answered before.
    earlier: Option<(Arc<str>, Option<Arc<str>>)>,
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
    console: console::Watch,
    lists: listing::Lists,
    notified: bool,
    /// What was owed for the last stimulus.
    last_owed: Option<Owes>,
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
                self.lists.console_line(line);
                let crash = self.console.line(logged.entry.seq, line, &mut self.sink);
                if crash { Seen::Crash } else { Seen::Other }
            }
            What::LinkUp {
                session_id,
                headers,
                token_given,
                ..
            } => {
                let seq = logged.entry.seq;
                self.link
                    .up(session_id, headers, *token_given, seq, &mut self.sink);
                Seen::Other
            }
            What::LinkDown { by, why } => {
                self.link.down(*by);
                if *by == Party::Device {
                    self.sink.test("liveness.link-kept", false, || {
                        evidence("the connection stays open", why.clone(), logged.entry.seq)
                    });
                }
                Seen::Other
            }
            What::Target { event } => {
                match event {
                    TargetEvent::Started => {
                        self.console.restarted();
                        self.link.restarted();
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
        };
        self.log.entries.push(logged);
        seen
    }

    /// Ends the case: what it comes to, its own expectations included.
    pub fn end_case(&mut self, case: Option<&Case>, facts: &Facts) -> CaseOutcome {
        self.sink.step = None;
        self.pair_strays();
        unanswered::judge(&self.log, &self.ledger, &mut self.sink);
        self.ledger.end_case();
        self.lists.end_case(&self.log, &mut self.sink);
        if self.link.is_up() {
            self.sink.held("liveness.link-kept");
        }
        self.console.end_case(&mut self.sink);
        if let Some(case) = case {
            expectation::judge(case, &self.log, facts, &mut self.sink);
            if let Some(first) = self.first_attempt.take() {
                self.confirm(case, &first, facts);
            }
        }
        CaseOutcome {
            exercised: std::mem::take(&mut self.sink.exercised),
            judgements: std::mem::take(&mut self.sink.found),
        }
    }

    /// Whether the device has sent messages of its own in the session.
    pub fn has_notified(&self) -> bool {
        self.notified
    }

    /// Whether the device has answered anything in the running case.
    pub fn is_alive(&self) -> bool {
        self.log
            .entries
            .iter()
            .any(|logged| logged.answers.is_some())
    }

    /// The console lines of the running case.
    pub fn console_lines(&self) -> impl Iterator<Item = &str> {
        self.log.console().map(|(_, line)| line)
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
            return;
        }
        let Frame::Text(text) = frame else { return };
        let duty = Duty::of(frame);
        if !matches!(duty.owes, Owes::Answer | Owes::Silence(_)) {
            self.refusals.sent(entry.seq, entry.at_us);
        }
        let legal = duty.owes == Owes::Answer;
        if role == Role::Stimulus {
            self.last_owed = Some(duty.owes);
        }
        let reused = self.ledger.sent(Open {
            seq: entry.seq,
            at_us: entry.at_us,
            case: entry.case.clone(),
            step: entry.step.clone(),
            link: self.link.number(),
            duty,
            text: text.as_str().into(),
        });
        if reused && legal {
            // The requestor must not use an id twice in a session (MCP, basic/messages).
            self.sink.add(
                "ids.echo",
                entry.case.clone(),
                entry.step.clone(),
                Outcome::OurFault(format!("an id was used twice: {text}")),
            );
        }
    }

    fn received(&mut self, seq: u64, frame: &Frame, inbound: &Inbound) -> Seen {
        if matches!(frame, Frame::Pong(_)) {
            self.sink.held("liveness.pong");
            return Seen::Pong;
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
            .message(message.kind(), seq, &frame.display(), &mut self.sink);
        if message.kind() != Some("mcp") {
            let unknown = Owes::Silence("envelope.unknown-type-ignored");
            if message.kind() == Some("error") && self.last_owed == Some(unknown) {
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
        self.link.session_id(&message.envelope, seq, &mut self.sink);
        match message.payload() {
            Payload::Answer(payload) => {
                message::judge_version(seq, payload, &mut self.sink);
                self.answer(seq, frame, payload)
            }
            Payload::Notification(payload) | Payload::Request(payload) => {
                message::judge_version(seq, payload, &mut self.sink);
                self.notified = true;
                message::judge_device_call(seq, payload, &mut self.sink);
                Seen::Other
            }
            Payload::Batch(_) | Payload::Invalid(_) => {
                recover_id(&frame.display()).map_or(Seen::Other, |id| self.broken_answer(&id))
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
        let is_error = payload.contains_key("error");
        let earlier = match found {
            Found::Open(open) => {
                self.refusals.learn(self.now_us.saturating_sub(open.at_us));
                self.answered(seq, payload, &open);
                return Seen::Answer(open.seq);
            }
            Found::Settled { case, step } => Some((case, step)),
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
        if open.link != self.link.number() {
            self.sink.test("session.no-stale-answer", false, || {
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
                self.pair_strays();
                self.first_attempt = Some(std::mem::take(&mut self.log));
            }
            Mark::NoLink { waited_ms } => {
                if self.link.was_dropped() {
                    self.sink.test("session.redial", false, || {
                        let received = format!("not within {waited_ms} ms");
                        evidence("the device connects again by itself", received, entry.seq)
                    });
                }
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

    /// Settles the answers that belonged to nobody when they came.
    ///
    /// A message of this case that was left without an answer may have been answered under
    /// another id. Else an id that was answered before was answered twice. An error with id null
    /// may answer a malformed message. What is left was not asked for.
    fn pair_strays(&mut self) {
        if self.strays.is_empty() {
            return;
        }
        let gave_up = |step: &str| {
            self.log.entries.iter().any(|logged| {
                logged.entry.is_at(step)
                    && matches!(
                        &logged.entry.what,
                        What::Mark {
                            mark: Mark::NoAnswer { .. }
                        }
                    )
            })
        };
        let mut left: Vec<Open> = self
            .log
            .entries
            .iter()
            .filter(|logged| matches!(&logged.entry.what, What::Sent { .. }))
            .filter_map(|logged| self.ledger.unanswered(logged.entry.seq))
            .filter(|open| {
                open.duty.owes != Owes::Answer || open.step.as_deref().is_some_and(gave_up)
            })
            .cloned()
            .collect();
        for stray in std::mem::take(&mut self.strays) {
            let refuses = stray.id.is_null() && stray.is_error;
            // An error with id null belongs to what has no usable id; anything else first of all
            // to a good request that is missing its answer. The latest such message is meant.
            let rank = |open: &Open| match open.duty.owes {
                Owes::Answer => usize::from(refuses),
                Owes::NoSuccess(_) | Owes::Nothing => usize::from(!refuses),
                Owes::Silence(_) => 2,
            };
            let asked = (0..left.len())
                .filter(|at| left[*at].seq < stray.seq)
                .min_by_key(|at| (rank(&left[*at]), std::cmp::Reverse(left[*at].seq)));
            let open = asked.map(|at| left.remove(at));
            match open {
                Some(open) if refuses && rank(&open) == 0 => self.refusals.answered(open.seq),
                None if refuses && self.refusals.excuse(stray.at_us) => {}
                Some(open) => self.wrong_id(&stray, &open),
                None => self.unasked(stray),
            }
        }
    }

    fn wrong_id(&mut self, stray: &Stray, open: &Open) {
        answer::judge_wrong_id(stray, open, &mut self.sink);
        if open.duty.owes == Owes::Answer {
            self.ledger
                .answered(open.duty.id.as_ref().unwrap_or(&Value::Null));
            // The step counts as answered now: its other faults follow from this one.
            let same = |logged: &&mut Logged| logged.entry.seq == stray.seq;
            if let Some(logged) = self.log.entries.iter_mut().find(same) {
                logged.answers = Some(open.seq);
            }
        }
    }

    fn unasked(&mut self, stray: Stray) {
        let (requirement, expected, (case, step)) = match stray.earlier {
            Some(earlier) => ("jsonrpc.one-answer", "one answer to a request", earlier),
            None => (
                "jsonrpc.no-unsolicited-answer",
                "no answer without a request",
                (self.sink.case.clone(), None),
            ),
        };
        let proof = evidence(expected, stray.text, stray.seq);
        self.sink
            .add(requirement, case, step, Outcome::Broken(Box::new(proof)));
    }

    /// What stayed unclear in both attempts at a case is the device's doing: the second one was
    /// made on a freshly started device.
    fn confirm(&mut self, case: &Case, first: &CaseLog, facts: &Facts) {
        let mut before = Sink {
            case: self.sink.case.clone(),
            ..Sink::default()
        };
        unanswered::judge(first, &self.ledger, &mut before);
        expectation::judge(case, first, facts, &mut before);
        for judgement in &mut self.sink.found {
            let unclear_before = before.found.iter().any(|earlier| {
                earlier.requirement == judgement.requirement
                    && earlier.step == judgement.step
                    && matches!(earlier.outcome, Outcome::Unclear(_))
            });
            if let Outcome::Unclear(why) = &judgement.outcome
                && unclear_before
            {
                let received = format!("{why}; the same again on a freshly started device");
                judgement.outcome = Outcome::Broken(Box::new(crate::verdict::Evidence {
                    expected: "the device goes on answering".into(),
                    received,
                    sent: judgement
                        .step
                        .as_deref()
                        .and_then(|step| self.log.sent_text(step)),
                    seq: None,
                }));
            }
        }
        let still: Vec<&'static str> = self
            .sink
            .found
            .iter()
            .map(|judgement| judgement.requirement)
            .collect();
        // Silence that did not come back stays what it was: nothing was shown.
        for judgement in before.found {
            if matches!(judgement.outcome, Outcome::Unclear(_))
                && !still.contains(&judgement.requirement)
            {
                self.sink.found.push(judgement);
            }
        }
    }
}
