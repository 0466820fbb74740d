//! Defects in the checking of integer arguments. Most are one line of C++ in a device or in its
//! JSON library.

use reference_device::{Board, Property, Range};

use crate::float::{round, trunc};
use crate::rows::prelude::*;

/// 2^64, where unsigned numbers wrap around.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

pub(super) const MUTANTS: &[Row] = rows! {
    "argument-minimum-excluded": "The smallest value of a range is refused: `<=` instead of `<`."
        => integers(|value, range| (*value == range.minimum).then_some(range.minimum - 1));
    "argument-maximum-excluded": "The largest value of a range is refused: `>=` instead of `>`."
        => integers(|value, range| (*value == range.maximum).then_some(range.maximum + 1));
    "argument-greatest-halved": "The largest value of a range is accepted and stored as half of it."
        => integers(|value, range| (*value == range.maximum).then_some(range.maximum / 2));
    "argument-least-becomes-one": "The smallest value is accepted and stored as one more."
        => integers(|value, range| (*value == range.minimum).then_some(range.minimum + 1));
    "argument-below-clamped": "A value below the range is raised to the smallest one."
        => integers(|value, range| (value.as_i64()? < range.minimum).then_some(range.minimum));
    "argument-above-clamped": "A value above the range is lowered to the largest one."
        => integers(|value, range| (value.as_i64()? > range.maximum).then_some(range.maximum));
    "argument-above-by-one": "The range ends one too late: 101 is accepted as 100."
        => integers(|value, range| (*value == range.maximum + 1).then_some(range.maximum));
    "argument-effect-before-check":
        "A value out of range is refused, but only after it was applied."
        => defect().on_call(|params, hands| {
            for (tool, argument, level) in levels(hands.device.board_mut()) {
                let value = params["arguments"][argument].as_f64();
                let value = value.filter(|value| !(0.0..=100.0).contains(value));
                if let Some(value) = value.filter(|_| params["name"] == tool) {
                    // A cast from `f64` saturates, as the chip's does.
                    *level = (value as u8).min(100);
                }
            }
        });
    "argument-effect-of-wrong-type":
        "A value of another type is refused, but the level is 0 afterwards."
        => defect().on_call(|params, hands| {
            for (tool, argument, level) in levels(hands.device.board_mut()) {
                let value = params["arguments"].get(argument);
                if params["name"] == tool && value.is_some_and(|value| !value.is_number()) {
                    *level = 0;
                }
            }
        });
    "argument-missing-as-least": "A missing required integer is replaced by the smallest value."
        => missing(|property| property.type_name() == "integer" && property.default().is_none());
    "arguments-missing-as-before": "A call without arguments gets those of the call before, if that was of the same tool." => {
        let mut before = (Value::Null, Value::Null);
        defect().on_call(move |params, _| {
            if params["arguments"].is_null() && params["name"] == before.0 {
                params["arguments"] = before.1.clone();
            }
            before = (params["name"].clone(), params["arguments"].clone());
        })
    };
    "argument-numeric-string": "An integer may come as a string: \"50\" is 50."
        => integers(|value, _| value.as_str()?.parse::<i64>().ok());
    "argument-hex-string": "An integer may come as hexadecimal text: \"0x5\" is 5."
        => integers(|value, _| i64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok());
    "argument-decimal-string": "An integer may come as text with a fraction of zero: \"5.0\" is 5."
        => integers(|value, _| value.as_str()?.strip_suffix(".0")?.parse::<i64>().ok());
    "argument-string-as-least": "A string for an integer is replaced by the smallest value."
        => integers(|value, range| value.is_string().then_some(range.minimum));
    "argument-boolean-as-integer": "true is 1 and false is 0 for an integer."
        => integers(|value, _| value.as_bool().map(i32::from));
    "argument-null-as-least": "null for an integer is replaced by the smallest value."
        => integers(|value, range| value.is_null().then_some(range.minimum));
    "argument-array-unpacked": "An array of one integer is accepted for the integer."
        => integers(|value, _| Some(value.as_array()?.first().cloned()));
    "argument-object-unpacked": "An object is accepted as the first integer in it."
        => integers(|value, _| Some(value.as_object()?.values().next().cloned()));
    "argument-structure-as-least":
        "An array or an object for an integer is replaced by the smallest value."
        => integers(|value, range| {
            (value.is_array() || value.is_object()).then_some(range.minimum)
        });
    "argument-fraction-truncated": "Integers lose their fraction before the range is checked."
        => fractions(|value, _| Some(trunc(value)));
    "argument-fraction-rounded": "Fractions within the range are rounded."
        => fractions(|value, range| contains(range, value).then(|| round(value)));
    "argument-fraction-above-maximum": "100.99 is accepted although 100 is the largest value."
        => fractions(|value, range| (trunc(value) == range.maximum as f64).then(|| trunc(value)));
    "argument-fraction-below-minimum": "-0.5 is accepted although 0 is the smallest value."
        => fractions(|value, range| {
            let least = range.minimum as f64;
            (value < least && value > least - 1.0).then(|| trunc(value))
        });
    "argument-fraction-near": "A number that is nearly an integer is taken for it."
        => fractions(|value, _| {
            let near = round(value);
            ((value - near).abs() < 1e-6).then_some(near)
        });
    "argument-int32-wrapped": "Arguments are cast to 32 bits: 4294967346 is 50."
        => integers(|value, _| whole(value).map(|number| number as i32));
    "argument-int31-wrapped": "The sign bit of arguments is lost: 2147483698 is 50."
        => integers(|value, _| {
            whole(value).filter(|number| *number > 0).map(|number| number as u32 & 0x7FFF_FFFF)
        });
    "argument-uint8-wrapped": "Arguments far above the range are cast to a byte."
        => integers(|value, _| {
            whole(value).filter(|number| *number > INT_MAX).map(|number| number as u8)
        });
    "argument-uint64-wrapped": "Arguments above 2^64 wrap around to 0."
        => integers(|value, _| {
            let number =
                value.as_f64().filter(|number| value.is_f64() && number.abs() >= TWO_TO_64);
            number.map(|number| (number % TWO_TO_64) as i64 % 4096)
        });
    "argument-huge-clamped": "Arguments beyond 32 bits saturate at the largest value of the range."
        => integers(|value, range| {
            (value.as_f64()? > f64::from(i32::MAX)).then_some(range.maximum)
        });
    "argument-name-underscores-ignored": "Underscores in the name of the level are ignored."
        => defect().on_call(|params, _| {
            let arguments = params.get_mut("arguments").and_then(Value::as_object_mut);
            let Some(arguments) = arguments else { return };
            if let Some(value) = arguments.remove("vol_ume") {
                set(arguments, "volume", value);
            }
        });
    "argument-name-case-insensitive": "Argument names are compared case-insensitively."
        => defect().on_call(|params, hands| {
            let tool = hands.tool_of(params);
            let arguments = params.get_mut("arguments").and_then(Value::as_object_mut);
            let Some((tool, arguments)) = tool.zip(arguments) else {
                return;
            };
            for property in tool.properties {
                let mut names = arguments.keys();
                let other =
                    names.find(|name| name.eq_ignore_ascii_case(property.name)).cloned();
                if let Some(value) = other.and_then(|other| arguments.remove(&other)) {
                    set(arguments, property.name, value);
                }
            }
        });
};

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

