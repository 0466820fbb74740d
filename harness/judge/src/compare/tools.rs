//! The tools of two runs: which came, which went, and whose schemas take less or more.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{exchanges, pages, result};
use mcp_hil_core::transcript::{BRING_UP, Entry};

/// What became of a tool, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The second run has it, the first has not.
    Added,
    /// The first run has it, the second has not.
    Removed,
    /// Calls that its schema allowed are no longer allowed.
    Narrowed,
    /// Its schema allows calls that it did not allow.
    Widened,
    /// It is another one, neither wider nor narrower.
    Changed,
    /// Only what it says to people is other.
    Described,
}

impl Change {
    /// The change in words, and what it means for those who call the tool where that is certain.
    pub fn words(self) -> (&'static str, Option<Impact>) {
        match self {
            Self::Added => ("tool added", Some(Impact::Compatible)),
            Self::Removed => ("tool removed", Some(Impact::Breaking)),
            Self::Narrowed => ("schema narrowed", Some(Impact::Breaking)),
            Self::Widened => ("schema widened", Some(Impact::Compatible)),
            Self::Changed => ("schema changed", None),
            Self::Described => ("description changed", None),
        }
    }
}

/// What a change means for those who go on as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Impact {
    /// What worked may no longer do so.
    Breaking,
    /// What worked still does.
    Compatible,
}

impl Impact {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Compatible => "compatible",
        }
    }
}

/// A difference between the tools of two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChange {
    /// The tool.
    pub tool: String,
    /// The kind of change.
    pub change: Change,
    /// The part of it, before and after, in words; empty where that is the whole tool.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
}

/// Compares the tools that devices listed when they got known. Where either list is missing,
/// nothing can be told.
pub fn tools(first: &[Entry], second: &[Entry]) -> Vec<ToolChange> {
    let (ours, theirs) = (exchanges(first), exchanges(second));
    // The list with `withUserTools` holds the ordinary ones too.
    let ordinary = [&ours, &theirs].map(|side| pages(side, "list"));
    let [one, other] = [&ours, &theirs].map(|side| {
        let mut all = pages(side, "user-list");
        all.extend(pages(side, "list"));
        all
    });
    if one.is_empty() || other.is_empty() {
        return Vec::new();
    }
    let mut changes = tool_lists(&one, &other);
    for name in one.keys().filter(|name| other.contains_key(**name)) {
        let (change, what) = match [0, 1].map(|side: usize| ordinary[side].contains_key(name)) {
            [true, false] => (Change::Narrowed, "is now listed for users only"),
            [false, true] => (Change::Widened, "is no longer listed for users only"),
            _ => continue,
        };
        changes.push(ToolChange { tool: (*name).to_owned(), change, what: what.into() });
    }
    changes.sort_by(|a, b| a.tool.cmp(&b.tool));
    changes
}

/// Where the lists that devices gave when they got known are cut into pages, when that differs and the tools
/// are the same.
pub fn moved_pages(first: &[Entry], second: &[Entry]) -> Option<String> {
    let sides = [exchanges(first), exchanges(second)];
    let pages = [0, 1].map(|side: usize| -> Vec<Vec<&str>> {
        let of_list = |number: usize| {
            let step = format!("list.p{number}");
            let place = (BRING_UP.into(), step.into());
            let tools = result(sides[side].get(&place)?).get("tools")?.as_array()?;
            Some(tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect())
        };
        (0..).map_while(of_list).collect()
    });
    super::change::moved_pages(&pages[0], &pages[1])
}

/// Compares two lists of tools, each by its name.
pub fn tool_lists(one: &BTreeMap<&str, &Value>, other: &BTreeMap<&str, &Value>) -> Vec<ToolChange> {
    let mut changes = Vec::new();
    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
    for name in names {
        let mut push = |change, what: String| {
            changes.push(ToolChange { tool: name.to_owned(), change, what });
        };
        match (one.get(name), other.get(name)) {
            (Some(before), Some(after)) => compare_tool(before, after, &mut push),
            (Some(_), None) => push(Change::Removed, String::new()),
            (None, _) => push(Change::Added, String::new()),
        }
    }
    changes
}

