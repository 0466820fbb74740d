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

/// Fewest characters of a text that is nothing but what was sent.
const LEAST: usize = 4;

/// What tools tell, and which calls were refused since.
#[derive(Debug, Default)]
pub(super) struct Told {
    readings: BTreeMap<String, Reading>,
    refused: Vec<Refused>,
}

/// What a tool told last.
#[derive(Debug)]
struct Reading {
    told: Value,
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
        let mut view = view(payload);
        let json = view.remove("json").filter(|json| json.is_object() || json.is_array());
        let Some(told) = json.or_else(|| view.remove("text")) else { return };
        if let Some(before) = self.readings.get(tool).filter(|one| one.link == open.link) {
            let between = |call: &&Refused| before.seq < call.sent && call.answered < open.seq;
            let mut calls = self.refused.iter().filter(between);
            let stored = |call: &Refused| stored(&call.arguments, &before.told, &told);
            let found = calls.find_map(|call| Some((call, stored(call)?)));
            if let Some((call, (name, was))) = found {
                sink.test(Id::ArgumentsNoEffect, false, || {
                    let value = &call.arguments[&name];
                    let mut told = evidence(
                        format!("{was}, as before the call that was refused"),
                        format!("{value} as `{name}`, told by `{tool}`"),
                        seq,
                    );
                    told.sent = Some(call.text.clone());
                    told
                });
            }
        }
        self.refused.retain(|call| family(&call.tool) != family(tool));
        self.readings.insert(tool.to_owned(), Reading { told, link: open.link, seq });
    }
}

/// The argument of a refused call that is told behind it and was not before, and what was told in its place: under its
/// name, or as all that is told where that is a text.
fn stored(arguments: &Map<String, Value>, before: &Value, told: &Value) -> Option<(String, Value)> {
    let mut stored = arguments.iter().filter_map(|(name, value)| {
        let (was, is) = match (before, told) {
            (Value::String(_), Value::String(is)) => {
                (before, Some(told).filter(|_| is.chars().count() >= LEAST)?)
            }
            _ => named(name, before, told)?,
        };
        (is == value && was != value).then(|| (name.clone(), was.clone()))
    });
    stored.next()
}

/// What stands under a name in both readings, at the same place.
fn named<'a>(name: &str, before: &'a Value, told: &'a Value) -> Option<(&'a Value, &'a Value)> {
    match (before, told) {
        (Value::Object(before), Value::Object(told)) => {
            let own = before.get(name).zip(told.get(name));
            own.or_else(|| {
                let mut members = before.iter();
                members.find_map(|(other, value)| named(name, value, told.get(other)?))
            })
        }
        _ => None,
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
