//! What one tool tells of what another one has set.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Candidate, Permission, SETTERS, STATUS_TOOL, family, only_reads};
use crate::bounds::bounds;
use crate::samples::samples;

/// Most pairs of either kind that a device is asked about: each costs some exchanges.
const MOST: usize = 3;

/// How the names of tools that set something begin behind their family, and of those that tell it.
const SETS: &str = ".set_";
const GETS: &str = ".get_";
/// And of those that show something, which is as good as setting it where another tool of theirs tells it.
const SHOWS: &str = ".show_";

/// A tool that sets something, and another one that tells what was set: seen with two values of each argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The tool that sets it.
    pub tool: String,
    /// The tool that tells it; it takes no arguments.
    pub reader: String,
    /// Where in a view of the reader's answer each argument stands, as a JSON pointer.
    pub places: BTreeMap<String, String>,
}

/// A pair that may be such: whether it is, two calls show.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The tool that sets something.
    pub tool: String,
    /// The tool that may tell it.
    pub reader: String,
    /// The arguments of the two calls: no argument of several values has the same in both.
    pub values: [Map<String, Value>; 2],
}

/// The pairs among tools that may be called. The settings of the family are known without asking.
pub fn pairs(tools: &[Value], permission: &Permission) -> Vec<Pair> {
    // In a scenario these would be variables.
    let plain = |tool: &Candidate| {
        !tool.name.contains("${") && tool.properties.iter().all(|(name, _)| !name.contains("${"))
    };
    let candidates: Vec<Candidate> = tools
        .iter()
        .filter_map(Candidate::of)
        .filter(|tool| permission.allows(&tool.name) && plain(tool))
        .collect();
    let reads = |one: &&Candidate| one.properties.is_empty() && only_reads(&one.name);
    let readers: Vec<&str> = candidates.iter().filter(reads).map(|one| one.name.as_str()).collect();
    let status = readers.iter().find(|reader| **reader == STATUS_TOOL);
    // What it sets may be in the name of the one that tells it.
    let own = |tool: &str| {
        let mut of_it = readers.iter().filter(|reader| family(reader) == family(tool));
        let namesake = tool.replacen(SETS, GETS, 1);
        of_it.clone().find(|reader| **reader == namesake).or_else(|| of_it.next())
    };
    let is_known = |tool: &Candidate| SETTERS.iter().any(|(_, _, known)| *known == tool.name);
    let sets = |tool: &&Candidate| tool.name.contains(SETS) && !is_known(tool);
    let pair = |tool: &Candidate, reader: &str| {
        let values = [values(tool, 0)?, values(tool, 1)?];
        Some(Pair { tool: tool.name.clone(), reader: reader.to_owned(), values })
    };
    let setters: Vec<&Candidate> = candidates.iter().filter(sets).collect();
    let told = setters.iter().filter_map(|tool| pair(tool, own(&tool.name)?));
    let shows = candidates.iter().filter(|tool| tool.name.contains(SHOWS));
    let shown = shows.filter_map(|tool| pair(tool, own(&tool.name)?)).take(1);
    let in_status = setters.iter().filter(|tool| own(&tool.name).is_none());
    told.take(MOST)
        .chain(shown)
        .chain(in_status.filter_map(|tool| pair(tool, status?)).take(MOST))
        .collect()
}

/// Most that any type of integer holds, with or without a sign.
const FITS: i64 = 127;

/// Values for all arguments, different ones for either call and for each argument, integers such as fit in any type, as
/// far as that can be; nothing for a tool without arguments, or with one of which no two good values are known.
fn values(tool: &Candidate<'_>, end: usize) -> Option<Map<String, Value>> {
    let of = |(nth, (name, schema)): (i64, &(&str, &Value))| {
        if let Some(samples) = samples(schema, tool.schema) {
            let value = if end == 0 { samples.good } else { samples.others.last()?.clone() };
            return Some(((*name).to_owned(), value));
        }
        let choices = schema.get("enum").and_then(Value::as_array);
        let value = match (schema.get("type")?.as_str()?, choices) {
            (_, Some(choices)) => [choices.first()?, choices.last()?][end].clone(),
            ("integer", None) => {
                let [low, high] = bounds(schema);
                let (low, high) = (low?, high?);
                let (least, most) = (low.max(0), high.min(FITS));
                let third = least + (most - least) / 3;
                match least < most {
                    true if third + nth < most - nth => [third + nth, most - nth][end].into(),
                    true => [third, most][end].into(),
                    false => [low, high][end].into(),
                }
            }
            ("boolean", None) => (end == 1).into(),
            ("string", None) if nth == 0 => ["mcp-hil", "MCP"][end].into(),
            ("string", None) => format!("{}-{nth}", ["mcp-hil", "MCP"][end]).into(),
            _ => return None,
        };
        Some(((*name).to_owned(), value))
    };
    let values: Option<Map<String, Value>> = (0..).zip(&tool.properties).map(of).collect();
    values.filter(|values| !values.is_empty())
}

impl Pair {
    /// Whether what was set by one of the calls, 0 or 1, is in a view of the reader's answer at all.
    pub fn may_be_in(&self, view: &Value, call: usize) -> bool {
        let mut shown = Vec::new();
        leaves(view, String::new(), &mut shown);
        self.values[call].values().any(|value| shown.iter().any(|(_, one)| *one == value))
    }

