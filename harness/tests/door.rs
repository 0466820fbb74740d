//! Own cases in Rust: a test drives a device exchange by exchange, and is told what the checks found.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mcp_hil::door::{Device, Outcome, Setup, SnapshotError};
use mcp_hil::snapshots::Mode;
use mcp_hil_core::transcript::Transport;
use rstest::{fixture, rstest};
use serde_json::json;

/// A folder of one test.
fn place() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("door-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// The reference device on this host, whatever else is at hand.
fn native(place: &Path) -> Setup {
    reviewing(place, Mode::Check)
}

fn reviewing(place: &Path, mode: Mode) -> Setup {
    let runs = place.join("runs");
    let snapshots = place.join("snapshots");
    Device::setup()
        .dut("native")
        .out(runs)
        .snapshots(mode, snapshots)
}

#[fixture]
fn device() -> Device {
    // Its answers are new, and in CI that would fail it.
    reviewing(&place(), Mode::New).start().unwrap()
}

// As in the README, but for the device.
#[rstest]
fn the_volume_is_kept(mut device: Device) {
    device
        .call("self.audio_speaker.set_volume", json!({"volume": 40}))
        .expect_result();
    let status = device.call("self.get_device_status", json!({}));
    assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
    device.snapshot("status", &status);
}

#[test]
fn the_example_stands_in_the_readme_and_is_compiled_as_it_stands_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let (door, readme, here) = (
        read("src/door/mod.rs"),
        read("../README.md"),
        read("tests/door.rs"),
    );
    let doc = door.split("//! ```no_run\n").nth(1).unwrap();
    let doc = doc.split("//! ```\n").next().unwrap();
    let bare = |line: &str| {
        let line = line.strip_prefix("//!").unwrap();
        format!("{}\n", line.strip_prefix(' ').unwrap_or(line))
    };
    let doc: String = doc.lines().map(bare).collect();
    assert!(readme.contains(&format!("```rust\n{doc}```")), "{doc}");
    let test = &doc[doc.find("#[rstest]").unwrap()..];
    assert!(here.contains(test), "{test}");
}

#[rstest]
#[case::websocket(Transport::WebSocket)]
#[case::mqtt(Transport::Mqtt)]
fn a_good_device_passes_and_leaves_a_run(#[case] transport: Transport) {
    let place = place();
    let setup = native(&place).transport(transport).name("good/..device");
    let mut device = setup.start().unwrap();
    let refused = device.call("self.none", json!({}));
    refused.expect_error();
    assert!(refused.result().is_err());
    device.request("ping", None).expect_result();
    device
        .notify("notifications/initialized", None)
        .expect_silence();
    device.payload("{\"jsonrpc\": ").expect_silence();
    let answer = device.call("self.audio_speaker.set_volume", json!({"volume": 101}));
    answer.expect_error();
    let done = device.finish().unwrap();
    let own = done
        .cases
        .iter()
        .find(|case| case.case.starts_with("door/"));
    let own = own.expect("the test is a case");
    assert!(!own.exercised.is_empty(), "{own:?}");
    let transcript = done.folder.join(own.transcript.as_ref().unwrap());
    let transcript = std::fs::read_to_string(transcript).unwrap();
    assert!(transcript.contains("self.none"), "{transcript}");
    for file in ["report.json", "junit.xml", "report.html", "console.log"] {
        assert!(done.folder.join(file).is_file(), "{file}");
    }
    let replayed = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-hil"))
        .arg("replay")
        .arg(&done.folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&replayed.stdout);
    assert_eq!(replayed.status.code(), Some(0), "{told}");
    assert!(told.contains(&own.case), "{told}");
}

