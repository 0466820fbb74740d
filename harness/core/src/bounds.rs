//! What an input schema tells about the integers that an argument takes.

use serde_json::Value;

use crate::wire::as_integer;

/// Keywords by which a schema may allow fewer integers than its bounds tell (JSON Schema 2020-12, validation and core).
const NARROWING: [&str; 12] = [
    "enum",
    "const",
    "multipleOf",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "not",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "$ref",
    "$dynamicRef",
];

/// `minimum` and `maximum` of an argument, as far as every integer between them is one that the schema allows. Where
/// another keyword may forbid some of them, neither is told: what lies between is then no value that a device must take.
pub fn bounds(schema: &Value) -> [Option<i64>; 2] {
    let bound = |name: &str| schema.get(name).and_then(as_integer).filter(|_| !is_narrowed(schema));
    [bound("minimum"), bound("maximum")]
}

/// Whether a schema may forbid integers between its bounds.
pub fn is_narrowed(schema: &Value) -> bool {
    NARROWING.iter().any(|keyword| schema.get(keyword).is_some())
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
        let mut narrowed = plain;
        narrowed["multipleOf"] = json!(5);
        assert_eq!(bounds(&narrowed), [None, None]);
    }
}
