//! Following a failure to the smallest input that still shows it.
//!
//! Before each try the device is brought into a known state. Tries are bounded in number and time.
//! What does not show again is told as that, with both observations.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mcp_hil_core::check::Likeness;
use mcp_hil_core::generate::{Draw, good_requests};
use mcp_hil_core::scenario::{Action, Case, Step};
use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Outcome};

use super::lane::Lane;
use super::properties::Hunt;
use super::session::Session;
use crate::event::Failure;

/// Most smaller inputs that are tried for one failure.
const MOST_STEPS: u32 = 60;

/// How many of them are kept for leaving messages out.
const MOST_LEFT_OUT: usize = 20;

/// How long they may take together.
const LONGEST: Duration = Duration::from_secs(5);

/// The same where another property was followed to such a failure: most likely it has the same cause.
const LONGEST_AGAIN: Duration = Duration::from_secs(1);

/// How long they may take when the property's share of the time is over.
const SHORTEST: Duration = Duration::from_millis(500);

/// How many requests an exchange may have come to, with what the harness reads the state and makes sure
/// with, and how many good requests are tried in their place at most.
const REQUESTS_PER_EXCHANGE: usize = 4;
const MOST_GOOD: usize = 200;

/// From which state of the device a try begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// A fresh session, with the settings that it had.
    Session,
    /// The same after a fresh start, where the harness can start it.
    Start,
}

/// Which part of `--max-time` the failures of all properties may take together: a quarter.
const SHARE: u32 = 4;

/// What a try has shown.
pub(super) enum Tried {
    /// The failure.
    Shown,
    /// Something else, in words.
    Other(String),
    /// Nothing: there was no try, and why.
    Not(&'static str),
}

/// The failure that is looked for, and how far the tries may go.
#[derive(Clone)]
pub(super) struct Search {
    wanted: Likeness,
    /// What may be broken beside it: what broke with the input that was found, or the first time it was
    /// tried again.
    beside: BTreeSet<&'static str>,
    /// Whether what is tried is still the input that was found, so that all it breaks belongs to it.
    is_whole: bool,
    /// What was read where the failure showed last, if it is a reading.
    read: Option<String>,
    /// Whether steps are left out, on which a reading may rest: only the same one is the same failure.
    leaves_out: bool,
    /// From which state each try begins.
    from: From,
    pub(super) steps: u32,
    most: u32,
    pub(super) until: Instant,
}

impl Lane<'_, '_> {
    /// Follows a failure of an input: shrinks the input, writes the smallest one to a file.
    pub(super) async fn follow(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        (mut draw, mut smallest): (Option<Draw>, Case),
        found: &Judgement,
        beside: &[Judgement],
        number: u32,
    ) {
        let began = Instant::now();
        // All failures together have a share of the time, too.
        let left = (self.plan.generation.max_time / SHARE).saturating_sub(self.followed);
        let longest = match self.told.iter().any(|known| known.is_of(found)) {
            true => LONGEST_AGAIN,
            false => LONGEST,
        };
        // What a restart by command leaves behind, a fresh session does not take away.
        let rebooted = self.recent.iter().any(Case::restarts) || smallest.restarts();
        let mut search = Search {
            wanted: Likeness::of(found),
            beside: beside.iter().map(|one| one.requirement).collect(),
            is_whole: true,
            read: None,
            leaves_out: false,
            from: match rebooted {
                true => From::Start,
                false => From::Session,
            },
            steps: 0,
            most: MOST_STEPS,
            until: (began + longest.min(left))
                .min(hunt.until)
                .max(began + SHORTEST),
        };
        let mut failure = Failure {
            input: number,
            times: 1,
            from: exchanges(&smallest),
            to: exchanges(&smallest),
            ..Failure::default()
        };
        let again = draw
            .is_some()
            .then(|| Draw::new(hunt.property, hunt.ground, self.plan.seed, number));
        let (small, on_twin) = self
            .by_twin(session, hunt, &mut search, again, &smallest)
            .await;
        failure.on_twin = on_twin;
        let first = match small {
            Some(_) => Tried::Shown,
            None => self.try_again(session, hunt, &mut search, &smallest).await,
        };
        match first {
            Tried::Shown => {
                let cut_short = match small {
                    Some((case, cut_short)) => {
                        smallest = case;
                        cut_short
                    }
                    None => {
                        let draw = draw.as_mut();
                        self.make_small(session, hunt, &mut search, draw, &mut smallest)
                            .await
                    }
                };
                failure.to = exchanges(&smallest);
                failure.cut_short = cut_short.map(str::to_owned);
            }
            Tried::Other(what) => {
                let all = self
                    .with_what_was_before(session, hunt, &mut search, &smallest)
                    .await;
                match all {
                    Some((case, from)) => {
                        (failure.from, smallest) = (from, case);
                        failure.to = exchanges(&smallest);
                        failure.cut_short = search.reached().map(str::to_owned);
                    }
                    None => failure.second_try = Some(what),
                }
            }
            Tried::Not(why) => failure.cut_short = Some(why.to_owned()),
        }
        failure.steps = search.steps + on_twin;

        let mut likenesses = vec![search.wanted.clone()];
        let mut evidence = found.clone();
        failure.requirements = vec![found.requirement.to_owned()];
        if failure.second_try.is_none() && self.affords(&smallest) && !session.is_interrupted() {
            let part = Part::Smallest;
            let from = Some((search.from, &hunt.saved));
            let outcome = self.part(session, part, &smallest, from).await;
            let failing = self.failing(&outcome, hunt.property.id);
            match failing
                .iter()
                .find(|judgement| search.wanted.is_of(judgement))
            {
                Some(same) => evidence = same.clone(),
                None => failure.second_try = Some(in_words(&failing)),
            }
            for judgement in &failing {
                if !hunt.knows(judgement) {
                    likenesses.push(Likeness::of(judgement));
                    let slug = judgement.requirement.to_owned();
                    if !failure.requirements.contains(&slug) {
                        failure.requirements.push(slug);
                    }
                }
            }
            hunt.merged.add(part, outcome);
        }
        self.write_down(session, hunt, &mut failure, &smallest, &evidence);
        self.followed += began.elapsed();
        hunt.likenesses.push(likenesses);
        hunt.told.failures.push(failure);
    }

