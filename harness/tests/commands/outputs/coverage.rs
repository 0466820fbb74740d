//! `mcp-hil coverage`: what runs exercised.

use serde_json::Value;

use crate::support::Place;

fn json(place: &Place, args: &[&str]) -> Value {
    let args = ["coverage", "--format", "json"].iter().chain(args);
    let done = place.hil(args).end().exits(0);
    serde_json::from_str(&done.stdout).unwrap()
}

fn of<'a>(coverage: &'a Value, slug: &str) -> &'a Value {
    let all = coverage["requirements"].as_array().unwrap();
    let found = all.iter().find(|covered| covered["requirement"] == slug);
    found.unwrap_or_else(|| panic!("no {slug}"))
}

#[test]
fn coverage_tells_by_what_and_where_each_requirement_was_exercised() {
    let place = Place::new();
    place.hil(["run", "--only", "ids/"]).end().exits(0);
    let first = place.latest().canonicalize().unwrap();
    let mutant = ["--mutant", "error-code-string", "--only", "errors/method-not-found"];
    let over_mqtt = ["run", "--transport", "mqtt"];
    place.hil(over_mqtt.iter().chain(&mutant)).end().exits(1);
    let runs = [first.to_str().unwrap(), "target/mcp-hil/latest"];

    let both = json(&place, &runs);
    assert_eq!(both["runs"].as_array().unwrap().len(), 2);
    // What the records say, and nothing else.
    let report = place.report();
    let exercised = |slug: &str| {
        let cases = report["cases"].as_array().unwrap().iter();
        let cases = cases.filter(|case| {
            let has = |list: &Value, of: fn(&Value) -> &Value| {
                list.as_array().unwrap().iter().any(|item| of(item) == slug)
            };
            has(&case["exercised"], |item| item)
                || has(&case["findings"], |item| &item["requirement"])
        });
        cases.map(|case| case["case"].clone()).collect::<Vec<Value>>()
    };
    let mut broken = 0;
    for covered in both["requirements"].as_array().unwrap() {
        let slug = covered["requirement"].as_str().unwrap();
        let lanes = covered["exercised"].as_array().unwrap();
        let mqtt = lanes.iter().find(|lane| lane["transport"] == "mqtt");
        let cases = mqtt.map_or(Vec::new(), |lane| lane["cases"].as_array().unwrap().clone());
        assert_eq!(cases, exercised(slug), "{slug}");
        broken += mqtt.map_or(0, |lane| lane["broken"].as_array().unwrap().len());
        assert_ne!(covered["level"], "MAY", "what is allowed is never judged");
    }
    assert!(broken > 0, "the second device breaks something");
    // Over MQTT alone the ids of the first run were not tried.
    let zero = of(&both, "ids.zero");
    assert_eq!(zero["exercised"][0]["transport"], "websocket");
    assert_eq!(
        zero["missed"][0],
        serde_json::json!({"dut": "native", "transport": "mqtt", "lacks": null})
    );
    assert_eq!(zero["judged_by"][0], "ids/integers");
    let later = json(&place, &[]);
    assert_eq!(of(&later, "ids.zero")["exercised"].as_array().unwrap().len(), 0);

    let text = place.hil(["coverage"].iter().chain(&runs)).end().exits(0).stdout;
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "more than 80 columns");
    let (_, never) = text.split_once("\nNever exercised\n").unwrap();
    assert!(!never.contains("\n  ids.zero ") && never.contains("\n  volume."), "{text}");
    assert!(never.contains("    judged by volume/"), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let found = "1 case: errors/method-not-found; broken in errors/method-not-found";
    assert!(words.join(" ").contains(found), "{text}");
    let exercised = both["requirements"].as_array().unwrap().iter();
    let exercised =
        exercised.filter(|covered| !covered["exercised"].as_array().unwrap().is_empty());
    let summary = format!("\n{} of ", exercised.count());
    assert!(text.contains(&summary), "{text}");
}

#[test]
fn what_no_device_has_is_no_gap() {
    let place = Place::new();
    place.hil(["run", "--cases", "2"]).end().exits(0);
    let text = place.hil(["coverage"]).end().exits(0).stdout;
    let (gaps, foreign) = text.split_once("\nNot applicable: ").unwrap();
    assert!(gaps.contains("\nNever exercised\n\n  none\n"), "{text}");
    assert!(foreign.contains("  mqtt.") && foreign.contains("    needs mqtt\n"), "{text}");
}

#[test]
fn folders_that_are_none_of_a_run_are_named() {
    let place = Place::new();
    let done = place.hil(["coverage", "nowhere"]).end().exits(2);
    done.says(&["cannot read `nowhere/report.json`", "hint: "]);
    place.write("torn/report.json", "{\"schema\": 1, \"run\": ");
    let done = place.hil(["coverage", "torn"]).end().exits(2);
    done.says(&["`torn/report.json`: not the record of a run", "hint: "]);
}
