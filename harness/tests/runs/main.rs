//! Whole runs, and what is done with their records. They wait for devices more than for the processor, so they are
//! one program, whose tests run side by side.

#![cfg(not(feature = "hil"))]

#[path = "../support/mod.rs"]
mod support;

mod baselines;
mod broker;
mod causes;
mod diff;
mod fidelity;
mod flights;
mod levels;
mod lives;
mod patience;
mod properties;
mod replay;
mod safety;
mod soak;
mod time_budget;
