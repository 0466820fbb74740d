//! Harmless variations of the device: each does one thing in another way that the documents allow,
//! or that they leave open and real devices show.
//!
//! The harness must find nothing in any of them. They are made of the same hooks as the mutants; a
//! name says what is different.

mod answers;
mod lists;
mod requests;
mod spelling;
mod talk;
mod timing;

use crate::defect::Defect;

/// A named variation.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Unique, kebab-case.
    pub name: &'static str,
    /// What the device does in another way, one sentence.
    pub description: &'static str,
    /// A fresh instance.
    pub build: fn() -> Defect,
}

/// A row of a table.
const fn variant(name: &'static str, description: &'static str, build: fn() -> Defect) -> Variant {
    Variant {
        name,
        description,
        build,
    }
}

const GROUPS: [&[Variant]; 6] = [
    spelling::VARIANTS,
    lists::VARIANTS,
    answers::VARIANTS,
    requests::VARIANTS,
    timing::VARIANTS,
    talk::VARIANTS,
];

/// Every variation.
pub fn all() -> impl Iterator<Item = Variant> {
    GROUPS.into_iter().flatten().copied()
}
