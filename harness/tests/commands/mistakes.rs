//! A mistake in a scenario is told as one, with its place and the likely fix, and never blamed on a device.

use crate::support::Place;
use mcp_hil_core::capability::VARIABLES;

/// What is wrong: steps of a file or the file itself, line and column, a part of the message, and of the hint.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

/// What stands before steps.
const BEFORE: &str = "title: t\nsteps:\n";

/// Steps with a mistake.
#[rustfmt::skip]
const STEPS: [Mistake; 41] = [
    // Pointers.
    ("  - request: {method: ping}\n    bind: {x: result/tools}\n", "4:12", "`result/tools` is no pointer", "write `/result/tools`"),
    ("  - request: {method: ping}\n    bind: {x: /resutl/tools}\n", "4:12", "`/resutl/tools` leads to nothing", "did you mean `/result/tools`?"),
    ("  - request: {method: ping}\n    expect: {requirement: ids.echo, at: result/tools, is: 7}\n", "4:37", "`result/tools` is no pointer", "write `/result/tools`"),
    ("  - request: {method: ping}\n    expect: {requirement: ids.echo, at: /result}\n", "4:37", "`at` and `is` must be used together", "`is: self.lamp.get_state`"),
    // Variables.
    ("  - request: {method: ping, params: {a: \"${integr.tool}\"}}\n", "3:41", "variable `${integr.tool}` has no value here", "did you mean `${integer.tool}`?"),
    ("  - request: {method: ping, params: {a: \"${x}\"}}\n  - request: {method: ping}\n    bind: {x: /result}\n", "3:41", "variable `${x}` has no value here", "`bind` in a step before"),
    ("  - request: {method: ping}\n    expect: {requirement: ids.echo, result: {a: \"${levle}\"}}\n", "4:49", "variable `${levle}` has no value here", "in a row of `each`"),
    ("  - each: [{level: 1}]\n    do:\n      - request: {method: ping, params: {a: \"${levle}\"}}\n", "5:45", "variable `${levle}` has no value here", "did you mean `${level}`?"),
    ("  - each: [{level: \"${id}\"}]\n    do:\n      - request: {method: ping}\n", "3:20", "variable `${id}` has no value here", "give it a value"),
    ("  - text: \"${repeat:x:many}\"\n", "3:11", "variable `${repeat:x:many}` has no value here", "write `${repeat:TEXT:COUNT}`"),
    ("  - request: {method: ${good.method}}\n", "3:23", "a variable without quotes", "write variables in quotes"),
    // What is empty.
    ("  - each: []\n    do:\n      - request: {method: ping}\n", "3:5", "`each` is empty", "add a row"),
    ("  - each: [{a: 1}]\n    do: []\n", "4:5", "`do` is empty", "add a step"),
    ("  - burst: []\n", "3:5", "`burst` is empty", "add a step"),
    ("  - request: {method: ping}\n    expect: []\n", "4:5", "`expect` is empty", "leave it out"),
    ("  - request: {method: ping}\n    expect: {requirement: ids.echo}\n", "4:5", "`expect` for `ids.echo` expects nothing", "add `answer: result`"),
    // Inside of `expect`.
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      answr: result\n", "6:7", "unknown field `answr`", "did you mean `answer`?"),
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      answer: reslt\n", "6:7", "`answer: reslt`: expected one of result, error", "did you mean `result`?"),
    ("  - request: {method: ping}\n    expect:\n      - {requirement: ids.echo, alive: true}\n      - {requirement: ids.ecko, alive: true}\n", "6:10", "unknown requirement `ids.ecko`", "did you mean `ids.echo`?"),
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      result:\n        tools: {$mach: x}\n", "7:17", "unknown operator `$mach`", "did you mean `$match`?"),
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      result: {a: {$type: int}}\n", "6:20", "`$type` takes one of integer", "did you mean `integer`?"),
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      result: {a: {$range: 7}}\n", "6:20", "`$range`: operand of the wrong type", "write `{$range: [0, 100]}`"),
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      result: {a: {$match: '('}}\n", "6:20", "`$match`: regex parse error", "needs a backslash"),
    ("  - request: {method: ping}\n    expect:\n      requirement: ids.echo\n      schema: {type: strin}\n", "6:16", "`schema`: ", "`schema` is a JSON Schema"),
    ("  - request: {method: ping}\n    expect: {requirement: ids.echo, alive: 7}\n", "4:37", "`alive`: expected `true` or `false`, got `7`", "write `alive: true`"),
    ("  - request: {method: ping}\n    expect: {answer: result}\n", "4:5", "`expect` names no `requirement`", "`mcp-hil list --requirements` shows all"),
    ("  - request: {method: ping}\n    expect: result\n", "4:5", "`expect`: expected a mapping, got `\"result\"`", "name a requirement, too"),
    // Steps.
    ("  - requst: {method: ping}\n", "3:5", "unknown field `requst`", "did you mean `request`?"),
    ("  - request: {method: ping, parms: {}}\n", "3:29", "unknown field `parms`", "did you mean `params`?"),
    ("  - request: {method: ping}\n    ping: {}\n", "4:5", "a step has exactly one action, this one has 2", "begin another step before it: `- ping: ...`"),
    ("  - request: {method: ping}\n  - expect: {requirement: ids.echo, alive: true}\n", "4:5", "a step has exactly one action, this one has 0", "part of the step before"),
    ("  - request: {method: ping}\n    unchanged: ids.ecko\n", "4:5", "unknown requirement `ids.ecko`", "did you mean `ids.echo`?"),
    ("  - request: {method: ping}\n    like: unknown-metod\n", "4:5", "`like: unknown-metod`: no step has", "did you mean `unknown-method`?"),
    // YAML.
    ("\t- request: {method: ping}\n", "3:1", "a tab in the indentation", "spaces only"),
    ("  - text: 'abc\n  - ping: {}\n", "3:11", "the quote that opens here is not closed", "close it with `'`"),
    ("  - request: {method: ping}\n   expect: {requirement: ids.echo, alive: true}\n", "4:4", "expected '-' indicator", "wrong indentation"),
    ("  - request: {method: ping}\n    expect: {requirement: ids.echo, alive: true}\n    expect: {requirement: ids.zero, alive: true}\n", "5:5", "`expect` is there twice", "are a list"),
    ("  - text: hello: you\n", "3:16", "mapping values are not allowed", "that contains `: ` in quotes"),
    ("  - request: {method: ping\n", "3:14", "unclosed bracket '{'", "close it with `}`"),
    ("  -ping: {}\n", "3:3", "expected sequence start", "put a space after `-`"),
    ("  - request:{method: ping}\n", "3:5", "unknown field `request:{method`", "put a space after the colon"),
];

