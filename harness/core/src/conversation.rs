//! The harness's side of a session: ids, how long to wait, and what serves as a fence.
//!
//! It decides nothing about right or wrong. Times are microseconds or durations given from
//! outside; nothing here sleeps.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use crate::capability::Facts;
use crate::obligation::Duty;

/// How many latencies are remembered.
const REMEMBERED: usize = 64;

/// Ids that the harness gives begin here, so that scripts can use small numbers of their own.
pub const FIRST_ID: u64 = 1001;

/// Bounds of the grace that is given after a fence.
const GRACE: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(20));

/// The least time for the answer to what was ignored before.
const FLOOR_FOR_IGNORED: Duration = Duration::from_millis(40);

/// The state of the harness's side of a session.
#[derive(Debug)]
pub struct Conversation {
    next_id: u64,
    deadline: Duration,
    latencies: VecDeque<Duration>,
    slowest: Duration,
    median: Option<Duration>,
    /// What nine of ten of the latest answers took at most.
    usual: Duration,
    misses: u32,
    /// What was left unanswered although the device answered what came after it: methods, and tools of
    /// calls.
    ignored: BTreeSet<(String, String)>,
    fence: Option<(String, Option<Value>)>,
    call_fence: Option<Value>,
    /// The tools that the device has.
    tools: BTreeSet<String>,
}

impl Conversation {
    /// A conversation in which a request is waited for up to `deadline`.
    pub fn new(deadline: Duration) -> Self {
        Self {
            next_id: FIRST_ID,
            deadline,
            latencies: VecDeque::with_capacity(REMEMBERED),
            slowest: Duration::ZERO,
            median: None,
            usual: Duration::ZERO,
            misses: 0,
            ignored: BTreeSet::new(),
            fence: None,
            call_fence: None,
            tools: BTreeSet::new(),
        }
    }

    /// An id that was not used in this session.
    pub fn fresh_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// How long an answer is waited for. A device that has once let the whole deadline pass gets
    /// less from then on: many times what its slowest answer took, later what its answers take as a
    /// rule, and a floor that sinks, too. It does not conform any more, and a run must end.
    pub fn patience(&self) -> Duration {
        let (taken, floor) = match self.misses {
            0 => return self.deadline,
            1..=2 => (self.slowest, Duration::from_secs(1)),
            3..=9 => (self.usual, Duration::from_millis(250)),
            _ => (self.usual, Duration::from_millis(100)),
        };
        (taken * 10).max(floor).min(self.deadline)
    }

    /// How long the answer to a request is waited for before a fence follows. What was ignored once for the
    /// whole deadline has shown its defect, and is given little time from then on; what else the device
    /// does is waited for as ever.
    pub fn patience_for(&self, duty: &Duty) -> Duration {
        let patience = self.patience();
        match self.ignored.contains(&self.shape(duty)) {
            true => (self.usual * 10).max(FLOOR_FOR_IGNORED).min(patience),
            false => patience,
        }
    }

    /// Takes note that a request was left unanswered, and the device answered what came after it.
    pub fn was_ignored(&mut self, duty: &Duty) {
        self.ignored.insert(self.shape(duty));
    }

    /// What requests have in common that are ignored for one reason: all tools that the device has not
    /// got are one.
    fn shape(&self, duty: &Duty) -> (String, String) {
        let tool = duty.tool.as_ref().filter(|tool| self.tools.contains(*tool));
        let method = duty.method.clone().unwrap_or_default();
        (method, tool.cloned().unwrap_or_default())
    }

    /// How long a device in good standing is waited for.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// How many messages went unanswered.
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// Takes note that a message went unanswered.
    pub fn missed(&mut self) {
        self.misses += 1;
    }

    /// Takes note of the time that an answer took.
    pub fn learn(&mut self, latency: Duration) {
        if self.latencies.len() == REMEMBERED {
            self.latencies.pop_front();
        }
        self.latencies.push_back(latency);
        self.slowest = self.slowest.max(latency);
        let mut sorted: Vec<Duration> = self.latencies.iter().copied().collect();
        sorted.sort_unstable();
        self.median = sorted.get(sorted.len() / 2).copied();
        self.usual = sorted
            .get(sorted.len() * 9 / 10)
            .copied()
            .unwrap_or_default();
    }

