//! `--shard` and `mcp-hil merge`: the parts of a run, joined, are the run; and what is not all of one
//! run is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::{Done, Place};
use rstest::rstest;
use serde_json::Value;

/// Runs the native device with arguments, and gives the run's folder.
fn run(place: &Place, name: &str, args: &str, exit: &[i32]) -> PathBuf {
    let folder = place.path(name);
    let out = folder.to_str().unwrap();
    let given = args.split_whitespace();
    let done = place.hil(["run", "--out", out].into_iter().chain(given)).end();
    assert!(done.code.is_some_and(|code| exit.contains(&code)), "{done}");
    folder.join("latest").canonicalize().unwrap()
}

fn merge(place: &Place, out: &str, runs: &[&Path]) -> Done {
    let runs = runs.iter().map(|run| run.to_str().unwrap());
    place.hil(["merge", "--out", out].into_iter().chain(runs)).end()
}

fn report(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The verdict of each case over each transport, and what it broke.
fn verdicts(report: &Value) -> BTreeMap<(String, String), (String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |case: &Value| {
        let findings = case["findings"].as_array().unwrap();
        let slugs = findings.iter().map(|finding| text(&finding["requirement"])).collect();
        let key = (text(&case["transport"]), text(&case["case"]));
        (key, (text(&case["verdict"]), slugs))
    };
    let cases = report["cases"].as_array().unwrap();
    let all: BTreeMap<_, _> = cases.iter().map(of).collect();
    assert_eq!(all.len(), cases.len(), "a case is there twice");
    all
}

/// What must be the same of a whole run and a joined one.
fn sums(report: &Value) -> Value {
    let mut summary = report["summary"].clone();
    for member in [
        "took_us",
        "folder",
        "capabilities",
        "timing",
        "round_trips",
        "in_flight",
        "unanswered",
        "memory",
    ] {
        summary.as_object_mut().unwrap().remove(member);
    }
    summary
}

fn order(report: &Value) -> Vec<&str> {
    let cases = report["cases"].as_array().unwrap();
    cases.iter().map(|case| case["case"].as_str().unwrap()).collect()
}

#[test]
fn three_shards_joined_are_the_whole_run() {
    let place = Place::new();
    let whole = report(&run(&place, "whole", "--seed 5 --cases 4", &[0]));
    let parts: Vec<PathBuf> = (1..=3)
        .map(|number| {
            let args = format!("--seed 5 --cases 4 --shard {number}/3");
            run(&place, &format!("part{number}"), &args, &[0])
        })
        .collect();
    let paths: Vec<&Path> = parts.iter().map(|part| &**part).collect();
    let done = merge(&place, "joined", &paths).exits(0);
    assert!(done.stdout.contains("joined of 3 runs"), "{done}");
    let joined = report(&place.path("joined"));
    assert_eq!(verdicts(&joined), verdicts(&whole));
    assert_eq!(order(&joined), order(&whole));
    assert_eq!(sums(&joined), sums(&whole));
    // None has more than half, and none is empty.
    for part in &parts {
        let report = report(part);
        let cases = order(&report).len();
        assert!(3 < cases && cases < order(&whole).len() / 2, "{cases} in {}", part.display());
        assert_eq!(report["summary"]["unexercised"], serde_json::json!([]));
    }
    // Each transcript is where the report says, and the file for CI readers is there.
    for case in joined["cases"].as_array().unwrap() {
        if let Some(transcript) = case["transcript"].as_str() {
            assert!(place.path("joined").join(transcript).is_file(), "{transcript}");
        }
    }
    let junit = place.read("joined/junit.xml");
    assert_eq!(junit.matches("<testcase ").count(), order(&whole).len(), "{junit}");
    // The copy of each run is one that can be judged again; the joined one is not.
    let copies = std::fs::read_dir(place.path("joined/runs")).unwrap();
    let copy = copies.flatten().next().unwrap().path();
    place.hil(["replay", copy.to_str().unwrap()]).end().exits(0);
    let refused = place.hil(["replay", "joined"]).end().exits(2);
    assert!(refused.stderr.contains("several joined runs"), "{refused}");
    // A shard is missing: it is named, and nothing is written.
    let refused = merge(&place, "hole", &[paths[0], paths[2]]).exits(2);
    assert!(refused.stderr.contains("shard 2/3 of `native/websocket` is missing"), "{refused}");
    assert!(!place.path("hole").exists());
    let refused = merge(&place, "twice", &[paths[0], paths[1], paths[1]]).exits(2);
    assert!(
        refused.stderr.contains("shard 2/3 of `native/websocket` is present twice"),
        "{refused}"
    );
    let refused = merge(&place, "joined", &paths).exits(2);
    assert!(refused.stderr.contains("is not empty"), "{refused}");
    let again = merge(&place, "again", &[&place.path("joined")]).exits(2);
    assert!(again.stderr.contains("already joined"), "{again}");
}

#[test]
fn a_defect_that_one_shard_finds_fails_the_joined_run() {
    let place = Place::new();
    let args = "--seed 1 --cases 0 --only errors/ --mutant error-code-string --transport both";
    let whole = report(&run(&place, "whole", args, &[1]));
    let parts = [1, 2].map(|number| {
        let args = format!("{args} --shard {number}/2");
        run(&place, &format!("part{number}"), &args, &[0, 1])
    });
    let done = merge(&place, "joined", &[&parts[0], &parts[1]]).exits(1);
    assert!(done.stdout.contains("FAIL ["), "{done}");
    let joined = report(&place.path("joined"));
    assert_eq!(verdicts(&joined), verdicts(&whole));
    assert_eq!(joined["summary"]["failed"], whole["summary"]["failed"]);
}

#[test]
fn transports_of_a_device_are_joined_and_a_shard_may_be_empty() {
    let place = Place::new();
    let args = "--seed 1 --cases 0 --only list/";
    let number = order(&report(&run(&place, "count", args, &[0]))).len() - 2;
    // More parts than cases: the last one has nothing but the device itself.
    let of = number + 1;
    let parts: Vec<PathBuf> = (1..=of)
        .map(|shard| {
            run(&place, &format!("p{shard}"), &format!("{args} --shard {shard}/{of}"), &[0])
        })
        .collect();
    assert_eq!(order(&report(&parts[of - 1])), ["session/bring-up", "session/close"]);
    let mqtt = run(&place, "mqtt", &format!("{args} --transport mqtt"), &[0]);
    let mut paths: Vec<&Path> = parts.iter().map(|part| &**part).collect();
    paths.push(&mqtt);
    merge(&place, "joined", &paths).exits(0);
    let joined = report(&place.path("joined"));
    assert_eq!(joined["run"]["duts"].as_array().unwrap().len(), 2);
    assert_eq!(joined["summary"]["duts"], 1);
    assert_eq!(order(&joined).len(), 2 * (number + 2));
}

#[rstest]
#[case::seed("--seed 2 --cases 0 --only ids/", "different seed: expected 1, got 2")]
#[case::arguments("--seed 1 --cases 0 --only ids/ --deadline 9", "different arguments: expected ")]
#[case::selection("--seed 1 --cases 0 --only list/", "different arguments")]
#[case::strict("--seed 1 --cases 0 --only ids/ --strict", "different `--strict`")]
#[case::rules("--seed 1 --cases 0 --only ids/ --rules jsonrpc-2.0", "different rule sets")]
#[case::baseline(
    "--seed 1 --cases 0 --only ids/ --baseline known.toml",
    "different baseline: expected none"
)]
#[case::scenarios(
    "--seed 1 --cases 0 --only ids/ --scenarios own",
    " cases (nothing that the other one has not), got "
)]
#[case::split("--seed 1 --cases 0 --only ids/ --shard 2/3", "was split into 2 shards in")]
fn runs_that_stand_on_something_else_are_refused(#[case] args: &str, #[case] told: &str) {
    let place = Place::new();
    place.write("known.toml", "[[known]]\ncase = \"list/\"\nreason = \"a test\"\n");
    place.write("own/ids/more.yaml", "title: more\nsteps:\n  - request: {method: ping}\n");
    let first = run(&place, "a", "--seed 1 --cases 0 --only ids/ --shard 1/2", &[0]);
    let shard = if args.contains("--shard") { "" } else { " --shard 2/2" };
    let other = run(&place, "b", &format!("{args}{shard}"), &[0, 1]);
    let refused = merge(&place, "joined", &[&first, &other]).exits(2);
    assert!(refused.stderr.contains(told), "{refused}");
    assert!(refused.stderr.contains("hint: "), "{refused}");
}

