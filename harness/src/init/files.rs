//! The files that `init` writes.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::Command;
use mcp_hil_args::{DUTS, Described, PROFILES, SCHEMAS};
use mcp_hil_bench::duts;
use mcp_hil_record::error::UserError;

use super::SCENARIOS;
use super::found::Found;
use crate::install;

/// Known failures of stock firmware, the list of `ci/baselines`.
const STOCK: &str = include_str!("stock.toml");

/// The versions that the list is about.
const STOCK_VERSION: &str = "2.4.";

const WORKFLOW: &str = ".github/workflows/mcp-hil.yml";

/// A file to be written.
#[derive(Debug)]
pub(super) struct File {
    /// Its path, from the folder.
    pub(super) path: String,
    /// What it is for.
    pub(super) what: &'static str,
    text: String,
}

/// What is to be written for what was found.
pub(super) fn files(found: &Found, program: &Command) -> Vec<File> {
    let mut files = Vec::new();
    let mut add = |path: String, what, text| files.push(File { path, what, text });
    for kind in Described::WRITTEN {
        let path = format!("{SCHEMAS}/{}", kind.file());
        add(path, "what editors know of these files", install::text(kind, program));
    }
    let named = |kind: Described, path: &str, text: &str| {
        format!("{}\n{text}", kind.first_line(Path::new(path)))
    };
    for (name, board) in found.new_boards() {
        let path = format!("{DUTS}/{name}.toml");
        let text = duts::describe(Path::new(&path), &name, board);
        add(path, "the board that is attached", text);
    }
    if let Some((_, path)) = found.device() {
        let text = match found.version() {
            Some(version) if version.starts_with(STOCK_VERSION) => STOCK.to_owned(),
            _ => include_str!("baseline.toml").replace("FILE", &path),
        };
        let text = named(Described::Baseline, &path, &text);
        add(path, "known failures", text);
    }
    let text = named(Described::Profiles, PROFILES, &profiles(found));
    add(PROFILES.to_owned(), "options of `mcp-hil run`", text);
    let own = format!("{SCENARIOS}/tools-listed.yaml");
    let text = named(Described::Scenario, &own, include_str!("scenario.yaml"));
    add(own, "a scenario to start with", text);
    add(WORKFLOW.to_owned(), "runs all this for each push", workflow(found));
    files
}

/// What need not be typed for this device.
fn profiles(found: &Found) -> String {
    let mut text = "# Options of `mcp-hil run`, by their long names; `[profile.default]` always applies, `--profile none` leaves it \
                    out.\n\n[profile.default]\n"
        .to_owned();
    let device = found.device();
    match &device {
        Some((dut, _)) => text.push_str(&format!("dut = [\"{dut}\"]\n")),
        None => text.push_str("# dut = [\"exec:python3 device.py\"]     # your device\n"),
    }
    text.push_str(&format!("scenarios = \"{SCENARIOS}\"\n"));
    if let Some((_, baseline)) = &device {
        text.push_str(&format!("baseline = \"{baseline}\"\n"));
    }
    text + "\n# `mcp-hil run --profile nightly`\n[profile.nightly]\ninputs = 300\n"
}

fn workflow(found: &Found) -> String {
    let text = match (found.builds(), found.device_file()) {
        (true, _) => include_str!("host.yml").to_owned(),
        (false, Some((name, file))) => {
            include_str!("board.yml").replace("NAME", &name).replace("DUT", &file)
        }
        (false, None) => include_str!("native.yml").to_owned(),
    };
    // A program that was released knows whose it is.
    match option_env!("MCP_HIL_REPOSITORY") {
        Some(repository) => text.replace("OWNER/mcp-hil", repository),
        None => text,
    }
}

/// Writes a file with the folders above it, unless it is there already; whether it was written.
pub(super) fn written(file: &File) -> Result<bool, UserError> {
    let path = Path::new(&file.path);
    let done = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        let mut opened = OpenOptions::new().write(true).create_new(true).open(path)?;
        opened.write_all(file.text.as_bytes())
    });
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(UserError::bench(
            format!("cannot write `{}`: {error}", file.path),
            "run it in the folder of your firmware, with write permission",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::baseline::Baseline;

    #[test]
    fn the_shipped_list_is_read_and_is_about_the_versions_that_get_it() {
        let list = Baseline::load("stock.toml", STOCK).unwrap();
        assert!(list.known.len() > 10);
        assert!(list.known.iter().all(|known| known.is_for(Some("2.4.2"))));
        assert!(list.known.iter().all(|known| !known.is_for(Some("2.5.0"))));
    }
}
