//! Tools that refuse to set anything: a setting may be locked, by a child lock or for the night.
//!
//! Such a refusal is a result with `isError` true and the reason as its text (MCP 2024-11-05, server/tools, Error
//! Handling). That it is not about the values shows where the tool refuses at that moment what it has carried out
//! before, or another good value.

use std::collections::{BTreeMap, VecDeque};

use mcp_hil_core::capability::only_reads;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::verdict::Evidence;
use mcp_hil_core::wire::{Frame, Inbound, Payload};
use serde_json::{Map, Value};

use super::log::{CaseLog, Logged, Reply, is_refused};
use super::sink::Sink;

/// How many calls without an answer are remembered.
const REMEMBERED: usize = 64;

type Arguments = Map<String, Value>;

/// A call of a tool that was refused with a reason.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedSetting {
    /// The tool.
    pub tool: String,
    /// What was to be set.
    pub arguments: Map<String, Value>,
    /// What the tool has set before.
    pub set_before: Option<Map<String, Value>>,
}

/// Calls that set something.
#[derive(Debug, Default)]
pub(crate) struct Setters {
    open: VecDeque<(u64, String, Arguments)>,
    /// What each tool has set last.
    set: BTreeMap<String, Arguments>,
}

impl Setters {
    /// A message goes out.
    pub(crate) fn sent(&mut self, seq: u64, frame: &Frame, duty: &Duty) {
        if let Some((tool, arguments)) = setting(frame, duty) {
            if self.open.len() == REMEMBERED {
                self.open.pop_front();
            }
            self.open.push_back((seq, tool, arguments));
        }
    }

    /// The message at `asked` was answered.
    pub(crate) fn answered(&mut self, asked: u64, answer: &Logged) {
        let Some(at) = self.open.iter().position(|(seq, ..)| *seq == asked) else {
            return;
        };
        let call = self.open.remove(at);
        if let Some((_, tool, arguments)) = call
            && let Some(Payload::Answer(payload)) =
                answer.inbound.as_ref().and_then(Inbound::payload)
            && !is_refused(payload)
        {
            self.set.insert(tool, arguments);
        }
    }

    /// The call of a step, where it should set something and was refused with a reason.
    pub(crate) fn refused(&self, log: &CaseLog, at: &str) -> Option<RefusedSetting> {
        let frame = log.sent(at)?.entry.frame()?;
        let (tool, arguments) = setting(frame, &Duty::of(frame))?;
        gives_a_reason(log, at).then(|| {
            let set_before = self.set.get(&tool).cloned();
            RefusedSetting { tool, arguments, set_before }
        })
    }
}

/// Whether the tool that was called at a step refused whatever it was told to set.
pub(crate) fn is_locked(log: &CaseLog, at: &str) -> bool {
    gives_a_reason(log, at) && gives_a_reason(log, &beside(at, StepKind::Other))
}

/// Tells that the tool that was called at a step refused whatever it was told to set.
pub(crate) fn tell(log: &CaseLog, at: &str, sink: &mut Sink) {
    sink.test(Id::CallCarriedOut, false, || Evidence {
        expected: "the tool sets what its schema allows".into(),
        received: format!("refused: {}", reason(log, at).unwrap_or_default()),
        sent: log.sent_text(at),
        seq: log.sent(at).map(|logged| logged.entry.seq),
    });
}

/// Whether the call of a step was answered by a result that tells why it failed.
pub(crate) fn gives_a_reason(log: &CaseLog, at: &str) -> bool {
    reason(log, at).is_some()
}

/// Why the call of a step failed, if its result tells that, and if it is not only for the moment.
pub(crate) fn reason(log: &CaseLog, at: &str) -> Option<String> {
    let Reply::Answer(_, payload) = log.reply(at) else {
        return None;
    };
    let result = payload.get("result").filter(|result| result["isError"] == true);
    let content = result.and_then(|result| result["content"].as_array());
    let mut texts = content.into_iter().flatten().filter_map(|item| item["text"].as_str());
    let reason = texts.find(|text| !text.trim().is_empty())?;
    (!log.is_put_off(at)).then(|| reason.to_owned())
}

/// Tool and arguments of a call that sets something.
fn setting(frame: &Frame, duty: &Duty) -> Option<(String, Arguments)> {
    let tool = duty.tool.as_deref().filter(|tool| duty.is_call() && !only_reads(tool))?;
    let Frame::Text(text) = frame else { return None };
    let mut envelope: Value = serde_json::from_str(text).ok()?;
    let arguments = envelope.pointer_mut("/payload/params/arguments")?.as_object_mut()?;
    (!arguments.is_empty()).then(|| (tool.to_owned(), std::mem::take(arguments)))
}
