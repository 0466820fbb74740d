//! Following a failure to the smallest input that still shows it.
//!
//! Before each try the device is brought into a known state. Tries are bounded in number and time.
//! What does not show again is told as that, with both observations.

use std::time::{Duration, Instant};

use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::Judgement;
use mcp_hil_generate::{Draw, good_requests};
use mcp_hil_judge::check::FailureSignature;
use mcp_hil_scenario::Case;

use super::dut_run::DutRun;
use super::property_run::PropertyCase;
use super::search::{Search, StartFrom, Tried, in_words};
use super::session::Session;
use super::smaller::{joined, messages, without};
use mcp_hil_record::event::Failure;

/// Most smaller inputs that are tried for one failure.
const MOST_STEPS: u32 = 60;

/// How many of them are kept for leaving messages out.
const MOST_LEFT_OUT: usize = 20;

/// Which part of `--max-time` they may take together: a twelfth, which is 5 s by default.
const LONGEST: u32 = 12;

/// The same where another property was followed to such a failure: most likely it has the same cause.
const LONGEST_AGAIN: u32 = 60;

/// How long they may take when the property's share of the time is over.
const SHORTEST: Duration = Duration::from_millis(500);

/// How many requests an exchange may have come to, with what the harness reads the state and makes sure
/// with, and how many good requests are tried in their place at most.
const REQUESTS_PER_EXCHANGE: usize = 4;
const MOST_GOOD: usize = 200;

/// Which part of `--max-time` the failures of all properties may take together: a quarter.
const SHARE: u32 = 4;

impl DutRun<'_, '_> {
    /// Follows a failure of an input: shrinks the input, writes the smallest one to a file.
    pub(super) async fn follow(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        (draw, found_with): (Option<Draw>, Case),
        found: &Judgement,
        beside: &[Judgement],
        number: u32,
    ) {
        let began = Instant::now();
        let mut search = self.search(property_case, &found_with, found, beside);
        let mut failure = Failure {
            input: number,
            times: 1,
            from: found_with.exchanges(),
            to: found_with.exchanges(),
            ..Failure::default()
        };
        let input = (draw, found_with);
        let smallest =
            self.smallest(session, property_case, &mut search, input, &mut failure).await;
        let mut likenesses = vec![search.wanted.clone()];
        let mut evidence = found.clone();
        failure.requirements = vec![found.requirement.to_string()];
        if failure.second_try.is_none() && self.affords(&smallest) && !session.is_interrupted() {
            let part = Part::Smallest;
            let from = Some((search.from, &property_case.saved));
            let outcome = self.part(session, part, &smallest, from).await;
            let failing = self.failing(&outcome, property_case.property.id);
            match failing.iter().find(|judgement| search.wanted.is_of(judgement)) {
                Some(same) => evidence = same.clone(),
                None => failure.second_try = Some(in_words(&failing)),
            }
            for judgement in &failing {
                if !property_case.knows(judgement) {
                    likenesses.push(FailureSignature::of(judgement));
                    let slug = judgement.requirement.to_string();
                    if !failure.requirements.contains(&slug) {
                        failure.requirements.push(slug);
                    }
                }
            }
            property_case.merged.add(part, outcome);
        }
        self.write_down(session, property_case, &mut failure, &smallest, &evidence);
        self.properties.followed += began.elapsed();
        property_case.likenesses.push(likenesses);
        property_case.told.failures.push(failure);
    }

    /// What is searched for, from which state, and for how long.
    fn search(
        &self,
        property_case: &PropertyCase<'_>,
        input: &Case,
        found: &Judgement,
        beside: &[Judgement],
    ) -> Search {
        let now = Instant::now();
        // All failures together have a share of the time, too.
        let all = self.plan.generation.max_time;
        let left = (all / SHARE).saturating_sub(self.properties.followed);
        let longest = match self.properties.told.iter().any(|known| known.is_of(found)) {
            true => all / LONGEST_AGAIN,
            false => all / LONGEST,
        };
        // What a restart by command leaves behind, a fresh session does not take away.
        let rebooted = self.properties.recent.iter().any(Case::restarts) || input.restarts();
        Search {
            wanted: FailureSignature::of(found),
            beside: beside.iter().map(|one| one.requirement).collect(),
            is_whole: true,
            read: None,
            leaves_out: false,
            from: match rebooted {
                true => StartFrom::Start,
                false => StartFrom::Session,
            },
            steps: 0,
            most: MOST_STEPS,
            until: (now + longest.min(left)).min(property_case.until).max(now + SHORTEST),
        }
    }