    /// How long to go on listening after a fence was answered: real devices are not serial, so an
    /// answer to what came before the fence may come after the fence's. The median latency of the
    /// session, up to a bound that keeps runs with slow devices short, is enough as a rule; what
    /// comes later still is attributed by its id.
    pub fn grace(&self) -> Duration {
        self.median_latency()
            .unwrap_or(GRACE.1)
            .clamp(GRACE.0, GRACE.1)
    }

    /// How long a look for late answers takes, before the first drop of a long session and at its
    /// end.
    pub fn late_look(&self) -> Duration {
        (self.slowest * 4).clamp(Duration::from_secs(1), Duration::from_secs(4))
    }

    /// The median latency of the session so far.
    pub fn median_latency(&self) -> Option<Duration> {
        self.median
    }

    /// Sets what serves as a fence: a method that this device answers with a success.
    pub fn set_fence(&mut self, method: &str, params: Option<Value>) {
        self.fence = Some((method.to_owned(), params));
    }

    /// Learns which tools the device has. One that is harmless fences the calls of others.
    pub fn set_call_fence(&mut self, facts: &Facts) {
        let tools = facts.tools.iter().chain(&facts.user_tools);
        self.tools = tools.cloned().collect();
        self.call_fence = facts
            .variables
            .get("nullary.tool")
            .map(|tool| json!({"name": tool, "arguments": {}}));
    }

    /// The request that fences a message of the kind; `None` before one is known.
    pub fn fence(&self, is_call: bool) -> Option<(String, Option<Value>)> {
        if is_call && let Some(params) = &self.call_fence {
            return Some(("tools/call".to_owned(), Some(params.clone())));
        }
        self.fence.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grace_follows_the_latencies_seen() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        assert_eq!(conversation.grace(), GRACE.1);
        for millis in 1..=9 {
            conversation.learn(Duration::from_millis(millis));
        }
        assert_eq!(conversation.grace(), Duration::from_millis(5));
    }

    #[test]
    fn patience_shrinks_once_a_deadline_has_passed() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.learn(Duration::from_millis(300));
        assert_eq!(conversation.patience(), Duration::from_secs(10));
        conversation.missed();
        assert_eq!(conversation.patience(), Duration::from_secs(3));
    }

    #[test]
    fn what_was_slow_once_does_not_slow_down_a_whole_run() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.learn(Duration::from_secs(2));
        for _ in 0..20 {
            conversation.learn(Duration::from_millis(40));
        }
        for _ in 0..2 {
            conversation.missed();
            assert_eq!(conversation.patience(), Duration::from_secs(10));
        }
        conversation.missed();
        assert_eq!(conversation.patience(), Duration::from_millis(400));
    }

    #[test]
    fn what_was_ignored_once_is_not_waited_for_again() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.learn(Duration::from_millis(7));
        let facts = Facts {
            tools: vec!["self.lamp.turn_on".into()],
            ..Facts::default()
        };
        conversation.set_call_fence(&facts);
        let call = |tool: &str| Duty {
            method: Some("tools/call".into()),
            tool: Some(tool.into()),
            ..Duty::default()
        };
        let nobodys = call("self.no.such_tool");
        assert_eq!(conversation.patience_for(&nobodys), Duration::from_secs(10));
        conversation.missed();
        conversation.was_ignored(&nobodys);
        // One tool that is not there is like another; one that is there is not.
        let other = call("self.no.other_tool");
        assert_eq!(conversation.patience_for(&other), Duration::from_millis(70));
        let lamp = call("self.lamp.turn_on");
        assert_eq!(conversation.patience_for(&lamp), conversation.patience());
        // A slow device keeps what its answers take.
        for _ in 0..64 {
            conversation.learn(Duration::from_millis(50));
        }
        assert_eq!(
            conversation.patience_for(&other),
            Duration::from_millis(500)
        );
    }

    #[test]
    fn calls_are_fenced_by_calls() {
        let mut conversation = Conversation::new(Duration::from_secs(10));
        conversation.set_fence("ping", None);
        assert_eq!(conversation.fence(true).unwrap().0, "ping");
        let mut facts = Facts::default();
        facts
            .variables
            .insert("nullary.tool".into(), json!("self.get_device_status"));
        conversation.set_call_fence(&facts);
        assert_eq!(conversation.fence(true).unwrap().0, "tools/call");
        assert_eq!(conversation.fence(false).unwrap().0, "ping");
    }
}
