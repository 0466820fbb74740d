//! Scripted stimuli with their expectations, as data.
//!
//! [`Case::load`] reads one YAML file; [`Case::flatten`] unrolls its tables; [`Scope`] fills in
//! variables; [`write()`] writes a case as such a file; [`Matcher`] compares an answer with what is
//! expected; [`schema()`] describes the files for editors; [`GivenIds`] finds ids that two files give. No clock, socket, file or thread: files come
//! in as text.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod expect;
mod given;
mod load;
mod matcher;
mod model;
mod pieces;
mod places;
mod raw;
mod schema;
mod syntax;
mod template;
mod write;
mod written;
mod wrong;

pub use given::GivenIds;
pub use matcher::Matcher;
pub use model::{
    Action, Answer, CONTROLS, Case, Expect, Flat, Linger, Outgoing, Step, area, exchanges,
};
pub use schema::schema;
pub use template::{Missing, Scope};
pub use write::write;
