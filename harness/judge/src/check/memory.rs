//! Free memory as the console tells it: `SystemInfo: free sram: 142331 minimal sram: 121004`, on stock
//! firmware every ten seconds (device-protocol 6.2).
//!
//! Free memory goes up and down, and falls once when something is loaded. Only a fall that goes on and
//! on is evidence of a leak: four parts of the readings, each as a whole below the one before, and the
//! fall not coming to rest.

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::obligation::Duty;
use std::sync::LazyLock;

use regex::Regex;

use super::leak::Leaks;
use super::sink::{Sink, evidence};

/// Fewest readings since the device has started, before anything follows from them.
const FEWEST: usize = 16;

/// Into how many parts they are cut.
const PARTS: usize = 4;

/// Most readings that are kept; when there are more, every other one goes.
const MOST: usize = 4096;

/// The least fall from the first part to the last, in bytes, and as a share of the first reading.
const LEAST: u64 = 2048;
const LEAST_SHARE: u64 = 50;

/// From part to part it falls by at least this share of what it falls by most: what a device loads
/// after its start makes free memory fall ever more slowly.
const STEADY_SHARE: u64 = 4;

static FREE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"SystemInfo: free sram: (\d{1,12})\b").expect("a constant pattern")
});

/// The readings since the device has started.
#[derive(Debug, Default)]
pub(super) struct Memory {
    readings: Vec<u64>,
    /// Whether there were ever enough of them.
    watched: bool,
    /// Whether the fall was told: it goes on.
    told: bool,
    /// All of them in short, and the entry of the latest.
    seen: Option<FreeMemory>,
    seq: u64,
    leaks: Leaks,
}

impl Memory {
    /// The device has started: what it had before is gone.
    pub(super) fn restarted(&mut self) {
        self.readings.clear();
        self.seen = None;
        self.told = false;
        self.leaks.restarted();
    }

    /// A message goes to the device.
    pub(super) fn asked(&mut self, duty: &Duty) {
        self.leaks.asked(duty);
    }

    /// Whether it could be judged.
    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    /// The readings since the device has started, in short.
    pub(super) fn seen(&self) -> Option<FreeMemory> {
        self.seen
    }

    /// Judges a line of the console.
    pub(super) fn line(&mut self, seq: u64, line: &str, sink: &mut Sink) {
        let reading = FREE.captures(line).and_then(|found| found[1].parse().ok());
        let Some(reading) = reading else {
            return;
        };
        let first = FreeMemory { first: reading, lowest: reading, last: reading, readings: 0 };
        let seen = self.seen.get_or_insert(first);
        (seen.last, seen.lowest) = (reading, seen.lowest.min(reading));
        seen.readings += 1;
        self.seq = seq;
        self.leaks.reading(reading);
        self.readings.push(reading);
        if self.readings.len() > MOST {
            let mut odd = false;
            self.readings.retain(|_| {
                odd = !odd;
                odd
            });
        }
        if self.readings.len() < FEWEST {
            return;
        }
        self.watched = true;
        if !self.told
            && let Some((from, to)) = fall(&self.readings)
        {
            self.told = true;
            let number = self.readings.len();
            sink.test(Id::LivenessMemory, false, || {
                evidence(
                    "free memory that does not keep falling",
                    format!(
                        "from {from} to {to} bytes in {number} readings, \
                         each quarter of them below the one before"
                    ),
                    seq,
                )
            });
        }
    }

    pub(super) fn end_case(&mut self, sink: &mut Sink) {
        self.leaks.end_case(self.seq, sink);
        if self.watched {
            sink.held(Id::LivenessMemory);
            sink.held(Id::LivenessMemoryEach);
        }
    }
}

/// From which reading to which they have fallen, if each part lies below the one before it.
pub(crate) fn fall(readings: &[u64]) -> Option<(u64, u64)> {
    if readings.len() < FEWEST {
        return None;
    }
    // What does not fill a part is left out where it tells the least: at the beginning.
    let parts: Vec<&[u64]> =
        readings[readings.len() % PARTS..].chunks(readings.len() / PARTS).collect();
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    let mut falls = Vec::new();
    for pair in parts.windows(2) {
        if pair[1].iter().max() >= pair[0].iter().min() {
            return None;
        }
        falls.push(mean(pair[0]) - mean(pair[1]));
    }
    let (most, fewest) = (*falls.iter().max()?, *falls.iter().min()?);
    let least = LEAST.max(readings[0] / LEAST_SHARE);
    let enough = falls.iter().sum::<u64>() >= least && fewest * STEADY_SHARE >= most;
    enough.then(|| (readings[0], readings[readings.len() - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn found(readings: impl IntoIterator<Item = u64>) -> usize {
        let (mut memory, mut sink) = (Memory::default(), Sink::default());
        for (seq, free) in (0..).zip(readings) {
            let line = format!("I (10417) SystemInfo: free sram: {free} minimal sram: 90000");
            memory.line(seq, &line, &mut sink);
        }
        sink.found.len()
    }

    #[rstest]
    #[case::steady(|_| 142_331, 0)]
    #[case::up_and_down(|n| 142_331 - n * 7919 % 20_000, 0)]
    #[case::once(|n| if n < 7 { 142_331 } else { 90_000 }, 0)]
    #[case::twice(|n| [142_331, 120_000, 90_000][n as usize * 3 / 64], 0)]
    #[case::at_first(|n| 90_000 + 50_000 / (n + 1), 0)]
    #[case::hardly(|n| 142_331 - n * 32, 0)]
    #[case::on_and_on(|n| 142_331 - n * 512, 1)]
    #[case::with_ups(|n| 142_331 - n * 1024 + n % 3 * 2000, 1)]
    fn only_what_falls_on_and_on_is_found(#[case] free: fn(u64) -> u64, #[case] findings: usize) {
        assert_eq!(found((0..64).map(free)), findings);
    }

    #[test]
    fn few_readings_tell_nothing() {
        assert_eq!(found((0..15).map(|n| 142_331 - n * 4096)), 0);
        assert_eq!(found((0..16).map(|n| 142_331 - n * 4096)), 1);
    }

    #[test]
    fn a_long_session_takes_no_more_room() {
        let mut memory = Memory::default();
        for free in 0..100_000 {
            memory.line(
                0,
                &format!("SystemInfo: free sram: {free} minimal sram: 0"),
                &mut Sink::default(),
            );
        }
        assert!(memory.readings.len() <= MOST);
        assert!(memory.readings.is_sorted());
    }
}
