//! Pure judgements over a transcript.
//!
//! [`Judge::observe`] takes the entries one by one, live or from a file, and runs the generic
//! checks on each; [`Judge::end_case`] adds the checks that look at a case as a whole and the
//! case's own expectations, and may find more about earlier cases. Nothing here sends,
//! waits or reads a clock, so a replay comes to the same verdicts.

mod answer;
mod attempt;
mod batch;
mod behind;
mod beside;
mod boot_log;
mod bootstrap;
mod channel;
mod closing;
mod console;
mod control;
mod echo;
mod expectation;
mod flight;
mod foreign_result;
mod handshake;
mod identity;
mod kept;
mod leak;
mod listed_unknown;
mod listing;
mod log;
mod members;
mod memory;
mod merged;
mod message;
mod mqtt;
mod observe;
mod own;
mod pace;
mod past;
mod pending;
mod put_off;
mod refusal;
mod refusal_text;
mod setters;
mod shifted;
pub(crate) mod sink;
mod status;
mod structured;
mod theme;
mod told;
mod tool;
mod traffic;
mod trouble;
mod unanswered;
mod unmatched;
mod vision;

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::is_generated;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Judgement, Outcome};
use mcp_hil_scenario::Case;
use serde_json::{Map, Value};

use log::CaseLog;
use pending::PendingRequests;
use sink::{Sink, evidence};
use trouble::Trouble;
use unmatched::Unmatched;

pub use expectation::shows;
pub use handshake::AUTHORIZED;
pub use kept::KEPT;
pub use log::{settings, view};
pub(crate) use memory::fall as falls;
pub use merged::{FailureSignature, Merged, in_order};
pub(crate) use pace::growth as grows;
pub use setters::RefusedSetting;

/// What an entry turned out to be, as far as the conversation must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// An answer to the message sent at this `seq`.
    Answer(u64),
    /// An answer that belongs to no message that waits for one.
    Unmatched,
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
    /// The bench took the device away: see
    /// [`TargetEvent::Lost`](mcp_hil_core::transcript::TargetEvent::Lost). One that was reset on demand is not
    /// taken away.
    Taken,
    /// Anything else.
    Other,
}

/// What a case comes to.
#[derive(Debug, Default)]
pub struct CaseOutcome {
    /// Requirements that were exercised, whether they hold or not.
    pub exercised: BTreeSet<Id>,
    /// What was found; judgements on earlier cases are among them. After trouble only what shows by
    /// what the device did before.
    pub judgements: Vec<Judgement>,
    /// What was said about earlier cases, or earlier inputs of this one, and does not hold: the answer
    /// came late.
    pub withdrawn: Vec<Judgement>,
    /// Why nothing of the case could be carried out, when that is so.
    pub not_carried_out: Option<String>,
    /// What broke on the bench in the middle of it: nothing that came of that is about the device.
    pub trouble: Option<String>,
    /// The first entry of the transcript (`seq`) that is the case's own; what came before it stands with
    /// earlier ones.
    pub began: Option<u64>,
    /// What the console said when the device broke down: the panic and what follows it, or the last lines. Of a device
    /// that answered nothing at all, what it complained of.
    pub console: Vec<String>,
    /// Console lines that tell at what places of its program the device broke down.
    pub places: Vec<String>,
    /// What of it leaves a doubt where the messages were in flight together: an answer tells by its id which message
    /// it is about; silence, a setting that changed or an answer of nobody's do not.
    pub doubtful: Vec<Judgement>,
}

/// How many types of messages are remembered that a device sends by itself.
const KINDS_REMEMBERED: usize = 32;

/// How the end of a process is told that went as it should.
const ENDED_WELL: &str = "exited with code 0";

/// Most lines about places in the program that are kept of a case.
const MOST_PLACES: usize = 48;

/// Whether what breaks this requirement may show on the console where in the program it happened.
pub fn breaks_down(requirement: Id) -> bool {
    matches!(requirement, Id::LivenessNoPanic | Id::LivenessNoReset)
}

