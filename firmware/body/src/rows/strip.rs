//! A strip of lights, whose tool takes arguments of which a schema says more than a type and bounds.

use reference_device::Tool;
use serde_json::{Value, json};

use crate::defect::Defect;
use crate::prelude::*;
use crate::rows::heater::described;

const SET_LIGHT: &str = "self.strip.set_light";
const DAYS: [&str; 3] = ["mo", "tu", "we"];

const STRIP: &[Tool] = &[Tool {
    name: SET_LIGHT,
    description: "Sets the light of the strip.",
    properties: &[],
    user_only: false,
    handler: |_, _, _| Ok("true".to_string()),
}];

/// Adds the strip. `read` makes of the arguments what the device takes them for, before they are checked.
pub(crate) fn strip(read: fn(&mut Value)) -> Defect {
    described(STRIP, schema, move |_, arguments| {
        read(arguments);
        is_good(arguments)
    })
}

fn schema(name: &Value) -> Option<Value> {
    let properties = json!({
        "color": {"type": "string", "pattern": "^#[0-9a-f]{6}$"},
        "angle": {"type": "integer", "enum": [0, 90, 180]},
        "speed": {"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 10},
        "gamma": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 3},
        "days": {"type": "array", "items": {"type": "string", "enum": DAYS}, "uniqueItems": true},
        "ends": {
            "type": "object",
            "properties": {"first": {"type": "integer", "minimum": 0}},
            "additionalProperties": false,
        },
        "until": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "off"}]},
    });
    let required = json!(["color", "angle"]);
    (name == SET_LIGHT)
        .then(|| json!({"type": "object", "properties": properties, "required": required}))
}

fn is_good(arguments: &Value) -> bool {
    let optional =
        |name: &str, is_good: fn(&Value) -> bool| arguments.get(name).is_none_or(is_good);
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let color = arguments["color"].as_str().and_then(|color| color.strip_prefix('#'));
    color.is_some_and(|color| color.len() == 6 && color.bytes().all(is_digit))
        && [0, 90, 180].iter().any(|angle| arguments["angle"].as_f64() == Some(f64::from(*angle)))
        && optional("speed", |speed| {
            speed.as_f64().is_some_and(|speed| (0..=10).any(|ten| f64::from(ten * 10) == speed))
        })
        && optional("gamma", |it| it.as_f64().is_some_and(|gamma| gamma > 0.0 && gamma < 3.0))
        && optional("days", |days| days.as_array().is_some_and(|days| are_good(days)))
        && optional("ends", |ends| {
            ends.as_object().is_some_and(|ends| {
                let is_first =
                    |(name, at): (&String, &Value)| name == "first" && at.as_u64().is_some();
                ends.iter().all(is_first)
            })
        })
        && optional("until", |until| until == "off" || until.as_u64().is_some_and(|it| it > 0))
}

fn are_good(days: &[Value]) -> bool {
    let is_day = |day: &Value| day.as_str().is_some_and(|day| DAYS.contains(&day));
    let is_new = |(at, day): (usize, &Value)| !days[..at].contains(day);
    days.iter().all(is_day) && days.iter().enumerate().all(is_new)
}
