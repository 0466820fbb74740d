//! `--time-budget`: a run that has little time does what finds most in it.
//!
//! What a case finds is known from the mutants of the reference device: how many of them the table names it for. What it
//! costs is known from its steps, and from how long this device has taken until now. Cases keep their order, for later
//! ones build on earlier ones; before each, the best use of the time that is left is worked out anew, and a case that
//! is no part of it is left out.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::Facts;
use mcp_hil_generate::PROPERTIES;
use mcp_hil_scenarios::{MUTANTS, scripts};

use super::dut_run::DutRun;
use super::session::Session;
use crate::plan::{Cost, Plan};

/// What a wait for the device takes, until one was seen.
const WAIT: Duration = Duration::from_secs(1);

/// What is kept for the end of the run: settings are put back, and late answers are listened for.
const CLOSING: Duration = Duration::from_secs(1);

/// How far what was expected of the device is trusted to be wrong.
const MOST_WRONG: f64 = 20.0;

/// How many mutants each case finds; a name that ends in `/` stands for all cases of its area.
static FOUND: LazyLock<BTreeMap<String, u32>> = LazyLock::new(|| {
    let table: BTreeMap<String, Vec<String>> =
        toml::from_str(MUTANTS).expect("`mutants.toml` is a table of lists");
    let mut found = BTreeMap::new();
    for kill in table.values().flatten() {
        // The requirement comes last, and a transport may come first.
        let case = kill.split(' ').rev().nth(1).unwrap_or_default();
        *found.entry(case.to_owned()).or_default() += 1;
    }
    found
});

/// What somebody wrote for himself, who wants it to run.
const WANTED: u32 = u32::MAX;

/// How much a case finds.
fn found_by(id: &str) -> u32 {
    let own = scripts().iter().all(|(known, ..)| *known != id)
        && PROPERTIES.iter().all(|property| property.id != id);
    let area = id.split_inclusive('/').next().unwrap_or_default();
    match own {
        true => WANTED,
        false => FOUND.get(id).unwrap_or(&0) + FOUND.get(area).unwrap_or(&0),
    }
}

/// A case, or a property, that may still be carried out.
#[derive(Debug, Clone, Copy)]
struct Work {
    finds: u32,
    cost: Cost,
}

/// The time that is left, and what is known of the device's pace.
#[derive(Debug)]
pub(super) struct TimeBudget {
    until: Instant,
    linger: Duration,
    /// How long an exchange takes, by how long getting to know the device took.
    exchange: Duration,
    /// What was carried out since was expected to take so long, and took so long.
    expected: Duration,
    took: Duration,
    works: Vec<Work>,
}

impl TimeBudget {
    /// That of a device that is known now: `began` is when it was connected.
    fn new(plan: &Plan, whole: Duration, began: Instant, round_trips: u64, facts: &Facts) -> Self {
        let work = |id: &str, needs: &[String], cost: Cost| Work {
            finds: found_by(id),
            // What does not apply takes no time.
            cost: if facts.lacks(needs).is_some() { Cost::default() } else { cost },
        };
        let generation = &plan.generation;
        let of_inputs = Cost::of_inputs(generation.inputs);
        let cases = plan.cases.iter().map(|case| work(&case.id, &case.needs, Cost::of(case)));
        let properties = generation.properties.iter().map(|property| {
            let needs: Vec<String> = property.needs.iter().map(|need| (*need).into()).collect();
            work(property.id, &needs, of_inputs)
        });
        let trips = u32::try_from(round_trips.max(1)).unwrap_or(u32::MAX);
        let transports = u32::try_from(plan.transports.len()).unwrap_or(1);
        Self {
            until: began + whole / transports,
            linger: plan.linger,
            exchange: began.elapsed() / trips,
            expected: Duration::ZERO,
            took: Duration::ZERO,
            works: cases.chain(properties).collect(),
        }
    }

    /// How long something takes on the device that was expected.
    fn expects(&self, cost: Cost) -> Duration {
        let times = |time: Duration, number: u64| time * u32::try_from(number).unwrap_or(u32::MAX);
        times(self.exchange, cost.exchanges)
            + times(WAIT, cost.waits)
            + times(self.linger / 2, cost.lingers)
    }

    /// Whether there is time for what is the `at`th of all, with what comes after it in mind.
    fn has_time_for(&self, at: usize, now: Instant) -> bool {
        // Those before it may have taken longer than expected, and used up what was kept for it.
        if self.works[at].finds == WANTED {
            return now < self.until;
        }
        let left = self.until.saturating_duration_since(now + CLOSING);
        let wrong = match self.expected.as_secs_f64() {
            0.0 => 1.0,
            expected => self.took.as_secs_f64() / expected,
        };
        let wrong = wrong.clamp(1.0 / MOST_WRONG, MOST_WRONG);
        let rest: Vec<(u32, Duration)> = self.works[at..]
            .iter()
            .map(|work| (work.finds, self.expects(work.cost).mul_f64(wrong)))
            .collect();
        is_first_worth_it(&rest, left)
    }

