//! The harness's side of a session: ids, how long to wait, and what serves as a fence.
//!
//! It decides nothing about right or wrong. Times are microseconds or durations given from
//! outside; nothing here sleeps.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::capability::{Facts, PHOTO_TOOL};
use crate::obligation::Duty;
use crate::timing::{Kind, Timing};
use crate::wire::id_key;

/// Ids that the harness gives begin here, so that scripts can use small numbers of their own.
pub const FIRST_ID: u64 = 1001;

/// What stands before and behind a text by which is seen whether a device gives it back. Of letters that nobody has to
/// escape.
pub const TEXT_BEGINS: &str = "mcp-hil-from ";
/// See [`TEXT_BEGINS`].
pub const TEXT_ENDS: &str = " mcp-hil-to";

/// The least time for a wait that proves something, whatever the device has done before. A device that
/// stalls for a second now and then must not be accused for it.
const LEAST_PROOF: Duration = Duration::from_secs(2);

/// The same before a device is blamed for its silence: for the last fence, and when a case is tried again.
const LEAST_FULL: Duration = Duration::from_secs(5);

/// No deadline that somebody asks for makes a proof shorter than this.
const LEAST_DEADLINE: Duration = Duration::from_secs(1);

/// The least time for a wait that only tells whether a smaller input fails, too.
const LEAST_TRY: Duration = Duration::from_millis(250);

/// The same for the fence behind such an input.
const LEAST_TRY_FENCE: Duration = Duration::from_secs(1);

/// After so many answers it is known how long a device takes for what no tool works on.
const MANY_ANSWERS: u32 = 100;

/// After so many times it is known that a device falls silent.
const MANY_SILENCES: u32 = 3;

/// The methods that a device may know each by itself. All others are one to it: the method that it has not got.
const KNOWN: [&str; 4] = ["initialize", "ping", "tools/list", CALL];

const CALL: &str = "tools/call";

/// A device that has left so many calls unanswered, and answered none, answers none.
const SOME_CALLS: u32 = 2;

/// How methods begin that a device takes for notifications, which are never answered.
const NOTIFICATIONS: &str = "notifications";

/// How many times what nearly all answers take such a wait lasts.
const TIMES_USUAL: u32 = 4;

/// How many times the slowest answer of the session a device gets before it is blamed.
const TIMES_SLOWEST: u32 = 5;

/// The same for all other waits. Most devices stall once in a session, and what comes later revises what was said.
const TIMES_SLOWEST_USUAL: u32 = 2;

/// Bounds of the grace that is given after a fence, as far as it follows the median.
const GRACE: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(20));

/// The longest grace. Tasks that answer beside each other are some 80 ms apart.
const LONGEST_GRACE: Duration = Duration::from_millis(250);

/// The state of the harness's side of a session.
#[derive(Debug)]
pub struct Conversation {
    next_id: u64,
    /// The first one of them in this session of the protocol.
    first_id: u64,
    /// Ids of requests in this session that somebody else gave.
    used: BTreeSet<String>,
    deadline: Duration,
    timing: Timing,
    misses: u32,
    /// How often the device was silent behind a message, whatever was asked.
    silences: u32,
    /// Whether a case is tried again, on a device that was started afresh.
    is_thorough: bool,
    /// Whether a smaller input is tried, which shows nothing by itself.
    is_trying: bool,
    /// What was left unanswered although the device answered what came after it, and was not answered
    /// since.
    ignored: BTreeSet<Shape>,
    /// How many calls were left unanswered so before any call was answered.
    ignored_calls: u32,
    fence: Option<(String, Option<Value>)>,
    call_fence: Option<Value>,
    /// The tools that the device has.
    tools: BTreeSet<String>,
}

/// What requests have in common that are ignored for one reason: the method, and the tool of a call. All
/// tools that the device has not got are one, and so are all methods that it has not got, and all that are named like
/// notifications.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    method: String,
    tool: String,
}

