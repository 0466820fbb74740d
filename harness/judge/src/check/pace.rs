//! How long the answers take while good requests follow one another.
//!
//! Answers take longer now and then, on a busy host or a bad radio. Only what gets slower on and on is a finding: four
//! parts of the answers to one request, most of each later than nearly all of the one before, clearly so, and the growth
//! not coming to rest.

use std::collections::BTreeMap;

use mcp_hil_core::obligation::Duty;
use mcp_hil_core::step;
use mcp_hil_scenario::Flat;

use super::log::CaseLog;
use super::sink::{Sink, evidence};

/// Fewest answers to one request from which anything follows, and into how many parts they are cut.
const FEWEST: usize = 24;
const PARTS: usize = 4;

/// Of so many answers of a part one may take long by chance.
const ODD_ONE_OF: usize = 6;

/// By how much the median grows from the first part to the last, at least: in microseconds, and times.
const LEAST_US: u64 = 10_000;
const LEAST_TIMES: u64 = 2;

/// From part to part it grows by at least this share of what it grows by most: what fills a cache, or wakes a radio
/// up, comes to rest.
const STEADY_SHARE: u64 = 4;

/// Judges a stretch of good requests.
pub(super) fn judge(flat: &Flat<'_>, log: &CaseLog, sink: &mut Sink) {
    // By method and tool: the last of their answers, and how long each took.
    let mut times = BTreeMap::<_, (u64, Vec<u64>)>::new();
    let steps = (0..).map(|number| step::message(&flat.at, number));
    for at in steps.take_while(|at| log.sent(at).is_some()) {
        if let Some((sent, took)) = log.took_us(&at)
            && let Some(frame) = sent.frame()
        {
            let duty = Duty::of(frame);
            let (last, times) = times.entry((duty.method, duty.tool)).or_default();
            *last = sent.seq;
            times.push(took);
        }
    }
    let slower = times.values().find_map(|(last, times)| Some((*last, growth(times)?)));
    for expect in flat.step.expect.iter().filter(|_| !times.is_empty()) {
        sink.step = Some(flat.at.clone());
        sink.test(expect.requirement, slower.is_none(), || {
            let (last, [first, .., end]) = slower.unwrap_or_default();
            let ms = |us: u64| us / 1000;
            evidence(
                "answers to one good request that do not take longer and longer",
                format!(
                    "from {} to {} ms in a stretch of requests, most of each quarter of the answers later than the one before",
                    ms(first),
                    ms(end)
                ),
                last,
            )
        });
    }
}

/// The medians of the parts, if the answers take longer and longer. Times are microseconds.
pub(crate) fn growth(times: &[u64]) -> Option<[u64; PARTS]> {
    if times.len() < FEWEST {
        return None;
    }
    // What does not fill a part is left out at the beginning.
    let parts = times[times.len() % PARTS..].chunks(times.len() / PARTS).map(|part| {
        let mut part = part.to_vec();
        part.sort_unstable();
        let odd = part.len() / ODD_ONE_OF;
        (part[part.len() / 2], part[part.len() - 1 - odd])
    });
    let parts: Vec<(u64, u64)> = parts.collect();
    let apart = parts.windows(2).all(|pair| pair[0].1 < pair[1].0);
    let medians: [u64; PARTS] = std::array::from_fn(|at| parts[at].0);
    let [first, .., last] = medians;
    let steps = medians.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let (least, most) = (steps.clone().min()?, steps.max()?);
    let clear = last >= first * LEAST_TIMES && last >= first + LEAST_US;
    (apart && clear && least * STEADY_SHARE >= most).then_some(medians)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::steady(|n| 400 + n * 37 % 90, false)]
    #[case::jitter(|n| 5_000 + n * 7_919 % 90_000, false)]
    #[case::once(|n| if n < 20 { 1_000 } else { 80_000 }, false)]
    #[case::wakes(|n| 1_000 + 90_000 * n / (n + 4), false)]
    #[case::hardly(|n| 400 + n * 100, false)]
    #[case::slow_already(|n| 200_000 + n * 1_000, false)]
    #[case::longer_and_longer(|n| 1_000 + n * 1_000, true)]
    #[case::with_jitter(|n| 1_000 + n * 1_000 + n * 7_919 % 9_000, true)]
    #[case::with_a_stall(|n| if n == 11 { 900_000 } else { 2_000 + n * 1_500 }, true)]
    fn only_what_grows_on_and_on_is_found(#[case] took: fn(u64) -> u64, #[case] found: bool) {
        let times: Vec<u64> = (0..62).map(took).collect();
        assert_eq!(growth(&times).is_some(), found);
    }

    #[test]
    fn few_answers_tell_nothing() {
        let times: Vec<u64> = (0..24).map(|n| 1_000 + n * 5_000).collect();
        assert_eq!(growth(&times[1..]), None);
        assert!(growth(&times).is_some());
    }
}
