//! Scripted stimuli with their expectations, as data.
//!
//! [`Case::load`] reads one YAML file; [`Case::flatten`] unrolls its tables; [`Scope`] fills in
//! variables; [`Matcher`] compares an answer with what is expected.

mod load;
mod matcher;
mod model;
mod template;

pub use matcher::Matcher;
pub use model::{Action, Answer, Case, Expect, Flat, Outgoing, Step};
pub use template::{Missing, Scope};
