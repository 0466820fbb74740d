//! Defects of `tools/call` apart from the arguments: the tool's name, the shape of the result.

use reference_device::Property;

use crate::chance::Chance;
use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "call-content-of-own-type": "The content of a result is of a type that MCP does not have."
        => calls().result(|result| result["content"][0]["type"] = json!("json"));
    "failure-in-text": "A call that is refused for its arguments is a result whose text says so."
        => tool("self.audio_speaker.set_volume").answer(|payload| {
            if payload.get("error").is_some() {
                *payload = success(&payload["id"], r#"{"success":false,"error":"no"}"#);
            }
        });
    "call-mute-refused-and-done": "A mute that is refused, as its arguments are a list, mutes."
        => defect().on_call(|params, hands| if params["name"] == MUTE && params["arguments"].is_array() {
            hands.device.board_mut().speaker.muted = true;
        });
    "call-content-object": "The content of results is one item instead of an array."
        => results(|result| result["content"] = result["content"][0].take());
    "call-content-missing": "Results have a member `text` instead of content."
        => results(|result| {
            result["text"] = result["content"][0]["text"].take();
            remove(result, "content");
        });
    "call-content-null": "The content of tools that return nothing is null."
        => results(|result| if result["content"][0]["text"] == "true" {
            result["content"] = Value::Null;
        });
    "call-item-type-missing": "Content items have no type."
        => results(|result| remove(&mut result["content"][0], "type"));
    "call-text-boolean": "The text `true` is the boolean true."
        => results(|result| if result["content"][0]["text"] == "true" {
            result["content"][0]["text"] = json!(true);
        });
    "call-text-object": "A text that is JSON is sent as JSON."
        => results(|result| {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if let Ok(value) = serde_json::from_str::<Value>(text) {
                result["content"][0]["text"] = value;
            }
        });
    "call-image-double-wrapped": "Results carry a picture as JSON in a string under `image`."
        => picture(|| {
            let inner = json!({"type": "image", "mimeType": "image/png", "data": "aQ=="});
            json!({"type": "image", "image": inner.to_string()})
        });
    "call-image-without-mime": "Results carry a picture without mimeType."
        => picture(|| json!({"type": "image", "data": "aQ=="}));
    "call-image-data-array": "Results carry a picture whose data are numbers."
        => picture(|| json!({"type": "image", "mimeType": "image/png", "data": [105, 0]}));
    "call-image-not-base64": "Results carry a picture as bytes in hexadecimal, with blanks and colons."
        => picture(|| json!({"type": "image", "data": "69:00 69:01", "mimeType": "image/png"}));
    "call-resource-without-uri": "Results carry a resource without its uri."
        => picture(|| json!({"type": "resource", "resource": {"text": "x", "mimeType": "text/plain"}}));
    "call-resource-empty": "Results carry a resource of which only the uri is told."
        => picture(|| json!({"type": "resource", "resource": {"uri": "file:///x"}}));
    "call-is-error-string": "isError is the string \"false\"."
        => results(|result| result["isError"] = json!("false"));
    "call-is-error-number": "isError is 0." => results(|result| result["isError"] = json!(0));
    "call-is-error-null": "isError is null." => results(|result| result["isError"] = Value::Null);
    "call-is-error-always": "isError is true for tools without arguments that succeeded."
        => when(|request| request.params()["arguments"].as_object().is_none_or(Map::is_empty))
            .result(|result| if result["content"][0]["text"] == "true" {
                result["isError"] = json!(true);
            });
    "call-status-fails": "get_device_status answers with isError true."
        => tool("self.get_device_status").result(|result| result["isError"] = json!(true));
    "call-fails-first-time": "The first call on every connection is an internal error." => {
        let [called, seen] = shared(false);
        method("tools/call")
            .answer(move |payload| if payload.get("result").is_some() && !seen.replace(true) {
                *payload = error(&payload["id"], -32603, "Busy");
            })
            .disconnected(move |_| called.set(false))
    };
    "call-needs-arguments": "A call without arguments is refused even if the tool takes none."
        => refused("tools/call", |params| params.is_object() && params.get("arguments").is_none());
    "unknown-tool-false": "An unknown tool succeeds with the text `false`."
        => unknown_tool(|id| Some(success(id, "false")));
    "unknown-tool-apologises": "An unknown tool succeeds with an apology."
        => unknown_tool(|id| Some(success(id, "Sorry, I do not know this tool.")));
    "unknown-tool-silent": "A call of an unknown tool is logged and not answered."
        => unknown_tool(|_| None);
    "unknown-tool-silent-stalls":
        "A call of an unknown tool is not answered, and the device stalls now and then." => {
        let mut chance = Chance::default();
        unknown_tool(|_| None).outbound(move |_, hands| {
            chance.seed(hands.device.session_json());
            if let Some(ms) = chance.stall() {
                hands.act(Act::Pause(ms));
            }
            Flow::Pass
        })
    };
    "calls-silent": "No call is answered, whatever its tool." => method("tools/call").unanswered();
    "unknown-tool-32000": "An unknown tool gets the code -32000." => unknown_tool_code(-32000);
    "unknown-tool-32603": "An unknown tool gets the code of an internal error." => unknown_tool_code(-32603);
    "unknown-tool-zero": "An unknown tool gets the code 0." => unknown_tool_code(0);
    "tool-case-insensitive": "Tool names are compared case-insensitively."
        => found_by(|asked, known| asked.eq_ignore_ascii_case(known));
    "tool-case-of-one": "The name of one tool is compared case-insensitively."
        => found_by(|asked, known| {
            asked == known || known == "self.screen.set_auto_rotate" && asked.eq_ignore_ascii_case(known)
        });
    "tool-trimmed": "Blanks around a tool's name are ignored."
        => found_by(|asked, known| asked.trim() == known);
    "tool-prefix": "Tools are compared up to the length of their name."
        => found_by(|asked, known| asked.starts_with(known));
    "tool-suffix": "Tools are compared from the end of their name: anything may stand before it."
        => found_by(|asked, known| asked.ends_with(known));
    "tool-first-letter-unread": "The first letter of a tool's name is not compared, and may be missing."
        => found_by(|asked, known| known.get(1..) == Some(asked));
    "tool-last-letter-unread": "The last letter of a tool's name is not compared."
        => found_by(|asked, known| {
            asked.len() == known.len() && asked.get(..asked.len() - 1) == known.get(..known.len() - 1)
        });
    "tool-quotes-dropped": "Quotes around a tool's name are dropped."
        => found_by(|asked, known| asked.trim_matches(['"', '\'']) == known);
    "tool-as-function": "A tool may be called as a function is written: with brackets."
        => found_by(|asked, known| asked.strip_suffix("()") == Some(known));
    "tool-query-cut": "A tool's name ends at a question mark."
        => found_by(|asked, known| asked.split('?').next() == Some(known));
    "tool-compared-to-24": "The first 24 characters of a tool's name are compared, the others are not."
        => found_by(|asked, known| asked == known || known.len() > 24 && asked.starts_with(&known[..24]));
    "tool-by-checksum": "Tools are compared by the sum of the characters of their name."
        => found_by(|asked, known| {
            let sum = |name: &str| name.bytes().map(u32::from).sum::<u32>();
            asked.len() == known.len() && sum(asked) == sum(known)
        });
    "tool-without-self": "A tool is also found without the `self.` in front of its name."
        => found_by(|asked, known| known.strip_prefix("self.") == Some(asked));
    "climate-structured-text": "A number that a tool tells beside its text is a text itself, and the list says a number."
        => structured_climate(json!({"celsius": "21.5"}));
    "climate-structured-other": "A number that a tool tells beside its text is not the one in the text."
        => structured_climate(json!({"celsius": 21.5, "temperature": 25}));
    "status-structured-array": "Beside the status an array is told that nothing announces."
        => tool("self.get_device_status").result(|result| result["structuredContent"] = json!([]));
    "tool-name-wide": "Wide letters in the name of a tool are read as narrow ones."
        => defect().on_call(|params, _| if let Some(Value::String(name)) = params.get_mut("name") {
            *name = name.replace('\u{ff53}', "s");
        });
    "tool-name-missing-succeeds": "A call that names no tool succeeds without doing anything."
        => succeeds(|params| params.is_object() && params.get("name").is_none());
    "tool-name-default": "A call that names no tool returns the status."
        => defect().on_call(|params, _| if params.get("name").is_none() {
            params["name"] = json!("self.get_device_status");
            remove(params, "arguments");
        });
    "tool-name-number": "A call whose tool name is not a string succeeds without doing anything."
        => succeeds(|params| params.get("name").is_some_and(|name| !name.is_string()));
    "tool-name-array": "The tool is also found if its name is inside an array or an object."
        => defect().on_call(|params, _| {
            let inner = match &params["name"] {
                Value::Array(names) => names.first().cloned(),
                Value::Object(names) => names.values().next().cloned(),
                Value::Number(_) | Value::Bool(_) => Some(json!("self.get_device_status")),
                _ => None,
            };
            if let Some(inner) = inner {
                params["name"] = inner;
            }
        });
    "call-arguments-unchecked": "A call whose arguments are not an object succeeds without doing anything."
        => succeeds(|params| {
            params.get("arguments").is_some_and(|arguments| !arguments.is_object())
        });
    "call-arguments-positional": "An array of arguments is used by position."
        => defect().on_call(|params, hands| if let Value::Array(values) = &params["arguments"] {
            params["arguments"] = by_position(hands, params, values);
        });
    "call-arguments-bare": "A bare number or string is used as the first argument."
        => defect().on_call(|params, hands| {
            let bare = match &params["arguments"] {
                Value::Number(number) => Value::Number(number.clone()),
                Value::String(text) => {
                    text.parse::<i64>().map_or_else(|_| json!(text), Value::from)
                }
                _ => return,
            };
            params["arguments"] = by_position(hands, params, &[bare]);
        });
    "call-arguments-string-parsed":
        "Arguments that are a string are parsed, and ignored if they do not parse."
        => defect().on_call(|params, hands| if let Value::String(text) = &params["arguments"] {
            let parsed = serde_json::from_str(text).ok().filter(Value::is_object);
            let parsed = parsed.unwrap_or_else(|| by_position(hands, params, &[json!(0)]));
            params["arguments"] = parsed;
        });
    "call-arguments-null-accepted": "Arguments that are not an object are replaced by the smallest values."
        => defect().on_call(|params, hands| {
            let arguments = params.get("arguments");
            if arguments.is_some_and(|arguments| !arguments.is_object()) {
                params["arguments"] = least(hands, params);
            }
        });
    "list-meta-refused": "tools/list with _meta is refused."
        => refused("tools/list", |params| params.get("_meta").is_some());
    "call-name-of-before": "A call that names no tool calls the one that was called before." => {
        let mut last = json!(null);
        defect().on_call(move |params, _| {
            if params["name"].is_string() {
                last = params["name"].clone();
            } else if params.get("name").is_none() && !last.is_null() {
                params["name"] = last.clone();
            }
        })
    };
    "call-params-of-before": "A call without params is carried out with those of the call before it." => {
        let mut last = json!(null);
        defect().on_payload(move |payload, _| {
            if get(payload, "method") == "tools/call" {
                match payload.get("params") {
                    Some(params) => last.clone_from(params),
                    None if !last.is_null() => {
                        payload.insert("params".to_string(), last.clone());
                    }
                    None => {}
                }
            }
            Flow::Pass
        })
    };
    "call-meta-refused": "A call with _meta is refused."
        => refused("tools/call", |params| params.get("_meta").is_some());
    "call-without-params-succeeds": "A call without params succeeds without doing anything."
        => defect().on_method("tools/call", |payload, hands| {
            reply_if(!payload.contains_key("params"), payload, hands, |id| success(id, "true"))
        });
};

