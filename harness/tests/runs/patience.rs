//! A device that stalls now and then is accused of what it does wrong, and of nothing else.

use std::collections::BTreeSet;

use crate::support::{Place, native};
use mcp_hil_core::transcript::{What, read_jsonl};
use mcp_hil_core::wire::Frame;
use serde_json::Value;

/// Enough calls that the device ignores for waits to have got short, if they ever do; then cases that only
/// ask whether it lives.
const CASES: [&str; 6] = ["--only", "call/", "--only", "errors/", "--only", "robustness/"];

/// What a mutant is accused of: case and requirement; a case that shows nothing has none.
fn accusations(mutant: &str, seed: &str) -> BTreeSet<(String, String)> {
    let place = Place::new();
    let run = ["run", "--dut", "native", "--mutant", mutant, "--seed", seed];
    place
        .hil(run.iter().chain(&CASES).chain(&["--snapshots", "off"]))
        .env("MCP_HIL_NATIVE", native())
        .end()
        .exits(1);
    let report = place.report();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cases = report["cases"].as_array().expect("cases");
    let mut told = BTreeSet::new();
    for case in cases {
        if case["verdict"] == "inconclusive" || case["verdict"] == "error" {
            told.insert((text(&case["case"]), text(&case["verdict"])));
        }
        for finding in case["findings"].as_array().into_iter().flatten() {
            told.insert((text(&case["case"]), text(&finding["requirement"])));
        }
    }
    told
}

#[test]
fn a_stall_is_no_silence() {
    let expected = accusations("unknown-tool-silent", "1");
    assert!(!expected.is_empty());
    // Which message meets a stall depends on the seed.
    for seed in ["1", "3"] {
        let told = accusations("unknown-tool-silent-stalls", seed);
        assert_eq!(told, expected, "seed {seed}");
    }
}

#[test]
fn what_came_under_another_id_is_not_waited_for() {
    let place = Place::new();
    let run = ["run", "--dut", "native", "--mutant", "id-int32-saturated"];
    let only = ["--only", "properties/ids", "--seed", "5"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let file = place.latest().join("transcripts/properties.ids.jsonl");
    let entries = read_jsonl(&std::fs::read_to_string(file).expect("a transcript"));
    let entries = entries.expect("it reads");
    let looks = |step: Option<&str>| step.is_some_and(|step| step == "late-look");
    let looked = entries.iter().filter(|entry| looks(entry.step.as_deref()));
    // The device streams audio meanwhile, so a look leaves traces.
    assert_eq!(looked.count(), 0);
}

#[test]
fn a_restart_of_a_device_that_takes_its_time_is_no_wait() {
    let place = Place::new();
    let run = ["run", "--dut", "native", "--variant", "calls-apart"];
    let only = ["--only", "properties/state", "--seed", "1", "--cases", "12"];
    place.hil(run.iter().chain(&only)).end().exits(0);
    let file = place.latest().join("transcripts/properties.state.jsonl");
    let entries = read_jsonl(&std::fs::read_to_string(file).expect("a transcript"));
    let mut ups = 0;
    let (mut up, mut longest) = (None, 0);
    for entry in entries.expect("it reads") {
        let is_hello =
            |frame: &Frame| matches!(frame, Frame::Text(text) if text.contains("\"hello\""));
        match &entry.what {
            What::LinkUp { .. } => up = Some(entry.at_us),
            What::Received { frame } if is_hello(frame) => {
                ups += 1;
                longest = longest.max(entry.at_us - up.take().unwrap_or(entry.at_us));
            }
            _ => {}
        }
    }
    assert!(ups > 1, "{ups}");
    // The hello of a device that has just started is not held back until the life before would be over.
    assert!(longest < 2_000_000, "{longest} us");
}
