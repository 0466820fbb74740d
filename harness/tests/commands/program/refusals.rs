//! Mistakes of users and troubles of the bench: each is named, with a hint and its exit code.

use std::net::TcpListener;

use rstest::rstest;

use crate::support::{Done, Place};

#[rstest]
#[case::no_command(&[], 2, &["Usage: mcp-hil"])]
#[case::command(&["rum"], 2, &["rum", "run"])]
#[case::argument(&["run", "--onyl", "ids/"], 2, &["--onyl", "--only"])]
#[case::selector(&["run", "--only", "idz/"], 4, &["`--only idz/` selects no case", "hint: "])]
#[case::typo(&["run", "--only", "ids/intgers"], 4, &["hint: did you mean `ids/integers`?"])]
#[case::requirement_typo(&["run", "--only", "ids.ecko"], 4, &["hint: did you mean `ids.echo`?"])]
#[case::one_transport(&["run", "--dut", "native", "--only", "transport/same-answers"], 4, &["this run has websocket alone", "hint: add `--transport both`"])]
#[case::no_file(&["run", "--junit", "-"], 2, &["expected a file", "`/dev/stdout`"])]
#[case::rules(&["run", "--rules", "xiaozi"], 2, &["unknown rule set `xiaozi`", "did you mean `xiaozhi`"])]
#[case::dut(&["run", "--dut", "natve"], 2, &["unknown device `natve`", "hint: did you mean `native`?"])]
#[case::empty_exec(&["run", "--dut", "exec: "], 2, &["unknown device `exec: `"])]
#[case::mutant_of_others(&["run", "--dut", "wait", "--mutant", "page-empty"], 2, &["only `native` and `qemu` have mutants"])]
#[case::deadline(&["run", "--deadline", "-1"], 2, &["--deadline", "above 0"])]
#[case::no_time(&["run", "--connect-deadline", "0"], 2, &["expected a time above 0"])]
#[case::listen(&["run", "--listen", "localhost"], 2, &["--listen"])]
#[case::seed(&["run", "--seed", "seven"], 2, &["--seed"])]
#[case::format(&["run", "--format", "xml"], 2, &["human, json"])]
#[case::no_baseline(&["run", "--baseline", "none.toml"], 2, &["none.toml", "hint: "])]
#[case::no_scenarios(&["run", "--scenarios", "none"], 2, &["none", "hint: check `--scenarios`"])]
#[case::list(&["list", "zzz"], 2, &["nothing begins with `zzz`", "hint: "])]
#[case::explain(&["explain", "ids.zeros"], 2, &["neither a requirement nor a case", "`ids.zero`"])]
#[case::explain_nothing(&["explain", "%%%"], 2, &["`%%%`", "hint: "])]
#[case::quiet_and_verbose(&["run", "--quiet", "--verbose"], 2, &["--quiet", "--verbose"])]
fn a_mistake_is_named_before_anything_starts(
    #[case] args: &[&str],
    #[case] code: i32,
    #[case] said: &[&str],
) {
    let place = Place::new();
    let done = place.hil(args).end().exits(code).says(said);
    assert_eq!(done.stdout, "");
    assert!(!place.path("target").exists(), "nothing was written");
}

#[test]
fn what_earlier_versions_called_otherwise_still_works() {
    let place = Place::new();
    let old = ["--cases", "1", "--redial-deadline", "2", "--deadline", "2.5"];
    let run = ["run", "--dut", "native", "--only", "properties/ids"];
    let done = place.hil([&run[..], &old].concat()).end().exits(0);
    done.prints(&["1 input,"]);
    let help = place.hil(["run", "--help"]).end().exits(0);
    assert!(!help.stdout.contains("--cases"), "{help}");
    assert!(!help.stdout.contains("redial"), "{help}");
}

#[test]
fn an_unknown_mutant_is_a_mistake() {
    let place = Place::new();
    let done = place.hil(["run", "--mutant", "error-code-strin"]).end().exits(2);
    done.says(&["`error-code-strin`", "hint: did you mean `error-code-string`?"]);
}

