//! The scenario files: known keys, known slugs, ids and snapshots that are used once.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{By, Script, catalogue, scripts};
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_scenario::Case;
use regex::Regex;
use serde_json::Value;

/// Variables that the harness provides, and the capability that each needs.
const DISCOVERED: [(&str, &str); 27] = [
    ("step.up", "volume.step"),
    ("step.down", "volume.step"),
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
    ("lamp.on", "lamp"),
    ("lamp.off", "lamp"),
    ("lamp.state", "lamp"),
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

/// They are read by the very code that reads them in a run.
#[test]
fn every_scenario_loads_and_says_what_it_is() {
    let catalogue = Catalogue::load(
        mcp_hil_scenarios::requirements().iter().copied(),
        RuleSet::ALL.map(|(_, set)| set),
    )
    .unwrap();
    let mut ids = BTreeSet::new();
    for (id, path, text) in mcp_hil_scenarios::scripts() {
        let case = Case::load(id, path, text, &catalogue).unwrap_or_else(|error| panic!("{error}"));
        assert!(ids.insert(id), "{id} is there twice");
        assert_eq!(id.matches('/').count(), 1, "{id}: a folder is an area");
        let source = text.starts_with("# ");
        assert!(source, "{id}: begins with a comment on its source");
        let title = &case.title;
        assert!(title.len() <= 80 && !title.contains('\n'), "{id}: {title}");
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
                found.extend(step.get(action).and_then(|action| action.get("id")).cloned());
            }
            for (action, pointer) in [("payload", "/id"), ("envelope", "/payload/id")] {
                found.extend(step.get(action).and_then(|sent| sent.pointer(pointer)).cloned());
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
                assert!(earlier.is_none(), "{id}: id {text} is used in {} too", earlier.unwrap());
            }
            if let Some(name) = step.get("snapshot").and_then(Value::as_str) {
                let earlier = snapshots.insert(name.to_owned(), id);
                assert!(earlier.is_none(), "{id}: snapshot `{name}` is used twice");
            }
        }
    }
    for wanted in ["0", "-5", "2147483647", "2147483648", "4294967297", "1758893424665"] {
        assert!(ids.contains_key(wanted), "no scenario uses the id {wanted}");
    }
    // The harness counts its own ids up from 1001 and must not meet these.
    for text in ids.keys() {
        let number: Option<f64> = text.parse().ok();
        assert!(number.is_none_or(|n| !(1001.0..900_000.0).contains(&n)), "id {text}");
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
                rows.into_iter().flatten().flat_map(|row| row.as_object().unwrap().keys().cloned()),
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
            let always = ["id", "session", "good.method", "good.params", "status.volume"];
            // A step that would change what the device has not got is left out.
            let setters =
                ["volume.tool", "brightness.tool", "theme.tool", "mute.tool", "unmute.tool"];
            // So is a call of what is no tool.
            let found = ["cursor.unlisted"];
            let known = always.contains(&variable)
                || setters.contains(&variable)
                || found.contains(&variable)
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
    let of_every_object =
        ["constructor", "toString", "hasOwnProperty", "__proto__", "__class__", "__init__"];
    let invented = |tool: &str| {
        // No device has a name in letters of twice the width.
        let is_wide = tool.starts_with('\u{ff53}');
        tool.trim().is_empty()
            || is_wide
            || tool.contains("mcp_hil")
            || of_every_object.contains(&tool)
    };
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
                        || read_only.is_match(&format!("s{tool}"))
                }
            };
            assert!(harmless, "{}: calls `{tool}` without knowing that it is harmless", script.id);
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
        tools.extend(rows.into_iter().flatten().filter_map(|row| row.get("tool")).cloned());
    }
    tools.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
