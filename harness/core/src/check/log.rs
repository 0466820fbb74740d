//! The entries of one case, with lookups: what was sent at a step, what answered it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::transcript::{Entry, Mark, Role, What};
use crate::wire::{Frame, Inbound, Payload, as_integer};

/// The settings in a status reading that tool calls of the suite could change.
const SETTINGS: [&str; 4] = [
    "/audio_speaker/volume",
    "/audio_speaker/muted",
    "/screen/brightness",
    "/screen/theme",
];

/// An entry with what the observer worked out about it.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) entry: Entry,
    pub(crate) inbound: Option<Inbound>,
    /// For a received frame: `seq` of the message that it answers.
    pub(crate) answers: Option<u64>,
    /// Whether it does so under another id.
    pub(crate) wrong_id: bool,
}

/// The entries of one attempt at a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaseLog {
    pub(crate) entries: Vec<Logged>,
    /// Where in `entries` the message of a step was sent.
    sent: HashMap<Arc<str>, usize>,
    /// Where in `entries` the answer to a message stands, by the message's `seq`.
    answers: HashMap<u64, usize>,
}

/// How a step's message was answered.
#[derive(Debug)]
pub(crate) enum Reply<'a> {
    /// Nothing was sent at the step.
    NotSent,
    /// By an answer whose payload is a JSON object.
    Answer(&'a Logged, &'a Map<String, Value>),
    /// By a frame that is no readable answer.
    Broken(&'a Logged),
    /// Not at all.
    Silence,
}

impl CaseLog {
    /// Adds an entry.
    pub(crate) fn push(&mut self, logged: Logged) {
        let at = self.entries.len();
        if let (What::Sent { role, .. }, Some(step)) = (&logged.entry.what, &logged.entry.step)
            && !matches!(role, Role::Hello | Role::Reply)
        {
            self.sent.entry(step.clone()).or_insert(at);
        }
        if let Some(asked) = logged.answers {
            self.answers.entry(asked).or_insert(at);
        }
        self.entries.push(logged);
    }

    /// Notes that the frame received as `seq` answers the message `asked`, under another id.
    pub(crate) fn answered_under_wrong_id(&mut self, seq: u64, asked: u64) {
        let at = self
            .entries
            .iter()
            .position(|logged| logged.entry.seq == seq);
        if let Some(at) = at {
            self.entries[at].answers = Some(asked);
            self.entries[at].wrong_id = true;
            self.answers.entry(asked).or_insert(at);
        }
    }

    /// The message that was sent at a step.
    pub(crate) fn sent(&self, step: &str) -> Option<&Logged> {
        self.sent.get(step).map(|at| &self.entries[*at])
    }

    /// The text that was sent at a step.
    pub(crate) fn sent_text(&self, step: &str) -> Option<String> {
        self.sent(step)
            .and_then(|logged| logged.entry.frame())
            .map(Frame::display)
    }

    /// How the message of a step was answered.
    pub(crate) fn reply(&self, step: &str) -> Reply<'_> {
        let Some(sent) = self.sent(step) else {
            return Reply::NotSent;
        };
        let answer = self.answers.get(&sent.entry.seq);
        match answer.map(|at| &self.entries[*at]) {
            None => Reply::Silence,
            Some(logged) => match logged.inbound.as_ref().and_then(Inbound::payload) {
                Some(Payload::Answer(payload)) => Reply::Answer(logged, payload),
                _ => Reply::Broken(logged),
            },
        }
    }

    /// Whether a good request sent at a step was answered at all.
    pub(crate) fn answered(&self, step: &str) -> bool {
        matches!(self.reply(step), Reply::Answer(..) | Reply::Broken(_))
    }

    /// Whether a step of the case put anything before the device. Steps of scenarios have numbers.
    pub(crate) fn has_stimulus(&self) -> bool {
        self.entries.iter().any(|logged| {
            let step = logged.entry.step.as_deref().unwrap_or_default();
            matches!(&logged.entry.what, What::Sent { role, .. } if *role != Role::Reply)
                && step.starts_with(|first: char| first.is_ascii_digit())
        })
    }

    /// Why no step of the case was carried out.
    pub(crate) fn why_not_carried_out(&self) -> String {
        self.entries
            .iter()
            .find_map(|logged| match &logged.entry.what {
                What::Mark {
                    mark: Mark::Skipped { why },
                } => Some(why.clone()),
                What::Mark {
                    mark: Mark::NoLink { waited_ms },
                } => Some(format!("the device did not connect within {waited_ms} ms")),
                What::LinkDown { why, .. } => Some(format!("the connection was lost: {why}")),
                _ => None,
            })
            .unwrap_or_else(|| "no step could be carried out".to_owned())
    }

    /// Whether anything that came after this place was an answer.
    pub(crate) fn answered_after(&self, seq: u64) -> bool {
        self.entries
            .iter()
            .any(|logged| logged.entry.seq > seq && logged.answers.is_some())
    }

    /// Console lines of the case, with their places.
    pub(crate) fn console(&self) -> impl Iterator<Item = (u64, &str)> {
        self.entries
            .iter()
            .filter_map(|logged| match &logged.entry.what {
                What::Console { line } => Some((logged.entry.seq, line.as_str())),
                _ => None,
            })
    }

    /// The settings that the device showed in a status reading at a step.
    pub(crate) fn settings(&self, step: &str) -> Option<Value> {
        let Reply::Answer(_, payload) = self.reply(step) else {
            return None;
        };
        let status = view(payload).get("json")?.clone();
        // Only what the documents describe as settings: charge, signal and uptime come and go.
        let mut settings = Map::new();
        for pointer in SETTINGS {
            if let Some(value) = status.pointer(pointer) {
                // 50 and 50.0 are one level.
                let value = as_integer(value).map_or_else(|| value.clone(), Value::from);
                settings.insert(pointer.to_owned(), value);
            }
        }
        Some(Value::Object(settings))
    }
}

/// The parts of an answer that scenarios speak of: `result`, `error`, `text`, `json`.
pub fn view(payload: &Map<String, Value>) -> Map<String, Value> {
    let mut view = Map::new();
    let parts = [
        ("result", payload.get("result")),
        ("error", super::answer::error_of(payload)),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            view.insert(name.into(), value.clone());
        }
    }
    let content = payload
        .get("result")
        .and_then(|result| result.get("content"));
    let text = content.and_then(Value::as_array).and_then(|items| {
        items
            .iter()
            .find(|item| item.get("type").and_then(Value::as_str) == Some("text"))
    });
    if let Some(text) = text
        .and_then(|item| item.get("text"))
        .and_then(Value::as_str)
    {
        view.insert("text".into(), text.into());
        if let Ok(json) = serde_json::from_str(text) {
            view.insert("json".into(), json);
        }
    }
    view
}

/// The step's name for one of its side exchanges: `before`, `after`, `fence`, `p0`.
pub fn side(step: &str, name: &str) -> Arc<str> {
    format!("{step}.{name}").into()
}