#[test]
fn a_run_folder_that_is_damaged_is_named() {
    let place = Place::new();
    let args = "--seed 1 --cases 0 --only ids/ --shard";
    let parts =
        [1, 2].map(|part| run(&place, &format!("p{part}"), &format!("{args} {part}/2"), &[0]));
    let file = parts[1].join("report.json");
    let good = std::fs::read_to_string(&file).unwrap();
    let json: Value = serde_json::from_str(&good).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut json = json.clone();
        change(&mut json);
        json.to_string()
    };
    let lost = changed(&|json| {
        json["cases"].as_array_mut().unwrap().remove(1);
    });
    let hidden = changed(&|json| {
        json["cases"].as_array_mut().unwrap().remove(1);
        let cases = json["summary"]["cases"].as_u64().unwrap();
        json["summary"]["cases"] = (cases - 1).into();
    });
    let older = changed(&|json| json["run"]["tool"] = "mcp-hil 0.0.9".into());
    let nothing = changed(&|json| drop(json["run"].as_object_mut().unwrap().remove("basis")));
    let requirements = changed(&|json| json["run"]["basis"]["requirements"] = "00".into());
    let image = changed(&|json| {
        json["duts"][0]["server"] = serde_json::json!(["reference-device", "0.0.1"]);
    });
    let half = good[..good.len() / 2].to_owned();
    for (text, told) in [
        (half, "not the record of a run"),
        (lost, "executed cases, as its summary says"),
        (hidden, "is in none of"),
        (older, "is a run by `mcp-hil 0.0.9`"),
        (nothing, "does not say what the run is based on"),
        (requirements, "was tested against different requirements"),
        (image, "different firmware of `native/websocket`"),
    ] {
        std::fs::write(&file, text).unwrap();
        let refused = merge(&place, "joined", &[&parts[0], &parts[1]]).exits(2);
        assert!(refused.stderr.contains(told), "{told}: {refused}");
        assert!(refused.stderr.contains("p2/"), "{refused}");
        assert!(!place.path("joined").exists());
    }
    std::fs::remove_file(&file).unwrap();
    let refused = merge(&place, "joined", &[&parts[0], &parts[1]]).exits(2);
    assert!(refused.stderr.contains(file.to_str().unwrap()), "{refused}");
    std::fs::write(&file, good).unwrap();
    merge(&place, "joined", &[&parts[0], &parts[1]]).exits(0);
}

