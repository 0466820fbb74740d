//! Rules of the source tree, as tests.

#![cfg(not(feature = "hil"))]

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/lengths.rs"]
mod lengths;
#[path = "tidy/licences.rs"]
mod licences;

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
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// All files with an ending below a folder, those of a build left out.
fn sources(ending: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // What cargo builds, and not a module of that name.
            let is_built = name == "target" && !folder.ends_with("src");
            if path.is_symlink() || name.starts_with('.') || is_built {
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
    assert!(!found.is_empty(), "no file ends in `{ending}`");
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
        ("mcp-hil", "mcp-hil-args"),
        ("mcp-hil", "mcp-hil-bench"),
        ("mcp-hil", "mcp-hil-gateway"),
        ("mcp-hil", "mcp-hil-record"),
        ("mcp-hil", "mcp-hil-report"),
        ("mcp-hil", "mcp-hil-runner"),
        ("mcp-hil", "mcp-hil-scenarios"),
        // In its tests alone: the program does not pay for it.
        ("mcp-hil", "mcp-hil-testing"),
        // For the command `native` alone: see the next test.
        ("mcp-hil", "reference-native"),
        ("mcp-hil", "mcp-hil-boards"),
        ("mcp-hil", "mcp-hil-core"),
        ("mcp-hil", "mcp-hil-endpoint"),
        ("mcp-hil", "mcp-hil-generate"),
        ("mcp-hil", "mcp-hil-judge"),
        ("mcp-hil", "mcp-hil-scenario"),
        ("mcp-hil-testing", "mcp-hil-args"),
        ("mcp-hil-testing", "mcp-hil-bench"),
        ("mcp-hil-testing", "mcp-hil-record"),
        ("mcp-hil-testing", "mcp-hil-report"),
        ("mcp-hil-testing", "mcp-hil-runner"),
        ("mcp-hil-testing", "mcp-hil-boards"),
        ("mcp-hil-testing", "mcp-hil-core"),
        ("mcp-hil-testing", "mcp-hil-judge"),
        ("mcp-hil-gateway", "mcp-hil-args"),
        ("mcp-hil-gateway", "mcp-hil-bench"),
        ("mcp-hil-gateway", "mcp-hil-record"),
        ("mcp-hil-gateway", "mcp-hil-runner"),
        ("mcp-hil-gateway", "mcp-hil-scenarios"),
        ("mcp-hil-gateway", "mcp-hil-boards"),
        ("mcp-hil-gateway", "mcp-hil-core"),
        ("mcp-hil-gateway", "mcp-hil-endpoint"),
        ("mcp-hil-gateway", "mcp-hil-judge"),
        ("mcp-hil-report", "mcp-hil-args"),
        ("mcp-hil-report", "mcp-hil-record"),
        ("mcp-hil-report", "mcp-hil-runner"),
        ("mcp-hil-report", "mcp-hil-core"),
        ("mcp-hil-report", "mcp-hil-judge"),
        ("mcp-hil-runner", "mcp-hil-args"),
        ("mcp-hil-runner", "mcp-hil-bench"),
        ("mcp-hil-runner", "mcp-hil-record"),
        ("mcp-hil-runner", "mcp-hil-scenarios"),
        ("mcp-hil-runner", "mcp-hil-boards"),
        ("mcp-hil-runner", "mcp-hil-core"),
        ("mcp-hil-runner", "mcp-hil-endpoint"),
        ("mcp-hil-runner", "mcp-hil-generate"),
        ("mcp-hil-runner", "mcp-hil-judge"),
        ("mcp-hil-runner", "mcp-hil-scenario"),
        ("mcp-hil-bench", "mcp-hil-args"),
        ("mcp-hil-bench", "mcp-hil-record"),
        ("mcp-hil-bench", "mcp-hil-boards"),
        ("mcp-hil-bench", "mcp-hil-core"),
        // As data: it is written to a folder, where CMake builds it.
        ("mcp-hil-bench", "mcp-hil-host-kit"),
        ("mcp-hil-args", "mcp-hil-record"),
        ("mcp-hil-args", "mcp-hil-boards"),
        ("mcp-hil-args", "mcp-hil-core"),
        ("mcp-hil-record", "mcp-hil-core"),
        ("mcp-hil-record", "mcp-hil-judge"),
        ("mcp-hil-record", "mcp-hil-scenario"),
        ("mcp-hil-boards", "mcp-hil-core"),
        ("mcp-hil-endpoint", "mcp-hil-core"),
        ("mcp-hil-judge", "mcp-hil-core"),
        ("mcp-hil-judge", "mcp-hil-scenario"),
        ("mcp-hil-generate", "mcp-hil-core"),
        ("mcp-hil-generate", "mcp-hil-scenario"),
        // For its tests: the real catalogue.
        ("mcp-hil-generate", "mcp-hil-scenarios"),
        ("mcp-hil-scenario", "mcp-hil-core"),
        // For its tests: that the language and the judge take what is in the files.
        ("mcp-hil-scenarios", "mcp-hil-core"),
        ("mcp-hil-scenarios", "mcp-hil-judge"),
        ("mcp-hil-scenarios", "mcp-hil-scenario"),
        ("mcp-hil-snapshots", "mcp-hil-args"),
        ("mcp-hil-snapshots", "mcp-hil-bench"),
        ("mcp-hil-snapshots", "mcp-hil-record"),
        ("mcp-hil-snapshots", "mcp-hil-runner"),
        ("mcp-hil-snapshots", "mcp-hil-scenario"),
        ("mcp-hil-snapshots", "reference-native"),
        ("reference-body", "reference-device"),
        ("reference-native", "reference-body"),
        ("reference-native", "reference-device"),
        ("reference-net", "reference-body"),
        ("reference-net", "reference-device"),
        ("reference-nvs", "reference-device"),
        ("mcp-hil-record", "mcp-hil-core"),
        ("mcp-hil-record", "mcp-hil-judge"),
        ("mcp-hil-record", "mcp-hil-scenario"),
    ];
    let packages = packages();
    let ours: BTreeSet<&str> =
        packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
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
    assert!(ours.contains("reference-native") && ours.contains("mcp-hil"), "{ours:?}");
    assert!(wrong.is_empty(), "new arrows: {wrong:?}");
}