    /// Takes note of what the `at`th of all took.
    fn note(&mut self, at: usize, took: Duration) {
        let expected = self.expects(self.works[at].cost);
        if !expected.is_zero() {
            self.expected += expected;
            self.took += took;
        }
    }
}

/// Whether the first of these, each with what it finds and how long it takes, is part of the best use of some time:
/// what finds most for its time comes first, and what does not fit any more is passed over.
fn is_first_worth_it(rest: &[(u32, Duration)], left: Duration) -> bool {
    let worth = |at: &usize| {
        let (finds, takes) = rest[*at];
        u128::from(finds) * 1_000_000_000_000 / takes.as_nanos().max(1)
    };
    let mut order: Vec<usize> = (0..rest.len()).collect();
    order.sort_by_key(|at| Reverse(worth(at)));
    let mut left = left;
    for at in order {
        let takes = rest[at].1;
        match left.checked_sub(takes) {
            Some(_) if at == 0 => return true,
            Some(less) => left = less,
            None if at == 0 => return false,
            None => {}
        }
    }
    false
}

impl DutRun<'_, '_> {
    /// The device is known now: what can be done in the time that is left begins to count.
    pub(super) fn time_begins(&mut self, session: &Session) {
        let (plan, began) = (self.plan, self.connected);
        let trips = session.received.round_trips;
        self.time = plan
            .time_budget
            .map(|whole| TimeBudget::new(plan, whole, began, trips, &session.device.facts));
    }

    /// Whether there is time for a case, or after all cases for a property; if not, it is left out.
    pub(super) fn has_time_for(&mut self, at: usize, id: &str) -> bool {
        let has = self.time.as_ref().is_none_or(|time| time.has_time_for(at, Instant::now()));
        if !has {
            self.left_out.push(id.to_owned());
        }
        has
    }

    /// Takes note of how long it took.
    pub(super) fn took(&mut self, at: usize, began: Instant) {
        if let Some(time) = &mut self.time {
            time.note(at, began.elapsed());
        }
    }

    /// When the time is over, for what can be cut short.
    pub(super) fn time_ends(&self) -> Option<Instant> {
        self.time.as_ref().and_then(|time| time.until.checked_sub(CLOSING))
    }
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::transcript::{BRING_UP, CLOSE};
    use mcp_hil_judge::compare::SAME_ANSWERS;
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Which of these are carried out, one after the other, if each takes as long as it was expected to.
    fn carried_out(works: &[(u32, Duration)], whole: Duration) -> Vec<usize> {
        let (mut left, mut done) = (whole, Vec::new());
        for at in 0..works.len() {
            if is_first_worth_it(&works[at..], left) {
                left = left.checked_sub(works[at].1).expect("it fits");
                done.push(at);
            }
        }
        done
    }

    #[test]
    fn what_finds_most_for_its_time_is_carried_out_in_the_order_of_the_run() {
        let works =
            [(1, SECOND), (9, 3 * SECOND), (0, SECOND / 2), (8, SECOND), (0, Duration::ZERO)];
        assert_eq!(carried_out(&works, 4 * SECOND), [1, 3, 4]);
        assert_eq!(carried_out(&works, 5 * SECOND), [0, 1, 3, 4]);
        assert_eq!(carried_out(&works, 60 * SECOND), [0, 1, 2, 3, 4]);
        assert_eq!(carried_out(&works, Duration::ZERO), [4]);
    }

    #[test]
    fn every_case_that_finds_a_mutant_is_one_of_the_suite() {
        for case in FOUND.keys() {
            let is_known = |id: &str| id == case || case.ends_with('/') && id.starts_with(&**case);
            let around = [BRING_UP, CLOSE, SAME_ANSWERS];
            let properties = PROPERTIES.iter().map(|property| property.id);
            let mut all = scripts().iter().map(|(id, ..)| *id).chain(properties).chain(around);
            assert!(all.any(is_known), "{case}");
        }
        assert_eq!(found_by("own/case"), WANTED);
        assert!(found_by("arguments/wrong-type") > 5);
    }

    proptest! {
        /// No more is begun than fits, and nothing is left out that would fit beside it.
        #[test]
        fn the_time_is_used(
            works in prop::collection::vec((0..50_u32, 0..5_000_u64), 0..40),
            whole in 0..60_000_u64,
        ) {
            let works: Vec<_> = works
                .into_iter()
                .map(|(finds, takes)| (finds, Duration::from_millis(takes)))
                .collect();
            let whole = Duration::from_millis(whole);
            let done = carried_out(&works, whole);
            let used: Duration = done.iter().map(|at| works[*at].1).sum();
            prop_assert!(used <= whole);
            let left = whole - used;
            let mut out = (0..works.len()).filter(|at| !done.contains(at));
            prop_assert!(out.all(|at| works[at].1 > left));
        }
    }
}
