//! The suite again and again, for hours, on one device that lives on.
//!
//! Each round is a run of its own, with a seed of its own and a folder below that of the soak; the device is not started
//! anew for it. [`plan`](Soak::new) says what is to be repeated, `carry_out` repeats it and deletes what nobody will look
//! at, `record` is what the rounds came to, in `soak.json`, from which a soak that was stopped goes on, and `whole` makes
//! one report of it, in which each case occurs once with the worst that it came to.

mod carry_out;
mod plan;
mod record;
mod whole;

pub use carry_out::{SoakEnd, carry_out};
pub use plan::Soak;
pub use record::{Round, SoakRecord};
