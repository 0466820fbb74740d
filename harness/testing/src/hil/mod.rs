//! `cargo hil`: each case on each device over each transport as a test of its own.
//!
//! The test program is `tests/hil`; here is all of it that knows nothing of test programs. [`Bench`]
//! tells which devices there are and which tests; [`Runs`] carries out the wanted ones, one run for a
//! device over a transport, devices side by side, and hands each test its case's verdict.

mod bench;
mod runs;

use std::path::{Path, PathBuf};

use mcp_hil_bench::dut::Files;
use mcp_hil_record::error::UserError;

pub use bench::{Bench, Device, Over, Test};
pub use runs::{Outcome, Runs};

/// The variable that names the devices, separated by commas: what `--dut` takes.
pub const DUTS: &str = "MCP_HIL_DUT";

/// The variable with more arguments of `mcp-hil run`, separated by spaces.
pub const ARGUMENTS: &str = "MCP_HIL_RUN_ARGS";

/// Where files of devices lie, from the root of the source tree.
pub const FOLDER: &str = "ci/duts";

/// The files of the boards that a folder declares, attached or not: a list of tests must not depend on
/// what is plugged in, and a board that is not there is no reason to test another device.
///
/// # Errors
///
/// A file that cannot be read: it may declare a board.
pub fn declared(folder: &Path) -> Result<Vec<PathBuf>, UserError> {
    let files = Files::read(folder);
    match files.broken.into_iter().next() {
        Some(refusal) => Err(refusal),
        None => Ok(files.boards.iter().map(|file| PathBuf::from(&file.path)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_boards_count_whether_or_not_the_board_is_there() {
        let place = std::env::temp_dir().join(format!("mcp-hil-declared-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let text = "name = \"gone\"\ntarget = \"board\"\n[board]\nport = \"nothing\"\n";
        std::fs::write(place.join("gone.toml"), text).unwrap();
        let other = "name = \"other\"\ntarget = \"native\"\n";
        std::fs::write(place.join("other.toml"), other).unwrap();
        assert_eq!(declared(&place).unwrap(), [place.join("gone.toml")]);
        std::fs::write(place.join("broken.toml"), "name = ").unwrap();
        let refusal = declared(&place).unwrap_err();
        assert!(refusal.to_string().contains("broken.toml"), "{refusal}");
        std::fs::remove_dir_all(place).unwrap();
    }
}
