//! Finds out of which commit a program for use is built, so that `--version` can say it.
//!
//! Programs for debugging do not say it: each commit would have all that depends on it built again.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let told = match env::var("PROFILE").as_deref() {
        Ok("release") => match packaged().or_else(checked_out) {
            Some(commit) => format!("{version} ({commit})"),
            None => version,
        },
        _ => format!("{version} (built for debugging)"),
    };
    println!("cargo::rustc-env=PROGRAM_VERSION={told}");
}

/// The commit that `cargo package` has noted.
fn packaged() -> Option<String> {
    let note = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash = note.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    Some(hash.chars().take(12).collect())
}

/// The commit of a checkout, with a mark where files differ from it.
fn checked_out() -> Option<String> {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_owned())
    };
    // Not the repository of whoever has unpacked the sources somewhere.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let folder = git(&["rev-parse", "--git-dir"])?;
    for file in ["HEAD", "logs/HEAD", "index"] {
        let path = Path::new(&folder).join(file);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if is_clean { commit } else { format!("{commit}, changed") })
}
