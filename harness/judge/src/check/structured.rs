//! What a tool tells beside its texts: as the schema that it was listed with says (MCP 2025-06-18, server/tools, "Output
//! Schema").

use std::collections::BTreeMap;

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::{Map, Value};

use super::answer::proof;
use super::log::is_refused;
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
        let told = result.get("structuredContent").filter(|_| !is_refused(payload));
        let (Some(told), Some(schema)) = (told, self.0.get(tool)) else { return };
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
