//! Defects of `tools/call` apart from the arguments: the tool's name, the shape of the result.

use alloc::rc::Rc;
use core::cell::Cell;

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Hands, Request};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "call-content-object",
        "The content of results is one item instead of an array.",
        || result(|_, result| result["content"] = result["content"][0].take()),
    ),
    mutant(
        "call-content-missing",
        "Results have a member `text` instead of content.",
        || {
            result(|_, result| {
                result["text"] = result["content"][0]["text"].take();
                remove(result, "content");
            })
        },
    ),
    mutant(
        "call-content-null",
        "The content of tools that have nothing to say is null.",
        || {
            result(|_, result| {
                if result["content"][0]["text"] == "true" {
                    result["content"] = Value::Null;
                }
            })
        },
    ),
    mutant(
        "call-item-type-missing",
        "Content items have no type.",
        || result(|_, result| remove(&mut result["content"][0], "type")),
    ),
    mutant(
        "call-text-boolean",
        "The text `true` is the boolean true.",
        || {
            result(|_, result| {
                if result["content"][0]["text"] == "true" {
                    result["content"][0]["text"] = json!(true);
                }
            })
        },
    ),
    mutant(
        "call-text-object",
        "A text that is JSON is given as JSON.",
        || {
            result(|_, result| {
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    result["content"][0]["text"] = value;
                }
            })
        },
    ),
    mutant(
        "call-image-double-wrapped",
        "Results carry a picture as JSON in a string under `image`.",
        || {
            image(
                || json!({"type": "image", "image": json!({"type": "image", "mimeType": "image/png", "data": "aQ=="}).to_string()}),
            )
        },
    ),
    mutant(
        "call-image-without-mime",
        "Results carry a picture without mimeType.",
        || image(|| json!({"type": "image", "data": "aQ=="})),
    ),
    mutant(
        "call-image-data-array",
        "Results carry a picture whose data are numbers.",
        || image(|| json!({"type": "image", "mimeType": "image/png", "data": [105, 0]})),
    ),
    mutant(
        "call-is-error-string",
        "isError is the string \"false\".",
        || result(|_, result| result["isError"] = json!("false")),
    ),
    mutant("call-is-error-number", "isError is 0.", || {
        result(|_, result| result["isError"] = json!(0))
    }),
    mutant("call-is-error-null", "isError is null.", || {
        result(|_, result| result["isError"] = Value::Null)
    }),
    mutant(
        "call-is-error-always",
        "isError is true for tools without arguments that did what they should.",
        || {
            result(|request, result| {
                if request.params()["arguments"]
                    .as_object()
                    .is_none_or(Map::is_empty)
                    && result["content"][0]["text"] == "true"
                {
                    result["isError"] = json!(true);
                }
            })
        },
    ),
    mutant(
        "call-status-fails",
        "get_device_status answers with isError true.",
        || {
            result(|request, result| {
                if request.tool() == "self.get_device_status" {
                    result["isError"] = json!(true);
                }
            })
        },
    ),
    mutant(
        "call-fails-first-time",
        "The first call on every connection is an internal error.",
        || {
            let called = Rc::new(Cell::new(false));
            let seen = Rc::clone(&called);
            Defect::default()
                .on_answer(move |cause, payload, _| {
                    if cause.method() == "tools/call"
                        && payload.get("result").is_some()
                        && !seen.replace(true)
                    {
                        remove(payload, "result");
                        payload["error"] = json!({"code": -32603, "message": "Busy"});
                    }
                    Flow::Pass
                })
                .disconnected(move |_| called.set(false))
        },
    ),
    mutant(
        "call-needs-arguments",
        "A call without arguments is refused even if the tool takes none.",
        || refused(|params| params.get("arguments").is_none()),
    ),
    mutant(
        "unknown-tool-false",
        "An unknown tool succeeds with the text `false`.",
        || unknown_tool(|id| Some(success(id, "false"))),
    ),
    mutant(
        "unknown-tool-apologises",
        "An unknown tool succeeds with an apology.",
        || unknown_tool(|id| Some(success(id, "Sorry, I do not know this tool."))),
    ),
    mutant(
        "unknown-tool-silent",
        "A call of an unknown tool is logged and not answered.",
        || unknown_tool(|_| None),
    ),
    mutant(
        "unknown-tool-32000",
        "An unknown tool gets the code -32000.",
        || unknown_tool_code(-32000),
    ),
    mutant(
        "unknown-tool-32603",
        "An unknown tool is an internal error.",
        || unknown_tool_code(-32603),
    ),
    mutant(
        "unknown-tool-zero",
        "An unknown tool gets the code 0.",
        || unknown_tool_code(0),
    ),
    mutant(
        "tool-case-insensitive",
        "Tools are found whatever the case of their name.",
        || found_by(|asked, known| asked.eq_ignore_ascii_case(known)),
    ),
    mutant(
        "tool-trimmed",
        "Blanks around a tool's name are cut off.",
        || found_by(|asked, known| asked.trim() == known),
    ),
    mutant(
        "tool-prefix",
        "Tools are compared up to the length of their name.",
        || found_by(|asked, known| asked.starts_with(known)),
    ),
    mutant(
        "tool-name-missing-succeeds",
        "A call that names no tool succeeds without doing anything.",
        || answered(|params| params.get("name").is_none()),
    ),
    mutant(
        "tool-name-default",
        "A call that names no tool shows the status.",
        || {
            Defect::default().on_call(|params, _| {
                if params.get("name").is_none() {
                    params["name"] = json!("self.get_device_status");
                    remove(params, "arguments");
                }
            })
        },
    ),
    mutant(
        "tool-name-number",
        "A tool's name that is no string succeeds without doing anything.",
        || answered(|params| params.get("name").is_some_and(|name| !name.is_string())),
    ),
    mutant(
        "tool-name-array",
        "The tool is also found when its name stands in an array or an object.",
        || {
            Defect::default().on_call(|params, _| {
                let inner = match &params["name"] {
                    Value::Array(names) => names.first().cloned(),
                    Value::Object(names) => names.values().next().cloned(),
                    Value::Number(_) | Value::Bool(_) => Some(json!("self.get_device_status")),
                    _ => None,
                };
                if let Some(inner) = inner {
                    params["name"] = inner;
                }
            })
        },
    ),
    mutant(
        "call-arguments-unchecked",
        "Arguments that are no object succeed without doing anything.",
        || {
            answered(|params| {
                params
                    .get("arguments")
                    .is_some_and(|arguments| !arguments.is_object())
            })
        },
    ),
    mutant(
        "call-arguments-positional",
        "An array of arguments is taken by position.",
        || {
            Defect::default().on_call(|params, hands| {
                if let Value::Array(values) = &params["arguments"] {
                    params["arguments"] = by_position(hands, params, values);
                }
            })
        },
    ),
    mutant(
        "call-arguments-bare",
        "A bare number or string is taken for the first argument.",
        || {
            Defect::default().on_call(|params, hands| {
                let bare = match &params["arguments"] {
                    Value::Number(number) => Value::Number(number.clone()),
                    Value::String(text) => text
                        .parse::<i64>()
                        .map_or_else(|_| json!(text), |number| json!(number)),
                    _ => return,
                };
                params["arguments"] = by_position(hands, params, &[bare]);
            })
        },
    ),
    mutant(
        "call-arguments-string-parsed",
        "Arguments that are a string are parsed, and taken for none if they do not parse.",
        || {
            Defect::default().on_call(|params, hands| {
                if let Value::String(text) = &params["arguments"] {
                    let parsed = serde_json::from_str::<Value>(text)
                        .ok()
                        .filter(Value::is_object);
                    params["arguments"] =
                        parsed.unwrap_or_else(|| by_position(hands, params, &[json!(0)]));
                }
            })
        },
    ),
    mutant(
        "call-arguments-null-accepted",
        "Arguments that are no object are taken for the least values.",
        || {
            Defect::default().on_call(|params, hands| {
                if params
                    .get("arguments")
                    .is_some_and(|arguments| !arguments.is_object())
                {
                    params["arguments"] = least(hands, params);
                }
            })
        },
    ),
    mutant("call-meta-refused", "A call with _meta is refused.", || {
        refused(|params| params.get("_meta").is_some())
    }),
    mutant(
        "call-without-params-succeeds",
        "A call without params succeeds without doing anything.",
        || {
            Defect::default().on_method("tools/call", |payload, hands| {
                if payload.contains_key("params") {
                    return Flow::Pass;
                }
                respond(payload, hands)
            })
        },
    ),
];

