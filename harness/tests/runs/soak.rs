//! The suite again and again on a device that lives on.

use std::path::Path;
use std::time::Duration;

use crate::support::{Place, native};
use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::Value;

/// A device that notes each start in a file.
fn counted(place: &Place) -> String {
    let text = format!("#!/bin/sh\necho started >> starts\nexec '{}'\n", native().display());
    let script = place.write("device.sh", text);
    format!("exec:sh {}", script.display())
}

fn starts(place: &Place) -> usize {
    place.read("starts").lines().count()
}

fn record(place: &Place) -> Value {
    serde_json::from_str(&place.read("target/mcp-hil/latest/soak.json")).unwrap()
}

fn names(of: &Value) -> Vec<String> {
    let names = of.as_array().into_iter().flatten().map(|round| round["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

const SHORT: [&str; 6] = ["--only", "ids/", "--only", "session/", "--linger", "0"];

#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
fn rounds_follow_one_another_on_one_device_and_make_one_report(#[case] transport: &str) {
    let place = Place::new();
    let dut = counted(&place);
    let soak = ["soak", "--dut", &dut, "--transport", transport, "--for", "6s", "--keep", "1"];
    let end = place.hil(soak.iter().chain(&SHORT)).end();
    let end = end.exits(0);
    let soak = record(&place);
    let rounds = names(&soak["rounds"]);
    assert!(rounds.len() > 1, "{}", end.stdout);
    // Cases that restart it are in the first round alone; the device is started once more by those.
    assert!(starts(&place) < rounds.len() + 2, "{} starts, {rounds:?}", starts(&place));
    let seeds = soak["rounds"].as_array().unwrap().iter().map(|round| round["seed"].as_u64());
    let seeds: std::collections::BTreeSet<_> = seeds.collect();
    assert_eq!(seeds.len(), rounds.len());
    for round in &rounds {
        assert!(end.stdout.contains(&format!("{round}  seed ")), "{}", end.stdout);
    }
    // Only the last round is kept, for nothing was found; it is a run that can be judged again.
    let kept: Vec<_> = std::fs::read_dir(place.latest().join("runs")).unwrap().collect();
    assert_eq!(kept.len(), 1);
    let last = format!("target/mcp-hil/latest/runs/{}", rounds[rounds.len() - 1]);
    place.hil(["replay", &last]).end().exits(0);
    let report = place.both_reports();
    assert_eq!(report["run"]["joined"].as_array().unwrap().len(), rounds.len());
    let cases = report["cases"].as_array().unwrap();
    let ids: std::collections::BTreeSet<_> =
        cases.iter().map(|case| case["case"].as_str()).collect();
    assert_eq!(ids.len(), cases.len());
    assert!(ids.contains(&Some("soak/drift")));
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(2).says(&["joined runs", "`runs`"]);
}

#[test]
fn what_one_round_finds_stays_in_the_report_with_its_round() {
    let place = Place::new();
    let soak =
        ["soak", "--dut", "native", "--mutant", "id-int32-saturated", "--for", "3s", "--keep", "1"];
    let end = place.hil(soak.iter().chain(&SHORT)).end();
    let end = end.exits(1);
    let report = place.both_reports();
    let red =
        report["cases"].as_array().unwrap().iter().find(|case| case["verdict"] == "fail").unwrap();
    let file = red["transcript"].as_str().unwrap();
    assert!(file.starts_with("runs/round-0001/"), "{file}");
    assert!(place.latest().join(file).is_file());
    end.says(&["ids/large: not passed in ", "first in round-0001"]);
}

#[test]
fn a_soak_that_was_stopped_goes_on_where_it_was() {
    let place = Place::new();
    let soak = ["soak", "--dut", "native", "--seed", "7", "--for"];
    let mut first = place.hil(soak.iter().chain(&["1h"]).chain(&SHORT)).start();
    first.out("round-0002");
    first.signal(Signal::SIGINT);
    first.end().exits(130);
    let before = record(&place);
    let done = names(&before["rounds"]).len();
    assert!(done >= 2);
    let folder = std::fs::canonicalize(place.latest()).unwrap();
    let resume = ["--resume", folder.to_str().unwrap()];
    // Another seed is another soak only in its rounds to come; another selection is another one.
    let other = place.hil(soak.iter().chain(&["1s", "--only", "list/"]).chain(&resume)).end();
    other.exits(2).says(&["other options", "--resume"]);
    let took = before["took_us"].as_u64().unwrap();
    let time = format!("{}s", Duration::from_micros(took).as_secs() + 2);
    let end = place.hil(soak.iter().chain(&[time.as_str()]).chain(&SHORT).chain(&resume)).end();
    end.exits(0);
    let after = record(&place);
    let rounds = names(&after["rounds"]);
    assert!(rounds.len() > done, "{rounds:?}");
    assert_eq!(rounds[..done], names(&before["rounds"]));
    assert_eq!(after["rounds"][done]["seed"], 7 + done as u64);
    assert!(!Path::new(&folder).join("soak.new").exists());
}

#[rstest]
#[case::two_transports(&["--transport", "both"], &["one transport", "--transport websocket"])]
#[case::two_devices(&["--dut", "native", "--dut", "qemu"], &["one device"])]
#[case::a_gateway(&["--sut", "gateway"], &["not for gateways"])]
#[case::a_part(&["--shard", "1/2", "--seed", "1"], &["--shard", "--only"])]
#[case::no_soak(&["--resume", "nowhere"], &["soak.json", "folder of a soak"])]
fn what_makes_no_soak_is_refused(#[case] arguments: &[&str], #[case] told: &[&str]) {
    let place = Place::new();
    let named = arguments.contains(&"--dut");
    let dut: &[&str] = if named { &[] } else { &["--dut", "native"] };
    place.hil(["soak"].iter().chain(dut).chain(arguments)).end().exits(2).says(told);
}

#[test]
fn a_leak_of_thirty_two_bytes_a_call_is_attributed_to_the_call() {
    let place = Place::new();
    let run = ["run", "--dut", "native", "--mutant", "memory-leak-status", "--only", "linger/"];
    place.hil(run.iter().chain(&["--linger", "6s", "--strict", "--no-confirm"])).end().exits(1);
    let report = place.report();
    let findings = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|case| case["findings"].as_array().unwrap());
    let mut told = findings.filter(|finding| finding["requirement"] == "liveness.memory-each");
    let told = told.next().expect("a finding on memory");
    let text = told["received"].as_str().unwrap();
    // A line that a busy host reads late puts the calls before it elsewhere: a byte more or less of each.
    let about = (31..=33).any(|each| text.starts_with(&format!("{each} bytes less with each of")));
    assert!(about, "{text}");
    assert!(text.contains("`tools/call self.get_device_status`"), "{text}");
    assert!(!text.contains("ping"), "{text}");
}
