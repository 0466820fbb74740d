//! `mcp-hil`: plays the backend to an MCP device, judges every answer, writes reports.
//!
//! The flow: [`cli`] reads arguments into a [`plan`], [`run`] carries it out and turns what
//! happens into a stream of [`event`]s, [`report`] folds that stream into text, JSON and JUnit.
//! [`snapshots`] compares what was said with what people have reviewed.
//! [`replay`] enters the same flow with the transcripts of an earlier run, and [`diff`] compares two.
//! [`door`] lets tests of others drive a device exchange by exchange.
//! [`baseline`] makes a list of known failures out of one.
//! [`merge`] joins runs of several machines; [`shard`] says which part is whose. [`serve`] stands beside it:
//! it talks to devices and judges nothing. [`self_test`] runs the program over and over, to test the
//! harness itself.

pub mod backtrace;
pub mod baseline;
pub mod bridge;
pub mod cli;
pub mod coverage;
pub mod diff;
pub mod doctor;
pub mod door;
pub mod dut;
pub mod duts;
pub mod event;
pub mod exit;
pub mod explain;
pub mod firmware;
pub mod flash;
pub mod gateway;
pub mod hil;
pub mod merge;
pub mod mqtt;
pub mod plan;
pub mod program;
pub mod random;
pub mod recording;
pub mod replay;
pub mod report;
pub mod run;
pub mod self_test;
pub mod serve;
pub mod setup;
pub mod shard;
pub mod snapshots;
pub mod suite;
pub mod sut;

/// Program and version, as reports name it.
pub const TOOL: &str = concat!("mcp-hil ", env!("CARGO_PKG_VERSION"));
