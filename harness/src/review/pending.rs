//! Files that wait for review: `name.snap.new` beside `name.snap`, as insta names and writes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_hil_record::error::UserError;

use super::is_passed_over;

/// The ending of a file that waits, and what is cut off when it is accepted.
const PENDING: &str = ".snap.new";
const NEW: &str = ".new";

/// A member of the header that insta leaves out of what it keeps: the line of a test moves with every change.
const OF_THE_MOMENT: &str = "assertion_line:";

/// A snapshot that insta does not keep as text has this in its header.
const BINARY: &str = "snapshot_kind: binary";

/// An answer that waits for review.
#[derive(Debug)]
pub(super) struct Pending {
    /// The file that waits.
    pub(super) path: PathBuf,
    /// The reviewed file, which need not be there.
    pub(super) reviewed: PathBuf,
    /// What was reviewed.
    pub(super) before: Option<String>,
    /// What waits.
    pub(super) after: String,
}

/// All that wait in a folder and in those below it, by name.
pub(super) fn find(folder: &Path, only: &[String]) -> Result<Vec<Pending>, UserError> {
    let mut paths = Vec::new();
    walk(folder, &mut paths).map_err(|error| unreadable(folder, &error))?;
    paths.sort();
    let is_meant = |path: &PathBuf| {
        let shown = path.to_string_lossy();
        only.is_empty() || only.iter().any(|text| shown.contains(text.as_str()))
    };
    paths.into_iter().filter(is_meant).map(read).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            if !is_passed_over(&path) {
                walk(&path, found)?;
            }
        } else if path.to_string_lossy().ends_with(PENDING) {
            found.push(path.strip_prefix(".").map(Path::to_owned).unwrap_or(path));
        }
    }
    Ok(())
}

fn read(path: PathBuf) -> Result<Pending, UserError> {
    let after = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
    if head(&after).lines().any(|line| line.trim() == BINARY) {
        return Err(UserError::usage(
            format!("`{}` stands for a binary snapshot: expected text", path.display()),
            "`cargo insta review` reviews binary snapshots; `--only` chooses other files",
        ));
    }
    let shown = path.to_string_lossy();
    let reviewed = PathBuf::from(shown.strip_suffix(NEW).unwrap_or(&shown));
    let before = match fs::read_to_string(&reviewed) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(unreadable(&reviewed, &error)),
    };
    Ok(Pending { reviewed, before, after, path })
}

impl Pending {
    /// Puts it in the place of the reviewed one.
    pub(super) fn accept(&self) -> Result<(), UserError> {
        let head = head(&self.after);
        let kept = head.split_inclusive('\n').filter(|line| !line.starts_with(OF_THE_MOMENT));
        let text: String = kept.chain([&self.after[head.len()..]]).collect();
        // Written beside and moved: a full disk must not leave half an answer.
        let done =
            fs::write(&self.path, text).and_then(|()| fs::rename(&self.path, &self.reviewed));
        done.map_err(|error| unwritable(&self.reviewed, &error))
    }

    /// Deletes it.
    pub(super) fn reject(&self) -> Result<(), UserError> {
        fs::remove_file(&self.path).map_err(|error| unwritable(&self.path, &error))
    }
}

/// The header of a snapshot, with the lines around it; nothing if there is none.
fn head(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else { return "" };
    match rest.find("\n---\n") {
        Some(end) => &text[..4 + end + 5],
        None => "",
    }
}

/// What stands below the header.
pub(super) fn body(text: &str) -> &str {
    text[head(text).len()..].trim_end()
}

fn unreadable(path: &Path, error: &io::Error) -> UserError {
    let what = format!("cannot read `{}`: {error}", path.display());
    UserError::usage(what, "name the folder with snapshots: `mcp-hil review snapshots`")
}

fn unwritable(path: &Path, error: &io::Error) -> UserError {
    UserError::bench(
        format!("cannot write `{}`: {error}", path.display()),
        "check the permissions of the folder",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_told_from_what_stands_below_it() {
        let text = "---\nsource: a\nassertion_line: 7\n---\nbody\n---\nmore\n";
        assert_eq!(head(text), "---\nsource: a\nassertion_line: 7\n---\n");
        assert_eq!(body(text), "body\n---\nmore");
        assert_eq!(body("no header\n"), "no header");
    }
}
