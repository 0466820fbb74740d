//! The reference device as a command of the program: one file is all that a first run needs.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Place, native};

/// The program alone in a folder, as `cargo install` and an artefact of CI leave it.
fn installed(place: &Place) -> PathBuf {
    let program = place.path("bin/mcp-hil");
    std::fs::create_dir_all(place.path("bin")).unwrap();
    std::fs::hard_link(env!("CARGO_BIN_EXE_mcp-hil"), &program).unwrap();
    program
}

/// It with arguments, where neither cargo nor a tool chain is at hand.
fn alone(place: &Place, args: &[&str]) -> crate::support::Hil {
    let mut hil = place.hil(args);
    let mut command = Command::new(installed(place));
    command
        .args(args)
        .current_dir(place.path(""))
        .env("PATH", "/usr/bin:/bin")
        .env_remove("CARGO")
        .env_remove("MCP_HIL_NATIVE")
        .env("MCP_HIL_PREFER", "native")
        .env_remove("GITHUB_ACTIONS")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    hil.0 = command;
    hil
}

#[test]
fn the_installed_program_is_enough_for_a_run() {
    let place = Place::new();
    let args = ["run", "--only", "ids/", "--cases", "0"];
    alone(&place, &args).end().exits(0);
    let mutant = ["run", "--only", "ids/", "--mutant", "id-int32-saturated"];
    alone(&Place::new(), &mutant).end().exits(1);
}

#[test]
fn the_installed_program_is_enough_for_a_self_test() {
    let place = Place::new();
    let args = ["self-test", "--quick", "--only", "id-int32-saturated"];
    alone(&place, &args).end().exits(0).prints(&["killed 1 of 1"]);
}

#[test]
fn help_tells_of_the_device_and_how_it_is_called() {
    let place = Place::new();
    let all = place.hil(["help"]).end().exits(0);
    all.prints(&["\n  native ", "Run the reference device"]);
    for args in [["help", "native"], ["native", "--help"]] {
        place.hil(args).end().exits(0).prints(&[
            "Usage: mcp-hil native",
            "--list-mutants",
            "--stock",
        ]);
    }
}

/// Scripts read lists, and tell by the exit code who is to blame.
#[test]
fn the_device_prints_lists_and_exits_as_a_program_of_its_own() {
    let place = Place::new();
    let listed = place.hil(["native", "--list-mutants"]).end().exits(0);
    let row = listed.stdout.lines().next().unwrap();
    assert_eq!(row.split('\t').count(), 3, "{row}");
    assert_eq!(listed.stderr, "");
    let nowhere = place.hil(["native"]).end().exits(2);
    nowhere.says(&["error: `MCP_HIL_WS_URL` is not set\n", "hint: "]);
    place
        .hil(["native", "--mutant", "id-int32-saturatd"])
        .env("MCP_HIL_WS_URL", "ws://127.0.0.1:9/")
        .end()
        .exits(2)
        .says(&["did you mean `id-int32-saturated`?"]);
    place.hil(["native", "--onyl"]).end().exits(2).says(&["Usage: mcp-hil native"]);
}

#[test]
fn a_named_program_still_takes_the_place_of_the_device() {
    let place = Place::new();
    let run = ["run", "--dut", "native", "--only", "ids/", "--cases", "0"];
    place.hil(run).env("MCP_HIL_NATIVE", native()).end().exits(0);
    place
        .hil(run)
        .env("MCP_HIL_NATIVE", "/nowhere/native")
        .end()
        .exits(3)
        .prints(&["/nowhere/native"]);
}
