//! `mcp-hil init`: the files with which a folder begins to test its device, and the commands that come next.
//!
//! It asks nothing and overwrites nothing. What it writes depends on what it finds: firmware that can be built for
//! this computer, a board, or neither.

mod files;
mod found;

use std::path::Path;

use clap::Command;
use mcp_hil_args::DUTS;
use mcp_hil_record::error::UserError;

use files::{File, written};
use found::Found;

/// Where scenarios of one's own are put.
const SCENARIOS: &str = "ci/scenarios";

/// Makes the files in the current folder; `program` is the whole command line. Tells what was found, what was written and what comes next.
///
/// # Errors
///
/// A file cannot be written.
pub fn init(program: &Command) -> Result<String, UserError> {
    let found = Found::look(Path::new("."), Path::new(DUTS));
    let mut text = found.told() + "\n";
    for file in files::files(&found, program) {
        text.push_str(&line(&file, written(&file)?));
    }
    text.push_str("\nnext:\n");
    for command in next(&found) {
        text.push_str(&format!("  {command}\n"));
    }
    if !found.builds() && found.device_file().is_none() {
        text.push_str(
            "\nno device to test was found here: `--dut exec:'python3 device.py'` tests a program, `--dut wait` one \
             that you\nstart yourself; after you have attached a board, `mcp-hil init` adds its file\n",
        );
    }
    Ok(text)
}

fn line(file: &File, is_new: bool) -> String {
    let did = if is_new { "created" } else { "kept" };
    format!("{did:<9}{:<34}{}\n", file.path, file.what)
}

/// The commands that come next, as they can be pasted.
fn next(found: &Found) -> [String; 3] {
    let run = "mcp-hil run".to_owned();
    let Some((_, baseline)) = found.device() else {
        return ["mcp-hil doctor".to_owned(), format!("{run} --only own/"), run];
    };
    [run.clone(), format!("mcp-hil baseline update target/mcp-hil/latest -o {baseline}"), run]
}
