//! `mcp-hil merge`: runs of several machines - shards, devices, transports - joined to one report.
//!
//! Nothing is judged again. What belongs to no single run is worked out anew over all of them: the
//! coverage of requirements, entries of the baseline that no longer fail, the exit code. Runs that do
//! not stand on the same are refused, and so is a set with a hole: a shard that is not there must not
//! pass for one without findings.

mod belong;
mod join;
mod keep;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transcript::BRING_UP;

use mcp_hil_args::MergeArgs;
use mcp_hil_record::Record;
use mcp_hil_record::Reporters;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{Basis, CaseReport, DutInfo, DutReady, Event, RunStarted, Summary};
use mcp_hil_record::names::BOTH;
use mcp_hil_record::names::dut_over;
use mcp_hil_record::read::{check_transcripts, read_record};
use mcp_hil_runner::run::{Demands, Driver, DutRunEnd, RunEnd, VerdictPolicy};
use mcp_hil_runner::suite::Suite;

/// Runs that were read back and belong together.
#[derive(Debug)]
pub struct Merge {
    /// The requirements.
    pub catalogue: Arc<Catalogue>,
    /// The folder of the joined run.
    pub folder: PathBuf,
    parts: Vec<Part>,
    /// Why the bench could not carry out runs of several devices, or some of these.
    bench_errors: Vec<String>,
}

/// One of the runs.
#[derive(Debug)]
struct Part {
    folder: PathBuf,
    record: Record,
    basis: Basis,
    /// Whether it is one of a run of several devices, which tells of its bench.
    is_one_of_several: bool,
}

impl Part {
    /// Reads a run's folder; that of a run of several devices is as many parts. With it comes why the bench could not
    /// carry out one of several devices.
    fn read_all(folder: &Path) -> Result<(Vec<Self>, Option<String>), UserError> {
        let record = read_record(folder)?;
        if record.run.at_once.is_none() {
            return Ok((vec![Self::read(folder, record)?], None));
        }
        let folders = record.run.joined.iter().map(|name| folder.join("runs").join(name));
        let parts = folders.map(|folder| {
            let part = Self::read(&folder, read_record(&folder)?)?;
            Ok(Self { is_one_of_several: true, ..part })
        });
        let error = record.summary.bench_error;
        let error = error.map(|error| format!("{}: {error}", folder.display()));
        Ok((parts.collect::<Result<_, UserError>>()?, error))
    }

    fn read(folder: &Path, record: Record) -> Result<Self, UserError> {
        check_transcripts(&record, folder)?;
        let file = folder.join("report.json");
        if !record.run.joined.is_empty() {
            return Err(UserError::usage(
                format!("`{}` contains runs that are already joined", file.display()),
                "name the folders of the original runs; copies are in its folder `runs`",
            ));
        }
        let Some(basis) = record.run.basis.clone() else {
            return Err(UserError::usage(
                format!(
                    "`{}` does not say what the run is based on: expected a run of a device by {}, \
                     got one of a gateway or by an older program",
                    file.display(),
                    mcp_hil_record::TOOL
                ),
                "run it again with this program",
            ));
        };
        Ok(Self { folder: folder.to_owned(), record, basis, is_one_of_several: false })
    }

    /// Its folder, in words.
    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    /// Whether it was cut short, by the user or by the bench.
    fn is_cut_short(&self) -> bool {
        let summary = &self.record.summary;
        summary.interrupted || summary.stopped.is_some() || summary.bench_error.is_some()
    }
}

impl Merge {
    /// Reads the runs, and copies them into the folder of the joined one.
    ///
    /// # Errors
    ///
    /// A missing or damaged file, with its name; runs that do not belong together, with both folders
    /// and what differs; a folder that is there already.
    pub fn open(args: &MergeArgs) -> Result<Self, UserError> {
        let (mut parts, mut bench_errors) = (Vec::new(), Vec::new());
        for folder in &args.runs {
            let (read, error) = Part::read_all(folder)?;
            parts.extend(read);
            bench_errors.extend(error);
        }
        let Some(first) = parts.first() else {
            return Err(UserError::nothing_ran("no runs to join", "name the folders of runs"));
        };
        let catalogue = Suite::load(&first.record.run.rules, None)?.catalogue;
        belong::check(&parts, &catalogue)?;
        keep::copy(&mut parts, &args.out)?;
        Ok(Self { catalogue, folder: args.out.clone(), parts, bench_errors })
    }

