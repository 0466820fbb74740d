//! Exchanges drawn by chance, from what the device itself says it can do.
//!
//! A [`Property`] says what must hold for many inputs; a [`Draw`] is one of them, as a
//! [`Case`](mcp_hil_scenario::Case): the same session carries it out, the same judge judges it, and a failure is kept as a
//! scenario file. Equal (property, [`Context`], seed, number) give equal draws. The number chooses what
//! a draw is about, round robin, so that few draws already touch every kind of input; chance fills in
//! the rest.
//!
//! Nothing here judges. Expectations name requirements of the catalogue, and where documents leave
//! an answer open, only that the device lives.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod arguments;
mod command;
mod concurrency;
mod context;
mod draw;
mod ids;
mod json;
mod lengths;
mod liveness;
mod metamorphic;
mod methods;
mod others;
mod pages;
mod parts;
mod positions;
mod property;
mod schemas;
mod shown;
mod state;
mod steps;
mod strings;
mod texts;
mod told;
mod tool_names;

pub use context::Context;
pub use draw::Draw;
pub use property::{PROPERTIES, Property};
pub use steps::good_requests;
pub use told::capabilities_told;

#[cfg(test)]
mod tests;
