//! Arguments of a tool call, checked against the tool's properties before the tool sees them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::json::{self, Object};
use crate::limits::LONGEST_ARGUMENT;
use crate::property::{Property, Range, Value};

/// Why a call was refused; the text names the argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// A required argument is absent.
    Missing(&'static str),
    /// An argument has another type than declared.
    Type {
        /// Name of the argument.
        name: &'static str,
        /// JSON Schema type that was declared.
        expected: &'static str,
        /// JSON type that was sent.
        found: &'static str,
    },
    /// A text is longer than the device keeps, or than there is memory for.
    Length {
        /// Name of the argument.
        name: &'static str,
        /// Length of what was sent, in bytes.
        found: usize,
    },
    /// An integer is outside its range.
    Range {
        /// Name of the argument.
        name: &'static str,
        /// The number as it was sent.
        found: String,
        /// What was declared.
        range: Range,
    },
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentError::Missing(name) => write!(f, "Missing required argument: {name}"),
            ArgumentError::Type { name, expected, found } => {
                write!(f, "Invalid type for argument: {name} must be {expected}, got {found}")
            }
            ArgumentError::Length { name, found } => {
                write!(
                    f,
                    "Argument too long: {name} must have at most {LONGEST_ARGUMENT} bytes, got {found}"
                )
            }
            ArgumentError::Range { name, found, range } => {
                write!(
                    f,
                    "Argument out of range: {name} must be {} to {}, got {found}",
                    range.minimum, range.maximum
                )
            }
        }
    }
}

/// The arguments of one call: one value for each property of the tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    values: Vec<(&'static str, Value)>,
}

impl Arguments {
    /// Checks what was sent. Arguments that the tool does not declare are ignored; names are
    /// compared exactly.
    pub(crate) fn check(
        properties: &[Property],
        sent: Option<Object<'_>>,
    ) -> Result<Arguments, ArgumentError> {
        let mut values = Vec::with_capacity(properties.len());
        for property in properties {
            let value = match (sent.and_then(|sent| sent.get(property.name)), property.default()) {
                (Some(value), _) => check_one(property, value)?,
                (None, Some(default)) => default,
                (None, None) => return Err(ArgumentError::Missing(property.name)),
            };
            values.push((property.name, value));
        }
        Ok(Arguments { values })
    }

    /// The integer argument `name`; 0 when the tool declares no such integer.
    pub fn integer(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        }
    }

    /// The integer argument `name` of a property whose range is within 0..=255.
    pub fn byte(&self, name: &str) -> u8 {
        u8::try_from(self.integer(name)).unwrap_or(u8::MAX)
    }

    /// The boolean argument `name`; false when the tool declares no such boolean.
    pub fn boolean(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Boolean(true)))
    }

    /// The string argument `name`; empty when the tool declares no such string.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

fn check_one(property: &Property, sent: json::Value<'_>) -> Result<Value, ArgumentError> {
    let wrong_type = || ArgumentError::Type {
        name: property.name,
        expected: property.type_name(),
        found: json_type(sent),
    };
    match property.type_name() {
        "boolean" => sent.as_bool().map(Value::Boolean).ok_or_else(wrong_type),
        "string" => {
            let text = sent.as_text().ok_or_else(wrong_type)?;
            let copy = text.copy(LONGEST_ARGUMENT).map(Value::Text);
            copy.ok_or_else(|| ArgumentError::Length { name: property.name, found: text.len() })
        }
        _ => {
            let number = sent.as_number().ok_or_else(wrong_type)?;
            let range = property.range();
            match whole(&number) {
                Whole::Integer(value) if range.contains(value) => Ok(Value::Integer(value)),
                Whole::Fraction => Err(wrong_type()),
                Whole::Integer(_) | Whole::OutOfReach => Err(ArgumentError::Range {
                    name: property.name,
                    found: format!("{number}"),
                    range,
                }),
            }
        }
    }
}

enum Whole {
    Integer(i64),
    /// Whole, but outside the 64 bits that a property can declare.
    OutOfReach,
    Fraction,
}

/// `50`, `50.0` and `5e1` are the same integer to JSON Schema; `50.9` is none.
fn whole(number: &serde_json::Number) -> Whole {
    if let Some(integer) = number.as_i64() {
        return Whole::Integer(integer);
    }
    match number.as_f64() {
        // Doubles from 2^53 up have no fraction, and no property reaches that far.
        Some(double) if !(-9e15..=9e15).contains(&double) => Whole::OutOfReach,
        Some(double) if (double as i64) as f64 == double => Whole::Integer(double as i64),
        _ => Whole::Fraction,
    }
}

