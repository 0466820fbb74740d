//! How strongly things are asked for: what no document demands is only warned of, and the rule set of the
//! volume workflow is stricter than the documents beside it.

use crate::support::Place;
use rstest::rstest;
use serde_json::Value;

/// Runs a mutant, and gives the requirements that fail and those that are warned of.
fn found(mutant: &str, args: &[&str], exit: i32) -> (Vec<String>, Vec<String>) {
    let place = Place::new();
    let run = ["run", "--mutant", mutant, "--seed", "7", "--deadline", "4"];
    let done = place.hil(run.iter().chain(args)).end();
    let report = place.report();
    let of = |verdict: &str| {
        let cases = report["cases"].as_array().unwrap().iter();
        let findings = cases.flat_map(|case| case["findings"].as_array().unwrap());
        let own = findings.filter(|finding| finding["verdict"] == verdict);
        let mut slugs: Vec<String> =
            own.filter_map(|finding| finding["requirement"].as_str().map(str::to_owned)).collect();
        slugs.sort();
        slugs.dedup();
        slugs
    };
    let found = (of("fail"), of("pass"));
    assert_eq!(report["summary"]["exit"], Value::from(exit), "{found:?}");
    done.exits(exit);
    found
}

#[rstest]
#[case::string_ids("id-string-answered", "ids.string-rejected")]
#[case::numbers_in_strings("id-numeric-string-answered", "ids.numeric-string-rejected")]
#[case::null("id-null-answered", "ids.null-rejected")]
#[case::booleans("id-boolean-answered", "ids.boolean-rejected")]
#[case::structures("id-object-answered", "ids.structured-rejected")]
#[case::params("params-unchecked", "jsonrpc.params-structured")]
#[case::version("version-unchecked", "jsonrpc.version-checked")]
#[case::cursor("cursor-unknown-first-page", "list.cursor-unknown-refused")]
#[case::nul("method-cut-at-nul", "jsonrpc.nul-in-name")]
#[case::name_case("argument-name-case-insensitive", "arguments.name-case")]
fn what_documents_leave_open_is_only_warned_of(#[case] mutant: &str, #[case] requirement: &str) {
    let (failed, warned) = found(mutant, &["--cases", "3"], 0);
    assert_eq!(failed, [""; 0]);
    assert!(warned.iter().any(|slug| slug == requirement), "{warned:?}");
}

#[test]
fn the_volume_workflow_forbids_ids_that_are_no_numbers() {
    let rules = ["xiaozhi", "jsonrpc-2.0", "volume-workflow"];
    let rules = rules.iter().flat_map(|rules| ["--rules", *rules]);
    let args: Vec<&str> = rules.chain(["--only", "ids/"]).collect();
    let (failed, _) = found("id-string-answered", &args, 1);
    let own = ["ids.numeric-string-rejected", "ids.string-no-effect", "ids.string-rejected"];
    assert_eq!(failed, own);
}

#[test]
fn an_id_that_is_taken_comes_back_as_it_is() {
    let args = ["--only", "ids/string-no-effect"];
    let (failed, _) = found("id-numeric-string-as-number", &args, 1);
    assert_eq!(failed, ["ids.echo"]);
}

#[test]
fn a_device_that_falls_silent_fails_whatever_silenced_it() {
    let (failed, _) = found("id-string-hangs", &["--only", "ids/string"], 1);
    assert_eq!(failed, ["liveness.answers"]);
}

#[test]
fn the_document_that_wins_is_told() {
    let place = Place::new();
    let done = place.hil(["explain", "ids.string-rejected"]).end().exits(0);
    done.prints(&[
        "ids.string-rejected (SHOULD, xiaozhi volume workflow",
        "Documents contradict each other.",
        "A MUST with `--rules volume-workflow`.",
    ]);
}
