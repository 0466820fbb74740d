//! Boards that somebody has declared and that are not attached: no other device is judged in their place
//! unless that is allowed, and then everything says so.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Done, Hil, Place, cargo};
use mcp_hil_record::exit;
use mcp_hil_testing::Device;
use rstest::rstest;
use serde_json::Value;

/// The file of a board on USB that nobody has.
fn file(name: &str, lines: &str) -> String {
    format!("name = \"{name}\"\ntarget = \"board\"\n{lines}\n[board]\nserial = \"NOBODY-{name}\"\n")
}

/// A run on a machine without boards and emulators, with the board `desk` declared.
fn run(place: &Place, more: &[&str]) -> Hil {
    if !place.path("ci/duts/desk.toml").exists() {
        place.write("ci/duts/desk.toml", file("desk", ""));
    }
    std::fs::create_dir_all(place.path("usb/sys/class/tty")).unwrap();
    std::fs::create_dir_all(place.path("bin")).unwrap();
    if !place.path("bin/sh").exists() {
        std::os::unix::fs::symlink("/bin/sh", place.path("bin/sh")).unwrap();
    }
    let args = ["run", "--only", "ids/zero"];
    place
        .hil(args.iter().chain(more))
        .env("MCP_HIL_USB_ROOT", place.path("usb"))
        .env("PATH", place.path("bin"))
        .env("CARGO_TARGET_DIR", place.path("built"))
        .without_env("MCP_HIL_PREFER")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const ABSENT: &str = "the board `desk` of `ci/duts/desk.toml` is not attached: no board with the serial number \
                      `NOBODY-desk` is attached: there is no board at all";

/// A run that missed its board, with reports that say so.
fn is_missed(place: &Place, done: &Done) {
    assert_eq!(done.code, Some(exit::BENCH.into()), "{done}");
    let told = words(&done.stdout);
    assert!(told.contains(ABSENT), "{done}");
    assert!(told.contains("in its place, use `--fallback`"), "{done}");
    assert!(told.contains("nothing ran"), "{done}");
    let report = place.both_reports();
    assert_eq!(report["run"]["duts"][0]["name"], "desk", "{report}");
    assert_eq!(report["summary"]["cases"], 0, "{report}");
    let junit = place.read("target/mcp-hil/latest/junit.xml");
    assert!(junit.contains(ABSENT), "{junit}");
}

#[rstest]
#[case::named(&["--dut", "ci/duts/desk.toml"])]
#[case::auto(&[])]
#[case::both_transports(&["--transport", "both"])]
fn an_absent_board_is_trouble_of_the_bench_and_no_reason_to_judge_another_device(
    #[case] more: &[&str],
) {
    let place = Place::new();
    let done = run(&place, more).end();
    is_missed(&place, &done);
}

#[test]
fn a_board_at_a_path_is_declared_and_absent_as_well() {
    let place = Place::new();
    let text = "name = \"desk\"\ntarget = \"board\"\n[board]\nport = \"nothing\"\n";
    place.write("ci/duts/desk.toml", text);
    let done = run(&place, &[]).end().exits(3);
    let told = words(&done.stdout);
    assert!(
        told.contains(
            "the board `desk` of `ci/duts/desk.toml` is not attached: there is no port `nothing`"
        ),
        "{done}"
    );
}

#[test]
fn all_boards_that_are_missed_are_named() {
    let place = Place::new();
    place.write("ci/duts/rack.toml", file("rack", ""));
    let done = run(&place, &[]).end().exits(3);
    let told = words(&done.stdout);
    for name in ["`desk` of `ci/duts/desk.toml`", "`rack` of `ci/duts/rack.toml`"] {
        assert!(told.contains(&format!("the board {name} is not attached")), "{done}");
    }
}

#[test]
fn a_file_that_cannot_be_read_may_declare_a_board() {
    let place = Place::new();
    place.write("ci/duts/desk.toml", "name = ");
    run(&place, &[]).end().exits(2).says(&["ci/duts/desk.toml"]);
}

#[test]
fn a_board_that_is_there_is_taken_and_the_others_are_named() {
    let place = Place::new();
    place.write("port", "");
    let text = "name = \"here\"\ntarget = \"board\"\n[board]\nport = \"port\"\n";
    place.write("ci/duts/here.toml", text);
    place.write("ci/duts/z-broken.toml", "name = ");
    // It is chosen, and then it is no serial port.
    let done = run(&place, &[]).end().exits(3).says(&[
        "auto: skipped board `desk` of `ci/duts/desk.toml`: it is not attached: no board with",
        "auto: skipped a board: ",
        "ci/duts/z-broken.toml",
    ]);
    assert!(done.stdout.contains(": here over websocket"), "{done}");
}

/// What stands in is told by the first line, by the last one, and by every report.
#[rstest]
#[case::any(&["--fallback"], "")]
#[case::some_kinds(&["--fallback=qemu,native"], "")]
#[case::by_the_file(&[], "fallback = true")]
#[case::by_kinds_of_the_file(&[], "fallback = [\"native\"]\ntransports = [\"mqtt\"]")]
fn what_stands_in_for_a_board_is_told_everywhere(#[case] more: &[&str], #[case] lines: &str) {
    let place = Place::new();
    place.write("ci/duts/desk.toml", file("desk", lines));
    place.write("step.md", "");
    let more = [more, &["--dut", "ci/duts/desk.toml", "--summary", "summary.md"]].concat();
    let done = run(&place, &more)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", place.path("step.md"))
        .end()
        .exits(0);
    let board = "the board `desk` of `ci/duts/desk.toml`, which is not attached";
    let first = done.stdout.lines().next().unwrap();
    assert!(first.contains(&format!(": native in place of {board} over ")), "{done}");
    let mut report = done.stdout.lines().filter(|line| !line.starts_with("::"));
    let last = report.next_back().unwrap().trim();
    assert_eq!(
        words(last),
        format!(
            "judged the reference device of mcp-hil (`native`), not your firmware: it replaced {board}"
        )
    );
    let annotation = done.stdout.lines().find(|line| line.starts_with("::warning"));
    assert!(annotation.is_some_and(|line| line.contains(board)), "{done}");
    let dut = &place.both_reports()["run"]["duts"][0];
    let transport = if lines.contains("mqtt") { "mqtt" } else { "websocket" };
    assert_eq!(dut["transport"], transport, "the board speaks no other");
    assert_eq!(dut["in_place_of"]["board"], "desk", "{dut}");
    assert_eq!(dut["in_place_of"]["file"], "ci/duts/desk.toml", "{dut}");
    assert_eq!(dut["reference"], true, "{dut}");
    let why = dut["in_place_of"]["why"].as_str().unwrap();
    assert!(why.contains("`NOBODY-desk`"), "{why}");
    let latest = |name: &str| place.read(&format!("target/mcp-hil/latest/{name}"));
    for (name, text) in [
        ("report.html", latest("report.html")),
        ("summary.md", place.read("summary.md")),
        ("step.md", place.read("step.md")),
    ] {
        let text = text.replace("&#96;", "`").replace("\\`", "`").replace('`', "");
        assert!(text.contains("desk"), "{name}: {text}");
        assert!(text.contains("not your firmware"), "{name}: {text}");
    }
    assert_eq!(
        properties(&latest("junit.xml")),
        [
            "judged: the reference device of mcp-hil, not your firmware".to_owned(),
            format!("stand-in: `native` replaces {board} ({why})"),
        ]
    );
}

/// The properties of the suites in a JUnit file that tell what was judged.
fn properties(xml: &str) -> Vec<String> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut found = Vec::new();
    loop {
        match reader.read_event().expect("XML") {
            Event::Start(tag) | Event::Empty(tag) if tag.name().as_ref() == b"property" => {
                let value = |name: &str| {
                    let attribute = tag.try_get_attribute(name).unwrap().unwrap();
                    attribute
                        .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                        .unwrap()
                        .into_owned()
                };
                if ["judged", "stand-in"].contains(&&*value("name")) {
                    found.push(format!("{}: {}", value("name"), value("value")));
                }
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[test]
fn the_baseline_of_a_board_is_not_held_against_what_stands_in() {
    let place = Place::new();
    let known = "[[known]]\ncase = \"ids/large\"\nreason = \"the board's\"\n";
    place.write("known.toml", known);
    run(&place, &["--fallback=native", "--baseline", "known.toml"])
        .end()
        .exits(0)
        .says(&["the baseline `known.toml` belongs to the board and is not applied to `native`"]);
}

#[test]
fn where_nothing_that_may_stand_in_is_at_hand_the_board_is_missed() {
    let place = Place::new();
    run(&place, &["--fallback=qemu"]).end().exits(3).says(&[
        "fallback: skipped qemu: `qemu-system-riscv32` is not installed",
        ABSENT,
        "and no replacement is available: tried qemu",
    ]);
    run(&place, &["--fallback=board"])
        .end()
        .exits(2)
        .says(&["`--fallback=board`: expected kinds that can replace an absent board"]);
}

#[test]
fn who_names_other_kinds_is_told_of_the_board_and_of_what_was_judged() {
    let place = Place::new();
    let done = run(&place, &["--prefer", "native"]).end().exits(0).says(&[
        "auto: skipped board `desk` of `ci/duts/desk.toml`: boards are not among the kinds",
    ]);
    let last = done.stdout.lines().last().unwrap().trim();
    assert_eq!(words(last), "judged the reference device of mcp-hil (`native`), not your firmware");
    let junit = place.read("target/mcp-hil/latest/junit.xml");
    assert_eq!(properties(&junit), ["judged: the reference device of mcp-hil, not your firmware"]);
}

#[test]
fn a_device_of_somebody_else_is_not_called_ours() {
    let place = Place::new();
    let program = format!("exec:{}", crate::support::native().display());
    let done = run(&place, &["--dut", &program]).end().exits(0);
    assert!(!done.stdout.contains("judged"), "{done}");
    assert_eq!(place.report()["run"]["duts"][0].get("reference"), None);
}

/// The action, with a cargo that has built the program already.
#[rstest]
#[case::named("ci/duts/desk.toml")]
#[case::auto("")]
fn the_action_misses_the_board(#[case] dut: &str) {
    let place = Place::new();
    place.write("ci/duts/desk.toml", file("desk", ""));
    std::fs::create_dir_all(place.path("usb/sys/class/tty")).unwrap();
    let program = place.path("built/release/mcp-hil");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcp-hil"), &program).unwrap();
    let cargo = place.write("path/cargo", "#!/bin/sh\n");
    std::fs::set_permissions(cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/action.sh");
    let mut hil = place.hil::<&str>([]);
    let mut command = Command::new(script);
    command
        .current_dir(place.path(""))
        .env("PATH", format!("{}:{path}", place.path("path").display()))
        .env("CARGO_TARGET_DIR", place.path("built"))
        .env("MCP_HIL", &program)
        .env("MCP_HIL_USB_ROOT", place.path("usb"))
        .env_remove("MCP_HIL_NATIVE")
        .env("HIL_DUT", dut)
        .env_remove("MCP_HIL_PREFER")
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITHUB_OUTPUT")
        .env_remove("GITHUB_STEP_SUMMARY")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    hil.0 = command;
    let done = hil.end().exits(3);
    assert!(words(&done.stdout).contains(ABSENT), "{done}");
    let junit = place.read("mcp-hil-reports/junit.xml");
    assert!(junit.contains(ABSENT), "{junit}");
}

#[test]
fn a_test_in_rust_misses_the_board_unless_something_may_stand_in() {
    let place = Place::new();
    let path = place.write("desk.toml", file("desk", ""));
    let spec = path.display().to_string();
    let setup = || Device::setup().dut(&spec).out(place.path("runs"));
    let error = setup().start().unwrap_err().to_string();
    let board = format!("the board `desk` of `{spec}` is not attached");
    assert!(error.contains(&board), "{error}");
    let setup =
        setup().fallback("native").snapshots(mcp_hil_args::Mode::Off, place.path("snapshots"));
    let mut device = setup.start().unwrap();
    device.request("ping", None).expect_result();
    let done = device.finish().unwrap();
    let report = std::fs::read_to_string(done.folder.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let dut = &report["run"]["duts"][0];
    assert_eq!(dut["in_place_of"]["board"], "desk", "{dut}");
}

/// `cargo test --features hil` on the board, with more arguments of the test program.
fn cargo_hil(place: &Place, spec: &Path, arguments: &str, more: &[&str]) -> (Option<i32>, String) {
    let done = cargo()
        .args(["test", "--quiet", "--package", "mcp-hil", "--features", "hil"])
        .args(["--test", "hil", "--"])
        .args(more)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("MCP_HIL_DUT", spec)
        .env_remove("MCP_HIL_NATIVE")
        .env("MCP_HIL_RUN_ARGS", format!("--out {} {arguments}", place.path("runs").display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    (done.status.code(), text)
}

#[test]
fn the_tests_of_cargo_fail_with_the_boards_name_unless_something_may_stand_in() {
    let place = Place::new();
    let spec = place.write("desk.toml", file("desk", ""));
    let board = format!("the board `desk` of `{}` is not attached", spec.display());
    let (code, text) = cargo_hil(&place, &spec, "", &["ids::zero"]);
    assert_eq!(code, Some(exit::BENCH.into()), "{text}");
    assert!(text.contains(&board), "{text}");
    // Which tests there are does not depend on what is plugged in.
    let (code, text) = cargo_hil(&place, &spec, "", &["--list"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("desk::websocket::ids::zero"), "{text}");
    let (code, text) = cargo_hil(&place, &spec, "--fallback=native", &["ids::zero"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("`native` replaces the board `desk` of "), "{text}");
    assert!(
        text.contains("judged: the reference device of mcp-hil (`native`), not your firmware"),
        "{text}"
    );
}
