//! What programs read is what the schemas in `harness/schema` describe: all of it, and nothing else.

use jsonschema::Validator;
use rstest::rstest;
use serde_json::{Map, Value, json};

use crate::support::{Done, Place};

const REPORT: &str = include_str!("../../../schema/report.schema.json");
const EVENTS: &str = include_str!("../../../schema/events.schema.json");

fn report_schema() -> Value {
    serde_json::from_str(REPORT).unwrap()
}

/// The schema of events, with what it takes from the other file.
fn events_schema() -> Value {
    let text = EVENTS.replace("report.schema.json#/", "#/");
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    schema["$defs"] = report_schema()["$defs"].take();
    schema
}

/// The schema without leave for members that it does not describe.
fn closed(mut schema: Value) -> Validator {
    let mut defs = schema["$defs"].take();
    for (_, def) in defs.as_object_mut().unwrap() {
        // A definition may be one part of what is allowed: its place of use is closed.
        parts(def.as_object_mut().unwrap());
    }
    close(&mut schema);
    schema["$defs"] = defs;
    jsonschema::validator_for(&schema).unwrap()
}

fn close(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    let is_object = members.contains_key("properties") || members.contains_key("$ref");
    if is_object && !members.contains_key("additionalProperties") {
        members.insert("unevaluatedProperties".into(), false.into());
    }
    parts(members);
}

/// Closes what is inside of a schema.
fn parts(members: &mut Map<String, Value>) {
    for (name, member) in members {
        match (name.as_str(), member) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(close),
            ("items", items) => close(items),
            ("oneOf", Value::Array(several)) => several.iter_mut().for_each(close),
            _ => {}
        }
    }
}

#[track_caller]
fn holds(validator: &Validator, value: &Value) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .take(3)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    let shown: String = value.to_string().chars().take(600).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{shown}");
}

/// Judges all that a run has told programs.
#[track_caller]
fn check(place: &Place, done: &Done, wanted: &[&str]) -> Value {
    let events = done.events();
    let validator = closed(events_schema());
    for event in &events {
        holds(&validator, event);
    }
    for name in wanted {
        assert!(events.iter().any(|event| event["event"] == *name), "no {name}");
    }
    let report = place.report();
    holds(&closed(report_schema()), &report);
    // Whoever reads with the schemas as they are committed must not be stricter.
    let open = jsonschema::validator_for(&events_schema()).unwrap();
    assert!(events.iter().all(|event| open.is_valid(event)));
    report
}

#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
#[case::both("both")]
fn a_good_run_is_as_described(#[case] transport: &str) {
    let place = Place::new();
    let args = ["run", "--format", "json", "--transport", transport];
    let args = args.iter().chain(&["--only", "list/", "--only", "ids/", "--only", "mqtt/"]);
    let done = place.hil(args).end().exits(0);
    let wanted = ["run-started", "dut-ready", "case-started", "case-finished", "run-finished"];
    let report = check(&place, &done, &wanted);
    assert!(report["duts"][0]["identity"]["elf_sha256"].is_string());
}

#[test]
fn a_failing_run_with_generated_inputs_is_as_described() {
    let place = Place::new();
    let args = ["run", "--format", "json", "--mutant", "error-code-string"];
    let more = ["--only", "errors/", "--only", "properties/", "--cases", "8"];
    let done = place.hil(args.iter().chain(&more)).end().exits(1);
    let report = check(&place, &done, &["case-finished"]);
    let cases = report["cases"].as_array().unwrap();
    let failed = |case: &&Value| case["verdict"] == "fail";
    assert!(cases.iter().filter(failed).any(|case| case["line"].is_u64()), "no line of a step");
    let generated = |case: &Value| case["generated"]["failures"].as_array().is_some();
    assert!(cases.iter().any(generated), "no generated input failed");
}

