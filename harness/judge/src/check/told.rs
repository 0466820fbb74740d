//! What a tool tells of arguments that another one was given: a call that was refused has stored none of them.
//!
//! An alarm that is refused for its minute must not have taken its hour. Which tool tells what another one stores no
//! document says, so it is taken for that only where the names say so, and where the very value comes back.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

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

/// Fewest characters of a word in a tool's name that may say of what in the status it tells.
const LEAST_OF_WORD: usize = 3;

/// Most accepted calls of a tool that are remembered, and most tools.
const MOST_ACCEPTED: usize = 2;
const MOST_TOOLS: usize = 64;

/// Places of the status that other checks compare, or that change by themselves.
const OTHERS: [(&str, &[&str]); 4] = [
    ("audio_speaker", &["volume", "muted"]),
    ("screen", &["brightness", "theme"]),
    ("battery", &["level", "charging"]),
    ("network", &["signal", "rssi"]),
];

/// What tools tell, and which calls were refused since: those of the same beginning of the name, and the status, which
/// may tell of anything.
#[derive(Debug, Default)]
pub(super) struct Told {
    of_family: Watch,
    in_status: Watch,
    /// Arguments of the last calls that were accepted, by the tool: they may show late.
    accepted: BTreeMap<String, VecDeque<Map<String, Value>>>,
}

/// Readings, and the calls that were refused since.
#[derive(Debug, Default)]
struct Watch {
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
        if only_reads(tool) {
            // What it tells of one of many may differ from what it tells of another.
            if !is_refused(payload) && arguments(open).is_empty() {
                self.read(tool, seq, payload, open, sink);
            }
        } else if !is_refused(payload) {
            self.of_family = Watch::default();
            self.in_status = Watch::default();
            // Who accepts every name has no end of tools.
            if self.accepted.len() < MOST_TOOLS || self.accepted.contains_key(tool) {
                let accepted = self.accepted.entry(tool.to_owned()).or_default();
                accepted.push_back(arguments(open));
                if accepted.len() > MOST_ACCEPTED {
                    accepted.pop_front();
                }
            }
        } else {
            let is_known = |reader: &str| family(reader) == family(tool);
            let watches = [
                (
                    self.of_family.readings.keys().any(|reader| is_known(reader)),
                    &mut self.of_family,
                ),
                (!self.in_status.readings.is_empty(), &mut self.in_status),
            ];
            for (_, watch) in watches.into_iter().filter(|(is_told, _)| *is_told) {
                if watch.refused.len() < MOST {
                    watch.refused.push(Refused {
                        tool: tool.to_owned(),
                        arguments: arguments(open),
                        text: open.text.to_string(),
                        sent: open.seq,
                        answered: seq,
                    });
                }
            }
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
        let is_status = tool == STATUS_TOOL;
        let text = view.remove("text").filter(|_| !is_status);
        let Some(mut told) = json.or(text) else { return };
        if is_status {
            leave_out_others(&mut told);
        }
        let watch = if is_status { &mut self.in_status } else { &mut self.of_family };
        if let Some(before) = watch.readings.get(tool).filter(|one| one.link == open.link) {
            let between = |call: &&Refused| before.seq < call.sent && call.answered < open.seq;
            let mut calls = watch.refused.iter().filter(between);
            let accepted = &self.accepted;
            let stored = |call: &Refused| {
                let before = part_of(&before.told, call, is_status);
                let told = part_of(&told, call, is_status);
                let found = stored(&call.arguments, &before, &told)?;
                let is_late = accepted
                    .get(&call.tool)
                    .into_iter()
                    .flatten()
                    .any(|earlier| earlier.get(&found.0) == call.arguments.get(&found.0));
                Some(found).filter(|_| !is_late)
            };
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
        watch.refused.retain(|call| !is_status && family(&call.tool) != family(tool));
        watch.readings.insert(tool.to_owned(), Reading { told, link: open.link, seq });
    }
}

/// Takes out of a status what is judged elsewhere, or comes and goes.
fn leave_out_others(status: &mut Value) {
    for (part, names) in OTHERS {
        if let Some(Value::Object(part)) = status.get_mut(part) {
            part.retain(|name, _| !names.contains(&name.as_str()));
        }
    }
}

/// The part of a reading that may tell of a call: of the status, that under a name which the tool's has a word of.
fn part_of<'a>(told: &'a Value, call: &Refused, is_status: bool) -> Cow<'a, Value> {
    let Some(parts) = told.as_object().filter(|_| is_status) else { return Cow::Borrowed(told) };
    let words = call.tool.split(['.', '_', '-']).filter(|word| {
        word.chars().count() >= LEAST_OF_WORD && !["self", "set", "get"].contains(word)
    });
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let is_its = |name: &str| words.iter().any(|word| name.to_lowercase().contains(word));
    let its = parts.iter().filter(|(name, _)| is_its(name));
    Cow::Owned(its.map(|(name, value)| (name.clone(), value.clone())).collect())
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
