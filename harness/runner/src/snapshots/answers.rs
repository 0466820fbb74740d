//! Answers that steps ask to keep, read off the transcripts of a run.

use std::path::Path;

use mcp_hil_core::step::{self, StepKind};
use mcp_hil_core::transcript::{Entry, Mark, Role, What, read_jsonl};
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::compare::change::Said;
use mcp_hil_scenario::{Action, Case, Step};
use serde_json::Value;

use super::file::written;
use super::name::file_name;
use super::redact::Redactions;
use mcp_hil_record::error::UserError;
use mcp_hil_record::names::transcript_name;

/// Where an answer is kept, below the folder of a device: the file names of area and snapshot, without
/// ending.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The area's folder.
    pub area: String,
    /// The file's name.
    pub name: String,
}

impl Key {
    /// The place of a snapshot of a case.
    pub fn new(case: &Case, snapshot: &str) -> Self {
        Self { area: file_name(case.area()), name: file_name(snapshot) }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.area, self.name)
    }
}

/// An answer with its request, as people review it.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Where it is kept.
    pub key: Key,
    /// The case.
    pub case: String,
    /// Its file.
    pub file: String,
    /// Which step of which case gave it.
    pub from: String,
    /// Request and answer, or one of them for each page of a list, without what differs from run to run.
    pub said: Vec<Said>,
    /// The answers as text.
    pub text: String,
}

/// The answers that a case asks to keep; a table that asks for one in each of its rows does so once.
pub fn asked(case: &Case) -> Vec<Key> {
    let mut keys = Vec::new();
    for flat in case.flatten() {
        for (name, _) in named(flat.step) {
            let key = Key::new(case, name);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys
}

/// The answers to keep of a case that was run, off its transcript in a folder. A step that sent nothing has
/// none.
///
/// # Errors
///
/// A transcript that is missing or damaged, with its name.
pub fn read(case: &Case, folder: &Path, rules: &Redactions) -> Result<Vec<Kept>, UserError> {
    let entries = entries(&folder.join(transcript_name(&case.id)))?;
    Ok(of(case, &entries, rules))
}

/// The entries of a transcript.
fn entries(path: &Path) -> Result<Vec<Entry>, UserError> {
    let refuse = |why: String| {
        UserError::bench(
            format!("cannot read `{}`: {why}", path.display()),
            "the answers of this case are not compared",
        )
    };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    read_jsonl(&text).map_err(|(line, why)| refuse(format!("line {line}: {why}")))
}

/// What was said at one step, off a transcript.
///
/// # Errors
///
/// A transcript that is missing or damaged, with its name.
pub fn read_step(path: &Path, step: &str, rules: &Redactions) -> Result<Vec<Said>, UserError> {
    let entries = entries(path)?;
    Ok(exchanges(&entries, step, false, rules))
}

/// The same off the entries of the case.
pub fn of(case: &Case, entries: &[Entry], rules: &Redactions) -> Vec<Kept> {
    let again = |entry: &Entry| {
        let mark = Mark::SecondAttempt;
        entry.what == What::Mark { mark }
    };
    // What was tried once more counts as it was the second time.
    let from = entries.iter().rposition(again).unwrap_or(0);
    let mut all: Vec<Kept> = Vec::new();
    for flat in case.flatten() {
        for (name, inner) in named(flat.step) {
            let at = format!("{}{inner}", flat.at);
            let pages = matches!(flat.step.action, Action::List { .. });
            let said = exchanges(&entries[from..], &at, pages, rules);
            if said.is_empty() {
                continue;
            }
            let key = Key::new(case, name);
            let kept = match all.iter_mut().position(|kept| kept.key == key) {
                Some(at) => &mut all[at],
                None => {
                    all.push(Kept {
                        key,
                        case: case.id.to_string(),
                        file: case.file.clone(),
                        from: format!("{}, step {at}: {}", case.id, case.title),
                        said: Vec::new(),
                        text: String::new(),
                    });
                    let last = all.len() - 1;
                    &mut all[last]
                }
            };
            kept.said.extend(said);
            kept.text = written(&kept.said);
        }
    }
    all
}

/// The names in a step, and in the steps of its burst, each with the rest of its place.
fn named(step: &Step) -> impl Iterator<Item = (&str, String)> {
    let inner: &[Step] = match &step.action {
        Action::Burst(steps) => steps,
        _ => &[],
    };
    let own = step.snapshot.as_deref().map(|name| (name, String::new()));
    let inner = inner.iter().enumerate();
    own.into_iter()
        .chain(inner.filter_map(|(at, step)| Some((step.snapshot.as_deref()?, format!(".{at}")))))
}

/// What was said at a step: one request and its answer, or one of them for each page of a list.
fn exchanges(entries: &[Entry], at: &str, pages: bool, rules: &Redactions) -> Vec<Said> {
    let is_here = |name: &str| match step::parts(name) {
        (step, Some(StepKind::Page(_))) if pages => step == at,
        _ => !pages && name == at,
    };
    let is_stimulus = |entry: &Entry| {
        let role = Role::Stimulus;
        matches!(&entry.what, What::Sent { role: sent, .. } if *sent == role)
    };
    entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| is_stimulus(entry) && entry.step.as_deref().is_some_and(is_here))
        .filter_map(|(index, entry)| Some((index, message(entry)?)))
        .map(|(index, request)| {
            let id = request.pointer("/payload/id");
            let answer = entries[index..]
                .iter()
                .filter(|entry| matches!(&entry.what, What::Received { .. }))
                .filter_map(message)
                .find(|message| id.is_some() && message.pointer("/payload/id") == id);
            Said {
                answer: answer.map(|answer| rules.redacted(answer, &request)),
                request: rules.redacted(request.clone(), &request),
            }
        })
        .collect()
}

/// A text frame as JSON.
fn message(entry: &Entry) -> Option<Value> {
    match entry.frame()? {
        Frame::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}
