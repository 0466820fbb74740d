//! The judge of volume gateways: what came out of a gateway, against a table of what must.
//!
//! The table is data (`scenarios/vectors/device-control.json`). Nothing is taken from
//! [`mcp_hil_core::gateway`]: judge and gateway are two readings of the same document.

mod reply;
mod table;

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::check::CaseOutcome;
use crate::check::sink::{Sink, evidence};
use mcp_hil_core::transcript::{Entry, Mark, What};
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::{Frame, Inbound, Payload, as_integer, id_key};

pub use reply::request_id_of;
pub use table::{Call, Expected, Fence, REQUIREMENTS, Row, Table};

/// The steps that send the good control that shows that the gateway lives: the first, and a second one where the
/// first was lost.
pub const FENCES: [&str; 2] = ["fence", "fence2"];

/// Whether a step is one of [`FENCES`].
pub fn is_fence(step: &str) -> bool {
    FENCES.contains(&step)
}

/// Ids from here on are more than 32-bit devices can answer.
const DEVICE_IDS_BELOW: i64 = 1 << 31;

/// The judge of one run with one gateway.
#[derive(Debug)]
pub struct GatewayJudge {
    table: Arc<Table>,
    /// Ids of all calls, and the messages that had them.
    ids: BTreeMap<String, String>,
}

/// A `tools/call` that came out of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Came {
    /// Its entry in the transcript.
    pub seq: u64,
    /// Its id; `None` where it has none.
    pub id: Option<Value>,
    /// The tool and its arguments, as far as they can be read.
    pub call: Call,
    /// What is wrong with its form.
    wrong: Option<String>,
    text: String,
}

impl Came {
    /// Reads a message that came out of a gateway; `None` when it is no `tools/call`.
    pub fn read(seq: u64, frame: &Frame) -> Option<Self> {
        let inbound = Inbound::read(frame);
        let message = inbound.message()?;
        let (payload, mut wrong) = match message.payload() {
            Payload::Request(payload) | Payload::Notification(payload) => (payload, None),
            _ => (&message.envelope, Some("not an `mcp` envelope".to_owned())),
        };
        if payload.get("method").and_then(Value::as_str) != Some("tools/call") {
            return None;
        }
        if wrong.is_none() && message.kind() != Some("mcp") {
            wrong = Some("the envelope's type is not `mcp`".into());
        }
        if wrong.is_none() && payload.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            wrong = Some("`jsonrpc` is not \"2.0\"".into());
        }
        let params = payload.get("params");
        let tool = params.and_then(|params| params.get("name")?.as_str());
        let arguments = params.and_then(|params| params.get("arguments"));
        if wrong.is_none() && (tool.is_none() || !arguments.is_none_or(Value::is_object)) {
            wrong = Some("expected `params` with a `name` and an object `arguments`".into());
        }
        Some(Self {
            seq,
            id: payload.get("id").cloned(),
            call: Call {
                tool: tool.unwrap_or_default().to_owned(),
                arguments: arguments.cloned().unwrap_or_else(|| Value::Object(Map::new())),
            },
            wrong,
            text: frame.display(),
        })
    }
}

impl GatewayJudge {
    /// A judge at the beginning of a run.
    pub fn new(table: Arc<Table>) -> Self {
        Self { table, ids: BTreeMap::new() }
    }

