//! How long a device takes for its answers, by kind of request: what every wait is derived from, and what
//! reports tell of it.
//!
//! Times are durations given from outside; nothing here reads a clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::obligation::Duty;

/// An answer that took this many times the median of its kind, and at least [`LEAST_STALL`], counts as a
/// stall: the device was busy with something else.
const STALL: u32 = 10;

/// The shortest stall. Below it the computer that the harness runs on may be to blame as well.
const LEAST_STALL: Duration = Duration::from_millis(200);

/// How many answers of a kind make a median that stalls can be told by.
const ENOUGH: u32 = 8;

/// Quantiles of so few answers are looked up each time, and then after each further so many.
const FEW: u32 = 16;

/// How many answers of a kind tell by themselves what is usual.
const MANY: u32 = 40;

/// Answers that take longer than this are worth a line to people: a run with them takes minutes more.
const SLOW: Duration = Duration::from_millis(150);

/// An answer that took longer than this is told to people, even when it was the only one.
const VERY_SLOW: Duration = Duration::from_secs(1);

/// Steps of the histogram in each doubling of the time: a quantile is at most 1/16 too long.
const STEPS: u64 = 16;

/// Doublings beyond the first 16 microseconds; the last takes in everything above ten minutes.
const DOUBLINGS: u64 = 26;

/// What kind of request an answer belongs to. Devices of the family answer lists on one task and run calls
/// on another, so that their times have nothing in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `initialize`.
    Initialize,
    /// `tools/list`.
    List,
    /// `tools/call`.
    Call,
    /// `ping`.
    Ping,
    /// Any other method, and messages without one.
    Other,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Initialize, Self::List, Self::Call, Self::Ping, Self::Other];

    /// The kind of a request with this method.
    pub fn of_method(method: Option<&str>) -> Self {
        match method {
            Some("initialize") => Self::Initialize,
            Some("tools/list") => Self::List,
            Some("tools/call") => Self::Call,
            Some("ping") => Self::Ping,
            _ => Self::Other,
        }
    }

    /// The kind of a message.
    pub fn of(duty: &Duty) -> Self {
        Self::of_method(duty.method.as_deref())
    }

    /// The method, or `other`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::List => "tools/list",
            Self::Call => "tools/call",
            Self::Ping => "ping",
            Self::Other => "other",
        }
    }
}

/// The times of the answers of one session.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    kinds: [Times; Kind::ALL.len()],
    all: Times,
}

impl Timing {
    /// Takes note of the time that an answer took.
    pub fn learn(&mut self, kind: Kind, took: Duration) {
        self.kinds[kind as usize].add(took);
        self.all.add(took);
    }

    /// How many answers there were.
    pub fn answers(&self) -> u32 {
        self.all.number
    }

    /// The longest that any answer took, stalls included.
    pub fn worst(&self) -> Duration {
        self.all.worst
    }

    /// The median over all kinds; nothing before the first answer.
    pub fn median(&self) -> Option<Duration> {
        (self.all.number > 0).then_some(self.all.median)
    }

    /// What nineteen of twenty answers of a kind took at most; nothing before the first answer of it. One stall
    /// among a few answers is not usual: no more than twice their median is believed of them.
    pub fn usual(&self, kind: Kind) -> Option<Duration> {
        let times = &self.kinds[kind as usize];
        let usual = match times.number < MANY {
            true => times.usual.min(times.median * 2),
            false => times.usual,
        };
        (times.number > 0).then_some(usual)
    }

    /// The longest of what nineteen of twenty answers of a kind took.
    pub fn slowest_usual(&self) -> Duration {
        let usual = Kind::ALL.iter().filter_map(|kind| self.usual(*kind));
        usual.max().unwrap_or_default()
    }

    /// What reports tell: one row for each kind that was answered, most answers first.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Kind::ALL
            .iter()
            .map(|kind| (*kind, &self.kinds[*kind as usize]))
            .filter(|(_, times)| times.number > 0)
            .map(|(kind, times)| times.row(kind))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.answers));
        rows
    }
}

/// How long the answers to one kind of request took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The method, or `other`.
    pub kind: String,
    /// How many answers there were.
    pub answers: u32,
    /// The median, in microseconds.
    pub median_us: u64,
    /// What 99 of 100 took at most, in microseconds.
    pub p99_us: u64,
    /// The slowest, in microseconds.
    pub worst_us: u64,
    /// How many took many times the median: ten times, and 200 ms at least.
    pub stalls: u32,
}

impl Row {
    /// Whether people should be told: the device is slow, or stalls.
    pub fn is_noteworthy(&self) -> bool {
        let over = |us: u64, least: Duration| Duration::from_micros(us) >= least;
        over(self.median_us, SLOW) || over(self.worst_us, VERY_SLOW)
    }
}

