//! `mcp-hil replay`: the same checks over a saved run give the same verdicts, with no device.

use std::collections::BTreeMap;

use crate::support::{Place, files};
use rstest::rstest;
use serde_json::Value;

/// The last report of each case over each transport among events.
fn cases(events: &[Value]) -> BTreeMap<(String, String), Value> {
    let mut cases = BTreeMap::new();
    for event in events {
        if let Some("case-finished" | "case-revised") = event["event"].as_str() {
            let mut case = event.clone();
            case.as_object_mut().unwrap().remove("event");
            // When a run ends, the commands that were tried take the place of those that were given before.
            case.as_object_mut().unwrap().remove("repro");
            let [transport, name] =
                ["transport", "case"].map(|name| case[name].as_str().unwrap().to_owned());
            cases.insert((transport, name), case);
        }
    }
    cases
}

/// A summary without the place of the run.
fn summary(events: &[Value]) -> Value {
    let mut last = events.last().unwrap().clone();
    assert_eq!(last["event"], "run-finished");
    last.as_object_mut().unwrap().remove("folder");
    last
}

#[rstest]
#[case::good(&[], 0)]
#[case::one_defect(&["--mutant", "error-code-string"], 1)]
#[case::late_answers(&["--mutant", "id-string-answered-late", "--strict"], 1)]
#[case::garbage(&["--mutant", "envelope-latin1", "--max-time", "5s"], 1)]
#[case::panics(&["--mutant", "envelope-payload-null-panics"], 1)]
#[case::hangs(&["--mutant", "batch-hangs", "--deadline", "0.5"], 1)]
#[case::warnings(&["--mutant", "list-user-tools-unmarked"], 0)]
#[case::strict(&["--mutant", "list-user-tools-unmarked", "--strict"], 1)]
#[case::insists_on_a_session(&["--mutant", "envelope-session-required"], 0)]
#[case::other_rules(&["--rules", "mcp-2024-11-05", "--rules", "jsonrpc-2.0"], 0)]
#[case::over_mqtt(&["--transport", "mqtt"], 0)]
#[case::over_both(&["--transport", "both"], 0)]
#[case::header_of_audio(&["--transport", "mqtt", "--mutant", "channel-cut"], 1)]
#[case::foreign_goodbye(
    &["--transport", "mqtt", "--mutant", "session-goodbye-foreign-obeyed", "--strict"],
    1
)]
#[case::keep_alive(
    &["--transport", "mqtt", "--mutant", "mqtt-ping-never", "--only", "mqtt/"],
    1
)]
#[case::no_reconnect(
    &["--transport", "mqtt", "--mutant", "mqtt-no-reconnect", "--redial-deadline", "2"],
    1
)]
#[case::password(&["--transport", "mqtt", "--mutant", "mqtt-password-cut"], 1)]
#[case::no_configuration(&["--mutant", "bootstrap-get"], 1)]
#[case::bootstrap(&["--transport", "both", "--mutant", "bootstrap-uuid-other", "--strict"], 1)]
#[case::picture(&["--transport", "both", "--mutant", "vision-token-cut", "--strict"], 1)]
#[case::one_transport(&["--transport", "both", "--mutant", "transport-error-code"], 1)]
#[case::other_words(
    &["--transport", "both", "--mutant", "transport-status-member", "--strict"],
    1
)]
#[case::generated(&["--only", "properties/", "--mutant", "id-int32-saturated", "--seed", "1"], 1)]
#[case::generated_crashes(&["--only", "properties/", "--mutant", "argument-extra-panics"], 1)]
#[case::in_flight(&["--transport", "both", "--in-flight", "64"], 0)]
#[case::in_flight_with_a_doubt(&["--mutant", "id-int32-saturated", "--in-flight", "64"], 1)]
#[case::in_flight_and_panics(
    &["--mutant", "envelope-payload-null-panics", "--in-flight", "64"],
    1
)]
#[case::a_part(&["--only", "list/", "--mutant", "page-cursor-loops"], 1)]
fn a_replay_judges_as_the_run_did(#[case] args: &[&str], #[case] code: i32) {
    let place = Place::new();
    // What is tried again at the end leaves nothing that could be replayed.
    let run = ["run", "--no-confirm", "--format", "json"];
    // Generated inputs are most of a run's work: only some runs need all of them.
    let all =
        args.is_empty() || ["--in-flight", "properties/"].iter().any(|arg| args.contains(arg));
    let few = if all { &[][..] } else { &["--inputs", "3"] };
    let run = place.hil(run.iter().chain(args).chain(few)).end().exits(code);
    let before = std::fs::read(place.path("target/mcp-hil/latest/report.json")).unwrap();
    let replay = ["replay", "target/mcp-hil/latest", "--format", "json", "--junit", "again.xml"];
    // Where there is no device at all.
    let replay = place.hil(replay).env("MCP_HIL_NATIVE", "/nowhere").end().exits(code);
    let (run, replay) = (run.events(), replay.events());
    let (was, is) = (cases(&run), cases(&replay));
    assert!(was.keys().eq(is.keys()));
    for (case, was) in &was {
        assert_eq!(was, &is[case], "{case:?}");
    }
    assert_eq!(summary(&run), summary(&replay));
    // The run's own files stay as they are; the report that was asked for is the run's again.
    let after = std::fs::read(place.path("target/mcp-hil/latest/report.json")).unwrap();
    assert_eq!(before, after);
    assert!(place.read("again.xml").contains("<testsuite"));
    assert_eq!(
        files(&place.path("target")).iter().filter(|f| f.ends_with("report.json")).count(),
        1
    );
}

