//! The scenario files: known keys, known slugs, ids and snapshots that are used once.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{By, CAPABILITIES, Script, catalogue, expectations, scripts};
use regex::Regex;
use serde_json::{Map, Value};

const AREAS: [&str; 16] = [
    "channel",
    "hello",
    "mqtt",
    "envelope",
    "jsonrpc",
    "ids",
    "initialize",
    "list",
    "call",
    "arguments",
    "errors",
    "notifications",
    "session",
    "robustness",
    "volume",
    "vision",
];

/// Actions and the members that they take; no members where the action takes any JSON or text.
const ACTIONS: [(&str, &[&str]); 17] = [
    ("request", &["method", "params", "id"]),
    ("call", &["tool", "arguments", "id", "meta"]),
    ("status", &[]),
    ("notify", &["method", "params"]),
    ("payload", &[]),
    ("payload_text", &[]),
    ("envelope", &[]),
    ("text", &[]),
    ("binary", &[]),
    ("ping", &[]),
    ("list", &["withUserTools", "cursor"]),
    ("burst", &[]),
    ("drop", &["after"]),
    ("audio", &[]),
    ("console", &[]),
    ("keep_alive", &[]),
    ("each", &[]),
];
const MODIFIERS: [&str; 9] = [
    "qos",
    "expect",
    "bind",
    "unchanged",
    "fragment",
    "snapshot",
    "times",
    "do",
    "requirement",
];
const EXPECT: [&str; 11] = [
    "requirement",
    "answer",
    "result",
    "error",
    "text",
    "json",
    "if_error",
    "at",
    "is",
    "schema",
    "alive",
];
const ANSWERS: [&str; 5] = ["result", "error", "refused", "any", "none"];

/// Variables that the harness provides, and the capability that each needs.
const DISCOVERED: [(&str, &str); 22] = [
    ("nullary.tool", "nullary"),
    ("integer.tool", "integer"),
    ("integer.argument", "integer"),
    ("integer.minimum", "integer"),
    ("integer.maximum", "integer"),
    ("integer.middle", "integer"),
    ("integer.below", "integer"),
    ("integer.above", "integer"),
    ("integer.state", "integer.state"),
    ("boolean.tool", "boolean"),
    ("boolean.argument", "boolean"),
    ("string.tool", "string"),
    ("string.argument", "string"),
    ("default.tool", "default"),
    ("default.argument", "default"),
    ("default.value", "default"),
    ("tools.count", "tools"),
    ("tools.last", "tools"),
    ("vision.url", "camera"),
    ("vision.token", "camera"),
    ("vision.other_token", "camera"),
    ("vision.reply", "camera"),
];

/// Tools that a scenario may call by name, and what it must check before.
const NAMED_TOOLS: [(&str, &str); 9] = [
    ("self.audio_speaker.set_volume", "volume"),
    ("self.audio_speaker.volume_up", "volume.step"),
    ("self.audio_speaker.volume_down", "volume.step"),
    ("self.audio_speaker.mute", "mute"),
    ("self.audio_speaker.unmute", "mute"),
    ("self.screen.set_brightness", "brightness"),
    ("self.get_device_status", "status"),
    ("self.screen.set_theme", "string"),
    ("self.camera.take_photo", "camera"),
];

#[test]
fn cases_and_steps_have_known_keys() {
    let ids: BTreeSet<&str> = scripts().iter().map(|script| script.id).collect();
    assert_eq!(ids.len(), scripts().len());
    for script in scripts() {
        let id = script.id;
        let area = id.split('/').next().unwrap();
        assert!(
            AREAS.contains(&area) && id.matches('/').count() == 1,
            "{id}"
        );
        assert!(
            script.text.starts_with("# "),
            "{id}: begins with a comment on its source"
        );
        for key in script.case.keys() {
            assert!(
                ["title", "needs", "fresh", "steps"].contains(&key.as_str()),
                "{id}: `{key}`"
            );
        }
        let title = script.case["title"].as_str().expect(id);
        assert!(
            !title.is_empty() && title.len() <= 80 && !title.contains('\n'),
            "{id}: {title}"
        );
        for need in script.needs() {
            assert!(
                CAPABILITIES.contains(&need),
                "{id}: unknown capability `{need}`"
            );
        }
        assert!(!script.steps().is_empty(), "{id}");
        for step in script.steps() {
            check_step(id, step);
        }
    }
}

