//! The judge of `mcp-hil`: transcripts in, judgements out, without sockets, files, threads or a clock.
//!
//! * [`check`]: judgements over the transcript of one device;
//! * [`compare`]: what two transports, or two runs, answered to the same requests;
//! * [`drift`]: what changes where a device is tested again and again;
//! * [`gateway`]: the judge of volume gateways.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod check;
pub mod compare;
pub mod drift;
pub mod gateway;
