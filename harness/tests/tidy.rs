//! Rules of the source tree, as tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the source tree.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The packages of the workspace.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// All files with an ending below a folder, those of a build left out.
fn sources(ending: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_symlink() || name.starts_with('.') || name == "target" {
                continue;
            }
            if path.is_dir() {
                walk(&path, ending, found);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(root(), ending, &mut found);
    found.sort();
    assert!(found.len() > 3, "{ending}: {found:?}");
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn packages_use_each_other_along_the_arrows_only() {
    // The judge knows nothing of what is around it, and the reference device shares no code with
    // the harness that is tried on it.
    let allowed = [
        ("mcp-hil", "mcp-hil-core"),
        ("mcp-hil", "mcp-hil-rig"),
        ("mcp-hil", "mcp-hil-scenarios"),
        ("mcp-hil-rig", "mcp-hil-core"),
        ("mcp-hil-scenarios", "mcp-hil-core"),
        ("mcp-hil-snapshots", "mcp-hil"),
        ("mcp-hil-snapshots", "mcp-hil-core"),
        ("reference-body", "reference-device"),
        ("reference-native", "reference-body"),
        ("reference-native", "reference-device"),
        ("reference-net", "reference-body"),
        ("reference-net", "reference-device"),
        ("reference-nvs", "reference-device"),
    ];
    let packages = packages();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let from = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            if ours.contains(to) && !allowed.contains(&(from, to)) {
                wrong.push(format!("{from} -> {to}"));
            }
        }
    }
    assert!(
        ours.contains("reference-native") && ours.contains("mcp-hil"),
        "{ours:?}"
    );
    assert!(wrong.is_empty(), "new arrows: {wrong:?}");
}

/// Images are workspaces of their own, which `packages` does not see.
#[test]
fn images_use_nothing_but_the_firmware() {
    let used = |image: &str| -> Vec<String> {
        let manifest = root().join("firmware").join(image).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let path = |line: &str| {
            let (_, path) = line.split_once("{ path = \"")?;
            Some(path.split('"').next()?.to_owned())
        };
        manifest.lines().filter_map(path).collect()
    };
    assert_eq!(used("virt"), ["../body", "../device", "../net"]);
    assert_eq!(used("esp"), ["../body", "../device", "../net", "../nvs"]);
}

#[test]
fn every_package_is_held_to_the_lints() {
    for package in packages() {
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        let name = &package["name"];
        assert!(
            manifest.contains("[lints]\nworkspace = true\n"),
            "{name} has lints of its own"
        );
    }
}

#[test]
fn no_source_file_is_too_long() {
    const LONGEST: usize = 900;
    for path in sources(".rs") {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(
            lines <= LONGEST,
            "{} has {lines} lines: split it",
            shown(&path)
        );
    }
}

#[test]
fn nothing_is_left_undone_or_left_out() {
    // In two pieces, so that this file has none of them.
    let unwanted = [
        ("#[ign", "ore"),
        ("to", "do!("),
        ("db", "g!("),
        ("unimpl", "emented!("),
    ]
    .map(|(a, b)| [a, b].concat());
    let mut wrong = Vec::new();
    for path in sources(".rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, line) in text.lines().enumerate() {
            if unwanted.iter().any(|word| line.contains(word.as_str())) {
                wrong.push(format!("{}:{}: {}", shown(&path), at + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Packages that are in a build of this workspace, without the feature `jtag`.
fn built() -> BTreeSet<String> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut wanted = Vec::new();
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let listed = package.get("dependencies").and_then(|all| all.as_array());
        // A name, where there are several with a version behind it.
        let names = listed.into_iter().flatten().filter_map(|needed| {
            let needed = needed.as_str()?;
            needed.split(' ').next()
        });
        needs.entry(name).or_default().extend(names);
        if package.get("source").is_none() {
            wanted.push(name);
        }
    }
    let mut built = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        let probe = name.starts_with("probe-rs");
        if !probe && built.insert(name.to_owned()) {
            wanted.extend(&needs[name]);
        }
    }
    built
}

#[test]
fn a_rust_tool_chain_and_a_c_compiler_are_enough() {
    let built = built();
    assert!(built.contains("serialport") && built.contains("tokio"));
    for package in ["libudev-sys", "openssl-sys", "native-tls", "pkg-config"] {
        assert!(
            !built.contains(package),
            "`{package}` needs a system library"
        );
    }
    // Nor does anybody who builds the feature `jtag` need these.
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for package in ["libudev-sys", "openssl-sys", "native-tls"] {
        assert!(
            !lock.contains(&format!("name = \"{package}\"\n")),
            "{package}"
        );
    }
}

/// Files that documentation points to are where it says.
#[test]
fn links_of_the_documentation_lead_somewhere() {
    let mut links = 0;
    for file in sources("md") {
        let text = std::fs::read_to_string(&file).unwrap();
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets {
            let path = target.split('#').next().unwrap_or_default();
            if target.contains(':') || target.contains(char::is_whitespace) || path.is_empty() {
                continue;
            }
            links += 1;
            let place = file.parent().unwrap().join(path);
            assert!(place.exists(), "{}: `{target}`", shown(&file));
        }
    }
    assert!(links > 20, "{links}");
}
