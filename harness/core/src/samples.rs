//! Values that an input schema allows, and values that it does not, for arguments that are neither integer, boolean nor
//! text.

use serde_json::{Map, Value, json};

use crate::bounds::{is_narrowed, lengths};

/// How deep a schema may be for which values are made.
const MOST_DEEP: u8 = 4;

/// Most elements of an array that is made.
const MOST_ELEMENTS: u64 = 32;

/// Most values that a schema forbids.
const MOST_BAD: usize = 32;

/// Keywords that say more than is understood here (JSON Schema 2020-12; `nullable` is of OpenAPI 3.0, and meant by some).
const FURTHER: [&str; 10] = [
    "nullable",
    "prefixItems",
    "contains",
    "uniqueItems",
    "unevaluatedItems",
    "minProperties",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
];

/// A value that a schema allows, and values that it does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// One that it allows. What else a device wants of it, no schema tells.
    pub good: Value,
    /// Another one that it allows, of a number the half beside it.
    pub half: Option<Value>,
    /// Some that it forbids, the more usual mistakes first.
    pub bad: Vec<Value>,
}

impl Samples {
    fn new(good: impl Into<Value>, bad: Vec<Value>) -> Self {
        Self { good: good.into(), half: None, bad }
    }
}

/// Samples for a number, an array or an object, where the schema is plain enough to be sure.
pub fn samples(schema: &Value) -> Option<Samples> {
    match type_of(schema)? {
        "number" | "array" | "object" => {
            let mut samples = of(schema, MOST_DEEP)?;
            samples.bad.truncate(MOST_BAD);
            Some(samples)
        }
        _ => None,
    }
}

fn type_of(schema: &Value) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

fn of(schema: &Value, deep: u8) -> Option<Samples> {
    let deep = deep.checked_sub(1)?;
    let kind = type_of(schema)?;
    let is_enum = schema.get("enum").is_some();
    if FURTHER.iter().any(|keyword| schema.get(keyword).is_some())
        || is_narrowed(schema) && !(is_enum && kind == "string")
    {
        return None;
    }
    match kind {
        "number" => Some(number(schema, &[0.5, 1.0])),
        "integer" => {
            let mut whole = number(schema, &[1.0]);
            let half = whole.half.take();
            whole.bad.extend(half);
            Some(whole)
        }
        "boolean" => Some(Samples::new(true, vec![json!("true"), json!(1), json!(null)])),
        "string" => Some(text(schema)?),
        "array" => array(schema, deep),
        "object" => object(schema, deep),
        _ => None,
    }
}

/// A number, and what lies `beyond` its bounds by so much.
fn number(schema: &Value, beyond: &[f64]) -> Samples {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let (low, high) = (bound("minimum"), bound("maximum"));
    let middle = match (low, high) {
        // Whole, where a whole one is between them.
        (Some(low), Some(high)) => Some(f64::midpoint(low, high).floor()).filter(|it| *it >= low),
        _ => None,
    };
    let whole = middle.or(low).or(high).unwrap_or(1.0);
    let good = plain(whole);
    // Of a large number there is no half.
    let is_half = |half: &f64| half.fract() != 0.0 && high.is_none_or(|high| *half <= high);
    let half = Some(whole + 0.5).filter(is_half).map(Value::from);
    let comma = json!(format!("{good},5"));
    let mut bad =
        vec![json!(good.to_string()), comma, json!(true), json!(null), json!([good]), json!({})];
    // So little more than a large number is that number.
    for by in beyond {
        bad.extend(high.map(|high| high + by).filter(|it| Some(*it) > high).map(plain));
        bad.extend(low.map(|low| low - by).filter(|it| Some(*it) < low).map(plain));
    }
    bad.extend(high.filter(|high| *high < 1e300).map(|_| json!(1e300)));
    Samples { good, half, bad }
}

/// A number as people write it: without a point where it is whole.
fn plain(number: f64) -> Value {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
        true => json!(number as i64),
        false => json!(number),
    }
}

/// A text with its letters in other case.
pub fn other_case(text: &str) -> String {
    let turned = |c: char| match c.is_ascii_lowercase() {
        true => c.to_ascii_uppercase(),
        false => c.to_ascii_lowercase(),
    };
    text.chars().map(turned).collect()
}

fn text(schema: &Value) -> Option<Samples> {
    let listed = schema.get("enum").and_then(Value::as_array);
    let length = lengths(schema).map_or(0, |lengths| lengths.least);
    let good = match listed {
        Some(listed) => listed.first()?.clone(),
        None => json!(format!("{:x<length$}", "x")),
    };
    let mut bad = vec![json!(1), json!(null), json!([good]), json!(true)];
    if let Some(listed) = listed {
        let near = good.as_str().map(|good| json!(other_case(good)));
        let others = [Some(json!("mcp-hil-none")), near].into_iter().flatten();
        bad.extend(others.filter(|other| !listed.contains(other)));
    }
    Some(Samples::new(good, bad))
}

