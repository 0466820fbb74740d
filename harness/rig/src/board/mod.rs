//! Boards: their ports, and what is done to them.

pub mod bridge;
pub mod ladder;
pub mod port;
pub mod protocol;
pub mod reset;
pub mod signals;
pub mod trigger;