fn check_step(id: &str, step: &Map<String, Value>) {
    let actions: Vec<_> = ACTIONS
        .iter()
        .filter(|(name, _)| step.contains_key(*name))
        .collect();
    let [(action, members)] = actions[..] else {
        panic!("{id}: one action in a step: {step:?}")
    };
    for key in step.keys() {
        assert!(
            key == action || MODIFIERS.contains(&key.as_str()),
            "{id}: unknown key `{key}`"
        );
    }
    if !members.is_empty() {
        for key in step[*action].as_object().expect(id).keys() {
            assert!(
                members.contains(&key.as_str()),
                "{id}: `{action}` has no member `{key}`"
            );
        }
    }
    if ["status", "ping"].contains(action) {
        assert_eq!(
            step[*action],
            Value::Object(Map::new()),
            "{id}: `{action}: {{}}`"
        );
    }
    if *action == "binary" {
        let hex = step["binary"]
            .as_str()
            .expect("binary is written in quotes");
        assert!(
            hex.len().is_multiple_of(2) && hex.chars().all(|c| c.is_ascii_hexdigit()),
            "{id}: {hex}"
        );
    }
    assert_eq!(
        step.contains_key("each"),
        step.contains_key("do"),
        "{id}: `each` goes with `do`"
    );
    assert_eq!(
        step.contains_key("console"),
        step.contains_key("requirement"),
        "{id}: `console`"
    );
    for expect in expectations(step) {
        for key in expect.keys() {
            assert!(
                EXPECT.contains(&key.as_str()),
                "{id}: `expect` has no member `{key}`"
            );
        }
        assert_eq!(
            expect.contains_key("at"),
            expect.contains_key("is"),
            "{id}: `at` and `is`"
        );
        assert!(expect.len() > 1, "{id}: an expectation asks for something");
        if let Some(answer) = expect.get("answer") {
            assert!(
                ANSWERS.contains(&answer.as_str().unwrap_or_default()),
                "{id}: {answer}"
            );
        }
    }
}

#[test]
fn slugs_are_in_the_catalogue_and_the_case_has_what_they_need() {
    let catalogue = catalogue();
    for script in scripts() {
        let needs = script.needs();
        for (slug, by) in &script.slugs {
            let requirement = catalogue
                .get(slug)
                .unwrap_or_else(|| panic!("{}: no requirement `{slug}`", script.id));
            // `unchanged` is left out by itself where there is no status.
            if *by == By::Expect {
                for need in &requirement.needs {
                    assert!(
                        needs.contains(&need.as_str()),
                        "{}: `{slug}` needs `{need}`",
                        script.id
                    );
                }
            }
        }
    }
}

