//! What is tried of a schema: values that it may allow, and others that it hardly does.

use serde_json::{Map, Value, json};

use super::pattern::texts_of;
use super::{Maker, Samples, other_case};

/// How deep a schema may be for which values are made.
pub(super) const MOST_DEEP: u8 = 5;

/// Most elements of an array that is made.
const MOST_ELEMENTS: u64 = 32;

/// Longest text, in bytes, of which each character is made another one.
const MOST_PLACES: usize = 12;

/// Longest text that is made, in characters.
const LONGEST: usize = 256;

/// Most members of an enum that are tried.
const MOST_LISTED: usize = 6;

/// A usual text of each format (JSON Schema 2020-12, validation, section 7). What a format forbids is left open there,
/// so that nothing is refused for it.
const FORMATS: [(&str, &str); 10] = [
    ("date-time", "2026-01-31T12:30:00Z"),
    ("date", "2026-01-31"),
    ("time", "12:30:00Z"),
    ("duration", "PT5M"),
    ("email", "a@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com/"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
];

/// Values to try, in the order of what people would send first.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// What a schema may allow.
    pub(super) values: Vec<Value>,
    /// What it may forbid, the more usual mistakes first.
    pub(super) wrong: Vec<Value>,
}

impl Tries {
    fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
        self.wrong.extend(other.wrong);
    }
}

impl Maker {
    /// What is tried of a schema and of its alternatives.
    pub(super) fn tries(&self, schema: &Value, deep: u8) -> Tries {
        let mut tries = stated(schema);
        for kind in kinds(schema) {
            tries.extend(match kind {
                "number" => numbers(schema, 0.5),
                "integer" => numbers(schema, 1.0),
                "boolean" => Tries {
                    values: vec![json!(true), json!(false)],
                    wrong: vec![json!("true"), json!(1), json!(null)],
                },
                "string" => texts(schema),
                "array" => self.arrays(schema, deep),
                "object" => self.objects(schema, deep),
                _ => Tries::default(),
            });
        }
        let Some(deep) = deep.checked_sub(1) else { return tries };
        let branches = ["anyOf", "oneOf", "allOf"].into_iter();
        let branches = branches.filter_map(|name| schema.get(name)?.as_array()).flatten();
        let referred = schema.get("$ref").and_then(Value::as_str);
        let referred = referred.and_then(|reference| self.defined.at(reference));
        for part in branches.chain(referred) {
            tries.extend(self.tries(part, deep));
        }
        tries
    }

    fn arrays(&self, schema: &Value, deep: u8) -> Tries {
        let count = |name: &str| schema.get(name).and_then(Value::as_u64);
        let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
        let items = schema.get("items").and_then(|items| self.samples(items, deep));
        let usual = least.max(1).min(most.unwrap_or(u64::MAX));
        let Some(element) = items.filter(|_| usual <= MOST_ELEMENTS && least <= usual) else {
            return Tries::default();
        };
        let is_unique = schema.get("uniqueItems") == Some(&json!(true));
        let times = |number: u64| {
            let all: Vec<&Value> = [&element.good].into_iter().chain(&element.others).collect();
            let nth = |at: u64| if is_unique { at as usize % all.len() } else { 0 };
            Value::Array((0..number).map(|at| all[nth(at)].clone()).collect())
        };
        let most = most.filter(|most| *most < MOST_ELEMENTS);
        let good = times(usual);
        let mut values = vec![good.clone()];
        values.extend(most.map(times));
        values.extend((least < usual).then(|| times(least)));
        values.extend(element.others.iter().map(|other| json!([other])));
        let mut wrong =
            vec![json!(null), json!({}), json!("mcp-hil"), json!(good.to_string()), json!(1)];
        // An element that stands alone: some make a list of it.
        wrong.push(element.good.clone());
        wrong.extend(most.map(|most| times(most + 1)));
        wrong.extend(least.checked_sub(1).map(times));
        wrong.push(json!([element.good, element.good]));
        let room = |number: u64| most.is_none_or(|most| number <= most);
        let elements = |number: u64| vec![element.good.clone(); number as usize];
        for (nth, bad) in element.bad.iter().enumerate() {
            // Behind good ones: some look at the first alone.
            let mut last = elements(if room(usual + 1) { usual + 1 } else { usual });
            last.pop();
            last.push(bad.clone());
            wrong.push(last.into());
            // And before and between them: some look at the last alone.
            if nth < 2 {
                let several = (usual..usual + 3).rev().find(|number| room(*number));
                let places = several.map_or(0, |number| number as usize - 1);
                for place in [0, places / 2] {
                    let mut all = elements(places as u64 + 1);
                    all[place] = bad.clone();
                    wrong.push(all.into());
                }
            }
        }
        Tries { values, wrong }
    }

