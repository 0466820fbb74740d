//! Which kind of request takes memory from a device for good.
//!
//! A device tells its free memory every few seconds ([`super::memory`]). Where nothing but requests of one kind went to
//! it between two such lines, what is missing afterwards is theirs, if it is missing for each of them, again and again,
//! and does not come back.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Duty;

use super::sink::{Sink, evidence};

/// Fewest stretches of one kind, and fewest requests in all of them, from which anything follows.
const FEWEST_STRETCHES: usize = 4;
const FEWEST_REQUESTS: u64 = 128;

/// Most stretches that are kept of a kind, and most kinds: a run has thousands of names that nobody has.
const MOST_STRETCHES: usize = 256;
const MOST_KINDS: usize = 64;

/// Longest name of a kind: of a generated name nobody learns anything.
const LONGEST_NAME: usize = 100;

/// The least that a request takes, in bytes: no allocator gives less. And the least that all of them take together.
const LEAST_EACH: u64 = 8;
const LEAST_FALL: u64 = 2048;

/// One stretch in so many may be unlike the others; a line that is read late makes two.
const ODD_SHARE: usize = 4;

/// Between two readings of the free memory.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    requests: u64,
    from: u64,
    to: u64,
}

/// What was asked since the last reading.
#[derive(Debug, Default)]
enum Asked {
    #[default]
    Nothing,
    One {
        kind: String,
        requests: u64,
    },
    Several,
}

/// What went to the device between the readings of its free memory.
#[derive(Debug, Default)]
pub(super) struct Leaks {
    asked: Asked,
    last: Option<u64>,
    kinds: BTreeMap<String, Vec<Stretch>>,
    /// Kinds that were told: they go on.
    told: BTreeSet<String>,
}

impl Leaks {
    /// The device has started: what it had before is gone.
    pub(super) fn restarted(&mut self) {
        *self = Self::default();
    }

    /// A message goes to the device.
    pub(super) fn asked(&mut self, duty: &Duty) {
        let same = |kind: &str| {
            let mut words = kind.splitn(2, ' ');
            words.next() == duty.method.as_deref() && words.next() == duty.tool.as_deref()
        };
        self.asked = match std::mem::take(&mut self.asked) {
            Asked::One { kind, requests } if same(&kind) => {
                Asked::One { kind, requests: requests + 1 }
            }
            Asked::Nothing => match &duty.method {
                Some(method) => {
                    let parts = [Some(method.as_str()), duty.tool.as_deref()];
                    let parts: Vec<&str> = parts.into_iter().flatten().collect();
                    Asked::One { kind: parts.join(" "), requests: 1 }
                }
                None => Asked::Several,
            },
            Asked::One { .. } | Asked::Several => Asked::Several,
        };
    }

    /// The device tells its free memory, in bytes.
    pub(super) fn reading(&mut self, free: u64) {
        let asked = std::mem::take(&mut self.asked);
        let last = self.last.replace(free);
        if let (Asked::One { kind, requests }, Some(from)) = (asked, last) {
            if !self.kinds.contains_key(&kind)
                && (self.kinds.len() >= MOST_KINDS || kind.len() > LONGEST_NAME)
            {
                return;
            }
            let stretches = self.kinds.entry(kind).or_default();
            if stretches.len() < MOST_STRETCHES {
                stretches.push(Stretch { requests, from, to: free });
            }
        }
    }

    /// Tells which kinds take memory for good.
    pub(super) fn end_case(&mut self, seq: u64, sink: &mut Sink) {
        let Some(now) = self.last else { return };
        let mut found = Vec::new();
        for (kind, stretches) in &self.kinds {
            if !self.told.contains(kind)
                && let Some(each) = leak(stretches, now)
            {
                let requests: u64 = stretches.iter().map(|one| one.requests).sum();
                found.push((
                    kind.clone(),
                    format!("{each} bytes less with each of {requests} `{kind}`"),
                ));
            }
        }
        if found.is_empty() {
            return;
        }
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        sink.test(Id::LivenessMemoryEach, false, || {
            evidence("free memory that an answered request gives back", texts.join("; "), seq)
        });
        self.told.extend(found.into_iter().map(|(kind, _)| kind));
    }
}

