//! `mcp-hil baseline`: runs become a list of known failures, or bring one up to date.
//!
//! What a program writes into such a list nobody has decided yet. So new entries say what was seen, and
//! are marked `review = true`, of which every run reminds until somebody takes it out.

mod evidence;
mod file;
mod runs;

use std::collections::BTreeSet;
use std::path::Path;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::is_liveness;

use mcp_hil_args::{BaselineArgs, Described};
use mcp_hil_record::error::UserError;
use mcp_hil_record::report::write_whole;
use mcp_hil_runner::plan::read_baseline;

use evidence::unlisted;
use file::{BaselineFile, New};
use runs::Runs;

/// Writes a baseline of what fails in runs.
///
/// # Errors
///
/// A run that cannot be read or was cut short, a file that is there already or cannot be written.
pub fn new(args: &BaselineArgs) -> Result<String, UserError> {
    let shown = args.output.display();
    if args.output.exists() {
        return Err(UserError::usage(
            format!("`{shown}` already exists"),
            "`mcp-hil baseline update` keeps what people wrote in it",
        ));
    }
    let runs = Runs::read(&args.runs)?;
    let heading = format!("{}\n{}", Described::Baseline.first_line(&args.output), runs.heading());
    let mut file = BaselineFile::new(&heading);
    let added = unlisted(&runs, &Baseline::default(), args);
    added.iter().for_each(|entry| file.add(entry));
    write(&args.output, &file.to_string())?;
    let mut text = told(&added);
    let of = match &args.runs[..] {
        [run] => run.display().to_string(),
        runs => format!("{} runs", runs.len()),
    };
    text.push_str(&format!(
        "`{shown}` lists {} of {of}; review each one, give the reason in `reason`, and remove `review = true`\n",
        entries(added.len()),
    ));
    text.push_str(&not_listed(&runs));
    Ok(text)
}

/// Brings a baseline up to date with runs. Entries that stay keep all that people wrote.
///
/// # Errors
///
/// A run or a baseline that cannot be read, a run that was cut short, a file that cannot be written.
pub fn update(args: &BaselineArgs) -> Result<String, UserError> {
    let runs = Runs::read(&args.runs)?;
    let baseline = read_baseline(&args.output)?;
    let name = args.output.display().to_string();
    let text = std::fs::read_to_string(&args.output).map_err(|error| {
        UserError::usage(format!("cannot read `{name}`: {error}"), "check the path")
    })?;
    let mut file = BaselineFile::read(&name, &text)?;

    let stale = baseline.stale(&runs.seen, &runs.today);
    // What still fails, though its day or its firmware is past, a person has to decide on.
    let (mut left, gone): (Vec<_>, Vec<_>) =
        stale.into_iter().partition(|(at, _)| runs.still_fails(&baseline.known[*at]));
    left.extend(runs.sometimes(&baseline));
    let dropped: BTreeSet<usize> = gone.iter().map(|(at, _)| *at).collect();
    let stays = Baseline {
        known: baseline
            .known
            .iter()
            .enumerate()
            .filter(|(at, _)| !dropped.contains(at))
            .map(|(_, known)| known.clone())
            .collect(),
    };
    let added = unlisted(&runs, &stays, args);
    file.drop_entries(&dropped);
    added.iter().for_each(|entry| file.add(entry));
    let changed = !dropped.is_empty() || !added.is_empty();
    if changed {
        write(&args.output, &file.to_string())?;
    }

    let why = |(at, why): &(usize, String)| format!("{}: {why}", baseline.known[*at].name());
    let mut text = lines("dropped", gone.iter().map(why));
    text.push_str(&told(&added));
    text.push_str(&lines("to decide", left.iter().map(why)));
    text.push_str(&match changed {
        true => format!("`{name}` lists {} now\n", entries(stays.known.len() + added.len())),
        false => format!("`{name}` is unchanged, with {}\n", entries(stays.known.len())),
    });
    text.push_str(&not_listed(&runs));
    Ok(text)
}

/// The entries that were added; those that let the device crash say so.
fn told(added: &[New]) -> String {
    let breaks_down = |new: &New| new.requirement.as_deref().is_some_and(is_liveness);
    let added = added.iter().map(|new| match breaks_down(new) {
        true if !new.unexercised => format!(
            "{} (the device failed completely: keep the entry only if that can be tolerated)",
            new.name()
        ),
        _ => new.name(),
    });
    lines("added", added)
}

/// What a baseline cannot list.
fn not_listed(runs: &Runs) -> String {
    lines("not listed: it was inconclusive", runs.spoilt().into_iter())
}

fn lines(label: &str, names: impl Iterator<Item = impl AsRef<str>>) -> String {
    names.map(|name| format!("{label}: {}\n", name.as_ref())).collect()
}

fn entries(number: usize) -> String {
    match number {
        1 => "1 entry".to_owned(),
        number => format!("{number} entries"),
    }
}

fn write(path: &Path, text: &str) -> Result<(), UserError> {
    let name = path.display().to_string();
    // What is written must be readable, whatever devices put into it.
    Baseline::load(&name, text)?;
    write_whole(path, text.as_bytes()).map_err(|error| {
        UserError::bench(format!("cannot write `{name}`: {error}"), "name another file with `-o`")
    })
}
