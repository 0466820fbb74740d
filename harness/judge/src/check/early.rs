//! Requests that a device refuses for want of an `initialize` on their connection, as MCP allows (2024-11-05,
//! basic/lifecycle). That it insists is shown by the same request, which it answers once `initialize` was accepted.

use mcp_hil_core::capability::STATUS_TOOL;
use serde_json::{Map, Value};

use super::pending::Open;
use super::sink::Sink;
use super::status;

/// Methods that a device may refuse until then; `ping` is none.
const EARLY: [&str; 2] = ["tools/list", "tools/call"];

/// Most refusals that are remembered.
const REFUSALS: usize = 32;

/// What was refused before `initialize`, and whether the device was seen to insist on that.
#[derive(Debug, Default)]
pub(super) struct Early {
    insists: bool,
    refused: Vec<Value>,
    /// Readings of the status among them, which are judged once it is known whether the device insists.
    readings: Vec<(u64, Map<String, Value>, Open)>,
}

impl Early {
    /// Whether the device insists on an `initialize` on each connection.
    pub(super) fn insists(&self) -> bool {
        self.insists
    }

    /// A request was answered.
    pub(super) fn answered(&mut self, seq: u64, payload: &Map<String, Value>, open: &Open) {
        let method = open.duty.method.as_deref().unwrap_or_default();
        if self.insists || !EARLY.contains(&method) || (self.refused.is_empty() && !open.early) {
            return;
        }
        if open.early && payload.contains_key("error") && self.refused.len() < REFUSALS {
            self.refused.push(request(open));
            if open.duty.tool.as_deref() == Some(STATUS_TOOL) {
                self.readings.push((seq, payload.clone(), open.clone()));
            }
        } else if !open.early && payload.contains_key("result") {
            self.insists = self.refused.contains(&request(open));
        }
    }

    /// Ends a case: readings that nothing excuses are judged as all others.
    pub(super) fn end_case(&mut self, sink: &mut Sink) {
        self.refused.clear();
        for (seq, payload, mut open) in std::mem::take(&mut self.readings) {
            if self.insists || open.case != sink.case {
                continue;
            }
            sink.step = open.step.clone();
            open.early = false;
            status::judge_reading(seq, &payload, &open, sink);
        }
        sink.step = None;
    }
}

/// What a message asks for, whatever its id and session.
fn request(open: &Open) -> Value {
    let sent: Value = serde_json::from_str(&open.text).unwrap_or_default();
    let part = |place: &str| sent.pointer(place).cloned().unwrap_or_default();
    Value::Array(vec![part("/payload/method"), part("/payload/params")])
}