impl Conversation {
    /// A conversation in which a request is waited for up to `deadline`.
    pub fn new(deadline: Duration) -> Self {
        Self {
            next_id: FIRST_ID,
            first_id: FIRST_ID,
            used: BTreeSet::new(),
            deadline,
            timing: Timing::default(),
            misses: 0,
            silences: 0,
            is_thorough: false,
            is_trying: false,
            ignored: BTreeSet::new(),
            ignored_calls: 0,
            fence: None,
            call_fence: None,
            tools: BTreeSet::new(),
        }
    }

    /// An id that was not used in this session.
    pub fn fresh_id(&mut self) -> u64 {
        let id = self.next_fresh_id();
        self.next_id = id + 1;
        id
    }

    /// The id that comes next.
    pub fn next_fresh_id(&self) -> u64 {
        let mut ids = self.next_id..;
        ids.find(|id| !self.used.contains(&id.to_string())).unwrap_or(self.next_id)
    }

    /// Whether this id was given to a request of this session here, and not by a case.
    pub fn gave(&self, id: u64) -> bool {
        (self.first_id..self.next_id).contains(&id) && !self.used.contains(&id.to_string())
    }

    /// Takes note of the id of a request that was sent.
    pub fn use_id(&mut self, id: &Value) {
        // Those that were given here are known.
        if !id.as_u64().is_some_and(|id| (self.first_id..self.next_id).contains(&id)) {
            self.used.insert(id_key(id));
        }
    }

    /// Whether a request of this session had this id. No other one may have it (MCP, basic/messages).
    pub fn is_used(&self, id: &Value) -> bool {
        id.as_u64().is_some_and(|id| (self.first_id..self.next_id).contains(&id))
            || self.used.contains(&id_key(id))
    }

    /// A session of the protocol begins, with a request under this id: all others may be used again.
    pub fn begin_session(&mut self, id: Option<&Value>) {
        self.first_id = self.next_id;
        self.used = id.map(id_key).into_iter().collect();
    }

    /// How long an answer is waited for whose absence shows something. A device that has once let the
    /// whole deadline pass gets less from then on, so that a run with it ends; but always several times
    /// what its slowest answer took, stalls included, and two seconds at least.
    pub fn patience(&self) -> Duration {
        if self.is_trying {
            let usual = self.timing.slowest_usual() * TIMES_USUAL;
            return usual.max(LEAST_TRY).min(self.deadline());
        }
        match (self.misses, self.is_thorough) {
            (0, _) => self.deadline(),
            (_, true) => self.full_patience(),
            (_, false) => self.short_patience(),
        }
    }

    /// The same for a request. A call for a picture waits for another server, for 30 s with the HTTP client of stock
    /// firmware when that server closes without an answer (measured devices, 10). A tool may need the whole deadline
    /// whenever it is called first; what no tool works on is answered as quickly as so many requests before.
    pub fn patience_for(&self, duty: &Duty) -> Duration {
        let is_picture = duty.tool.as_deref() == Some(PHOTO_TOOL) && !self.is_trying;
        let least = if is_picture { self.deadline() * 7 / 2 } else { Duration::ZERO };
        let is_known = !duty.is_call() && self.timing.answers() >= MANY_ANSWERS;
        let patience = self.patience();
        let patience = match (is_known, self.is_thorough) {
            (true, true) => patience.min(self.full_patience()),
            // If it is late after all, its answer is seen behind that of the fence, or at the end.
            (true, false) => patience.min(self.short_patience()),
            (false, _) => patience,
        };
        patience.max(least)
    }

    /// How long a fence is waited for: it is a good request, of a kind that this device answers.
    pub fn fence_patience(&self) -> Duration {
        match (self.is_thorough, self.is_trying) {
            (true, _) => self.full_patience(),
            (false, true) => self.at_least(LEAST_TRY_FENCE, TIMES_SLOWEST),
            (false, false) => self.short_patience(),
        }
    }

