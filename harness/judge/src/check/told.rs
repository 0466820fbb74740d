//! What a tool tells of arguments that another one was given: a call that was refused has stored none of them.
//!
//! An alarm that is refused for its minute must not have taken its hour. Which tool tells what another one stores no
//! document says, so it is taken for that only where the names say so, and where the very value comes back.

use std::collections::BTreeMap;

use mcp_hil_core::capability::{STATUS_TOOL, family, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Owes;
use serde_json::{Map, Value};

use super::log::{is_refused, view};
use super::pending::Open;
use super::sink::{Sink, evidence};

/// Most refused calls that one reading is compared with.
const MOST: usize = 16;

/// What tools tell, and which calls were refused since.
#[derive(Debug, Default)]
pub(super) struct Told {
    readings: BTreeMap<String, Reading>,
    refused: Vec<Refused>,
}

/// What a tool told last.
#[derive(Debug)]
struct Reading {
    members: Map<String, Value>,
    /// Over which connection, and where in the transcript.
    link: u64,
    seq: u64,
}

/// A call that was refused: its arguments, and where it was sent and answered.
#[derive(Debug)]
struct Refused {
    tool: String,
    arguments: Map<String, Value>,
    text: String,
    sent: u64,
    answered: u64,
}

impl Told {
    /// Follows and judges the answer to a call.
    pub(super) fn answered(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let Some(tool) = open.duty.tool.as_deref().filter(|_| open.duty.owes == Owes::Answer)
        else {
            return;
        };
        let is_known = |readers: &BTreeMap<String, Reading>| {
            readers.keys().any(|reader| family(reader) == family(tool))
        };
        if only_reads(tool) {
            // What it tells of one of many may differ from what it tells of another.
            let is_plain = || arguments(open).is_empty();
            if tool != STATUS_TOOL && !is_refused(payload) && is_plain() {
                self.read(tool, seq, payload, open, sink);
            }
        } else if !is_refused(payload) {
            self.readings.clear();
            self.refused.clear();
        } else if is_known(&self.readings) && self.refused.len() < MOST {
            self.refused.push(Refused {
                tool: tool.to_owned(),
                arguments: arguments(open),
                text: open.text.to_string(),
                sent: open.seq,
                answered: seq,
            });
        }
    }

    /// A tool told what is stored.
    fn read(
        &mut self,
        tool: &str,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let Some(Value::Object(members)) = view(payload).remove("json") else {
            return;
        };
        if let Some(before) = self.readings.get(tool).filter(|one| one.link == open.link) {
            let between = |call: &&Refused| before.seq < call.sent && call.answered < open.seq;
            let mut calls = self.refused.iter().filter(between);
            let stored = |call: &Refused| {
                let has = |name: &String, value: &Value, in_: &Map<String, Value>| {
                    in_.get(name).is_some_and(|shown| shown == value)
                };
                let is_stored = |(name, value): &(&String, &Value)| {
                    before.members.contains_key(*name)
                        && !has(name, value, &before.members)
                        && has(name, value, &members)
                };
                call.arguments.iter().find(is_stored).map(|(name, _)| name.clone())
            };
            let found = calls.find_map(|call| Some((call, stored(call)?)));
            if let Some((call, name)) = found {
                sink.test(Id::ArgumentsNoEffect, false, || {
                    let mut told = evidence(
                        format!(
                            "`{name}` {}, as before the call that was refused",
                            before.members[&name]
                        ),
                        format!("{}, told by `{tool}`", members[&name]),
                        seq,
                    );
                    told.sent = Some(call.text.clone());
                    told
                });
            }
        }
        self.refused.retain(|call| family(&call.tool) != family(tool));
        self.readings.insert(tool.to_owned(), Reading { members, link: open.link, seq });
    }
}

/// The arguments of a call.
fn arguments(open: &Open) -> Map<String, Value> {
    let mut envelope: Value = serde_json::from_str(&open.text).unwrap_or_default();
    match envelope.pointer_mut("/payload/params/arguments").map(Value::take) {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    }
}
