//! What became of an answer that people have reviewed, in the words of those who read it: a tool that came
//! or went, a schema that takes less or more, another error code, pages that are cut in other places.
//!
//! Nothing is judged and nothing is left out: what no word here is made for is told by its place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tools::{Impact, tool_lists};

/// Most places of one answer that are told one by one.
const MOST_PLACES: usize = 8;

/// The kind of a list whose pages are cut elsewhere: that there are more or fewer of them is no news then.
const PAGES_MOVED: &str = "page boundaries moved";

/// Characters of a value that are told.
const LONGEST_VALUE: usize = 120;

/// A request with its answer, as whole messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The request.
    pub request: Value,
    /// The answer; none where none came.
    pub answer: Option<Value>,
}

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerChange {
    /// What kind of change: `tool added`, `error code changed`.
    pub kind: String,
    /// What it means for those who call, where that is certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    /// Of what, before and after.
    pub what: String,
}

impl std::fmt::Display for AnswerChange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.impact {
            Some(impact) => write!(out, "{} ({}): {}", self.kind, impact.word(), self.what),
            None => write!(out, "{}: {}", self.kind, self.what),
        }
    }
}

/// Tells what changed between a reviewed answer and the present one, each in one or several exchanges.
/// Two that differ are never told to be the same.
pub fn changes(before: &[Said], after: &[Said]) -> Vec<AnswerChange> {
    let mut changes = Changes::default();
    if before.iter().chain(after).all(asks_for_tools) && !before.is_empty() && !after.is_empty() {
        changes.lists(before, after);
    } else {
        for (old, new) in before.iter().zip(after) {
            changes.exchange(old, new);
        }
        if before.len() != after.len() {
            let what = format!("{} -> {}", before.len(), after.len());
            changes.add("number of exchanges changed", what);
        }
    }
    if changes.0.is_empty() && before != after {
        changes.add("answer changed", "in its members".into());
    } else if changes.0.is_empty() && spelled(before) != spelled(after) {
        changes.add("order changed", "the same members in a different order".into());
    }
    changes.0
}

/// Where lists of tools are cut into pages, when that differs and the tools are the same:
/// `18 + 12 -> 15 + 15 tools`.
pub fn moved_pages(before: &[Vec<&str>], after: &[Vec<&str>]) -> Option<String> {
    let lengths = |pages: &[Vec<&str>]| -> Vec<String> {
        pages.iter().map(|page| page.len().to_string()).collect()
    };
    let (old, new) = (lengths(before), lengths(after));
    (before.concat() == after.concat() && old != new)
        .then(|| format!("{} -> {} tools", old.join(" + "), new.join(" + ")))
}

#[derive(Debug, Default)]
struct Changes(Vec<AnswerChange>);

impl Changes {
    fn add(&mut self, kind: &str, what: String) {
        self.0.push(AnswerChange { kind: kind.to_owned(), impact: None, what });
    }

