//! `mcp-hil review`: answers that wait for review are shown, and accepted or rejected, as `cargo insta review` does it,
//! for people who have no Rust.

mod pending;

use std::io::{BufRead, Write};
use std::path::Path;

use mcp_hil_args::ReviewArgs;
use mcp_hil_judge::compare::change::changes;
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;
use mcp_hil_runner::snapshots::differ;
use mcp_hil_runner::snapshots::file::Snap;

use pending::Pending;

/// What is done with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// It counts from now on.
    Accept,
    /// It is deleted; the reviewed one still counts.
    Reject,
    /// It still waits.
    Skip,
}

impl Decision {
    fn done(self) -> &'static str {
        match self {
            Self::Accept => "accepted",
            Self::Reject => "rejected",
            Self::Skip => "skipped",
        }
    }
}

/// Who watches, and what they type.
pub struct Talk<'a> {
    /// Where answers to questions come from; none where nobody can be asked.
    pub input: Option<&'a mut dyn BufRead>,
    /// Where everything is shown.
    pub output: &'a mut dyn Write,
}

/// Reviews what waits in a folder. Gives the exit code.
///
/// # Errors
///
/// Nobody says what to do with what waits; a folder or a file that cannot be read or written.
pub fn review(args: &ReviewArgs, talk: &mut Talk<'_>) -> Result<u8, UserError> {
    let all = pending::find(&args.folder, &args.only)?;
    let others = if all.is_empty() { pending::find(&args.folder, &[])? } else { Vec::new() };
    if !others.is_empty() {
        return Err(UserError::usage(
            format!("{} for review, and `--only` chooses none of it", waiting(others.len())),
            "`mcp-hil review --list` shows all",
        ));
    }
    if all.is_empty() {
        say(talk, &format!("nothing waits for review in `{}`\n", args.folder.display()));
        return Ok(exit::CONFORMING);
    }
    if args.list {
        all.iter().for_each(|one| say(talk, &shown(one)));
        say(talk, &format!("{} for review\n", waiting(all.len())));
        return Ok(exit::NOT_CONFORMING);
    }
    let mut rest = match (args.accept, args.reject) {
        (true, _) => Some(Decision::Accept),
        (_, true) => Some(Decision::Reject),
        _ if talk.input.is_some() => None,
        _ => {
            return Err(UserError::usage(
                format!(
                    "{} for review, and nobody can be asked: this is no terminal",
                    waiting(all.len())
                ),
                "`--list` shows them, `--accept` accepts all, `--reject` rejects all; `--only` chooses some",
            ));
        }
    };
    let mut tally = [(Decision::Accept, 0), (Decision::Reject, 0), (Decision::Skip, 0)];
    for (at, one) in all.iter().enumerate() {
        let decision = match rest {
            Some(decision) => decision,
            None => {
                say(talk, &format!("\n({} of {}) {}", at + 1, all.len(), shown(one)));
                let (decision, for_all) = ask(talk);
                rest = for_all.then_some(decision);
                decision
            }
        };
        match decision {
            Decision::Accept => one.accept()?,
            Decision::Reject => one.reject()?,
            Decision::Skip => {}
        }
        say(talk, &format!("{:<9}{}\n", decision.done(), one.reviewed.display()));
        tally.iter_mut().filter(|(of, _)| *of == decision).for_each(|(_, number)| *number += 1);
    }
    let counts = tally.iter().filter(|(_, number)| *number > 0);
    let counts: Vec<String> =
        counts.map(|(of, number)| format!("{number} {}", of.done())).collect();
    say(talk, &format!("{}\n", counts.join(", ")));
    Ok(exit::CONFORMING)
}

/// Asks until the answer is one. Who goes away skips the rest.
fn ask(talk: &mut Talk<'_>) -> (Decision, bool) {
    loop {
        say(
            talk,
            "  a accept, r reject, s skip; A, R, S: this and all that follow; q: leave the rest > ",
        );
        let mut line = String::new();
        let read = talk.input.as_mut().map(|input| input.read_line(&mut line));
        let decision = match line.trim() {
            "a" => (Decision::Accept, false),
            "r" => (Decision::Reject, false),
            "s" => (Decision::Skip, false),
            "A" => (Decision::Accept, true),
            "R" => (Decision::Reject, true),
            "S" | "q" => (Decision::Skip, true),
            _ if !matches!(read, Some(Ok(1..))) => (Decision::Skip, true),
            _ => continue,
        };
        return decision;
    }
}

/// One answer with what differs, in words where it is an exchange.
fn shown(one: &Pending) -> String {
    let mut text = format!("{}\n", one.path.display());
    match &one.before {
        None => text.push_str("  new: no such answer was reviewed\n"),
        Some(before) => {
            let said = |text: &str| Snap::read(text).map(|snap| snap.said).unwrap_or_default();
            let (old, new) = (said(before), said(&one.after));
            if !old.is_empty() && !new.is_empty() {
                for change in changes(&old, &new) {
                    text.push_str(&format!("  changed  {change}\n"));
                }
            }
        }
    }
    let before = one.before.as_deref().map(pending::body).unwrap_or_default();
    for line in differ::lines(before, pending::body(&one.after)) {
        text.push_str(&format!("  {}\n", visible(&line)));
    }
    text
}

/// What a device has sent must not control the terminal.
fn visible(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn waiting(number: usize) -> String {
    match number {
        1 => "1 answer waits".to_owned(),
        number => format!("{number} answers wait"),
    }
}

fn say(talk: &mut Talk<'_>, text: &str) {
    // Whoever does not look any more has seen enough.
    let _ = talk.output.write_all(text.as_bytes()).and_then(|()| talk.output.flush());
}

/// Whether a folder is one that nobody keeps answers in.
fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name == "target" || name == "node_modules"
}
