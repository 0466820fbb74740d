//! File names of names that come from anywhere: scenarios of others, device files, what devices tell.

use mcp_hil_core::wire::to_hex;
use sha2::{Digest, Sha256};

/// Longest name that is taken as it is, in bytes. With its ending it fits every file system.
const LONGEST: usize = 80;

/// Characters of a name that are kept where it cannot be taken as it is.
const KEPT: usize = 48;

/// Digits of the hash that stand in for the rest.
const DIGITS: usize = 12;

/// Names that Windows keeps for devices, whatever the ending.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The name of a file or folder, without ending. Other names have other files, also where case does not
/// count; none leads out of its folder, is hidden, or means something to a system.
///
/// A name in small letters, digits, `-`, `_` and `.` is its own file name. Any other is cut down to what is
/// readable, and a hash of all of it follows.
pub fn file_name(name: &str) -> String {
    if is_plain(name) {
        return name.to_owned();
    }
    let mut readable: String = name
        .chars()
        .take(KEPT)
        .map(|c| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => c,
            _ => '-',
        })
        .collect();
    while readable.contains("--") {
        readable = readable.replace("--", "-");
    }
    let readable = match readable.trim_matches('-') {
        "" => "unnamed",
        readable => readable,
    };
    format!("{readable}-{}", hash(name))
}

fn is_plain(name: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let stem = name.split('.').next().unwrap_or_default();
    let numbered = |word: &str| {
        let rest = stem.strip_prefix(word);
        rest.is_some_and(|rest| rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit()))
    };
    (1..=LONGEST).contains(&name.len())
        && name.chars().all(small)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && !RESERVED.contains(&stem)
        && !numbered("com")
        && !numbered("lpt")
        && !is_hashed(name)
}

/// Whether a name looks like one that was made here: it is hashed again, or two names could have one file.
fn is_hashed(name: &str) -> bool {
    let hash = name.rsplit_once('-').map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == DIGITS && hash.chars().all(|c| c.is_ascii_hexdigit()))
}

fn hash(name: &str) -> String {
    to_hex(&Sha256::digest(name.as_bytes()))[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ordinary_names_are_their_own_files() {
        for name in ["native", "tools-list", "esp32c3_bench", "v2.4", "console", "com", "lpt10"] {
            assert_eq!(file_name(name), name);
        }
    }

    #[test]
    fn hostile_names_stay_inside_and_apart() {
        let long = "x".repeat(300);
        let names = [
            "",
            ".",
            "..",
            "../../etc/passwd",
            "..\\up",
            "/etc",
            "a/b",
            "a\\b",
            "a:b",
            "A",
            "con",
            "CON",
            "nul.txt",
            "NUL.",
            "com1",
            "lpt9.x",
            "-rf",
            ".git",
            "a.",
            "a b",
            "ä",
            "Ä",
            "a\0b",
            "\u{1b}[31m",
            &long,
            &long[1..],
            "x-0123456789ab",
            "%2e%2e",
        ];
        let mut files = BTreeSet::from(["a".to_owned(), "x".to_owned()]);
        for name in names {
            let file = file_name(name);
            assert!(is_fit(&file), "{name:?}: {file}");
            assert!(files.insert(file.to_lowercase()), "{name:?}: {file} is taken");
        }
        // A name that was made here is another one as an input.
        let made = file_name("A");
        assert_ne!(file_name(&made), made);
    }

    fn is_fit(file: &str) -> bool {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        file.chars().all(plain)
            && !file.starts_with(['.', '-'])
            && !file.ends_with('.')
            && (1..=LONGEST).contains(&file.len())
            && !RESERVED.contains(&file.split('.').next().unwrap())
    }
}
