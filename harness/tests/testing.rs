//! Own cases in Rust: a test drives a device exchange by exchange, and is told what the checks found.

#![cfg(not(feature = "hil"))]

use std::cell::Cell;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_hil_args::Mode;
use mcp_hil_core::transport::Transport;
use mcp_hil_record::names::transcript_name;
use mcp_hil_testing::{Device, Outcome, Setup, SnapshotError};
use rstest::{fixture, rstest};
use serde_json::json;

/// A folder of one test.
fn place() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("testing-{}-{number}", std::process::id()));
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
    Device::setup().dut("native").out(runs).snapshots(mode, snapshots)
}

#[fixture]
fn device() -> Device {
    // Its answers are new, and in CI that would fail it.
    reviewing(&place(), Mode::New).start().unwrap()
}

// As in the manual, but for the device.
#[rstest]
fn the_volume_is_kept(mut device: Device) {
    device.call("self.audio_speaker.set_volume", json!({"volume": 40})).expect_result();
    let status = device.call("self.get_device_status", json!({}));
    assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
    device.snapshot("status", &status);
}

#[test]
fn the_example_stands_in_the_manual_and_is_compiled_as_it_stands_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let (library, manual, here) =
        (read("testing/src/lib.rs"), read("manual/rust.md"), read("tests/testing.rs"));
    let doc = library.split("//! ```no_run\n").nth(1).unwrap();
    let doc = doc.split("//! ```\n").next().unwrap();
    let bare = |line: &str| {
        let line = line.strip_prefix("//!").unwrap();
        format!("{}\n", line.strip_prefix(' ').unwrap_or(line))
    };
    let doc: String = doc.lines().map(bare).collect();
    assert!(manual.contains(&format!("```rust\n{doc}```")), "{doc}");
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
    device.notify("notifications/initialized", None).expect_silence();
    device.payload("{\"jsonrpc\": ").expect_silence();
    let answer = device.call("self.audio_speaker.set_volume", json!({"volume": 101}));
    answer.expect_error();
    let done = device.finish().unwrap();
    let own = done.cases.iter().find(|case| case.case.starts_with("tests/"));
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

/// No machine is so slow.
const LONG: Duration = Duration::from_secs(60);

/// What the thread of a test panics with, and where that is.
fn panic_at(test: impl FnOnce() + Send + 'static) -> (String, String) {
    thread_local! {
        static PLACE: Cell<String> = const { Cell::new(String::new()) };
    }
    static WATCHES: Once = Once::new();
    WATCHES.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string);
            PLACE.set(place.unwrap_or_default());
            tell(panic);
        }));
    });
    let test = move || {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        (panic.expect_err("it panics"), PLACE.take())
    };
    let (panic, place) = thread::spawn(test).join().unwrap();
    let text = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    };
    (text, place)
}

fn panic_of(test: impl FnOnce() + Send + 'static) -> String {
    panic_at(test).0
}

/// The place of the line of this file that ends with a mark.
fn marked(mark: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testing.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let mark = format!("// {mark}");
    let line = text.lines().position(|line| line.ends_with(&mark));
    format!("{}:{}:", Location::caller().file(), line.unwrap() + 1)
}

#[test]
fn a_defect_shows_in_what_the_test_expects() {
    let text = panic_of(|| {
        let setup = native(&place()).mutant("set-volume-one-less");
        let mut device = setup.start().unwrap();
        device.call("self.audio_speaker.set_volume", json!({"volume": 40})).expect_result();
        let status = device.call("self.get_device_status", json!({}));
        assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
    });
    assert!(text.contains("39") && text.contains("40"), "{text}");
}

