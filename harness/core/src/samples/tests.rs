use rstest::rstest;
use serde_json::json;

use super::*;

fn alone(schema: &Value) -> Option<Samples> {
    samples(schema, &json!({}))
}

#[rstest]
#[case::number(json!({"type": "number", "minimum": 5, "maximum": 35}), json!(20))]
#[case::narrow(json!({"type": "number", "minimum": 0.25, "maximum": 0.75}), json!(0.25))]
#[case::unbounded(json!({"type": "number"}), json!(1))]
#[case::large(json!({"type": "number", "minimum": -1e300, "maximum": 1e300}), json!(0))]
#[case::grid(json!({"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 5}), json!(50))]
#[case::fine_grid(json!({"type": "number", "multipleOf": 0.5}), json!(0.5))]
#[case::open(json!({"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 3}), json!(2))]
#[case::listed(json!({"type": "integer", "enum": [90, 180, 270]}), json!(90))]
#[case::one(json!({"const": "yes"}), json!("yes"))]
#[case::pattern(json!({"type": "string", "pattern": "^#[0-9a-f]{6}$"}), json!("#aaaaaa"))]
#[case::example(json!({"type": "string", "pattern": "^(?=.*b)[a-c]+$", "examples": ["ab"]}), json!("ab"))]
#[case::format(json!({"type": "string", "format": "date"}), json!("2026-01-31"))]
#[case::either(json!({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "default": null}), json!(3))]
#[case::several(json!({"type": ["number", "null"]}), json!(1))]
#[case::array(json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2}), json!([true, true]))]
#[case::unique(
    json!({"type": "array", "items": {"type": "number"}, "uniqueItems": true, "minItems": 2}),
    json!([1, 1.5])
)]
#[case::object(
    json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}, "b": {}}, "required": ["a"]}),
    json!({"a": "x"})
)]
fn a_good_value_is_one_that_the_schema_allows(#[case] schema: Value, #[case] good: Value) {
    let validator = jsonschema::validator_for(&schema).unwrap();
    let samples = alone(&schema).unwrap();
    assert_eq!(samples.good, good);
    assert!(samples.others.iter().chain([&samples.good]).all(|it| validator.is_valid(it)));
    assert!(samples.bad.len() > 3, "{samples:?}");
    for bad in &samples.bad {
        assert!(!validator.is_valid(bad), "{bad}");
    }
}

#[rstest]
#[case::integer(json!({"type": "integer", "minimum": 1}))]
#[case::boolean(json!({"type": "boolean"}))]
#[case::text(json!({"type": "string", "maxLength": 5}))]
#[case::list_of_texts(json!({"type": "string", "enum": ["a", "b"]}))]
fn a_plain_argument_is_of_another_kind(#[case] schema: Value) {
    assert_eq!(alone(&schema), None);
}

#[rstest]
#[case::nothing(json!({"type": "number", "minimum": 2, "maximum": 1}))]
#[case::anything(json!({"type": "array"}))]
#[case::no_type(json!({"description": "A number."}))]
#[case::undescribed(json!({"type": "object", "properties": {}, "required": ["a"]}))]
#[case::of_an_older_draft(json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}))]
#[case::odd_expression(json!({"type": "string", "pattern": "^(?=.*b)[a-c]{40}$"}))]
#[case::strange_format(json!({"type": "string", "format": "color"}))]
#[case::encoded(json!({"type": "string", "contentEncoding": "base64"}))]
#[case::elsewhere(json!({"$ref": "#/$defs/none"}))]
fn of_what_is_not_understood_nothing_is_made(#[case] schema: Value) {
    assert_eq!(alone(&schema), None);
}

#[test]
fn what_is_defined_elsewhere_is_looked_up() {
    let root = json!({"$defs": {"Hour": {"type": "integer", "minimum": 0, "maximum": 23}}});
    let samples = samples(&json!({"$ref": "#/$defs/Hour"}), &root).unwrap();
    assert_eq!(samples.good, json!(11));
    assert!(samples.bad.contains(&json!(24)));
}

