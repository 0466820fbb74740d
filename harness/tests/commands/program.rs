//! The program as its users see it: what it prints, what it writes, how it exits.

mod refusals;
use std::process::Stdio;

use crate::support::{Place, files, native};
use rstest::rstest;
use serde_json::Value;

#[test]
fn one_command_starts_and_judges_the_native_device() {
    let place = Place::new();
    let done = place.hil(["run"]).end().exits(0);
    let first = done.stdout.lines().next().unwrap();
    assert!(first.contains("native") && first.contains("simulation, no board attached"), "{first}");
    assert!(done.stdout.contains(" Summary ["), "{done}");
    assert_eq!(done.stderr, "", "nothing to talk about\n{done}");
    let report = place.both_reports();
    assert_eq!(report["run"]["duts"][0]["fidelity"], "simulation, no board attached");
    let summary = &report["summary"];
    assert_eq!((&summary["exit"], &summary["failed"]), (&0.into(), &0.into()));
    assert!(summary["unexercised"].as_array().unwrap().is_empty());
    assert_eq!(summary["required"], summary["exercised"]);
    // `latest` is a link, so that it can be named in a script and moves on.
    assert!(place.latest().symlink_metadata().unwrap().is_symlink());
    assert!(place.read("target/mcp-hil/latest/console.log").contains("MCP: "));
    for case in report["cases"].as_array().unwrap() {
        let Some(name) = case["transcript"].as_str() else {
            continue;
        };
        let text = place.read(&format!("target/mcp-hil/latest/{name}"));
        assert!(!text.is_empty(), "{name}");
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).expect("an entry a line");
            assert_eq!(entry["case"], case["case"]);
        }
    }
}

/// A folder that was copied from a CI server, perhaps.
#[test]
fn a_folder_in_the_place_of_the_link_is_left_and_told() {
    let place = Place::new();
    place.write("target/mcp-hil/latest/report.json", "of another run");
    let done = place.hil(["run", "--dut", "native", "--only", "ids/zero"]).end().exits(0);
    done.says(&["`target/mcp-hil/latest` is no link", "this run is in `target/mcp-hil/2"]);
    assert_eq!(place.read("target/mcp-hil/latest/report.json"), "of another run");
}

#[test]
fn only_what_was_selected_runs() {
    let place = Place::new();
    place.hil(["run", "--only", "ids/", "--only", "volume/up"]).end().exits(0);
    let report = place.report();
    let cases: Vec<&str> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["case"].as_str().unwrap())
        .collect();
    let planned = cases.iter().filter(|case| !["session/bring-up", "session/close"].contains(case));
    assert!(
        planned.clone().all(|case| case.starts_with("ids/") || *case == "volume/up"),
        "{cases:?}"
    );
    assert!(planned.count() >= 9, "{cases:?}");
    assert_eq!(report["run"]["cases"], cases.len());
    assert!(cases.contains(&"volume/up"));
    // A requirement selects the cases that judge it.
    place.hil(["run", "--only", "ids.zero"]).end().exits(0).prints(&["ids/integers"]);
}

#[test]
fn junit_goes_where_it_is_wanted() {
    let place = Place::new();
    place.hil(["run", "--only", "ids/", "--junit", "deep/er/results.xml"]).end().exits(0);
    let own = place.read("target/mcp-hil/latest/junit.xml");
    assert_eq!(place.read("deep/er/results.xml"), own);
    assert!(own.contains("<testsuite") && own.contains("ids/integers"), "{own}");
}

#[test]
fn who_reads_no_notices_ends_no_run() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = ["run", "--dut", "wait", "--listen", "127.0.0.1:0", "--connect-deadline", "0.2"];
    let mut program = place.hil(run).0;
    let done = program.stderr(writer).output().unwrap();
    assert!(String::from_utf8_lossy(&done.stdout).contains("Summary"), "{done:?}");
    assert_eq!(done.status.code(), Some(3), "{done:?}");
}

#[test]
fn events_are_json_one_a_line() {
    let place = Place::new();
    let done = place.hil(["run", "--only", "ids/", "--format", "json"]).end().exits(0);
    let events = done.events();
    assert_eq!(events[0]["event"], "run-started");
    assert_eq!(events[0]["schema"], 1);
    assert_eq!(events[1]["event"], "dut-ready");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["exit"]), (&"run-finished".into(), &0.into()));
    assert_eq!(done.stderr, "");
}