/// Edits the results of calls.
fn result(edit: fn(&Request, &mut Value)) -> Defect {
    Defect::default().on_result("tools/call", edit)
}

/// Adds a picture to the results of calls.
fn image(item: fn() -> Value) -> Defect {
    Defect::default().on_result("tools/call", move |_, result| {
        if let Some(content) = result["content"].as_array_mut() {
            content.push(item());
        }
    })
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().map(|object| object.remove(member));
}

fn success(id: &Value, text: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "result": {"content": [{"type": "text", "text": text}], "isError": false},
    })
}

/// Answers `true` in the place of the device, if the message has an id to answer to.
fn respond(payload: &Map<String, Value>, hands: &mut Hands) -> Flow {
    match payload.get("id") {
        Some(id) if id.is_i64() => {
            hands.send_payload(&success(id, "true"));
            Flow::Drop
        }
        _ => Flow::Pass,
    }
}

/// Sees calls of tools that do not exist. `None` is no answer.
fn unknown_tool(answer: fn(&Value) -> Option<Value>) -> Defect {
    Defect::default().on_method("tools/call", move |payload, hands| {
        let name = payload.get("params").unwrap_or(&Value::Null)["name"]
            .as_str()
            .unwrap_or_default();
        let Some(id) = payload.get("id").filter(|id| id.is_i64()) else {
            return Flow::Pass;
        };
        if name.is_empty() || hands.device.registry().find(name).is_some() {
            return Flow::Pass;
        }
        if let Some(answer) = answer(id) {
            hands.send_payload(&answer);
        }
        Flow::Drop
    })
}

