//! The entries of one case, with lookups: what was sent at a step, what answered it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::transcript::{Entry, Role, What};
use crate::wire::{Frame, Inbound, Payload};

/// An entry with what the observer worked out about it.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) entry: Entry,
    pub(crate) inbound: Option<Inbound>,
    /// For a received frame: `seq` of the message that it answers.
    pub(crate) answers: Option<u64>,
}

/// The entries of one attempt at a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaseLog {
    pub(crate) entries: Vec<Logged>,
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
    /// The message that was sent at a step.
    pub(crate) fn sent(&self, step: &str) -> Option<&Logged> {
        self.entries.iter().find(|logged| {
            logged.entry.is_at(step)
                && matches!(&logged.entry.what, What::Sent { role, .. } if *role != Role::Hello)
        })
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
        let answer = self
            .entries
            .iter()
            .find(|logged| logged.answers == Some(sent.entry.seq));
        match answer {
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
        let part = |name: &str| status.get(name).cloned().unwrap_or(Value::Null);
        Some(json!({"audio_speaker": part("audio_speaker"), "screen": part("screen")}))
    }
}

/// The parts of an answer that scenarios speak of: `result`, `error`, `text`, `json`.
pub fn view(payload: &Map<String, Value>) -> Map<String, Value> {
    let mut view = Map::new();
    for name in ["result", "error"] {
        if let Some(value) = payload.get(name) {
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
