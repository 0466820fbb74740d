//! Finding, or building, the native reference device.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::Difference;
use crate::plan::Refusal;

/// The package of the native reference device, and its program.
const NATIVE_PACKAGE: &str = "reference-native";
const NATIVE_PROGRAM: &str = "mcp-hil-native";

/// One of the devices that the program can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// The area of the protocol; empty for variations.
    pub(crate) area: String,
    /// What is different about it.
    pub(crate) description: String,
}

/// What the program lists as its mutants or variants; `kind` is the word in singular.
pub(crate) fn listed(program: &Path, kind: &str) -> Result<Vec<Listed>, Refusal> {
    let output = std::process::Command::new(program)
        .arg(format!("--list-{kind}s"))
        .output();
    let output = output.map_err(|error| {
        Refusal::bench(
            format!(
                "cannot start the reference device `{}`: {error}",
                program.display()
            ),
            "check MCP_HIL_NATIVE",
        )
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let row = |line: &str| {
        let mut cells = line.split('\t');
        let name = cells.next()?.to_owned();
        let (first, second) = (cells.next().unwrap_or_default(), cells.next());
        let (area, description) = second.map_or(("", first), |second| (first, second));
        Some(Listed {
            name,
            area: area.to_owned(),
            description: description.to_owned(),
        })
    };
    Ok(text.lines().filter_map(row).collect())
}

/// Whether the program knows what it is asked to be.
pub(super) fn check_known(program: &Path, difference: &Difference) -> Result<(), Refusal> {
    let (kind, name) = (difference.kind(), difference.name());
    let listed = listed(program, kind)?;
    let mut names = listed.iter().map(|known| known.name.as_str());
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    let hint = match mcp_hil_core::problem::nearest(name, &mut names) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    Err(Refusal::usage(
        format!("the native device has no {kind} `{name}`"),
        &format!("{hint}`mcp-hil-native --list-{kind}s` lists all"),
    ))
}

/// Finds the reference device: named by `MCP_HIL_NATIVE`, built from the source tree that this
/// program came from, or beside this program.
pub(crate) fn program() -> Result<PathBuf, Refusal> {
    if let Some(named) = std::env::var_os("MCP_HIL_NATIVE") {
        return Ok(named.into());
    }
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    if let Some(tree) = tree.filter(|tree| tree.join("firmware/native/Cargo.toml").exists()) {
        return build(tree);
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|own| Some(own.parent()?.join(NATIVE_PROGRAM)));
    beside.filter(|path| path.exists()).ok_or_else(|| {
        Refusal::bench(
            format!("the reference device `{NATIVE_PROGRAM}` is not here, and neither is its source"),
            "name its program in MCP_HIL_NATIVE, or test a device of your own with `--dut exec:<command>`",
        )
    })
}

/// Whether a build of the reference device lies where cargo puts it as a rule: good enough to say
/// something before a long wait, not to rely on.
fn looks_built(tree: &Path) -> bool {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| tree.join("target"), PathBuf::from);
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    target.join(profile).join(NATIVE_PROGRAM).exists()
}

/// Builds the reference device in the profile that this program was built in. Takes a moment the
/// first time, and next to nothing after that.
fn build(tree: &Path) -> Result<PathBuf, Refusal> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(&cargo);
    command
        .current_dir(tree)
        .args([
            "build",
            "--quiet",
            "--package",
            NATIVE_PACKAGE,
            "--bin",
            NATIVE_PROGRAM,
        ])
        .args(["--message-format", "json-render-diagnostics"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    if !looks_built(tree) {
        eprintln!("building the reference device; this takes a moment, the first time only");
    }
    let failed = |what: String| {
        Refusal::bench(
            format!("cannot build the reference device: {what}"),
            "run `cargo build --package reference-native` in the source tree to see why",
        )
    };
    let output = command
        .output()
        .map_err(|error| failed(format!("`cargo` does not start: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!(
            "`cargo build` ended with {}",
            output.status
        )));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(message.get("executable")?.as_str()?.into()))
        .next_back()
        .ok_or_else(|| failed("cargo named no program".into()))
}