#[test]
fn explicit_ids_and_snapshots_are_used_once() {
    let mut ids: BTreeMap<String, &str> = BTreeMap::new();
    let mut snapshots: BTreeMap<String, &str> = BTreeMap::new();
    let in_text = Regex::new(r#""id":\s*(-?\d[^,}\s]*|"[^"$]*")"#).unwrap();
    for script in scripts() {
        let id = script.id;
        for step in script.steps() {
            let mut found = Vec::new();
            for action in ["request", "call"] {
                found.extend(
                    step.get(action)
                        .and_then(|action| action.get("id"))
                        .cloned(),
                );
            }
            for (action, pointer) in [("payload", "/id"), ("envelope", "/payload/id")] {
                found.extend(
                    step.get(action)
                        .and_then(|sent| sent.pointer(pointer))
                        .cloned(),
                );
            }
            let mut explicit: Vec<String> = found
                .iter()
                .filter(|value| value.is_number() || value.is_string())
                .map(Value::to_string)
                .filter(|text| !text.contains("${"))
                .collect();
            for action in ["payload_text", "text"] {
                let text = step.get(action).and_then(Value::as_str).unwrap_or_default();
                explicit.extend(in_text.captures_iter(text).map(|hit| hit[1].to_owned()));
            }
            // A connection of its own is a session of its own.
            let fresh = script.case.get("fresh") == Some(&Value::Bool(true));
            for text in explicit.into_iter().filter(|_| !fresh) {
                let earlier = ids.insert(text.clone(), id);
                assert!(
                    earlier.is_none(),
                    "{id}: id {text} is used in {} too",
                    earlier.unwrap()
                );
            }
            if let Some(name) = step.get("snapshot").and_then(Value::as_str) {
                let earlier = snapshots.insert(name.to_owned(), id);
                assert!(earlier.is_none(), "{id}: snapshot `{name}` is used twice");
            }
        }
    }
    for wanted in [
        "0",
        "-5",
        "2147483647",
        "2147483648",
        "4294967297",
        "1758893424665",
    ] {
        assert!(ids.contains_key(wanted), "no scenario uses the id {wanted}");
    }
    // The harness counts its own ids up from 1001 and must not meet these.
    for text in ids.keys() {
        let number: Option<f64> = text.parse().ok();
        assert!(
            number.is_none_or(|n| !(1001.0..900_000.0).contains(&n)),
            "id {text}"
        );
    }
}

#[test]
fn variables_have_values() {
    let name = Regex::new(r"\$\{([^}]*)\}").unwrap();
    for script in scripts() {
        let needs = script.needs();
        let mut own: BTreeSet<String> = BTreeSet::new();
        for step in script.steps() {
            let rows = step.get("each").and_then(Value::as_array);
            own.extend(
                rows.into_iter()
                    .flatten()
                    .flat_map(|row| row.as_object().unwrap().keys().cloned()),
            );
            own.extend(
                step.get("bind")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(|b| b.keys().cloned()),
            );
            for row in rows.into_iter().flatten() {
                // Rows are filled in when the answers are judged, too: then there is no connection.
                let text = row.to_string();
                assert!(
                    !text.contains("${id}") && !text.contains("${session}"),
                    "{}: {text}",
                    script.id
                );
            }
        }
        for found in name.captures_iter(script.text) {
            let variable = &found[1];
            // These come with every device that answers at all; a step without a level is left out.
            let always = [
                "id",
                "session",
                "good.method",
                "good.params",
                "status.volume",
            ];
            let known = always.contains(&variable)
                || variable.starts_with("repeat:")
                || own.contains(variable)
                || (variable == "cursor.second" && needs.contains(&"pages"))
                || DISCOVERED
                    .iter()
                    .any(|(known, need)| known == &variable && needs.contains(need));
            assert!(known, "{}: `${{{variable}}}` has no value there", script.id);
        }
    }
}

#[test]
fn only_harmless_tools_are_called_by_name() {
    // The case that compares the list with what can be called asks for tools that only read.
    let read_only = Regex::new(r"^self\.([a-z_]+\.)*get_[a-z_]+$").unwrap();
    let invented = |tool: &str| tool.trim().is_empty() || tool.contains("mcp_hil");
    for script in scripts() {
        let needs = script.needs();
        for tool in named_tools(&script) {
            let named = NAMED_TOOLS.iter().find(|(name, _)| *name == tool);
            let harmless = match named {
                // These call a level's tools whether they are there or not: nothing depends on it.
                Some((_, need)) => {
                    needs.contains(need)
                        || read_only.is_match(&tool)
                        || ["list/callable", "arguments/default"].contains(&script.id)
                }
                None => {
                    invented(&tool)
                        || tool.contains("${")
                        || read_only.is_match(&tool)
                        || read_only.is_match(&format!("{}s", tool.to_lowercase()))
                }
            };
            assert!(
                harmless,
                "{}: calls `{tool}` without knowing that it is harmless",
                script.id
            );
        }
    }
}

fn named_tools(script: &Script) -> Vec<String> {
    let mut tools = Vec::new();
    for step in script.steps() {
        tools.extend(step.get("call").and_then(|call| call.get("tool")).cloned());
        let sent = step.get("payload").or_else(|| step.get("notify"));
        tools.extend(sent.and_then(|sent| sent.pointer("/params/name")).cloned());
        let rows = step.get("each").and_then(Value::as_array);
        tools.extend(
            rows.into_iter()
                .flatten()
                .filter_map(|row| row.get("tool"))
                .cloned(),
        );
    }
    tools
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