fn compare_tool(before: &Value, after: &Value, push: &mut dyn FnMut(Change, String)) {
    const KNOWN: [&str; 2] = ["description", "inputSchema"];
    if before.get("description") != after.get("description") {
        push(Change::Described, "its description changed".into());
    }
    if rest(before, &KNOWN) != rest(after, &KNOWN) {
        push(Change::Changed, "members other than its schema differ".into());
    }
    let [old, new] =
        [before, after].map(|tool| tool.get("inputSchema").cloned().unwrap_or_default());
    if rest(&old, &["properties", "required"]) != rest(&new, &["properties", "required"]) {
        push(Change::Changed, "its schema has a different form".into());
    }
    let arguments = [&old, &new].map(properties);
    let required = [&old, &new].map(required);
    let names: BTreeSet<&str> = arguments.iter().flat_map(|all| all.keys().copied()).collect();
    for name in names {
        let needed = [0, 1].map(|side: usize| required[side].contains(name));
        match [0, 1].map(|side: usize| arguments[side].get(name)) {
            [Some(_), None] => push(Change::Narrowed, format!("argument `{name}` was removed")),
            [None, Some(_)] if needed[1] => {
                push(Change::Narrowed, format!("argument `{name}` is new, and required"));
            }
            [None, Some(_)] => push(Change::Widened, format!("argument `{name}` is new")),
            [Some(before), Some(after)] => {
                match needed {
                    [false, true] => push(Change::Narrowed, format!("`{name}` is now required")),
                    [true, false] => {
                        push(Change::Widened, format!("`{name}` is no longer required"))
                    }
                    _ => {}
                }
                compare_argument(name, before, after, push);
            }
            [None, None] => {}
        }
    }
}

fn compare_argument(
    name: &str,
    before: &Value,
    after: &Value,
    push: &mut dyn FnMut(Change, String),
) {
    let keys = [before, after].map(|schema| schema.as_object().cloned().unwrap_or_default());
    let all: BTreeSet<&String> = keys.iter().flat_map(Map::keys).collect();
    for key in all {
        let (old, new) = (keys[0].get(key), keys[1].get(key));
        if old == new {
            continue;
        }
        let change = match key.as_str() {
            "description" | "title" => {
                push(Change::Described, format!("the {key} of `{name}` changed"));
                continue;
            }
            "minimum" => bound(old, new, |old, new| new > old),
            "maximum" => bound(old, new, |old, new| new < old),
            "enum" => choice(old, new),
            "type" => match (old.and_then(Value::as_str), new.and_then(Value::as_str)) {
                (Some("integer"), Some("number")) => Change::Widened,
                (Some("number"), Some("integer")) => Change::Narrowed,
                _ => Change::Changed,
            },
            _ => Change::Changed,
        };
        let shown = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
        let what = format!("{key} of `{name}`: {} -> {}", shown(old), shown(new));
        push(change, what);
    }
}

/// A limit that came, went or moved.
fn bound(old: Option<&Value>, new: Option<&Value>, is_narrower: fn(f64, f64) -> bool) -> Change {
    match (old, new) {
        (None, _) => Change::Narrowed,
        (_, None) => Change::Widened,
        (Some(old), Some(new)) => match (old.as_f64(), new.as_f64()) {
            (Some(old), Some(new)) if is_narrower(old, new) => Change::Narrowed,
            (Some(_), Some(_)) => Change::Widened,
            _ => Change::Changed,
        },
    }
}

/// A list of values of which one is to be taken.
fn choice(old: Option<&Value>, new: Option<&Value>) -> Change {
    let (Some(old), Some(new)) = (old, new) else {
        return match old {
            None => Change::Narrowed,
            Some(_) => Change::Widened,
        };
    };
    let values = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let (old, new) = (values(old), values(new));
    let all_in = |some: &[Value], all: &[Value]| some.iter().all(|value| all.contains(value));
    match (all_in(&new, &old), all_in(&old, &new)) {
        (true, false) => Change::Narrowed,
        (false, true) => Change::Widened,
        _ => Change::Changed,
    }
}

fn properties(schema: &Value) -> BTreeMap<&str, &Value> {
    let members = schema.get("properties").and_then(Value::as_object);
    let members = members.into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value)).collect()
}

