//! `mcp-hil diff`: what became of a device between two runs, or where an emulator disagrees.
//!
//! Nothing is judged again: verdicts, findings and what the devices could do are those of the runs. Answers and
//! tools are read off the transcripts. How long answers took is told and is no difference: it hangs on the machine.

mod normal;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::catalogue::Level;
use mcp_hil_core::transcript::BRING_UP;
use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_judge::compare::answers::{Answers, answers};
use mcp_hil_judge::compare::capabilities::{CapabilityChange, Look};
use mcp_hil_judge::compare::tools::{ToolChange, moved_pages, tools};
use serde::Serialize;

use mcp_hil_args::{DiffArgs, Format};
use mcp_hil_record::Record;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{CaseReport, DutInfo};
use mcp_hil_record::exit;
use mcp_hil_record::names::dut_over;
use mcp_hil_record::read::{Recorded, check_transcripts, read_single};
use mcp_hil_runner::snapshots::capabilities;

/// How two runs compare.
#[derive(Debug, Serialize)]
pub struct Diff {
    /// The first run.
    pub first: RunShown,
    /// The second run.
    pub second: RunShown,
    /// Whether the devices were run in different ways: one of them may be the emulator of the other.
    pub targets_differ: bool,
    /// Cases with other verdicts or findings.
    pub cases: Vec<CaseChange>,
    /// Cases that do not apply to one of two targets: no difference, and not compared.
    pub not_observed: Vec<NotObserved>,
    /// What of one run has no counterpart, in words.
    pub unpaired: Vec<String>,
    /// What was recorded, pair by pair.
    #[serde(rename = "lanes")]
    pub dut_runs: Vec<DutRun>,
    /// How many cases both runs have.
    pub compared: usize,
    /// How many differences there are.
    pub differences: usize,
}

/// Which run it is.
#[derive(Debug, Serialize)]
pub struct RunShown {
    /// Its folder, as given.
    pub folder: String,
    /// The devices over their transports.
    pub duts: Vec<DutInfo>,
    /// Name and version that the device told first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<(String, String)>,
}

/// A case with another verdict or other findings.
#[derive(Debug, Serialize)]
pub struct CaseChange {
    /// The transport in the second run.
    pub transport: String,
    /// The case.
    pub case: String,
    /// Its verdict in the first run.
    pub first: Verdict,
    /// Its verdict in the second run.
    pub second: Verdict,
    /// Why the second run has no verdict on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What only the first run found.
    pub gone: Vec<Found>,
    /// What only the second run found.
    pub new: Vec<Found>,
    /// The command that ran it in the second run.
    pub repro: String,
}

/// A finding that only one of the runs has.
#[derive(Debug, Serialize)]
pub struct Found {
    /// Slug of the requirement.
    pub requirement: String,
    /// Its level.
    pub level: Level,
    /// What it asks for.
    pub expected: String,
    /// What the device did.
    pub received: String,
}

/// A case that one of two targets cannot show.
#[derive(Debug, Serialize)]
pub struct NotObserved {
    /// The case.
    pub case: String,
    /// The device on which it does not apply.
    pub dut: String,
    /// Why it does not apply there, in words.
    pub reason: String,
}

/// What was recorded over one transport in both runs.
#[derive(Debug, Serialize)]
pub struct DutRun {
    /// The transport in the first run.
    pub first: String,
    /// The transport in the second run.
    pub second: String,
    /// The answers.
    pub answers: Answers,
    /// The tools.
    pub tools: Vec<ToolChange>,
    /// What the device was able to do in one of the runs only, as far as both looked for it.
    #[serde(skip_serializing_if = "CapabilityChange::is_empty")]
    pub capabilities: CapabilityChange,
    /// The cases that the second run did not try for the want of each capability that was lost.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_tried: BTreeMap<String, Vec<String>>,
    /// How the pages of the same tools are cut, where that differs between devices that run in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
}

/// Compares two runs: the text to print, and the exit code.
///
/// # Errors
///
/// A folder that is not one of a run, or is damaged; the file is named.
pub fn diff(args: &DiffArgs) -> Result<(String, u8), UserError> {
    if args.normalised {
        return normal::compare(&args.first, &args.second);
    }
    let diff = Diff::of(&args.first, &args.second)?;
    let text = match args.format {
        Format::Human => show::text(&diff, args.verbose),
        Format::Json => show::json(&diff)?,
    };
    let exit = match diff.differences {
        0 => exit::CONFORMING,
        _ => exit::NOT_CONFORMING,
    };
    Ok((text, exit))
}