    fn objects(&self, schema: &Value, deep: u8) -> Tries {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Tries::default();
        };
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> =
            required.into_iter().flatten().filter_map(Value::as_str).collect();
        let parts: Vec<(&String, Samples)> = properties
            .iter()
            .filter_map(|(name, schema)| Some((name, self.samples(schema, deep)?)))
            .collect();
        let is_required = |name: &str| required.contains(&name);
        let with = |object: &Map<String, Value>, name: &str, value: &Value| {
            let mut all = object.clone();
            all.insert(name.to_owned(), value.clone());
            Value::from(all)
        };
        let whole: Map<String, Value> =
            parts.iter().map(|(name, it)| ((*name).clone(), it.good.clone())).collect();
        let mut good = whole.clone();
        good.retain(|name, _| is_required(name));
        let mut wrong = vec![json!(null), json!([]), json!("mcp-hil"), json!(1)];
        for (name, _) in parts.iter().filter(|(name, _)| is_required(name)) {
            let mut without = good.clone();
            without.remove(*name);
            wrong.push(without.into());
        }
        // One of each member in turn. Some take null for what is left out, and members that no schema allows are
        // dropped by the libraries of several languages.
        let most = parts.iter().map(|(_, samples)| samples.bad.len()).max().unwrap_or(0);
        for nth in 0..most {
            let bad = parts.iter().filter_map(|(name, it)| Some((name, it.bad.get(nth)?)));
            let bad = bad.filter(|(name, bad)| is_required(name) || !bad.is_null());
            wrong.extend(bad.map(|(name, bad)| with(&good, name, bad)));
        }
        let others = parts.iter().flat_map(|(name, it)| it.others.iter().map(move |it| (name, it)));
        let others: Vec<Value> = others.map(|(name, other)| with(&whole, name, other)).collect();
        Tries { values: [good.into(), whole.into()].into_iter().chain(others).collect(), wrong }
    }
}

/// What a schema says itself of its values.
fn stated(schema: &Value) -> Tries {
    let list = |name: &str| schema.get(name).and_then(Value::as_array).into_iter().flatten();
    let one = |name: &str| schema.get(name);
    let listed: Vec<&Value> = list("enum").chain(one("const")).collect();
    let mut values: Vec<Value> = listed.iter().take(MOST_LISTED).map(|it| (*it).clone()).collect();
    values.extend(listed.last().map(|it| (*it).clone()));
    values.extend(list("examples").chain(one("example")).chain(one("default")).cloned());
    let Some(first) = listed.first() else { return Tries { values, wrong: Vec::new() } };
    let beside = |value: i64| [value.checked_add(1), value.checked_sub(1)];
    let numbers = listed.iter().filter_map(|it| it.as_i64());
    let mut wrong: Vec<Value> = numbers.flat_map(beside).flatten().map(Value::from).collect();
    wrong.extend(first.as_f64().map(|number| json!(number.to_string())));
    wrong.push(json!("mcp-hil-none"));
    wrong.extend(first.as_str().map(|text| json!(other_case(text))));
    wrong.extend([json!(null), json!([first]), json!({})]);
    Tries { values, wrong }
}

/// The types of a schema: those that it says, or the one that its keywords are about.
fn kinds(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => {
            let of = |(keyword, kind): (&str, &'static str)| schema.get(keyword).map(|_| kind);
            let signs = [("properties", "object"), ("items", "array"), ("pattern", "string")];
            let kinds = signs.into_iter().find_map(of);
            kinds.into_iter().collect()
        }
    }
}