fn array(schema: &Value, deep: u8) -> Option<Samples> {
    let count = |name: &str| schema.get(name).and_then(Value::as_u64);
    let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
    let element = of(schema.get("items")?, deep)?;
    let times = |number: u64| Value::Array(vec![element.good.clone(); number as usize]);
    let number = least.max(1).min(most.unwrap_or(u64::MAX));
    if number > MOST_ELEMENTS || least > number {
        return None;
    }
    let good = times(number);
    let mut bad = vec![json!(null), json!({}), json!("mcp-hil"), json!(good.to_string()), json!(1)];
    // An element that stands alone: some make a list of it.
    bad.extend(Some(&element.good).filter(|alone| alone.is_object()).cloned());
    bad.extend(most.filter(|most| *most < MOST_ELEMENTS).map(|most| times(most + 1)));
    bad.extend(least.checked_sub(1).map(times));
    // An element behind good ones: some look at the first alone.
    let room = most.is_none_or(|most| number < most);
    for wrong in element.bad {
        let mut elements = vec![element.good.clone(); number as usize];
        match elements.last_mut() {
            Some(last) if !room => *last = wrong,
            _ => elements.push(wrong),
        }
        bad.push(elements.into());
    }
    Some(Samples::new(good, bad))
}

fn object(schema: &Value, deep: u8) -> Option<Samples> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut good = Map::new();
    let mut inner = Vec::new();
    for (name, schema) in properties {
        if required.contains(&name.as_str()) {
            let samples = of(schema, deep)?;
            good.insert(name.clone(), samples.good.clone());
            inner.push((name, samples));
        }
    }
    // What is required and not described, nobody can make.
    if required.len() > inner.len() {
        return None;
    }
    let mut bad = vec![json!(null), json!([]), json!("mcp-hil"), json!(1)];
    for (name, samples) in &inner {
        let mut without = good.clone();
        without.remove(*name);
        bad.push(without.into());
        bad.extend(samples.bad.iter().map(|wrong| {
            let mut with = good.clone();
            with.insert((*name).clone(), wrong.clone());
            with.into()
        }));
    }
    Some(Samples::new(good, bad))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::number(json!({"type": "number", "minimum": 5, "maximum": 35}), json!(20))]
    #[case::narrow(json!({"type": "number", "minimum": 0.25, "maximum": 0.75}), json!(0.25))]
    #[case::unbounded(json!({"type": "number"}), json!(1))]
    #[case::large(json!({"type": "number", "minimum": -1e300, "maximum": 1e300}), json!(0))]
    #[case::array(json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2}), json!([true, true]))]
    #[case::object(
        json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}, "b": {}}, "required": ["a"]}),
        json!({"a": "x"})
    )]
    fn a_good_value_is_one_that_the_schema_allows(#[case] schema: Value, #[case] good: Value) {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let samples = samples(&schema).unwrap();
        assert_eq!(samples.good, good);
        assert!(validator.is_valid(&samples.good));
        assert!(samples.bad.len() > 4);
        for bad in &samples.bad {
            assert!(!validator.is_valid(bad), "{bad}");
        }
    }

    #[rstest]
    #[case::integer(json!({"type": "integer"}))]
    #[case::several(json!({"type": ["number", "null"]}))]
    #[case::narrowed(json!({"type": "number", "multipleOf": 0.5}))]
    #[case::nullable(json!({"type": "number", "nullable": true}))]
    #[case::anything(json!({"type": "array"}))]
    #[case::odd_elements(json!({"type": "array", "items": {"type": "number", "not": {"const": 1}}}))]
    #[case::unique(json!({"type": "array", "items": {"type": "number"}, "uniqueItems": true}))]
    #[case::undescribed(json!({"type": "object", "properties": {}, "required": ["a"]}))]
    fn of_what_is_not_understood_nothing_is_made(#[case] schema: Value) {
        assert_eq!(samples(&schema), None);
    }

    #[rstest]
    #[case(json!({"type": "number", "minimum": 5, "maximum": 35}), Some(20.5))]
    #[case(json!({"type": "number", "minimum": 1, "maximum": 1.2}), None)]
    #[case(json!({"type": "number", "minimum": 1e300}), None)]
    #[case(json!({"type": "array", "items": {"type": "number"}}), None)]
    fn a_number_has_a_half_beside_it(#[case] schema: Value, #[case] half: Option<f64>) {
        assert_eq!(samples(&schema).unwrap().half, half.map(Value::from));
    }

    #[test]
    fn mistakes_of_parts_are_mistakes_of_the_whole() {
        let schema = json!({"type": "array", "maxItems": 2, "items": {
            "type": "object",
            "properties": {"hour": {"type": "integer", "minimum": 0, "maximum": 23}},
            "required": ["hour"],
        }});
        let samples = samples(&schema).unwrap();
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
        let samples = super::samples(&listed).unwrap();
        assert!(samples.bad.contains(&json!(["mo", "MO"])), "{:?}", samples.bad);
    }
}
