//! Checks on every answer: its JSON-RPC shape, its id, and what the results of `initialize` and
//! `tools/call` hold.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::Stray;
use super::ledger::Open;
use super::sink::{Sink, evidence};
use crate::capability::STATUS_TOOL;
use crate::obligation::Owes;
use crate::verdict::{Evidence, Outcome};
use crate::wire::as_integer;

fn proof(expected: &str, payload: &Map<String, Value>, open: Option<&Open>, seq: u64) -> Evidence {
    Evidence {
        expected: expected.to_owned(),
        received: Value::Object(payload.clone()).to_string(),
        sent: open.map(|open| open.text.to_string()),
        seq: Some(seq),
    }
}

/// The error of an answer. `"error": null` beside a result is one fault of form, and no error.
pub(crate) fn error_of(payload: &Map<String, Value>) -> Option<&Value> {
    payload
        .get("error")
        .filter(|error| !(error.is_null() && payload.contains_key("result")))
}

/// Judges the shape of an answer, whoever asked (JSON-RPC 2.0 sections 5 and 5.1).
pub(crate) fn judge_shape(
    seq: u64,
    payload: &Map<String, Value>,
    open: Option<&Open>,
    sink: &mut Sink,
) {
    let result = payload.get("result");
    sink.test(
        "jsonrpc.result-xor-error",
        result.is_some() != payload.contains_key("error"),
        || proof("exactly one of `result` and `error`", payload, open, seq),
    );
    if let Some(result) = result {
        sink.test("jsonrpc.result-object", result.is_object(), || {
            proof("`result` as an object", payload, open, seq)
        });
    }
    let Some(error) = error_of(payload) else {
        return;
    };
    if sink.test("errors.object", error.is_object(), || {
        proof("`error` as an object", payload, open, seq)
    }) {
        let code = error.get("code");
        let integer = code.and_then(as_integer).is_some();
        sink.test("errors.code-integer", integer, || {
            proof("error.code is an integer", payload, open, seq)
        });
        let message = error.get("message").is_some_and(Value::is_string);
        sink.test("errors.message-string", message, || {
            proof("error.message is a string", payload, open, seq)
        });
    }
}

/// Judges an answer against what was owed for its request.
pub(crate) fn judge_owed(seq: u64, payload: &Map<String, Value>, open: &Open, sink: &mut Sink) {
    let is_error = error_of(payload).is_some();
    match open.duty.owes {
        Owes::Answer | Owes::Nothing => {
            sink.held(if is_error {
                "ids.error-echo"
            } else {
                "ids.echo"
            });
            sink.held("jsonrpc.one-answer");
            sink.held("jsonrpc.no-unsolicited-answer");
            if open.duty.owes == Owes::Answer {
                sink.held("jsonrpc.answer-required");
            }
        }
        Owes::Silence(requirement) => {
            sink.test(requirement, false, || {
                proof("no answer", payload, Some(open), seq)
            });
        }
        Owes::NoSuccess(requirement) => {
            sink.test(requirement, is_error, || {
                proof("silence or an error", payload, Some(open), seq)
            });
        }
    }
    let Some(result) = payload.get("result") else {
        return;
    };
    match open.duty.method.as_deref() {
        Some("initialize") => judge_initialize(seq, payload, result, open, sink),
        Some("tools/call") => judge_call(seq, payload, result, open, sink),
        _ => {}
    }
}

/// Judges the reading of a device's state: readings serve as fences and probes all over the suite,
/// and none of them may fail.
pub(crate) fn judge_status(seq: u64, payload: &Map<String, Value>, open: &Open, sink: &mut Sink) {
    let failed = payload
        .get("result")
        .is_none_or(|result| result.get("isError") == Some(&Value::Bool(true)));
    if failed && is_plain_status_call(open) {
        sink.test("call.success", false, || {
            proof("a result that is no failure", payload, Some(open), seq)
        });
    }
}

/// Whether the request is a good call of the tool that tells the device's state.
fn is_plain_status_call(open: &Open) -> bool {
    if open.duty.owes != Owes::Answer || open.duty.tool.as_deref() != Some(STATUS_TOOL) {
        return false;
    }
    let sent = serde_json::from_str::<Value>(&open.text).unwrap_or_default();
    match sent.pointer("/payload/params/arguments") {
        None => true,
        Some(arguments) => arguments.as_object().is_some_and(Map::is_empty),
    }
}

