//! Messages under way together, with a device that takes long to answer.
//!
//! They go out in the order in which they would go alone, each with its fence and the readings beside it; only nobody
//! waits in between. So a device that answers in order is in the same state at each of them. What comes back with
//! every answer in its place and no finding stands. Whatever else does is carried out again with each message alone,
//! and what that shows counts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{PHOTO_TOOL, STATUS_TOOL};
use mcp_hil_core::limits::MAX_OWED_MESSAGE_BYTES;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::timing::Kind;
use mcp_hil_core::transcript::Role;
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::check::{KEPT, Seen};
use mcp_hil_scenario::{Action, Expect, Flat, Scope};
use serde_json::{Value, json};

use super::bring_up::list_params;
use super::company::Company;
use super::session::{Exchange, Manner, Next, Session};
use super::stimulus::{manner, opens};

/// How many bytes of messages are under way at most: twice the receive window of lwIP in stock firmware, 5,760.
const MOST_BYTES: usize = 10 * 1024;

/// How many bytes their answers may have together, as far as is known before they come: a device may hold them all in
/// its memory.
const MOST_ANSWER_BYTES: usize = 32 * 1024;

/// What an answer has at most beyond what it repeats of the message: a page of a list (stock firmware ends it at
/// 8,000), a status, anything else.
const LIST_BYTES: usize = 8_000;
const CALL_BYTES: usize = 800;
const OTHER_BYTES: usize = 250;

/// The longest message that shares the way with others than readings beside it.
pub(super) const LONGEST: usize = 4 * 1024;

/// How many short messages may be before a long one.
const BEFORE_LONG: usize = 2;

/// What is under way is left there at most so long when an answer has already shown a doubt.
const LEAVES: Duration = Duration::from_millis(500);

/// Messages that are under way.
#[derive(Debug, Default)]
pub(super) struct Flight<'a> {
    up: VecDeque<Up>,
    bytes: Bytes,
    /// The same of the message before the next fence.
    unanswered: Bytes,
    /// When the latest answer came.
    progress: Option<Instant>,
    /// Ids of the messages since all were answered.
    ids: Vec<Value>,
    /// The latest message that need not be answered.
    odd: Option<(Kind, Instant)>,
    /// Whether there were such since all were answered: requests with texts as ids, and others.
    odd_texts: bool,
    odd_others: bool,
    /// The messages that need not be answered, of which an answer is expected.
    wanted: Vec<Arc<str>>,
    /// Where sessions were opened anew.
    opened: Vec<Arc<str>>,
    /// Whether a message has the way for itself: it is long, or may be answered in several ways.
    is_cleared: bool,
    /// Whether that one may be refused by closing the connection.
    is_longest: bool,
    /// How many answers had come then that belong to nobody.
    unmatched: u64,
    /// What their answers bring.
    binds: Vec<(Arc<str>, &'a BTreeMap<String, String>)>,
    /// Walks of lists, with the cursors that their pages are to bring.
    walks: Vec<(Arc<str>, Vec<String>)>,
}

/// A request that is under way.
#[derive(Debug)]
struct Up {
    seq: u64,
    at: Arc<str>,
    duty: Duty,
    bytes: Bytes,
    sent_at: Instant,
}

/// The size of messages and of their answers.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes {
    messages: usize,
    answers: usize,
}

impl Bytes {
    fn of(frame: &Frame) -> Self {
        let messages = frame.len();
        let text = if let Frame::Text(text) = frame { text } else { "" };
        // What is no good request may be taken for one.
        let beyond = match text {
            list if list.contains("list") => LIST_BYTES,
            call if call.contains("call") => CALL_BYTES,
            _ => OTHER_BYTES,
        };
        Self { messages, answers: messages + beyond }
    }

    fn and(self, other: Self) -> Self {
        let (messages, answers) = (self.messages + other.messages, self.answers + other.answers);
        Self { messages, answers }
    }

    fn without(self, other: Self) -> Self {
        let (messages, answers) = (self.messages - other.messages, self.answers - other.answers);
        Self { messages, answers }
    }
}

impl Flight<'_> {
    /// Whether a message may join those that are under way.
    fn has_room_for(&self, bytes: Bytes) -> bool {
        let all = self.bytes.and(bytes);
        self.up.is_empty()
            || self.is_cleared
            || all.messages <= MOST_BYTES && all.answers <= MOST_ANSWER_BYTES
    }

    fn is_empty(&self) -> bool {
        let is_done = self.ids.is_empty() && self.binds.is_empty() && self.walks.is_empty();
        self.up.is_empty() && is_done && self.odd.is_none()
    }

    /// Whether a step uses what an answer brings that is under way.
    pub(super) fn brings_for(&self, flat: &Flat<'_>) -> bool {
        let names = || self.binds.iter().flat_map(|(_, bind)| bind.keys());
        if names().next().is_none() {
            return false;
        }
        let text = format!("{:?} {:?}", flat.step.action, flat.row);
        names().any(|name| text.contains(&format!("${{{name}}}")))
    }
}

