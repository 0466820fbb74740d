//! Other answers to the same requests.

use crate::rows::prelude::*;

/// JSON-RPC 2.0 section 5.1.
const METHOD_NOT_FOUND: i32 = -32601;
/// JSON-RPC 2.0 section 5.1.
const INVALID_REQUEST: i32 = -32600;

pub(super) const VARIANTS: &[Row] = rows! {
    "volume-zero-muted": "The status calls a level of 0 muted."
        => tool(STATUS).answer(|payload| edit_text(payload, |status| {
            let speaker = &mut status["audio_speaker"];
            if speaker["volume"] == 0 {
                speaker["muted"] = json!(true);
            }
        }));
    "climate-structured": "The climate is told beside the text, as the list says."
        => structured_climate(json!({"celsius": 21.5}));
    "unknown-tool-32601": "An unknown tool gets the code -32601, as the MCP flow shows."
        => refused_calls(|is_known, payload| if !is_known {
            payload["error"]["code"] = json!(METHOD_NOT_FOUND);
        });
    "unknown-tool-is-error": "A call of an unknown tool produces a result with isError."
        => refused_calls(|is_known, payload| if !is_known { as_result(payload) });
    "bad-argument-is-error":
        "A call of a tool with invalid arguments produces a result with isError."
        => refused_calls(|is_known, payload| if is_known { as_result(payload) });
    "bad-calls-are-errors": "Every call that cannot be executed produces a result with isError."
        => refused_calls(|_, payload| as_result(payload));
    "bad-params-are-errors": "A call whose params are no object produces a result with isError, too."
        => defect().on_answer(|cause, payload, _| {
            let is_refusal = payload.get("error").is_some() && payload["id"].is_number();
            if is_refusal && cause.method() == "tools/call" && !cause.params().is_object() {
                as_result(payload);
            }
            Flow::Pass
        });
    "failure-as-error": "A tool that fails is answered with an error, as by stock firmware."
        => method("tools/call").answer(|payload| if payload["result"]["isError"] == true {
            let text = payload["result"]["content"][0]["text"].take();
            *payload = error(&payload["id"], -32603, text.as_str().unwrap_or_default());
        });
    "theme-replaced": "The screen shows its dark theme in the place of one that it does not have."
        => defect().on_argument(|property, value| {
            let has = property.name != "theme" || !value.is_string() || value == "light";
            Some(if has { value } else { json!("dark") })
        });
    "error-messages-alike": "The message of every error is `Error`."
        => errors(|error| error["message"] = json!("Error"));
    "error-data": "Errors have `data`."
        => defect().on_error(|cause, error| {
            error["data"] = json!({"method": cause.method(), "hint": ["see", "manual"]});
        });
    "is-error-omitted": "Successful results have no isError."
        => method("tools/call")
            .result(|result| if result["isError"] == false { remove(result, "isError") });
    "more-content": "Results of calls have another text and a picture after the first text."
        => method("tools/call").result(|result| {
            let content = result["content"].as_array_mut().into_iter();
            content.for_each(|content| content.extend([
                json!({"type": "text", "text": "Anything else?",
                    "annotations": {"audience": ["user"], "priority": 0.1}}),
                json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}),
            ]));
        });
    "status-indented": "The text of the status is indented, and contains more."
        => tool(STATUS).result(|result| {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if let Ok(mut status @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
                status["uptime"] = json!(12.5);
                status["audio_speaker"]["codec"] = json!("ES8311");
                result["content"][0]["text"] = json!(format!("{status:#}"));
            }
        });
    "status-behind-words": "The status is the second text of its result, behind some words."
        => tool(STATUS).result(|result| {
            if let Some(content) = result["content"].as_array_mut() {
                content.insert(0, json!({"type": "text", "text": "It is:"}));
            }
        });
    "extra-members": "Envelopes, answers and results have members that no document mentions."
        => defect().on_message(|kind, envelope, _| {
            envelope["timestamp"] = json!(1_758_893_424_665_u64);
            if kind == "mcp" {
                let payload = &mut envelope["payload"];
                payload["device"] = json!({"heap": 142_331});
                if let Some(result @ Value::Object(_)) = payload.get_mut("result") {
                    // The result of ping is empty, by the text of MCP.
                    if *result != json!({}) {
                        result["note"] = json!(null);
                    }
                    result["_meta"] = json!({"took": 3});
                }
            }
            Flow::Pass
        });
    "initialize-more": "The answer to initialize has more capabilities, and instructions."
        => method("initialize").result(|result| {
            result["capabilities"]["tools"]["listChanged"] = json!(false);
            result["capabilities"]["logging"] = json!({});
            result["capabilities"]["experimental"] = json!({"x": {}});
            result["instructions"] = json!("Speak slowly.");
            result["serverInfo"]["title"] = json!("A \"board\"");
        });
    "initialize-negotiates":
        "initialize is answered with the requested version, if that version exists."
        => defect().on_result("initialize", |cause, result| {
            let asked = &cause.params()["protocolVersion"];
            if ["2024-11-05", "2025-03-26", "2025-06-18"].iter().any(|known| asked == known) {
                result["protocolVersion"] = asked.clone();
            }
        });
    "server-name-empty": "The name of the device is empty, as in one client library."
        => method("initialize").result(|result| result["serverInfo"]["name"] = json!(""));
    "no-ping": "ping is an unknown method, as to all measured devices."
        => method("ping").answer(|payload| if payload.get("result").is_some() {
            *payload = error(&payload["id"], METHOD_NOT_FOUND, "Method not implemented: ping");
        });
    "bad-requests-dropped":
        "Messages that are not requests are logged and not answered, as by stock firmware."
        => defect().on_answer(|cause, payload, _| {
            let has_bad_params = !matches!(cause.params(), Value::Null | Value::Object(_));
            drop_if(payload["error"]["code"] == INVALID_REQUEST || has_bad_params)
        });
};

/// Edits the error answers to tool calls; the first argument tells whether the device has the tool.
fn refused_calls(edit: fn(bool, &mut Value)) -> Defect {
    defect().on_answer(move |cause, payload, hands| {
        let is_refusal = payload.get("error").is_some() && payload["id"].is_number();
        // What is no request at all stays an error: no tool was asked.
        let is_call = cause.method() == "tools/call" && payload["error"]["code"] == -32602;
        if is_refusal && is_call && cause.params()["name"].is_string() {
            edit(hands.tool_of(cause.params()).is_some(), payload);
        }
        Flow::Pass
    })
}

/// Turns an error into a result that says the same.
fn as_result(payload: &mut Value) {
    let text = payload["error"]["message"].take();
    let content = json!([{"type": "text", "text": text}]);
    *payload = result(&payload["id"], json!({"content": content, "isError": true}));
}
