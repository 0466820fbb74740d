//! What a tool tells beside its texts: as the schema that it was listed with says, and what its text says, where that is
//! JSON (MCP 2025-06-18, server/tools, "Structured Content" and "Output Schema").

use std::collections::BTreeMap;

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::wire::same_value;
use serde_json::{Map, Value};

use super::answer::proof;
use super::log::{is_refused, view};
use super::pending::Open;
use super::sink::Sink;

/// Most schemas that are remembered.
const MOST: usize = 256;

/// The schemas of what tools tell, as they were listed last.
#[derive(Debug, Default)]
pub(super) struct Structured(BTreeMap<String, Value>);

impl Structured {
    /// Follows and judges the answer to a request.
    pub(super) fn answered(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let Some(result) = payload.get("result") else { return };
        let tools = result.get("tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            match tool.get("outputSchema") {
                Some(schema) if self.0.len() < MOST => {
                    self.0.insert(name.to_owned(), schema.clone());
                }
                _ => drop(self.0.remove(name)),
            }
        }
        let Some(tool) = open.duty.tool.as_deref() else { return };
        sink.held(Id::CallStructured);
        sink.held(Id::CallStructuredText);
        let told = result.get("structuredContent").filter(|_| !is_refused(payload));
        let Some(told) = told else { return };
        let view = view(payload);
        if let Some(member) = view.get("json").and_then(|text| differs(text, told)) {
            sink.test(Id::CallStructuredText, false, || {
                let expected = format!("in `{member}` of structuredContent what the text tells");
                proof(&expected, payload, Some(open), seq)
            });
        }
        let Some(schema) = self.0.get(tool) else { return };
        if let Ok(validator) = jsonschema::validator_for(schema)
            && let Err(error) = validator.validate(told)
        {
            sink.test(Id::CallStructured, false, || {
                let expected = format!("structuredContent as the outputSchema says: {error}");
                proof(&expected, payload, Some(open), seq)
            });
        }
    }
}

/// A member of two objects that is not the same in both. What one of them lacks is not compared: a text may tell less, or
/// more. Nor is what numbers are rounded to, and which form a value has.
fn differs<'a>(text: &'a Value, told: &Value) -> Option<&'a str> {
    let (Value::Object(text), Value::Object(told)) = (text, told) else { return None };
    let mut members = text.iter().filter_map(|(name, one)| Some((name, one, told.get(name)?)));
    members.find_map(|(name, one, other)| match (one, other) {
        (Value::Object(_), Value::Object(_)) => differs(one, other),
        (Value::Number(_), Value::Number(_)) => {
            let apart = one.as_f64().zip(other.as_f64()).map(|(one, other)| (one - other).abs());
            apart.is_some_and(|apart| apart >= 1.0).then_some(name)
        }
        (Value::Bool(_), Value::Bool(_)) | (Value::String(_), Value::String(_)) => {
            (!same_value(one, other)).then_some(name)
        }
        _ => None,
    })
}
