//! Answers that steps ask to keep, read off the transcripts of a run.

use std::path::Path;

use mcp_hil_core::scenario::{Action, Case, Step};
use mcp_hil_core::transcript::{Entry, Role, What, read_jsonl};
use mcp_hil_core::wire::Frame;
use serde_json::Value;

use crate::layout::json;

/// An answer with its request, as people review it.
pub(crate) struct Kept {
    /// The name in the scenario.
    pub(crate) name: String,
    /// The area of the case.
    pub(crate) area: String,
    /// Which step of which case gave it.
    pub(crate) from: String,
    /// Request and answer, with ids replaced.
    pub(crate) text: String,
}

/// Whether a case has an answer to keep.
pub(crate) fn are_kept(case: &Case) -> bool {
    case.flatten()
        .iter()
        .any(|flat| named(flat.step).next().is_some())
}

/// The answers to keep of a case that was run.
pub(crate) fn of(case: &Case, transcripts: &Path) -> Vec<Kept> {
    let path = transcripts.join(format!("{}.jsonl", case.id.replace('/', ".")));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "`{}` was not carried out: cannot read `{}`: {error}",
            case.id,
            path.display()
        )
    });
    let entries =
        read_jsonl(&text).unwrap_or_else(|(line, why)| panic!("{}:{line}: {why}", path.display()));
    let mut all = Vec::new();
    for flat in case.flatten() {
        for (name, inner) in named(flat.step) {
            let at = format!("{}{inner}", flat.at);
            let exchanges = exchanges(&entries, &at, &flat.step.action);
            assert!(
                !exchanges.is_empty(),
                "`{}` sent nothing at step {at}, which is to be kept as `{name}`",
                case.id
            );
            all.push(Kept {
                name: name.to_owned(),
                area: case.area().to_owned(),
                from: format!("{}, step {at}: {}", case.id, case.title),
                text: exchanges.join("\n\n"),
            });
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
fn exchanges(entries: &[Entry], at: &str, action: &Action) -> Vec<String> {
    let pages = matches!(action, Action::List { .. });
    let is_here = |step: &str| match step.strip_prefix(at) {
        Some("") => !pages,
        Some(rest) => {
            pages
                && rest
                    .strip_prefix(".p")
                    .is_some_and(|page| page.parse::<u32>().is_ok())
        }
        None => false,
    };
    entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| {
            matches!(
                &entry.what,
                What::Sent {
                    role: Role::Stimulus,
                    ..
                }
            )
        })
        .filter(|(_, entry)| entry.step.as_deref().is_some_and(is_here))
        .filter_map(|(index, entry)| Some((index, message(entry)?)))
        .map(|(index, request)| {
            let id = request.pointer("/payload/id");
            let answer = entries[index..]
                .iter()
                .filter(|entry| matches!(&entry.what, What::Received { .. }))
                .filter_map(message)
                .find(|message| id.is_some() && message.pointer("/payload/id") == id);
            let session = request.get("session_id").cloned();
            let answer = answer.map_or_else(
                || "none".to_owned(),
                |answer| redacted(answer, session.as_ref()),
            );
            format!(
                "request {}\n\nanswer {answer}",
                redacted(request, session.as_ref())
            )
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

/// A message without what differs from run to run. A session id that is another one stands as it is.
fn redacted(mut message: Value, session: Option<&Value>) -> String {
    if let Some(id) = message.pointer_mut("/payload/id") {
        *id = "[id]".into();
    }
    if let Some(id) = message
        .get_mut("session_id")
        .filter(|id| Some(&**id) == session)
    {
        *id = "[session]".into();
    }
    json(&message)
}
