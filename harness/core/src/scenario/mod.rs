//! Scripted stimuli with their expectations, as data.
//!
//! [`Case::load`] reads one YAML file; [`Case::flatten`] unrolls its tables; [`Scope`] fills in
//! variables; [`write()`] writes a case as such a file; [`Matcher`] compares an answer with what is expected; [`GivenIds`] finds ids that two
//! files give.

mod given;
mod load;
mod matcher;
mod model;
mod template;
mod write;

pub use given::GivenIds;
pub use matcher::Matcher;
pub use model::{Action, Answer, Case, Expect, Flat, Outgoing, Step};
pub use template::{Missing, Scope};
pub use write::write;
