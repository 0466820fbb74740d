//! Checks on what an error says: something, and about its own request.

use std::collections::VecDeque;

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Owes;
use serde_json::{Map, Value};

use super::answer::{error_of, proof};
use super::log::{is_refused, view};
use super::pending::Open;
use super::sink::Sink;

/// What stands in every name that the harness has made up and no device has.
pub(super) const MARK: &str = "mcp_hil";

/// Most names that are remembered.
const REMEMBERED: usize = 32;

/// Names of methods and tools that were made up, the latest last.
#[derive(Debug, Default)]
pub(crate) struct MadeUp(VecDeque<Name>);

#[derive(Debug)]
struct Name {
    name: String,
    /// Where the latest request with it was sent.
    asked: u64,
    /// Whether that was answered. An error that names one that was not may be its answer, under a wrong id.
    is_answered: bool,
}

impl MadeUp {
    /// A legal request went out.
    pub(crate) fn sent(&mut self, asked: u64, method: Option<&str>, tool: Option<&str>) {
        // What has to be escaped may be spelled in many ways, or cut off.
        let is_plain = |name: &&str| {
            name.contains(MARK)
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c))
        };
        let Some(name) = tool.or(method).filter(is_plain) else {
            return;
        };
        self.0.retain(|known| known.name != name);
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Name { name: name.to_owned(), asked, is_answered: false });
    }

    /// Judges the text of a refusal: it names nothing that only an earlier request contained.
    pub(crate) fn judge(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let asked = self.0.iter_mut().filter(|known| known.asked == open.seq);
        asked.for_each(|known| known.is_answered = true);
        let own = open.duty.tool.as_deref().or(open.duty.method.as_deref());
        let (Some(own), Owes::Answer) = (own, open.duty.owes) else {
            return;
        };
        if !is_refused(payload) {
            return;
        }
        let said = match error_of(payload) {
            Some(error) => strings(error),
            None => match view(payload).remove("text") {
                Some(Value::String(text)) => text,
                _ => String::new(),
            },
        };
        // A device may cut a long name off.
        let is_other =
            |name: &&str| !(open.text.contains(name) || own.contains(name) || name.contains(own));
        let names = self.0.iter().filter(|known| known.is_answered);
        let others: Vec<&str> = names.map(|known| known.name.as_str()).filter(is_other).collect();
        let foreign = others.iter().find(|name| said.contains(**name));
        if !others.is_empty() {
            sink.test(Id::ErrorsMessageOwn, foreign.is_none(), || {
                let name = foreign.unwrap_or(&"");
                let expected = format!("an error about this request, not about `{name}`");
                proof(&expected, payload, Some(open), seq)
            });
        }
    }
}

/// All strings in an error, one a line.
fn strings(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(strings).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => members.values().map(strings).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
