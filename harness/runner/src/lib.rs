//! Runs: arguments become a [`plan`], [`run`] carries it out, a [`rack`] several at once, a [`soak`] again and
//! again; [`snapshots`] compares what
//! was said with what people have reviewed.

pub mod plan;
pub mod rack;
pub mod random;
pub mod run;
pub mod secrets;
pub mod snapshots;
pub mod soak;
pub mod suite;
