//! `mcp-hil diff`: the same device twice differs in nothing, and what a defect changes is named.

use std::path::PathBuf;

use crate::support::{Done, Place, qemu};
use rstest::rstest;
use serde_json::Value;

/// Runs the native device, and gives the run's folder.
fn run(place: &Place, name: &str, args: &[&str]) -> PathBuf {
    let folder = place.path(name);
    let out = folder.to_str().unwrap();
    let done = place.hil(["run", "--cases", "3", "--out", out].iter().chain(args)).end();
    assert!(matches!(done.code, Some(0 | 1)), "{done}");
    folder.join("latest")
}

fn diff(place: &Place, args: &[&str], runs: [&PathBuf; 2]) -> Done {
    let runs = runs.map(|run| run.to_str().unwrap().to_owned());
    let args = args.iter().map(|arg| (*arg).to_owned());
    place.hil(["diff".to_owned()].into_iter().chain(args).chain(runs)).end()
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}\n{done}"))
}

#[test]
fn the_same_device_twice_differs_in_nothing() {
    let place = Place::new();
    let both = ["--transport", "both"];
    let one = run(&place, "a", &[&both[..], &["--seed", "1"]].concat());
    let other = run(&place, "b", &[&both[..], &["--seed", "2"]].concat());
    let done = diff(&place, &[], [&one, &other]).exits(0);
    assert!(done.stdout.contains("no difference: "), "{done}");
    let told = json(&diff(&place, &["--format", "json"], [&one, &other]).exits(0));
    assert_eq!(told["differences"], 0);
    assert!(told["compared"].as_u64().unwrap() > 100, "{told}");
    for lane in told["lanes"].as_array().unwrap() {
        assert!(lane["answers"]["pairs"].as_u64().unwrap() > 100, "{lane}");
        let latencies = lane["answers"]["latencies"].as_array().unwrap();
        assert!(latencies.iter().any(|of| of["what"] == "ping"), "{lane}");
    }
}

#[test]
fn a_capability_that_one_of_them_lost_is_told_with_the_cases_that_it_has_cost() {
    let place = Place::new();
    let one = run(&place, "a", &[]);
    let other = run(&place, "b", &["--variant", "no-volume"]);
    let done = diff(&place, &[], [&one, &other]).exits(1);
    done.prints(&["capabilities over websocket\n", "cases not tried for it:"]);
    let told = json(&diff(&place, &["--format", "json"], [&one, &other]));
    let lane = &told["lanes"][0];
    let lost = lane["capabilities"]["lost"].as_array().unwrap();
    assert!(lost.contains(&"volume".into()), "{lane}");
    let not_tried = lane["not_tried"]["volume"].as_array().unwrap();
    assert!(not_tried.contains(&"volume/set".into()), "{lane}");
    // The other way round they are gained.
    let told = json(&diff(&place, &["--format", "json"], [&other, &one]));
    assert_eq!(
        told["lanes"][0]["capabilities"]["gained"],
        *lane["capabilities"].get("lost").unwrap()
    );
    assert!(told["lanes"][0].get("not_tried").is_none(), "{told}");
}

#[test]
fn another_transport_of_the_same_device_is_compared_with_the_first() {
    let place = Place::new();
    let one = run(&place, "a", &["--only", "initialize/"]);
    let other = run(&place, "b", &["--only", "initialize/", "--transport", "mqtt"]);
    let told = json(&diff(&place, &["--format", "json"], [&one, &other]));
    assert_eq!(told["lanes"][0]["second"], "mqtt", "{told}");
    assert_ne!(told["lanes"][0]["answers"]["pairs"], 0, "{told}");
    assert_eq!(told["lanes"][0]["answers"]["differences"], Value::Array(vec![]), "{told}");
}

