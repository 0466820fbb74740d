//! Messages under way together change how long a run takes, and nothing that it says.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Place, native};
use serde_json::Value;

/// What a run says: each case with its verdict, and with what was found about it.
fn told(report: &Value) -> BTreeSet<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cases = report["cases"].as_array().expect("cases");
    let mut told = BTreeSet::new();
    for case in cases {
        let id = text(&case["case"]);
        for finding in case["findings"].as_array().into_iter().flatten() {
            told.insert((id.clone(), text(&finding["requirement"])));
        }
        told.insert((id, text(&case["verdict"])));
    }
    told
}

/// How often a run over WebSocket waited for its device.
fn round_trips(report: &Value) -> u64 {
    let trips = report["summary"]["round_trips"].as_object().expect("round trips");
    trips.values().filter_map(Value::as_u64).sum()
}

/// Whether any case of the last run was carried out again, each message alone.
fn was_tried_alone(place: &Place) -> bool {
    let folder = place.latest().join("transcripts");
    let files = std::fs::read_dir(folder).expect("transcripts");
    let mut texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.any(|text| text.contains(r#""mark":"alone""#))
}

#[test]
fn a_slow_device_is_waited_for_less_often_and_told_the_same() {
    let dut = format!("exec:{} --delay-ms 40", native().display());
    let selection = [
        "call/",
        "errors/",
        "ids/",
        "list/",
        "volume/",
        "robustness/long-string",
        "properties/schemas",
    ];
    let only = selection.iter().flat_map(|area| ["--only", area]);
    let run = ["run", "--dut", &dut, "--transport", "websocket", "--seed", "1", "--linger", "0"];
    let run: Vec<&str> = run.into_iter().chain(only).collect();
    let place = Place::new();
    place.hil(&run).end().exits(0);
    let alone = place.report();
    assert!(!was_tried_alone(&place));
    place.hil(run.iter().chain(&["--in-flight", "32"])).end().exits(0);
    let together = place.report();
    let in_flight = together["summary"]["in_flight"].as_object().expect("of each device");
    assert_eq!(in_flight.values().collect::<Vec<_>>(), [32]);
    assert_eq!(told(&together), told(&alone));
    let (few, many) = (round_trips(&together), round_trips(&alone));
    assert!(few * 3 < many, "{few} of {many}");
    assert!(!was_tried_alone(&place));
}

#[test]
fn a_device_is_asked_one_by_one_unless_more_is_allowed() {
    let place = Place::new();
    place.hil(["run", "--dut", "native", "--only", "volume/"]).end().exits(0);
    let usual = round_trips(&place.report());
    place.hil(["run", "--dut", "native", "--only", "volume/", "--in-flight", "64"]).end().exits(0);
    let together = round_trips(&place.report());
    assert!(together * 2 < usual, "{together} of {usual}");
}

#[test]
fn what_leaves_a_doubt_is_tried_alone() {
    // A setting that changes, silence, and an error; what is wrong in a result leaves no doubt.
    let defects = [
        ("session-hello-repeated-dims", "session/hello-again", true),
        ("unknown-tool-silent", "errors/", true),
        ("missing-name-32603", "call/bad-params", true),
    ];
    for (mutant, only, doubtful) in defects {
        let place = Place::new();
        let run = ["run", "--dut", "native", "--mutant", mutant, "--only", only, "--no-confirm"];
        let run = [&run[..], &["--transport", "websocket", "--seed", "1", "--strict"]].concat();
        place.hil(&run).end().exits(1);
        let alone = told(&place.report());
        place.hil(run.iter().chain(&["--in-flight", "64"])).end().exits(1);
        assert_eq!(told(&place.report()), alone, "{mutant}");
        assert_eq!(was_tried_alone(&place), doubtful, "{mutant}");
    }
}

#[test]
fn a_device_that_answers_no_call_is_not_waited_for_each_time() {
    let place = Place::new();
    let run = ["run", "--dut", "native", "--mutant", "calls-silent", "--transport", "websocket"];
    let only = ["--only", "call/", "--only", "volume/", "--seed", "1", "--no-confirm"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.report();
    let told = told(&report);
    assert!(told.iter().any(|(_, what)| what == "jsonrpc.answer-required"), "{told:?}");
    let of_device = report["summary"]["unanswered"].as_object().expect("unanswered");
    let sum = |what: &str| of_device.values().filter_map(|one| one[what].as_u64()).sum::<u64>();
    // Only the first ones are waited for as long as an answer may take.
    let (number, waited) = (sum("number"), Duration::from_micros(sum("waited_us")));
    assert!(waited < Duration::from_secs(number), "{number}: {waited:?}");
}

#[test]
fn a_device_without_room_for_so_many_is_not_accused_and_gets_them_one_by_one() {
    let place = Place::new();
    let run =
        ["run", "--dut", "native", "--variant", "calls-not-queued", "--transport", "websocket"];
    let only = ["--only", "volume/", "--only", "arguments/", "--only", "status/", "--seed", "1"];
    place.hil(run.iter().chain(&only).chain(&["--in-flight", "64"])).end().exits(0);
    assert!(was_tried_alone(&place));
    assert!(place.report()["summary"].get("in_flight").is_none());
}
