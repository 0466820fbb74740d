//! `mcp-hil diff`: what became of a device between two runs, or where an emulator disagrees.
//!
//! Nothing is judged again: verdicts and findings are those of the runs. Answers and tools are read
//! off the transcripts. How long answers took is told and is no difference: it hangs on the machine.

mod show;

use std::collections::BTreeSet;
use std::path::Path;

use mcp_hil_core::catalogue::Level;
use mcp_hil_core::compare::answers::{Answers, answers};
use mcp_hil_core::compare::tools::{ToolChange, moved_pages, tools};
use mcp_hil_core::verdict::{Finding, Verdict};
use serde::Serialize;

use crate::cli::{DiffArgs, Format};
use crate::event::{CaseReport, DutInfo};
use crate::exit;
use crate::plan::Refusal;
use crate::recording::{Recorded, check_transcripts, read_single};
use crate::report::Record;

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
    pub lanes: Vec<Lane>,
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
    /// Why.
    pub reason: String,
}

/// What was recorded over one transport in both runs.
#[derive(Debug, Serialize)]
pub struct Lane {
    /// The transport in the first run.
    pub first: String,
    /// The transport in the second run.
    pub second: String,
    /// The answers.
    pub answers: Answers,
    /// The tools.
    pub tools: Vec<ToolChange>,
    /// How the pages of the same tools are cut, where that differs between devices that run in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
}

/// Compares two runs: the text to print, and the exit code.
///
/// # Errors
///
/// A folder that is not one of a run, or is damaged; the file is named.
pub fn diff(args: &DiffArgs) -> Result<(String, u8), Refusal> {
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
    lanes: Vec<Recorded>,
}

impl Read {
    fn run(folder: &Path) -> Result<Self, Refusal> {
        let record = read_single(folder)?;
        check_transcripts(&record, folder)?;
        let several = record.run.duts.len() > 1;
        let duts = record.run.duts.iter();
        let lanes = duts.map(|dut| Recorded::read(folder, dut, several));
        Ok(Self {
            lanes: lanes.collect::<Result<_, _>>()?,
            record,
        })
    }

    fn shown(&self, folder: &Path) -> RunShown {
        RunShown {
            folder: folder.display().to_string(),
            duts: self.record.run.duts.clone(),
            server: self.record.duts.iter().find_map(|dut| dut.server.clone()),
        }
    }

    fn has(&self, transport: &str) -> bool {
        self.lanes.iter().any(|lane| lane.transport == transport)
    }
}

impl Diff {
    /// Compares the runs in two folders.
    ///
    /// # Errors
    ///
    /// As for [`diff`].
    pub fn of(first: &Path, second: &Path) -> Result<Self, Refusal> {
        let (one, other) = (Read::run(first)?, Read::run(second)?);
        let targets = |run: &Read| -> BTreeSet<String> {
            run.lanes.iter().map(|lane| lane.target.clone()).collect()
        };
        let mut diff = Self {
            first: one.shown(first),
            second: other.shown(second),
            targets_differ: targets(&one) != targets(&other),
            cases: Vec::new(),
            not_observed: Vec::new(),
            unpaired: Vec::new(),
            lanes: Vec::new(),
            compared: 0,
            differences: 0,
        };
        // Two runs over one transport each are compared whatever these are.
        let across = match (&one.lanes[..], &other.lanes[..]) {
            ([a], [b]) if a.transport != b.transport => Some((&*a.transport, &*b.transport)),
            _ => None,
        };
        let partner = |transport: &str| match across {
            Some((ours, theirs)) if ours == transport => theirs.to_owned(),
            _ => transport.to_owned(),
        };
        for lane in &one.lanes {
            let name = partner(&lane.transport);
            match other.lanes.iter().find(|theirs| theirs.transport == name) {
                Some(theirs) => diff.lanes.push(Lane {
                    first: lane.transport.clone(),
                    second: name,
                    answers: answers(&lane.entries, &theirs.entries, diff.targets_differ),
                    tools: tools(&lane.entries, &theirs.entries),
                    // What is around a message differs with the transport, and counts for its length.
                    pages: moved_pages(&lane.entries, &theirs.entries)
                        .filter(|_| across.is_none() && !diff.targets_differ),
                }),
                None => diff.missing(&name, "second"),
            }
        }
        for lane in &other.lanes {
            if across.is_none() && !one.has(&lane.transport) {
                diff.missing(&lane.transport, "first");
            }
        }
        diff.compare_cases(&one, &other, &partner);
        let count = |lane: &Lane| {
            let pages = usize::from(lane.pages.is_some());
            lane.answers.differences.len() + lane.tools.len() + pages
        };
        diff.differences =
            diff.cases.len() + diff.unpaired.len() + diff.lanes.iter().map(count).sum::<usize>();
        Ok(diff)
    }

    fn missing(&mut self, transport: &str, which: &str) {
        self.unpaired
            .push(format!("the {which} run has nothing over {transport}"));
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
                let paired = self.lanes.iter().any(|lane| lane.second == case.transport);
                paired || !other.has(&case.transport)
            })
            .map(|case| &*case.case)
            .collect();
        for (which, names) in [("first", only_first), ("second", only_second)] {
            if !names.is_empty() {
                let names = names.join(", ");
                self.unpaired
                    .push(format!("only the {which} run has {names}"));
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
        if !known
            && found
                .iter()
                .all(|told| told.requirement != finding.requirement)
        {
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
