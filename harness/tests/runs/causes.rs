//! What is wrong is told once, and the command that is given for it shows it again.

use crate::support::Place;
use serde_json::Value;

/// The causes of a run of a device with a defect.
fn causes(place: &Place, more: &[&str]) -> Vec<Value> {
    let args = ["run", "--snapshots", "off", "--inputs", "0"];
    let native: &[&str] = if more.contains(&"--dut") { &[] } else { &["--dut", "native"] };
    place.hil(args.iter().chain(native).chain(more)).end().exits(1);
    let record: Value =
        serde_json::from_str(&place.read("target/mcp-hil/latest/report.json")).unwrap();
    record["summary"]["causes"].as_array().unwrap().clone()
}

fn broken(cause: &Value) -> Vec<String> {
    let also = cause["also"].as_array().into_iter().flatten();
    std::iter::once(&cause["finding"]["requirement"])
        .chain(also)
        .map(|slug| slug.as_str().unwrap().to_owned())
        .collect()
}

/// Carries a printed command out. Gives what is broken then.
fn carried_out(place: &Place, cause: &Value) -> Vec<String> {
    let command = cause["repro"].as_str().unwrap();
    let args: Vec<&str> = command.split(' ').skip(1).chain(["--snapshots", "off"]).collect();
    place.hil(args).end().exits(1);
    let record: Value =
        serde_json::from_str(&place.read("target/mcp-hil/latest/report.json")).unwrap();
    record["summary"]["causes"].as_array().unwrap().iter().flat_map(broken).collect()
}

#[test]
fn one_defect_is_one_cause_and_its_command_shows_it() {
    let place = Place::new();
    let found = causes(&place, &["--mutant", "id-int32-saturated"]);
    assert_eq!(found.len(), 1, "{found:?}");
    let cause = &found[0];
    let slugs = broken(cause);
    for slug in ["ids.echo", "ids.above-int32", "ids.milliseconds", "ids.error-echo"] {
        assert!(slugs.iter().any(|broken| broken == slug), "{slug}: {slugs:?}");
    }
    let cases: Vec<&str> = cause["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|spoilt| spoilt["case"].as_str().unwrap())
        .collect();
    assert_eq!(
        cases,
        [
            "initialize/repeat",
            "ids/large",
            "ids/pages",
            "ids/paths",
            "arguments/missing",
            "envelope/while-speaking",
            "session/call-first",
            "session/reconnect",
        ]
    );
    assert_eq!(cause["shown"], "again");
    assert!(carried_out(&place, cause).iter().any(|slug| slugs.contains(slug)));
    assert!(!place.path("target/mcp-hil/latest/again").exists());
}

/// Who looks at no version answers `JSONRPC` as well, and who looks at no cursor one of U+0000: neither is told of that.
#[test]
fn what_a_device_ignores_altogether_is_not_told_for_its_spelling() {
    for (mutant, cases, broken) in [
        ("version-unchecked", "jsonrpc/", "jsonrpc.version-checked"),
        ("cursor-unknown-first-page", "jsonrpc/nul-in-name", "list.cursor-unknown-refused"),
    ] {
        let found = causes(&Place::new(), &["--strict", "--mutant", mutant, "--only", cases]);
        let slugs: Vec<String> = found.iter().flat_map(self::broken).collect();
        assert_eq!(slugs, [broken], "{mutant}");
    }
}

/// The fortieth message is too much for it, and no case has so many.
#[test]
fn a_command_names_the_cases_that_are_needed_before() {
    let place = Place::new();
    let found = causes(&place, &["--mutant", "drop-at-fortieth"]);
    let cause = found.iter().find(|cause| cause["shown"] == "after-others").unwrap();
    let command = cause["repro"].as_str().unwrap();
    assert!(command.matches("--only").count() > 1, "{command}");
    let slugs = broken(cause);
    assert!(carried_out(&place, cause).iter().any(|slug| slugs.contains(slug)), "{command}");
}

#[test]
fn nothing_is_tried_where_that_is_not_wanted() {
    let place = Place::new();
    let only = ["--mutant", "error-code-missing", "--only", "errors/", "--no-confirm"];
    let found = causes(&place, &only);
    assert!(found.iter().all(|cause| cause["shown"] == "not-tried"), "{found:?}");
}

/// Trying a command restarts the device.
#[test]
fn nothing_is_tried_on_a_device_that_must_not_be_restarted() {
    let place = Place::new();
    place.write(
        "quiet.toml",
        "name = \"quiet\"\ntarget = \"native\"\n[tools]\ndeny = [\"system.reboot\"]\n",
    );
    let only = ["--dut", "quiet.toml", "--mutant", "error-code-missing", "--only", "errors/"];
    let found = causes(&place, &only);
    assert!(!found.is_empty());
    assert!(found.iter().all(|cause| cause["shown"] == "not-tried"), "{found:?}");
}

#[test]
fn a_crash_is_told_with_what_the_console_said() {
    let place = Place::new();
    let found = causes(&place, &["--mutant", "long-string-panics", "--only", "robustness/"]);
    let console = found[0]["finding"]["console"].as_array().unwrap();
    assert!(console[0].as_str().unwrap().contains("Guru Meditation Error"), "{found:?}");
    assert!(console.len() > 2, "{found:?}");
    let text = place.read("target/mcp-hil/latest/junit.xml");
    assert!(text.contains("received     Guru Meditation Error"), "{text}");
    assert!(text.contains("console      Core  0 register dump"), "{text}");
    assert!(text.contains("<system-err>Guru Meditation Error"), "{text}");
}

/// Whatever a report points to is there: files and entries of transcripts.
#[test]
fn pointers_to_evidence_resolve() {
    for mutant in ["answer-twice-late", "long-string-panics", "id-int32-saturated"] {
        let place = Place::new();
        causes(&place, &["--mutant", mutant, "--transport", "both", "--no-confirm"]);
        let folder = "target/mcp-hil/latest";
        let record: Value =
            serde_json::from_str(&place.read(&format!("{folder}/report.json"))).unwrap();
        let mut pointers = 0;
        for case in record["cases"].as_array().unwrap() {
            for finding in case["findings"].as_array().into_iter().flatten() {
                let Some(seq) = finding["seq"].as_u64() else { continue };
                let file = finding["transcript"].as_str().or(case["transcript"].as_str()).unwrap();
                let text = place.read(&format!("{folder}/{file}"));
                let entry = format!("{{\"seq\":{seq},");
                assert!(
                    text.lines().any(|line| line.starts_with(&entry)),
                    "{mutant}: {file} {seq}"
                );
                pointers += 1;
            }
        }
        assert!(pointers > 0, "{mutant}");
    }
}