/// Modules at the top of a package import each other in one direction.
#[test]
fn no_circles_between_the_modules_of_a_package() {
    let mut wrong = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap().join("src");
        // The kit is C++; to Rust it is data in one file.
        if name == "mcp-hil-host-kit" {
            continue;
        }
        let files: BTreeMap<String, String> = sources(".rs")
            .iter()
            .filter_map(|path| {
                let below = path.strip_prefix(&folder).ok()?;
                Some((below.display().to_string(), std::fs::read_to_string(path).unwrap()))
            })
            .collect();
        assert!(!files.is_empty(), "{name}");
        let circles = circles::circles(&circles::arrows(&files));
        if !circles.is_empty() {
            wrong.push(format!("{name}: {circles:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Packages without clock, network, files, threads and environment: clippy holds what they call
/// (`harness/clippy.toml`), this what they are built of.
#[test]
fn pure_packages_deny_what_is_not_and_use_pure_libraries() {
    const DENIED: [&str; 3] =
        ["clippy::disallowed_macros", "clippy::disallowed_methods", "clippy::disallowed_types"];
    const LIBRARIES: [&str; 13] = [
        "data-encoding",
        "jsonschema",
        "proptest",
        "regex",
        "regex-syntax",
        "schemars",
        "semver",
        "serde",
        "serde-saphyr",
        "serde_json",
        "strsim",
        "thiserror",
        "toml",
    ];
    let pure = ["core", "scenario", "generate", "judge"];
    let packages = packages();
    for name in pure {
        let folder = root().join("harness").join(name);
        let files = sources(".rs");
        let files = files.iter().filter(|path| path.starts_with(folder.join("src")));
        for path in files {
            let text = std::fs::read_to_string(path).unwrap();
            let text = text.split_whitespace().collect::<String>();
            let denied = format!("#![deny({})]", DENIED.join(","));
            let is_root = path.ends_with("lib.rs");
            assert_eq!(text.contains(&denied), is_root, "{}: `{denied}`", shown(path));
            let named = text.matches("clippy::disallowed").count();
            assert_eq!(
                named,
                if is_root { DENIED.len() } else { 0 },
                "{} makes an exception",
                shown(path)
            );
        }
        let package = packages.iter().find(|package| package["name"] == format!("mcp-hil-{name}"));
        for dependency in package.unwrap()["dependencies"].as_array().unwrap() {
            let uses = dependency["name"].as_str().unwrap();
            let is_pure = pure.iter().any(|other| uses == format!("mcp-hil-{other}"));
            assert!(
                dependency["kind"] == "dev" || is_pure || LIBRARIES.contains(&uses),
                "{name} uses `{uses}`"
            );
        }
    }
}

/// The program is the reference device, too. The library, which judges it, must not know it.
#[test]
fn only_the_main_function_brings_harness_and_reference_device_together() {
    // In pieces, so that this file does not name it.
    let names = ["native", "body", "device"].map(|name| format!("reference_{name}::"));
    let named = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        // A comment may point to it.
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.any(|line| names.iter().any(|name| line.contains(name.as_str())))
    };
    let all = sources(".rs");
    let harness = all.iter().filter(|path| {
        let path = shown(path);
        path.starts_with("harness/") || path.starts_with("scenarios/")
    });
    let naming: Vec<String> = harness.filter(|path| named(path)).map(|path| shown(path)).collect();
    assert_eq!(naming, ["harness/src/main.rs"]);
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
        assert!(manifest.contains("[lints]\nworkspace = true\n"), "{name} has lints of its own");
    }
}

/// Whether a file holds tests or benches and nothing else.
fn is_test_file(path: &Path) -> bool {
    let path = shown(path);
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("tests.rs")
}

/// The tests in a file are not counted as its code; a file of tests may be longer.
#[test]
fn no_source_file_is_too_long() {
    let mut long = Vec::new();
    for path in sources(".rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        let (most, counted) = match is_test_file(&path) {
            true => (900, text.as_str()),
            false => (600, text.split("\n#[cfg(test)]\nmod ").next().unwrap()),
        };
        let lines = counted.lines().count();
        if lines > most {
            long.push(format!("{}: {lines} lines, more than {most}", shown(&path)));
        }
    }
    assert!(long.is_empty(), "split these: {long:#?}");
}

#[test]
fn no_function_is_too_long() {
    const MOST: usize = 80;
    let mut long = Vec::new();
    for path in sources(".rs").iter().filter(|path| !is_test_file(path)) {
        let text = std::fs::read_to_string(path).unwrap();
        for (name, lines) in lengths::longer_than(MOST, &text) {
            long.push(format!("{}: `{name}` has {lines} lines", shown(path)));
        }
    }
    assert!(long.is_empty(), "more than {MOST} lines; split by what belongs together: {long:#?}");
}

#[test]
fn nothing_is_left_undone_or_left_out() {
    // In two pieces, so that this file has none of them.
    let unwanted = [("#[ign", "ore"), ("to", "do!("), ("db", "g!("), ("unimpl", "emented!(")]
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

/// It panics where standard error is closed (`2>&1 | head`): `mcp_hil_core::notice!` does not.
#[test]
fn people_are_told_by_what_never_panics() {
    // The console of a device, which the harness reads.
    let others = ["firmware/native/src/lib.rs"];
    // In two pieces, so that this file has none of them.
    let unwanted = ["epri", "nt"].concat();
    let writes = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        // The name of the macro, but not where it is spoken of.
        text.contains(&format!("{unwanted}!(")) || text.contains(&format!("{unwanted}ln!("))
    };
    let wrong: Vec<String> = sources(".rs")
        .iter()
        .filter(|path| !is_test_file(path) && writes(path))
        .map(|path| shown(path))
        .collect();
    assert_eq!(wrong, others);
}

/// `cargo test --features hil` means the tests of devices. Those of the project would run for minutes before
/// them.
#[test]
fn tests_of_the_project_are_none_of_devices() {
    const OUT: &str = "\n#![cfg(not(feature = \"hil\"))]\n";
    let mut programs = 0;
    for path in sources(".rs") {
        let tests = root().join("harness/tests");
        let is_file = path.parent() == Some(tests.as_path());
        // `hil` is the program of their devices.
        let is_folder =
            path.ends_with("main.rs") && path.ancestors().nth(2) == Some(tests.as_path());
        if !(is_file || is_folder && !path.ends_with("hil/main.rs")) {
            continue;
        }
        programs += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(OUT),
            "{} needs the line below its first comment: {OUT}",
            shown(&path)
        );
    }
    assert!(programs > 15, "{programs}");
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
        assert!(!built.contains(package), "`{package}` needs a system library");
    }
    // Nor does anybody who builds the feature `jtag` need these.
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for package in ["libudev-sys", "openssl-sys", "native-tls"] {
        assert!(!lock.contains(&format!("name = \"{package}\"\n")), "{package}");
    }
}

