//! Runs of a device, as far as a baseline speaks of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mcp_hil_core::baseline::{Baseline, Known, Seen, SeenCase, SeenDevice};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Verdict;

use mcp_hil_record::Record;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::read::read_record;
use mcp_hil_runner::plan::now;
use mcp_hil_runner::run::failing;

/// Runs of one device, one or more.
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    /// What all of them have seen.
    pub(super) seen: Seen,
    pub(super) today: String,
}

/// One of them.
pub(super) struct Run {
    pub(super) record: Record,
    pub(super) seen: Seen,
}

impl Runs {
    /// Reads the runs in these folders.
    ///
    /// # Errors
    ///
    /// A run that cannot be read, was cut short, or is named twice: it would count as two.
    pub(super) fn read(folders: &[PathBuf]) -> Result<Self, UserError> {
        let runs: Vec<Run> =
            folders.iter().map(|folder| Run::read(folder)).collect::<Result<_, _>>()?;
        let mut places = BTreeSet::new();
        for folder in folders {
            // `latest` is a link, and two runs may have begun in the same second.
            let place = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            if !places.insert(place) {
                return Err(UserError::usage(
                    format!("the run in `{}` is given twice", folder.display()),
                    "the runs are counted to see how often a failure occurs; name each run once",
                ));
            }
        }
        let all = || runs.iter().map(|run| &run.seen);
        let seen = Seen {
            cases: all().flat_map(|seen| seen.cases.clone()).collect(),
            devices: all().flat_map(|seen| seen.devices.clone()).collect(),
            unexercised: all().flat_map(|seen| seen.unexercised.clone()).collect(),
            // Of a part of the suite it cannot be told here that it was one; entries for every case
            // are then dropped only when what they name was put to the test.
            whole_suite: true,
            is_part: false,
        };
        Ok(Self { runs, seen, today: now().chars().take(10).collect() })
    }

    /// Whether something fails, or is left unexercised, that an entry is about, whatever its day and
    /// firmware.
    pub(super) fn still_fails(&self, known: &Known) -> bool {
        if known.unexercised {
            let slug = known.requirement.as_deref().unwrap_or_default();
            return self.seen.unexercised.contains(slug);
        }
        let mut failures = self.seen.cases.iter().flat_map(SeenCase::failures);
        failures.any(|failing| known.is_about(&failing))
    }

    /// Entries that hold in some of the runs and not in others that put them to the test, with words
    /// about it.
    pub(super) fn sometimes(&self, baseline: &Baseline) -> Vec<(usize, String)> {
        let mut missed: BTreeMap<usize, usize> = BTreeMap::new();
        for run in &self.runs {
            for (at, _) in baseline.stale(&run.seen, &self.today) {
                *missed.entry(at).or_default() += 1;
            }
        }
        for (at, _) in baseline.stale(&self.seen, &self.today) {
            missed.remove(&at);
        }
        let missed = missed.into_iter();
        missed
            .map(|(at, times)| {
                let why = format!(
                    "it does not fail in {times} of {} runs; `intermittent = true` allows that",
                    self.runs.len()
                );
                (at, why)
            })
            .collect()
    }

    /// Cases of which nothing can be listed, each once.
    pub(super) fn spoilt(&self) -> BTreeSet<&str> {
        let spoilt =
            |case: &&CaseReport| matches!(case.verdict, Verdict::Inconclusive | Verdict::Error);
        let cases = self.runs.iter().flat_map(|run| &run.record.cases);
        cases.filter(spoilt).map(|case| &*case.case).collect()
    }

    /// The comment at the head of a new file.
    pub(super) fn heading(&self) -> String {
        let duts = self.runs.iter().flat_map(|run| &run.record.duts);
        let mut told: Vec<String> = Vec::new();
        for (name, version) in duts.filter_map(|ready| ready.server.as_ref()) {
            let device = format!("{name} {version}");
            if !told.contains(&device) {
                told.push(device);
            }
        }
        let device = match &told[..] {
            [] => String::new(),
            told => format!(", of {}", told.join(" and ")),
        };
        let names: Vec<&str> = self.runs.iter().map(|run| &*run.record.run.run).collect();
        let of = match &names[..] {
            [name] => format!("run {name}"),
            names => format!("runs {}", names.join(", ")),
        };
        format!("# Known failures{device}, as of the {of}.\n")
    }
}

impl Run {
    fn read(folder: &Path) -> Result<Self, UserError> {
        let record = read_record(folder)?;
        let cut = record.summary.interrupted || record.summary.bench_error.is_some();
        if cut || record.cases.is_empty() {
            return Err(UserError::usage(
                format!("the run in `{}` was interrupted", folder.display()),
                "an incomplete run does not show all failures; run it again",
            ));
        }
        let mut told = BTreeMap::new();
        for ready in &record.duts {
            let version = ready.server.as_ref().map(|(_, version)| version.clone());
            told.insert((&*ready.dut, &*ready.transport), version);
        }
        let any = told.values().flatten().next().cloned();
        let carried_out = |case: &&CaseReport| case.verdict != Verdict::NotApplicable;
        let cases = record.cases.iter().filter(carried_out).map(|case| SeenCase {
            case: case.case.clone(),
            failing: failing(case).map(str::to_owned).collect(),
            exercised: case.exercised.iter().cloned().collect(),
            transport: Transport::named(&case.transport),
            // A comparison of transports stands on both.
            firmware: told
                .get(&(&*case.dut, &*case.transport))
                .cloned()
                .unwrap_or_else(|| any.clone()),
        });
        let devices = told.iter().map(|((_, transport), firmware)| SeenDevice {
            transport: Transport::named(transport),
            firmware: firmware.clone(),
        });
        let seen = Seen {
            cases: cases.collect(),
            devices: devices.collect(),
            unexercised: unexercised(&record),
            whole_suite: true,
            is_part: false,
        };
        Ok(Self { record, seen })
    }
}

/// What a run of the whole suite left unexercised. The summary names devices behind some of them.
fn unexercised(record: &Record) -> BTreeSet<String> {
    let summary = &record.summary;
    let slugs = summary.unexercised.iter().chain(&summary.known_unexercised);
    slugs.filter_map(|name| name.split(' ').next()).map(str::to_owned).collect()
}