    /// How long the last fence is waited for, before the device is blamed. One that has been silent time and again is
    /// known for it.
    pub fn full_patience(&self) -> Duration {
        let least = if self.silences < MANY_SILENCES { LEAST_FULL } else { LEAST_PROOF };
        self.at_least(least, TIMES_SLOWEST)
    }

    /// How long each of the fences is waited for that a message gets at most ([`crate::step::FENCES`]). A device is blamed
    /// after the last one; nobody is for what a smaller input seems to show.
    pub fn fence_patiences(&self) -> Vec<Duration> {
        match self.is_trying {
            true => vec![self.fence_patience()],
            false => {
                let usual = self.fence_patience();
                vec![usual, self.full_patience(), usual, usual]
            }
        }
    }

    /// How long is waited where a later answer revises what was said, or a longer wait follows.
    fn short_patience(&self) -> Duration {
        self.at_least(LEAST_PROOF, TIMES_SLOWEST_USUAL)
    }

    fn at_least(&self, least: Duration, times: u32) -> Duration {
        let taken = self.timing.worst() * times;
        taken.max(least).min(self.deadline())
    }

    /// Whether a case is tried again on a device that was started afresh: then nothing is hurried.
    pub fn be_thorough(&mut self, is_thorough: bool) {
        self.is_thorough = is_thorough;
    }

    /// Whether a smaller input is tried. What it shows is shown once more with all patience before it is told,
    /// so the wait for an answer only has to tell one that comes from one that does not.
    pub fn be_trying(&mut self, is_trying: bool) {
        self.is_trying = is_trying;
    }

    /// Whether the device has ignored requests of this kind, and has not answered one since. The fence then
    /// follows right behind the request: its answer ends the wait, and nothing is waited for in vain.
    pub fn ignores(&self, duty: &Duty) -> bool {
        (duty.is_call() && self.ignores_calls()) || self.ignored.contains(&self.shape(duty))
    }

    /// Takes note that a request was left unanswered, and the device answered what came after it.
    pub fn was_ignored(&mut self, shape: Shape) {
        self.ignored_calls += u32::from(shape.method == CALL);
        self.ignored.insert(shape);
    }

    /// Takes note that a request was answered, be it late.
    pub fn was_answered(&mut self, shape: &Shape) {
        self.ignored.remove(shape);
        if shape.method == CALL {
            self.ignored_calls = 0;
        }
    }

    /// Whether any call was answered.
    pub fn answers_calls(&self) -> bool {
        self.timing.usual(Kind::Call).is_some()
    }

    /// Whether the device seems to answer no call at all, of whichever tool.
    fn ignores_calls(&self) -> bool {
        self.ignored_calls >= SOME_CALLS && !self.answers_calls()
    }

    /// What the request has in common with others that are ignored for one reason.
    pub fn shape(&self, duty: &Duty) -> Shape {
        let tool = duty.tool.as_ref().filter(|tool| self.tools.contains(*tool));
        let method = duty.method.as_deref().unwrap_or_default();
        let method = match method.starts_with(NOTIFICATIONS) {
            true => NOTIFICATIONS,
            false => KNOWN.into_iter().find(|known| *known == method).unwrap_or_default(),
        };
        Shape { method: method.to_owned(), tool: tool.cloned().unwrap_or_default() }
    }

    /// How long a device in good standing is waited for.
    pub fn deadline(&self) -> Duration {
        self.deadline.max(LEAST_DEADLINE)
    }

    /// How many messages went unanswered.
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// Takes note that a message went unanswered.
    pub fn missed(&mut self) {
        self.misses += 1;
    }

    /// Takes note that the device answered nothing any more.
    pub fn was_silent(&mut self) {
        self.missed();
        self.silences += 1;
    }

    /// Takes note of the time that an answer took.
    pub fn learn(&mut self, kind: Kind, latency: Duration) {
        self.timing.learn(kind, latency);
    }

