//! What every body of the reference device shares: the loop that dials and talks, and on request one
//! seeded defect ([`mutants`]) or another harmless way of doing things ([`variants`]).
//!
//! A body brings a [`Platform`]: sockets, a clock and a console. Whether that is a process on the
//! host or an image for a chip, [`Body`] makes the same device of it, so that what was proven about
//! one holds for the others. It needs `alloc` and nothing else.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod body;
mod chance;
mod config;
mod console;
mod defect;
mod float;
mod heartbeat;
mod hooks;
mod layers;
pub mod mutants;
mod platform;
mod prelude;
mod rows;
pub mod variants;

pub use body::{Body, GivenUp, Life};
pub use config::Config;
pub use defect::Defect;
pub use platform::{
    ConnectPlan, Dial, Event, Frame, Headers, LinkOptions, NO_SYSTEM_CODE, Platform, Publication,
    Tamper,
};
pub use rows::Row;
