//! The test of the harness, tried itself: it counts right, and notices what it is there to notice.

use crate::support::{Done, Place};
use mcp_hil_generate::PROPERTIES;
use serde_json::Value;

/// The events of a self-test.
fn events(done: &Done) -> Vec<Value> {
    done.stdout.lines().map(|line| serde_json::from_str(line).expect("an event a line")).collect()
}

fn last(done: &Done) -> Value {
    events(done).pop().expect("an event at least")
}

#[test]
fn mutants_are_killed_and_variations_are_not_accused() {
    let place = Place::new();
    let selection = ["--only", "id-int32-", "--only", "good", "--only", "members-"];
    let done = place.hil(["self-test", "--quick"].into_iter().chain(selection)).end().exits(0);
    let row = |name: &str| {
        let found = done.stdout.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("no row of {name}\n{done}"))
    };
    let killed = row("id-int32-wrapped");
    assert!(killed.contains(" ids "), "{killed}");
    assert!(killed.contains("ids/large ids."), "{killed}");
    let words: Vec<&str> = killed.split_whitespace().collect();
    let number = |from_end: usize| -> u32 {
        let word = words[words.len() - from_end];
        word.parse().unwrap_or_else(|_| panic!("{killed}"))
    };
    let (exchanges, repro) = (number(2), number(1));
    assert!((5..100).contains(&exchanges), "{killed}");
    assert!(repro < exchanges, "{killed}");
    assert!(row("good").contains("nothing"), "{done}");
    assert!(row("members-descending").contains("nothing"), "{done}");
    let tail: Vec<&str> = done.stdout.lines().rev().take(2).collect();
    assert!(tail[0].starts_with("false findings 0 in "), "{done}");
    // A mutant is named `members-case-insensitive`.
    assert_eq!(tail[1], "killed 4 of 4", "{done}");
}

#[test]
fn generated_inputs_are_counted_and_mutants_can_be_left_out() {
    let place = Place::new();
    let arguments = ["self-test", "--quick", "--harmless", "--cases", "3"];
    let selection = ["--only", "good", "--only", "id-int32-", "--only", "escapes"];
    let json = ["--format", "json"];
    let done = place.hil(arguments.into_iter().chain(selection).chain(json)).end().exits(0);
    let events = events(&done);
    let names: Vec<&Value> = events.iter().map(|event| &event["name"]).collect();
    assert_eq!(names[..3], ["good", "escapes", "goodbye-closes"], "{done}");
    // They have all that any property needs. One goes through a table and gets four times as many; two have as many
    // inputs as kinds of commands, or as schemas need, and get twice as many.
    let inputs = 3 * (PROPERTIES.len() + 3 + 1 + 1);
    assert!(events[..3].iter().all(|event| event["inputs"] == inputs), "{done}");
    let end = last(&done);
    assert_eq!((&end["mutants"], &end["harmless"]), (&0.into(), &3.into()));
    assert_eq!(end["inputs"], 3 * inputs, "{done}");
}

#[test]
fn a_defect_that_is_said_to_be_harmless_is_noticed() {
    let place = Place::new();
    let name = "error-code-missing";
    let arguments = ["self-test", "--quick", "--only", name, "--mistake", name];
    let done = place.hil(arguments).end().exits(1);
    assert!(done.stdout.contains("FALSE FINDINGS: "), "{done}");
    assert!(done.stdout.contains("errors.code-integer: expected "), "{done}");
    assert!(
        done.stdout.contains("mcp-hil run --dut native --mutant error-code-missing --only "),
        "{done}"
    );
    assert!(done.stdout.contains("\nkilled 0 of 0\n"), "{done}");
    assert!(!done.stdout.contains("\nfalse findings 0 "), "{done}");
}

#[test]
fn a_device_that_does_no_wrong_survives_as_a_mutant() {
    let place = Place::new();
    let name = "error-data";
    let arguments = ["self-test", "--only", name, "--mistake", name, "--format", "json"];
    let done = place.hil(arguments).end().exits(1);
    let events = events(&done);
    assert_eq!(events[0]["event"], "mutant", "{done}");
    assert_eq!(events[0]["outcome"], "survived", "{done}");
    // It had its chance over both transports.
    assert_eq!(events[0]["transport"], "mqtt", "{done}");
    let end = last(&done);
    assert_eq!(end["event"], "self-test-finished");
    assert_eq!((&end["mutants"], &end["killed"]), (&1.into(), &0.into()));
}

#[test]
fn the_exceptions_are_few_and_needed() {
    let place = Place::new();
    // Each of these goes against one requirement, which is known and has its reason.
    for name in ["initialize-once", "no-ping"] {
        let arguments = ["self-test", "--quick", "--only", name, "--format", "json"];
        let done = place.hil(arguments).end().exits(0);
        assert_eq!(events(&done)[0]["outcome"], "clean", "{done}");
        let arguments = ["run", "--variant", name, "--strict", "--rules", "xiaozhi"];
        let rules = ["--rules", "mcp-2024-11-05"];
        place.hil(arguments.into_iter().chain(rules)).end().exits(1);
        let report = place.report();
        let broken: Vec<&Value> = report["cases"]
            .as_array()
            .expect("cases")
            .iter()
            .flat_map(|case| case["findings"].as_array().expect("findings"))
            .map(|finding| &finding["requirement"])
            .collect();
        assert_eq!(broken.len(), 1, "{name}: {broken:?}");
    }
}

#[test]
fn an_unknown_name_is_refused() {
    let place = Place::new();
    let done = place.hil(["self-test", "--only", "id-in32"]).end().exits(4);
    assert!(done.stderr.contains("`--only id-in32` selects no mutant and no variation"), "{done}");
    let done = place.hil(["run", "--variant", "white-spaces"]).end().exits(2);
    assert!(
        done.stderr.contains("the native device has no variant `white-spaces`")
            && done.stderr.contains("did you mean `white-space`?"),
        "{done}"
    );
    let both = ["run", "--variant", "slow", "--mutant", "id-as-string"];
    place.hil(both).end().exits(2);
}