    /// Lists of tools, over all their pages.
    fn lists(&mut self, before: &[Said], after: &[Said]) {
        let sides = [before, after].map(|side| side.iter().map(tools).collect::<Vec<_>>());
        let named = [0, 1].map(|side: usize| -> BTreeMap<&str, &Value> {
            let all = sides[side].iter().flatten();
            all.filter_map(|tool| Some((tool.get("name")?.as_str()?, *tool))).collect()
        });
        for change in tool_lists(&named[0], &named[1]) {
            let (kind, impact) = change.change.words();
            let what = match change.what.is_empty() {
                true => change.tool,
                false => format!("{}: {}", change.tool, change.what),
            };
            self.0.push(AnswerChange { kind: kind.to_owned(), impact, what });
        }
        let pages = [0, 1].map(|side: usize| -> Vec<Vec<&str>> {
            sides[side].iter().map(|tools| names(tools)).collect()
        });
        let [old, new] = &pages;
        let same = |a: &[Vec<&str>], b: &[Vec<&str>]| {
            let (mut a, mut b) = (a.concat(), b.concat());
            a.sort_unstable();
            b.sort_unstable();
            a == b
        };
        if let Some(what) = moved_pages(old, new) {
            self.add(PAGES_MOVED, what);
        } else if old.concat() != new.concat() && same(old, new) {
            self.add("order of tools changed", "the same tools".into());
        }
        let cursors = [before, after].map(|side| side.iter().map(cursor).collect::<Vec<_>>());
        if old == new && cursors[0] != cursors[1] {
            let shown = |all: &[Option<&Value>]| {
                let all = all.iter().flatten();
                all.map(|cursor| shown(Some(cursor))).collect::<Vec<_>>()
            };
            let [old, new] = cursors.map(|all| shown(&all).join(", "));
            self.add("cursors changed", format!("{old} -> {new}"));
        }
        // What is no tool: errors, other members, requests that ask for something else.
        for (old, new) in before.iter().zip(after) {
            let [old, new] = [old, new].map(without_tools);
            self.exchange(&old, &new);
        }
        let extra = before.len().abs_diff(after.len());
        if extra > 0 && !self.0.iter().any(|told| told.kind == PAGES_MOVED) {
            let what = format!("{} -> {}", before.len(), after.len());
            self.add("number of pages changed", what);
        }
    }

    fn exchange(&mut self, old: &Said, new: &Said) {
        self.places("request", &old.request, &new.request, &[]);
        let (old, new) = match (&old.answer, &new.answer) {
            (Some(old), Some(new)) => (old, new),
            (None, None) => return,
            (Some(old), None) => return self.add("no longer answered", outcome(old)),
            (None, Some(new)) => return self.add("now answered", outcome(new)),
        };
        let (was, is) = (outcome(old), outcome(new));
        let errors = [old, new].map(|answer| answer.pointer("/payload/error"));
        match errors {
            [Some(old_error), Some(new_error)] => self.errors(old_error, new_error),
            _ if was != is => {
                self.add("outcome changed", format!("{was} -> {is}"));
            }
            _ => {}
        }
        let told = ["/payload/error"];
        if was == is || errors.iter().all(Option::is_some) {
            self.places("answer", old, new, &told);
        } else {
            self.places("answer", old, new, &["/payload/error", "/payload/result"]);
        }
    }

    fn errors(&mut self, old: &Value, new: &Value) {
        let members = [old, new].map(|error| error.as_object().cloned().unwrap_or_default());
        let [mut old_rest, mut new_rest] = members;
        for (name, kind) in [("code", "error code changed"), ("message", "message changed")] {
            let (old, new) = (old_rest.shift_remove(name), new_rest.shift_remove(name));
            if old != new {
                let shown = |value: Option<Value>| shown(value.as_ref());
                self.add(kind, format!("{} -> {}", shown(old), shown(new)));
            }
        }
        let rest = [old_rest, new_rest].map(Value::Object);
        self.places("error", &rest[0], &rest[1], &[]);
    }

    /// Tells places that differ, but for those that begin so.
    fn places(&mut self, part: &str, old: &Value, new: &Value, without: &[&str]) {
        let mut found = Vec::new();
        walk(old, new, "", without, &mut found);
        let left = found.len().saturating_sub(MOST_PLACES);
        for (place, old, new) in found.into_iter().take(MOST_PLACES) {
            let kind = match (part, &old, &new) {
                ("request", ..) => "request changed".to_owned(),
                _ if place.ends_with("/text") => "text changed".to_owned(),
                (_, None, _) => "member added".to_owned(),
                (_, _, None) => "member removed".to_owned(),
                _ => "value changed".to_owned(),
            };
            let place = match part {
                "error" => format!("/payload/error{place}"),
                _ if place.is_empty() => "the whole message".to_owned(),
                _ => place,
            };
            let what = format!("{place}: {} -> {}", shown(old), shown(new));
            self.add(&kind, what);
        }
        if left > 0 {
            self.add("and more", format!("{left} other places"));
        }
    }
}

/// A place, and what stood and stands there.
type Place<'a> = (String, Option<&'a Value>, Option<&'a Value>);

