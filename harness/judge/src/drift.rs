//! What changes from round to round where a device is tested again and again.
//!
//! One round is too short for what a device loses little by little. Over many rounds the same holds as within one: only
//! what grows, or falls, on and on is a finding.

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::timing::Row;

use crate::check::sink::{Sink, evidence};
use crate::check::{CaseOutcome, falls, grows};

/// What a round showed of the device.
#[derive(Debug, Clone, Default)]
pub struct RoundSeen {
    /// How long it took for its answers, by kind of request.
    pub timing: Vec<Row>,
    /// Its free memory, where its console told it.
    pub memory: Option<FreeMemory>,
}

/// Judges the rounds of a device, in order, as the case `name`.
pub fn judge(name: &str, rounds: &[RoundSeen]) -> CaseOutcome {
    let mut sink = Sink { case: name.into(), ..Sink::default() };
    latency(rounds, &mut sink);
    memory(rounds, &mut sink);
    CaseOutcome { exercised: sink.exercised, judgements: sink.found, ..CaseOutcome::default() }
}

fn latency(rounds: &[RoundSeen], sink: &mut Sink) {
    let mut kinds: Vec<&str> = Vec::new();
    for row in rounds.iter().flat_map(|round| &round.timing) {
        if !kinds.contains(&row.kind.as_str()) {
            kinds.push(&row.kind);
        }
    }
    let medians = |kind: &str| -> Vec<u64> {
        let rows = rounds.iter().flat_map(|round| &round.timing);
        rows.filter(|row| row.kind == kind).map(|row| row.median_us).collect()
    };
    let slower = kinds.iter().find_map(|kind| Some((*kind, grows(&medians(kind))?)));
    if kinds.is_empty() {
        return;
    }
    sink.test(Id::LivenessPace, slower.is_none(), || {
        let (kind, [first, .., last]) = slower.unwrap_or_default();
        evidence_of_all(
            "answers that do not take longer from round to round",
            format!(
                "`{kind}`: from {} to {} ms in {} rounds, most of each quarter of them later than the one before",
                first / 1000,
                last / 1000,
                rounds.len()
            ),
        )
    });
}

fn memory(rounds: &[RoundSeen], sink: &mut Sink) {
    let lasts: Vec<u64> =
        rounds.iter().filter_map(|round| Some(round.memory.as_ref()?.last)).collect();
    let fallen = falls(&lasts);
    if lasts.is_empty() {
        return;
    }
    sink.test(Id::LivenessMemory, fallen.is_none(), || {
        let (from, to) = fallen.unwrap_or_default();
        evidence_of_all(
            "free memory that does not keep falling from round to round",
            format!(
                "from {from} to {to} bytes at the ends of {} rounds, each quarter of them below the one before",
                lasts.len()
            ),
        )
    });
}

/// No single entry shows it.
fn evidence_of_all(expected: &str, received: String) -> mcp_hil_core::verdict::Evidence {
    mcp_hil_core::verdict::Evidence { seq: None, ..evidence(expected, received, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn rounds(median_us: fn(u64) -> u64, free: fn(u64) -> u64) -> Vec<RoundSeen> {
        let round = |n: u64| RoundSeen {
            timing: vec![Row { kind: "ping".into(), median_us: median_us(n), ..Row::default() }],
            memory: Some(FreeMemory {
                first: 142_331,
                lowest: free(n),
                last: free(n),
                readings: 40,
            }),
        };
        (0..48).map(round).collect()
    }

    #[rstest]
    #[case::steady(|_| 900, |_| 142_331, &[])]
    #[case::up_and_down(|n| 900 + n * 7_919 % 9_000, |n| 142_331 - n * 7_919 % 20_000, &[])]
    #[case::slower(|n| 2_000 + n * 1_500, |_| 142_331, &[Id::LivenessPace])]
    #[case::leaks(|_| 900, |n| 142_331 - n * 512, &[Id::LivenessMemory])]
    fn only_what_goes_on_from_round_to_round_is_found(
        #[case] median_us: fn(u64) -> u64,
        #[case] free: fn(u64) -> u64,
        #[case] found: &[Id],
    ) {
        let outcome = judge("soak/drift", &rounds(median_us, free));
        let broken: Vec<Id> = outcome.judgements.iter().map(|one| one.requirement).collect();
        assert_eq!(broken, found);
        assert_eq!(outcome.exercised.len(), 2);
    }

    #[test]
    fn nothing_follows_from_what_nobody_told() {
        let outcome = judge("soak/drift", &vec![RoundSeen::default(); 48]);
        assert!(outcome.judgements.is_empty() && outcome.exercised.is_empty());
    }
}