/// A record without what differs from run to run.
fn normalised(mut report: Value) -> String {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(members) => {
                // The port of the HTTP endpoint is any that was free.
                for name in
                    ["took_us", "waited_us", "started", "run", "folder", "seq", "vision.url"]
                {
                    // The record's member `run` is an object, the name of a run is a text. Console
                    // lines come when they come, and count in `seq`.
                    if members.get(name).is_some_and(|member| !member.is_object()) {
                        members.remove(name);
                    }
                }
                // How small a failure became has a limit in time, too.
                if members.contains_key("input") {
                    for name in ["to", "steps", "cut_short", "requirements"] {
                        members.remove(name);
                    }
                }
                members.values_mut().for_each(clean);
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            _ => {}
        }
    }
    let run = report["run"]["run"].as_str().unwrap().to_owned();
    report["summary"].as_object_mut().unwrap().remove("timing");
    // What moves is read once more, and how often depends on how busy the machine is.
    report["summary"].as_object_mut().unwrap().remove("round_trips");
    clean(&mut report);
    // Files of the run are named by their paths.
    let text = serde_json::to_string_pretty(&report).unwrap();
    text.replace(&run, "RUN")
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let run = || {
        let place = Place::new();
        place
            // On a busy machine time would end what is generated sooner. One property shows it, and makes it small.
            .hil(
                ["run", "--seed", "7", "--max-time", "1h"]
                    .into_iter()
                    .chain(["--mutant", "id-int32-saturated"]),
            )
            .end()
            .exits(1);
        normalised(place.report())
    };
    let (first, second) = (run(), run());
    for (a, b) in first.lines().zip(second.lines()) {
        assert_eq!(a, b);
    }
    assert!(first.contains("\"seed\": 7"));
}

#[test]
fn a_broken_should_fails_only_when_it_is_strict() {
    let place = Place::new();
    let args = ["run", "--mutant", "list-user-tools-unmarked", "--only", "list/", "--verbose"];
    let done = place.hil(args).end().exits(0).prints(&["list.user-tools-marked", "SHOULD"]);
    assert!(!done.stdout.contains("FAIL"), "{done}");
    let done = place.hil(args.iter().chain(&["--strict"])).end().exits(1);
    let done = done.prints(&["FAIL", "list.user-tools-marked"]);
    let repro = done.stdout.lines().find(|line| line.contains("repro")).unwrap();
    assert!(repro.contains("--strict"), "{repro}");
}

#[test]
fn a_failure_shows_what_a_bug_report_needs() {
    let place = Place::new();
    let args = ["run", "--mutant", "error-code-missing", "--only", "errors/method-not-found"];
    place.hil(args).end().exits(1).prints(&[
        "simulation with a seeded defect",
        "FAIL",
        "errors.code-integer",
        "requirement  ",
        "expected ",
        "received ",
        "sent ",
        "repro        mcp-hil run --dut native --mutant error-code-missing --only errors/method-not-found",
    ]);
    assert!(place.read("target/mcp-hil/latest/junit.xml").contains("<failure"));
}

#[test]
fn other_folders_for_runs_and_other_devices() {
    let place = Place::new();
    let dut = format!("exec:'{}'", native().display());
    place.hil(["run", "--dut", &dut, "--only", "ids/", "--out", "runs/here"]).end().exits(0);
    assert!(place.path("runs/here/latest/report.json").exists());
    assert!(!place.path("target").exists());
    // Runs within one second have folders of their own.
    place.hil(["run", "--dut", &dut, "--only", "ids/", "--out", "runs/here"]).end().exits(0);
    assert_eq!(std::fs::read_dir(place.path("runs/here")).unwrap().count(), 3);
}

#[test]
fn a_device_is_told_where_to_dial_by_its_environment() {
    let place = Place::new();
    let dut = format!("exec:env | grep ^MCP_HIL_; exec '{}'", native().display());
    place
        .hil(["run", "--dut", &dut, "--only", "ids/", "--token", "a-token-to-find"])
        .end()
        .exits(0);
    let console = place.read("target/mcp-hil/latest/console.log");
    for told in [
        "MCP_HIL_TRANSPORT=websocket",
        "MCP_HIL_WS_URL=ws://127.0.0.1:",
        "MCP_HIL_WS_TOKEN=${MCP_HIL_WS_TOKEN}",
    ] {
        assert!(console.contains(told), "no `{told}` in {console}");
    }
}