    /// How long the device takes for its answers.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// How long to go on listening after a fence was answered, when the message before it was sent
    /// `since` ago: real devices are not serial, so an answer to what came before the fence may come
    /// after the fence's. The median latency of the session is enough where tasks answer in turn; where
    /// answers of one kind take different times, what nearly all of them take counts from the message
    /// on. What comes later still is attributed by its id, and revises what was said.
    pub fn grace(&self, kind: Kind, since: Duration) -> Duration {
        let median = self.timing.median().unwrap_or(GRACE.1);
        let usual = self.timing.usual(kind).unwrap_or_default();
        // Before many answers are known, the slowest of them may be quick by chance.
        let spread = (usual + usual / 4).saturating_sub(since);
        median.clamp(GRACE.0, GRACE.1).max(spread.min(LONGEST_GRACE))
    }

    /// How long a look for late answers takes, before a drop and at the end of a session. Where answers
    /// are missing they may be as late as the latest one was; else what nearly all answers take is enough:
    /// a device that stalls now and then must not make every look long.
    pub fn late_look(&self, lacks_answers: bool) -> Duration {
        let taken = match lacks_answers {
            true => self.timing.worst(),
            false => self.timing.slowest_usual(),
        };
        (taken * 4).clamp(Duration::from_secs(1), Duration::from_secs(4))
    }

    /// The median latency of the session so far.
    pub fn median_latency(&self) -> Option<Duration> {
        self.timing.median()
    }

    /// Sets what serves as a fence: a method that this device answers with a success.
    pub fn set_fence(&mut self, method: &str, params: Option<Value>) {
        self.fence = Some((method.to_owned(), params));
    }

    /// Learns which tools the device has. One that is harmless fences the calls of others.
    pub fn set_call_fence(&mut self, facts: &Facts) {
        let tools = facts.tools.iter().chain(&facts.user_tools);
        self.tools = tools.cloned().collect();
        self.call_fence =
            facts.variables.get("nullary.tool").map(|tool| json!({"name": tool, "arguments": {}}));
    }

    /// The request that fences a message of the kind; `None` before one is known.
    pub fn fence(&self, is_call: bool) -> Option<(String, Option<Value>)> {
        if is_call
            && !self.ignores_calls()
            && let Some(params) = &self.call_fence
        {
            return Some((CALL.to_owned(), Some(params.clone())));
        }
        self.fence.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::FENCES;

    fn millis(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn call(tool: &str) -> Duty {
        Duty { method: Some("tools/call".into()), tool: Some(tool.into()), ..Duty::default() }
    }

    #[test]
    fn an_id_is_used_once_in_a_session() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        let (own, given) = (json!(FIRST_ID), json!(FIRST_ID + 1));
        assert!(!conversation.is_used(&own));
        assert_eq!(conversation.fresh_id(), FIRST_ID);
        conversation.use_id(&own);
        conversation.use_id(&given);
        conversation.use_id(&json!("7"));
        for used in [&own, &given, &json!("7")] {
            assert!(conversation.is_used(used), "{used}");
        }
        assert!(!conversation.is_used(&json!(7)));
        // What somebody else gave is none of ours any more.
        assert_eq!(conversation.fresh_id(), FIRST_ID + 2);
        conversation.begin_session(Some(&json!(0)));
        for unused in [&own, &given, &json!("7")] {
            assert!(!conversation.is_used(unused), "{unused}");
        }
        assert!(conversation.is_used(&json!(0)));
        assert_eq!(conversation.fresh_id(), FIRST_ID + 3);
    }

    #[test]
    fn grace_follows_the_latencies_seen() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        assert_eq!(conversation.grace(Kind::Ping, Duration::ZERO), GRACE.1);
        for ms in 1..=9 {
            conversation.learn(Kind::Ping, millis(ms));
        }
        let grace = conversation.grace(Kind::List, Duration::ZERO);
        assert!((millis(5)..millis(6)).contains(&grace), "{grace:?}");
    }