#[test]
fn runs_that_show_nothing_are_as_described() {
    // Nobody answers, and then nobody comes.
    for (mutant, exits) in [("panic-at-unknown-method", None), ("silent", Some(3))] {
        let place = Place::new();
        let args = ["run", "--format", "json", "--only", "errors/", "--deadline", "0.5"];
        let silent = ["--dut", "exec:exec sleep 60", "--connect-deadline", "0.5"];
        let done = match exits {
            Some(_) => place.hil(args.iter().chain(&silent)).end(),
            None => place.hil(args.iter().chain(&["--mutant", mutant])).end(),
        };
        assert_ne!(done.code, Some(0), "{done}");
        let report = check(&place, &done, &["run-finished"]);
        if exits.is_some() {
            assert!(report["summary"]["bench_error"].is_string());
        }
    }
}

#[test]
fn known_and_stale_failures_are_as_described() {
    let place = Place::new();
    let known = "[[known]]\ncase = \"errors/method-not-found\"\nreason = \"r\"\n\
                 [[known]]\ncase = \"ids/large\"\nreason = \"r\"\n";
    place.write("known.toml", known);
    let args = ["run", "--format", "json", "--mutant", "error-code-string"];
    let more = ["--only", "errors/method", "--only", "ids/large", "--baseline", "known.toml"];
    let done = place.hil(args.iter().chain(&more)).end().exits(1);
    let report = check(&place, &done, &[]);
    assert_eq!(report["summary"]["stale"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn changed_answers_are_as_described() {
    let place = Place::new();
    let reviewed = include_str!("../../../../snapshots/native/call/unknown-tool.snap");
    let other = reviewed.replace("-32602", "-32000");
    assert_ne!(other, reviewed);
    place.write("snapshots/native/call/unknown-tool.snap", other);
    let args = ["run", "--format", "json", "--only", "call/unknown-tool", "--snapshots", "check"];
    let done = place.hil(args).without_env("CI").end().exits(1);
    let report = check(&place, &done, &["answer-changed"]);
    assert_eq!(report["answers"][0]["changes"][0]["kind"], "error code changed");
}

#[test]
fn lost_and_gained_capabilities_are_as_described() {
    let place = Place::new();
    let reviewed = include_str!("../../../../snapshots/native/capabilities-websocket.snap");
    let other = reviewed.replace("\ncamera\n", "\n");
    assert_ne!(other, reviewed);
    place.write("snapshots/native/capabilities-websocket.snap", other);
    let mut args = vec!["run", "--format", "json", "--only", "volume/set"];
    args.extend(["--variant", "no-volume", "--snapshots", "check"]);
    let done = place.hil(args).without_env("CI").end();
    let report = check(&place, &done, &["answer-changed"]);
    let told = &report["answers"][0];
    assert_eq!(told["kind"], "capabilities");
    assert_eq!(told["not_tried"], json!(["volume/set"]));
    let summary = &report["summary"]["answers"];
    assert_eq!(summary["gained"], json!(["camera"]));
    assert_eq!(summary["lost"][2], "volume");
}

#[test]
fn a_part_of_a_run_and_what_it_is_joined_to_are_as_described() {
    let place = Place::new();
    for (out, shard) in [("one", "1/2"), ("two", "2/2")] {
        let args = ["run", "--format", "json", "--only", "ids/", "--seed", "7", "--out", out];
        let done = place.hil(args.iter().chain(&["--shard", shard])).end().exits(0);
        let validator = closed(events_schema());
        done.events().iter().for_each(|event| holds(&validator, event));
    }
    place.hil(["merge", "one/latest", "two/latest", "--out", "joined"]).end().exits(0);
    let report: Value = serde_json::from_str(&place.read("joined/report.json")).unwrap();
    holds(&closed(report_schema()), &report);
    assert_eq!(report["run"]["joined"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn the_schemas_are_not_satisfied_by_anything() {
    let place = Place::new();
    let done = place.hil(["run", "--format", "json", "--only", "ids/zero"]).end();
    let validator = closed(events_schema());
    let good = done.events();
    for event in &good {
        holds(&validator, event);
        let mut more = event.clone();
        more["unheard-of"] = json!(1);
        assert!(!validator.is_valid(&more), "a member that nobody described: {event}");
        let mut other = event.clone();
        other["event"] = json!("case-forgotten");
        assert!(!validator.is_valid(&other));
    }
    let case = good.iter().find(|event| event["event"] == "case-finished");
    let mut case = case.unwrap().clone();
    case["verdict"] = json!("passed");
    assert!(!validator.is_valid(&case));
}