#[rstest]
#[case::by_argument(true)]
#[case::by_environment(false)]
fn the_token_is_written_nowhere(#[case] argument: bool) {
    const TOKEN: &str = "s3cret-t0ken-0123456789";
    let place = Place::new();
    // A device that tells it to everybody.
    let dut = format!("exec:env; echo \"I have $MCP_HIL_WS_TOKEN\"; exec '{}'", native().display());
    let args = ["run", "--dut", &dut, "--format", "json", "--junit", "own.xml"];
    let done = match argument {
        true => place.hil(args.iter().chain(&["--token", TOKEN])).end(),
        false => place.hil(args).env("MCP_HIL_TOKEN", TOKEN).end(),
    };
    let done = done.exits(0);
    assert!(place.read("target/mcp-hil/latest/console.log").contains("I have ${MCP_HIL_WS_TOKEN}"));
    assert!(!done.stdout.contains(TOKEN) && !done.stderr.contains(TOKEN), "{done}");
    // The token of pictures is made up, and told to the device alone.
    assert!(
        place
            .read("target/mcp-hil/latest/report.json")
            .contains("\"vision.token\": \"${MCP_HIL_VISION_TOKEN}\"")
    );
    let all = files(&place.path("."));
    assert!(all.len() > 50);
    for file in all {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(TOKEN), "{}", file.display());
    }
}

#[test]
fn list_and_explain_need_no_device() {
    let place = Place::new();
    let hil = |args: &[&str]| place.hil(args).env("MCP_HIL_NATIVE", "/nowhere").end().exits(0);
    let cases = hil(&["list"]).stdout;
    assert!(cases.lines().count() > 50, "{cases}");
    let requirements = hil(&["list", "--requirements"]).stdout;
    assert!(requirements.lines().count() >= 90, "{requirements}");
    let ids = hil(&["list", "ids/"]).stdout;
    assert!(ids.lines().all(|line| line.starts_with("ids/")), "{ids}");
    hil(&["list", "--requirements", "--rules", "mcp-2024-11-05"]).prints(&["MUST"]);
    hil(&["explain", "ids.zero"]).prints(&["MUST", "JSON-RPC 2.0", "Judged by: ids/integers"]);
    hil(&["explain", "ids/integers"]).prints(&["ids.zero", "mcp-hil run --only ids/integers"]);
    assert!(!place.path("target").exists(), "they write nothing");
    // Everything that is listed can be explained.
    for id in [&cases, &requirements].map(|text| text.split_whitespace().next().unwrap()) {
        hil(&["explain", id]);
    }
}

#[test]
fn a_full_disk_does_not_cost_the_verdict() {
    let place = Place::new();
    let run = ["run", "--only", "ids/"];
    let done = place.hil(run.iter().chain(&["--junit", "/dev/full"])).end().exits(3);
    done.prints(&[" Summary ["]).says(&["cannot write /dev/full"]);
    place.both_reports();
    let args = ["--junit", "/dev/full", "--mutant", "error-code-string", "--only", "errors/"];
    place.hil(run.iter().chain(&args)).end().exits(1).prints(&["FAIL"]);
    // Not even standard output: the record is there all the same.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done = place.hil(run).stdout(full).end();
    done.says(&["cannot write standard output"]);
    assert_eq!(place.both_reports()["summary"]["exit"], 0);
}

#[rstest]
#[case::human("human")]
#[case::json("json")]
fn a_reader_who_goes_away_changes_nothing(#[case] format: &str) {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = place.hil(["run", "--only", "ids/", "--format", format]).stdout(Stdio::from(writer));
    run.end().exits(0);
    assert_eq!(place.both_reports()["summary"]["exit"], 0);
    for args in [&["list"][..], &["explain", "ids.zero"], &["replay", "target/mcp-hil/latest"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        place.hil(args).stdout(Stdio::from(writer)).end().exits(0);
    }
}
