//! Tables of layers around the device. A row is a name, one sentence, and what the layer does; mutants and harmless
//! variations differ only in what the harness has to make of them.

mod edit;
mod heater;
pub(crate) mod prelude;
mod select;
mod strip;
mod tools;

use crate::defect::Defect;

/// A named layer around the device: a mutant or a harmless variation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Unique, kebab-case.
    pub name: &'static str,
    /// The area of the protocol that it concerns: of a mutant as in the scenarios, of a variation the subject.
    pub area: &'static str,
    /// What the device does wrong, or in another way; one sentence.
    pub description: &'static str,
    /// A fresh instance.
    pub build: fn() -> Defect,
}

/// Name of an area and its rows.
pub(crate) type Area = (&'static str, &'static [Row]);

/// A table: name, what the device does, and how. `rustfmt` leaves the rows as they are; [`of`] fills in the
/// area.
macro_rules! rows {
    ($($name:literal: $description:literal => $layer:expr;)*) => {
        &[$($crate::rows::Row {
            name: $name,
            area: "",
            description: $description,
            build: || $layer,
        }),*]
    };
}
pub(crate) use rows;

/// The rows of these areas, in their order.
pub(crate) fn of(areas: &'static [Area]) -> impl Iterator<Item = Row> {
    areas.iter().flat_map(|(area, rows)| rows.iter().map(|row| Row { area, ..*row }))
}