    /// What the reader tells, by the views of its answers after the two calls. Under the name of an argument it tells
    /// that one, even if it shows what another one was set to.
    pub fn told(self, views: [&Value; 2]) -> Option<Told> {
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        leaves(views[0], String::new(), &mut first);
        leaves(views[1], String::new(), &mut second);
        let shows = |place: &(String, &Value), argument: &str| {
            let [value, other] = self.values.each_ref().map(|values| values.get(argument));
            let then = second.iter().find(|one| one.0 == place.0).map(|one| one.1);
            value != other && Some(place.1) == value && then == other
        };
        let name_of = |place: &(String, &Value)| {
            let name = place.0.rsplit('/').next()?;
            self.values[0].get_key_value(name).map(|(name, _)| name.clone())
        };
        let mut places = BTreeMap::new();
        for name in self.values[0].keys() {
            let is_named = |place: &&(String, &Value)| name_of(place).as_ref() == Some(name);
            let shows_any = |place: &&(String, &Value)| {
                self.values[0].keys().any(|argument| shows(place, argument))
            };
            let is_free =
                |place: &&(String, &Value)| name_of(place).is_none() && shows(place, name);
            let named = first.iter().filter(is_named).find(shows_any);
            let place = named.or_else(|| first.iter().find(is_free));
            places.extend(place.map(|(place, _)| (name.clone(), place.clone())));
        }
        let Self { tool, reader, .. } = self;
        (!places.is_empty()).then_some(Told { tool, reader, places })
    }
}

/// All that is no object and no list in what a reader tells, with its place. The result is there once more as text.
fn leaves<'a>(view: &'a Value, at: String, leaves_: &mut Vec<(String, &'a Value)>) {
    match view {
        Value::Object(members) => {
            let plain = |name: &str| !name.contains(['~', '/', '$']);
            let told = |name: &str| !at.is_empty() || ["json", "text"].contains(&name);
            for (name, inner) in members.iter().filter(|(name, _)| plain(name) && told(name)) {
                leaves(inner, format!("{at}/{name}"), leaves_);
            }
        }
        Value::Array(_) => {}
        leaf => leaves_.push((at, leaf)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Trust;
    use serde_json::json;

    fn tool(name: &str, properties: &Value) -> Value {
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
    }

    fn tools() -> Vec<Value> {
        let speed = json!({"speed": {"type": "integer", "minimum": 0, "maximum": 300},
            "mode": {"type": "string", "enum": ["low", "high"]}});
        vec![
            tool("self.get_device_status", &json!({})),
            tool("self.fan.set_speed", &speed),
            tool("self.lamp.set_on", &json!({"on": {"type": "boolean"}})),
            tool("self.lamp.get_on", &json!({})),
            tool("self.lamp.set_any", &json!({"x": {}})),
            tool("self.audio_speaker.set_volume", &speed),
        ]
    }

    #[test]
    fn a_tool_is_paired_with_its_reader_or_with_the_status() {
        let pairs = pairs(&tools(), &Trust::Simulated.into());
        let names = pairs.iter().map(|pair| (pair.tool.as_str(), pair.reader.as_str()));
        assert_eq!(
            Vec::from_iter(names),
            [
                ("self.lamp.set_on", "self.lamp.get_on"),
                ("self.fan.set_speed", "self.get_device_status")
            ]
        );
        assert_eq!(Value::from(pairs[1].values[1].clone()), json!({"speed": 127, "mode": "high"}));
        assert_eq!(super::pairs(&tools(), &Trust::WellKnown.into()), []);
    }

    #[test]
    fn what_follows_both_calls_is_told() {
        let pair = pairs(&tools(), &Trust::Simulated.into()).remove(1);
        let view = |speed: u32, mode: &str| json!({"text": "x", "json": {"v": 0, "fan": {"rate": speed, "speed": speed, "mode": mode}}});
        let told = |second: &Value| {
            let told = pair.clone().told([&view(42, "low"), second]);
            told.map(|told| told.places.into_iter().collect::<Vec<_>>())
        };
        let place = |name: &str| (name.to_owned(), format!("/json/fan/{name}"));
        assert_eq!(told(&view(127, "high")), Some(vec![place("mode"), place("speed")]));
        assert_eq!(told(&view(44, "high")), Some(vec![place("mode")]));
        assert_eq!(told(&view(44, "low")), None);
    }

    #[test]
    fn arguments_that_are_taken_for_each_other_are_told_under_their_own_names() {
        let number = json!({"type": "integer", "minimum": 0, "maximum": 100});
        let tools = [
            tool("self.blind.set_place", &json!({"pan": number, "tilt": number})),
            tool("self.blind.get_place", &json!({})),
        ];
        let pair = pairs(&tools, &Trust::Simulated.into()).remove(0);
        let [first, second] = &pair.values;
        assert_ne!((&first["pan"], &second["pan"]), (&first["tilt"], &second["tilt"]));
        let swapped = |values: &Map<String, Value>| json!({"json": {"pan": values["tilt"], "tilt": values["pan"]}});
        let views = [swapped(first), swapped(second)];
        let told = pair.told([&views[0], &views[1]]).unwrap();
        assert_eq!(told.places["pan"], "/json/pan");
        assert_eq!(told.places["tilt"], "/json/tilt");
    }
}