impl Session {
    /// Sends the message of a step, with those before it or behind them.
    pub(super) async fn flies<'a>(
        &mut self,
        flight: &mut Flight<'a>,
        flat: &Flat<'a>,
        scope: &mut Scope,
        (is_last, (company, frame, duty)): (bool, (Company, Frame, Duty)),
    ) -> Exchange {
        let is_apart = company == Company::Readings;
        if is_apart {
            match self.land(flight, scope).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        match self.take_off(flight, flat, is_last, (frame, duty)).await {
            Exchange::Settled if is_apart && !is_last => self.land(flight, scope).await,
            other => other,
        }
    }

    /// Sends the message of a step with what stands beside it, and waits for nothing.
    async fn take_off<'a>(
        &mut self,
        flight: &mut Flight<'a>,
        flat: &Flat<'a>,
        is_last: bool,
        (frame, duty): (Frame, Duty),
    ) -> Exchange {
        let (step, at) = (flat.step, &flat.at);
        let id = duty.id.as_ref();
        // An answer under another id than a message's own belongs to nobody else then.
        let is_photo = duty.tool.as_deref() == Some(PHOTO_TOOL);
        let is_long = frame.len() > LONGEST || Duty::batch_ids(&frame).is_some();
        match self.makes_way(flight, id, is_long).await {
            Exchange::Settled => {}
            other => return other,
        }
        flight.ids.extend(duty.id.clone());
        let watched = step.unchanged.is_some() && self.device.facts.capabilities.contains("status");
        let fence = match duty.owes {
            Owes::Answer => None,
            _ => self.conversation.fence(duty.is_call()),
        };
        let is_longest = frame.len() > MAX_OWED_MESSAGE_BYTES;
        let mut messages = VecDeque::from([(at.clone(), Role::Stimulus, frame, manner(step))]);
        if let Some((method, params)) = fence {
            let frame = self.request_frame(&method, params.as_ref());
            messages.push_back((beside(at, StepKind::Fence), Role::Fence, frame, Manner::Plain));
            flight.odd = Some((Kind::of(&duty), Instant::now()));
            let is_text = id.is_some_and(Value::is_string);
            flight.odd_texts |= is_text;
            flight.odd_others |= !is_text;
            // Whatever is expected of it may come after the fence's answer.
            let wants_answer = step.expect.iter().any(Expect::wants_answer);
            flight.wanted.extend(wants_answer.then(|| at.clone()));
        }
        if watched {
            let before = self.status_frame();
            let before = (beside(at, StepKind::Before), Role::Probe, before, Manner::Plain);
            messages.push_front(before);
        }
        let opens_session = matches!(&step.action, Action::Send(outgoing) if opens(outgoing));
        if opens_session {
            flight.opened.push(at.clone());
        }
        flight.is_cleared = is_long;
        flight.is_longest = is_longest;
        for (at, role, frame, manner) in messages {
            match self.puts_up(flight, at, role, frame, manner).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        // Where a picture is to be sent is told again before the next one. Behind an `initialize` clients wait for its answer
        // (MCP, lifecycle), and there are devices that serve nobody before.
        if is_photo || opens_session {
            match self.all_land(flight).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        if watched {
            let after = self.status_frame();
            let at = beside(at, StepKind::After);
            match self.puts_up(flight, at, Role::Probe, after, Manner::Plain).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        if is_long && !is_last {
            match self.all_land(flight).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        if !step.bind.is_empty() {
            flight.binds.push((at.clone(), &step.bind));
        }
        Exchange::Settled
    }

    /// Waits until a message may take off: under an id that no other on its way has, and behind few others if it is long.
    async fn makes_way(
        &mut self,
        flight: &mut Flight<'_>,
        id: Option<&Value>,
        is_long: bool,
    ) -> Exchange {
        if id.is_some_and(|id| flight.ids.contains(id)) {
            // Whose answer it is, the id alone would not tell.
            match self.all_land(flight).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        if flight.is_empty() {
            flight.unmatched = self.received.unmatched;
        }
        match is_long && (flight.odd.is_some() || flight.up.len() > BEFORE_LONG) {
            true => self.all_land(flight).await,
            false => Exchange::Settled,
        }
    }

    /// Sends the requests of a walk of a list that was walked before: which cursors its pages bring is known, and
    /// whether they do so again shows when they are there. `None` where it was not.
    pub(super) async fn walk_in_flight(
        &mut self,
        flight: &mut Flight<'_>,
        flat: &Flat<'_>,
        scope: &Scope,
    ) -> Option<Exchange> {
        let Action::List { with_user_tools, cursor } = &flat.step.action else {
            return None;
        };
        let fill =
            |value: &Option<Value>| value.as_ref().map(|value| scope.fill(value)).transpose();
        let (flag, start) = (fill(with_user_tools).ok()?, fill(cursor).ok()?);
        let walk = (flag.clone(), start.clone());
        let known = self.device.walks.iter().find(|(known, _)| *known == walk);
        let cursors = known.filter(|_| self.flights.is_on)?.1.clone();
        if flight.is_empty() {
            flight.unmatched = self.received.unmatched;
        }
        let pages = [start].into_iter().chain(cursors.iter().map(|one| Some(one.as_str().into())));
        for (page, cursor) in pages.enumerate() {
            let params = list_params(flag.as_ref(), cursor);
            let frame = self.request_frame("tools/list", Some(&params));
            let at = beside(&flat.at, StepKind::Page(page));
            match self.puts_up(flight, at, Role::Stimulus, frame, Manner::Plain).await {
                Exchange::Settled => {}
                other => return Some(other),
            }
        }
        flight.walks.push((flat.at.clone(), cursors));
        Some(Exchange::Settled)
    }

    /// Whether the pages of a walk brought these cursors.
    fn went_as_before(&self, at: &str, cursors: &[String]) -> bool {
        (0..=cursors.len()).all(|page| {
            let view = self.judge.answer_view(&beside(at, StepKind::Page(page)));
            let next = view.as_ref().and_then(|view| view.pointer("/result/nextCursor"));
            let next = next.and_then(Value::as_str).filter(|next| !next.is_empty());
            view.is_some() && next == cursors.get(page).map(String::as_str)
        })
    }

    /// Sends the reading of the settings at the end of a case behind its last messages, if they are under way.
    pub(super) async fn read_kept_in_flight(&mut self, flight: &mut Flight<'_>) -> Exchange {
        let reads = self.flights.reads_kept && !self.settling.takes_time();
        let has_status = self.device.facts.capabilities.contains("status");
        if !reads || flight.is_empty() || !has_status || !self.connection.initialized {
            return Exchange::Settled;
        }
        let frame = self.status_frame();
        self.puts_up(flight, KEPT.into(), Role::Probe, frame, Manner::Plain).await
    }

    fn status_frame(&mut self) -> Frame {
        let params = json!({"name": STATUS_TOOL, "arguments": {}});
        self.request_frame("tools/call", Some(&params))
    }

    async fn puts_up(
        &mut self,
        flight: &mut Flight<'_>,
        at: Arc<str>,
        role: Role,
        frame: Frame,
        manner: Manner,
    ) -> Exchange {
        // What need not be answered is on its way until its fence is.
        let bytes = Bytes::of(&frame).and(std::mem::take(&mut flight.unanswered));
        while flight.up.len() >= self.flights.width || !flight.has_room_for(bytes) {
            match self.one_lands(flight).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        let sent_at = Instant::now();
        let Some(seq) = self.send(&at, role, frame, manner).await else {
            return Exchange::Gone;
        };
        self.flights.has_flown = true;
        let duty = self.judge.duty().clone();
        if duty.owes != Owes::Answer {
            flight.unanswered = bytes;
        } else {
            flight.bytes = flight.bytes.and(bytes);
            flight.up.push_back(Up { seq, at, duty, bytes, sent_at });
        }
        Exchange::Settled
    }

    /// Waits for the next answer to what is under way.
    async fn one_lands(&mut self, flight: &mut Flight<'_>) -> Exchange {
        let Some(oldest) = flight.up.front() else {
            return Exchange::Settled;
        };
        let at = oldest.at.clone();
        let since = flight.progress.map_or(oldest.sent_at, |at| at.max(oldest.sent_at));
        let mut patience = self.conversation.fence_patience();
        if oldest.duty.tool.as_deref() == Some(PHOTO_TOOL) {
            patience = patience.max(self.conversation.patience_for(&oldest.duty));
        }
        let mut until = since + patience;
        loop {
            match self.next(Some(&at), until).await {
                Next::Seen(Seen::Answer(seq)) => {
                    let Some(place) = flight.up.iter().position(|up| up.seq == seq) else {
                        continue;
                    };
                    return self.lands(flight, place, &at).await;
                }
                // A refusal under no id is about the only message that may be refused so.
                Next::Seen(Seen::Unmatched) if flight.is_cleared => {}
                Next::Seen(Seen::Unmatched) => return self.doubts(flight, &at).await,
                Next::Seen(Seen::Crash) => {
                    until = until.min(Instant::now() + Duration::from_secs(1));
                }
                Next::Seen(_) => {}
                Next::Gone => {
                    self.flights.is_lost = true;
                    // It is the only one, and may be refused so.
                    self.flights.longest_alone |= flight.is_longest;
                    self.flights.is_excused |= flight.is_longest;
                    return Exchange::Gone;
                }
                Next::Interrupted => return Exchange::Interrupted,
                Next::Deadline => return self.doubts(flight, &at).await,
            }
        }
    }

    /// Takes note of an answer, and whether one before it is missing.
    async fn lands(&mut self, flight: &mut Flight<'_>, place: usize, at: &Arc<str>) -> Exchange {
        let is_call = flight.up[place].duty.is_call();
        let mut before = flight.up.iter().take(place);
        let overtakes = before.any(|up| !self.flights.is_apart || up.duty.is_call() == is_call);
        let Some(up) = flight.up.remove(place) else {
            return Exchange::Settled;
        };
        flight.bytes = flight.bytes.without(up.bytes);
        flight.progress = Some(Instant::now());
        let shape = self.conversation.shape(&up.duty);
        self.conversation.was_answered(&shape);
        self.may_have_stirred(&up.at, &up.duty);
        // What is refused because too many came before it is no sign of what the device does with it alone.
        let refused = self.judge.refused_for_room(&up.at);
        let refused = refused.filter(|one| !self.flights.refused_alone.contains(one));
        let is_refused = refused.is_some();
        self.flights.refused = self.flights.refused.take().or(refused);
        match overtakes || is_refused {
            true => self.doubts(flight, at).await,
            false => Exchange::Settled,
        }
    }

    /// Waits until all are answered, and a moment longer where one of them need not be.
    async fn all_land(&mut self, flight: &mut Flight<'_>) -> Exchange {
        let at = flight.up.back().map_or_else(|| "flight".into(), |up| up.at.clone());
        while !flight.up.is_empty() {
            match self.one_lands(flight).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        if let Some((kind, sent_at)) = flight.odd.take() {
            let grace = self.conversation.grace(kind, sent_at.elapsed());
            match self.listen(&at, grace).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        flight.ids.clear();
        (flight.odd_texts, flight.odd_others) = (false, false);
        for at in std::mem::take(&mut flight.wanted) {
            // Once shows whether the device answers such at all.
            if !self.flights.wanted_alone {
                self.wait_for_answer(&at, flight.unmatched).await;
                self.flights.wanted_alone = !self.judge.is_answered(&at);
            }
        }
        if std::mem::take(&mut flight.is_cleared) {
            flight.unmatched = self.received.unmatched;
        }
        for at in std::mem::take(&mut flight.opened) {
            match self.restore(&at).await {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        let walks = std::mem::take(&mut flight.walks);
        let as_before = walks.iter().all(|(at, cursors)| self.went_as_before(at, cursors));
        match self.received.unmatched > flight.unmatched || !as_before {
            true => self.doubts(flight, &at).await,
            false => Exchange::Settled,
        }
    }

    /// Waits until all are answered, and takes what their answers bring.
    pub(super) async fn land(&mut self, flight: &mut Flight<'_>, scope: &mut Scope) -> Exchange {
        if flight.is_empty() {
            return Exchange::Settled;
        }
        let end = self.all_land(flight).await;
        for (at, bind) in flight.binds.drain(..) {
            let view = self.judge.answer_view(&at);
            for (name, pointer) in bind {
                if let Some(value) = view.as_ref().and_then(|view| view.pointer(pointer)) {
                    scope.set(name, value.clone());
                }
            }
        }
        end
    }

    /// Gives the rest up that is under way. Where the device refuses under no id what need not be answered, such is
    /// sent alone from now on.
    async fn doubts(&mut self, flight: &mut Flight<'_>, at: &Arc<str>) -> Exchange {
        let until = Instant::now() + LEAVES.max(self.conversation.timing().slowest_usual());
        while !flight.up.is_empty() {
            match self.next(Some(at), until).await {
                Next::Seen(Seen::Answer(seq)) => flight.up.retain(|up| up.seq != seq),
                Next::Seen(_) => {}
                Next::Gone => return Exchange::Gone,
                Next::Interrupted => return Exchange::Interrupted,
                Next::Deadline => break,
            }
        }
        let is_refused = self.received.unmatched > flight.unmatched && !flight.ids.is_empty();
        let alone = match flight.odd_texts && !flight.odd_others {
            true => &mut self.flights.texts_alone,
            false => &mut self.flights.odd_alone,
        };
        self.flights.is_excused = is_refused && !*alone;
        *alone |= is_refused;
        self.flights.is_lost = true;
        *flight = Flight::default();
        Exchange::Doubtful
    }
}
