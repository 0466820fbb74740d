//! Tools that are in the list, and that the device does not know when they are called by the names there.
//!
//! Which words a device has for a tool that it does not know no document says. So what it says of a listed tool is compared
//! with what it says of one that was made up: the same code and the same text, the name in it aside.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Owes;
use mcp_hil_core::wire::as_integer;
use serde_json::{Map, Value, json};

use super::answer::{error_of, proof};
use super::log::{is_refused, view};
use super::pending::Open;
use super::refusal_text::MARK;
use super::sink::Sink;

/// The codes that documents have for unknown tools: who has one of its own may use it for anything.
const CODES: [i64; 2] = [-32601, -32602];

/// Most refusals and tools that are remembered.
const MOST: usize = 256;

/// What is said of tools that were made up, and which others were seen to be known.
#[derive(Debug, Default)]
pub(super) struct ListedUnknown {
    of_made_up: BTreeSet<(Option<i64>, String)>,
    known: BTreeSet<String>,
}

impl ListedUnknown {
    /// Follows and judges the answer to a call; `schemas` are those of the tools that were listed.
    pub(super) fn answered(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        schemas: &BTreeMap<String, Value>,
        sink: &mut Sink,
    ) {
        let Some(tool) = open.duty.tool.as_deref().filter(|_| open.duty.owes == Owes::Answer)
        else {
            return;
        };
        let listed = schemas.get(tool);
        let Some(refusal) = refusal(tool, payload) else {
            if listed.is_some() && !is_refused(payload) && self.known.len() < MOST {
                self.known.insert(tool.to_owned());
            }
            return;
        };
        let Some(schema) = listed else {
            if tool.contains(MARK) && self.of_made_up.len() < MOST {
                self.of_made_up.insert(refusal);
            }
            return;
        };
        if self.of_made_up.contains(&refusal) && !self.known.contains(tool) && obeys(open, schema) {
            sink.test(Id::ListListedKnown, false, || {
                let expected = "another answer than to a call of a tool that is not in the list";
                proof(expected, payload, Some(open), seq)
            });
        }
    }
}

/// What a refusal says, with a mark in the place of the tool's name; nothing where it does not say the name.
fn refusal(tool: &str, payload: &Map<String, Value>) -> Option<(Option<i64>, String)> {
    if tool.is_empty() || !is_refused(payload) {
        return None;
    }
    let (code, text) = match error_of(payload) {
        Some(error) => (error.get("code").and_then(as_integer), error.get("message").cloned()),
        None => (None, view(payload).remove("text")),
    };
    let text = text.as_ref().and_then(Value::as_str).filter(|text| text.contains(tool))?;
    let is_usual = code.is_none_or(|code| CODES.contains(&code));
    is_usual.then(|| (code, text.replace(tool, "\0")))
}

/// Whether the arguments of a call are such as the schema of its tool wants.
fn obeys(open: &Open, schema: &Value) -> bool {
    let envelope: Value = serde_json::from_str(&open.text).unwrap_or_default();
    let none = json!({});
    let arguments = envelope.pointer("/payload/params/arguments").unwrap_or(&none);
    jsonschema::validator_for(schema).is_ok_and(|validator| validator.is_valid(arguments))
}