/// Times of one kind, as a histogram whose steps grow with the time.
#[derive(Debug, Clone)]
struct Times {
    bins: Vec<u32>,
    number: u32,
    worst: Duration,
    stalls: u32,
    /// Quantiles as of the latest answers: looking them up is cheap, and they are asked for all the time.
    median: Duration,
    usual: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            bins: vec![0; bin(u64::MAX) + 1],
            number: 0,
            worst: Duration::ZERO,
            stalls: 0,
            median: Duration::ZERO,
            usual: Duration::ZERO,
        }
    }
}

impl Times {
    fn add(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.bins[bin(us)] += 1;
        self.number += 1;
        self.worst = self.worst.max(took);
        let is_stall = took >= LEAST_STALL && took >= self.median * STALL;
        self.stalls += u32::from(is_stall && self.number > ENOUGH);
        if self.number <= FEW || self.number.is_multiple_of(FEW) {
            self.median = self.quantile(50);
            self.usual = self.quantile(95);
        }
    }

    /// What so many of a hundred answers took at most.
    fn quantile(&self, percent: u64) -> Duration {
        let wanted = (u64::from(self.number) * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (at, number) in self.bins.iter().enumerate() {
            seen += u64::from(*number);
            if seen >= wanted {
                return Duration::from_micros(end(at)).min(self.worst);
            }
        }
        self.worst
    }

    fn row(&self, kind: Kind) -> Row {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Row {
            kind: kind.name().to_owned(),
            answers: self.number,
            median_us: us(self.quantile(50)),
            p99_us: us(self.quantile(99)),
            worst_us: us(self.worst),
            stalls: self.stalls,
        }
    }
}

/// The step of the histogram that a time belongs to.
fn bin(us: u64) -> usize {
    let place = match us.checked_ilog2() {
        None | Some(0..4) => us,
        Some(log) => {
            let doubling = u64::from(log) - 3;
            let step = (us >> (log - 4)) - STEPS;
            (doubling * STEPS + step).min((DOUBLINGS + 1) * STEPS - 1)
        }
    };
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// The end of a step of the histogram, in microseconds.
fn end(bin: usize) -> u64 {
    let place = bin as u64;
    match place / STEPS {
        0 => place,
        doubling => {
            let next = place % STEPS + STEPS + 1;
            (next << (doubling - 1)) - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_its_step_of_the_histogram() {
        for us in (0..5_000).chain([99_999, 1_000_000, 12_345_678, 600_000_000]) {
            let bin = bin(us);
            assert!(us <= end(bin), "{us}");
            assert!(bin == 0 || us > end(bin - 1), "{us}");
            assert!(end(bin) - us <= us / 16, "{us} {}", end(bin));
        }
        assert_eq!(bin(u64::MAX), ((DOUBLINGS + 1) * STEPS - 1) as usize);
    }

    #[test]
    fn one_stall_among_few_answers_is_not_usual() {
        let ms = Duration::from_millis;
        let mut timing = Timing::default();
        for _ in 0..100 {
            timing.learn(Kind::Call, ms(30));
        }
        for took in [30, 250, 30] {
            timing.learn(Kind::Other, ms(took));
        }
        let usual = timing.usual(Kind::Other).unwrap();
        assert!((ms(60)..ms(64)).contains(&usual), "{usual:?}");
        assert!(timing.slowest_usual() < ms(64));
        // A kind that is slow by nature is.
        for took in [900, 1_000, 1_100] {
            timing.learn(Kind::Initialize, ms(took));
        }
        let usual = timing.usual(Kind::Initialize).unwrap();
        assert!(usual >= ms(1_100), "{usual:?}");
    }

    #[test]
    fn kinds_have_times_of_their_own_and_stalls_are_counted() {
        let mut timing = Timing::default();
        assert_eq!((timing.median(), timing.usual(Kind::Call)), (None, None));
        for at in 0..200 {
            timing.learn(Kind::List, Duration::from_millis(2));
            let stalls = at % 100 == 99;
            timing.learn(Kind::Call, Duration::from_millis(if stalls { 3_000 } else { 40 }));
        }
        let rows = timing.rows();
        let call = rows.iter().find(|row| row.kind == "tools/call").unwrap();
        assert_eq!((call.answers, call.stalls), (200, 2));
        assert!((40_000..43_000).contains(&call.median_us), "{call:?}");
        assert!((40_000..43_000).contains(&call.p99_us), "{call:?}");
        assert_eq!(call.worst_us, 3_000_000);
        assert!(call.is_noteworthy());
        let list = rows.iter().find(|row| row.kind == "tools/list").unwrap();
        assert_eq!((list.stalls, list.is_noteworthy()), (0, false));
        assert_eq!(timing.worst(), Duration::from_secs(3));
        assert!(timing.usual(Kind::List).unwrap() < Duration::from_millis(3));
    }
}