    /// The smallest input that was found to show the failure again: the one that was found where no other
    /// does. Notes in the failure how it was come by.
    async fn smallest(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        (mut draw, mut smallest): (Option<Draw>, Case),
        failure: &mut Failure,
    ) -> Case {
        let again = draw.is_some().then(|| {
            Draw::new(property_case.property, property_case.context, self.plan.seed, failure.input)
        });
        let (small, on_surrogate) =
            self.by_surrogate(session, property_case, search, again, &smallest).await;
        failure.on_surrogate = on_surrogate;
        if let Some((case, cut_short)) = small {
            smallest = case;
            failure.to = smallest.exchanges();
            failure.cut_short = cut_short.map(str::to_owned);
        } else {
            match self.try_again(session, property_case, search, &smallest).await {
                Tried::Shown => {
                    let draw = draw.as_mut();
                    let cut_short =
                        self.make_small(session, property_case, search, draw, &mut smallest).await;
                    failure.to = smallest.exchanges();
                    failure.cut_short = cut_short.map(str::to_owned);
                }
                Tried::Other(what) => {
                    let all =
                        self.with_what_was_before(session, property_case, search, &smallest).await;
                    match all {
                        Some((case, from)) => {
                            (failure.from, smallest) = (from, case);
                            failure.to = smallest.exchanges();
                            failure.cut_short = search.reached().map(str::to_owned);
                        }
                        None => failure.second_try = Some(what),
                    }
                }
                Tried::Not(why) => failure.cut_short = Some(why.to_owned()),
            }
        }
        failure.steps = search.steps + on_surrogate;
        smallest
    }

    /// Makes an input small on the surrogate, and tries the outcome on the device itself. Gives it where that
    /// shows the failure, with why there may be a smaller one; and how many inputs were tried on the surrogate.
    async fn by_surrogate(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        draw: Option<Draw>,
        case: &Case,
    ) -> (Option<(Case, Option<&'static str>)>, u32) {
        let mut there = search.clone();
        let Some(shrunk) = self.on_surrogate(property_case, &mut there, draw, case).await else {
            return (None, 0);
        };
        // What was tried there took time of its own.
        search.until = search.until.max(Instant::now() + SHORTEST);
        let Some(smallest) = shrunk.smallest else {
            return (None, shrunk.steps);
        };
        let mut here = Search { is_whole: false, beside: there.beside, ..search.clone() };
        search.steps += 1;
        let tried = self.try_again(session, property_case, &mut here, &smallest).await;
        let small = matches!(tried, Tried::Shown).then_some((smallest, shrunk.cut_short));
        (small, shrunk.steps)
    }

    /// Makes an input that has shown its failure again as small as it gets. Gives why there may be a
    /// smaller one.
    pub(super) async fn make_small(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        draw: Option<&mut Draw>,
        smallest: &mut Case,
    ) -> Option<&'static str> {
        // A few tries are left for leaving messages out one by one, which says the most.
        search.most -= smallest.exchanges().min(MOST_LEFT_OUT) as u32;
        let cut_short = match draw {
            Some(draw) => self.shrink(session, property_case, search, draw, smallest).await,
            None => None,
        };
        search.most = MOST_STEPS;
        let left = self.leave_out(session, property_case, search, smallest, usize::MAX).await;
        cut_short.or(left)
    }

