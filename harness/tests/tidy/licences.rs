//! Under which licences packages of others may come, and from where: as `deny.toml` says, which `cargo deny` reads, too.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::root;

/// All packages that a build for this host needs: those of other hosts need not be here.
fn all() -> Vec<Value> {
    let about = Command::new("rustc").arg("-vV").output().unwrap();
    let about = String::from_utf8(about.stdout).unwrap();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Whether an expression of licences (SPDX, or alternatives with `/` as before it) can be met by those allowed.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = expression.split_whitespace().peekable();
    let met = either(&mut words, allowed);
    assert_eq!(words.next(), None, "{expression}");
    met
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut met = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= both(words, allowed);
    }
    met
}

fn both(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut name = words.next().expect("a licence").to_owned();
    if name == "(" {
        let met = either(words, allowed);
        assert_eq!(words.next(), Some(")"));
        return met;
    }
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().expect("an exception"));
    }
    allowed.contains(&name)
}

#[test]
fn packages_come_from_the_registry_under_licences_that_allow_ours() {
    let deny = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let deny: toml::Table = deny.parse().unwrap();
    let allowed: BTreeSet<String> = deny["licenses"]["allow"].clone().try_into().unwrap();
    let packages = all();
    assert!(packages.len() > 200, "{}", packages.len());
    for package in packages {
        let name = &package["name"];
        let licence = package["license"].as_str();
        let licence = licence.unwrap_or_else(|| panic!("{name} names no licence"));
        assert!(is_met(licence, &allowed), "{name} comes under {licence}");
        // Our own have no source.
        let source = package["source"].as_str().unwrap_or("registry+");
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
    }
}

#[test]
fn expressions_of_licences_are_read_as_they_are_meant() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"].map(str::to_owned).into();
    for met in ["MIT", "GPL-3.0/MIT", "GPL-3.0 OR (ISC AND MIT)", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["Apache-2.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}
