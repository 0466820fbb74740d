//! `mcp-hil baseline`: a run becomes a list of known failures, or brings one up to date.
//!
//! What a program writes into such a list nobody has decided yet. So new entries say what was seen, and
//! are marked `review = true`, of which every run reminds until somebody takes it out.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::baseline::{Baseline, Known, Seen, SeenCase, SeenDevice};
use mcp_hil_core::transcript::PROPERTY;
use mcp_hil_core::verdict::Verdict;

use crate::cli::BaselineArgs;
use crate::event::CaseReport;
use crate::plan::{Refusal, now, read_baseline};
use crate::recording::read_record;
use crate::report::Record;
use crate::run::failing;

use file::{BaselineFile, New};

/// Longest reason that is made out of what was received, in characters.
const LONGEST_REASON: usize = 200;

/// Writes a baseline of what fails in a run.
///
/// # Errors
///
/// A run that cannot be read or was cut short, a file that is there already or cannot be written.
pub fn new(args: &BaselineArgs) -> Result<String, Refusal> {
    let shown = args.output.display();
    if args.output.exists() {
        return Err(Refusal::usage(
            format!("`{shown}` is there already"),
            "`mcp-hil baseline update` keeps what people wrote in it",
        ));
    }
    let run = Run::read(&args.run)?;
    let mut file = BaselineFile::new(&run.heading());
    let added = run.unlisted(&Baseline::default(), args);
    added.iter().for_each(|entry| file.add(entry));
    write(&args.output, &file.to_string())?;
    let mut text = lines("added", added.iter().map(|entry| &entry.name));
    text.push_str(&format!(
        "`{shown}` lists {} of {}; read each one, say why in `reason`, and take `review = true` out\n",
        entries(added.len()),
        args.run.display(),
    ));
    text.push_str(&run.not_listed());
    Ok(text)
}

/// Brings a baseline up to date with a run. Entries that stay keep all that people wrote.
///
/// # Errors
///
/// A run or a baseline that cannot be read, a run that was cut short, a file that cannot be written.
pub fn update(args: &BaselineArgs) -> Result<String, Refusal> {
    let run = Run::read(&args.run)?;
    let baseline = read_baseline(&args.output)?;
    let name = args.output.display().to_string();
    let text = std::fs::read_to_string(&args.output).map_err(|error| {
        Refusal::usage(format!("cannot read `{name}`: {error}"), "check the path")
    })?;
    let mut file = BaselineFile::read(&name, &text)?;

    let stale = baseline.stale(&run.seen, &run.today);
    // What still fails, though its day or its firmware is past, a person has to decide on.
    let (left, gone): (Vec<_>, Vec<_>) = stale.into_iter().partition(|(at, _)| {
        let known = &baseline.known[*at];
        let mut open = run.seen.unexercised.iter();
        match known.unexercised {
            true => open.any(|slug| known.is_about("*", slug)),
            false => run
                .failures()
                .any(|(case, slug)| known.is_about(case, slug)),
        }
    });
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
    let added = run.unlisted(&stays, args);
    file.drop_entries(&dropped);
    added.iter().for_each(|entry| file.add(entry));
    let changed = !dropped.is_empty() || !added.is_empty();
    if changed {
        write(&args.output, &file.to_string())?;
    }

    let told = |(at, why): &(usize, String)| format!("{}: {why}", baseline.known[*at].name());
    let mut text = lines("dropped", gone.iter().map(told));
    text.push_str(&lines("added", added.iter().map(|entry| &entry.name)));
    text.push_str(&lines("to decide", left.iter().map(told)));
    text.push_str(&match changed {
        true => format!(
            "`{name}` lists {} now\n",
            entries(stays.known.len() + added.len())
        ),
        false => format!(
            "`{name}` stays as it is, with {}\n",
            entries(stays.known.len())
        ),
    });
    text.push_str(&run.not_listed());
    Ok(text)
}

/// A run, as far as a baseline speaks of it.
struct Run {
    record: Record,
    seen: Seen,
    today: String,
}

