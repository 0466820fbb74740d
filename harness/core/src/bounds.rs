//! What an input schema tells about the integers that an argument takes, and about the lengths of its texts.

use serde_json::Value;

use crate::wire::as_integer;

/// Keywords by which a schema may allow fewer integers than its bounds tell (JSON Schema 2020-12, validation and core).
const NARROWING: [&str; 10] =
    ["enum", "const", "multipleOf", "not", "allOf", "anyOf", "oneOf", "if", "$ref", "$dynamicRef"];

/// The bounds that do not belong to what they limit.
const EXCLUSIVE: [&str; 2] = ["exclusiveMinimum", "exclusiveMaximum"];

/// The least and the greatest integer of an argument, as far as every integer between them is one that the schema allows.
/// Where another keyword may forbid some of them, neither is told: what lies between is then no value that a device must
/// take.
pub fn bounds(schema: &Value) -> [Option<i64>; 2] {
    if is_narrowed(schema) {
        return [None; 2];
    }
    let number = |name: &str| schema.get(name).and_then(as_integer);
    let [above, below] = EXCLUSIVE.map(number);
    let least = above.map(|bound| bound.saturating_add(1));
    let greatest = below.map(|bound| bound.saturating_sub(1));
    [
        number("minimum").into_iter().chain(least).max(),
        number("maximum").into_iter().chain(greatest).min(),
    ]
}

/// Whether a schema may forbid integers between its bounds.
pub fn is_narrowed(schema: &Value) -> bool {
    let has = |keyword: &&str| schema.get(keyword).is_some();
    // In draft 4 they are no numbers, and belong to the bound beside them.
    let is_bound = |keyword: &&str| schema.get(keyword).and_then(as_integer).is_some();
    NARROWING.iter().any(has) || EXCLUSIVE.iter().any(|keyword| has(keyword) && !is_bound(keyword))
}

/// Keywords of an input schema that may ask for one argument because of another, or for so many (JSON Schema 2020-12, core
/// and validation; draft 7). What no draft knows says nothing of the values.
const TYING: [&str; 19] = [
    "if",
    "then",
    "else",
    "not",
    "allOf",
    "anyOf",
    "oneOf",
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// Whether a tool takes whatever set of arguments is good one by one: another keyword of its schema, such as `if` or
/// `dependentRequired`, may ask for one because of another.
pub fn takes_each_alone(schema: &Value) -> bool {
    TYING.iter().all(|keyword| schema.get(keyword).is_none())
}

/// Keywords that tell more of a text than its length.
const OF_TEXTS: [&str; 4] = ["pattern", "format", "contentEncoding", "contentMediaType"];

/// Longest text, in characters, whose length is tried: a parser may refuse what is much longer.
const LONGEST: usize = 1800;

/// How many characters a text may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// The fewest.
    pub least: usize,
    /// The most, where that is a number that can be tried.
    pub most: Option<usize>,
}

/// How long a text may be, where a schema limits that and tells nothing else of it.
pub fn lengths(schema: &Value) -> Option<Lengths> {
    let is_text = schema.get("type").and_then(Value::as_str) == Some("string");
    let is_plain = OF_TEXTS.iter().all(|keyword| schema.get(keyword).is_none());
    let count = |name: &str| usize::try_from(schema.get(name).and_then(as_integer)?).ok();
    let least = count("minLength").unwrap_or(0);
    let most = count("maxLength");
    let is_range = most.is_none_or(|most| least <= most && most > 0) && least <= LONGEST;
    let most = most.filter(|most| *most <= LONGEST);
    let is_limited = least > 0 || most.is_some();
    (is_text && is_plain && !is_narrowed(schema) && is_range && is_limited)
        .then_some(Lengths { least, most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds_are_told_only_where_all_between_them_is_allowed() {
        let plain = json!({"type": "integer", "minimum": 0, "maximum": 100, "default": 5});
        assert_eq!(bounds(&plain), [Some(0), Some(100)]);
        assert_eq!(bounds(&json!({"type": "integer", "minimum": -5})), [Some(-5), None]);
        let exclusive = json!({"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 101});
        assert_eq!(bounds(&exclusive), [Some(0), Some(100)]);
        for (keyword, value) in [
            ("multipleOf", json!(5)),
            ("exclusiveMinimum", true.into()),
            ("exclusiveMaximum", json!(9.5)),
        ] {
            let mut narrowed = plain.clone();
            narrowed[keyword] = value;
            assert_eq!(bounds(&narrowed), [None, None], "{keyword}");
        }
    }

    #[test]
    fn arguments_are_good_alone_where_no_keyword_ties_them() {
        let plain = json!({"type": "object", "properties": {}, "required": [], "$schema": "x", "x-order": 1, "deprecated": false});
        assert!(takes_each_alone(&plain));
        for keyword in ["if", "anyOf", "dependentRequired", "minProperties", "$ref"] {
            let mut tied = plain.clone();
            tied[keyword] = json!({});
            assert!(!takes_each_alone(&tied), "{keyword}");
        }
    }

    #[test]
    fn lengths_are_told_only_where_nothing_else_limits_a_text() {
        let text = |more: Value| {
            let mut schema = json!({"type": "string", "maxLength": 20});
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            lengths(&schema)
        };
        let of = |least, most| Some(Lengths { least, most });
        assert_eq!(text(json!({})), of(0, Some(20)));
        assert_eq!(text(json!({"minLength": 2})), of(2, Some(20)));
        assert_eq!(text(json!({"minLength": 1, "maxLength": 100_000})), of(1, None));
        for none in [
            json!({"maxLength": 100_000}),
            json!({"maxLength": "20"}),
            json!({"maxLength": -1}),
            json!({"minLength": 21}),
            json!({"pattern": "^a"}),
            json!({"enum": ["a"]}),
            json!({"type": "integer"}),
        ] {
            assert_eq!(text(none.clone()), None, "{none}");
        }
    }
}
