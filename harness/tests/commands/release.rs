//! `ci/release.sh`: what of a release needs no build.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::Place;
use sha2::{Digest, Sha256};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A copy of the script, with the manifests that it reads and writes.
fn checkout() -> Place {
    let place = Place::new();
    for file in ["ci/release.sh", "Cargo.toml", "harness/Cargo.toml", "harness/core/Cargo.toml"] {
        place.write(file, std::fs::read_to_string(root().join(file)).unwrap());
    }
    place
}

fn release(place: &Place, args: &[&str]) -> Output {
    let mut command = Command::new("bash");
    command.arg(place.path("ci/release.sh")).args(args).env_remove("CARGO_TARGET_DIR");
    command.output().unwrap()
}

fn told(done: &Output) -> String {
    [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

#[test]
fn files_of_a_release_are_laid_side_by_side_with_their_checksums() {
    let place = checkout();
    let files = place.path("files");
    let gather = |tag: &str| release(&place, &["--gather", files.to_str().unwrap(), tag]);
    let hash = |text: &str| data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    let archive = "mcp-hil-0.1.0-x86_64-unknown-linux-musl.tar.gz";
    let given = |content: &str| {
        let _ = std::fs::remove_dir_all(&files);
        let folder = "files/release-files";
        place.write(&format!("{folder}/{archive}"), content);
        place
            .write(&format!("{folder}/{archive}.sha256"), format!("{}  {archive}\n", hash("good")));
        place.write("files/wheels/mcp_hil-0.1.0-py3-none-any.whl", "wheel");
    };
    given("good");
    let done = gather("v0.1.0");
    assert!(done.status.success(), "{}", told(&done));
    let sums = place.read("files/SHA256SUMS");
    let wheel = "mcp_hil-0.1.0-py3-none-any.whl";
    let expected = format!("{}  {archive}\n{}  {wheel}\n", hash("good"), hash("wheel"));
    assert_eq!(sums, expected);
    let mut left: Vec<_> =
        std::fs::read_dir(&files).unwrap().flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["SHA256SUMS", archive, wheel]);
    given("bad");
    let done = gather("v0.1.0");
    assert!(!done.status.success() && told(&done).contains(archive), "{}", told(&done));
    given("good");
    let done = gather("v0.2.0");
    assert_eq!(done.status.code(), Some(1), "{}", told(&done));
    assert!(told(&done).contains("expected `v0.1.0`"), "{}", told(&done));
}

#[test]
fn manifests_are_told_their_repository_once() {
    let place = checkout();
    for _ in 0..2 {
        let done = release(&place, &["--repository", "somebody/mcp-hil"]);
        assert!(done.status.success(), "{}", told(&done));
    }
    for manifest in ["harness/Cargo.toml", "harness/core/Cargo.toml"] {
        let manifest: toml::Table = place.read(manifest).parse().unwrap();
        let package = &manifest["package"];
        assert_eq!(package["repository"].as_str(), Some("https://github.com/somebody/mcp-hil"));
    }
    assert!(!place.path("harness/Cargo.toml.before").exists());
}

#[test]
fn a_system_without_the_parts_that_the_program_needs_is_refused() {
    let place = checkout();
    let done = release(&place, &["x86_64-pc-windows-msvc"]);
    assert_eq!(done.status.code(), Some(2), "{}", told(&done));
    assert!(told(&done).contains("hint: in WSL 2"), "{}", told(&done));
    assert_eq!(release(&place, &[]).status.code(), Some(2));
}

/// What installers ask a registry for is what the script packs.
#[test]
fn archives_are_where_installers_look_for_them() {
    let manifest: toml::Table =
        std::fs::read_to_string(root().join("harness/Cargo.toml")).unwrap().parse().unwrap();
    let install = &manifest["package"]["metadata"]["binstall"];
    let targets =
        ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "aarch64-apple-darwin"];
    let named = |template: &toml::Value, target: &str| {
        let text = template.as_str().unwrap();
        [("{ name }", "mcp-hil"), ("{ version }", "0.1.0"), ("{ target }", target)]
            .into_iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    for target in targets {
        let url = named(&install["pkg-url"], target);
        assert!(url.ends_with(&format!("/v0.1.0/mcp-hil-0.1.0-{target}.tar.gz")), "{url}");
        let program = named(&install["bin-dir"], target);
        assert_eq!(program, format!("mcp-hil-0.1.0-{target}/{{ bin }}{{ binary-ext }}"));
    }
    for (with, without) in
        [("x86_64-unknown-linux-gnu", targets[0]), ("aarch64-unknown-linux-gnu", targets[1])]
    {
        let instead = &install["overrides"][with];
        assert_eq!(named(&instead["pkg-url"], with), named(&install["pkg-url"], without));
        assert_eq!(named(&instead["bin-dir"], with), named(&install["bin-dir"], without));
    }
}
