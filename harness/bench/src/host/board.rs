//! The board of firmware on this host: a kind that the kit has of its own, or a folder of the checkout.

use std::path::Path;

use mcp_hil_core::problem::nearest;
use mcp_hil_record::error::UserError;

use super::checkout::Checkout;

/// The kinds of boards that the kit has of its own.
pub(super) const KINDS: [&str; 4] = ["plain", "lamp", "display", "camera"];

/// Where a checkout has its boards.
const BOARDS: &str = "main/boards";

/// What all boards share, and none itself.
const COMMON: &str = "common";

/// What makes a folder a board.
const MARKS: [&str; 2] = ["config.json", "config.h"];

/// Folders between `main/boards` and a board: those of manufacturers.
const DEEPEST: usize = 2;

/// Names that are offered for one that is unknown.
const OFFERED: usize = 5;

/// What the kit builds for a name: a kind as it is, and otherwise the folder of a board, below `main/boards`.
///
/// # Errors
///
/// The checkout has no such board, or several of that name.
pub(super) fn find(checkout: &Checkout, name: &str) -> Result<String, UserError> {
    if KINDS.contains(&name) {
        return Ok(name.to_owned());
    }
    let boards = list(&checkout.folder.join(BOARDS));
    if boards.iter().any(|board| board == name) {
        return Ok(name.to_owned());
    }
    let named: Vec<&String> = boards.iter().filter(|board| last(board) == name).collect();
    match named.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(unknown(checkout, name, &boards)),
        several => Err(UserError::usage(
            format!("the firmware has {} boards `{name}`", several.len()),
            &format!("name one of them with its folder: {}", quoted(several.iter().copied())),
        )),
    }
}

fn unknown(checkout: &Checkout, name: &str, boards: &[String]) -> UserError {
    let what = format!(
        "no board `{name}`: expected {}, or one of the {} boards below `{}`",
        quoted(KINDS),
        boards.len(),
        checkout.folder.join(BOARDS).display()
    );
    let near = near(name, boards);
    if near.is_empty() {
        return UserError::usage(what, "the name of a board is that of its folder");
    }
    UserError::usage(what, &format!("did you mean {}?", quoted(near)))
}

/// The most similar name, and those that the name is a part of.
fn near<'a>(name: &str, boards: &'a [String]) -> Vec<&'a str> {
    let known = || KINDS.into_iter().chain(boards.iter().map(|board| last(board)));
    let parts = boards.iter().map(|board| last(board)).filter(|board| board.contains(name));
    let mut near: Vec<&str> = nearest(name, known()).into_iter().collect();
    for board in parts {
        if !near.contains(&board) {
            near.push(board);
        }
    }
    near.truncate(OFFERED);
    near
}

/// The boards below a folder, by their paths from there.
fn list(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    collect(folder, "", DEEPEST, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, below: &str, deeper: usize, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str().filter(|name| path.is_dir() && *name != COMMON) else {
            continue;
        };
        let board = format!("{below}{name}");
        if MARKS.iter().any(|mark| path.join(mark).is_file()) {
            found.push(board);
        } else if deeper > 0 {
            collect(&path, &format!("{board}/"), deeper - 1, found);
        }
    }
}

fn last(board: &str) -> &str {
    board.rsplit('/').next().unwrap_or(board)
}

fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_found_by_its_name_and_its_folder() {
        let folder = std::env::temp_dir().join(format!("mcp-hil-boards-{}", std::process::id()));
        for board in ["lamp-post", "acme/toaster", "acme/oven", "other/oven", "common"] {
            let place = folder.join(BOARDS).join(board);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("config.json"), "{}").unwrap();
        }
        let checkout = Checkout { folder: folder.clone(), version: "2.4.2".into() };
        let of = |name: &str| find(&checkout, name).map_err(|error| error.to_string());
        assert_eq!(of("lamp"), Ok("lamp".into()));
        assert_eq!(of("lamp-post"), Ok("lamp-post".into()));
        assert_eq!(of("toaster"), Ok("acme/toaster".into()));
        assert_eq!(of("other/oven"), Ok("other/oven".into()));
        assert!(of("oven").unwrap_err().contains("2 boards `oven`"));
        assert!(
            find(&checkout, "oven")
                .unwrap_err()
                .hint
                .unwrap()
                .contains("`acme/oven`, `other/oven`")
        );
        assert!(find(&checkout, "toster").unwrap_err().hint.unwrap().contains("`toaster`"));
        assert!(find(&checkout, "post").unwrap_err().hint.unwrap().contains("`lamp-post`"));
        assert!(of("common").unwrap_err().contains("one of the 4 boards below"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