/// A run, read back.
struct Read {
    record: Record,
    dut_runs: Vec<Recorded>,
}

impl Read {
    fn run(folder: &Path) -> Result<Self, UserError> {
        let record = read_single(folder)?;
        check_transcripts(&record, folder)?;
        let several = record.run.duts.len() > 1;
        let duts = record.run.duts.iter();
        let dut_runs = duts.map(|dut| Recorded::read(folder, dut, several));
        Ok(Self { dut_runs: dut_runs.collect::<Result<_, _>>()?, record })
    }

    fn shown(&self, folder: &Path) -> RunShown {
        RunShown {
            folder: folder.display().to_string(),
            duts: self.record.run.duts.clone(),
            server: self.record.duts.iter().find_map(|dut| dut.server.clone()),
        }
    }

    /// What the device showed that it can do over a transport, and how it was looked at.
    fn shown_over(&self, transport: &str) -> Option<(&BTreeSet<String>, Look)> {
        let record = &self.record;
        let dut = record.run.duts.iter().find(|it| it.transport == transport)?;
        let dut_run = dut_over(&dut.name, transport);
        let shown = record.summary.capabilities.get(&dut_run)?;
        let cases = record.cases.iter().filter(|it| it.transport == transport);
        let basis = record.run.basis.as_ref();
        let whole = basis.is_some_and(|it| it.whole_suite && it.shard.is_none());
        let complete = !record.summary.interrupted && record.summary.bench_error.is_none();
        let suite = whole && complete && capabilities::is_clear(cases.clone());
        let mut got_to_know = cases.filter(|case| case.case == BRING_UP);
        // Of a device that nobody got to know, the record tells less than it can.
        let is_known =
            got_to_know.any(|case| matches!(case.verdict, Verdict::Pass | Verdict::Fail));
        is_known.then(|| (shown, capabilities::look(dut, suite)))
    }

    fn has(&self, transport: &str) -> bool {
        self.dut_runs.iter().any(|dut_run| dut_run.transport == transport)
    }
}

impl Diff {
    /// Compares the runs in two folders.
    ///
    /// # Errors
    ///
    /// As for [`diff`].
    pub fn of(first: &Path, second: &Path) -> Result<Self, UserError> {
        let (one, other) = (Read::run(first)?, Read::run(second)?);
        let targets = |run: &Read| -> BTreeSet<String> {
            run.dut_runs.iter().map(|dut_run| dut_run.target.clone()).collect()
        };
        let mut diff = Self {
            first: one.shown(first),
            second: other.shown(second),
            targets_differ: targets(&one) != targets(&other),
            cases: Vec::new(),
            not_observed: Vec::new(),
            unpaired: Vec::new(),
            dut_runs: Vec::new(),
            compared: 0,
            differences: 0,
        };
        // Two runs over one transport each are compared whatever these are.
        let across = match (&one.dut_runs[..], &other.dut_runs[..]) {
            ([a], [b]) if a.transport != b.transport => Some((&*a.transport, &*b.transport)),
            _ => None,
        };
        let partner = |transport: &str| match across {
            Some((ours, theirs)) if ours == transport => theirs.to_owned(),
            _ => transport.to_owned(),
        };
        for dut_run in &one.dut_runs {
            let name = partner(&dut_run.transport);
            match other.dut_runs.iter().find(|theirs| theirs.transport == name) {
                Some(theirs) => diff.dut_runs.push(DutRun {
                    capabilities: CapabilityChange::default(),
                    not_tried: BTreeMap::new(),
                    first: dut_run.transport.clone(),
                    second: name,
                    answers: answers(&dut_run.entries, &theirs.entries, diff.targets_differ),
                    tools: tools(&dut_run.entries, &theirs.entries),
                    // What is around a message differs with the transport, and counts for its length.
                    pages: moved_pages(&dut_run.entries, &theirs.entries)
                        .filter(|_| across.is_none() && !diff.targets_differ),
                }),
                None => diff.missing(&name, "second"),
            }
        }
        for dut_run in &other.dut_runs {
            if across.is_none() && !one.has(&dut_run.transport) {
                diff.missing(&dut_run.transport, "first");
            }
        }
        diff.compare_cases(&one, &other, &partner);
        diff.compare_capabilities(&one, &other);
        let count = |dut_run: &DutRun| {
            let pages = usize::from(dut_run.pages.is_some());
            let CapabilityChange { lost, gained } = &dut_run.capabilities;
            let capabilities = lost.len() + gained.len();
            dut_run.answers.differences.len() + dut_run.tools.len() + pages + capabilities
        };
        diff.differences =
            diff.cases.len() + diff.unpaired.len() + diff.dut_runs.iter().map(count).sum::<usize>();
        Ok(diff)
    }