/// Judges the answer to the first `initialize` of a link: it opens the session, and must not be
/// refused. The form that it was sent in names the requirement.
pub(crate) fn judge_opening(seq: u64, payload: &Map<String, Value>, open: &Open, sink: &mut Sink) {
    let full = open.text.contains("\"clientInfo\"");
    let requirement = if full {
        "initialize.full"
    } else {
        "initialize.minimal"
    };
    sink.test(requirement, payload.contains_key("result"), || {
        proof("initialize is accepted", payload, Some(open), seq)
    });
}

fn judge_initialize(
    seq: u64,
    payload: &Map<String, Value>,
    result: &Value,
    open: &Open,
    sink: &mut Sink,
) {
    static DATE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\d{2}-\d{2}$").expect("a constant pattern"));
    let version = result.get("protocolVersion").and_then(Value::as_str);
    sink.test(
        "initialize.protocol-version",
        version.is_some_and(|version| DATE.is_match(version)),
        || {
            proof(
                "protocolVersion of the form YYYY-MM-DD",
                payload,
                Some(open),
                seq,
            )
        },
    );
    let tools = result
        .get("capabilities")
        .and_then(|capabilities| capabilities.get("tools"));
    sink.test(
        "initialize.capabilities-tools",
        tools.is_some_and(Value::is_object),
        || proof("capabilities.tools as an object", payload, Some(open), seq),
    );
    let info = result.get("serverInfo");
    let text = |name: &str| {
        info.and_then(|info| info.get(name))
            .is_some_and(Value::is_string)
    };
    sink.test(
        "initialize.server-info",
        text("name") && text("version"),
        || {
            proof(
                "serverInfo with name and version as strings",
                payload,
                Some(open),
                seq,
            )
        },
    );
}

fn judge_call(
    seq: u64,
    payload: &Map<String, Value>,
    result: &Value,
    open: &Open,
    sink: &mut Sink,
) {
    let content = result.get("content").and_then(Value::as_array);
    sink.test("call.content-array", content.is_some(), || {
        proof("result.content as an array", payload, Some(open), seq)
    });
    if let Some(content) = content {
        sink.test("call.content-items", content.iter().all(is_content), || {
            proof(
                "content items of MCP: text with `text`; image or audio with `data` and `mimeType`",
                payload,
                Some(open),
                seq,
            )
        });
    }
    let flag = result.get("isError");
    sink.test(
        "call.is-error-boolean",
        flag.is_none_or(Value::is_boolean),
        || proof("isError as a boolean", payload, Some(open), seq),
    );
}

/// Whether an item of a tool's content has the members of its type (MCP 2024-11-05, server/tools).
fn is_content(item: &Value) -> bool {
    let text = |name: &str| item.get(name).is_some_and(Value::is_string);
    match item.get("type").and_then(Value::as_str) {
        Some("text") => text("text"),
        Some("image" | "audio") => text("data") && text("mimeType"),
        Some("resource") => item.get("resource").is_some_and(Value::is_object),
        // Later revisions know more types.
        Some(_) => true,
        None => false,
    }
}

/// Judges an answer that came under another id than its request's.
pub(crate) fn judge_wrong_id(stray: &Stray, open: &Open, sink: &mut Sink) {
    let fraction = open
        .duty
        .id
        .as_ref()
        .and_then(Value::as_f64)
        .is_some_and(|id| id.fract() != 0.0);
    let (requirement, expected) = match (open.duty.owes, &open.duty.id) {
        (Owes::Answer, Some(id)) if stray.is_error => ("ids.error-echo", format!("id {id}")),
        (Owes::Answer, Some(id)) => ("ids.echo", format!("id {id}")),
        (Owes::Nothing, Some(id)) if fraction => ("ids.fraction", format!("id {id}, or a refusal")),
        (Owes::Nothing, Some(id)) if id.is_number() => {
            ("ids.above-2-53", format!("id {id}, or a refusal"))
        }
        (Owes::NoSuccess(requirement), _) if !stray.is_error => {
            (requirement, "silence, or an error with id null".to_owned())
        }
        (Owes::Silence(requirement), _) => (requirement, "no answer".to_owned()),
        _ => (
            "jsonrpc.no-unsolicited-answer",
            "an error with the request's id or null".to_owned(),
        ),
    };
    let proof = Evidence {
        sent: Some(open.text.to_string()),
        ..evidence(
            expected,
            format!("id {}: {}", stray.id, stray.text),
            stray.seq,
        )
    };
    let (case, step) = (open.case.clone(), open.step.clone());
    sink.add(requirement, case, step, Outcome::Broken(Box::new(proof)));
}