/// What the thread of a test panics with.
fn panic_of(test: impl FnOnce() + Send + 'static) -> String {
    let panic = thread::spawn(test).join().expect_err("it panics");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn a_defect_shows_in_what_the_test_expects() {
    let text = panic_of(|| {
        let setup = native(&place()).mutant("set-volume-one-less");
        let mut device = setup.start().unwrap();
        device
            .call("self.audio_speaker.set_volume", json!({"volume": 40}))
            .expect_result();
        let status = device.call("self.get_device_status", json!({}));
        assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
    });
    assert!(text.contains("39") && text.contains("40"), "{text}");
}

#[test]
fn a_defect_that_the_test_does_not_look_at_is_found() {
    let mut device = native(&place())
        .mutant("error-code-string")
        .start()
        .unwrap();
    device.request("mcp_hil/none", None).expect_error();
    let broken = device.finish().unwrap_err();
    assert!(
        broken
            .requirements()
            .any(|slug| slug == "errors.code-integer")
    );
    let text = broken.to_string();
    for part in [
        "door/a_defect_that_the_test_does_not_look_at_is_found",
        "errors.code-integer",
        "expected  error.code is an integer",
        "received  ",
        "mcp_hil/none",
        "transcripts/door.",
        "repro cargo test ",
        "hint: ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_device_that_goes_away_fails_its_test() {
    let text = panic_of(|| {
        let mut device = native(&place())
            .mutant("error-code-string")
            .start()
            .unwrap();
        device.request("mcp_hil/none", None).expect_error();
    });
    assert!(text.contains("errors.code-integer"), "{text}");
}

#[test]
fn what_a_test_expected_is_told_before_what_the_checks_found() {
    let text = panic_of(|| {
        let mut device = native(&place())
            .mutant("error-code-string")
            .start()
            .unwrap();
        device.request("mcp_hil/none", None).expect_result();
    });
    assert!(text.contains("the request `mcp_hil/none`"), "{text}");
    assert!(text.contains("expected a result"), "{text}");
    assert!(text.contains("got      the error {\"code\":"), "{text}");
}

#[test]
fn known_failures_do_not_fail_a_test() {
    let place = place();
    std::fs::create_dir_all(&place).unwrap();
    let known = place.join("known.toml");
    std::fs::write(
        &known,
        "[[known]]\ncase = \"*\"\nrequirement = \"errors.code-integer\"\nreason = \"text\"\n",
    )
    .unwrap();
    let setup = native(&place).mutant("error-code-string").baseline(known);
    let mut device = setup.start().unwrap();
    device.request("mcp_hil/none", None).expect_error();
    device.finish().unwrap();
}

#[test]
fn answers_are_compared_with_reviewed_ones() {
    let place = place();
    let ask = |mode: Mode, mutant: Option<&str>| {
        let setup = native(&place).snapshots(mode, place.join("snapshots"));
        let setup = setup.name("kept");
        let setup = match mutant {
            Some(mutant) => setup.mutant(mutant),
            None => setup,
        };
        let mut device = setup.start().unwrap();
        let answer = device.request("mcp_hil/none", None);
        let outcome = device.compare("Refusal", &answer);
        let _ = device.finish();
        outcome
    };
    let updated = ask(Mode::Update, None).unwrap();
    let Outcome::Updated(file) = updated else {
        panic!("{updated:?}");
    };
    assert!(file.starts_with(place.join("snapshots/native/door-kept")));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"id\": \"[id]\""), "{text}");
    assert_eq!(ask(Mode::Check, None).unwrap(), Outcome::Same);
    let changed = ask(Mode::Check, Some("error-code-string")).unwrap_err();
    assert!(
        matches!(changed, SnapshotError::Changed { .. }),
        "{changed}"
    );
    let told = changed.to_string();
    assert!(
        told.contains("error code") && told.contains("cargo insta review"),
        "{told}"
    );
}

#[rstest]
#[case::dut(&[("--dut", "natve")], "unknown device `natve`")]
#[case::option(&[("--onyl", "x")], "--onyl")]
#[case::mutant(&[("--mutant", "none")], "none")]
#[case::file(&[("--baseline", "none.toml")], "none.toml")]
fn a_mistake_is_an_error(#[case] arguments: &[(&str, &str)], #[case] told: &str) {
    let setup = native(&place());
    let add = |setup: Setup, (option, value): &(&str, &str)| setup.argument(option, *value);
    let error = arguments.iter().fold(setup, add).start().unwrap_err();
    assert!(error.to_string().contains(told), "{error}");
}

#[test]
fn a_device_that_never_comes_is_an_error() {
    let setup = native(&place())
        .dut("exec:true")
        .argument("--connect-deadline", "5");
    let error = setup.start().unwrap_err().to_string();
    assert!(error.contains("ended before it connected"), "{error}");
}
