//! Defects in the handling of arguments that are not about the values of integers: superfluous
//! ones, defaults, booleans, strings, the code of a refusal.

use reference_device::Property;
use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "argument-extra-unanswered",
        "A call with an argument too many is not answered.",
        || with_extra(None),
    ),
    mutant(
        "argument-extra-panics",
        "A call with an argument too many overruns a table.",
        || with_extra(Some(Act::Panic)),
    ),
    mutant(
        "argument-default-required",
        "An argument with a default must be given all the same.",
        || {
            Defect::default().on_method("tools/call", |payload, hands| {
                let params = payload.get("params").unwrap_or(&Value::Null);
                let Some(tool) = hands.tool_of(params) else {
                    return Flow::Pass;
                };
                let is_given =
                    |property: &Property| params["arguments"].get(property.name).is_some();
                match payload.get("id") {
                    Some(id) if id.is_i64() && !tool.properties.iter().all(is_given) => {
                        let error = json!({"code": -32602, "message": "Missing argument"});
                        hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                        Flow::Drop
                    }
                    _ => Flow::Pass,
                }
            })
        },
    ),
    mutant(
        "argument-default-replaces-wrong-type",
        "A value of the wrong type is replaced by the default.",
        || {
            Defect::default().on_argument(|property, value| {
                let is_right = match property.type_name() {
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    _ => value.is_number(),
                };
                (is_right || property.default().is_none()).then_some(value)
            })
        },
    ),
    mutant(
        "argument-default-replaces-null",
        "null is replaced by the default.",
        || {
            Defect::default().on_argument(|property, value| {
                (!value.is_null() || property.default().is_none()).then_some(value)
            })
        },
    ),
    mutant(
        "argument-default-replaces-string",
        "A string where an integer belongs is replaced by the default.",
        || {
            Defect::default().on_argument(|property, value| {
                let is_replaced = property.type_name() == "integer"
                    && property.default().is_some()
                    && value.is_string();
                (!is_replaced).then_some(value)
            })
        },
    ),
    mutant(
        "argument-false-missing",
        "The value false is taken for a missing argument.",
        || Defect::default().on_argument(|_, value| (value != json!(false)).then_some(value)),
    ),
    mutant(
        "argument-true-refused",
        "Booleans are expected as 0 or 1: true is refused.",
        || {
            booleans(|value| {
                if value.as_bool() == Some(true) {
                    json!("true")
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-boolean-from-integer",
        "1 and 0 are accepted where a boolean belongs.",
        || {
            booleans(|value| {
                value
                    .as_i64()
                    .map_or_else(|| value.clone(), |number| json!(number != 0))
            })
        },
    ),
    mutant(
        "argument-boolean-from-string",
        "\"true\" is accepted where a boolean belongs.",
        || {
            booleans(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.clone(), |text| json!(text == "true"))
            })
        },
    ),
    mutant(
        "argument-boolean-truthy",
        "Everything but null is accepted where a boolean belongs.",
        || {
            booleans(|value| match value {
                Value::Bool(_) | Value::Null => value.clone(),
                _ => json!(true),
            })
        },
    ),
    mutant(
        "argument-string-from-index",
        "A number where the name of a theme belongs is its place in the list of themes.",
        || {
            strings(|value| {
                let themes = ["light", "dark", "contrast"];
                let index = value.as_u64().and_then(|at| usize::try_from(at).ok());
                index
                    .and_then(|at| themes.get(at))
                    .map_or_else(|| value.clone(), |theme| json!(theme))
            })
        },
    ),
    mutant(
        "argument-string-array-unpacked",
        "The only element of an array is accepted where a string belongs.",
        || {
            strings(|value| match value.as_array().map(Vec::as_slice) {
                Some([text]) if text.is_string() => text.clone(),
                _ => value.clone(),
            })
        },
    ),
    mutant(
        "argument-string-null-as-light",
        "null where a theme belongs is the theme of the factory.",
        || {
            strings(|value| {
                if value.is_null() {
                    json!("light")
                } else {
                    value.clone()
                }
            })
        },
    ),
    mutant(
        "argument-string-echoed-raw",
        "The result repeats a string argument without escaping it.",
        || {
            Defect::default().on_answer_text(|cause, text, _| {
                let arguments = cause.params()["arguments"].as_object();
                let hostile = arguments
                    .into_iter()
                    .flat_map(Map::values)
                    .filter_map(Value::as_str)
                    .find(|text| is_hostile(text));
                if let Some(hostile) = hostile {
                    let raw = format!(r#""text":"{hostile}: "#);
                    *text = text.replacen(r#""text":""#, &raw, 1);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "argument-string-non-bmp-unanswered",
        "A call with a character beyond the basic plane is not answered.",
        || {
            with_string(
                |text| text.chars().any(|character| character > '\u{FFFF}'),
                None,
            )
        },
    ),
    mutant(
        "argument-string-control-panics",
        "A control character in a string argument overruns a buffer.",
        || with_string(|text| text.contains(char::is_control), Some(Act::Panic)),
    ),
    mutant(
        "argument-string-quote-unanswered",
        "A call with a quote in a string argument is not answered.",
        || with_string(|text| text.contains('"'), None),
    ),
    mutant(
        "argument-error-code-internal",
        "A refused argument is an internal error.",
        || code_of_refusal(-32603),
    ),
    mutant(
        "argument-error-code-one",
        "A refused argument gets the code 1.",
        || code_of_refusal(1),
    ),
];

/// Changes what is sent for boolean arguments.
fn booleans(change: fn(&Value) -> Value) -> Defect {
    Defect::default().on_argument(move |property, value| {
        Some(if property.type_name() == "boolean" {
            change(&value)
        } else {
            value
        })
    })
}

/// Changes what is sent for string arguments without a default.
fn strings(change: fn(&Value) -> Value) -> Defect {
    Defect::default().on_argument(move |property, value| {
        let is_required = property.type_name() == "string" && property.default().is_none();
        Some(if is_required { change(&value) } else { value })
    })
}

/// Does something instead of a call that has an argument which the tool does not declare.
fn with_extra(act: Option<Act>) -> Defect {
    Defect::default().on_method("tools/call", move |payload, hands| {
        let params = payload.get("params").unwrap_or(&Value::Null);
        let Some(tool) = hands.tool_of(params) else {
            return Flow::Pass;
        };
        let is_declared = |name: &String| {
            tool.properties
                .iter()
                .any(|property| property.name.eq_ignore_ascii_case(name))
        };
        let is_extra = params["arguments"]
            .as_object()
            .is_some_and(|sent| !sent.keys().all(is_declared));
        if !is_extra {
            return Flow::Pass;
        }
        if let Some(act) = act.clone() {
            hands.act(act);
        }
        Flow::Drop
    })
}

/// Does something instead of a call that has such a string argument.
fn with_string(is_such: fn(&str) -> bool, act: Option<Act>) -> Defect {
    Defect::default().on_method("tools/call", move |payload, hands| {
        let arguments = payload.get("params").unwrap_or(&Value::Null)["arguments"].as_object();
        if !arguments
            .into_iter()
            .flat_map(Map::values)
            .filter_map(Value::as_str)
            .any(is_such)
        {
            return Flow::Pass;
        }
        if let Some(act) = act.clone() {
            hands.act(act);
        }
        Flow::Drop
    })
}

/// Changes the code of refusals of an argument.
fn code_of_refusal(code: i32) -> Defect {
    Defect::default().on_error(move |cause, error| {
        let message = error["message"].as_str().unwrap_or_default();
        let is_refusal = [
            "Missing required argument",
            "Invalid type for argument",
            "Argument out of range",
        ]
        .iter()
        .any(|start| message.starts_with(start));
        if cause.method() == "tools/call" && is_refusal {
            error["code"] = json!(code);
        }
    })
}

fn is_hostile(text: &str) -> bool {
    text.contains(|character: char| character.is_control() || matches!(character, '"' | '\\'))
}