/// Numbers within bounds that stand as far apart as `step` or as `multipleOf` says, and beside them.
fn numbers(schema: &Value, step: f64) -> Tries {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let grid = number("multipleOf").filter(|grid| *grid > 0.0);
    let apart = grid.unwrap_or(step);
    let (least, most) = (number("minimum"), number("maximum"));
    let (above, below) = (number("exclusiveMinimum"), number("exclusiveMaximum"));
    let snap = |value: f64| grid.map_or(value, |grid| (value / grid).floor() * grid);
    let low = least.or(above.map(|above| snap(above) + apart));
    let high = most.map(snap).or(below.map(|below| below - apart));
    let middle = match (low, high) {
        // Whole, where a whole one is between them.
        (Some(low), Some(high)) => Some(snap(f64::midpoint(low, high).floor())),
        _ => None,
    };
    let middle = middle.filter(|middle| low.is_none_or(|low| *middle >= low));
    let whole = middle.or(low).or(high).unwrap_or(if grid.is_some() { apart } else { 1.0 });
    let mut values = vec![plain(whole)];
    // Of a large number there is no half.
    if step < 1.0 && grid.is_none() && (whole + 0.5).fract() != 0.0 {
        values.push(plain(whole + 0.5));
    }
    values.extend(grid.filter(|grid| grid.fract() != 0.0).map(|grid| plain(whole + grid)));
    // Near a bound that is left out.
    let is_open = above.filter(|_| step < 1.0 && grid.is_none());
    values.extend(is_open.map(|above| plain(above + 0.0625)));
    values.extend([low, high].into_iter().flatten().map(plain));
    let good = &values[0];
    let mut wrong = Vec::new();
    // Beside the grid, and on the bound that is left out.
    wrong.extend(grid.map(|grid| plain(whole + if grid > 1.0 { 1.0 } else { grid / 2.0 })));
    wrong.extend([above, below].into_iter().flatten().map(plain));
    wrong.extend([json!(good.to_string()), json!(format!("{good},5"))]);
    let beyond: &[f64] = if step < 1.0 { &[0.5, 1.0] } else { &[1.0] };
    for by in beyond.iter().map(|by| by * grid.unwrap_or(1.0)) {
        // So little more than a large number is that number.
        wrong.extend(most.or(below).map(|high| plain(snap(high) + by)));
        wrong.extend(least.or(above).map(|low| plain(low - by)));
    }
    wrong.extend([json!(true), json!(null), json!([good]), json!({})]);
    if step >= 1.0 {
        wrong.push(plain(whole + 0.5));
    }
    wrong.push(json!(1e300));
    Tries { values, wrong }
}

/// A number as people write it: without a point where it is whole.
fn plain(number: f64) -> Value {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
        true => json!(number as i64),
        false => json!(number),
    }
}

/// A text with one digit made a nine, or one letter the last of its alphabet, at each place.
fn raised(text: &str) -> Vec<String> {
    let at = |place: usize| {
        let last = |(here, c): (usize, char)| match c {
            '0'..='8' if here == place => '9',
            'a'..='y' if here == place => 'z',
            'A'..='Y' if here == place => 'Z',
            other => other,
        };
        text.chars().enumerate().map(last).collect::<String>()
    };
    (0..text.chars().count()).map(at).filter(|other| other != text).collect()
}

fn texts(schema: &Value) -> Tries {
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    let count = |name: &str| {
        let count = schema.get(name).and_then(Value::as_u64);
        count.and_then(|count| usize::try_from(count).ok()).filter(|count| *count <= LONGEST)
    };
    let patterned = text("pattern").map(texts_of).unwrap_or_default();
    let mut wrong = Vec::new();
    if let Some(good) = patterned.first() {
        wrong.extend([
            "mcp-hil-none".to_owned(),
            // Where an expression ends at the end of a line, and where it is sought anywhere.
            format!("{good}\n"),
            format!("{good}x"),
            format!("x{good}"),
            good.chars().skip(1).collect(),
            String::new(),
            other_case(good),
        ]);
    }
    // A range may be wider than it looks: 29 for an hour.
    wrong.extend(
        patterned.iter().filter(|good| good.len() <= MOST_PLACES).flat_map(|good| raised(good)),
    );
    let usual = FORMATS.iter().find(|(name, _)| Some(*name) == text("format"));
    let least = count("minLength").unwrap_or(0);
    let mut values: Vec<String> = usual.into_iter().map(|(_, text)| (*text).to_owned()).collect();
    // A device may want what is only said to be meant.
    let is_meant = ["format", "contentEncoding", "contentMediaType"].map(text);
    if is_meant.iter().all(Option::is_none) {
        values.extend(patterned);
        values.extend([format!("{:x<least$}", "x"), format!("{:l<least$}", "mcp-hil")]);
    }
    let good = values.first().cloned().unwrap_or_default();
    wrong.extend(count("maxLength").map(|most| "x".repeat(most + 1)));
    wrong.extend(least.checked_sub(1).map(|less| "x".repeat(less)));
    let mut wrong: Vec<Value> = wrong.into_iter().map(Value::from).collect();
    wrong.extend([json!(1), json!(null), json!([good]), json!(true)]);
    Tries { values: values.into_iter().map(Value::from).collect(), wrong }
}