fn json_type(value: json::Value<'_>) -> &'static str {
    match value.as_number() {
        Some(number) if number.is_f64() => "a number with a fraction",
        Some(_) => "integer",
        None if value.is_null() => "null",
        None if value.is_array() => "array",
        None if value.as_bool().is_some() => "boolean",
        None if value.as_text().is_some() => "string",
        None => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use rstest::rstest;

    const VOLUME: &[Property] = &[Property::integer("volume", "", 0, 100)];
    const STEP: &[Property] = &[Property::integer("step", "", 1, 100).with_default_integer(10)];
    const ENABLED: &[Property] = &[Property::boolean("enabled", "")];

    fn check(properties: &[Property], text: &str) -> Result<Arguments, ArgumentError> {
        let sent = json::Value::read(text).and_then(json::Value::as_object);
        Arguments::check(properties, Some(sent.expect("an object")))
    }

    #[rstest]
    #[case(r#"{"volume":0}"#, 0)]
    #[case(r#"{"volume":100}"#, 100)]
    #[case(r#"{"volume":50.0}"#, 50)]
    #[case(r#"{"volume":50,"other":[1]}"#, 50)]
    #[case(r#"{"volume":-0}"#, 0)]
    fn integers_within_the_range_are_taken(#[case] text: &str, #[case] value: i64) {
        assert_eq!(check(VOLUME, text).expect("accepted").integer("volume"), value);
    }

    #[rstest]
    #[case(r#"{}"#, "Missing required argument: volume")]
    #[case(r#"{"VOLUME":50}"#, "Missing required argument: volume")]
    #[case(r#"{"volume":"50"}"#, "Invalid type for argument: volume must be integer, got string")]
    #[case(r#"{"volume":true}"#, "Invalid type for argument: volume must be integer, got boolean")]
    #[case(r#"{"volume":null}"#, "Invalid type for argument: volume must be integer, got null")]
    #[case(r#"{"volume":[50]}"#, "Invalid type for argument: volume must be integer, got array")]
    #[case(
        r#"{"volume":50.9}"#,
        "Invalid type for argument: volume must be integer, got a number with a fraction"
    )]
    #[case(
        r#"{"volume":100.99}"#,
        "Invalid type for argument: volume must be integer, got a number with a fraction"
    )]
    #[case(
        r#"{"volume":-0.5}"#,
        "Invalid type for argument: volume must be integer, got a number with a fraction"
    )]
    #[case(r#"{"volume":101}"#, "Argument out of range: volume must be 0 to 100, got 101")]
    #[case(
        r#"{"volume":4294967346}"#,
        "Argument out of range: volume must be 0 to 100, got 4294967346"
    )]
    #[case(
        r#"{"volume":18446744073709551666}"#,
        "Argument out of range: volume must be 0 to 100, got 1.8446744073709552e+19"
    )]
    #[case(r#"{"volume":1e20}"#, "Argument out of range: volume must be 0 to 100, got 1e+20")]
    fn everything_else_is_refused_by_name(#[case] text: &str, #[case] message: &str) {
        assert_eq!(check(VOLUME, text).expect_err("refused").to_string(), message);
    }

    #[test]
    fn a_default_stands_for_an_absent_argument_only() {
        assert_eq!(check(STEP, "{}").expect("accepted").integer("step"), 10);
        assert!(check(STEP, r#"{"step":"5"}"#).is_err());
        assert!(check(STEP, r#"{"step":null}"#).is_err());
    }

    #[test]
    fn a_text_has_a_largest_size() {
        const TEXT: &[Property] = &[Property::text("text", "")];
        let sent = |length| alloc::format!(r#"{{"text":"{}"}}"#, "x".repeat(length));
        let longest = check(TEXT, &sent(LONGEST_ARGUMENT)).expect("accepted");
        assert_eq!(longest.text("text").len(), LONGEST_ARGUMENT);
        let error = check(TEXT, &sent(LONGEST_ARGUMENT + 1)).expect_err("refused");
        let message = "Argument too long: text must have at most 4096 bytes, got 4097";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_boolean_is_neither_a_number_nor_a_word() {
        assert!(check(ENABLED, r#"{"enabled":true}"#).expect("accepted").boolean("enabled"));
        assert!(check(ENABLED, r#"{"enabled":1}"#).is_err());
        assert!(check(ENABLED, r#"{"enabled":"true"}"#).is_err());
    }
}
