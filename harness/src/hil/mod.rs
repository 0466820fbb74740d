//! `cargo test --features hil`: each case on each device over each transport as a test of its own.
//!
//! The test program is `tests/hil`; here is all of it that knows nothing of test programs. [`Bench`]
//! tells which devices there are and which tests; [`Runs`] carries out the wanted ones, one run for a
//! device over a transport, devices side by side, and hands each test its case's verdict.

mod bench;
mod runs;

use std::path::{Path, PathBuf};

pub use bench::{Bench, Device, Over, Test};
pub use runs::{Outcome, Runs};

/// The variable that names the devices, separated by commas: what `--dut` takes.
pub const DUTS: &str = "MCP_HIL_DUT";

/// The variable with more arguments of `mcp-hil run`, separated by spaces.
pub const ARGUMENTS: &str = "MCP_HIL_RUN_ARGS";

/// Where files of devices lie, from the root of the source tree.
pub const FOLDER: &str = "ci/duts";

/// The files of a folder whose boards are attached.
pub fn attached(_folder: &Path) -> Vec<PathBuf> {
    Vec::new()
}
