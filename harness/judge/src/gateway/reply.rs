//! What callers of a gateway get. No document fixes the form, so that any JSON with the facts will do.

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::Value;

use super::Expected;
use crate::check::sink::{Sink, evidence};
use mcp_hil_core::transcript::{Entry, What};
use mcp_hil_core::verdict::Evidence;
use mcp_hil_core::wire::as_integer;

/// How deep facts are looked for.
const DEPTH: usize = 6;

/// The request id that a control or an answer carries.
pub fn request_id_of(text: &str) -> Option<Value> {
    let value = serde_json::from_str(text).ok()?;
    member(&value, "request_id", DEPTH).cloned()
}

/// Judges what the sender of `sent` got. `others` are the controls beside it.
pub(super) fn judge(
    entries: &[Entry],
    sent: &str,
    others: &[&str],
    expected: Expected,
    level: i64,
    sink: &mut Sink,
) {
    let wanted = request_id_of(sent);
    let foreign: Vec<Value> = others
        .iter()
        .filter(|other| **other != sent)
        .filter_map(|other| request_id_of(other))
        .collect();
    let replies: Vec<(u64, &str, Option<Value>)> = entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Reply { text } => Some((entry.seq, text.as_str(), request_id_of(text))),
            _ => None,
        })
        .filter(|(_, _, id)| id.as_ref().is_none_or(|id| !foreign.contains(id)))
        .collect();
    let broken = |expected: &str, received: String, seq| Evidence {
        expected: expected.to_owned(),
        received,
        sent: Some(sent.to_owned()),
        seq,
    };
    let any = sink.test(Id::GatewayAnswerReturned, !replies.is_empty(), || {
        broken("an answer to the caller", "none was received".into(), None)
    });
    if !any {
        return;
    }
    let own: Vec<(u64, &str)> = replies
        .iter()
        .filter(|(_, _, id)| *id == wanted)
        .map(|(seq, text, _)| (*seq, *text))
        .collect();
    let (seq, text) = replies.last().map_or((0, ""), |(seq, text, _)| (*seq, text));
    let shown = wanted.unwrap_or_default();
    if !sink.test(Id::GatewayAnswerRequestId, !own.is_empty(), || {
        evidence(format!("`request_id` {shown}"), text, seq)
    }) {
        return;
    }
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let error = own.iter().any(|(_, text)| is_error(&read(text), DEPTH));
    let (seq, text) = own.last().copied().unwrap_or_default();
    match expected {
        Expected::Error => {
            sink.test(Id::GatewayErrorReturned, error, || {
                broken("an answer that reports the error", text.into(), Some(seq))
            });
        }
        Expected::Result | Expected::Value if error => {
            sink.test(Id::GatewayAnswerReturned, false, || {
                broken("the device's result", text.into(), Some(seq))
            });
        }
        Expected::Result => {}
        Expected::Value => {
            let has = own.iter().any(|(_, text)| tells(&read(text), level, DEPTH));
            let expected = format!("the level {level}");
            sink.test(Id::GatewayValueReturned, has, || broken(&expected, text.into(), Some(seq)));
        }
    }
}

fn member<'a>(value: &'a Value, name: &str, depth: usize) -> Option<&'a Value> {
    let object = value.as_object()?;
    let deeper = || {
        let inner = object.values();
        inner.filter(|_| depth > 0).find_map(|inner| member(inner, name, depth - 1))
    };
    object.get(name).or_else(deeper)
}

/// Whether an answer tells of an error.
fn is_error(value: &Value, depth: usize) -> bool {
    let Some(object) = value.as_object() else {
        return false;
    };
    let is = |name: &str, value: bool| object.get(name) == Some(&Value::Bool(value));
    object.get("error").is_some_and(|error| !error.is_null())
        || is("success", false)
        || is("ok", false)
        || is("isError", true)
        || object.get("status").and_then(Value::as_str) == Some("error")
        || depth > 0 && object.values().any(|inner| is_error(inner, depth - 1))
}

/// Whether an answer tells the level, in a member or in the text of a status.
fn tells(value: &Value, level: i64, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Object(object) => object.iter().any(|(name, inner)| {
            let named = ["volume", "level", "value"].contains(&name.as_str());
            named && as_integer(inner) == Some(level) || tells(inner, level, depth)
        }),
        Value::Array(items) => items.iter().any(|item| tells(item, level, depth)),
        Value::String(text) => serde_json::from_str::<Value>(text)
            .is_ok_and(|inner| !inner.is_string() && tells(&inner, level, depth)),
        _ => false,
    }
}