    /// Judges a case by its entries. Without a row it is the first good control of a run.
    pub fn judge(&mut self, case: &Arc<str>, row: Option<&Row>, entries: &[Entry]) -> CaseOutcome {
        let mut sink = Sink { case: case.clone(), ..Sink::default() };
        // What came before the last attempt was not ready yet.
        let begin = entries
            .iter()
            .rposition(|entry| matches!(&entry.what, What::Mark { mark: Mark::SecondAttempt }));
        let entries = &entries[begin.unwrap_or(0)..];
        let controls: Vec<(&str, &str)> = entries.iter().filter_map(control).collect();
        let (fences, own): (Vec<_>, Vec<_>) =
            controls.into_iter().partition(|(step, _)| is_fence(step));
        let mut calls: Vec<Came> = Vec::new();
        for entry in entries {
            let What::Received { frame } = &entry.what else {
                continue;
            };
            match Came::read(entry.seq, frame) {
                Some(came) => calls.push(came),
                None => unreadable(entry.seq, frame, &mut sink),
            }
        }
        for came in &calls {
            self.each(came, &mut sink);
        }
        let fence = &self.table.fence.call;
        let (fence_calls, mut calls): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|came| came.call.equals(fence));
        let alive = fence_calls.len() >= fences.len();
        if !fences.is_empty() {
            sink.test(Id::GatewaySurvives, alive, || Evidence {
                expected: "a valid control message after it makes its call".into(),
                received: "no call was made".into(),
                sent: own.last().or(fences.last()).map(|(_, text)| (*text).to_owned()),
                seq: None,
            });
            sink.test(Id::GatewayOneCall, fence_calls.len() <= fences.len(), || {
                let last = fence_calls.last().map_or(0, |came| came.seq);
                evidence(
                    format!("{} call(s) for the valid control message", fences.len()),
                    format!("{} calls", fence_calls.len()),
                    last,
                )
            });
        }
        let last = own.last().copied();
        // Without its call there is nothing to answer.
        let called = match row {
            Some(row) => judge_calls(row, &own, &mut calls, alive, &mut sink),
            None => {
                sink.test(Id::GatewayOneCall, calls.is_empty(), || {
                    let seq = calls.first().map_or(0, |came| came.seq);
                    evidence(
                        "no other call",
                        calls.first().map_or(String::new(), |came| came.call.to_string()),
                        seq,
                    )
                }) && alive
            }
        };
        let wanted = match row {
            None => Some((Expected::Result, fences.first().copied())),
            Some(row) => row.reply.map(|expected| (expected, last)),
        };
        if let (Some((expected, Some((_, sent)))), true) = (wanted, called) {
            let others: Vec<&str> = fences.iter().map(|(_, text)| *text).collect();
            reply::judge(entries, sent, &others, expected, self.table.level, &mut sink);
        }
        let not_carried_out = entries.iter().find_map(|entry| match &entry.what {
            What::Mark { mark: Mark::Skipped { why } } => Some(why.clone()),
            _ => None,
        });
        CaseOutcome {
            exercised: sink.exercised,
            judgements: sink.found,
            not_carried_out,
            ..CaseOutcome::default()
        }
    }

    /// What holds of every call.
    fn each(&mut self, came: &Came, sink: &mut Sink) {
        sink.test(Id::GatewayCallShape, came.wrong.is_none(), || {
            let wrong = came.wrong.clone().unwrap_or_default();
            evidence(
                "a JSON-RPC 2.0 request of tools/call in an mcp envelope",
                format!("{wrong}: {}", came.text),
                came.seq,
            )
        });
        let number = came.id.as_ref().and_then(as_integer);
        let Some(number) = number else {
            let shown = came.id.as_ref().map_or("no id".to_owned(), |id| format!("id {id}"));
            sink.test(Id::GatewayIdNumeric, false, || {
                evidence("an integer as id", shown, came.seq)
            });
            return;
        };
        sink.held(Id::GatewayIdNumeric);
        let small = (0..DEVICE_IDS_BELOW).contains(&number);
        sink.test(Id::GatewayId31Bit, small, || {
            let expected = format!("an id from 0 to {}", DEVICE_IDS_BELOW - 1);
            evidence(expected, format!("id {number}"), came.seq)
        });
        let key = id_key(&Value::from(number));
        let earlier = self.ids.insert(key, came.text.clone());
        sink.test(Id::GatewayIdUnique, earlier.is_none(), || {
            let text = earlier.unwrap_or_default();
            evidence(
                "an id that no earlier call had",
                format!("id {number}, as in {text}"),
                came.seq,
            )
        });
    }
}

/// The calls of a row's controls, each once and no others. Returns whether all came.
fn judge_calls(
    row: &Row,
    own: &[(&str, &str)],
    calls: &mut Vec<Came>,
    alive: bool,
    sink: &mut Sink,
) -> bool {
    let requirement = row.requirement;
    let sent = own.last().map(|(_, text)| (*text).to_owned());
    let mut missing = Vec::new();
    for expected in &row.calls {
        let at = calls.iter().position(|came| came.call.equals(&expected.call));
        let Some(at) = at else {
            missing.push(&expected.call);
            continue;
        };
        let came = calls.remove(at);
        if let Some(id) = expected.id {
            let got = came.id.as_ref().and_then(as_integer);
            sink.test(Id::GatewayIdFromRequest, got == Some(id), || Evidence {
                expected: format!("id {id}"),
                received: came.text.clone(),
                sent: sent.clone(),
                seq: Some(came.seq),
            });
        }
    }
    for call in &missing {
        if calls.is_empty() && !alive {
            let why = format!("no call was made, and the gateway is silent: {call}");
            let case = sink.case.clone();
            sink.add(requirement, case, None, Outcome::Unclear(why));
            continue;
        }
        let instead = (!calls.is_empty()).then(|| calls.remove(0));
        sink.test(requirement, false, || Evidence {
            expected: call.to_string(),
            received: match &instead {
                Some(came) => came.call.to_string(),
                None => "no call".into(),
            },
            sent: sent.clone(),
            seq: instead.as_ref().map(|came| came.seq),
        });
    }
    let name = if row.calls.is_empty() { requirement } else { Id::GatewayOneCall };
    let extra = calls.first().map(|came| Evidence {
        expected: match row.calls.len() {
            0 => "no call".into(),
            many => format!("{many} call(s)"),
        },
        received: format!("also {}", came.call),
        sent,
        seq: Some(came.seq),
    });
    if extra.is_some() || alive {
        sink.test(name, extra.is_none(), || extra.unwrap_or_default());
    }
    if missing.is_empty() && alive {
        sink.held(requirement);
    }
    missing.is_empty()
}

/// A control that was sent: its step and its text.
fn control(entry: &Entry) -> Option<(&str, &str)> {
    match &entry.what {
        What::Control { text } => Some((entry.step.as_deref().unwrap_or_default(), text)),
        _ => None,
    }
}

/// A message that no device can read.
fn unreadable(seq: u64, frame: &Frame, sink: &mut Sink) {
    let broken = match Inbound::read(frame) {
        Inbound::Message(_) | Inbound::NotText => return,
        Inbound::NotJson { why, .. } => why,
        _ => "it is not a JSON object".into(),
    };
    sink.test(Id::GatewayCallShape, false, || {
        evidence("a JSON object as text", format!("{broken}: {}", frame.display()), seq)
    });
}

#[cfg(test)]
mod tests;
