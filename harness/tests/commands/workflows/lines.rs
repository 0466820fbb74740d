//! A board of whose chip nothing but the lines DTR and RTS of its port gets hold: no command switches its power or
//! presses its button.

use serde_json::Value;

use super::circuit::{Happened, LineBoard, Pins, TRANSISTORS, Wiring};
use super::runner::Runner;
use super::{boards, hil, junit, run_board};
use crate::support::{Place, free_port};
use crate::usb::System;

/// The transcripts of a run, one after the other.
fn transcripts(run: &std::path::Path) -> String {
    let files = std::fs::read_dir(run.join("transcripts")).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.collect()
}

#[test]
fn hil_yml_resets_a_board_and_makes_it_dial_by_the_lines_of_its_port_alone() {
    let (place, system) = (Place::new(), System::new("walk-lines"));
    let mut runner = Runner::new(&place, &system);
    let board = LineBoard::attach(&place, &free_port(), Wiring::Transistors);
    place.write("checkout/ci/duts/desk.toml", board.file("desk"));
    runner.preset(board.environment());
    let workflow = hil();
    let jobs = boards(&mut runner, &workflow);
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    let ended = run_board(&mut runner, &workflow, job).succeeds();
    assert!(ended.text.contains(" Summary ["), "{}", ended.text);
    let run = place.path("artefacts/hil-desk/latest");
    let (all, bad) = junit(&run);
    assert!(all > 100 && bad.is_empty(), "{all} cases, {bad:?}");

    // It ran already, and was reset before anything was asked of it. While a port is opened both lines are
    // asserted, and let go one after the other: on a busy host that may look like a click.
    use Happened::{Booted, Clicked, Reset};
    let whole = board.story();
    let reset = whole.iter().position(|it| *it == Reset);
    let (before, story) = whole.split_at(reset.expect("it was reset"));
    assert!(before[0] == Booted && before.len() <= 2, "{whole:?}");
    assert_eq!(story[..3], [Reset, Booted, Clicked], "{whole:?}");
    let told = transcripts(&run);
    for (happened, words) in [
        (Reset, "the board was reset by the lines of its port"),
        (Clicked, "trigger: its button was pressed by DTR for 100 ms"),
    ] {
        let times = story.iter().filter(|it| **it == happened).count();
        assert_eq!(told.matches(words).count(), times, "{words}: {story:?}");
    }
    assert!(!told.contains("power cycled"), "nothing switches its power");
    // Each of its connections was asked for by a click.
    let log = std::fs::read_to_string(run.join("console.log")).unwrap();
    let dialled = log.matches("idle -> connecting").count();
    assert!(dialled > 2, "{dialled}: {log}");
}

/// The board of a test below, and what comes of a run with it.
fn run(wiring: Wiring) -> (Vec<Happened>, String, Value) {
    let place = Place::new();
    let board = LineBoard::attach(&place, &free_port(), wiring);
    place.write("desk.toml", board.file("desk"));
    let args = ["run", "--dut", "desk.toml", "--connect-deadline", "2"];
    let mut hil = place.hil(args).env("MCP_HIL_LOCKS", place.path("locks"));
    for (name, value) in board.environment() {
        hil = hil.env(name, value);
    }
    let done = hil.end().exits(3);
    let told = format!("{}{}", done.stdout, done.stderr);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    (board.story(), told, place.both_reports())
}

/// It gets no reset and no click, and that says nothing about its firmware.
#[test]
fn lines_that_are_not_joined_to_the_chip_are_trouble_of_the_bench() {
    let (story, told, report) = run(Wiring::Apart);
    assert_eq!(story, [Happened::Booted]);
    assert!(told.contains("bench error"), "{told}");
    assert!(told.contains("are the lines DTR and RTS"), "{told}");
    assert_eq!(report["summary"]["failed"], 0);
}

#[test]
fn a_chip_whose_button_is_stuck_waits_in_its_bootloader_and_that_is_told() {
    let (story, told, report) = run(Wiring::Gpio0Held);
    let downloads = story.iter().filter(|it| **it == Happened::Bootloader);
    assert!(downloads.count() >= 1, "{story:?}");
    assert!(told.contains("GPIO0 was low at the reset"), "{told}");
    assert_eq!(report["summary"]["failed"], 0);
}

#[test]
fn the_table_of_lines_has_each_of_their_states_once() {
    for lines in [(false, false), (false, true), (true, false), (true, true)] {
        let rows = TRANSISTORS.iter().filter(|(row, _)| *row == lines);
        assert_eq!(rows.count(), 1, "{lines:?}");
    }
    let both_low = Pins { en: false, gpio0: false };
    assert!(TRANSISTORS.iter().all(|(_, pins)| *pins != both_low));
}