/// Edits the results of calls.
fn results(edit: fn(&mut Value)) -> Defect {
    method("tools/call").result(edit)
}

/// Adds a picture to the results of calls.
fn picture(item: fn() -> Value) -> Defect {
    method("tools/call").result(move |result| {
        if let Some(content) = result["content"].as_array_mut() {
            content.push(item());
        }
    })
}

fn success(id: &Value, text: &str) -> Value {
    result(id, text_result(text))
}

/// Answers some calls with success and does nothing.
fn succeeds(is_such: fn(&Value) -> bool) -> Defect {
    answered("tools/call", is_such, |id| success(id, "true"))
}

/// Sees calls of tools that do not exist. `None` is no answer.
fn unknown_tool(answer: fn(&Value) -> Option<Value>) -> Defect {
    defect().on_method("tools/call", move |payload, hands| {
        let name = get(payload, "params")["name"].as_str().unwrap_or_default();
        let id = get(payload, "id");
        if !id.is_i64() || name.is_empty() || hands.device.registry().find(name).is_some() {
            return Flow::Pass;
        }
        if let Some(answer) = answer(id) {
            hands.send_payload(&answer);
        }
        Flow::Drop
    })
}

fn unknown_tool_code(code: i32) -> Defect {
    method("tools/call").error(move |error| {
        let message = error["message"].as_str().unwrap_or_default();
        if message.starts_with("Unknown tool") {
            error["code"] = json!(code);
        }
    })
}

/// Finds tools by another rule than equality.
fn found_by(is_same: fn(&str, &str) -> bool) -> Defect {
    defect().on_call(move |params, hands| {
        let asked = params["name"].as_str().unwrap_or_default();
        let mut tools = hands.device.registry().tools();
        if let Some(known) = tools.find(|tool| is_same(asked, tool.name)) {
            params["name"] = json!(known.name);
        }
    })
}

/// Arguments for the called tool from values without names.
fn by_position(hands: &Hands, params: &Value, values: &[Value]) -> Value {
    let properties = properties(hands, params).iter().zip(values);
    let named = properties.map(|(property, value)| (property.name.to_string(), value.clone()));
    Value::Object(named.collect())
}

/// The least value of every argument of the called tool.
fn least(hands: &Hands, params: &Value) -> Value {
    let named = properties(hands, params).iter().map(|property| {
        let value = match property.type_name() {
            "boolean" => json!(false),
            "string" => json!(""),
            _ => json!(property.range().minimum),
        };
        (property.name.to_string(), value)
    });
    Value::Object(named.collect())
}

fn properties(hands: &Hands, params: &Value) -> &'static [Property] {
    hands.tool_of(params).map_or(&[], |tool| tool.properties)
}