impl Run {
    fn read(folder: &Path) -> Result<Self, Refusal> {
        let record = read_record(folder)?;
        let cut = record.summary.interrupted || record.summary.bench_error.is_some();
        if cut || record.cases.is_empty() {
            return Err(Refusal::usage(
                format!("the run in `{}` was cut short", folder.display()),
                "what fails in half a run is not all that fails; run again",
            ));
        }
        let mut told = BTreeMap::new();
        for ready in &record.duts {
            let version = ready.server.as_ref().map(|(_, version)| version.clone());
            told.insert((&*ready.dut, &*ready.transport), version);
        }
        let any = told.values().flatten().next().cloned();
        let carried_out = |case: &&CaseReport| case.verdict != Verdict::NotApplicable;
        let cases = record
            .cases
            .iter()
            .filter(carried_out)
            .map(|case| SeenCase {
                case: case.case.clone(),
                failing: failing(case).map(str::to_owned).collect(),
                exercised: case.exercised.iter().cloned().collect(),
                // A comparison of transports stands on both.
                firmware: told
                    .get(&(&*case.dut, &*case.transport))
                    .cloned()
                    .unwrap_or_else(|| any.clone()),
            });
        let seen = Seen {
            cases: cases.collect(),
            devices: told
                .values()
                .cloned()
                .map(|firmware| SeenDevice { firmware })
                .collect(),
            unexercised: unexercised(&record),
            // Of a part of the suite it cannot be told here that it was one; entries for every case
            // are then dropped only when what they name was put to the test.
            whole_suite: true,
            is_part: false,
        };
        Ok(Self {
            record,
            seen,
            today: now().chars().take(10).collect(),
        })
    }

    /// All that fails: the case and the requirement.
    fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        let cases = self.seen.cases.iter();
        cases.flat_map(|case| case.failing.iter().map(|slug| (&*case.case, &**slug)))
    }

    /// Entries for what fails and no entry is about, in the order of the run.
    fn unlisted(&self, baseline: &Baseline, args: &BaselineArgs) -> Vec<New> {
        let mut added: Vec<New> = Vec::new();
        for case in &self.record.cases {
            for finding in case
                .findings
                .iter()
                .filter(|it| it.verdict == Verdict::Fail)
            {
                let name = format!("{}:{}", case.case, finding.requirement);
                let listed = |known: &Known| {
                    !known.unexercised && known.is_about(&case.case, &finding.requirement)
                };
                if baseline.known.iter().any(listed) || added.iter().any(|it| it.name == name) {
                    continue;
                }
                let seen = format!("expected {}; got {}", finding.expected, finding.received);
                added.push(New {
                    name,
                    case: case.case.clone(),
                    requirement: finding.requirement.clone(),
                    reason: shortened(&seen),
                    // Another run draws other inputs.
                    intermittent: case.case.starts_with(PROPERTY),
                    unexercised: false,
                    expires: args.expires.clone(),
                    firmware: args.firmware.clone(),
                });
            }
        }
        for slug in &self.seen.unexercised {
            let listed = |known: &Known| known.unexercised && known.is_about("*", slug);
            if !baseline.known.iter().any(listed) {
                added.push(New {
                    name: format!("*:{slug}"),
                    case: "*".into(),
                    requirement: slug.clone(),
                    reason: "no case of the run put it to the test".into(),
                    intermittent: false,
                    unexercised: true,
                    expires: args.expires.clone(),
                    firmware: args.firmware.clone(),
                });
            }
        }
        added
    }

    /// What a baseline cannot list.
    fn not_listed(&self) -> String {
        let spoilt =
            |case: &&CaseReport| matches!(case.verdict, Verdict::Inconclusive | Verdict::Error);
        let names = self
            .record
            .cases
            .iter()
            .filter(spoilt)
            .map(|case| &case.case);
        lines("not listed, it showed nothing", names)
    }

    fn heading(&self) -> String {
        let duts = self.record.duts.iter();
        let mut told: Vec<String> = duts
            .filter_map(|ready| ready.server.as_ref())
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        told.dedup();
        let device = match &told[..] {
            [] => String::new(),
            told => format!(", of {}", told.join(" and ")),
        };
        let run = &self.record.run.run;
        format!("# Known failures{device}, as of the run {run}.\n")
    }
}

/// What a run of the whole suite left unexercised. The summary names devices behind some of them.
fn unexercised(record: &Record) -> BTreeSet<String> {
    let summary = &record.summary;
    let slugs = summary.unexercised.iter().chain(&summary.known_unexercised);
    slugs
        .filter_map(|name| name.split(' ').next())
        .map(str::to_owned)
        .collect()
}

/// A text of one line and of bounded length; what devices sent may be anything.
fn shortened(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().map(clean).take(LONGEST_REASON).collect();
    if text.chars().count() > LONGEST_REASON {
        short.push_str("...");
    }
    short
}

fn lines(label: &str, names: impl Iterator<Item = impl AsRef<str>>) -> String {
    names
        .map(|name| format!("{label}: {}\n", name.as_ref()))
        .collect()
}

fn entries(number: usize) -> String {
    match number {
        1 => "1 entry".to_owned(),
        number => format!("{number} entries"),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    let name = path.display().to_string();
    // What is written must be readable, whatever devices put into it.
    Baseline::load(&name, text)?;
    let made = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder),
        _ => Ok(()),
    };
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|error| {
            Refusal::bench(
                format!("cannot write `{name}`: {error}"),
                "name another file with `-o`",
            )
        })
}
