//! Checks on one tool of a list: its name, its description, and the schema of its arguments.

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::Value;

use super::sink::{Sink, evidence};

/// Judges a tool as it was listed.
pub(super) fn judge_tool(seq: u64, tool: &Value, sink: &mut Sink) {
    let received = || tool.to_string();
    let name = tool.get("name").and_then(Value::as_str);
    sink.test(Id::ListToolName, name.is_some_and(|name| !name.is_empty()), || {
        evidence("a name", received(), seq)
    });
    let description = tool.get("description");
    sink.test(Id::ListDescription, description.is_none_or(Value::is_string), || {
        evidence("a description that is a string", received(), seq)
    });
    let schema = tool.get("inputSchema");
    let object = schema.and_then(|schema| schema.get("type")).and_then(Value::as_str);
    if !sink.test(Id::ListInputSchema, object == Some("object"), || {
        evidence("inputSchema of type \"object\"", received(), seq)
    }) {
        return;
    }
    let Some(schema) = schema else { return };
    let valid = match is_valid_once(schema) {
        true => Ok(()),
        false => jsonschema::meta::validate(schema).map_err(|error| error.to_string()),
    };
    sink.test(Id::ListSchemaValid, valid.is_ok(), || {
        evidence(
            "a valid JSON Schema",
            format!("{} in {}", valid.clone().unwrap_err(), schema),
            seq,
        )
    });
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let undeclared = required.into_iter().flatten().find(|name| {
        let name = name.as_str().unwrap_or_default();
        !properties.is_some_and(|properties| properties.contains_key(name))
    });
    sink.test(Id::ListRequiredDeclared, undeclared.is_none(), || {
        evidence("required arguments among the properties", received(), seq)
    });
    let is_typed = |property: &Value| TYPED.iter().any(|name| property.get(name).is_some());
    let untyped = properties.into_iter().flatten().find(|(_, property)| !is_typed(property));
    sink.test(Id::ListPropertyType, untyped.is_none(), || {
        let name = untyped.map_or("", |(name, _)| name);
        evidence(format!("a `type` of the argument `{name}`"), received(), seq)
    });
    for (name, property) in properties.into_iter().flatten() {
        judge_property(seq, (name, property), description, sink);
    }
}

/// Judges what the schema of an argument allows, and its default.
fn judge_property(
    seq: u64,
    (name, property): (&str, &Value),
    description: Option<&Value>,
    sink: &mut Sink,
) {
    let bound = |name: &str| property.get(name).and_then(Value::as_f64);
    if let (Some(least), Some(greatest)) = (bound("minimum"), bound("maximum")) {
        sink.test(Id::ListRangeNotEmpty, least <= greatest, || {
            evidence(
                format!("a minimum of `{name}` that is not above its maximum"),
                property.to_string(),
                seq,
            )
        });
    }
    if let Some(listed) = property.get("enum").and_then(Value::as_array) {
        let is_any = listed.iter().any(|value| obeys(value, property));
        sink.test(Id::ListRangeNotEmpty, is_any, || {
            let expected = format!("a value in the `enum` of `{name}` that its schema allows");
            evidence(expected, property.to_string(), seq)
        });
    }
    if let Some(default) = property.get("default") {
        sink.test(Id::ListDefaultValid, obeys(default, property), || {
            evidence(
                format!("a default of `{name}` that is valid under its own schema"),
                property.to_string(),
                seq,
            )
        });
        if let Some(text) = default.as_str() {
            let described = describes(text, name, property, description);
            sink.test(Id::ListDefaultNotDescription, !described, || {
                evidence(
                    format!("a default of `{name}` that can be used as its value"),
                    format!("a text that describes it: {property}"),
                    seq,
                )
            });
        }
    }
}

/// Whether a schema that does not say of which draft it is, is valid under an earlier one: MCP 2024-11-05 names none.
fn is_valid_once(schema: &Value) -> bool {
    use jsonschema::{draft4, draft6, draft7, draft201909};
    schema.get("$schema").is_none()
        && (draft201909::meta::is_valid(schema)
            || draft7::meta::is_valid(schema)
            || draft6::meta::is_valid(schema)
            || draft4::meta::is_valid(schema))
}

/// Members of a schema that say what values there are.
const TYPED: [&str; 8] = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "not"];

/// Fewest words of a default that may be meant as a description.
const WORDS: usize = 3;

/// Whether the default of a property is the text that was to describe it: it repeats a description, or it
/// is a sentence where a URL belongs and nothing else describes that.
fn describes(default: &str, name: &str, property: &Value, of_tool: Option<&Value>) -> bool {
    let plain = |text: &str| text.trim().trim_end_matches('.').to_lowercase();
    let words = default.split_whitespace().count();
    if words < WORDS {
        return false;
    }
    let own = property.get("description").and_then(Value::as_str);
    let repeats = [own, of_tool.and_then(Value::as_str)]
        .into_iter()
        .flatten()
        .any(|text| plain(text) == plain(default));
    let of_url = name
        .split(['_', '-', '.'])
        .any(|part| part.eq_ignore_ascii_case("url") || part.eq_ignore_ascii_case("uri"));
    let unsaid = own.is_none_or(|own| own.trim().is_empty());
    repeats || of_url && unsaid && words > WORDS && !default.contains("://")
}

fn obeys(default: &Value, property: &Value) -> bool {
    jsonschema::validator_for(property).map_or(true, |validator| validator.is_valid(default))
}
