//! What the bench does in a run: ports that are used twice, and processes that somebody ends.

use std::path::PathBuf;

use crate::support::{Place, free_port, native};
use rstest::rstest;
use serde_json::Value;

/// A run over both transports at ports that are always the same, as a device needs that was told once.
fn both_at_fixed_ports(place: &Place, dut: &str) {
    let (listen, http) = (free_port(), free_port());
    let run = ["run", "--dut", dut, "--transport", "both", "--cases", "0"];
    let at = ["--listen", &listen, "--http-listen", &http];
    place.hil(run.iter().chain(&at).chain(&["--only", "ids/"])).end().exits(0);
    let report = place.both_reports();
    assert_eq!(report["run"]["duts"].as_array().unwrap().len(), 2);
    for transport in ["websocket", "mqtt"] {
        let cases = report["cases"].as_array().unwrap();
        let of = |case: &&Value| case["transport"] == transport && case["verdict"] == "pass";
        assert!(cases.iter().filter(of).count() > 3, "{transport}: {report}");
    }
}

#[test]
fn both_transports_share_a_fixed_port() {
    both_at_fixed_ports(&Place::new(), "native");
}

#[test]
fn both_transports_share_a_fixed_port_with_a_program_as_the_device() {
    let place = Place::new();
    let dut = format!("exec:{}", native().display());
    both_at_fixed_ports(&place, &dut);
}

/// A device whose process carries out `end` when it is first told to change its volume.
fn device_that(place: &Place, end: &str) -> PathBuf {
    let once = place.path("once");
    place.program(
        "device",
        &format!(
            "exec > >(while IFS= read -r line; do echo \"$line\"
                case $line in *'Set output volume to 42'*)
                    [ -e '{once}' ] || {{ touch '{once}'; {end}; }};;
                esac
             done)
             exec '{native}'",
            once = once.display(),
            native = native().display()
        ),
    )
}

/// Case and verdict.
fn verdict(case: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&case["case"]), text(&case["verdict"]))
}

/// What holds of a run in the middle of which the bench took the device away: one case is spoilt by it,
/// nothing is charged to the device, the rest runs with a fresh one, and a replay sees the same.
fn spoilt_once(place: &Place, why: &str) {
    let report = place.both_reports();
    let summary = &report["summary"];
    assert_eq!((&summary["failed"], &summary["errors"]), (&0.into(), &1.into()), "{report}");
    let cases = report["cases"].as_array().unwrap();
    let at = cases.iter().position(|case| case["verdict"] == "error");
    let reason = cases[at.unwrap()]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the bench, not the device: ") && reason.contains(why), "{reason}");
    let after = cases[at.unwrap() + 1..].iter();
    assert!(after.filter(|case| case["verdict"] == "pass").count() > 1, "{report}");
    let replay = ["replay", "target/mcp-hil/latest", "--format", "json"];
    let again = place.hil(replay).end().exits(3).events();
    let finished = again.iter().filter(|event| event["event"] == "case-finished");
    let finished: Vec<_> = finished.map(verdict).collect();
    assert_eq!(finished, cases.iter().map(verdict).collect::<Vec<_>>());
}

#[rstest]
#[case::killed("exec ", "kill -KILL $$", "its process ended by signal 9 (SIGKILL)")]
#[case::terminated("exec ", "kill -TERM $$", "its process ended by signal 15 (SIGTERM)")]
#[case::killed_under_a_shell("", "kill -KILL $$", "its process exited with code 137")]
#[case::terminated_under_a_shell("", "kill -TERM $$", "its process exited with code 143")]
fn a_device_that_somebody_ends_is_trouble_of_the_bench(
    #[case] shell: &str,
    #[case] end: &str,
    #[case] why: &str,
) {
    let place = Place::new();
    let dut = format!("exec:{shell}{}", device_that(&place, end).display());
    place.hil(["run", "--dut", &dut, "--only", "volume/", "--cases", "0"]).end().exits(3);
    spoilt_once(&place, why);
}

#[rstest]
#[case::crashes("exec ", "kill -ILL $$", "its process ended by signal 4 (SIGILL)")]
#[case::aborts("exec ", "kill -ABRT $$", "its process ended by signal 6 (SIGABRT)")]
#[case::crashes_under_a_shell("", "kill -ABRT $$", "its process exited with code 134")]
fn a_device_that_crashes_has_failed(#[case] shell: &str, #[case] end: &str, #[case] why: &str) {
    let place = Place::new();
    let dut = format!("exec:{shell}{}", device_that(&place, end).display());
    place
        .hil(["run", "--dut", &dut, "--only", "volume/", "--cases", "0"])
        .end()
        .exits(1)
        .prints(&["liveness.no-reset", why]);
    assert_eq!(place.both_reports()["summary"]["errors"], 0);
}