    /// Makes an input small on the twin, and tries the outcome on the device itself. Gives it where that
    /// shows the failure, with why there may be a smaller one; and how many inputs were tried on the twin.
    async fn by_twin(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        draw: Option<Draw>,
        case: &Case,
    ) -> (Option<(Case, Option<&'static str>)>, u32) {
        let mut there = search.clone();
        let Some(shrunk) = self.on_twin(hunt, &mut there, draw, case).await else {
            return (None, 0);
        };
        // What was tried there took time of its own.
        search.until = search.until.max(Instant::now() + SHORTEST);
        let Some(smallest) = shrunk.smallest else {
            return (None, shrunk.steps);
        };
        let mut here = Search {
            is_whole: false,
            beside: there.beside,
            ..search.clone()
        };
        search.steps += 1;
        let tried = self.try_again(session, hunt, &mut here, &smallest).await;
        let small = matches!(tried, Tried::Shown).then_some((smallest, shrunk.cut_short));
        (small, shrunk.steps)
    }

    /// Makes an input that has shown its failure again as small as it gets. Gives why there may be a
    /// smaller one.
    pub(super) async fn make_small(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        draw: Option<&mut Draw>,
        smallest: &mut Case,
    ) -> Option<&'static str> {
        // A few tries are left for leaving messages out one by one, which says the most.
        search.most -= exchanges(smallest).min(MOST_LEFT_OUT) as u32;
        let cut_short = match draw {
            Some(draw) => self.shrink(session, hunt, search, draw, smallest).await,
            None => None,
        };
        search.most = MOST_STEPS;
        let left = self
            .leave_out(session, hunt, search, smallest, usize::MAX)
            .await;
        cut_short.or(left)
    }