    #[test]
    fn grace_covers_answers_of_one_kind_that_take_different_times() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        for ms in 0..200 {
            conversation.learn(Kind::List, millis(1));
            conversation.learn(Kind::Call, millis(5 + ms * 37 % 76));
        }
        let grace = |since| conversation.grace(Kind::Call, millis(since));
        assert!(grace(0) >= millis(80), "{:?}", grace(0));
        // What nearly all answers take has passed while the fence was on its way.
        assert!(grace(120) <= GRACE.1, "{:?}", grace(120));
        // A quick device pays nothing.
        assert!(conversation.grace(Kind::List, millis(1)) <= GRACE.1);
    }

    #[test]
    fn patience_never_falls_below_what_proves_something() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        for _ in 0..1000 {
            conversation.learn(Kind::Call, millis(1));
        }
        assert_eq!(conversation.patience(), Duration::from_secs(10));
        for _ in 0..50 {
            conversation.missed();
        }
        assert_eq!(conversation.patience(), Duration::from_secs(2));
        assert_eq!(conversation.fence_patience(), Duration::from_secs(2));
        assert_eq!(conversation.full_patience(), Duration::from_secs(5));
        conversation.be_thorough(true);
        assert_eq!(conversation.patience(), Duration::from_secs(5));
        // Who is known to fall silent is not waited for so long each time.
        for _ in 0..MANY_SILENCES {
            conversation.was_silent();
        }
        assert_eq!(conversation.full_patience(), Duration::from_secs(2));
        assert_eq!(conversation.patience(), Duration::from_secs(2));
    }

    #[test]
    fn what_no_tool_works_on_needs_no_whole_deadline_once_a_device_is_known() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        let list = Duty { method: Some("tools/list".into()), ..Duty::default() };
        assert_eq!(conversation.patience_for(&list), Duration::from_secs(10));
        for _ in 0..MANY_ANSWERS {
            conversation.learn(Kind::Call, millis(1));
        }
        assert_eq!(conversation.patience_for(&list), Duration::from_secs(2));
        assert_eq!(conversation.patience_for(&call("self.dance")), Duration::from_secs(10));
        conversation.be_thorough(true);
        assert_eq!(conversation.patience_for(&list), Duration::from_secs(5));
        conversation.be_thorough(false);
        conversation.learn(Kind::Call, millis(1_500));
        assert_eq!(conversation.patience_for(&list), millis(3_000));
    }

    #[test]
    fn a_picture_is_waited_for_as_long_as_another_server_may_take() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.missed();
        assert_eq!(conversation.patience_for(&call(PHOTO_TOOL)), Duration::from_secs(35));
        assert_eq!(conversation.patience_for(&call("self.other")), Duration::from_secs(2));
    }

    #[test]
    fn a_try_waits_as_long_as_answers_of_this_device_take() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.be_trying(true);
        assert_eq!(conversation.patience(), LEAST_TRY);
        assert_eq!(conversation.fence_patiences(), [LEAST_TRY_FENCE]);
        for _ in 0..100 {
            conversation.learn(Kind::Call, millis(400));
        }
        let patience = conversation.patience();
        assert!((millis(1_600)..millis(1_800)).contains(&patience), "{patience:?}");
        // A stall is no usual answer, but the fence must outlast it.
        conversation.learn(Kind::Call, millis(1_000));
        assert!(conversation.patience() < millis(1_800));
        assert_eq!(conversation.fence_patiences(), [millis(5_000)]);
        conversation.be_trying(false);
        assert_eq!(conversation.fence_patiences().len(), FENCES.len());
        assert_eq!(conversation.patience(), Duration::from_secs(10));
    }

    #[test]
    fn one_stall_does_not_make_every_wait_of_the_run_long() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.learn(Kind::List, millis(1_200));
        for _ in 0..1000 {
            conversation.learn(Kind::Call, millis(1));
        }
        conversation.missed();
        assert_eq!(conversation.patience(), millis(2_400));
        assert_eq!(conversation.fence_patience(), millis(2_400));
        // Before the device is blamed it gets more.
        assert_eq!(conversation.full_patience(), Duration::from_secs(6));
    }

    #[test]
    fn a_short_deadline_is_a_bound_and_leaves_a_second() {
        let mut conversation = Conversation::new(millis(300));
        conversation.missed();
        assert_eq!(conversation.patience(), Duration::from_secs(1));
        assert_eq!(conversation.full_patience(), Duration::from_secs(1));
        let mut conversation = Conversation::new(Duration::from_secs(3));
        conversation.learn(Kind::Call, Duration::from_secs(2));
        conversation.missed();
        assert_eq!(conversation.patience(), Duration::from_secs(3));
    }

    #[test]
    fn what_was_ignored_is_fenced_at_once_until_it_is_answered() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        let facts = Facts { tools: vec!["self.lamp.turn_on".into()], ..Facts::default() };
        conversation.set_call_fence(&facts);
        let nobodys = call("self.no.such_tool");
        assert!(!conversation.ignores(&nobodys));
        conversation.was_ignored(conversation.shape(&nobodys));
        // One tool that is not there is like another; one that is there is not.
        let other = call("self.no.other_tool");
        assert!(conversation.ignores(&other));
        assert!(!conversation.ignores(&call("self.lamp.turn_on")));
        let shape = conversation.shape(&other);
        conversation.was_answered(&shape);
        assert!(!conversation.ignores(&nobodys));
        // Methods are told apart where a device may have them.
        let of = |method: &str| Duty { method: Some(method.into()), ..Duty::default() };
        conversation.was_ignored(conversation.shape(&of("notifications/a")));
        assert!(conversation.ignores(&of("notificationsB")));
        assert!(!conversation.ignores(&of("tools/List")));
        conversation.was_ignored(conversation.shape(&of("mcp_hil/m")));
        assert!(conversation.ignores(&of("tools/List")));
        assert!(!conversation.ignores(&of("tools/list")));
        conversation.was_ignored(conversation.shape(&of("ping")));
        assert!(conversation.ignores(&of("ping")));
        assert!(!conversation.ignores(&of("initialize")));
    }

    #[test]
    fn a_device_that_answers_no_call_is_not_fenced_by_calls() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.set_fence("ping", None);
        let tools = ["self.get_device_status", "self.lamp.turn_on"].map(str::to_owned);
        let mut facts = Facts { tools: tools.to_vec(), ..Facts::default() };
        facts.variables.insert("nullary.tool".into(), json!("self.get_device_status"));
        conversation.set_call_fence(&facts);
        let status = conversation.shape(&call("self.get_device_status"));
        conversation.was_ignored(status.clone());
        assert!(!conversation.ignores(&call("self.lamp.turn_on")));
        conversation.was_ignored(status.clone());
        assert!(conversation.ignores(&call("self.lamp.turn_on")));
        assert_eq!(conversation.fence(true).unwrap().0, "ping");
        // Until it answers one.
        conversation.learn(Kind::Call, millis(1));
        conversation.was_answered(&status);
        assert!(!conversation.ignores(&call("self.lamp.turn_on")));
        assert_eq!(conversation.fence(true).unwrap().0, CALL);
    }

    #[test]
    fn calls_are_fenced_by_calls() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.set_fence("ping", None);
        assert_eq!(conversation.fence(true).unwrap().0, "ping");
        let mut facts = Facts::default();
        facts.variables.insert("nullary.tool".into(), json!("self.get_device_status"));
        conversation.set_call_fence(&facts);
        assert_eq!(conversation.fence(true).unwrap().0, "tools/call");
        assert_eq!(conversation.fence(false).unwrap().0, "ping");
    }
}
