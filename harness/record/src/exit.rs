//! Exit codes: a public contract, listed in `harness/manual/results.md`.

/// Every device conforms.
pub const CONFORMING: u8 = 0;
/// A device does not conform, something was not shown, or the baseline is stale.
pub const NOT_CONFORMING: u8 = 1;
/// The command line or a file is wrong.
pub const USAGE: u8 = 2;
/// The bench or the set-up failed: says nothing about the device.
pub const BENCH: u8 = 3;
/// Nothing ran.
pub const NOTHING_RAN: u8 = 4;
/// Stopped by Ctrl-C, SIGTERM or SIGHUP; the reports hold what was done until then.
pub const INTERRUPTED: u8 = 130;
