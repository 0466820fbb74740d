//! Several devices in one run: one stream of events, one summary, and a folder for each device.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{Done, Place, native};
use serde_json::Value;

/// Few cases, and no generated inputs.
const BRIEF: [&str; 7] = ["--only", "ids/", "--inputs", "0", "--seed", "3", "--no-confirm"];

fn run(place: &Place, args: &[&str]) -> Done {
    place.hil(["run"].iter().chain(args).chain(&BRIEF)).end()
}

/// A device with a defect, as a file.
fn with_defect(place: &Place, name: &str, mutant: &str) -> String {
    let native = native().display();
    let text = format!("name = \"{name}\"\ntarget = \"exec:{native} --mutant {mutant}\"\n");
    place.write(&format!("{name}.toml"), text);
    format!("{name}.toml")
}

fn record(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The cases of a device that a record has, each with its verdict.
fn cases(record: &Value, dut: &str) -> BTreeSet<(String, String)> {
    let cases = record["cases"].as_array().unwrap().iter().filter(|case| case["dut"] == *dut);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    cases.map(|case| (text(&case["case"]), text(&case["verdict"]))).collect()
}

#[test]
fn devices_are_tested_at_once_and_told_apart_everywhere() {
    let place = Place::new();
    let broken = with_defect(&place, "broken", "id-int32-saturated");
    let done = run(&place, &["--dut", "native", "--dut", &broken, "--dut", "native"]).exits(1);
    let done = done.prints(&["3 devices at once", "on 3 DUTs", "broken/ws"]);
    assert!(done.stdout.contains("native-2/ws"), "{done}");
    assert_eq!(done.stdout.matches(" Summary ").count(), 1, "{done}");
    let whole = record(&place.latest());
    assert_eq!(whole["run"]["joined"], serde_json::json!(["native", "broken", "native-2"]));
    for name in ["native", "broken", "native-2"] {
        let folder = place.latest().join("runs").join(name);
        let alone = record(&folder);
        assert_eq!(cases(&whole, name), cases(&alone, name), "{name}");
        assert_eq!(alone["run"]["seed"], 3);
        for file in ["junit.xml", "report.html", "console.log"] {
            assert!(folder.join(file).is_file(), "{name}/{file}");
        }
    }
    // Each transcript is where the whole says.
    for case in whole["cases"].as_array().unwrap() {
        if let Some(transcript) = case["transcript"].as_str() {
            assert!(place.latest().join(transcript).is_file(), "{transcript}");
        }
    }
    let causes = whole["summary"]["causes"].as_array().unwrap();
    assert!(causes.iter().all(|cause| cause["dut"] == "broken"), "{causes:?}");
    let junit = std::fs::read_to_string(place.latest().join("junit.xml")).unwrap();
    for suite in ["native/websocket", "broken/websocket", "native-2/websocket"] {
        assert!(junit.contains(&format!("<testsuite name=\"{suite}\"")), "{junit}");
    }
    // Each device's folder is a run like any other; the whole is none.
    place.hil(["replay", "target/mcp-hil/latest/runs/broken"]).end().exits(1);
    let refused = place.hil(["replay", "target/mcp-hil/latest"]).end().exits(2);
    assert!(refused.stderr.contains("several joined runs"), "{refused}");
}

#[test]
fn a_bench_that_fails_for_one_device_stops_no_other() {
    let place = Place::new();
    let gone = "name = \"gone\"\ntarget = \"board\"\n[board]\nport = \"/dev/nothing-there\"\n";
    place.write("duts/gone.toml", gone);
    let here = format!("name = \"here\"\ntarget = \"exec:{}\"\n", native().display());
    place.write("duts/here.toml", here);
    place.write("duts/examples/other.toml", "nonsense");
    let done = run(&place, &["--dut", "duts", "--jobs", "1"]).exits(3);
    let done = done.prints(&["on 2 DUTs", "bench error", "gone: ", "/dev/nothing-there"]);
    let whole = record(&place.latest());
    let here = cases(&whole, "here");
    assert!(here.len() > 3 && here.iter().all(|(_, verdict)| verdict == "pass"), "{done}");
}

#[test]
fn devices_that_cannot_be_told_apart_are_refused_before_anything_starts() {
    let place = Place::new();
    let native = native().display();
    for folder in ["one", "two"] {
        let text = format!("name = \"same\"\ntarget = \"exec:{native}\"\n");
        place.write(&format!("{folder}/dut.toml"), text);
    }
    place.write("empty/readme.txt", "");
    place.write("typo/good.toml", "name = \"good\"\ntarget = \"native\"\n");
    place.write("typo/odd.toml", "name = \"odd\"\ntarget = \"nativ\"\n");
    for (args, told) in [
        (&["--dut", "one", "--dut", "two"][..], "two devices are named `same`"),
        (&["--dut", "empty"], "expected a folder with device files"),
        // A mistake in one file is none of the bench: all would have to run again.
        (&["--dut", "typo"], "`typo/odd.toml`: unknown device `nativ`"),
        (
            &["--dut", "one", "--dut", "native", "--listen", "127.0.0.1:4711"],
            "each needs a port of its own",
        ),
    ] {
        let refused = run(&place, args).exits(2);
        assert!(refused.stderr.contains(told), "{refused}");
    }
    assert!(!place.path("target").exists());
}

#[test]
fn a_profile_is_read_from_the_folder_where_the_program_starts() {
    let place = Place::new();
    place.write(
        "mcp-hil.toml",
        "[profile.default]\nout = 'runs-of-default'\n[profile.two]\ndut = ['native', 'native']\n",
    );
    let brief = ["run", "--only", "ids/zero", "--inputs", "0"];
    place.hil(brief).end().exits(0);
    assert!(place.path("runs-of-default/latest/report.json").is_file());
    let two = place.hil(brief).env("MCP_HIL_PROFILE", "two").end().exits(0);
    assert!(two.stdout.contains("on 2 DUTs"), "{two}");
    let typed = place.hil(brief).arg("--profile").arg("two").arg("--dut").arg("native").end();
    assert!(typed.exits(0).stdout.contains("on 1 DUT"));
    place.write("mcp-hil.toml", "[profile.ci]\nstrikt = true\n");
    let refused = place.hil(brief).end().exits(2);
    assert!(refused.stderr.contains("mcp-hil.toml:2: unknown option `strikt`"), "{refused}");
    assert!(refused.stderr.contains("did you mean `strict`?"), "{refused}");
}

#[test]
fn a_run_stops_after_the_failures_that_it_may_have_and_goes_on_with_what_failed() {
    let place = Place::new();
    let broken = with_defect(&place, "broken", "id-int32-saturated");
    let stopped = run(&place, &["--dut", &broken, "--fail-fast"]).exits(1);
    let stopped = stopped.prints(&["stopped", "after the first failure, with ", "1 failed"]);
    let few = cases(&record(&place.latest()), "broken");
    assert!(few.iter().all(|(case, _)| case != "ids/zero-paths"), "{stopped}");
    // Of all devices together, and what has not begun does not begin.
    let args = ["--dut", &broken, "--dut", "native", "--jobs", "1", "--max-fail", "1"];
    run(&place, &args).exits(1).prints(&["stopped", "1 failed"]);
    assert!(cases(&record(&place.latest()), "native").is_empty());
    // The newest verdict of each case counts, whichever run had it.
    run(&place, &["--dut", &broken, "--exclude", "ids/large"]).exits(1);
    let again = run(&place, &["--dut", &broken, "--last-failed"]).exits(1);
    let failed: Vec<String> = cases(&record(&place.latest()), "broken")
        .into_iter()
        .filter(|(case, _)| case.starts_with("ids/"))
        .map(|(case, _)| case)
        .collect();
    assert_eq!(failed, ["ids/large", "ids/pages", "ids/paths"], "{again}");
    let nothing = run(&place, &["--dut", "native", "--last-failed"]).exits(0);
    assert!(nothing.stderr.contains("no earlier run of `native`"), "{nothing}");
    let typo = run(&place, &["--dut", "native", "--exclude", "ids/larg3"]).exits(2);
    assert!(typo.stderr.contains("did you mean `ids/large`?"), "{typo}");
}

#[test]
fn a_case_that_passes_when_it_is_tried_again_is_flaky_and_never_green_in_silence() {
    let place = Place::new();
    let native = native().display();
    // It has the defect until it is started for the second time.
    let script = format!(
        "#!/bin/sh\nif [ -e started ]; then exec {native}; fi\ntouch started\n\
         exec {native} --mutant id-int32-saturated\n"
    );
    place.write("device.sh", script);
    let flaky = |more: &[&str]| {
        let _ = std::fs::remove_file(place.path("started"));
        let args = ["run", "--dut", "exec:sh device.sh", "--only", "ids/large", "--no-confirm"];
        place.hil(args.iter().chain(more)).end()
    };
    flaky(&[]).exits(1);
    let done = flaky(&["--retries", "2", "--summary", "summary.md"]).exits(0);
    done.prints(&["FLAKY", "passed in attempt 2", "1 flaky", "id 2147483648"]);
    let whole = record(&place.latest());
    let case = whole["cases"].as_array().unwrap().iter().find(|case| case["case"] == "ids/large");
    let case = case.unwrap();
    assert_eq!((&case["verdict"], &case["flaky"]), (&"fail".into(), &true.into()), "{case}");
    let junit = std::fs::read_to_string(place.latest().join("junit.xml")).unwrap();
    assert!(junit.contains("<flakyFailure message="), "{junit}");
    assert!(place.read("summary.md").contains("FLAKY exec/ws ids/large"));
    // What was recorded says the same again.
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(0).prints(&["1 flaky"]);
    flaky(&["--retries", "1", "--flaky-result", "fail"]).exits(1).prints(&["cases were flaky"]);
    // One that fails each time is none.
    let broken = with_defect(&place, "broken", "id-int32-saturated");
    let args = ["--dut", &broken, "--only", "ids/large", "--retries", "1"];
    let red = place.hil(["run", "--no-confirm"].iter().chain(&args)).end().exits(1);
    let red = red.prints(&["FAIL", "failed in all of 2 attempts", "1 failed"]);
    assert!(!red.stdout.contains("flaky"), "{red}");
}

#[test]
fn hosts_with_several_devices_each_are_joined() {
    let place = Place::new();
    let host = |out: &str, devices: &[&str], exit| {
        let devices = devices.iter().flat_map(|device| ["--dut", device]);
        let args = ["run", "--out", out].into_iter().chain(devices).chain(BRIEF);
        place.hil(args).end().exits(exit)
    };
    let broken = with_defect(&place, "broken", "id-int32-saturated");
    host("one", &["native", "native"], 0);
    host("two", &[&broken, "exec:sh -c 'exit 1'"], 3);
    let joined = ["merge", "one/latest", "two/latest", "--out", "joined"];
    let done = place.hil(joined).end().exits(3);
    done.prints(&["joined of 4 runs", "on 4 DUTs", "bench error"]);
    let whole = record(&place.path("joined"));
    assert_eq!(cases(&whole, "broken"), cases(&record(&place.path("two/latest")), "broken"));
    assert_eq!(cases(&whole, "native-2"), cases(&record(&place.path("one/latest")), "native-2"));
    // What a host did not leave is no device without findings.
    std::fs::remove_dir_all(place.path("one/latest/runs/native-2")).unwrap();
    let hole = place.hil(["merge", "one/latest", "two/latest", "--out", "hole"]).end().exits(2);
    assert!(hole.stderr.contains("native-2"), "{hole}");
}

#[test]
fn known_failures_of_one_device_are_in_its_file() {
    let place = Place::new();
    let broken = with_defect(&place, "broken", "id-int32-saturated");
    let with = |name: &str| {
        let text = place.read(&broken).replace("\"broken\"", &format!("\"{name}\""));
        place.write(&format!("{name}.toml"), text + "baseline = \"known.toml\"\n");
        format!("{name}.toml")
    };
    let known = ["large", "pages", "paths"]
        .map(|case| format!("[[known]]\ncase = \"ids/{case}\"\nreason = \"ids have 31 bits\"\n"));
    place.write("known.toml", known.join("\n"));
    let desk = with("desk");
    run(&place, &["--dut", &desk, "--dut", "native"]).exits(0).prints(&["3 known failures"]);
    // It is nothing that others may do, and what no longer fails is told with the device.
    run(&place, &["--dut", &desk, "--dut", &broken]).exits(1).prints(&["3 failed"]);
    let cured = "name = \"cured\"\ntarget = \"native\"\nbaseline = \"known.toml\"\n";
    place.write("cured.toml", cured);
    let stale = run(&place, &["--dut", "cured.toml", "--dut", "native"]).exits(1);
    stale.prints(&["stale", "cured: ids/large"]);
}