/// Files with a mistake.
#[rustfmt::skip]
const FILES: [Mistake; 12] = [
    ("title: t\nsteps: []\n", "2:1", "`steps` is empty", "add a step"),
    ("title: t\nsteps:\n", "2:1", "`steps` is empty", "add a step"),
    ("title: t\n", "1:1", "missing field `steps`", "add `steps:`"),
    ("title: t\nsteps:\n  request: {method: ping}\n", "3:3", "expected sequence start", "begin each element with `- `"),
    ("titel: t\nsteps:\n  - ping: {}\n", "1:1", "unknown field `titel`", "did you mean `title`?"),
    ("title: t\nneeds: [tools, volum]\nsteps:\n  - ping: {}\n", "2:16", "unknown capability `volum`", "did you mean `volume`?"),
    ("title: t\ntitle: u\nsteps:\n  - ping: {}\n", "2:1", "`title` is there twice", "remove one of them"),
    ("title: t\n  steps:\n  - ping: {}\n", "2:8", "mapping values are not allowed", "wrong indentation"),
    ("title: \"t\nsteps:\n  - ping: {}\n", "1:8", "the quote that opens here is not closed", "close it with `\"`"),
    ("- title: t\n- steps: []\n", "1:1", "a list at the top", "write `title: ...` and `steps:`"),
    ("", "1:1", "the file is empty", "a scenario has a `title` and `steps`"),
    ("title: t\nsteps:\n  - ping: {}\n---\ntitle: u\n", "5:1", "a second document begins here", "a file of its own"),
];

#[test]
fn every_mistake_has_its_place_and_its_fix() {
    let place = Place::new();
    let steps = STEPS.map(|(steps, at, what, hint)| (format!("{BEFORE}{steps}"), at, what, hint));
    let files = FILES.map(|(file, at, what, hint)| (file.to_owned(), at, what, hint));
    for (text, at, what, hint) in steps.into_iter().chain(files) {
        place.write("mine.yaml", &text);
        let done = place.hil(["run", "--dut", "native", "--scenario", "mine.yaml"]).end().exits(2);
        let told = format!("mcp-hil: mine.yaml:{at}: ");
        assert!(done.stderr.starts_with(&told), "{told}\n{text}\n{done}");
        let (problem, fix) =
            done.stderr.split_once("\n\nhint: ").unwrap_or_else(|| panic!("{text}\n{done}"));
        assert!(problem.contains(what), "{what}\n{text}\n{done}");
        assert!(fix.contains(hint), "{hint}\n{text}\n{done}");
        assert!(done.stdout.is_empty() && !place.path("target").exists(), "a run\n{done}");
    }
}

/// What no schema can see: names that other steps give, patterns, and what one value says of another place.
const BEYOND_A_SCHEMA: [&str; 3] =
    ["has no value here", "no step has", "`$match`: regex parse error"];

#[test]
fn the_schema_refuses_every_mistake_that_a_schema_can_see() {
    let schema = include_str!("../../schema/scenario.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let steps = STEPS.map(|(steps, _, what, _)| (format!("{BEFORE}{steps}"), what));
    let files = FILES.map(|(file, _, what, _)| (file.to_owned(), what));
    let (mut refused, mut beyond) = (0, 0);
    for (text, what) in steps.into_iter().chain(files) {
        // What is no YAML no editor reads.
        let Ok(value) = serde_saphyr::from_str::<serde_json::Value>(&text) else { continue };
        let is_beyond = BEYOND_A_SCHEMA.iter().any(|known| what.contains(known));
        assert_eq!(schema.is_valid(&value), is_beyond, "{what}\n{text}");
        if is_beyond { beyond += 1 } else { refused += 1 }
    }
    assert!(refused >= 30 && beyond >= 5, "{refused} refused, {beyond} beyond");
}

/// Otherwise a scenario that uses them would be refused.
#[test]
fn what_a_device_brings_are_known_variables() {
    let place = Place::new();
    let args = ["run", "--dut", "native", "--only", "vision/", "--only", "ids/zero"];
    place.hil(args).end().exits(0);
    let report = place.both_reports();
    let brought = report["duts"][0]["facts"]["variables"].as_object().expect("variables");
    assert!(brought.len() > 20, "{brought:?}");
    for name in brought.keys() {
        assert!(VARIABLES.contains(&name.as_str()), "{name}");
    }
}