fn walk<'a>(
    old: &'a Value,
    new: &'a Value,
    at: &str,
    without: &[&str],
    found: &mut Vec<Place<'a>>,
) {
    if old == new || without.contains(&at) {
        return;
    }
    match (old, new) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
            for name in names {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                member(ours.get(name), theirs.get(name), at, without, found);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            for index in 0..ours.len().max(theirs.len()) {
                let at = format!("{at}/{index}");
                member(ours.get(index), theirs.get(index), at, without, found);
            }
        }
        _ => found.push((at.to_owned(), Some(old), Some(new))),
    }
}

fn member<'a>(
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    at: String,
    without: &[&str],
    found: &mut Vec<Place<'a>>,
) {
    match (old, new) {
        (Some(old), Some(new)) => walk(old, new, &at, without, found),
        _ if without.contains(&&*at) => {}
        _ => found.push((at, old, new)),
    }
}

/// How an answer ends, in words.
fn outcome(answer: &Value) -> String {
    if let Some(error) = answer.pointer("/payload/error") {
        return format!("error {}", shown(error.get("code")));
    }
    match answer.pointer("/payload/result/isError") {
        Some(Value::Bool(true)) => "a result with isError true".to_owned(),
        _ if answer.pointer("/payload/result").is_some() => "a result".to_owned(),
        _ => "neither result nor error".to_owned(),
    }
}

fn asks_for_tools(said: &Said) -> bool {
    said.request.pointer("/payload/method").is_some_and(|method| method == "tools/list")
}

/// The tools on a page.
fn tools(said: &Said) -> Vec<&Value> {
    let answer = said.answer.as_ref();
    let tools = answer.and_then(|answer| answer.pointer("/payload/result/tools")?.as_array());
    tools.into_iter().flatten().collect()
}

/// Where the next page begins.
fn cursor(said: &Said) -> Option<&Value> {
    said.answer.as_ref()?.pointer("/payload/result/nextCursor")
}

fn names<'a>(tools: &[&'a Value]) -> Vec<&'a str> {
    let name = |tool: &&'a Value| tool.get("name")?.as_str();
    tools.iter().filter_map(name).collect()
}

/// A page without its tools, and without where the next one begins: that follows from the tools.
fn without_tools(said: &Said) -> Said {
    let mut said = said.clone();
    if let Some(params) = said.request.pointer_mut("/payload/params") {
        remove(params, "cursor");
    }
    let result = said.answer.as_mut();
    if let Some(result) = result.and_then(|answer| answer.pointer_mut("/payload/result")) {
        remove(result, "nextCursor");
        if result.get("tools").is_some_and(Value::is_array) {
            remove(result, "tools");
        }
    }
    said
}

fn remove(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.shift_remove(name);
    }
}

