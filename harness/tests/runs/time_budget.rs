//! Runs with little time: what they carry out, and what they say of the rest.

use std::collections::BTreeSet;

use crate::support::{Place, native};
use serde_json::Value;

/// The cases of a list in a report.
fn ids(list: &Value, member: Option<&str>) -> BTreeSet<String> {
    let of = |value: &Value| {
        let id = member.map_or(value, |member| &value[member]);
        id.as_str().unwrap_or_default().to_owned()
    };
    list.as_array().into_iter().flatten().map(of).collect()
}

#[test]
fn a_run_without_time_names_what_it_left_out() {
    let place = Place::new();
    let run =
        ["run", "--dut", "native", "--transport", "websocket", "--only", "ids/", "--only", "list/"];
    let ended = place.hil(run.iter().chain(&["--time-budget", "1ms"])).end().exits(4);
    assert!(ended.stdout.contains("for lack of time (`--time-budget 0.001s`)"), "{}", ended.stdout);
    let summary = &place.report()["summary"];
    let left_out = ids(&summary["left_out"]["native/websocket"], None);
    assert!(left_out.contains("ids/large"), "{left_out:?}");
    place.hil(run.iter().chain(&["--time-budget", "1h"])).end().exits(0);
    let report = place.report();
    assert_eq!(report["summary"]["left_out"], Value::Null);
    assert_eq!(report["summary"]["stopped"], Value::Null);
    let done = ids(&report["cases"], Some("case"));
    assert!(done.is_superset(&left_out), "{left_out:?}");
}

/// On a slow device that has time for a part of the suite only, that is the part which finds most, and what somebody
/// wrote for himself.
#[test]
fn a_run_with_little_time_does_what_finds_most() {
    let place = Place::new();
    let own = "title: One's own\nsteps:\n  - request: {method: ping}\n    \
               expect: {requirement: jsonrpc.answer-required, answer: any}\n";
    place.write("more/own/mine.yaml", own);
    let dut = format!("exec:{} --delay-ms 50", native().display());
    let run = ["run", "--dut", &dut, "--transport", "websocket", "--linger", "0", "--seed", "1"];
    place.hil(run.iter().chain(&["--time-budget", "8s", "--scenarios", "more"])).end().exits(0);
    let report = place.report();
    let done = ids(&report["cases"], Some("case"));
    let left_out = ids(&report["summary"]["left_out"]["exec/websocket"], None);
    assert!(done.is_disjoint(&left_out), "{done:?} {left_out:?}");
    assert!(done.contains("own/mine"), "{done:?}");
    // Getting to know the device is part of every run; of what finds least, nothing is.
    assert!(left_out.contains("volume/log") && left_out.contains("ids/paths"), "{left_out:?}");
}
