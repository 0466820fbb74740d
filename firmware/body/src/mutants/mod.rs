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
mod cuts;
mod envelope;
mod errors;
mod framing;
mod goodbye;
mod hello;
mod identity;
mod ids;
mod initialize;
mod jsonrpc;
mod list;
mod list_pages;
pub(crate) mod liveness;
mod mqtt;
mod notifications;
mod other_ways;
mod ranges;
mod rare_requests;
mod rare_states;
mod rare_values;
pub(crate) mod robustness;
mod session;
mod side_effects;
mod status;
mod stock;
mod time;
mod transport;
mod vision;
mod volume;
mod volume_states;

use crate::rows::{self, Area, Row};

/// Every area, in the order of the alphabet.
const AREAS: &[Area] = &[
    ("arguments", arguments::MUTANTS),
    ("arguments", argument_kinds::MUTANTS),
    ("arguments", rare_values::ARGUMENTS),
    ("arguments", cuts::ARGUMENTS),
    ("arguments", ranges::MUTANTS),
    ("arguments", ranges::TEXTS),
    ("arguments", ranges::LIGHT),
    ("bootstrap", bootstrap::MUTANTS),
    ("call", call::MUTANTS),
    ("channel", channel::MUTANTS),
    ("envelope", envelope::MUTANTS),
    ("envelope", other_ways::ENVELOPE),
    ("errors", errors::MUTANTS),
    ("errors", rare_requests::NAMES),
    ("errors", cuts::ERRORS),
    ("errors", identity::ERRORS),
    ("errors", other_ways::METHODS),
    ("hello", hello::MUTANTS),
    ("hello", identity::HELLO),
    ("ids", ids::MUTANTS),
    ("ids", rare_values::IDS),
    ("ids", other_ways::IDS),
    ("initialize", initialize::MUTANTS),
    ("initialize", identity::INITIALIZE),
    ("jsonrpc", jsonrpc::MUTANTS),
    ("jsonrpc", rare_requests::SPELLINGS),
    ("jsonrpc", rare_requests::COMPANY),
    ("jsonrpc", rare_requests::REWRITTEN),
    ("jsonrpc", identity::JSONRPC),
    ("jsonrpc", other_ways::JSONRPC),
    ("list", list::MUTANTS),
    ("list", list_pages::MUTANTS),
    ("list", rare_requests::LIST),
    ("list", identity::LIST),
    ("list", ranges::LIST),
    ("liveness", liveness::MUTANTS),
    ("liveness", time::MUTANTS),
    ("mqtt", mqtt::MUTANTS),
    ("notifications", notifications::MUTANTS),
    ("robustness", robustness::MUTANTS),
    ("robustness", framing::MUTANTS),
    ("robustness", rare_values::STRINGS),
    ("session", session::MUTANTS),
    ("session", goodbye::MUTANTS),
    ("session", side_effects::SESSION),
    ("session", other_ways::SESSION),
    ("status", status::MUTANTS),
    ("status", side_effects::STATUS),
    ("stock", stock::MUTANTS),
    ("transport", transport::MUTANTS),
    ("transport", rare_requests::TRANSPORT),
    ("vision", vision::MUTANTS),
    ("vision", identity::VISION),
    ("volume", volume::MUTANTS),
    ("volume", volume_states::MUTANTS),
    ("volume", rare_states::MUTANTS),
    ("volume", other_ways::VOLUME),
];

/// Every mutant, sorted by area.
pub fn all() -> impl Iterator<Item = Row> {
    rows::of(AREAS)
}