/// The place that a heading has in a page, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let text: String = heading.trim().to_lowercase().chars().filter(kept).collect();
    text.replace(' ', "-")
}

/// The anchors of a document, and what it links to.
fn anchors_and_links(text: &str) -> (Vec<String>, Vec<&str>) {
    let (mut anchors, mut links, mut in_block) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let heading = line.trim_start_matches('#');
            if heading.len() < line.len() && heading.starts_with(' ') {
                anchors.push(anchor(heading));
            }
            let targets = line.split("](").skip(1);
            links.extend(targets.filter_map(|rest| Some(rest.split_once(')')?.0)));
        }
    }
    (anchors, links)
}

/// Files and headings that documentation points to are where it says.
#[test]
fn links_of_the_documentation_lead_somewhere() {
    let read = |file: &Path| std::fs::read_to_string(file).unwrap();
    let (mut files, mut headings, mut wrong) = (0, 0, Vec::new());
    for file in sources(".md") {
        let text = read(&file);
        for target in anchors_and_links(&text).1 {
            if target.contains(':') {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let place = match path {
                "" => file.clone(),
                path => file.parent().unwrap().join(path),
            };
            files += 1;
            let leads = place.exists()
                && (heading.is_empty() || {
                    headings += 1;
                    let (anchors, _) = anchors_and_links(&read(&place));
                    anchors.iter().any(|anchor| anchor == heading)
                });
            if !leads {
                wrong.push(format!("{}: `{target}`", shown(&file)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(files > 50 && headings > 5, "{files} {headings}");
}

#[test]
fn headings_and_links_are_read_as_github_reads_them() {
    let text = "# One, `two`: three-four\n[a](#b) and [c](d.md#e)\n```\n# no\n[f](g)\n```\n#no\n";
    let (anchors, links) = anchors_and_links(text);
    assert_eq!(anchors, ["one-two-three-four"]);
    assert_eq!(links, ["#b", "d.md#e"]);
}

/// Variables of the environment that a file reads, gives to others, or puts in the place of a secret.
fn variables(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    // What is below are tests of the file, with names of their own.
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
    let all = |pattern: &str| -> Vec<Vec<String>> {
        let pattern = regex::Regex::new(pattern).unwrap();
        let found = pattern.captures_iter(text);
        let groups = |found: regex::Captures<'_>| {
            let groups = found.iter().skip(1).flatten();
            groups.map(|group| group.as_str().to_owned()).collect()
        };
        found.map(groups).collect()
    };
    let name = shown(path);
    let mut names = BTreeSet::new();
    let mut take = |pattern: &str| names.extend(all(pattern).into_iter().flatten());
    let is_test = name.contains("/tests/") || name.contains("/benches/");
    if !name.ends_with(".rs") {
        // Scripts also have variables of their own.
        take(r"\b((?:MCP_HIL|HIL|GITHUB|INSTA)(?:_[A-Z0-9]+)*)\b");
        take(r"\$\{([A-Z][A-Z0-9_]*):?-");
    } else {
        take(r#"\b(?:var|var_os|given|variable|named)\("([A-Z][A-Z0-9_]*)"\)"#);
        take(r#"\["([A-Z_]+)", "([A-Z_]+)"\]\.map\(\|name\| std::env::var"#);
        if !is_test {
            take(r"\b(MCP_HIL(?:_[A-Z0-9]+)*)\b");
            take(r#"\benv = "([A-Z][A-Z0-9_]*)""#);
            take(r#""\$\{([A-Z][A-Z0-9_]*)\}""#);
        }
        for constant in all(r#"\bconst ([A-Z_]+): &str = "([A-Z][A-Z0-9_]*)";"#) {
            let [constant, value] = &constant[..] else {
                continue;
            };
            if [format!("var({constant})"), format!("var_os({constant})")]
                .iter()
                .any(|read| text.contains(read.as_str()))
            {
                names.insert(value.clone());
            }
        }
    }
    names
}

/// One page has all variables of the environment: none is missing there, and none stands there that is gone.
#[test]
fn every_variable_of_the_environment_is_in_the_manual() {
    let page = root().join("harness/manual/environment.md");
    let page = std::fs::read_to_string(page).unwrap();
    let pattern = regex::Regex::new(r"`(?:\$\{)?([A-Z][A-Z0-9_]*)\}?`").unwrap();
    let told: BTreeSet<String> =
        pattern.captures_iter(&page).map(|found| found[1].to_owned()).collect();
    let files = [".rs", ".sh", ".py", ".yml", ".toml", ".cc"].map(sources);
    let hidden = [".ci/run", ".cargo/config.toml"].map(|name| root().join(name));
    let used: BTreeSet<String> = files
        .iter()
        .flatten()
        .chain(&hidden)
        // Cargo tells these where they are.
        .filter(|file| !file.ends_with("build.rs") && !file.ends_with("build_id.rs"))
        .flat_map(|file| variables(file))
        // Which compiler a test calls is cargo's affair; the others are between a test or a program and its child.
        .filter(|name| !["RUSTC", "PROCESS_TEST_FAMILY", "MCP_HIL_RESTARTED"].contains(&&**name))
        .collect();
    let missing: Vec<_> = used.difference(&told).collect();
    let gone: Vec<_> = told.difference(&used).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "harness/manual/environment.md lacks {missing:?}, and has {gone:?}, which nothing reads"
    );
}
