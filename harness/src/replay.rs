//! `mcp-hil replay`: the checks of this program over the transcripts of an earlier run.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::capability::Facts;
use mcp_hil_core::transcript::{Entry, Mark, PROPERTY, Part, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_judge::check::{CaseOutcome, Judge, Merged};
use mcp_hil_judge::compare::SAME_ANSWERS;
use mcp_hil_scenario::Case;

use mcp_hil_args::ReplayArgs;
use mcp_hil_gateway::suite;
use mcp_hil_record::Record;
use mcp_hil_record::Reporters;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{CaseReport, Summary};
use mcp_hil_record::names::{GATEWAY, dut_over};
use mcp_hil_record::read::{Extent, Recorded, check_transcripts, read_single_or_unfinished};
use mcp_hil_runner::plan::read_baseline;
use mcp_hil_runner::run::{
    CaseReports, Demands, Driver, DutRunEnd, RunEnd, VerdictPolicy, is_retry,
};
use mcp_hil_runner::suite::Suite;

/// A run that was read back.
#[derive(Debug)]
pub struct Replay {
    /// The suite, with the rule sets of that run.
    pub suite: Suite,
    record: Record,
    /// What was recorded over each transport.
    dut_runs: Vec<Recorded>,
    baseline: Option<Baseline>,
    strict: bool,
    /// How far the run came, where its process was killed.
    unfinished: Option<String>,
    folder: String,
}

impl Replay {
    /// Reads the run's folder.
    ///
    /// # Errors
    ///
    /// A missing or damaged file, with its name and line.
    pub fn open(args: &ReplayArgs) -> Result<Self, UserError> {
        let (record, unfinished) = read_single_or_unfinished(&args.run)?;
        let mut suite = Suite::load(&record.run.rules, args.scenarios.as_deref())?;
        if record.run.duts.iter().any(|dut| dut.target == GATEWAY) {
            // Devices' cases and requirements are not held against a gateway.
            suite.catalogue = Arc::new(suite::catalogue(&suite.sets)?);
            suite.cases.clear();
        }
        let mut dut_runs = record
            .run
            .duts
            .iter()
            .map(|dut| {
                let extent = match unfinished {
                    Some(_) => Extent::MayBeCut,
                    None => Extent::Whole,
                };
                Recorded::read_as(&args.run, dut, record.run.duts.len() > 1, extent)
            })
            .collect::<Result<Vec<_>, _>>()?;
        for dut_run in &mut dut_runs {
            dut_run.read_inputs(&suite.catalogue)?;
        }
        if unfinished.is_none() {
            check_transcripts(&record, &args.run)?;
        }
        check_cases(&record, &suite, &dut_runs)?;
        Ok(Self {
            suite,
            dut_runs,
            strict: args.strict || record.run.strict,
            unfinished,
            record,
            baseline: args.baseline.as_deref().map(read_baseline).transpose()?,
            folder: args.run.display().to_string(),
        })
    }

    /// Judges the transcripts and reports as a run would.
    pub fn run(&self, reporters: &mut Reporters<'_>) -> Summary {
        let started = self.record.run.clone();
        let today: String = started.started.chars().take(10).collect();
        let policy = VerdictPolicy {
            catalogue: &self.suite.catalogue,
            strict: self.strict,
            baseline: self.baseline.as_ref(),
            today: &today,
            transport: None,
            firmware: None,
            symbols: None,
        };
        let recorded = &self.record.summary;
        let whole_suite = !recorded.unexercised.is_empty()
            || !recorded.known_unexercised.is_empty()
            || self.is_whole();
        let flaky_fails = recorded.flaky_fails;
        let demands = Demands { whole_suite, flaky_fails, ..Demands::default() };
        let mut driver = Driver::begin(started, policy, demands, self.folder.clone(), reporters);
        for dut_run in &self.dut_runs {
            // How long it was waited is no matter of judgement.
            let name = dut_over(&dut_run.dut, &dut_run.transport);
            let timing = recorded.timing.get(&name);
            let end = DutRunEnd {
                firmware: self.firmware(dut_run),
                timing: timing.cloned().unwrap_or_default(),
                left_out: recorded.left_out.get(&name).cloned().unwrap_or_default(),
                in_flight: recorded.in_flight.get(&name).copied().unwrap_or_default(),
                round_trips: recorded.round_trips.get(&name).copied().unwrap_or_default(),
                unanswered: recorded.unanswered.get(&name).copied().unwrap_or_default(),
                ..self.judge(dut_run, &policy, reporters)
            };
            driver.dut_run(&dut_run.dut, &dut_run.transport, end);
        }
        let compared = |case: &&CaseReport| case.case == SAME_ANSWERS;
        if let (Some(case), [first, second]) =
            (self.record.cases.iter().find(compared), &self.dut_runs[..])
        {
            driver.compare([first, second], &case.repro, reporters);
        }
        driver.end = RunEnd {
            took_us: Some(recorded.took_us),
            bench_error: self.unfinished.clone().or_else(|| recorded.bench_error.clone()),
            interrupted: recorded.interrupted,
            stopped: recorded.stopped.clone(),
            tried: recorded.causes.clone(),
            answers: None,
            apart: Vec::new(),
        };
        driver.finish(reporters)
    }

    /// What follows from the entries of a device alone.
    fn judge(
        &self,
        dut_run: &Recorded,
        policy: &VerdictPolicy<'_>,
        reporters: &mut Reporters<'_>,
    ) -> DutRunEnd {
        if dut_run.target == GATEWAY {
            let (cases, facts) =
                suite::judge_again(&self.record.cases, &dut_run.entries, policy, reporters);
            return DutRunEnd { cases, facts: Some(facts), ..DutRunEnd::default() };
        }
        let scripts: BTreeMap<&str, &Case> =
            self.suite.cases.iter().map(|case| (&*case.id, case)).collect();
        let mut by_case: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in &dut_run.entries {
            by_case.entry(&entry.case).or_default().push(entry);
        }
        let (mut judge, mut facts) = (Judge::new(), None);
        let mut case_reports =
            CaseReports::of(Transport::named(&dut_run.transport), self.firmware(dut_run));
        // The record has the cases in the order in which they ran.
        let recorded = self.record.cases.iter();
        for recorded in recorded.filter(|case| dut_run.ran(case)) {
            let blank = CaseReport {
                findings: Vec::new(),
                exercised: Vec::new(),
                reason: None,
                known: false,
                attempts: None,
                flaky: false,
                ..recorded.clone()
            };
            let whole = by_case.remove(recorded.case.as_str());
            let whole = whole.filter(|_| !dut_run.cut.contains(&recorded.case));
            let Some(entries) = whole else {
                // It was not carried out, or its transcript is not whole: there is nothing to judge again.
                case_reports.add(recorded.clone(), reporters);
                continue;
            };
            let id: Arc<str> = recorded.case.as_str().into();
            judge.begin_case(&id);
            if recorded.case.starts_with(PROPERTY) {
                let outcome = parts(&id, &entries, &dut_run.inputs, &mut judge, &mut facts);
                case_reports.finish(blank, outcome, policy, reporters);
                continue;
            }
            let script = match entries.iter().find_map(|entry| dut_run.inputs.get(&entry.seq)) {
                Some(own) => Some(own),
                None => scripts.get(recorded.case.as_str()).copied(),
            };
            let (mut before, mut in_flight) = (None, None::<CaseOutcome>);
            for entry in entries {
                if let What::Mark { mark: Mark::Facts(learned) } = &entry.what {
                    facts = Some(learned.as_ref().clone());
                }
                if matches!(&entry.what, What::Mark { mark: Mark::Alone }) {
                    let known = facts.clone().unwrap_or_default();
                    in_flight = Some(judge.end_case(script, &known));
                    judge.begin_case(&id);
                }
                if is_retry(entry) {
                    let known = facts.clone().unwrap_or_default();
                    let outcome = after(in_flight.take(), judge.end_case(script, &known), &id);
                    before = Some(case_reports.attempt(&blank, before, outcome, policy, reporters));
                    judge.observe(entry.clone());
                    judge.begin_case(&id);
                    continue;
                }
                judge.observe(entry.clone());
            }
            let known = facts.clone().unwrap_or_default();
            let outcome = after(in_flight, judge.end_case(script, &known), &id);
            case_reports.finish_after(before, blank, outcome, policy, reporters);
        }
        if let Some(facts) = &mut facts {
            facts.capabilities.extend(judge.late_capabilities());
        }
        let (memory, cases) = (judge.free_memory(), case_reports.into_cases());
        DutRunEnd { cases, facts, memory, ..DutRunEnd::default() }
    }

    /// The version that a device told over a transport.
    fn firmware(&self, dut_run: &Recorded) -> Option<String> {
        let mut ready = self.record.duts.iter();
        let ready =
            ready.find(|ready| ready.dut == dut_run.dut && ready.transport == dut_run.transport);
        let (_, version) = ready?.server.clone()?;
        Some(version)
    }

    /// Whether the run was one of the whole suite.
    fn is_whole(&self) -> bool {
        let cases = &self.record.cases;
        if self.dut_runs.iter().any(|dut_run| dut_run.target == GATEWAY) {
            // And the good control before all.
            return cases.len() > suite::table().rows.len();
        }
        self.suite.cases.iter().all(|case| cases.iter().any(|report| report.case == *case.id))
    }
}

/// What a case comes to after its messages were in flight together, if they were and left a doubt.
fn after(in_flight: Option<CaseOutcome>, outcome: CaseOutcome, id: &str) -> CaseOutcome {
    match in_flight {
        Some(first) => first.tried_alone(id, outcome),
        None => outcome,
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
            What::Mark { mark: Mark::Generated { part, .. } } => {
                end(&mut running, judge, facts);
                judge.begin_case(id);
                running = Some((*part, entry.seq));
            }
            What::Mark { mark: Mark::Facts(learned) } => *facts = Some(learned.as_ref().clone()),
            _ => {}
        }
        judge.observe((*entry).clone());
    }
    end(&mut running, judge, facts);
    merged.into_outcome()
}

/// Refuses a run with a case that is not known here: it would pass unjudged.
fn check_cases(record: &Record, suite: &Suite, dut_runs: &[Recorded]) -> Result<(), UserError> {
    let carried_out = |case: &&CaseReport| case.transcript.is_some();
    for case in record.cases.iter().filter(carried_out) {
        let own = |dut_run: &Recorded| dut_run.ran(case) && dut_run.has_input(&case.case);
        let known =
            suite.cases.iter().any(|script| *script.id == *case.case) || dut_runs.iter().any(own);
        if let (Some(file), false) = (&case.file, known) {
            return Err(UserError::usage(
                format!("the run has a case `{}` from `{file}`, which was not found", case.case),
                "name the folder of the run's scenarios with `--scenarios`",
            ));
        }
    }
    Ok(())
}
