//! The JSON Schema of a scenario file. What it refuses, loading refuses, too; what it cannot see are mistakes in the
//! form of YAML, in patterns, and in names that other steps give.

use mcp_hil_core::schema::{add_rules, of};
use serde_json::{Value, json};

use super::raw::RawCase;

/// Members of a step that are what it does: it has one of them.
const ACTIONS: [&str; 23] = [
    "request",
    "call",
    "status",
    "notify",
    "payload",
    "payload_text",
    "envelope",
    "text",
    "text_bytes",
    "binary",
    "ping",
    "pong",
    "list",
    "burst",
    "disconnect",
    "reboot",
    "configure",
    "close",
    "keep_alive",
    "linger",
    "audio",
    "console",
    "each",
];

/// The whole schema.
pub fn schema() -> Value {
    let mut schema = of::<RawCase>("A scenario of mcp-hil");
    let parts = &mut schema["definitions"];
    let has = |member: &str| json!({"required": [member]});
    let step = &mut parts["RawStep"];
    // Nothing is mandatory by itself.
    step["required"] = json!([]);
    // The old name of `disconnect`.
    step["properties"]["drop"] = step["properties"]["disconnect"].clone();
    let one: Vec<Value> = ACTIONS.into_iter().chain(["drop"]).map(has).collect();
    step["oneOf"] = one.into();
    step["dependencies"] = json!({
        "times": ["burst"],
        "each": ["do"],
        "do": ["each"],
        "requirement": {"anyOf": [has("console"), has("linger")]},
        "console": {"anyOf": [has("requirement"), has("expect")]}
    });
    let expect = &mut parts["Expectation"];
    expect["required"] = json!(["requirement"]);
    let some = ["answer", "result", "error", "text", "json", "if_error", "at", "schema"].map(has);
    let alive = json!({"required": ["alive"], "properties": {"alive": {"const": true}}});
    let some: Vec<Value> = some.into_iter().chain([alive]).collect();
    add_rules(expect, [json!({"anyOf": some})]);
    let part = ["result", "error", "text", "json", "at"].map(has);
    let bound = json!({"properties": {"if_bound": {"const": true}}, "required": ["if_bound"]});
    add_rules(expect, [json!({"if": bound, "then": {"anyOf": part}})]);
    expect["dependencies"] = json!({"at": ["is"], "is": ["at"]});
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::MEMBERS;
    use crate::matcher::OPERATORS;

    fn members(schema: &Value) -> Vec<&str> {
        let mut names: Vec<&str> = schema.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn an_expectation_and_a_pattern_have_the_members_that_are_read() {
        let schema = schema();
        let mut known = MEMBERS.to_vec();
        known.sort_unstable();
        assert_eq!(members(&schema["definitions"]["Expectation"]["properties"]), known);
        let mut known = OPERATORS.to_vec();
        known.sort_unstable();
        let pattern = &schema["definitions"]["Pattern"]["then"]["properties"];
        assert_eq!(members(pattern), known);
    }

    #[test]
    fn every_member_of_a_step_that_is_an_action_is_listed_as_one() {
        let schema = schema();
        let not_actions = [
            "bind",
            "control",
            "do",
            "drop",
            "dup",
            "empty_end",
            "expect",
            "fragment",
            "like",
            "odd_frame",
            "ping_between",
            "qos",
            "requirement",
            "segments",
            "snapshot",
            "times",
            "unchanged",
        ];
        let mut all: Vec<&str> = ACTIONS.into_iter().chain(not_actions).collect();
        all.sort_unstable();
        assert_eq!(members(&schema["definitions"]["RawStep"]["properties"]), all);
    }
}
