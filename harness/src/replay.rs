//! `mcp-hil replay`: the checks of this program over the transcripts of an earlier run.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::capability::Facts;
use mcp_hil_core::check::{CaseOutcome, Judge, Merged};
use mcp_hil_core::compare::SAME_ANSWERS;
use mcp_hil_core::scenario::Case;
use mcp_hil_core::transcript::{Entry, Mark, PROPERTY, Part, What};

use crate::cli::ReplayArgs;
use crate::event::{CaseReport, Event, Summary};
use crate::plan::{Refusal, read_baseline};
use crate::recording::{Recorded, check_transcripts, read_single};
use crate::report::{Record, Reporters};
use crate::run::{Book, Ruling, Tally, exit_code, same_answers};
use crate::suite::Suite;
use crate::sut::{self, GATEWAY};

/// A run that was read back.
#[derive(Debug)]
pub struct Replay {
    /// The suite, with the rule sets of that run.
    pub suite: Suite,
    record: Record,
    /// What was recorded over each transport.
    lanes: Vec<Recorded>,
    baseline: Option<Baseline>,
    strict: bool,
    folder: String,
}

impl Replay {
    /// Reads the run's folder.
    ///
    /// # Errors
    ///
    /// A missing or damaged file, with its name and line.
    pub fn open(args: &ReplayArgs) -> Result<Self, Refusal> {
        let record = read_single(&args.run)?;
        let mut suite = Suite::load(&record.run.rules, args.scenarios.as_deref())?;
        if record.run.duts.iter().any(|dut| dut.target == GATEWAY) {
            // Devices' cases and requirements are not held against a gateway.
            suite.catalogue = Arc::new(sut::catalogue(&suite.sets)?);
            suite.cases.clear();
        }
        let mut lanes = record
            .run
            .duts
            .iter()
            .map(|dut| Recorded::read(&args.run, dut, record.run.duts.len() > 1))
            .collect::<Result<Vec<_>, _>>()?;
        for lane in &mut lanes {
            lane.read_inputs(&suite.catalogue)?;
        }
        check_transcripts(&record, &args.run)?;
        check_cases(&record, &suite, &lanes)?;
        Ok(Self {
            suite,
            lanes,
            strict: args.strict || record.run.strict,
            record,
            baseline: args.baseline.as_deref().map(read_baseline).transpose()?,
            folder: args.run.display().to_string(),
        })
    }

    /// Judges the transcripts and reports as a run would.
    pub fn run(&self, reporters: &mut Reporters<'_>) -> Summary {
        let started = self.record.run.clone();
        let today: String = started.started.chars().take(10).collect();
        let ruling = Ruling {
            catalogue: &self.suite.catalogue,
            strict: self.strict,
            baseline: self.baseline.as_ref(),
            today: &today,
            firmware: None,
            symbols: None,
        };
        reporters.event(&Event::RunStarted(started));
        let mut lanes = Vec::new();
        for lane in &self.lanes {
            lanes.push((lane, self.judge(lane, &ruling, reporters)));
        }
        let cases: Vec<CaseReport> = lanes
            .iter_mut()
            .flat_map(|(_, (cases, _))| std::mem::take(cases))
            .collect();
        let mut tally = Tally::new(
            ruling,
            !self.record.summary.unexercised.is_empty()
                || !self.record.summary.known_unexercised.is_empty()
                || self.is_whole(&cases),
        );
        cases.iter().for_each(|case| tally.case(case));
        for (lane, (_, facts)) in &lanes {
            if let Some(facts) = facts {
                let firmware = self.firmware(lane);
                tally.device(&lane.dut, &lane.transport, &facts.capabilities, firmware);
            }
        }
        let compared = |case: &&CaseReport| case.case == SAME_ANSWERS;
        if let (Some(case), [first, second]) =
            (self.record.cases.iter().find(compared), &self.lanes[..])
        {
            same_answers([first, second], &case.repro, &mut tally, reporters);
        }
        let recorded = &self.record.summary;
        let mut summary = Summary {
            duts: recorded.duts,
            took_us: recorded.took_us,
            folder: self.folder.clone(),
            bench_error: recorded.bench_error.clone(),
            interrupted: recorded.interrupted,
            ..tally.summary()
        };
        summary.exit = exit_code(&summary);
        reporters.event(&Event::RunFinished(summary.clone()));
        summary
    }