/// A value in few words.
fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "none".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The exchanges as text, in which the order of members counts.
fn spelled(side: &[Said]) -> Vec<(String, Option<String>)> {
    side.iter()
        .map(|said| {
            let answer = said.answer.as_ref();
            (said.request.to_string(), answer.map(Value::to_string))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn said(method: &str, answer: Value) -> Said {
        let mut payload = answer;
        payload["jsonrpc"] = "2.0".into();
        payload["id"] = "[id]".into();
        Said {
            request: json!({"payload": {"method": method, "params": {}}}),
            answer: Some(json!({"type": "mcp", "payload": payload})),
        }
    }

    fn told(old: &[Said], new: &[Said]) -> Vec<String> {
        assert_eq!(changes(old, old), []);
        changes(old, new).iter().map(ToString::to_string).collect()
    }

    fn error(code: i32, message: &str) -> Value {
        json!({"error": {"code": code, "message": message}})
    }

    fn says(text: &str) -> Value {
        json!({"result": {"content": [{"type": "text", "text": text}], "isError": false}})
    }

    fn page(names: &[&str], next: Option<&str>) -> Said {
        let tools: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let mut answer = json!({"result": {"tools": tools}});
        if let Some(next) = next {
            answer["result"]["nextCursor"] = next.into();
        }
        said("tools/list", answer)
    }

    #[rstest]
    #[case(error(-32601, "no"), error(-32000, "no"), &["error code changed: -32601 -> -32000"])]
    #[case(error(1, "no"), error(1, "never"), &[r#"message changed: "no" -> "never""#])]
    #[case(error(1, "no"), json!({"error": {"message": "no"}}), &["error code changed: 1 -> none"])]
    #[case(error(1, "no"), says("true"), &["outcome changed: error 1 -> a result"])]
    #[case(
        says("true"),
        says("false"),
        &[r#"text changed: /payload/result/content/0/text: "true" -> "false""#]
    )]
    #[case(
        json!({"result": {"serverInfo": {"version": "1"}}}),
        json!({"result": {"serverInfo": {"version": "2"}, "x": {}}}),
        &[
            r#"value changed: /payload/result/serverInfo/version: "1" -> "2""#,
            "member added: /payload/result/x: none -> {}",
        ]
    )]
    #[case(
        json!({"result": {"a": 1, "b": 2}}),
        json!({"result": {"b": 2, "a": 1}}),
        &["order changed: the same members in a different order"]
    )]
    fn an_answer_is_told_in_words(
        #[case] old: Value,
        #[case] new: Value,
        #[case] expected: &[&str],
    ) {
        assert_eq!(told(&[said("x", old)], &[said("x", new)]), expected);
    }

    #[test]
    fn silence_is_told() {
        let answered = said("x", error(-32601, "no"));
        let silent = Said { answer: None, ..answered.clone() };
        let [answered, silent] = [&[answered][..], &[silent][..]];
        assert_eq!(told(answered, silent), ["no longer answered: error -32601"]);
        assert_eq!(told(silent, answered), ["now answered: error -32601"]);
    }

    #[test]
    fn tools_and_pages_are_told() {
        let one = [page(&["a", "b"], Some("c")), page(&["c"], None)];
        let cut = [page(&["a"], Some("b")), page(&["b", "c"], None)];
        assert_eq!(told(&one, &cut), ["page boundaries moved: 2 + 1 -> 1 + 2 tools"]);
        let whole = [page(&["a", "b", "c"], None)];
        assert_eq!(told(&one, &whole), ["page boundaries moved: 2 + 1 -> 3 tools"]);
        let fewer = [page(&["a"], Some("c")), page(&["c"], None)];
        assert_eq!(told(&one, &fewer), ["tool removed (breaking): b"]);
        assert_eq!(told(&fewer, &one), ["tool added (compatible): b"]);
        let sorted = [page(&["b", "a"], Some("c")), page(&["c"], None)];
        assert_eq!(told(&one, &sorted), ["order of tools changed: the same tools"]);
        let numbered = [page(&["a", "b"], Some("2")), page(&["c"], None)];
        assert_eq!(told(&one, &numbered), [r#"cursors changed: "c" -> "2""#]);
    }

    #[test]
    fn schemas_are_told_with_what_they_break() {
        let list = |tool: Value| [said("tools/list", json!({"result": {"tools": [tool]}}))];
        let tool = |most: i32, words: &str| {
            let arguments = json!({"x": {"type": "integer", "maximum": most}});
            let schema = json!({"type": "object", "properties": arguments});
            list(json!({"name": "a", "description": words, "inputSchema": schema}))
        };
        assert_eq!(
            told(&tool(9, "w"), &tool(8, "w")),
            ["schema narrowed (breaking): a: maximum of `x`: 9 -> 8"]
        );
        assert_eq!(
            told(&tool(8, "w"), &tool(9, "v")),
            [
                "description changed: a: its description changed",
                "schema widened (compatible): a: maximum of `x`: 8 -> 9",
            ]
        );
        let refused = [said("tools/list", error(-32603, "no"))];
        let told = told(&tool(8, "w"), &refused);
        assert!(told.contains(&"outcome changed: a result -> error -32603".to_owned()), "{told:?}");
    }
}