#[rstest]
#[case(json!({"type": "number", "minimum": 5, "maximum": 35}), json!(20.5))]
#[case(json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}), json!([true, true]))]
#[case(json!({"type": "array", "items": {"type": "boolean"}}), json!([]))]
#[case(json!({"type": "string", "pattern": "^[a-z]$"}), json!("c"))]
#[case(json!({"type": "number", "minimum": 30, "maximum": 70, "multipleOf": 0.5}), json!(50.5))]
#[case(json!({"type": "number", "exclusiveMinimum": 0, "maximum": 10}), json!(0.0625))]
#[case(
    json!({"type": "array", "items": {"enum": [1, 2, 3, 4, 5, 6, 7]}, "uniqueItems": true, "maxItems": 7}),
    json!([1, 2, 3, 4, 5, 6, 7])
)]
#[case(
    json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 23}}),
    json!([23])
)]
#[case(
    json!({"type": "object", "properties": {"hour": {"type": "integer", "minimum": 0, "maximum": 23}}}),
    json!({"hour": 23})
)]
#[case(
    json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a"]}),
    json!({"a": 1, "b": 2})
)]
fn there_are_further_good_values(#[case] schema: Value, #[case] other: Value) {
    let samples = alone(&schema).unwrap();
    assert!(samples.others.contains(&other), "{samples:?}");
}

#[rstest]
#[case::beside_the_grid(json!({"type": "integer", "minimum": 0, "multipleOf": 5}), json!(1))]
#[case::open_bound(json!({"type": "number", "exclusiveMinimum": 0}), json!(0))]
#[case::between(json!({"enum": [0, 90]}), json!(89))]
#[case::alone(json!({"type": "array", "items": {"enum": ["mo"]}}), json!("mo"))]
#[case::nested_const(
    json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"const": "x"}}, "required": ["a"]}),
    json!({"a": true, "b": "mcp-hil-none"})
)]
#[case::line(json!({"type": "string", "pattern": "^[0-9]{2}$"}), json!("11\n"))]
#[case::part(json!({"type": "string", "pattern": "^[0-9]{2}$"}), json!("x11"))]
#[case::range(json!({"type": "string", "pattern": "^([01][0-9]|2[0-3]):00$"}), json!("29:00"))]
#[case::twice(
    json!({"type": "array", "items": {"enum": ["mo"]}, "uniqueItems": true}),
    json!(["mo", "mo"])
)]
#[case::first(json!({"type": "array", "items": {"type": "boolean"}}), json!(["true", true, true]))]
#[case::between_good_ones(
    json!({"type": "array", "items": {"type": "boolean"}}),
    json!([true, "true"])
)]
#[case::optional(
    json!({"type": "object", "properties": {"a": {"type": "boolean"}}}),
    json!({"a": "true"})
)]
fn each_keyword_has_its_mistake(#[case] schema: Value, #[case] bad: Value) {
    let samples = alone(&schema).unwrap();
    assert!(samples.bad.contains(&bad), "{samples:?}");
}

#[test]
fn of_a_format_only_what_is_meant_is_tried() {
    let samples = alone(&json!({"type": "string", "format": "date"})).unwrap();
    assert_eq!((samples.good, samples.others), (json!("2026-01-31"), Vec::new()));
}

#[test]
fn no_value_is_longer_than_a_small_message() {
    let text = json!({"type": "string", "pattern": "^a{200}$"});
    let samples = alone(&json!({"type": "array", "items": text, "maxItems": 31})).unwrap();
    let all = samples.others.iter().chain(&samples.bad).chain([&samples.good]);
    assert!(all.map(|value| value.to_string().len()).max().unwrap() <= MOST_BYTES);
}

#[test]
fn null_is_no_mistake_where_it_may_be_meant() {
    let samples = alone(&json!({"type": "number", "nullable": true})).unwrap();
    assert!(!samples.bad.contains(&json!(null)));
}

#[test]
fn mistakes_of_parts_are_mistakes_of_the_whole() {
    let schema = json!({"type": "array", "maxItems": 2, "items": {
        "type": "object",
        "properties": {"hour": {"type": "integer", "minimum": 0, "maximum": 23}},
        "required": ["hour"],
    }});
    let samples = alone(&schema).unwrap();
    for bad in [
        json!({"hour": 11}),
        json!([{"hour": 11}, {"hour": 24}]),
        json!([{"hour": 11}, {"hour": 11.5}]),
        json!([{"hour": 11}, {}]),
        json!([{"hour": 11}, {"hour": 11}, {"hour": 11}]),
        json!("[{\"hour\":11}]"),
    ] {
        assert!(samples.bad.contains(&bad), "{bad}");
    }
    let listed = json!({"type": "array", "items": {"type": "string", "enum": ["mo", "tu"]}});
    let samples = alone(&listed).unwrap();
    assert!(samples.bad.contains(&json!(["mo", "MO"])), "{:?}", samples.bad);
}
