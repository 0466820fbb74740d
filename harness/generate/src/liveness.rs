//! Long runs of what the other properties send, each ended by a good request: whatever came before it,
//! in this run or up to fifty exchanges earlier, the device lives.

use proptest::prelude::*;

use crate::context::Context;
use crate::parts::mixed;
use crate::steps::{LONGEST, good};
use crate::{arguments, json, methods, pages, strings};
use mcp_hil_scenario::{Action, Outgoing, Step, exchanges};

/// Most parts that are drawn for a run, beyond the first.
const PARTS: usize = 7;

/// The kinds of which runs are made.
type Kind = fn(&Context, u32) -> BoxedStrategy<Vec<Step>>;
const KINDS: [Kind; 5] =
    [methods::steps, strings::steps, json::steps, arguments::steps, pages::steps];

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let kinds = KINDS.iter().map(|steps| steps(context, number / KINDS.len() as u32)).collect();
    mixed(number, kinds, PARTS).prop_map(run).boxed()
}

/// As many parts as there is room for, one after the other.
fn run(parts: Vec<Vec<Step>>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for part in parts {
        let room = exchanges(&all) + exchanges(&part) < LONGEST;
        // A part that gives ids by itself knows nothing of those of the others.
        if room && !(names_ids(&part) && names_ids(&all)) {
            all.extend(part);
        }
    }
    all.push(good());
    all
}

/// Whether one of its messages has an id that is not a fresh one.
fn names_ids(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Send(Outgoing::Request { id, .. }) => id.is_some(),
        Action::Send(Outgoing::Payload(payload)) => payload.get("id").is_some(),
        Action::Send(Outgoing::PayloadText(text) | Outgoing::Text(text)) => {
            text.contains("id") && !text.contains("${id}")
        }
        Action::Send(Outgoing::Envelope(_)) => true,
        Action::Burst(inner) => names_ids(inner),
        _ => false,
    })
}