    /// Reports the joined run as if it had been one.
    pub fn run(&self, reporters: &mut Reporters<'_>) -> Summary {
        let started = self.started();
        let today: String = started.started.chars().take(10).collect();
        let basis = &self.parts[0].basis;
        let policy = VerdictPolicy {
            catalogue: &self.catalogue,
            strict: started.strict,
            baseline: basis.baseline.as_ref(),
            today: &today,
            transport: None,
            firmware: None,
            symbols: None,
        };
        let demands = Demands {
            whole_suite: basis.whole_suite,
            is_part: false,
            flaky_fails: self.parts.iter().any(|part| part.record.summary.flaky_fails),
            must_show: !basis.selected.is_empty(),
        };
        let duts = started.duts.clone();
        let folder = self.folder.display().to_string();
        let mut driver = Driver::begin(started, policy, demands, folder, reporters);
        for dut in &duts {
            let ready = self.ready(dut);
            let server = ready.as_ref().and_then(|ready| ready.server.as_ref());
            let firmware = server.map(|(_, version)| version.clone());
            if let Some(ready) = ready {
                reporters.event(&Event::DutReady(Box::new(ready)));
            }
            let cases = self.cases(&dut.name, &dut.transport);
            let (facts, left_out) = (self.facts(dut), self.left_out(dut));
            let end = DutRunEnd { cases, facts, firmware, left_out, ..Default::default() };
            driver.dut_run(&dut.name, &dut.transport, end);
        }
        let names: BTreeSet<&str> = duts.iter().map(|dut| &*dut.name).collect();
        for name in &names {
            driver.compared(self.cases(name, BOTH));
        }
        for case in driver.cases() {
            reporters.event(&Event::CaseFinished(case.clone()));
        }
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for text in self.parts.iter().flat_map(|part| &part.record.notices) {
            if told.insert(text) {
                reporters.event(&Event::Notice { text: text.clone() });
            }
        }
        let summaries = || self.parts.iter().map(|part| &part.record.summary);
        driver.end = RunEnd {
            took_us: summaries().map(|one| one.took_us).max(),
            interrupted: summaries().any(|one| one.interrupted),
            stopped: summaries().find_map(|one| one.stopped.clone()),
            bench_error: self.bench_errors(),
            tried: summaries().flat_map(|one| one.causes.clone()).collect(),
            answers: None,
            apart: Vec::new(),
        };
        driver.finish(reporters)
    }

    /// What a device showed that it can do, in any of the runs.
    fn facts(&self, dut: &DutInfo) -> Option<Facts> {
        let dut_run = dut_over(&dut.name, &dut.transport);
        let told = self.parts.iter();
        let mut told = told.filter_map(|part| part.record.summary.capabilities.get(&dut_run));
        let first = told.next()?.clone();
        let capabilities = told.fold(first, |all, more| &all | more);
        Some(Facts { capabilities, ..Facts::default() })
    }

    /// What there was no time for, in any of the runs.
    fn left_out(&self, dut: &DutInfo) -> Vec<String> {
        let dut_run = dut_over(&dut.name, &dut.transport);
        let told = self.parts.iter().filter_map(|part| part.record.summary.left_out.get(&dut_run));
        told.flatten().cloned().collect()
    }

    /// What was to run, all parts together.
    fn started(&self) -> RunStarted {
        let first = &self.parts[0];
        let mut duts: Vec<DutInfo> = Vec::new();
        for dut in self.parts.iter().flat_map(|part| &part.record.run.duts) {
            let same = |known: &DutInfo| known.name == dut.name;
            if duts.iter().any(|known| same(known) && known.transport == dut.transport) {
                continue;
            }
            // The transports of a device stand together.
            let after = duts.iter().rposition(same).map(|at| at + 1);
            duts.insert(after.unwrap_or(duts.len()), dut.clone());
        }
        let started = self.parts.iter().map(|part| &part.record.run.started);
        let names: BTreeSet<&str> = duts.iter().map(|dut| &*dut.name).collect();
        let compared = names.iter().filter(|name| !self.cases(name, BOTH).is_empty());
        let run = self.folder.file_name().unwrap_or_default();
        RunStarted {
            run: run.to_string_lossy().into_owned(),
            started: started.min().cloned().unwrap_or_default(),
            // The cases of the selection and the two around them, as in a run.
            cases: (first.basis.selected.len() + 2) * duts.len() + compared.count(),
            basis: Some(Basis { shard: None, firmware: None, ..first.basis.clone() }),
            joined: self.parts.iter().map(|part| part.record.run.run.clone()).collect(),
            duts,
            ..first.record.run.clone()
        }
    }

    /// How a device showed itself first.
    fn ready(&self, dut: &DutInfo) -> Option<DutReady> {
        let mut all = self.parts.iter().flat_map(|part| &part.record.duts);
        let of = |ready: &&DutReady| (&ready.dut, &ready.transport) == (&dut.name, &dut.transport);
        all.find(of).cloned()
    }

    /// The reports of a device over one transport, in the order in which one run would have had them.
    fn cases(&self, dut: &str, transport: &str) -> Vec<CaseReport> {
        let all = self.parts.iter().flat_map(|part| &part.record.cases);
        let own = all.filter(|case| case.dut == dut && case.transport == transport);
        let order = &self.parts[0].basis.selected;
        join::join(own, |case| match order.iter().position(|id| id == case) {
            Some(at) => at + 1,
            None if case == BRING_UP => 0,
            None => usize::MAX,
        })
    }

    /// Why the bench could not carry out some of the runs.
    fn bench_errors(&self) -> Option<String> {
        let alone = self.parts.iter().filter(|part| !part.is_one_of_several);
        let told = alone.filter_map(|part| {
            let error = part.record.summary.bench_error.as_ref()?;
            Some(format!("{}: {error}", part.name()))
        });
        let told: Vec<String> = told.chain(self.bench_errors.iter().cloned()).collect();
        (!told.is_empty()).then(|| told.join("\n\n"))
    }
}