fn unknown_tool_code(code: i32) -> Defect {
    Defect::default().on_error(move |cause, error| {
        let is_unknown = error["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("Unknown tool"));
        if cause.method() == "tools/call" && is_unknown {
            error["code"] = json!(code);
        }
    })
}

/// Finds tools by another rule than equality.
fn found_by(is_same: fn(&str, &str) -> bool) -> Defect {
    Defect::default().on_call(move |params, hands| {
        let Some(asked) = params["name"].as_str() else {
            return;
        };
        let known = hands
            .device
            .registry()
            .tools()
            .find(|tool| is_same(asked, tool.name));
        if let Some(known) = known {
            params["name"] = json!(known.name);
        }
    })
}

/// Answers some calls with success and does nothing.
fn answered(is_such: fn(&Value) -> bool) -> Defect {
    Defect::default().on_method("tools/call", move |payload, hands| {
        if payload
            .get("params")
            .is_some_and(|params| params.is_object() && is_such(params))
        {
            return respond(payload, hands);
        }
        Flow::Pass
    })
}

/// Refuses some calls.
fn refused(is_refused: fn(&Value) -> bool) -> Defect {
    Defect::default().on_method("tools/call", move |payload, hands| {
        let is_such = payload
            .get("params")
            .is_some_and(|params| params.is_object() && is_refused(params));
        match payload.get("id") {
            Some(id) if id.is_i64() && is_such => {
                let error = json!({"code": -32602, "message": "Invalid params"});
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                Flow::Drop
            }
            _ => Flow::Pass,
        }
    })
}

/// Arguments for the called tool from values without names.
fn by_position(hands: &Hands, params: &Value, values: &[Value]) -> Value {
    let properties = hands
        .tool_of(params)
        .map_or(&[][..], |tool| tool.properties);
    let named = properties
        .iter()
        .zip(values)
        .map(|(property, value)| (property.name.to_string(), value.clone()));
    Value::Object(named.collect())
}

/// The least value of every argument of the called tool.
fn least(hands: &Hands, params: &Value) -> Value {
    let properties = hands
        .tool_of(params)
        .map_or(&[][..], |tool| tool.properties);
    let named = properties.iter().map(|property| {
        let value = match property.type_name() {
            "boolean" => json!(false),
            "string" => json!(""),
            _ => json!(property.range().minimum),
        };
        (property.name.to_string(), value)
    });
    Value::Object(named.collect())
}
