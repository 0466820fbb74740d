//! What all parts of `mcp-hil` talk about, without sockets, files, threads or a clock.
//!
//! Data flows one way: a [`transcript`] of what was sent, received and logged goes to the judge, and
//! [`verdict`]s come out. Read the modules in this order:
//!
//! 1. [`wire`]: what a device may send (anything) and what the harness may send (legal messages), over
//!    either [`transport`];
//! 2. [`transcript`]: the record of a session, with offsets and directions;
//! 3. [`catalogue`]: the requirements, as data;
//! 4. [`capability`]: what a device can do, which decides what applies to it;
//! 5. [`obligation`]: what a device owes for each message;
//! 6. [`conversation`]: ids, what is in flight, how long to be patient, derived from the device's
//!    [`timing`];
//! 7. [`verdict`] and [`baseline`]: what the findings amount to.
//!
//! [`schema`] describes files that people write, for their editors. The packages `scenario`, `generate` and `judge` stand on this one. [`gateway`] is our own volume
//! gateway; its judge is in the package `judge` and shares nothing with it.
//!
//! Time is an argument everywhere (microseconds since the session began); nothing here sleeps.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

/// Writes a line for people to standard error. Whoever reads it may have gone away (`2>&1 | head`), which ends no run:
/// `eprintln!` would panic.
#[macro_export]
macro_rules! notice {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}

pub mod baseline;
pub mod bounds;
pub mod capability;
pub mod catalogue;
pub mod conversation;
pub mod gateway;
pub mod identity;
pub mod limits;
pub mod memory;
pub mod obligation;
pub mod problem;
pub mod samples;
pub mod schema;
pub mod step;
pub mod timing;
pub mod transcript;
pub mod transport;
pub mod verdict;
pub mod wire;