/// The judge of one session with one device.
#[derive(Debug, Default)]
pub struct Judge {
    sink: Sink,
    /// The first entry of the running case.
    began: Option<u64>,
    pending: PendingRequests,
    log: CaseLog,
    /// The first attempt at the case, when there is a second one.
    first_attempt: Option<CaseLog>,
    /// Cases that ended without all of their answers.
    pasts: past::Pasts,
    withdrawn: Vec<Judgement>,
    unmatched: Vec<Unmatched>,
    refusals: refusal::Refusals,
    made_up: refusal_text::MadeUp,
    echoes: echo::Echoes,
    told: told::Told,
    results: foreign_result::Results,
    listed_unknown: listed_unknown::ListedUnknown,
    structured: structured::Structured,
    link: handshake::LinkState,
    identity: identity::Identity,
    closings: closing::Closings,
    setters: setters::Setters,
    mqtt: mqtt::Acknowledgements,
    console: console::Watch,
    controls: control::Controls,
    lists: listing::Lists,
    claims: members::Claims,
    kept: kept::Kept,
    themes: theme::Themes,
    bootstrap: bootstrap::Bootstrap,
    vision: vision::Vision,
    channel: channel::Channel,
    notified: bool,
    own_ids: own::OwnIds,
    /// The device has sent a request of its own.
    asks: bool,
    /// The case of the session in which the device fell silent first, and answered again after a restart.
    fell_silent: Option<Arc<str>>,
    /// What broke on the bench in this case.
    trouble: Option<Trouble>,
    /// The device was told to restart, and has not connected since.
    restarting: bool,
    /// The server's Close frame, until something connects again.
    farewell: Option<observe::Farewell>,
    token_given: bool,
    /// What is owed for the frame that was sent last.
    duty: Duty,
    /// What was owed for the last stimulus.
    last_owed: Option<Owes>,
    /// Types of messages that the device sends without being asked.
    kinds: BTreeSet<String>,
    batches: batch::Batches,
    behind: behind::Behind,
    /// The answer that is due to the latest request of the device.
    reply: Option<Value>,
    /// The data of the latest ping.
    ping: Vec<u8>,
    /// The latest ping in an odd frame, until its pong comes.
    odd_ping: Option<traffic::OddPing>,
    /// Where a ping was sent that came between the fragments of a message, until its pong comes.
    ping_between: Option<u64>,
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
        if self.sink.case != *case {
            self.began = None;
        }
        self.sink.begin_case(case);
        self.log = CaseLog::default();
        self.first_attempt = None;
        self.last_owed = None;
        self.trouble = None;
        self.console.begin_case();
    }

    /// Ends the case: what it comes to, its own expectations included.
    pub fn end_case(&mut self, case: Option<&Case>, facts: &Facts) -> CaseOutcome {
        self.sink.step = None;
        self.pair_strays(case);
        if self.log.lacks_answers() {
            let (id, first) = (self.sink.case.clone(), self.first_attempt.as_ref());
            self.pasts.remember(&id, case, (&self.log, first), facts, &mut self.controls);
        }
        self.pending.end_case();
        self.lists.end_case(&self.log, &mut self.sink);
        status::judge_bring_up(&self.log, &mut self.sink);
        self.kept.end_case((&self.log, self.first_attempt.as_ref()), &mut self.sink);
        self.themes.end_case(&self.log, &mut self.sink);
        beside::judge(&self.log, &mut self.sink);
        if self.link.is_up() {
            self.sink.held(self.link.kept());
            if self.link.transport() == Transport::WebSocket {
                self.sink.held(Id::SessionFrames);
            }
        }
        if self.is_alive() {
            self.sink.held(Id::LivenessAnswers);
        }
        self.closings.stayed_away(&mut self.sink);
        self.mqtt.end_case(&mut self.sink);
        self.console.end_case(&mut self.sink);
        let logs = (&self.log, self.first_attempt.as_ref());
        attempt::judge(case, logs, facts, &mut self.controls, &mut self.sink);
        if self.lists.tells_changes() {
            // A tool that was listed may be gone.
            self.sink.found.retain(|one| one.requirement != Id::ListListedKnown);
        }
        if let Some(seq) = self.ping_between.take()
            && self.link.is_up()
            && self.log.answered_after(seq)
        {
            self.sink.test(Id::LivenessPong, false, || {
                sink::evidence(
                    "a pong, also to a ping between fragments or right behind the handshake",
                    "none",
                    seq,
                )
            });
        }
        self.judge_silence();
        self.console.blame(&mut self.sink);
        if let Some(trouble) = &self.trouble {
            let logs: Vec<&CaseLog> = self.first_attempt.iter().chain([&self.log]).collect();
            let found = &mut self.sink.found;
            found.retain(|judgement| trouble.spares(judgement, &logs));
        }
        let is_doubtful =
            |one: &Judgement| one.case == self.sink.case && flight::is_doubtful(one, &self.log);
        let doubtful = self.sink.found.iter().filter(|one| is_doubtful(one)).cloned().collect();
        let carried_out = case.is_none() || self.log.has_stimulus();
        let broke_down = self.sink.found.iter().any(|one| breaks_down(one.requirement));
        let places = self.log.console().map(|(_, line)| line);
        let places = places.filter(|line| broke_down && console::names_places(line));
        let places = places.take(MOST_PLACES).map(str::to_owned).collect();
        let not_carried_out = (!carried_out).then(|| self.log.why_not_carried_out());
        CaseOutcome {
            began: self.began,
            console: match broke_down {
                true => self.log.last_words(),
                // One of many inputs must not take the place of what the console says of a breakdown in another.
                false if self.is_alive() || is_generated(&self.sink.case) => Vec::new(),
                false => self.log.complaints(),
            },
            places,
            doubtful,
            not_carried_out,
            withdrawn: std::mem::take(&mut self.withdrawn),
            exercised: std::mem::take(&mut self.sink.exercised),
            judgements: std::mem::take(&mut self.sink.found),
            trouble: self.trouble.as_ref().map(|trouble| trouble.what.clone()),
        }
    }

    /// Judges a device that had to be restarted because it answered nothing more, and then did what it was asked.
    ///
    /// Once may be an accident on the bench, which the second attempt excuses. A device that does so again falls
    /// silent by itself, such as after so many requests: what the message was is not the reason then.
    fn judge_silence(&mut self) {
        let silence = self.first_attempt.as_ref().and_then(CaseLog::fell_silent);
        let (Some((seq, waited_ms)), None) = (silence, &self.trouble) else {
            return;
        };
        let told = |one: &Judgement| {
            one.requirement == Id::LivenessAnswers && matches!(one.outcome, Outcome::Broken(_))
        };
        if !self.is_alive() || self.sink.found.iter().any(told) {
            return;
        }
        let case = self.sink.case.clone();
        let Some(before) = &self.fell_silent else {
            self.fell_silent = Some(case);
            return;
        };
        let received = format!(
            "nothing more, within {waited_ms} ms after a valid request, until it was restarted; and so before, in {before}"
        );
        let evidence = evidence("the device keeps answering", received, seq);
        self.sink.add(Id::LivenessAnswers, case, None, Outcome::Broken(Box::new(evidence)));
    }

    /// Capabilities that only the course of the session shows: the device sends messages of its
    /// own, was given a token, sends audio beside the link, tells of its free memory.
    pub fn late_capabilities(&self) -> impl Iterator<Item = String> {
        [
            ("notifications", self.notified),
            ("token", self.token_given),
            ("channel", self.channel.has_heard()),
            ("memory", self.console.watches_memory()),
            ("echo", self.echoes.is_any()),
            ("claims", self.claims.has_more()),
            ("progress", self.claims.has_progress()),
            ("requests", self.asks),
            ("listen", ["listen", "abort"].iter().any(|kind| self.kinds.contains(*kind))),
            ("console.boot", self.lists.saw_boot()),
        ]
        .into_iter()
        .filter(|(_, shown)| *shown)
        .map(|(name, _)| name.to_owned())
    }

    /// The free memory that the console has told since the device has started.
    pub fn free_memory(&self) -> Option<FreeMemory> {
        self.console.free_memory()
    }

    /// What is owed for the frame that was sent last.
    pub fn duty(&self) -> &Duty {
        &self.duty
    }

    /// Whether the pong to a ping between fragments has not come yet.
    pub fn waits_for_pong(&self) -> bool {
        self.ping_between.is_some()
    }

    /// The answer that a backend owes to the request of the device that was seen last.
    pub fn take_reply(&mut self) -> Option<Value> {
        self.reply.take()
    }

    /// Whether the device has refused a message by closing the connection, as it may, and has not served since.
    pub fn has_refused_by_closing(&self) -> bool {
        self.closings.is_open()
    }

    /// Whether the device has answered anything in the running case.
    pub fn is_alive(&self) -> bool {
        self.log.entries.iter().any(|logged| logged.answers.is_some())
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

    /// The call that was sent at a step of the running case, if it is one that should set something and its tool has
    /// refused it for a reason of its own.
    pub fn refused_setting(&self, step: &str) -> Option<RefusedSetting> {
        self.setters.refused(&self.log, step)
    }

    /// Why the tool that was called at a step of the running case sets nothing, if it has refused two good values there.
    pub fn reason_of_lock(&self, step: &str) -> Option<String> {
        setters::is_locked(&self.log, step).then(|| setters::reason(&self.log, step))?
    }

    /// Whether the message sent at a step of the running case was refused because too many came before it.
    pub fn is_limited(&self, step: &str) -> bool {
        self.log.is_limited(step)
    }

    /// Whether the message sent at a step of the running case was refused for the moment.
    pub fn is_put_off(&self, step: &str) -> bool {
        self.log.is_put_off(step)
    }

    /// What the message sent at a step of the running case was refused with, if that may be for want of room beside others.
    pub fn refused_for_room(&self, step: &str) -> Option<String> {
        self.log.refused_for_room(step)
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

    /// What the settings have to be now, by their places in the status, as far as a change can be charged.
    pub fn owed_settings(&self) -> Map<String, Value> {
        self.kept.owed(&self.log)
    }

    /// The name of the last reading where the one at a step was repeated until it stood still.
    pub fn settled(&self, step: &str) -> Arc<str> {
        self.log.settled(step)
    }
}