#[test]
fn a_replay_can_be_judged_more_or_less_strictly() {
    let place = Place::new();
    place.hil(["run", "--mutant", "list-user-tools-unmarked", "--only", "list/"]).end().exits(0);
    let replay = ["replay", "target/mcp-hil/latest"];
    place
        .hil(replay.iter().chain(&["--strict"]))
        .end()
        .exits(1)
        .prints(&["list.user-tools-marked"]);
    place.write("known.toml", "[[known]]\ncase = \"*\"\nreason = \"discussed\"\n");
    let known = ["--strict", "--baseline", "known.toml"];
    place.hil(replay.iter().chain(&known)).end().exits(0).prints(&["KNOWN"]);
}

/// A run, and the text of one of its files.
fn run_with(name: &str) -> (Place, String, String) {
    let place = Place::new();
    place.hil(["run", "--only", "ids/"]).end().exits(0);
    let file = format!("target/mcp-hil/latest/{name}");
    let text = place.read(&file);
    (place, file, text)
}

/// Cuts the text in the middle of its third line.
fn cut(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    format!("{}\n{}\n{}", lines[0], lines[1], &lines[2][..lines[2].len() / 2])
}

#[rstest]
#[case::cut_off(cut, "line 3")]
#[case::no_json(|text: &str| text.replacen('{', "(", 2), "line 1")]
#[case::no_entry(|text: &str| format!("{{}}\n{text}"), "line 1")]
fn a_damaged_transcript_is_named(#[case] damage: fn(&str) -> String, #[case] line: &str) {
    let (place, file, text) = run_with("transcripts/ids.integers.jsonl");
    place.write(&file, damage(&text));
    let done = place.hil(["replay", "target/mcp-hil/latest"]).end().exits(2);
    done.says(&["transcripts/ids.integers.jsonl", line, "hint: "]);
}

#[rstest]
#[case::cut_off(cut, "line 3")]
#[case::empty(|_: &str| String::new(), "line 1")]
#[case::other_json(|_: &str| "{}".to_owned(), "schema")]
#[case::other_schema(|text: &str| text.replacen("\"schema\": 1", "\"schema\": 99", 1), "expected schema 1")]
#[case::other_types(|text: &str| text.replace("\"pass\"", "\"maybe\""), "line")]
fn a_damaged_record_is_named(#[case] damage: fn(&str) -> String, #[case] said: &str) {
    let (place, file, text) = run_with("report.json");
    place.write(&file, damage(&text));
    let done = place.hil(["replay", "target/mcp-hil/latest"]).end().exits(2);
    done.says(&["latest/report.json", said, "hint: "]);
}

/// A full disk cuts lines off, and may take others while room is made on it. What is whole is judged, and nothing is held
/// against a device for what was lost.
#[test]
fn a_run_whose_disk_was_full_is_judged_as_far_as_it_is_whole() {
    let place = Place::new();
    let args = ["run", "--dut", "native", "--mutant", "id-int32-saturated", "--format", "json"];
    let done = place.hil(args.iter().chain(&["--only", "ids/", "--only", "errors/"])).end();
    let done = done.exits(1);
    let mut events: Vec<&str> = done.stdout.lines().collect();
    events.pop();
    let lost = events.iter().position(|line| line.contains("case-started")).unwrap();
    events[lost] = &events[lost][..30];
    place.write("target/mcp-hil/latest/unfinished.jsonl", events.join("\n") + "\n");
    std::fs::remove_file(place.latest().join("report.json")).unwrap();
    for (case, whole) in [("ids.zero-paths", 6), ("errors.method-not-found", 3)] {
        let name = format!("target/mcp-hil/latest/transcripts/{case}.jsonl");
        let text = place.read(&name);
        let kept: String = text.split_inclusive('\n').take(whole).collect();
        place.write(&name, kept + "{\"seq\":");
    }
    let again = place.hil(["replay", "target/mcp-hil/latest", "--format", "json"]).end().exits(3);
    let verdicts = |events: &[Value]| -> BTreeMap<(String, String), Value> {
        cases(events).into_iter().map(|(name, case)| (name, case["verdict"].clone())).collect()
    };
    assert_eq!(verdicts(&again.events()), verdicts(&done.events()));
    let told = again.events().last().unwrap()["bench_error"].as_str().unwrap().to_owned();
    assert!(told.contains("its disk was full") && told.contains("1 of "), "{told}");
}

#[test]
fn what_is_missing_is_named() {
    let (place, ..) = run_with("report.json");
    let replay = |run: &str| place.hil(["replay", run]).end().exits(2);
    replay("nowhere").says(&["nowhere/report.json", "hint: name the folder of a run"]);
    replay("target/mcp-hil").says(&["target/mcp-hil/report.json", "hint: "]);
    std::fs::remove_dir_all(place.latest().join("transcripts")).unwrap();
    replay("target/mcp-hil/latest").says(&["target/mcp-hil/latest/transcripts", "hint: "]);
}

#[test]
fn a_transcript_that_is_gone_is_no_silent_pass() {
    let (place, file, _) = run_with("transcripts/ids.integers.jsonl");
    std::fs::remove_file(place.path(&file)).unwrap();
    let done = place.hil(["replay", "target/mcp-hil/latest"]).end().exits(2);
    done.says(&["transcripts/ids.integers.jsonl", "hint: "]);
}

#[test]
fn own_scenarios_are_needed_again() {
    let place = Place::new();
    place.write("mine/again.yaml", "title: Again\nsteps:\n  - request: {method: ping}\n");
    let own = ["--scenarios", "mine"];
    place.hil(["run", "--only", "own/again"].iter().chain(&own)).end().exits(0);
    let replay = ["replay", "target/mcp-hil/latest"];
    place.hil(replay).end().exits(2).says(&["`own/again`", "mine/again.yaml", "`--scenarios`"]);
    place.hil(replay.iter().chain(&own)).end().exits(0);
}