/// Changes what is sent for integer arguments; `None` leaves it as it is.
fn integers<T: Into<Value> + 'static>(change: fn(&Value, Range) -> Option<T>) -> Defect {
    defect().on_argument(move |property, value| {
        let changed = match property.type_name() {
            "integer" => change(&value, property.range()),
            _ => None,
        };
        Some(changed.map_or(value, Into::into))
    })
}

/// Fills in missing arguments with the least value.
fn missing(is_filled: fn(&Property) -> bool) -> Defect {
    defect().on_call(move |params, hands| {
        let Some(tool) = hands.tool_of(params) else {
            return;
        };
        if params.get("arguments").is_none() {
            params["arguments"] = json!({});
        }
        if let Some(Value::Object(arguments)) = params.get_mut("arguments") {
            for property in tool.properties.iter().filter(|some| is_filled(some)) {
                let least = json!(property.range().minimum);
                arguments.entry(property.name).or_insert(least);
            }
        }
    })
}

/// The settings that a call sets to a level: tool, argument and setting.
fn levels(board: &mut Board) -> [(&'static str, &'static str, &mut u8); 2] {
    [
        (SET, "volume", &mut board.speaker.volume),
        (BRIGHTNESS, "brightness", &mut board.screen.brightness),
    ]
}

fn contains(range: Range, value: f64) -> bool {
    (range.minimum as f64..=range.maximum as f64).contains(&value)
}

/// A number without fraction within 128 bits.
fn whole(value: &Value) -> Option<i128> {
    let whole = || value.as_f64().filter(|number| trunc(*number) == *number);
    integer(value).or_else(|| whole().map(|number| number as i128))
}
