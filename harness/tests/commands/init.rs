//! `mcp-hil init`: what it writes works, and the commands that it prints are run as they stand.

use std::path::Path;
use std::process::Command;

use crate::support::{Done, Place, missing};
use crate::usb::System;

/// A small firmware in the layout of xiaozhi firmware.
const MINI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/host/tests/mini");

/// The files that are written in every folder.
const ALWAYS: [&str; 2] = ["ci/scenarios/tools-listed.yaml", ".github/workflows/mcp-hil.yml"];

/// The command on a machine with these USB devices.
fn init(place: &Place, system: &System) -> Done {
    place.hil(["init"]).env("MCP_HIL_USB_ROOT", &system.0).end().exits(0)
}

/// The commands that it printed.
fn commands(done: &Done) -> Vec<String> {
    let after = done.stdout.split_once("\nnext:\n").expect("commands").1;
    let lines = after.lines().map_while(|line| line.strip_prefix("  "));
    lines.map(str::to_owned).collect()
}

/// Runs a line in a shell that finds the program by its name.
fn shell(place: &Place, system: &System, line: &str) -> (i32, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_mcp-hil"));
    let path = std::env::var("PATH").unwrap();
    let done = Command::new("sh")
        .args(["-c", line])
        .current_dir(place.path(""))
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env("MCP_HIL_USB_ROOT", &system.0)
        .env("MCP_HIL_PREFER", "native")
        .env_remove("MCP_HIL_TOKEN")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("GITHUB_ACTIONS")
        .output()
        .unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

fn copy_of_firmware(place: &Place) {
    let mut copy = Command::new("cp");
    copy.args(["-r", &format!("{MINI}/."), "."]).current_dir(place.path(""));
    assert!(copy.status().unwrap().success());
}

#[test]
fn an_empty_folder_gets_what_runs_there_and_the_commands_work_as_printed() {
    let (place, system) = (Place::new(), System::new("init-empty"));
    let done = init(&place, &system).prints(&["boards none is attached", "no device to test"]);
    for file in ALWAYS {
        assert!(place.path(file).is_file(), "{file}\n{done}");
    }
    let commands = commands(&done);
    assert_eq!(commands.len(), 3, "{done}");
    let mut last = String::new();
    for command in &commands {
        let (code, text) = shell(&place, &system, command);
        assert_eq!(code, 0, "{command}\n{text}");
        last = text;
    }
    assert!(last.contains(" own/tools-listed "), "{last}");
}

#[test]
fn firmware_is_tested_by_the_commands_as_printed_and_what_it_breaks_is_listed() {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !["cmake", "make", "c++"].iter().all(|program| runs(program)) {
        missing::CMAKE.is_missing("no `cmake`, `make` or `c++`");
        return;
    }
    let (place, system) = (Place::new(), System::new("init-fork"));
    copy_of_firmware(&place);
    let done = init(&place, &system).prints(&["xiaozhi firmware 2.0.0, which can be built"]);
    let [first, update, again] = &commands(&done)[..] else { panic!("{done}") };
    let (code, text) = shell(&place, &system, first);
    // It has a crash, and the list of known failures is empty.
    assert_eq!(code, 1, "{first}\n{text}");
    let (code, text) = shell(&place, &system, update);
    assert_eq!(code, 0, "{update}\n{text}");
    let (code, text) = shell(&place, &system, again);
    assert_eq!(code, 0, "{again}\n{text}");
    assert!(text.contains("own/tools-listed"), "{text}");
}

#[test]
fn nothing_is_overwritten_and_a_second_time_writes_nothing() {
    let (place, system) = (Place::new(), System::new("init-again"));
    let mine = "# mine\n";
    place.write(ALWAYS[1], mine);
    let done = init(&place, &system).prints(&["kept .github/workflows/mcp-hil.yml"]);
    assert_eq!(place.read(ALWAYS[1]), mine, "{done}");
    let again = init(&place, &system);
    assert!(!again.stdout.contains("created"), "{again}");
}

#[test]
fn a_board_gets_a_file_which_the_commands_and_the_workflow_name() {
    let (place, system) = (Place::new(), System::new("init-board"));
    system.usb("1-3", "303a:1001", &[("serial", "F4:12:FA:00:11:22")]);
    system.port("1-3", 0, "ttyACM0");
    // Of a board that is elsewhere.
    place.write("ci/duts/board.toml", "name = \"b\"\ntarget = \"wait\"\n");
    let done = init(&place, &system);
    let file = "ci/duts/board-2.toml";
    assert!(place.read(file).contains("serial = \"F4:12:FA:00:11:22\""), "{done}");
    let profiles = place.read("mcp-hil.toml");
    for line in [format!("dut = [\"{file}\"]"), "baseline = \"ci/baselines/board-2.toml\"".into()] {
        assert!(profiles.contains(&line), "{line}\n{profiles}");
    }
    let commands = commands(&done);
    assert!(commands[1].ends_with("-o ci/baselines/board-2.toml"), "{commands:?}");
    let workflow = place.read(ALWAYS[1]);
    assert!(workflow.contains(&format!("dut: {file}\n")), "{workflow}");
    assert!(workflow.contains("[self-hosted, board-2]"), "{workflow}");
    // What was made for it means it.
    let again = init(&place, &system).prints(&[&format!("described by `{file}`")]);
    assert!(!again.stdout.contains("created"), "{again}");
    let listed = place.hil(["duts"]).env("MCP_HIL_USB_ROOT", &system.0).end();
    listed.exits(0).prints(&[&format!("file {file} (board-2)")]);
}

#[test]
fn firmware_of_stock_2_4_begins_with_what_is_known_of_it() {
    let (place, system) = (Place::new(), System::new("init-stock"));
    place.write("main/mcp_server.cc", "");
    place.write("CMakeLists.txt", "set(PROJECT_VER \"2.4.2\")\n");
    init(&place, &system);
    assert!(place.read("ci/baselines/host.toml").contains("errors.code-integer"));
    // One that is too old for that is told so, and tested like any other device.
    let old = Place::new();
    old.write("main/mcp_server.cc", "");
    old.write("CMakeLists.txt", "set(PROJECT_VER \"1.9.4\")\n");
    let done = init(&old, &system).prints(&["has version 1.9.4: expected 2.0 or later"]);
    assert!(!old.path("ci/baselines").exists(), "{done}");
}

#[test]
fn the_workflow_for_a_fork_is_the_one_that_the_documentation_shows() {
    let page = include_str!("../../../ci/fork.md");
    let workflow = include_str!("../../src/init/host.yml");
    assert!(page.contains(&format!("```yaml\n{workflow}```")), "{workflow}");
}