#[test]
fn a_shard_whose_bench_failed_makes_the_joined_run_an_error_of_the_bench() {
    let place = Place::new();
    let args = "--seed 1 --cases 0 --only ids/ --shard";
    let good = run(&place, "p1", &format!("{args} 1/2"), &[0]);
    let out = place.path("p2");
    let given = format!("{args} 2/2 --connect-deadline 0.2");
    // A device of the same name that never connects.
    let file = place.write("native.toml", "name = \"native\"\ntarget = \"exec:sleep 30\"\n");
    let mut words = vec!["run", "--out", out.to_str().unwrap(), "--dut", file.to_str().unwrap()];
    words.extend(given.split_whitespace());
    place.hil(words).end().exits(3);
    let lost = out.join("latest").canonicalize().unwrap();
    let refused = merge(&place, "joined", &[&good, &lost]).exits(2);
    assert!(refused.stderr.contains("different target"), "{refused}");
    // What it was run as is not the point here.
    let report_file = lost.join("report.json");
    let text = std::fs::read_to_string(&report_file).unwrap();
    let text = text.replace("\"target\": \"exec\"", "\"target\": \"native\"");
    std::fs::write(&report_file, text).unwrap();
    let done = merge(&place, "joined", &[&good, &lost]).exits(3);
    assert!(done.stdout.contains("p2/"), "{done}");
}

#[test]
fn a_shard_needs_a_seed_and_a_device() {
    let place = Place::new();
    let refused = place.hil(["run", "--shard", "1/2"]).without_env("MCP_HIL_SEED").end().exits(2);
    assert!(refused.stderr.contains("without `--seed`"), "{refused}");
    let refused = place.hil(["run", "--seed", "1", "--shard", "3/2"]).end().exits(2);
    assert!(refused.stderr.contains("such as `2/3`"), "{refused}");
    let gateway = ["run", "--sut", "gateway", "--seed", "1", "--shard", "1/2"];
    let address = "mqtt://127.0.0.1:1/a";
    let more = ["--gateway-in", address, "--gateway-out", "ws://127.0.0.1:1/"];
    let refused = place.hil(gateway.iter().chain(&more)).end().exits(2);
    assert!(refused.stderr.contains("this option is for devices"), "{refused}");
}
