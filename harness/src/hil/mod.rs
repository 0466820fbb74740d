//! `cargo test --features hil`: each case on each device over each transport as a test of its own.
//!
//! The test program is `tests/hil`; here is all of it that knows nothing of test programs. [`Bench`]
//! tells which devices there are and which tests; [`Runs`] carries out the wanted ones, one run for a
//! device over a transport, devices side by side, and hands each test its case's verdict.

mod bench;
mod runs;

use std::path::{Path, PathBuf};

use crate::dut::DutFile;
use crate::duts::Files;

pub use bench::{Bench, Device, Over, Test};
pub use runs::{Outcome, Runs};

/// The variable that names the devices, separated by commas: what `--dut` takes.
pub const DUTS: &str = "MCP_HIL_DUT";

/// The variable with more arguments of `mcp-hil run`, separated by spaces.
pub const ARGUMENTS: &str = "MCP_HIL_RUN_ARGS";

/// Where files of devices lie, from the root of the source tree.
pub const FOLDER: &str = "ci/duts";

/// The files of a folder whose boards are attached. `say` is told of those that cannot be read.
pub fn attached(folder: &Path, say: &mut dyn FnMut(&str)) -> Vec<PathBuf> {
    let files = Files::read(folder);
    for refusal in &files.broken {
        say(&format!("passed over: {refusal}"));
    }
    let boards = mcp_hil_rig::board::attached().boards;
    let is_there = |file: &DutFile| {
        let means = |board| files.of(board).any(|other| other.path == file.path);
        // What is at a path may be no board of USB: an emulator, say.
        let at_path = file.board.as_ref().and_then(|board| board.port.as_deref());
        boards.iter().any(means) || at_path.is_some_and(Path::exists)
    };
    let there = files.boards.iter().filter(|file| is_there(file));
    there.map(|file| PathBuf::from(&file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_boards_count_where_the_board_is_there() {
        let place = std::env::temp_dir().join(format!("mcp-hil-attached-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let port = place.join("port");
        std::fs::write(&port, "").unwrap();
        let board = |name: &str, port: &Path| {
            let port = port.display();
            let text =
                format!("name = \"{name}\"\ntarget = \"board\"\n[board]\nport = \"{port}\"\n");
            std::fs::write(place.join(format!("{name}.toml")), text).unwrap();
        };
        board("here", &port);
        board("gone", &place.join("nothing"));
        let other = "name = \"other\"\ntarget = \"native\"\n";
        std::fs::write(place.join("other.toml"), other).unwrap();
        std::fs::write(place.join("broken.toml"), "name = ").unwrap();
        let mut said = Vec::new();
        let found = attached(&place, &mut |line| said.push(line.to_owned()));
        assert_eq!(found, [place.join("here.toml")]);
        assert!(
            matches!(&said[..], [line] if line.contains("broken.toml")),
            "{said:?}"
        );
        std::fs::remove_dir_all(place).unwrap();
    }
}
