//! Reviewed answers of own tests, beside those of scenarios.

use std::path::{Path, PathBuf};

use mcp_hil_core::compare::change::changes;

use crate::plan::Refusal;
use crate::snapshots::answers::{Key, read_step};
use crate::snapshots::file::{whole, written};
use crate::snapshots::name::file_name;
use crate::snapshots::reviewed::Reviewed;
use crate::snapshots::{Mode, Setup};

/// How an answer compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is as people have reviewed it.
    Same,
    /// It is another one, or nobody has reviewed it; it waits in this file.
    Pending(PathBuf),
    /// It was taken for reviewed, as the mode `update` says.
    Updated(PathBuf),
    /// Answers are not compared.
    Off,
}

/// Why an answer does not pass.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is another one than people have reviewed.
    #[error(
        "the answer `{name}` is not as reviewed\n\n  {told}\n\n\
         hint: `cargo insta review` shows and accepts it; the reviewed one is `{}`", file.display()
    )]
    Changed {
        /// Its name.
        name: String,
        /// What changed, in words.
        told: String,
        /// The reviewed answer.
        file: PathBuf,
    },
    /// Nobody has reviewed it, and nobody watches.
    #[error(
        "nobody has reviewed the answer `{name}`\n\nhint: run without `CI`, and `cargo insta review`"
    )]
    New {
        /// Its name.
        name: String,
    },
    /// Nothing was sent at that step.
    #[error(
        "there is no exchange to keep as `{name}`\n\nhint: the bench has ended, or nothing was sent"
    )]
    Nothing {
        /// Its name.
        name: String,
    },
    /// The transcript cannot be read.
    #[error("{0}")]
    Transcript(#[from] Refusal),
    /// A file cannot be written.
    #[error("cannot write `{}`: {reason}\n\nhint: `Setup::snapshots` names another folder", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
}

/// Compares the exchange of a step with the reviewed one.
pub(super) fn compare(
    setup: &Setup,
    case: &str,
    name: &str,
    step: &str,
    transcript: &Path,
) -> Result<Outcome, SnapshotError> {
    // An area of its own: what scenarios do not ask for would be told to be left over.
    let key = Key {
        area: file_name(&case.replace('/', "-")),
        name: file_name(name),
    };
    let said = read_step(transcript, step, &setup.rules)?;
    if said.is_empty() {
        return Err(SnapshotError::Nothing {
            name: key.to_string(),
        });
    }
    let text = written(&said);
    let (own, pending) = (setup.reviewed.path(&key), setup.reviewed.pending(&key));
    let before = setup.reviewed.get(&key);
    if before.is_some_and(|snap| snap.text == text) {
        if setup.writes() && pending.exists() {
            let done = std::fs::remove_file(&pending);
            done.map_err(|reason| SnapshotError::Write {
                file: pending,
                reason,
            })?;
        }
        return Ok(Outcome::Same);
    }
    let file = match setup.mode {
        Mode::Update => own.clone(),
        _ => pending,
    };
    if setup.writes() {
        let whole = whole(case, &format!("{case}, step {step}"), &text);
        let done = Reviewed::write(&file, &whole);
        done.map_err(|reason| SnapshotError::Write {
            file: file.clone(),
            reason,
        })?;
    }
    match (setup.mode, before) {
        (Mode::Update, _) => Ok(Outcome::Updated(file)),
        (Mode::Check, Some(snap)) => {
            let told = changes(&snap.said, &said);
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            Err(SnapshotError::Changed {
                name: key.to_string(),
                told: told.join("\n  "),
                file: own,
            })
        }
        (Mode::Check, None) if setup.ci => Err(SnapshotError::New {
            name: key.to_string(),
        }),
        _ => Ok(Outcome::Pending(file)),
    }
}