#[rstest]
#[case::verdict_and_finding(
    "id-int32-saturated",
    &["ids/large over websocket: pass -> fail", "ids.echo (MUST)", "repro", "--only ids/large"]
)]
#[case::answer(
    "unknown-tool-32000",
    &["tools/call", "error code changed", "error -32602", "error -32000"]
)]
#[case::tool(
    "list-volume-hidden",
    &["tools over websocket", "breaking", "tool removed: self.audio_speaker.set_volume"]
)]
fn what_a_defect_changes_is_named(#[case] mutant: &str, #[case] texts: &[&str]) {
    let place = Place::new();
    let only = ["--only", "ids/large", "--only", "call/unknown-tool", "--only", "list/"];
    let good = run(&place, "a", &only);
    let bad = run(&place, "b", &[&only[..], &["--mutant", mutant]].concat());
    let done = diff(&place, &[], [&good, &bad]).exits(1).prints(texts);
    // What is to be copied is never broken.
    let copied = |line: &str| {
        ["repro", "first: ", "second: "].iter().any(|label| line.trim_start().starts_with(label))
    };
    let mut wide = done.stdout.lines().filter(|line| line.chars().count() > 80);
    assert!(wide.all(copied), "{done}");
}

#[test]
fn cases_that_only_one_run_has_are_told() {
    let place = Place::new();
    let one = run(&place, "a", &["--only", "ids/large"]);
    let other = run(&place, "b", &["--only", "ids/"]);
    diff(&place, &[], [&one, &other]).exits(1).prints(&["only the second run has", "ids/zero"]);
}

#[test]
fn what_one_of_two_targets_cannot_show_is_no_difference() {
    let place = Place::new();
    let one = run(&place, "a", &["--only", "ids/large"]);
    let other = run(&place, "b", &["--only", "ids/large"]);
    let record = "b/latest/report.json";
    let mut report: Value = serde_json::from_str(&place.read(record)).unwrap();
    let cases = report["cases"].as_array_mut().unwrap();
    let case = cases.iter_mut().find(|case| case["case"] == "ids/large").unwrap();
    case["verdict"] = "not-applicable".into();
    case["reason"] = "needs a radio".into();
    // What a device tells of itself can be anything.
    report["duts"][0]["server"][0] = "\u{1b}[31mname".into();
    place.write(record, report.to_string());
    diff(&place, &[], [&one, &other]).exits(1).prints(&["pass -> not applicable", "needs a radio"]);
    report["run"]["duts"][0]["target"] = "qemu".into();
    place.write(record, report.to_string());
    diff(&place, &[], [&one, &other])
        .exits(0)
        .prints(&["the targets differ", "not compared", "ids/large: needs a radio"])
        .prints(&["firmware     \u{241b}[31mname"]);
}

#[test]
fn an_emulator_is_told_to_disagree_where_it_does() {
    if !qemu() {
        return;
    }
    let place = Place::new();
    let only = ["--only", "ids/", "--only", "call/unknown-tool", "--only", "list/"];
    let here = run(&place, "a", &only);
    let emulated = run(&place, "b", &[&only[..], &["--dut", "qemu"]].concat());
    diff(&place, &[], [&here, &emulated]).exits(0).prints(&[
        "the targets differ",
        "emulated CPU",
        "no difference: ",
    ]);
    let other = ["--dut", "qemu", "--mutant", "unknown-tool-32000"];
    let wrong = run(&place, "c", &[&only[..], &other].concat());
    diff(&place, &[], [&here, &wrong]).exits(1).prints(&[
        "the targets differ",
        "error -32602",
        "error -32000",
    ]);
}

#[test]
fn a_damaged_folder_is_named() {
    let place = Place::new();
    let good = run(&place, "a", &["--only", "ids/large"]);
    let gone = place.path("nowhere");
    diff(&place, &[], [&good, &gone])
        .exits(2)
        .says(&["nowhere/report.json", "hint: name the folder of a run"]);

    let record = "b/latest/report.json";
    let other = run(&place, "b", &["--only", "ids/large"]);
    let text = place.read(record);
    place.write(record, &text[..text.len() / 2]);
    diff(&place, &[], [&good, &other]).exits(2).says(&[record, "not the record of a run"]);
    place.write(record, text);

    let transcript = "b/latest/transcripts/ids.large.jsonl";
    let text = place.read(transcript);
    place.write(transcript, format!("{{\n{text}"));
    diff(&place, &[], [&good, &other])
        .exits(2)
        .says(&["ids.large.jsonl", "line 1 is not an entry"]);
    std::fs::remove_file(place.path(transcript)).unwrap();
    diff(&place, &[], [&good, &other]).exits(2).says(&["ids.large.jsonl", "is missing"]);
}