/// The bytes that each request of a kind takes, if nearly each of them does and the memory has not come back by now.
fn leak(stretches: &[Stretch], now: u64) -> Option<u64> {
    let requests: u64 = stretches.iter().map(|one| one.requests).sum();
    if stretches.len() < FEWEST_STRETCHES || requests < FEWEST_REQUESTS {
        return None;
    }
    let (from, to) = stretches.iter().fold((0, 0), |(from, to): (u64, u64), one| {
        (from.saturating_add(one.from), to.saturating_add(one.to))
    });
    let total = from.checked_sub(to)?;
    let is_odd = |one: &&Stretch| {
        // Half of its share of the whole more or less: what else the device does takes and gives, too.
        let share = total.saturating_mul(one.requests) / requests;
        let fall = one.from.checked_sub(one.to).filter(|fall| *fall > 0);
        fall.is_none_or(|fall| fall.abs_diff(share) > share / 2)
    };
    // A line that a busy host reads late puts the requests before it into the stretch before.
    let is_even = stretches.iter().filter(is_odd).count() * ODD_SHARE <= stretches.len();
    let end = stretches.last()?.to;
    let came_back = now.saturating_sub(end) > total / 2;
    let each = (total + requests / 2) / requests;
    (is_even && !came_back && each >= LEAST_EACH && total >= LEAST_FALL).then_some(each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn duty(method: &str, tool: Option<&str>) -> Duty {
        Duty { method: Some(method.to_owned()), tool: tool.map(str::to_owned), ..Duty::default() }
    }

    /// What is found where ten requests of a kind go between two readings.
    fn found(kinds: &[&str], free: impl Fn(u64) -> u64) -> Vec<String> {
        let (mut leaks, mut sink) = (Leaks::default(), Sink::default());
        for (number, kind) in (0..).zip(kinds) {
            for _ in 0..10 {
                leaks.asked(&duty("tools/call", Some(kind)));
            }
            leaks.reading(free(number));
        }
        leaks.end_case(7, &mut sink);
        let texts = sink.found.iter().map(|judgement| format!("{:?}", judgement.outcome));
        texts.collect()
    }

    #[rstest]
    #[case::steady(|_| 142_331, false)]
    #[case::thirty_two_a_call(|n| 142_331 - n * 320, true)]
    #[case::less_than_an_allocator_gives(|n| 142_331 - n * 40, false)]
    #[case::with_noise(|n| 142_331 - n * 320 + n * 7_919 % 100, true)]
    #[case::a_line_read_late(|n| 142_331 - (n + u64::from(n == 5)) * 320, true)]
    #[case::a_third_is_odd(|n| 142_331 - (n + u64::from(n % 3 == 0)) * 320, false)]
    #[case::up_and_down(|n| 142_331 - n * 7_919 % 20_000, false)]
    #[case::once(|n| if n < 7 { 142_331 } else { 90_000 }, false)]
    #[case::comes_back(|n| if n < 15 { 142_331 - n * 320 } else { 142_331 }, false)]
    #[case::at_first(|n| 90_000 + 50_000 / (n + 1), false)]
    fn what_each_request_takes_for_good_is_found(#[case] free: fn(u64) -> u64, #[case] is: bool) {
        assert_eq!(!found(&["status"; 16], free).is_empty(), is);
    }

    #[test]
    fn it_is_attributed_to_the_kind_that_takes_it() {
        let kinds = [["status"; 16], ["other"; 16]].concat();
        let texts = found(&kinds, |n| 142_331 - n.min(15) * 320);
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("32 bytes less with each of"), "{texts:?}");
        assert!(texts[0].contains("`tools/call status`"), "{texts:?}");
        assert!(!texts[0].contains("other"), "{texts:?}");
    }

    #[test]
    fn stretches_of_several_kinds_tell_nothing_and_names_of_nobody_take_no_room() {
        let mut leaks = Leaks::default();
        for number in 0..10_000 {
            leaks.asked(&duty("tools/call", Some("status")));
            leaks.asked(&duty("ping", None));
            leaks.reading(1_000_000 - number * 64);
        }
        assert!(leaks.kinds.is_empty());
        for number in 0..10_000 {
            leaks.asked(&duty(&format!("name-{number}"), None));
            leaks.reading(1_000_000 - number * 64);
        }
        assert_eq!(leaks.kinds.len(), MOST_KINDS);
    }
}
