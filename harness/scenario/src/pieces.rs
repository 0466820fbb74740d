//! Parts of the JSON Schema of a scenario file that no type has by itself.

use std::collections::BTreeMap;

use mcp_hil_core::capability;
use mcp_hil_core::catalogue::RequirementId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::matcher::TYPES;

/// An expectation, as `expect.rs` reads it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct Expectation {
    /// The requirement that says so.
    #[schemars(schema_with = "requirement")]
    requirement: String,
    /// The kind of answer: a result whose `isError` is not true, a JSON-RPC error, anything but a success, an answer
    /// either way, or none at all.
    #[schemars(extend("enum" = ["result", "error", "refused", "any", "none"]))]
    answer: Option<String>,
    /// What the result must be.
    #[schemars(schema_with = "matcher")]
    result: Option<Value>,
    /// What the error must be.
    #[schemars(schema_with = "matcher")]
    error: Option<Value>,
    /// What the first text in the content must be.
    #[schemars(schema_with = "matcher")]
    text: Option<Value>,
    /// What that text must be, read as JSON.
    #[schemars(schema_with = "matcher")]
    json: Option<Value>,
    /// What the error must be where there is one with an integer as its code.
    #[schemars(schema_with = "matcher")]
    if_error: Option<Value>,
    /// Whether parts are judged only where all variables in them have a value.
    if_bound: Option<bool>,
    /// A JSON pointer to the part of the answer that `is` describes.
    #[schemars(schema_with = "pointer")]
    at: Option<String>,
    /// What the part at `at` must be.
    #[schemars(schema_with = "matcher")]
    is: Option<Value>,
    /// A JSON Schema for the result.
    #[schemars(schema_with = "any_schema")]
    schema: Option<Value>,
    /// Whether the device must still answer after the step.
    alive: Option<bool>,
}

/// A requirement of the catalogue.
pub(super) fn requirement(_: &mut SchemaGenerator) -> Schema {
    let slugs: Vec<&str> = RequirementId::ALL.iter().map(|id| id.slug()).collect();
    json_schema!({"type": "string", "enum": slugs})
}

/// What a device must have.
pub(super) fn needs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string", "enum": capability::ALL.as_slice()}})
}

/// One expectation, or several.
pub(super) fn expectations(generator: &mut SchemaGenerator) -> Schema {
    let one = generator.subschema_for::<Expectation>();
    json_schema!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
}

/// Names for parts of the answer.
pub(super) fn bind(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.root_schema_for::<BTreeMap<String, String>>();
    schema.remove("$schema");
    schema.insert("additionalProperties".to_owned(), pointer(generator).to_value());
    schema
}

/// A JSON pointer into an answer. A variable may hold all of it, or what comes after its first part.
pub(super) fn pointer(_: &mut SchemaGenerator) -> Schema {
    let pattern = r"^$|^\$\{|^/\$\{|^/(result|error|text|json|outcome)(/.*|\$\{.*)?$";
    json_schema!({"type": "string", "pattern": pattern})
}

/// Any JSON with operators in it.
pub(super) fn matcher(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Pattern>()
}

/// A JSON Schema.
pub(super) fn any_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"$ref": "http://json-schema.org/draft-07/schema#"})
}

/// Bytes in hexadecimal.
pub(super) fn hex(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": r"^([0-9A-Fa-f]{2}|\$\{repeat:([0-9A-Fa-f]{2})+:[0-9]+\})*$"})
}

/// A pattern for a JSON value. Objects match partially; `{$type: integer}` and the like are operators.
struct Pattern;

impl JsonSchema for Pattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let again = generator.subschema_for::<Self>();
        let is_operator = json!({
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "propertyNames": {"pattern": "^\\$([^{]|$)"}
        });
        let operators = json!({
            "properties": {
                "$any": true,
                "$type": {"enum": TYPES},
                "$in": {"type": "array"},
                "$match": {"type": "string"},
                "$alike": {"type": "string"},
                "$range": {"type": "array", "minItems": 2, "maxItems": 2},
                "$exact": true,
                "$unordered": true,
                "$page": true,
                "$absent": {"type": "boolean"},
                "$not": again,
                "$contains": again
            },
            "additionalProperties": false
        });
        json_schema!({
            "description": "JSON; an object with one member such as `$type` or `$match` is an operator",
            "if": is_operator,
            "then": operators,
            "else": {"additionalProperties": again, "items": again}
        })
    }
}
