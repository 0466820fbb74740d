//! `mcp-hil review`: what waits for review is shown, accepted and rejected, without cargo.

use std::io::Cursor;

use crate::support::{Done, Place};
use mcp_hil::review::{Talk, review};
use mcp_hil_args::ReviewArgs;

const ONE: &str = "snapshots/kitchen/call/one.snap";
const TWO: &str = "snapshots/kitchen/call/two.snap";

/// A snapshot as insta writes it, with an answer that has this code.
fn snapshot(code: i64) -> String {
    format!(
        "---\nsource: tests/a.rs\nassertion_line: 7\ndescription: from a run\n---\nrequest {{\n  \"jsonrpc\": \"2.0\",\n  \
         \"id\": 1,\n  \"method\": \"x\"\n}}\n\nanswer {{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"error\": {{\"code\": {code}, \
         \"message\": \"m\"}}\n}}\n"
    )
}

/// A folder in which a changed and a new answer wait.
fn waiting() -> Place {
    let place = Place::new();
    place.write(ONE, snapshot(-32000).replace("assertion_line: 7\n", ""));
    place.write(&format!("{ONE}.new"), snapshot(-32602));
    place.write(&format!("{TWO}.new"), snapshot(-32601));
    // Of a build, and nobody's.
    place.write("target/x.snap.new", snapshot(1));
    place
}

fn run(place: &Place, args: &[&str]) -> Done {
    place.hil(["review"].iter().chain(args)).end()
}

fn there(place: &Place) -> [bool; 4] {
    [ONE, TWO].map(|file| [file.to_owned(), format!("{file}.new")]).concat().try_into().map_or_else(
        |_| unreachable!("there are four"),
        |files: [String; 4]| files.map(|file| place.path(&file).exists()),
    )
}

#[test]
fn what_waits_is_listed_in_words_and_nothing_is_changed() {
    let place = waiting();
    let told = [
        "snapshots/kitchen/call/one.snap.new",
        "changed value changed: /error/code: -32000 -> -32602",
        "- \"error\": {\"code\": -32000",
        "snapshots/kitchen/call/two.snap.new",
        "new: no such answer was reviewed",
        "2 answers wait for review",
    ];
    let done = run(&place, &["--list"]).exits(1).prints(&told);
    assert!(!done.stdout.contains("target/"), "{done}");
    assert_eq!(there(&place), [true, true, false, true]);
    // Nobody is there to be asked.
    let done =
        run(&place, &[]).exits(2).says(&["2 answers wait for review", "`--accept` accepts all"]);
    assert_eq!(there(&place), [true, true, false, true], "{done}");
}

#[test]
fn all_or_some_are_accepted_or_rejected_without_a_question() {
    let place = waiting();
    run(&place, &["--accept", "--only", "call/two"]).exits(0).prints(&["1 accepted"]);
    assert_eq!(there(&place), [true, true, true, false]);
    // As insta keeps it.
    assert_eq!(place.read(TWO), snapshot(-32601).replace("assertion_line: 7\n", ""));
    run(&place, &["--reject"]).exits(0).prints(&["1 rejected"]);
    assert_eq!(there(&place), [true, false, true, false]);
    assert!(place.read(ONE).contains("-32000"));
    run(&place, &["--list"]).exits(0).prints(&["nothing waits for review"]);
    run(&place, &["--accept", "--reject"]).exits(2);
    run(&place, &["nowhere"]).exits(2).says(&["cannot read `nowhere`"]);
}

/// The answers that a person types, and what is left.
fn asked(typed: &str) -> ([bool; 4], String) {
    let place = waiting();
    let args = ReviewArgs {
        folder: place.path("snapshots"),
        only: Vec::new(),
        accept: false,
        reject: false,
        list: false,
    };
    let (mut input, mut output) = (Cursor::new(typed.to_owned()), Vec::new());
    let mut talk = Talk { input: Some(&mut input), output: &mut output };
    assert_eq!(review(&args, &mut talk).unwrap(), 0);
    (there(&place), String::from_utf8(output).unwrap())
}

#[test]
fn a_person_decides_on_each_or_on_all_that_follow() {
    let (left, said) = asked("a\nr\n");
    assert_eq!(left, [true, false, false, false], "{said}");
    assert!(said.contains("1 accepted, 1 rejected"), "{said}");
    assert_eq!(asked("A\n").0, [true, false, true, false]);
    assert_eq!(asked("R\n").0, [true, false, false, false]);
    let untouched = [true, true, false, true];
    assert_eq!(asked("s\nS\n").0, untouched);
    assert_eq!(asked("q\n").0, untouched);
    // Not understood, and then nobody is there any more.
    assert_eq!(asked("what?\n").0, untouched);
}

#[test]
fn an_answer_that_was_accepted_is_the_reviewed_one_for_the_next_run() {
    let place = Place::new();
    let run = |more: &[&str]| {
        let args = ["run", "--dut", "native", "--only", "call/unknown-tool"];
        place.hil(args.iter().chain(more)).without_env("CI").end()
    };
    run(&["--snapshots", "update"]).exits(0);
    // Somebody has reviewed another answer than the device gives.
    let file = "snapshots/native/call/unknown-tool.snap";
    place.write(file, place.read(file).replace("-32602", "-32000"));
    run(&[]).exits(1);
    place.hil(["review", "--accept"]).end().exits(0);
    run(&[]).exits(0);
}