#[test]
fn a_variable_that_is_set_and_empty_is_not_set() {
    let place = Place::new();
    let mut run = place.hil(["run", "--dut", "native", "--only", "ids/zero"]);
    for name in ["SEED", "IN_FLIGHT", "PROFILE", "TOKEN", "NATIVE"] {
        run = run.env(&format!("MCP_HIL_{name}"), "");
    }
    run.end().exits(0);
}

#[test]
fn what_no_file_holds_is_explained_too() {
    let place = Place::new();
    for (id, told) in [
        ("session/bring-up", "The device is started and waited for"),
        ("session/close", "put back"),
        ("transport/same-answers", "--transport both"),
    ] {
        place.hil(["explain", id]).end().exits(0).prints(&[id, told]);
    }
    place.hil(["explain", "session/bringup"]).end().exits(2).says(&["`session/bring-up`?"]);
}

#[test]
fn a_missing_program_is_the_benchs_trouble() {
    let place = Place::new();
    let done = place.hil(["run"]).env("MCP_HIL_NATIVE", "/nowhere/native").end().exits(3);
    done.prints(&["/nowhere/native", "hint: "]);
}

#[test]
fn a_system_without_a_shell_is_told_so() {
    let place = Place::new();
    let run = ["run", "--dut", "exec:/bin/true"];
    let done = place.hil(run).env("PATH", "/nowhere").end().exits(3);
    done.prints(&["`sh`, which ends the device's processes", "install a shell"]);
}

/// A baseline for the failures of the mutant `error-code-string`.
const KNOWN: &str = r#"
[[known]]
case = "errors/"
reason = "codes are texts, see the vendor's tracker"
"#;

fn with_baseline(place: &Place, text: &str, mutant: &str) -> Done {
    place.write("known.toml", text);
    place.hil(["run", "--only", "errors/", "--mutant", mutant, "--baseline", "known.toml"]).end()
}

#[test]
fn known_failures_do_not_fail_and_are_shown() {
    let place = Place::new();
    let done =
        with_baseline(&place, KNOWN, "error-code-string").exits(0).prints(&["KNOWN", "known"]);
    assert!(!done.stdout.contains("FAIL "), "{done}");
    let report = place.both_reports();
    assert!(report["summary"]["known"].as_u64().unwrap() > 0);
    assert_eq!(report["summary"]["failed"], 0);
}

#[test]
fn a_baseline_that_no_longer_holds_is_stale() {
    let place = Place::new();
    let twice = [
        KNOWN,
        &KNOWN.replace("\"errors/\"", "\"errors/hostile-method\"\nrequirement = \"ids.zero\""),
    ];
    let done = with_baseline(&place, &twice.concat(), "error-code-string").exits(1);
    done.prints(&["errors/hostile-method:ids.zero", "no longer fails"]);
    let expired = KNOWN.replace("reason", "expires = \"2001-01-01\"\nreason");
    let done = with_baseline(&place, &expired, "error-code-string").exits(1);
    done.prints(&["expired on 2001-01-01", "FAIL"]);
    // What was not selected is not called stale.
    let elsewhere = KNOWN.replace("errors/", "volume/");
    let done = with_baseline(&place, &[KNOWN, &elsewhere].concat(), "error-code-string").exits(0);
    assert!(!done.stdout.contains("volume/"), "{done}");
}

#[rstest]
#[case::syntax("\n\n[[known]]\ncase = errors\n", "known.toml:4:8")]
#[case::member("[[known]]\ncase = \"*\"\nraison = \"x\"\n", "known.toml:3:1")]
#[case::reason("[[known]]\ncase = \"*\"\nreason = \"\"\n", "known.toml:2")]
#[case::date("[[known]]\ncase = \"*\"\nreason = \"x\"\nexpires = \"soon\"\n", "known.toml:2")]
fn a_bad_baseline_is_named_with_its_line(#[case] text: &str, #[case] place_in_file: &str) {
    let place = Place::new();
    let done = with_baseline(&place, text, "error-code-string").exits(2);
    done.says(&[place_in_file]);
    assert!(!place.path("target").exists(), "nothing was written");
}

