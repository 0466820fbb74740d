//! Generated inputs in flight together: see [`super::flight`]. Those that show anything are carried out again, each
//! alone, as if they had not been.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mcp_hil_core::transcript::Part;
use mcp_hil_generate::Draw;
use mcp_hil_judge::check::CaseOutcome;
use mcp_hil_scenario::{Action, Case, Step};
use serde_json::Map;

use super::dut_run::DutRun;
use super::flight::LONGEST;
use super::property_run::PropertyCase;
use super::session::Session;
use super::settings::effects;

/// How many inputs are in flight together at most.
const INPUTS: u32 = 25;

impl DutRun<'_, '_> {
    /// Carries several inputs out in flight together, from a number on, and those of them alone that leave a doubt.
    /// Gives the number of the next; `None` where they do not fly, or the first does not.
    pub(super) async fn together(
        &mut self,
        session: &mut Session,
        property_case: &mut PropertyCase<'_>,
        first: u32,
        end: u32,
    ) -> Option<u32> {
        if !session.flights.are_open() {
            return None;
        }
        let numbers = first..end.min(first + INPUTS);
        let cases = self.cases_that_fly(session, property_case, numbers);
        if cases.is_empty() {
            return None;
        }
        let outcome = self.part(session, Part::Flight, &joined(&cases), None).await;
        let doubtful = match session.flights.came_back() {
            true => doubtful(&outcome, property_case.property.id, cases.len()),
            false => (0..cases.len()).collect(),
        };
        property_case.merged.add(Part::Flight, outcome);
        let (is_excused, refused) = (session.flights.is_excused(), session.flights.refused.take());
        if !doubtful.is_empty() {
            // What a message has changed it does not change again.
            self.around(session, property_case, false).await;
        }
        let told = property_case.merged.number();
        let mut next = first;
        for (at, (number, case)) in (first..).zip(cases).enumerate() {
            next = number;
            let is_doubtful = doubtful.contains(&at);
            if !is_doubtful {
                property_case.told.inputs += 1;
                property_case.told.exchanges += case.exchanges();
                property_case.note_places(number, &[]);
                self.remember(case);
            } else if let Some(why) = self.why_no_more(session, property_case, number) {
                property_case.told.ended = Some(why);
                return Some(end);
            } else {
                self.input(session, property_case, number).await;
            }
        }
        session.flights.refused = refused;
        session.flights.has_tried_alone();
        if !doubtful.is_empty() && !is_excused && property_case.merged.number() == told {
            session.flights.end();
        }
        Some(next + 1)
    }

    /// The inputs of these numbers, up to the first that the budget does not allow for twice, or that there is no time
    /// for.
    fn cases_that_fly(
        &self,
        session: &mut Session,
        property_case: &PropertyCase<'_>,
        numbers: std::ops::Range<u32>,
    ) -> Vec<Case> {
        let (mut cases, mut spent, is_quick) = (Vec::new(), 0, self.dialing.is_quick(session));
        let mut ids = BTreeSet::new();
        let mut ends = Instant::now();
        for number in numbers {
            let (property, context) = (property_case.property, property_case.context);
            let case = Draw::new(property, context, self.plan.seed, number).case();
            // What has ids of its own could not be tried again.
            if !session.may_fly(&case, is_quick) {
                break;
            }
            // An id is used once in a session.
            let own = session.own_ids(&case);
            if !own.iter().all(|id| ids.insert(id.to_string())) && !cases.is_empty() {
                break;
            }
            spent += 2 * effects(&case);
            let budget = self.plan.generation.budget;
            if budget.is_some_and(|budget| self.properties.spent + spent > budget) {
                break;
            }
            ends += in_flight(session, &case);
            if !cases.is_empty() && ends > property_case.until {
                break;
            }
            cases.push(case);
        }
        cases
    }
}

/// How long an input takes in flight: a message may have a fence, and a long one has the way for itself.
fn in_flight(session: &Session, case: &Case) -> Duration {
    let usual = session.conversation.median_latency().unwrap_or_default();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let is_long = |step: &&Step| format!("{:?}", step.action).len() > LONGEST;
    let long = number(case.steps.iter().filter(is_long).count());
    usual * number(2 * case.exchanges()) / number(session.flights.width()) + usual * long * 3 / 2
}

/// The inputs as one case, in which each has a place of its own: step 3 of the second one is at `1#0.3`.
fn joined(cases: &[Case]) -> Case {
    let each =
        |case: &Case| Step::of(Action::Each { rows: vec![Map::new()], steps: case.steps.clone() });
    Case { steps: cases.iter().map(each).collect(), ..cases[0].clone() }
}

/// Which of the inputs anything was found about: all, where nobody knows which.
fn doubtful(outcome: &CaseOutcome, case: &str, number: usize) -> BTreeSet<usize> {
    let own = outcome.judgements.iter().filter(|one| *one.case == *case);
    let places: Option<BTreeSet<usize>> =
        own.map(|one| one.step.as_deref()?.split('#').next()?.parse().ok()).collect();
    places.unwrap_or_else(|| (0..number).collect())
}