#[test]
fn a_defect_that_the_test_does_not_look_at_is_found() {
    let mut device = native(&place()).mutant("error-code-string").start().unwrap();
    device.request("mcp_hil/none", None).expect_error();
    let broken = device.finish().unwrap_err();
    assert!(broken.requirements().any(|slug| slug == "errors.code-integer"));
    let text = broken.to_string();
    for part in [
        "tests/a_defect_that_the_test_does_not_look_at_is_found",
        "errors.code-integer",
        "expected  error.code is an integer",
        "received  ",
        "mcp_hil/none",
        "transcripts/tests.",
        "repro cargo test ",
        "hint: ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_device_that_goes_away_fails_its_test_and_says_which_that_is() {
    let text = panic_of(|| {
        let setup = native(&place()).mutant("error-code-string");
        let mut device = setup.start().unwrap(); // dropped
        device.request("mcp_hil/none", None).expect_error();
    });
    assert!(text.contains("errors.code-integer"), "{text}");
    let started = format!("started the device at {}", marked("dropped"));
    assert!(text.contains(&started), "{started}: {text}");
}

#[test]
fn what_a_test_expected_is_told_before_what_the_checks_found() {
    let (text, place) = panic_at(|| {
        let mut device = native(&place()).mutant("error-code-string").start().unwrap();
        device.request("mcp_hil/none", None).expect_result(); // result
    });
    assert!(text.contains("the request `mcp_hil/none`"), "{text}");
    assert!(text.contains("expected a result"), "{text}");
    assert!(text.contains("got      the error {\"code\":"), "{text}");
    assert!(place.starts_with(&marked("result")), "{place}");
}

#[test]
fn a_device_that_does_not_start_fails_where_the_test_starts_it() {
    let (text, place) = panic_at(|| {
        let setup = native(&place()).dut("natve");
        drop(setup.start().unwrap()); // start
    });
    assert!(text.contains("unknown device `natve`"), "{text}");
    // What a person reads, and not what a program holds.
    assert!(
        text.contains(
            "

hint: "
        ),
        "{text}"
    );
    assert!(place.starts_with(&marked("start")), "{place}");
}

/// A device over MQTT pings every two seconds, and leaves a broker that does not answer.
#[test]
fn a_device_is_served_while_the_test_computes() {
    let setup = native(&place()).transport(Transport::Mqtt);
    let mut device = setup.start().unwrap();
    device.request("ping", None).expect_result();
    let transcript = device.folder().join(transcript_name(device.case()));
    let read = || std::fs::read_to_string(&transcript).unwrap();
    let until = Instant::now() + LONG;
    // Three times in a row it was answered in time.
    while read().matches(r#""note":"ping""#).count() < 3 {
        assert!(Instant::now() < until, "{}", read());
        thread::sleep(Duration::from_millis(20));
    }
    device.request("ping", None).expect_result();
    let said = read();
    assert!(!said.contains(r#""kind":"link-down""#), "{said}");
    let done = device.finish().unwrap();
    let own = done.cases.iter().find(|case| case.case.starts_with("tests/"));
    let own = &own.expect("the test is a case").exercised;
    assert!(own.iter().any(|slug| slug.starts_with("mqtt.keep-alive")), "{own:?}");
}

#[rstest]
#[case::websocket(Transport::WebSocket)]
#[case::mqtt(Transport::Mqtt)]
fn a_test_has_the_bench_in_its_hands(#[case] transport: Transport) {
    let setup = native(&place()).transport(transport);
    let mut device = setup.start().unwrap();
    // The boot is still there to be looked at.
    let boot = device.console().expect(r"rst:0x\w+ \((?<cause>\w+)\)", LONG);
    assert_eq!(boot.named("cause"), "POWERON");
    let tool = device.console().expect(r"MCP: Add tool: (\S+)", LONG);
    assert_eq!(tool.group(1), "self.get_device_status");

    device.reset().unwrap();
    let tool = device.console().expect(r"MCP: Add tool: (\S+)", LONG);
    assert_eq!(tool.group(1), "self.get_device_status", "it boots again");
    device.request("ping", None).expect_result();

    device.disconnect().unwrap();
    device.connect().unwrap();
    device.request("ping", None).expect_result();

    device.power_off().unwrap();
    let refused = device.request("ping", None).result().unwrap_err().to_string();
    assert!(
        refused.contains("switched off") && refused.contains("its console ended with:"),
        "{refused}"
    );
    let none = device.console().wait_for("anything", LONG).unwrap_err();
    assert!(none.to_string().contains("switched off"), "{none}");
    device.power_on().unwrap();
    device.console().expect("rst:0x1", LONG);
    device.power_cycle().unwrap();
    device.console().expect("rst:0x1", LONG);

    let lines = device.console().lines();
    let boots = lines.iter().filter(|line| line.contains("rst:0x1")).count();
    assert_eq!(boots, 4, "{lines:?}");
    device.finish().unwrap();
}

#[test]
fn what_the_bench_cannot_do_is_told_with_the_end_of_the_console() {
    let mut device = native(&place()).start().unwrap();
    let none = device.trigger().unwrap_err().to_string();
    assert!(none.contains("[board.trigger]") && none.contains("hint: "), "{none}");
    let wrong = device.console().wait_for("(", LONG).unwrap_err();
    assert!(wrong.to_string().contains("regex::escape"), "{wrong}");
    let late = device.console().wait_for("never said", Duration::from_millis(1)).unwrap_err();
    let text = late.to_string();
    for part in [
        "`never said`",
        "none was received within 0.001 s",
        "its console ended with:\n  ",
        "console.log",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(late.console.last(), device.console().lines().last());
    device.finish().unwrap();
    let (_, place) = panic_at(|| {
        let mut device = native(&place()).start().unwrap();
        device.console().expect("never said", Duration::ZERO); // line
    });
    assert!(place.starts_with(&marked("line")), "{place}");
}

/// What a test leaves behind is as it was: settings are put back over a connection of their own.
#[test]
fn a_device_that_was_left_switched_off_is_switched_on_at_the_end() {
    let mut device = native(&place()).start().unwrap();
    device.power_off().unwrap();
    let done = device.finish().unwrap();
    let log = std::fs::read_to_string(done.folder.join("console.log")).unwrap();
    assert_eq!(log.matches("rst:0x1").count(), 2, "{log}");
    assert!(done.cases.iter().any(|case| case.case == "session/close"));
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
        let outcome = device.compare("UserError", &answer);
        let _ = device.finish();
        outcome
    };
    let updated = ask(Mode::Update, None).unwrap();
    let Outcome::Updated(file) = updated else {
        panic!("{updated:?}");
    };
    assert!(file.starts_with(place.join("snapshots/native/tests-kept")));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"id\": \"[id]\""), "{text}");
    assert_eq!(ask(Mode::Check, None).unwrap(), Outcome::Same);
    let changed = ask(Mode::Check, Some("error-code-string")).unwrap_err();
    assert!(matches!(changed, SnapshotError::Changed { .. }), "{changed}");
    let told = changed.to_string();
    assert!(told.contains("error code") && told.contains("cargo insta review"), "{told}");
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
    let setup = native(&place()).dut("exec:true").argument("--connect-deadline", "5");
    let error = setup.start().unwrap_err().to_string();
    assert!(error.contains("ended before it connected"), "{error}");
}
