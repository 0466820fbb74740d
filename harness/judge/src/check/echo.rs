//! Texts that a tool gives back: what stands between two marks in an argument comes back between them.
//!
//! A tool may give back nothing, or the beginning of a text: then no second mark comes. It may give the text back inside
//! of JSON, or quoted in another way.

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::conversation::{TEXT_BEGINS, TEXT_ENDS};
use serde_json::{Map, Value};

use super::answer::proof;
use super::log::view;
use super::pending::Open;
use super::sink::Sink;

/// Judges the answer to a call. Gives whether the tool gives texts back.
pub(super) fn judge(seq: u64, payload: &Map<String, Value>, open: &Open, sink: &mut Sink) -> bool {
    if open.duty.tool.is_none() || !open.text.contains(TEXT_BEGINS) {
        return false;
    }
    let envelope: Value = serde_json::from_str(&open.text).unwrap_or_default();
    let arguments = envelope.pointer("/payload/params/arguments").and_then(Value::as_object);
    let view = view(payload);
    let text = view.get("text").and_then(Value::as_str).unwrap_or_default();
    let is_done = view.get("outcome").is_some_and(|outcome| outcome == "done");
    let mut texts = arguments.into_iter().flat_map(Map::values).filter_map(Value::as_str);
    let (Some(sent), Some(received)) = (texts.find_map(between), between(text)) else {
        return false;
    };
    // Another way to quote than that of JSON is not known here.
    let backslashes = |text: &str| text.matches('\\').count();
    let quoted = serde_json::from_str::<String>(&format!("\"{received}\""));
    let holds = received == sent || quoted.is_ok_and(|unquoted| unquoted == sent);
    let is_known = holds || backslashes(received) <= backslashes(sent);
    if is_done && is_known {
        sink.test(Id::ArgumentsStringEcho, holds, || {
            proof(&format!("`{sent}` between the marks, as it was sent"), payload, Some(open), seq)
        });
    }
    is_done
}

/// What stands between the marks, if each is there once.
fn between(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(TEXT_BEGINS)?;
    let (found, rest) = rest.split_once(TEXT_ENDS)?;
    let once =
        !found.contains(TEXT_BEGINS) && !rest.contains(TEXT_BEGINS) && !rest.contains(TEXT_ENDS);
    once.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("shown: mcp-hil-from a mcp-hil-to", Some("a"))]
    #[case("mcp-hil-from  mcp-hil-to", Some(""))]
    #[case("mcp-hil-from a", None)]
    #[case("mcp-hil-from a mcp-hil-to, mcp-hil-from a mcp-hil-to", None)]
    #[case("false", None)]
    fn only_a_whole_text_is_compared(#[case] text: &str, #[case] found: Option<&str>) {
        assert_eq!(between(text), found);
    }
}
