//! Harmless variations of the device: each does one thing in another way that the documents allow,
//! or that they leave open and real devices show.
//!
//! The harness must find nothing in any of them. They are rows as the mutants are; a name says what is
//! different.

mod answers;
mod forgiving;
mod lists;
mod lives;
mod requests;
mod spelling;
mod talk;
mod timing;

use crate::rows::{self, Area, Row};

const AREAS: &[Area] = &[
    ("spelling", spelling::VARIANTS),
    ("lists", lists::VARIANTS),
    ("answers", answers::VARIANTS),
    ("requests", requests::VARIANTS),
    ("timing", timing::VARIANTS),
    ("talk", talk::VARIANTS),
    ("lives", lives::VARIANTS),
];

/// Every variation.
pub fn all() -> impl Iterator<Item = Row> {
    rows::of(AREAS)
}
