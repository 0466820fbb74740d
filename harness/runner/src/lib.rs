//! Runs: arguments become a [`plan`], [`run`] carries it out, [`snapshots`] compares what was said with what people
//! have reviewed.

pub mod plan;
pub mod random;
pub mod run;
pub mod secrets;
pub mod snapshots;
pub mod suite;