    /// Makes an input smaller as long as it fails. Gives why there may be a smaller one.
    async fn shrink(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
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
                match self.try_again(session, hunt, search, &case).await {
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
        hunt: &mut Hunt<'_>,
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
            if exchanges(&case) == 0 {
                continue;
            }
            if let Some(why) = search.reached() {
                break Some(why);
            }
            search.steps += 1;
            match self.try_again(session, hunt, search, &case).await {
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
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        last: &Case,
    ) -> Option<(Case, usize)> {
        // What was done to the device since then must not count.
        search.from = From::Start;
        search.is_whole = true;
        let mut before: Vec<Case> = self.recent.iter().cloned().collect();
        let case = joined(&before, last);
        let all = exchanges(&case);
        let ends = search.wanted.requirement.starts_with("liveness.");
        if before.is_empty() || !self.shows(session, hunt, search, &case).await {
            // Some devices end after so many requests, whichever they are.
            let worn = match ends {
                true => {
                    self.after(session, hunt, search, None, last, MOST_GOOD)
                        .await
                }
                false => None,
            };
            return worn.map(|case| {
                let all = all.max(exchanges(&case));
                (case, all)
            });
        }
        if ends {
            let case = self.late(session, hunt, search, &before, last).await;
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
                match self.shows(session, hunt, search, &case).await {
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
        self.leave_out(session, hunt, search, &mut smallest, usize::MAX)
            .await;
        Some((smallest, all))
    }

    /// Finds the input that ends the device's life later on: it is the last one with which a replay
    /// may begin. What comes after it is good requests then, as few as it takes.
    async fn late(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        before: &[Case],
        last: &Case,
    ) -> Case {
        let (mut cause, mut without) = (0, before.len());
        while without - cause > 1 && search.reached().is_none() {
            let middle = cause.midpoint(without);
            let case = joined(&before[middle..], last);
            match self.shows(session, hunt, search, &case).await {
                true => cause = middle,
                false => without = middle,
            }
        }
        let whole = joined(&before[cause..], last);
        if search.reached().is_some() {
            return whole;
        }
        let poison = &before[cause];
        let most = (exchanges(&whole) * REQUESTS_PER_EXCHANGE).min(MOST_GOOD);
        for first in [None, Some(poison)] {
            let after = self.after(session, hunt, search, first, last, most).await;
            if let Some(smallest) = after {
                return smallest;
            }
        }
        let mut smallest = whole;
        self.leave_out(session, hunt, search, &mut smallest, usize::MAX)
            .await;
        smallest
    }

    /// Tries good requests after an input, or alone: of both as little as it takes.
    async fn after(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        first: Option<&Case>,
        last: &Case,
        most: usize,
    ) -> Option<Case> {
        let first = Vec::from_iter(first.cloned());
        let mut smallest = Case {
            steps: good_requests(most),
            needs: Vec::new(),
            ..last.clone()
        };
        smallest = joined(&first, &smallest);
        if !self.shows(session, hunt, search, &smallest).await {
            return None;
        }
        let own = messages(&smallest.steps) - most;
        self.leave_out(session, hunt, search, &mut smallest, own)
            .await;
        let own = smallest.steps.len() - most;
        let (mut few, mut enough) = (0, most);
        while enough - few > 1 && search.reached().is_none() {
            let middle = few.midpoint(enough);
            let mut case = smallest.clone();
            case.steps.truncate(own + middle);
            match self.shows(session, hunt, search, &case).await {
                true => enough = middle,
                false => few = middle,
            }
        }
        smallest.steps.truncate(own + enough);
        Some(smallest)
    }

    /// Whether a case shows the failure that is searched for.
    async fn shows(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        case: &Case,
    ) -> bool {
        search.steps += 1;
        let tried = self.try_again(session, hunt, search, case).await;
        matches!(tried, Tried::Shown)
    }

    /// Carries an input out from a known state.
    pub(super) async fn try_again(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        search: &mut Search,
        case: &Case,
    ) -> Tried {
        if session.is_interrupted() {
            return Tried::Not("the run was stopped");
        }
        if !self.affords(case) {
            return Tried::Not("the budget is spent");
        }
        let part = Part::Trial;
        let from = Some((search.from, &hunt.saved));
        let outcome = self.part(session, part, case, from).await;
        let own = |judgement: &&Judgement| {
            *judgement.case == *hunt.property.id && !matches!(judgement.outcome, Outcome::Held)
        };
        let found: Vec<Judgement> = outcome.judgements.iter().filter(own).cloned().collect();
        let failing = self.failing(&outcome, hunt.property.id);
        hunt.merged.add(part, outcome);
        let shown = found
            .iter()
            .find(|judgement| search.wanted.is_of(judgement));
        let Some(read) = shown.map(reading) else {
            return Tried::Other(in_words(&found));
        };
        if !search.allows(&failing) || (search.leaves_out && read != search.read) {
            return Tried::Other(in_words(&found));
        }
        search.read = read;
        Tried::Shown
    }
}

impl Search {
    /// Whether a try that shows the failure shows nothing that the input did not. A step that is missing
    /// may leave an expectation behind that nothing prepares any more, and the device is not to blame for
    /// that. What a device that ends takes with it is chance.
    fn allows(&mut self, failing: &[Judgement]) -> bool {
        let ends = |requirement: &str| requirement.starts_with("liveness.");
        let broken = failing
            .iter()
            .filter(|one| matches!(one.outcome, Outcome::Broken(_)) && !ends(one.requirement));
        let mut requirements = broken.map(|one| one.requirement);
        if std::mem::take(&mut self.is_whole) {
            self.beside.extend(requirements);
            return true;
        }
        ends(self.wanted.requirement) || requirements.all(|one| self.beside.contains(one))
    }

    fn reached(&self) -> Option<&'static str> {
        if self.steps >= self.most {
            Some("60 steps are the most")
        } else if Instant::now() >= self.until {
            Some("the time for it was over")
        } else {
            None
        }
    }
}

/// Inputs one after the other, as one case.
fn joined(before: &[Case], last: &Case) -> Case {
    let steps = before.iter().flat_map(|case| case.steps.clone());
    Case {
        steps: steps.chain(last.steps.clone()).collect(),
        needs: needs(before, last),
        ..last.clone()
    }
}

/// What they need together: they may be of several properties.
fn needs(before: &[Case], last: &Case) -> Vec<String> {
    let all = before.iter().flat_map(|case| &case.needs);
    let all: BTreeSet<&String> = all.chain(&last.needs).collect();
    all.into_iter().cloned().collect()
}

/// How many messages a case sends, fences and readings of the state aside.
pub(super) fn exchanges(case: &Case) -> usize {
    let flat = case.flatten();
    let each = flat.iter().map(|flat| match &flat.step.action {
        Action::Burst(steps) | Action::Drop { after: steps } => steps.len(),
        Action::Send(_) | Action::List { .. } => 1,
        _ => 0,
    });
    each.sum()
}

/// How many steps can be left out, those of bursts and rows of tables one by one.
fn messages(steps: &[Step]) -> usize {
    steps.iter().map(weight).sum()
}

fn weight(step: &Step) -> usize {
    match &step.action {
        Action::Burst(inner) => inner.len().max(1),
        Action::Each { rows, .. } => rows.len().max(1),
        _ => 1,
    }
}

/// The steps without one of them; what is left alone of a burst is a step of its own.
fn without(steps: &[Step], mut at: usize) -> Vec<Step> {
    let mut left = Vec::new();
    for step in steps {
        let here = weight(step);
        let hit = at < here;
        match &step.action {
            Action::Burst(inner) if hit && inner.len() > 1 => {
                let mut inner = inner.clone();
                inner.remove(at);
                left.push(match inner.len() {
                    1 => inner.remove(0),
                    _ => Step {
                        action: Action::Burst(inner),
                        ..step.clone()
                    },
                });
            }
            Action::Each { rows, steps } if hit && rows.len() > 1 => {
                let (mut rows, steps) = (rows.clone(), steps.clone());
                rows.remove(at);
                left.push(Step {
                    action: Action::Each { rows, steps },
                    ..step.clone()
                });
            }
            _ if hit => {}
            _ => left.push(step.clone()),
        }
        at = if hit {
            usize::MAX
        } else {
            at.saturating_sub(here)
        };
    }
    left
}

/// What was read in the place of what was expected, where it is a part of an answer.
fn reading(judgement: &Judgement) -> Option<String> {
    let (_, received) = expected_and_received(judgement);
    let (value, _) = received.split_once(", in {")?;
    Some(value.to_owned())
}

/// What findings say, in one line.
fn in_words(found: &[Judgement]) -> String {
    if found.is_empty() {
        return "nothing was found".to_owned();
    }
    let each = found.iter().map(|judgement| {
        let (expected, received) = expected_and_received(judgement);
        let requirement = judgement.requirement;
        format!("{requirement}: expected {expected}, received {received}")
    });
    each.collect::<Vec<_>>().join("; ")
}

pub(super) fn expected_and_received(judgement: &Judgement) -> (String, String) {
    match &judgement.outcome {
        Outcome::Broken(evidence) => (evidence.expected.clone(), evidence.received.clone()),
        Outcome::Unclear(why) | Outcome::OurFault(why) => ("an answer".into(), why.clone()),
        Outcome::Held => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::{Catalogue, RuleSet};

    #[test]
    fn a_smaller_input_breaks_nothing_that_the_whole_one_did_not() {
        let judgement = |requirement, outcome| Judgement {
            requirement,
            case: "properties/state".into(),
            step: None,
            outcome,
        };
        let broken = |requirement| judgement(requirement, Outcome::Broken(Box::default()));
        let unclear = |requirement| judgement(requirement, Outcome::Unclear(String::new()));
        let search = |wanted| Search {
            wanted: Likeness::of(&broken(wanted)),
            beside: BTreeSet::from([wanted]),
            is_whole: true,
            read: None,
            leaves_out: false,
            from: From::Session,
            steps: 0,
            most: 1,
            until: Instant::now(),
        };
        let mut theme = search("call.success");
        // What the input breaks when it is tried again belongs to it.
        assert!(theme.allows(&[broken("call.success"), broken("volume.mute")]));
        assert!(theme.allows(&[broken("call.success")]));
        assert!(theme.allows(&[broken("volume.mute"), broken("liveness.link-kept")]));
        assert!(theme.allows(&[broken("call.success"), unclear("volume.set")]));
        assert!(!theme.allows(&[broken("call.success"), broken("volume.set")]));
        // The end of a device spoils what comes after it.
        let mut panic = search("liveness.no-panic");
        assert!(panic.allows(&[broken("liveness.no-panic")]));
        assert!(panic.allows(&[broken("liveness.no-panic"), broken("volume.set")]));
    }

    #[test]
    fn each_message_can_be_left_out() {
        let catalogue = Catalogue::load([], RuleSet::DEFAULT).unwrap();
        let text = "title: t\nsteps:\n  - request: {method: ma}\n  - burst:\n      \
                    - request: {method: mb}\n      - request: {method: mc}\n  \
                    - list: {}\n";
        let case = Case::load("properties/x", "x.yaml", text, &catalogue).unwrap();
        assert_eq!((messages(&case.steps), exchanges(&case)), (4, 4));
        let left = |at| {
            let steps = without(&case.steps, at);
            let text = mcp_hil_core::scenario::write(
                &Case {
                    steps,
                    ..case.clone()
                },
                &[],
            );
            let sent: String = ['a', 'b', 'c']
                .iter()
                .filter(|name| text.contains(&format!("m{name}")))
                .collect();
            (sent, text.contains("list:"), text.contains("burst:"))
        };
        assert_eq!(left(0), ("bc".into(), true, true));
        assert_eq!(left(1), ("ac".into(), true, false));
        assert_eq!(left(2), ("ab".into(), true, false));
        assert_eq!(left(3), ("abc".into(), false, true));
    }
}
