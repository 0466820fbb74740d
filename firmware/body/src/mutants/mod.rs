//! The mutants: one defect each, for every requirement at least one.
//!
//! The harness must find each of them, and must find nothing in the device without. A name says
//! what is wrong; the description is the sentence that a firmware author would write in the bug
//! report. Most of these defects have been seen in devices of the family or in their libraries.

mod argument_kinds;
mod arguments;
mod bootstrap;
mod call;
mod channel;
mod envelope;
mod errors;
mod goodbye;
mod hello;
mod ids;
mod initialize;
mod jsonrpc;
mod list;
mod list_pages;
pub(crate) mod liveness;
mod mqtt;
mod notifications;
mod rare_requests;
mod rare_states;
mod rare_values;
mod robustness;
mod session;
mod stock;
mod transport;
mod vision;
mod volume;
mod volume_states;

use crate::defect::Defect;

/// A named defect.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Unique, kebab-case.
    pub name: &'static str,
    /// The area of the protocol that it spoils, as in the scenarios.
    pub area: &'static str,
    /// What the device does wrong, one sentence.
    pub description: &'static str,
    /// A fresh instance.
    pub build: fn() -> Defect,
}

/// A row of a table; [`all`] fills in the area.
const fn mutant(name: &'static str, description: &'static str, build: fn() -> Defect) -> Mutant {
    Mutant {
        name,
        area: "",
        description,
        build,
    }
}

/// Name of an area and its mutants.
type Area = (&'static str, &'static [Mutant]);

/// Every area, in the order of the alphabet.
const AREAS: &[Area] = &[
    ("arguments", arguments::MUTANTS),
    ("arguments", argument_kinds::MUTANTS),
    ("arguments", rare_values::ARGUMENTS),
    ("bootstrap", bootstrap::MUTANTS),
    ("call", call::MUTANTS),
    ("channel", channel::MUTANTS),
    ("envelope", envelope::MUTANTS),
    ("errors", errors::MUTANTS),
    ("errors", rare_requests::NAMES),
    ("hello", hello::MUTANTS),
    ("ids", ids::MUTANTS),
    ("ids", rare_values::IDS),
    ("initialize", initialize::MUTANTS),
    ("jsonrpc", jsonrpc::MUTANTS),
    ("jsonrpc", rare_requests::SPELLINGS),
    ("jsonrpc", rare_requests::COMPANY),
    ("jsonrpc", rare_requests::REWRITTEN),
    ("list", list::MUTANTS),
    ("list", list_pages::MUTANTS),
    ("list", rare_requests::LIST),
    ("liveness", liveness::MUTANTS),
    ("mqtt", mqtt::MUTANTS),
    ("notifications", notifications::MUTANTS),
    ("robustness", robustness::MUTANTS),
    ("robustness", rare_values::STRINGS),
    ("session", session::MUTANTS),
    ("session", goodbye::MUTANTS),
    ("stock", stock::MUTANTS),
    ("transport", transport::MUTANTS),
    ("transport", rare_requests::TRANSPORT),
    ("vision", vision::MUTANTS),
    ("volume", volume::MUTANTS),
    ("volume", volume_states::MUTANTS),
    ("volume", rare_states::MUTANTS),
];

/// Every mutant, sorted by area.
pub fn all() -> impl Iterator<Item = Mutant> {
    AREAS
        .iter()
        .flat_map(|(area, mutants)| mutants.iter().map(|mutant| Mutant { area, ..*mutant }))
}