    fn missing(&mut self, transport: &str, which: &str) {
        self.unpaired.push(format!("the {which} run has nothing over {transport}"));
    }

    /// Devices that are run in different ways, or over different transports, show different things at their start.
    fn compare_capabilities(&mut self, one: &Read, other: &Read) {
        for dut_run in &mut self.dut_runs {
            let (Some((before, look)), Some((now, and))) =
                (one.shown_over(&dut_run.first), other.shown_over(&dut_run.second))
            else {
                continue;
            };
            let mut look = look.and(and);
            look.start &= !self.targets_differ && dut_run.first == dut_run.second;
            dut_run.capabilities = CapabilityChange::of_runs(look, before, now);
            for name in &dut_run.capabilities.lost {
                let cases = other.record.cases.iter();
                let cases = cases.filter(|case| case.transport == dut_run.second);
                let cases = capabilities::not_tried_in(name, cases);
                dut_run.not_tried.insert(name.clone(), cases);
            }
        }
    }

    fn compare_cases(&mut self, one: &Read, other: &Read, partner: &dyn Fn(&str) -> String) {
        let mut only_first = Vec::new();
        let mut met: BTreeSet<(&str, &str)> = BTreeSet::new();
        for ours in &one.record.cases {
            let transport = partner(&ours.transport);
            let same = |case: &&CaseReport| case.case == ours.case && case.transport == transport;
            match other.record.cases.iter().find(same) {
                Some(theirs) => {
                    self.compared += 1;
                    met.insert((&theirs.transport, &theirs.case));
                    self.compare_case(ours, theirs);
                }
                // That the other run lacks a transport is told once.
                None if one.has(&ours.transport) && !other.has(&transport) => {}
                None => only_first.push(&*ours.case),
            }
        }
        let theirs = other.record.cases.iter();
        let only_second: Vec<&str> = theirs
            .filter(|case| !met.contains(&(&*case.transport, &*case.case)))
            .filter(|case| {
                let paired = self.dut_runs.iter().any(|dut_run| dut_run.second == case.transport);
                paired || !other.has(&case.transport)
            })
            .map(|case| &*case.case)
            .collect();
        for (which, names) in [("first", only_first), ("second", only_second)] {
            if !names.is_empty() {
                let names = names.join(", ");
                self.unpaired.push(format!("only the {which} run has {names}"));
            }
        }
    }

    fn compare_case(&mut self, ours: &CaseReport, theirs: &CaseReport) {
        let none = Verdict::NotApplicable;
        if self.targets_differ && (ours.verdict == none) != (theirs.verdict == none) {
            let side = if ours.verdict == none { ours } else { theirs };
            self.not_observed.push(NotObserved {
                case: side.case.clone(),
                dut: side.dut.clone(),
                reason: side.reason.clone().unwrap_or_default(),
            });
            return;
        }
        let (gone, new) = (missing(ours, theirs), missing(theirs, ours));
        if ours.verdict == theirs.verdict && gone.is_empty() && new.is_empty() {
            return;
        }
        self.cases.push(CaseChange {
            transport: theirs.transport.clone(),
            case: theirs.case.clone(),
            first: ours.verdict,
            second: theirs.verdict,
            reason: theirs.reason.clone(),
            gone,
            new,
            repro: theirs.repro.clone(),
        });
    }
}

/// The findings of a case that another run does not have. What was received may be worded with ids
/// and addresses, so requirement and verdict make a finding the same.
fn missing(of: &CaseReport, in_other: &CaseReport) -> Vec<Found> {
    let same =
        |a: &Finding, b: &Finding| (&a.requirement, a.verdict) == (&b.requirement, b.verdict);
    let mut found: Vec<Found> = Vec::new();
    for finding in &of.findings {
        let known = in_other.findings.iter().any(|other| same(finding, other));
        if !known && found.iter().all(|told| told.requirement != finding.requirement) {
            found.push(Found {
                requirement: finding.requirement.clone(),
                level: finding.level,
                expected: finding.expected.clone(),
                received: finding.received.clone(),
            });
        }
    }
    found
}
