//! Several devices in one run.
//!
//! Each device has a lane: a thread with a run of its own, in a folder of its own, below that of all. What lanes report
//! goes through one stream of events to the reporters of the whole, so the devices are told apart by name in one summary,
//! one JUnit file and one page. A lane that its bench breaks, or that is refused before it begins, ends alone.
//!
//! `plan` makes the lanes, `lane` carries one out, [`carry_out`] takes in what they say, and `total` adds up what they
//! come to.

mod carry_out;
mod lane;
mod plan;
mod total;

pub use carry_out::{RackEnd, carry_out};
pub use lane::LaneFiles;
pub use plan::{Rack, devices};
