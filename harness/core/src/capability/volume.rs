//! What the volume of a device is like, by its list of tools and its status.

use serde_json::{Map, Value};

use super::{SET_VOLUME, named};
use crate::bounds::{bounds, is_narrowed};
use crate::wire::as_integer;

/// Whether a setter takes levels of our choice: its schema has the argument, under its usual name, and tells nothing of it
/// but bounds.
pub(super) fn takes_levels(tools: &[Value], setter: &str) -> bool {
    let argument = setter.rsplit('_').next().unwrap_or(setter);
    let Some(properties) = properties(tools, setter).filter(|all| !all.is_empty()) else {
        return true;
    };
    properties.get(argument).is_some_and(|schema| !is_narrowed(schema))
}

/// Whether set_volume takes all levels that there are, and the status tells them as numbers. One that tells `"33%"` is told
/// of that once (`volume.status`).
pub(super) fn is_usual(tools: &[Value], status: Option<&Value>) -> bool {
    let level = properties(tools, SET_VOLUME).and_then(|all| all.get("volume"));
    let [least, greatest] = level.map_or([None; 2], bounds);
    let takes_all = least.is_none_or(|least| least <= 0) && greatest.is_none_or(|most| most >= 100);
    let told = status.and_then(|status| status.pointer("/audio_speaker/volume"));
    takes_all && told.is_some_and(|told| !told.is_string())
}

/// The arguments in the schema of a tool.
fn properties<'a>(tools: &'a [Value], tool: &str) -> Option<&'a Map<String, Value>> {
    named(tools, tool)?.pointer("/inputSchema/properties")?.as_object()
}

/// Whether a status tells the level in a place of its own, or has nothing that the family's has.
pub(super) fn is_of_another_form(status: &Value) -> bool {
    let has = |section: &str| status.pointer(section).is_some();
    let is_familys = SECTIONS.iter().any(|section| has(section));
    !has("/audio_speaker") && (tells_volume(status, false) || !is_familys)
}

/// Whether a part of the status has a level from 0 to 100 under a name with `volume`, its own or that of what it is in.
fn tells_volume(part: &Value, is_named: bool) -> bool {
    match part {
        Value::Object(members) => members.iter().any(|(name, inner)| {
            tells_volume(inner, is_named || name.to_ascii_lowercase().contains("volume"))
        }),
        level => is_named && level.as_i64().is_some_and(|level| (0..=100).contains(&level)),
    }
}

/// What the family's status has, any part of which a device may be without (device-protocol 4.6).
const SECTIONS: [&str; 4] = ["/audio_speaker", "/screen", "/battery", "/network"];

/// What steps the level, in which direction, and the variable for where that leads.
pub(super) const STEPPERS: [(&str, &str, i64); 2] = [
    ("step.up", "self.audio_speaker.volume_up", 1),
    ("step.down", "self.audio_speaker.volume_down", -1),
];

/// The level from which scenarios step without an argument.
pub(super) const STEPPED_FROM: i64 = 40;

/// Steps that scenarios ask for.
const STEPS: [i64; 2] = [1, 31];

/// By how much a tool steps that is called without its argument `step`: by the default of its schema, or else by 10.
/// Nothing where it has no such argument, or the schema forbids the steps of the scenarios.
pub(super) fn step_without_argument(tools: &[Value], tool: &str) -> Option<i64> {
    let step = properties(tools, tool)?.get("step")?;
    let [least, greatest] = bounds(step);
    let takes = |by: &i64| {
        least.is_none_or(|least| least <= *by) && greatest.is_none_or(|most| *by <= most)
    };
    if is_narrowed(step) || !STEPS.iter().all(takes) {
        return None;
    }
    match step.get("default") {
        None => Some(10),
        Some(default) => as_integer(default).filter(|step| (1..=STEPPED_FROM).contains(step)),
    }
}
