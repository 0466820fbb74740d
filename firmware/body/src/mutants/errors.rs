//! Defects of error answers.

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;

/// Methods that the device has.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "error-string",
        "The error is its message instead of an object.",
        || errors(|_, error| *error = error["message"].take()),
    ),
    mutant(
        "error-array",
        "The error is an array of code and message.",
        || errors(|_, error| *error = json!([error["code"], error["message"]])),
    ),
    mutant("error-code-missing", "Errors have no code.", || {
        errors(|_, error| {
            error.as_object_mut().map(|error| error.remove("code"));
        })
    }),
    mutant(
        "error-code-string",
        "The code of errors is a string.",
        || errors(|_, error| error["code"] = json!(error["code"].to_string())),
    ),
    mutant("error-code-name", "The code of errors is a name.", || {
        errors(|_, error| error["code"] = json!("INVALID_REQUEST"))
    }),
    mutant(
        "error-code-fraction",
        "The code of errors has a fraction.",
        || errors(|_, error| error["code"] = json!(-32600.5)),
    ),
    mutant("error-message-missing", "Errors have no message.", || {
        errors(|_, error| {
            error.as_object_mut().map(|error| error.remove("message"));
        })
    }),
    mutant(
        "error-message-object",
        "The message of errors is an object.",
        || errors(|_, error| error["message"] = json!({"text": error["message"].take()})),
    ),
    mutant(
        "error-message-null",
        "The message of errors about unknown tools is null.",
        || {
            errors(|request, error| {
                if !request.tool().is_empty() {
                    error["message"] = Value::Null;
                }
            })
        },
    ),
    mutant(
        "error-message-unescaped",
        "Names are pasted into error messages without escaping.",
        || unescaped(|name| name.to_string()),
    ),
    mutant(
        "error-message-backslash-unescaped",
        "Quotes in error messages are escaped, backslashes are not.",
        || unescaped(|name| name.replace('"', "\\\"")),
    ),
    mutant(
        "error-message-control-unescaped",
        "Control characters stand in error messages as they are.",
        || unescaped(|name| name.replace('\\', "\\\\").replace('"', "\\\"")),
    ),
    mutant(
        "unknown-method-succeeds",
        "An unknown method is answered with an empty result.",
        || {
            unknown_method(|payload| {
                payload.remove("error");
                payload.insert("result".to_string(), json!({}));
            })
        },
    ),
    mutant(
        "unknown-method-silent",
        "An unknown method is logged and not answered.",
        || {
            Defect::default().on_answer(|cause, _, _| {
                if is_unknown(cause) {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "unknown-method-32000",
        "An unknown method gets the code -32000.",
        || code_of_unknown_method(-32000),
    ),
    mutant(
        "unknown-method-32602",
        "An unknown method gets the code of bad parameters.",
        || code_of_unknown_method(-32602),
    ),
    mutant(
        "unknown-method-positive",
        "An unknown method gets the code 404.",
        || code_of_unknown_method(404),
    ),
    mutant(
        "method-case-insensitive",
        "Methods are found whatever their case: tools/List works.",
        || found_by(|asked, known| asked.eq_ignore_ascii_case(known)),
    ),
    mutant(
        "method-trimmed",
        "Blanks around a method are cut off: `tools/list ` works.",
        || found_by(|asked, known| asked.trim() == known),
    ),
    mutant(
        "method-prefix",
        "Methods are compared up to their length: tools/list-all works.",
        || found_by(|asked, known| asked.starts_with(known)),
    ),
    mutant(
        "missing-name-32603",
        "A call without tool name is an internal error.",
        || code_of_missing_name(-32603),
    ),
    mutant(
        "missing-name-32601",
        "A call without tool name gets the code of unknown methods.",
        || code_of_missing_name(-32601),
    ),
];

fn errors(edit: fn(&Request, &mut Value)) -> Defect {
    Defect::default().on_error(edit)
}

fn is_unknown(request: &Request) -> bool {
    !request.method().is_empty() && !METHODS.contains(&request.method())
}

/// Edits the answers to unknown methods.
fn unknown_method(edit: fn(&mut Map<String, Value>)) -> Defect {
    Defect::default().on_answer(move |cause, payload, _| {
        if let Value::Object(payload) = payload
            && is_unknown(cause)
        {
            edit(payload);
        }
        Flow::Pass
    })
}

fn code_of_unknown_method(code: i32) -> Defect {
    Defect::default().on_error(move |cause, error| {
        if is_unknown(cause) {
            error["code"] = json!(code);
        }
    })
}

fn code_of_missing_name(code: i32) -> Defect {
    Defect::default().on_error(move |cause, error| {
        let has_name = cause.params().get("name").is_some_and(Value::is_string);
        if cause.method() == "tools/call" && !has_name {
            error["code"] = json!(code);
        }
    })
}

/// Finds methods by another rule than equality.
fn found_by(is_same: fn(&str, &str) -> bool) -> Defect {
    Defect::default().on_payload(move |payload, _| {
        if let Some(asked) = payload.get("method").and_then(Value::as_str)
            && let Some(known) = METHODS.iter().find(|known| is_same(asked, known))
        {
            payload.insert("method".to_string(), json!(known));
        }
        Flow::Pass
    })
}

/// Writes the hostile name that an error is about into the frame in another spelling.
fn unescaped(spell: fn(&str) -> String) -> Defect {
    Defect::default().on_answer_text(move |cause, text, _| {
        if text.contains("\"error\":") {
            for name in [cause.method(), cause.tool(), cause.cursor()] {
                let escaped = json!(name).to_string();
                let escaped = &escaped[1..escaped.len() - 1];
                if !name.is_empty() && escaped != name {
                    *text = text.replace(escaped, &spell(name));
                }
            }
        }
        Flow::Pass
    })
}