const OWN: &str = "\
title: The device still answers a ping
steps:
  - request: {method: ping}
    expect: {requirement: jsonrpc.answer-required, answer: any}
";

#[test]
fn own_scenarios_run_beside_the_built_in_ones() {
    let place = Place::new();
    place.write("mine/ping.yaml", OWN);
    place.write("mine/area/deeper.yml", OWN.replace("a ping", "a ping, deeper"));
    place.write("mine/notes.txt", "no scenario");
    let run = ["run", "--scenarios", "mine", "--only"];
    let done = place.hil(run.iter().chain(&["own/ping", "--only", "area/deeper"])).end().exits(0);
    let done = done.prints(&["own/ping", "area/deeper"]);
    assert!(done.stdout.contains("2 cases") || done.stdout.contains("4 cases"), "{done}");
    place.hil(["list", "own/", "--scenarios", "mine"]).end().prints(&["own/ping"]);
    place.hil(["explain", "own/ping", "--scenarios", "mine"]).end().prints(&["mine/ping.yaml"]);
}

#[rstest]
#[case::key(("expect:", "exspect:"), "mine/ping.yaml:4:5", "did you mean `expect`?")]
#[case::requirement(("answer-required", "answer-requird"), "mine/ping.yaml:4:14", "`jsonrpc.answer-required`")]
#[case::syntax(("{method: ping}", "{method: ping"), "mine/ping.yaml:", "")]
#[case::method(("answer: any", "answer: perhaps"), "mine/ping.yaml:4:52", "expected one of result")]
#[case::name_taken(("own", "own"), "mine/ids/integers.yaml", "rename the file")]
fn a_bad_scenario_is_named_with_its_place(
    #[case] change: (&str, &str),
    #[case] place_in_file: &str,
    #[case] hint: &str,
) {
    let place = Place::new();
    let name = place_in_file.split(':').next().unwrap();
    place.write(name, OWN.replace(change.0, change.1));
    let done = place.hil(["run", "--scenarios", "mine"]).end().exits(2);
    done.says(&[place_in_file, hint]);
    assert!(!place.path("target").exists(), "nothing was written");
}

#[test]
fn a_port_in_use_is_named() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = place.hil(["run", "--listen", &address]).end().exits(3);
    done.prints(&[&format!("cannot listen on `{address}`"), "listening there"]);
    let report = place.both_reports();
    assert!(report["summary"]["bench_error"].as_str().unwrap().contains(&address));
}

#[rstest]
#[case::a_file("taken")]
#[case::below_a_file("taken/runs")]
#[case::not_writable("/proc/runs")]
fn a_folder_that_cannot_be_made_is_named(#[case] out: &str) {
    let place = Place::new();
    place.write("taken", "a file");
    let done = place.hil(["run", "--out", out, "--only", "ids/"]).end().exits(3);
    done.says(&[&format!("`{out}"), "hint: choose another place with `--out`"]);
}

#[rstest]
#[case::of_a_built_in_case(
    "title: t\nsteps:\n  - request: {method: ping, id: 2147483647}\n",
    &["own/clash.yaml:3: the id 2147483647 is used twice", "`scenarios/scripts/ids/", "hint: use another id"]
)]
#[case::of_the_harness(
    "title: t\nsteps:\n  - request: {method: ping, id: 1500}\n",
    &["own/clash.yaml:3: the id 1500", "the harness uses", "hint: use a number below 1001"]
)]
fn an_own_scenario_with_a_used_id_is_a_mistake(#[case] text: &str, #[case] said: &[&str]) {
    let place = Place::new();
    place.write("own/clash.yaml", text);
    place.hil(["run", "--scenarios", "own", "--only", "own/"]).end().exits(2).says(said);
    assert!(!place.path("target").exists(), "nothing was started");
}
