//! Checks on one tool of a list: its name, its description, and the schema of its arguments.

use mcp_hil_core::bounds::bounds;
use mcp_hil_core::capability::SET_VOLUME;
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
    let dangling = dangling(schema, schema);
    sink.test(Id::ListSchemaValid, dangling.is_none(), || {
        let expected = "a schema that has what its `$ref` names";
        evidence(expected, format!("`{}` in {schema}", dangling.unwrap_or_default()), seq)
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
    judge_parts(seq, schema, sink);
    if name == Some(SET_VOLUME) {
        judge_levels(seq, properties.and_then(|all| all.get("volume")), sink);
    }
    for (name, property) in properties.into_iter().flatten() {
        judge_property(seq, (name, property), description, sink);
    }
}

/// Judges which levels of the loudspeaker the schema of its argument allows.
fn judge_levels(seq: u64, level: Option<&Value>, sink: &mut Sink) {
    let Some(level) = level else { return };
    let [least, greatest] = bounds(level);
    let is_usual = least.is_none_or(|least| least == 0) && greatest.is_none_or(|most| most == 100);
    sink.test(Id::VolumeRange, is_usual, || {
        evidence("`volume` from 0 to 100", level.to_string(), seq)
    });
}

/// Judges what is well formed, and should be more than that: each `enum`, and each `pattern`, at any depth.
fn judge_parts(seq: u64, schema: &Value, sink: &mut Sink) {
    sink.held(Id::ListEnumUnique);
    sink.held(Id::ListPatternValid);
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        let twice = (1..listed.len()).find(|at| listed[..*at].contains(&listed[*at]));
        sink.test(Id::ListEnumUnique, twice.is_none(), || {
            let value = twice.map_or(&Value::Null, |at| &listed[at]);
            evidence("each value of an `enum` once", format!("{value} twice in {schema}"), seq)
        });
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        sink.test(Id::ListPatternValid, !is_broken(pattern), || {
            let expected = "a `pattern` that is a regular expression";
            evidence(expected, format!("`{pattern}` in {schema}"), seq)
        });
    }
    for part in parts(schema) {
        judge_parts(seq, part, sink);
    }
}

/// The schemas within a schema.
fn parts(schema: &Value) -> impl Iterator<Item = &Value> {
    let members = |name: &&str| schema.get(name);
    let maps = OF_SCHEMAS.iter().filter_map(members).filter_map(Value::as_object);
    let lists = LISTS_OF_SCHEMAS.iter().filter_map(members).filter_map(Value::as_array);
    let single = SCHEMAS.iter().filter_map(members).filter(|one| one.is_object());
    maps.flat_map(serde_json::Map::values).chain(lists.flatten()).chain(single)
}

/// A `$ref` that names a place of the schema at which nothing is. Other documents, and names instead of places, are not
/// looked for.
fn dangling<'a>(whole: &Value, part: &'a Value) -> Option<&'a str> {
    if part.get("$id").or(part.get("id")).is_some_and(Value::is_string) {
        // Places are those of another document from here on.
        return None;
    }
    let named = part.get("$ref").and_then(Value::as_str);
    let place = named.and_then(|name| name.strip_prefix('#')).filter(|place| !place.contains('%'));
    let is_nowhere = |place: &str| place.starts_with('/') && whole.pointer(place).is_none();
    if place.is_some_and(is_nowhere) {
        return named;
    }
    parts(part).find_map(|part| dangling(whole, part))
}

/// Members of a schema that hold others: by name, one behind the other, and one alone.
const OF_SCHEMAS: [&str; 3] = ["properties", "$defs", "definitions"];
const LISTS_OF_SCHEMAS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SCHEMAS: [&str; 3] = ["items", "additionalProperties", "not"];

/// Whether a text is no regular expression in any of the dialects that people write. A dialect of which that is not
/// known may have it otherwise.
fn is_broken(pattern: &str) -> bool {
    let repeats_nothing = pattern.starts_with(['*', '+', '?']);
    // What is quoted so means itself.
    let is_quoted = pattern.contains(r"\Q");
    !is_quoted && (repeats_nothing || !(is_whole(pattern, false) || is_whole(pattern, true)))
}

/// Whether what is opened in a pattern is closed in it. In some dialects a bracket that is the first of a class belongs to
/// it, in others it ends that.
fn is_whole(pattern: &str, first_belongs: bool) -> bool {
    let (mut depth, mut rest) = (0_usize, pattern.chars().peekable());
    while let Some(character) = rest.next() {
        match character {
            '\\' if rest.next().is_none() => return false,
            '[' => {
                rest.next_if_eq(&'^');
                if first_belongs {
                    rest.next_if_eq(&']');
                }
                loop {
                    match rest.next() {
                        Some(']') => break,
                        Some('\\') => _ = rest.next(),
                        Some(_) => {}
                        None => return false,
                    }
                }
            }
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::plain("^[0-9]{2}:[0-9]{2}$", false)]
    #[case::groups(r"^(?<hour>\d+)\(([a-z]|(?!x))*\)$", false)]
    #[case::brackets("[](]", false)]
    #[case::bracket_alone("a]b{", false)]
    #[case::class_of_brackets(r"[()\]]+", false)]
    #[case::quoted(r"\Q(\E", false)]
    #[case::open("^(([01][0-9]|2[0-3]):[0-5][0-9]$", true)]
    #[case::closed("a)", true)]
    #[case::class_open("[a-z", true)]
    #[case::glob("*.txt", true)]
    #[case::escape_of_nothing("a\\", true)]
    fn a_pattern_is_taken_for_broken_where_no_dialect_has_it(
        #[case] pattern: &str,
        #[case] broken: bool,
    ) {
        assert_eq!(is_broken(pattern), broken);
    }

    #[rstest]
    #[case::there(json!({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}), None)]
    #[case::recursive(json!({"properties": {"a": {"items": {"$ref": "#"}}}}), None)]
    #[case::escaped(json!({"anyOf": [{"$ref": "#/$defs/a~1b"}], "$defs": {"a/b": {}}}), None)]
    #[case::elsewhere(json!({"anyOf": [{"$ref": "https://example.com/a#/b"}, {"$ref": "#anchor"}]}), None)]
    #[case::of_another_document(json!({"$defs": {"a": {"$id": "x", "not": {"$ref": "#/b"}}}}), None)]
    #[case::a_property_of_that_name(json!({"properties": {"$ref": {"type": "string"}}}), None)]
    #[case::nowhere(json!({"properties": {"a": {"items": {"$ref": "#/$defs/b"}}}}), Some("#/$defs/b"))]
    fn a_ref_names_something(#[case] schema: Value, #[case] found: Option<&str>) {
        assert_eq!(dangling(&schema, &schema), found);
    }

    #[rstest]
    #[case::once(json!({"properties": {"a": {"enum": [1, 2, "1"]}}}), 0)]
    #[case::twice(json!({"properties": {"a": {"items": {"enum": ["x", "y", "x"]}}}}), 1)]
    #[case::a_property_of_that_name(json!({"properties": {"enum": {"type": "string"}, "pattern": {}}}), 0)]
    #[case::both(json!({"anyOf": [{"enum": [1, 1], "pattern": "("}]}), 2)]
    #[case::a_value(json!({"properties": {"a": {"default": {"pattern": "("}}}}), 0)]
    fn parts_of_a_schema_are_judged_at_any_depth(#[case] schema: Value, #[case] found: usize) {
        let mut sink = Sink::default();
        judge_parts(1, &schema, &mut sink);
        assert_eq!(sink.found.len(), found);
    }
}