    fn judge(
        &self,
        lane: &Recorded,
        ruling: &Ruling<'_>,
        reporters: &mut Reporters<'_>,
    ) -> (Vec<CaseReport>, Option<Facts>) {
        if lane.target == GATEWAY {
            let (cases, facts) =
                sut::judge_again(&self.record.cases, &lane.entries, ruling, reporters);
            return (cases, Some(facts));
        }
        let scripts: BTreeMap<&str, &Case> = self
            .suite
            .cases
            .iter()
            .map(|case| (&*case.id, case))
            .collect();
        let mut by_case: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in &lane.entries {
            by_case.entry(&entry.case).or_default().push(entry);
        }
        let (mut judge, mut facts) = (Judge::new(), None);
        let mut book = Book::of(self.firmware(lane));
        // The record has the cases in the order in which they ran.
        let recorded = self.record.cases.iter();
        for recorded in recorded.filter(|case| lane.ran(case)) {
            let blank = CaseReport {
                findings: Vec::new(),
                exercised: Vec::new(),
                reason: None,
                known: false,
                ..recorded.clone()
            };
            let Some(entries) = by_case.remove(recorded.case.as_str()) else {
                // It was not carried out: there is nothing to judge again.
                book.add(recorded.clone(), reporters);
                continue;
            };
            let id: Arc<str> = recorded.case.as_str().into();
            judge.begin_case(&id);
            if recorded.case.starts_with(PROPERTY) {
                let outcome = parts(&id, &entries, &lane.inputs, &mut judge, &mut facts);
                book.finish(blank, outcome, ruling, reporters);
                continue;
            }
            let script = match entries.iter().find_map(|entry| lane.inputs.get(&entry.seq)) {
                Some(own) => Some(own),
                None => scripts.get(recorded.case.as_str()).copied(),
            };
            for entry in entries {
                if let What::Mark {
                    mark: Mark::Facts(learned),
                } = &entry.what
                {
                    facts = Some(learned.as_ref().clone());
                }
                judge.observe(entry.clone());
            }
            let known = facts.clone().unwrap_or_default();
            let outcome = judge.end_case(script, &known);
            book.finish(blank, outcome, ruling, reporters);
        }
        if let Some(facts) = &mut facts {
            facts.capabilities.extend(judge.late_capabilities());
        }
        (book.into_cases(), facts)
    }

    /// The version that a device told over a transport.
    fn firmware(&self, lane: &Recorded) -> Option<String> {
        let mut ready = self.record.duts.iter();
        let ready = ready.find(|ready| ready.dut == lane.dut && ready.transport == lane.transport);
        let (_, version) = ready?.server.clone()?;
        Some(version)
    }

    /// Whether the run was one of the whole suite.
    fn is_whole(&self, cases: &[CaseReport]) -> bool {
        if self.lanes.iter().any(|lane| lane.target == GATEWAY) {
            // And the good control before all.
            return cases.len() > sut::table().rows.len();
        }
        self.suite
            .cases
            .iter()
            .all(|case| cases.iter().any(|report| report.case == *case.id))
    }
}

/// Judges the parts of a generated case again.
fn parts(
    id: &Arc<str>,
    entries: &[&Entry],
    inputs: &BTreeMap<u64, Case>,
    judge: &mut Judge,
    facts: &mut Option<Facts>,
) -> CaseOutcome {
    let mut merged = Merged::new(id);
    let mut running: Option<(Part, u64)> = None;
    let mut end = |running: &mut Option<(Part, u64)>, judge: &mut Judge, facts: &Option<Facts>| {
        if let Some((part, seq)) = running.take() {
            let known = facts.clone().unwrap_or_default();
            merged.add(part, judge.end_case(inputs.get(&seq), &known));
        }
    };
    for entry in entries {
        match &entry.what {
            What::Mark {
                mark: Mark::Generated { part, .. },
            } => {
                end(&mut running, judge, facts);
                judge.begin_case(id);
                running = Some((*part, entry.seq));
            }
            What::Mark {
                mark: Mark::Facts(learned),
            } => *facts = Some(learned.as_ref().clone()),
            _ => {}
        }
        judge.observe((*entry).clone());
    }
    end(&mut running, judge, facts);
    merged.into_outcome()
}

/// Refuses a run with a case that is not known here: it would pass unjudged.
fn check_cases(record: &Record, suite: &Suite, lanes: &[Recorded]) -> Result<(), Refusal> {
    let carried_out = |case: &&CaseReport| case.transcript.is_some();
    for case in record.cases.iter().filter(carried_out) {
        let own = |lane: &Recorded| lane.ran(case) && lane.has_input(&case.case);
        let known =
            suite.cases.iter().any(|script| *script.id == *case.case) || lanes.iter().any(own);
        if let (Some(file), false) = (&case.file, known) {
            return Err(Refusal::usage(
                format!(
                    "the run has a case `{}` of `{file}`, which is not here",
                    case.case
                ),
                "name the folder of the run's own scenarios with `--scenarios`",
            ));
        }
    }
    Ok(())
}
