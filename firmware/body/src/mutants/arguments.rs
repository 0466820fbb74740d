//! Defects in the checking of integer arguments. Most are one line of C++ in a device or in its
//! JSON library.

use reference_device::{Property, Range};
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::float::{round, trunc};
use crate::prelude::*;

/// 2^64, where unsigned numbers wrap around.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "argument-minimum-excluded",
        "The least value of a range is refused: `<=` instead of `<`.",
        || {
            integers(|value, range| {
                if value == &json!(range.minimum) {
                    json!(range.minimum - 1)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-maximum-excluded",
        "The greatest value of a range is refused: `>=` instead of `>`.",
        || {
            integers(|value, range| {
                if value == &json!(range.maximum) {
                    json!(range.maximum + 1)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-greatest-halved",
        "The greatest value of a range is accepted and stored as its half.",
        || {
            integers(|value, range| {
                if value == &json!(range.maximum) {
                    json!(range.maximum / 2)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-least-becomes-one",
        "The least value is accepted and stored as one more.",
        || {
            integers(|value, range| {
                if value == &json!(range.minimum) {
                    json!(range.minimum + 1)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-below-clamped",
        "A value below the range is raised to the least one.",
        || {
            integers(|value, range| match value.as_i64() {
                Some(number) if number < range.minimum => json!(range.minimum),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-above-clamped",
        "A value above the range is lowered to the greatest one.",
        || {
            integers(|value, range| match value.as_i64() {
                Some(number) if number > range.maximum => json!(range.maximum),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-above-by-one",
        "The range ends one too late: 101 of 100 is accepted as 100.",
        || {
            integers(|value, range| {
                if value == &json!(range.maximum + 1) {
                    json!(range.maximum)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-effect-before-check",
        "A value out of range is refused, but it has been applied before.",
        || {
            Defect::default().on_call(|params, hands| {
                for (tool, argument) in [
                    ("self.audio_speaker.set_volume", "volume"),
                    ("self.screen.set_brightness", "brightness"),
                ] {
                    let value = params["arguments"][argument].as_f64();
                    let Some(value) = value
                        .filter(|value| params["name"] == tool && !(0.0..=100.0).contains(value))
                    else {
                        continue;
                    };
                    // A cast from `f64` saturates, as the chip's does.
                    let level = (value as u8).min(100);
                    let board = hands.device.board_mut();
                    match argument {
                        "volume" => board.speaker.volume = level,
                        _ => board.screen.brightness = level,
                    }
                }
            })
        },
    ),
    mutant(
        "argument-effect-of-wrong-type",
        "A value of another type is refused, but the level is 0 afterwards.",
        || {
            Defect::default().on_call(|params, hands| {
                let arguments = &params["arguments"];
                let is_wrong =
                    |name: &str| arguments.get(name).is_some_and(|value| !value.is_number());
                if params["name"] == "self.audio_speaker.set_volume" && is_wrong("volume") {
                    hands.device.board_mut().speaker.volume = 0;
                }
                if params["name"] == "self.screen.set_brightness" && is_wrong("brightness") {
                    hands.device.board_mut().screen.brightness = 0;
                }
            })
        },
    ),
    mutant(
        "argument-missing-as-least",
        "A missing required integer is taken for the least one.",
        || missing(|property| property.type_name() == "integer" && property.default().is_none()),
    ),
    mutant(
        "argument-numeric-string",
        "An integer may come as a string: \"50\" is 50.",
        || {
            integers(
                |value, _| match value.as_str().and_then(|text| text.parse::<i64>().ok()) {
                    Some(number) => json!(number),
                    None => value.clone(),
                },
            )
        },
    ),
    mutant(
        "argument-string-as-least",
        "A string where an integer belongs is taken for the least one.",
        || {
            integers(|value, range| {
                if value.is_string() {
                    json!(range.minimum)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-boolean-as-integer",
        "true is 1 and false is 0 where an integer belongs.",
        || {
            integers(|value, _| {
                value
                    .as_bool()
                    .map_or_else(|| value.clone(), |flag| json!(i32::from(flag)))
            })
        },
    ),
    mutant(
        "argument-null-as-least",
        "null where an integer belongs is taken for the least one.",
        || {
            integers(|value, range| {
                if value.is_null() {
                    json!(range.minimum)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-array-unpacked",
        "An array of one integer is taken for the integer.",
        || {
            integers(|value, _| match value {
                Value::Array(values) => values.first().cloned().unwrap_or_default(),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-object-unpacked",
        "An object is taken for the first integer in it.",
        || {
            integers(|value, _| match value {
                Value::Object(members) => members.values().next().cloned().unwrap_or_default(),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-structure-as-least",
        "An array or an object where an integer belongs is taken for the least one.",
        || {
            integers(|value, range| {
                if value.is_array() || value.is_object() {
                    json!(range.minimum)
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-fraction-truncated",
        "Integers lose their fraction before the range is checked.",
        || fractions(|value, _| Some(trunc(value))),
    ),
    mutant(
        "argument-fraction-rounded",
        "Fractions within the range are rounded.",
        || fractions(|value, range| contains(range, value).then(|| round(value))),
    ),
    mutant(
        "argument-fraction-above-maximum",
        "100.99 is accepted where 100 is the greatest value.",
        || fractions(|value, range| (trunc(value) == range.maximum as f64).then(|| trunc(value))),
    ),
    mutant(
        "argument-fraction-below-minimum",
        "-0.5 is accepted where 0 is the least value.",
        || {
            fractions(|value, range| {
                (value < range.minimum as f64 && value > range.minimum as f64 - 1.0)
                    .then(|| trunc(value))
            })
        },
    ),
    mutant(
        "argument-int32-wrapped",
        "Arguments are cast to 32 bits: 4294967346 is 50.",
        || {
            integers(|value, _| {
                whole(value).map_or_else(|| value.clone(), |number| json!(number as i32))
            })
        },
    ),
    mutant(
        "argument-int31-wrapped",
        "The sign bit of arguments gets lost: 2147483698 is 50.",
        || {
            integers(|value, _| match whole(value) {
                Some(number) if number > 0 => json!(number & 0x7FFF_FFFF),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-uint8-wrapped",
        "Arguments far above the range are cast to a byte.",
        || {
            integers(|value, _| match whole(value) {
                Some(number) if number > i128::from(i32::MAX) => json!(number as u8),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-uint64-wrapped",
        "Arguments above 2^64 begin again at 0.",
        || {
            integers(|value, _| match value.as_f64() {
                Some(number) if value.is_f64() && number.abs() >= TWO_TO_64 => {
                    json!((number % TWO_TO_64) as i64 % 4096)
                }
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-huge-clamped",
        "Arguments beyond 32 bits saturate at the greatest value of the range.",
        || {
            integers(|value, range| match value.as_f64() {
                Some(number) if number > f64::from(i32::MAX) => json!(range.maximum),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-name-case-insensitive",
        "Arguments are found whatever the case of their name.",
        || {
            Defect::default().on_call(|params, hands| {
                let Some(tool) = hands.tool_of(params) else {
                    return;
                };
                let Some(Value::Object(arguments)) = params.get_mut("arguments") else {
                    return;
                };
                for property in tool.properties {
                    let other = arguments
                        .keys()
                        .find(|key| key.eq_ignore_ascii_case(property.name))
                        .cloned();
                    if let Some(value) = other.and_then(|other| arguments.remove(&other)) {
                        arguments.insert(property.name.to_string(), value);
                    }
                }
            })
        },
    ),
];

/// Changes what is sent for integer arguments.
fn integers(change: fn(&Value, Range) -> Value) -> Defect {
    Defect::default().on_argument(move |property, value| {
        Some(if property.type_name() == "integer" {
            change(&value, property.range())
        } else {
            value
        })
    })
}

/// Changes fractions that are sent for integer arguments; `None` leaves one as it is.
fn fractions(change: fn(f64, Range) -> Option<f64>) -> Defect {
    Defect::default().on_argument(move |property, value| {
        let fraction = value.as_f64().filter(|number| trunc(*number) != *number);
        let changed = fraction
            .filter(|_| property.type_name() == "integer")
            .and_then(|number| change(number, property.range()));
        Some(changed.map_or(value, |number| json!(number as i64)))
    })
}

/// Fills in missing arguments with the least value.
fn missing(is_filled: fn(&Property) -> bool) -> Defect {
    Defect::default().on_call(move |params, hands| {
        let Some(tool) = hands.tool_of(params) else {
            return;
        };
        if params.get("arguments").is_none() {
            params["arguments"] = json!({});
        }
        let Some(Value::Object(arguments)) = params.get_mut("arguments") else {
            return;
        };
        for property in tool
            .properties
            .iter()
            .filter(|property| is_filled(property))
        {
            arguments
                .entry(property.name)
                .or_insert(json!(property.range().minimum));
        }
    })
}

fn contains(range: Range, value: f64) -> bool {
    (range.minimum as f64..=range.maximum as f64).contains(&value)
}

/// A number without fraction within 128 bits.
fn whole(value: &Value) -> Option<i128> {
    let integer = value
        .as_i64()
        .map(i128::from)
        .or_else(|| value.as_u64().map(i128::from));
    integer.or_else(|| {
        value
            .as_f64()
            .filter(|number| trunc(*number) == *number)
            .map(|number| number as i128)
    })
}
