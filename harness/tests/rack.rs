//! Several devices in one run: one stream of events, one summary, and a folder for each device.

#![cfg(not(feature = "hil"))]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use support::{Done, Place, native};

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
    for (args, told) in [
        (&["--dut", "one", "--dut", "two"][..], "two devices are named `same`"),
        (&["--dut", "empty"], "expected a folder with device files"),
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