fn required(schema: &Value) -> BTreeSet<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// An object without some of its members.
fn rest(value: &Value, without: &[&str]) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        for name in without {
            members.shift_remove(*name);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::tests::transcript;
    use super::*;

    fn list(tools: Value) -> Vec<Entry> {
        let answer = json!({"result": {"tools": tools}});
        transcript("s", 1001, &[(json!({"method": "tools/list"}), answer)])
    }

    fn with(schema: Value) -> Vec<Entry> {
        list(json!([{"name": "a", "inputSchema": {
            "type": "object", "properties": {"x": schema}, "required": ["x"]}}]))
    }

    #[rstest]
    #[case(json!({"minimum": 0}), json!({"minimum": 1}), Change::Narrowed)]
    #[case(json!({"minimum": 0}), json!({"minimum": -1}), Change::Widened)]
    #[case(json!({"maximum": 9}), json!({"maximum": 10}), Change::Widened)]
    #[case(json!({"maximum": 9}), json!({"maximum": 8}), Change::Narrowed)]
    #[case(json!({}), json!({"maximum": 8}), Change::Narrowed)]
    #[case(json!({"maximum": 8}), json!({}), Change::Widened)]
    #[case(json!({"type": "integer"}), json!({"type": "number"}), Change::Widened)]
    #[case(json!({"type": "integer"}), json!({"type": "string"}), Change::Changed)]
    #[case(json!({"enum": [1, 2]}), json!({"enum": [1]}), Change::Narrowed)]
    #[case(json!({"enum": [1]}), json!({"enum": [2, 1]}), Change::Widened)]
    #[case(json!({"enum": [1]}), json!({"enum": [2]}), Change::Changed)]
    #[case(json!({"default": 1}), json!({"default": 2}), Change::Changed)]
    #[case(json!({"description": "a"}), json!({"description": "b"}), Change::Described)]
    fn an_argument_is_told(#[case] old: Value, #[case] new: Value, #[case] change: Change) {
        let told = tools(&with(old.clone()), &with(new));
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].change, change, "{told:?}");
        assert_eq!(tools(&with(old.clone()), &with(old)), []);
    }

    #[rstest]
    #[case(json!({}), json!([]), json!({"x": {}}), json!([]), Change::Widened)]
    #[case(json!({}), json!([]), json!({"x": {}}), json!(["x"]), Change::Narrowed)]
    #[case(json!({"x": {}}), json!([]), json!({}), json!([]), Change::Narrowed)]
    #[case(json!({"x": {}}), json!([]), json!({"x": {}}), json!(["x"]), Change::Narrowed)]
    #[case(json!({"x": {}}), json!(["x"]), json!({"x": {}}), json!([]), Change::Widened)]
    fn arguments_that_come_and_go_are_told(
        #[case] old: Value,
        #[case] old_required: Value,
        #[case] new: Value,
        #[case] new_required: Value,
        #[case] change: Change,
    ) {
        let tool = |properties: Value, required: Value| {
            let schema = json!({"properties": properties, "required": required});
            list(json!([{"name": "a", "inputSchema": schema}]))
        };
        let told = tools(&tool(old, old_required), &tool(new, new_required));
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].change, change, "{told:?}");
    }

    #[test]
    fn pages_that_are_cut_in_other_places_are_told() {
        let pages = |pages: &[&[&str]]| {
            let page = |names: &&[&str]| {
                let tools: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
                let answer = json!({"result": {"tools": tools}});
                (json!({"method": "tools/list"}), answer)
            };
            transcript("s", 1001, &pages.iter().map(page).collect::<Vec<_>>())
        };
        let one = pages(&[&["a", "b"], &["c"]]);
        let cut = pages(&[&["a"], &["b", "c"]]);
        let told = moved_pages(&one, &cut);
        assert_eq!(told.as_deref(), Some("2 + 1 -> 1 + 2 tools"));
        assert_eq!(moved_pages(&one, &one), None);
        // Other tools are told as such.
        assert_eq!(moved_pages(&one, &pages(&[&["a"], &["c"]])), None);
    }

    #[test]
    fn tools_that_come_and_go_are_told() {
        let told = tools(
            &list(json!([{"name": "a"}, {"name": "b"}])),
            &list(json!([{"name": "c"}, {"name": "b"}])),
        );
        let told: Vec<(&str, Change)> = told.iter().map(|c| (&*c.tool, c.change)).collect();
        assert_eq!(told, [("a", Change::Removed), ("c", Change::Added)]);
    }
}