    /// Makes an input smaller as long as it fails. Gives why there may be a smaller one.
    async fn shrink(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        draw: &mut Draw,
        smallest: &mut Case,
    ) -> Option<&'static str> {
        while draw.simplify() {
            loop {
                if let Some(why) = search.reached() {
                    return Some(why);
                }
                search.steps += 1;
                let case = draw.case();
                match self.try_again(session, property_case, search, &case).await {
                    Tried::Shown => {
                        *smallest = case;
                        break;
                    }
                    Tried::Other(_) if draw.complicate() => {}
                    Tried::Other(_) => return None,
                    Tried::Not(why) => return Some(why),
                }
            }
        }
        None
    }

    /// Leaves out what the failure does not need, message by message, from the last one of the first
    /// so many on.
    async fn leave_out(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        smallest: &mut Case,
        first: usize,
    ) -> Option<&'static str> {
        let mut at = messages(&smallest.steps).min(first);
        search.leaves_out = true;
        let end = loop {
            if at == 0 {
                break None;
            }
            at -= 1;
            let mut case = smallest.clone();
            case.steps = without(&smallest.steps, at);
            if case.exchanges() == 0 {
                continue;
            }
            if let Some(why) = search.reached() {
                break Some(why);
            }
            search.steps += 1;
            match self.try_again(session, property_case, search, &case).await {
                Tried::Shown => *smallest = case,
                Tried::Other(_) => {}
                Tried::Not(why) => break Some(why),
            }
        };
        search.leaves_out = false;
        end
    }

    /// Tries an input after those that went before it: its cause may lie there. Gives the fewest of
    /// them that are needed, as one case, and how many exchanges all of them had.
    async fn with_what_was_before(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        last: &Case,
    ) -> Option<(Case, usize)> {
        // What was done to the device since then must not count.
        search.from = StartFrom::Start;
        search.is_whole = true;
        let mut before: Vec<Case> = self.properties.recent.iter().cloned().collect();
        let case = joined(&before, last);
        let all = case.exchanges();
        let ends = search.wanted.requirement.is_liveness();
        if before.is_empty() || !self.shows(session, property_case, search, &case).await {
            // Some devices end after so many requests, whichever they are.
            let worn = match ends {
                true => self.after(session, property_case, search, None, last, MOST_GOOD).await,
                false => None,
            };
            return worn.map(|case| {
                let all = all.max(case.exchanges());
                (case, all)
            });
        }
        if ends {
            let case = self.late(session, property_case, search, &before, last).await;
            return Some((case, all));
        }
        // Halves first, then ever smaller parts, down to single inputs.
        let mut size = before.len().div_ceil(2);
        loop {
            let mut at = 0;
            while at < before.len() && search.reached().is_none() {
                let mut fewer = before.clone();
                fewer.drain(at..(at + size).min(fewer.len()));
                let case = joined(&fewer, last);
                match self.shows(session, property_case, search, &case).await {
                    true => before = fewer,
                    false => at += size,
                }
            }
            if size <= 1 || search.reached().is_some() {
                break;
            }
            size = size.div_ceil(2);
        }
        let mut smallest = joined(&before, last);
        self.leave_out(session, property_case, search, &mut smallest, usize::MAX).await;
        Some((smallest, all))
    }

    /// Finds the input that ends the device's life later on: it is the last one with which a replay
    /// may begin. What comes after it is good requests then, as few as it takes.
    async fn late(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        before: &[Case],
        last: &Case,
    ) -> Case {
        let (mut cause, mut without) = (0, before.len());
        while without - cause > 1 && search.reached().is_none() {
            let middle = cause.midpoint(without);
            let case = joined(&before[middle..], last);
            match self.shows(session, property_case, search, &case).await {
                true => cause = middle,
                false => without = middle,
            }
        }
        let whole = joined(&before[cause..], last);
        if search.reached().is_some() {
            return whole;
        }
        let poison = &before[cause];
        let most = (whole.exchanges() * REQUESTS_PER_EXCHANGE).min(MOST_GOOD);
        for first in [None, Some(poison)] {
            let after = self.after(session, property_case, search, first, last, most).await;
            if let Some(smallest) = after {
                return smallest;
            }
        }
        let mut smallest = whole;
        self.leave_out(session, property_case, search, &mut smallest, usize::MAX).await;
        smallest
    }

    /// Tries good requests after an input, or alone: of both as little as it takes.
    async fn after(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        search: &mut Search,
        first: Option<&Case>,
        last: &Case,
        most: usize,
    ) -> Option<Case> {
        let first = Vec::from_iter(first.cloned());
        let mut smallest = Case { steps: good_requests(most), needs: Vec::new(), ..last.clone() };
        smallest = joined(&first, &smallest);
        if !self.shows(session, property_case, search, &smallest).await {
            return None;
        }
        let own = messages(&smallest.steps) - most;
        self.leave_out(session, property_case, search, &mut smallest, own).await;
        let own = smallest.steps.len() - most;
        let (mut few, mut enough) = (0, most);
        while enough - few > 1 && search.reached().is_none() {
            let middle = few.midpoint(enough);
            let mut case = smallest.clone();
            case.steps.truncate(own + middle);
            match self.shows(session, property_case, search, &case).await {
                true => enough = middle,
                false => few = middle,
            }
        }
        smallest.steps.truncate(own + enough);
        Some(smallest)
    }
}
