//! Values that an input schema allows, and values that it does not, for arguments that are no plain integer, boolean or
//! text.
//!
//! Values are made by what a schema says (`tries`), and a validator of JSON Schema decides which of them it allows.
//! So a keyword that nothing is made for costs tries, and never a wrong accusation.

mod pattern;
mod tries;

use serde_json::{Map, Value};

use crate::bounds::is_narrowed;
use tries::Tries;

/// Most values that a schema forbids.
const MOST_BAD: usize = 48;

/// Most values that a schema allows, beside the first.
const MOST_OTHERS: usize = 6;

/// Longest value, in bytes of JSON: of a message of 4,096 bytes nobody need be afraid.
const MOST_BYTES: usize = 1500;

/// Keywords that limit a text beyond its length, or may be meant to.
const OF_TEXTS: [&str; 4] = ["pattern", "format", "contentEncoding", "contentMediaType"];

/// A value that a schema allows, and values that it does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// One that it allows. What else a device wants of it, no schema tells.
    pub good: Value,
    /// Further ones that it allows.
    pub others: Vec<Value>,
    /// Some that it forbids, the more usual mistakes first.
    pub bad: Vec<Value>,
}

/// Whether a schema says no more than that an argument is an integer between bounds, a boolean, or a text of some length
/// or out of a list.
pub fn is_plain(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    let has = |keyword: &str| schema.get(keyword).is_some();
    let is_list_of_texts = || {
        let listed = schema.get("enum").and_then(Value::as_array);
        listed.is_some_and(|listed| listed.iter().all(Value::is_string))
    };
    match kind {
        Some("integer" | "boolean") => !is_narrowed(schema),
        Some("string") => {
            !OF_TEXTS.iter().any(|keyword| has(keyword))
                && (!is_narrowed(schema) || is_list_of_texts())
        }
        _ => false,
    }
}

/// Samples for an argument whose schema is not [plain](is_plain), where any can be made; `root` is the input schema around
/// it, for what that defines.
pub fn samples(schema: &Value, root: &Value) -> Option<Samples> {
    if is_plain(schema) {
        return None;
    }
    let mut samples = Maker { defined: Defined::of(root) }.samples(schema, tries::MOST_DEEP)?;
    samples.bad.truncate(MOST_BAD);
    Some(samples)
}

/// What a schema defines for its parts.
#[derive(Debug, Default)]
struct Defined(Map<String, Value>);

impl Defined {
    /// The members that hold definitions: of today's drafts, and of draft 07.
    fn of(root: &Value) -> Self {
        let member = |name: &str| Some((name.to_owned(), root.get(name)?.clone()));
        Self(["$defs", "definitions", "$schema"].into_iter().filter_map(member).collect())
    }

    /// What a reference into them names.
    fn at(&self, reference: &str) -> Option<&Value> {
        let mut names = reference.strip_prefix("#/")?.split('/');
        let first = self.0.get(names.next()?)?;
        names.try_fold(first, |at, name| at.get(name))
    }
}

/// Makes samples of a schema and its parts.
#[derive(Debug)]
struct Maker {
    defined: Defined,
}

impl Maker {
    /// Samples, where the schema is understood and allows any of what is tried.
    fn samples(&self, schema: &Value, deep: u8) -> Option<Samples> {
        let deep = deep.checked_sub(1)?;
        let mut whole = schema.as_object()?.clone();
        for (name, value) in &self.defined.0 {
            whole.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let validator = jsonschema::validator_for(&whole.into()).ok()?;
        let allows = |value: &Value| validator.is_valid(value);
        let Tries { mut values, mut wrong } = self.tries(schema, deep);
        let is_short = |value: &Value| value.to_string().len() <= MOST_BYTES;
        values.retain(is_short);
        wrong.retain(is_short);
        let mut good: Vec<&Value> = Vec::new();
        // Null stands for what is left out.
        for value in values.iter().filter(|it| !it.is_null() && allows(it)) {
            if !good.contains(&value) {
                good.push(value);
            }
        }
        let (first, others) = good.split_first()?;
        // OpenAPI 3.0 has a keyword for it, which JSON Schema does not know.
        let takes_null = schema.to_string().contains(r#""nullable":true"#);
        let mut bad: Vec<Value> = Vec::new();
        for value in wrong.into_iter().chain(values.iter().cloned()) {
            if !(bad.contains(&value) || allows(&value) || takes_null && holds_null(&value)) {
                bad.push(value);
            }
        }
        let others = others.iter().take(MOST_OTHERS).map(|it| (*it).clone()).collect();
        Some(Samples { good: (*first).clone(), others, bad })
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.iter().any(holds_null),
        Value::Object(members) => members.values().any(holds_null),
        _ => false,
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

#[cfg(test)]
mod tests;
