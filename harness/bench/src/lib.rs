//! The bench: device files, which device is meant, how it is built, flashed and started, and what is attached.

pub mod backtrace;
pub mod bridge;
pub mod dut;
pub mod duts;
pub mod environment;
pub mod firmware;
pub mod flash;
pub mod host;
pub mod program;
pub mod setup;

use std::path::Path;

/// The source tree that this program came from, whether it is still there or not.
fn own_tree() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}
