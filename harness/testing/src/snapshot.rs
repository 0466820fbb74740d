//! Reviewed answers of own tests, beside those of scenarios.

use std::path::{Path, PathBuf};

use mcp_hil_judge::compare::change::changes;

use mcp_hil_args::Mode;
use mcp_hil_record::error::UserError;
use mcp_hil_runner::snapshots::Setup;
use mcp_hil_runner::snapshots::answers::{Key, read_step};
use mcp_hil_runner::snapshots::file::{whole, written};
use mcp_hil_runner::snapshots::name::file_name;
use mcp_hil_runner::snapshots::reviewed::Reviewed;

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
        "the answer `{name}` differs from the reviewed one\n\n  {told}\n\nhint: `cargo insta \
         review` shows and accepts it; the reviewed one is `{}`", file.display()
    )]
    Changed {
        /// Name of the answer.
        name: String,
        /// What changed, in words.
        told: String,
        /// The reviewed answer.
        file: PathBuf,
    },
    /// Nobody has reviewed it, and nobody watches.
    #[error(
        "the answer `{name}` has not been reviewed\n\nhint: run without `CI`, then `cargo insta review`"
    )]
    New {
        /// Name of the answer.
        name: String,
    },
    /// Nothing was sent at that step.
    #[error(
        "there is no exchange to save as `{name}`\n\nhint: the bench has ended, or nothing was sent"
    )]
    Nothing {
        /// Name that the answer was to have.
        name: String,
    },
    /// The transcript cannot be read.
    #[error("{0}")]
    Transcript(#[from] UserError),
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
    let key = Key { area: file_name(&case.replace('/', "-")), name: file_name(name) };
    let said = read_step(transcript, step, &setup.rules)?;
    if said.is_empty() {
        return Err(SnapshotError::Nothing { name: key.to_string() });
    }
    let text = written(&said);
    let (own, pending) = (setup.reviewed.path(&key), setup.reviewed.pending(&key));
    let before = setup.reviewed.get(&key);
    if before.is_some_and(|snap| snap.text == text) {
        if setup.writes() && pending.exists() {
            let done = std::fs::remove_file(&pending);
            done.map_err(|reason| SnapshotError::Write { file: pending, reason })?;
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
        done.map_err(|reason| SnapshotError::Write { file: file.clone(), reason })?;
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
        (Mode::Check, None) if setup.ci => Err(SnapshotError::New { name: key.to_string() }),
        _ => Ok(Outcome::Pending(file)),
    }
}
