//! What every run says, whoever carries out its cases: that it begins, and what it comes to.
//!
//! `run`, the Rust test API, tests of gateways, `merge` and `replay` differ in where their cases come from. Each
//! tells the driver what they came to; the first event, the last one and the exit code are made here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_core::verdict::Verdict;
use mcp_hil_record::Reporters;
use mcp_hil_record::answers::Answers;
use mcp_hil_record::cause::{Cause, causes};
use mcp_hil_record::event::{CaseReport, CoveredBy, Event, RunStarted, Summary};
use mcp_hil_record::exit;
use mcp_hil_record::read::Recorded;

use super::RunError;
use super::compare::same_answers;
use super::dut_run::{DutRunEnd, micros};
use super::report::VerdictPolicy;
use super::summary::Tally;

/// What a run is held to as a whole, beside what each of its cases comes to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demands {
    /// Every requirement must be exercised: it is a run of the whole suite.
    pub whole_suite: bool,
    /// The rest of it is carried out elsewhere: what another part may show is not missed.
    pub is_part: bool,
    /// Flaky cases make it not conforming.
    pub flaky_fails: bool,
    /// Something of its selection must be carried out on each device: without that, a green run shows nothing.
    pub must_show: bool,
}

/// How a run ended, apart from what its cases come to.
#[derive(Debug, Default)]
pub struct RunEnd {
    /// How long it took, in microseconds; `None` for the time since the driver was made.
    pub took_us: Option<u64>,
    /// Whether it was cut short by the user.
    pub interrupted: bool,
    /// Why it stopped by itself before its end.
    pub stopped: Option<String>,
    /// Why the bench could not carry it out.
    pub bench_error: Option<String>,
    /// What is wrong, as far as the repro commands of that were tried.
    pub tried: Vec<Cause>,
    /// How the answers compare with the reviewed ones; `None` where they were not compared.
    pub answers: Option<Answers>,
    /// What each of several devices came to by itself, where no baseline is that of all: each says what it lacks.
    pub apart: Vec<(String, Summary)>,
}

/// A run that has begun.
pub struct Driver<'a> {
    /// How it ends, as far as is known.
    pub end: RunEnd,
    tally: Tally<'a>,
    cases: Vec<CaseReport>,
    must_show: bool,
    flaky_fails: bool,
    /// The devices that it has.
    duts: BTreeSet<String>,
    folder: String,
    began: Instant,
}

impl<'a> Driver<'a> {
    /// Says that a run begins. `folder` has its files.
    pub fn begin(
        started: RunStarted,
        policy: VerdictPolicy<'a>,
        demands: Demands,
        folder: String,
        reporters: &mut Reporters<'_>,
    ) -> Self {
        let began = Instant::now();
        let duts = started.duts.iter().map(|dut| dut.name.clone()).collect();
        reporters.event(&Event::RunStarted(started));
        let tally = match demands.is_part {
            true => Tally::of_part(policy),
            false => Tally::new(policy, demands.whole_suite),
        };
        let (end, cases) = (RunEnd::default(), Vec::new());
        let Demands { must_show, flaky_fails, .. } = demands;
        Self { end, tally, cases, must_show, flaky_fails, duts, folder, began }
    }

    /// Takes in what one device came to over one transport. Why that could not be carried out is returned,
    /// and told with the summary.
    pub fn dut_run(&mut self, dut: &str, transport: &str, end: DutRunEnd) -> Option<RunError> {
        if let Some(facts) = &end.facts {
            self.tally.device(dut, transport, &facts.capabilities, end.firmware);
        }
        self.tally.timing(dut, transport, end.timing);
        self.tally.round_trips(dut, transport, end.round_trips);
        self.tally.in_flight(dut, transport, end.in_flight);
        self.tally.unanswered(dut, transport, end.unanswered);
        self.tally.memory(dut, transport, end.memory);
        self.tally.left_out(dut, transport, end.left_out);
        end.cases.into_iter().for_each(|case| self.case(case));
        self.end.interrupted |= end.interrupted;
        if let Some(error) = &end.error {
            self.end.bench_error = Some(error.to_string());
        }
        end.error
    }

    /// Takes in a case that is reported already.
    fn case(&mut self, case: CaseReport) {
        self.tally.case(&case);
        self.cases.push(case);
    }

    /// Compares what was recorded of a device over two transports; that is a case of its own.
    pub fn compare(&mut self, both: [&Recorded; 2], repro: &str, reporters: &mut Reporters<'_>) {
        let (policy, firmware) = (self.tally.policy(), self.tally.firmware());
        let report = same_answers(both, repro, &policy, firmware, reporters);
        self.compared(vec![report]);
    }

    /// Takes in comparisons of transports that are reported already.
    pub fn compared(&mut self, cases: Vec<CaseReport>) {
        for case in cases {
            self.tally.compared(&case.dut);
            self.case(case);
        }
    }

    /// The cases until now.
    pub fn cases(&self) -> &[CaseReport] {
        &self.cases
    }

    /// What each device (`dut/transport`) showed that it can do.
    pub fn capabilities(&self) -> &BTreeMap<String, BTreeSet<String>> {
        self.tally.capabilities()
    }

    /// Whether there was no time for some of the cases.
    pub fn has_left_out(&self) -> bool {
        self.tally.has_left_out()
    }

    /// Whether nothing has cut it short.
    pub fn is_complete(&self) -> bool {
        self.end.bench_error.is_none() && !self.end.interrupted
    }

    /// Says what the run comes to.
    pub fn finish(mut self, reporters: &mut Reporters<'_>) -> Summary {
        if self.end.stopped.is_some() {
            self.tally.cut_short();
        }
        let mut found = causes(&self.cases);
        for cause in &mut found {
            let same = |tried: &&Cause| tried.is_of_same_evidence(cause);
            if let Some(tried) = self.end.tried.iter().find(same) {
                (cause.shown, cause.repro) = (tried.shown, tried.repro.clone());
                cause.generated.clone_from(&tried.generated);
            }
        }
        // What can be seen again comes before what was seen once.
        found.sort_by_key(Cause::is_doubtful);
        let mut summary = Summary {
            causes: found,
            duts: self.duts.len(),
            took_us: self.end.took_us.unwrap_or_else(|| micros(self.began)),
            interrupted: self.end.interrupted,
            stopped: self.end.stopped,
            bench_error: self.end.bench_error,
            answers: self.end.answers,
            folder: self.folder,
            flaky_fails: self.flaky_fails,
            ..self.tally.summary()
        };
        for (dut, of_one) in &self.end.apart {
            add_closures(&mut summary, dut, of_one);
        }
        summary.exit = exit_code(&summary);
        let is_green = summary.exit == exit::CONFORMING;
        let shows = |dut: &String| {
            let mut own = self.cases.iter().filter(|case| case.dut == *dut);
            own.any(shows_something)
        };
        if is_green && self.must_show && !self.duts.iter().all(shows) {
            summary.exit = exit::NOTHING_RAN;
        }
        reporters.event(&Event::RunFinished(summary.clone()));
        summary
    }
}

/// Adds what one of several devices lacks: requirements that nothing put to the test, and entries of its baseline.
fn add_closures(summary: &mut Summary, dut: &str, of_one: &Summary) {
    let named = |text: &String| format!("{dut}: {text}");
    summary.unexercised.extend(of_one.unexercised.iter().map(named));
    summary.stale.extend(of_one.stale.iter().map(named));
    for slug in &of_one.known_unexercised {
        if !summary.known_unexercised.contains(slug) {
            summary.known_unexercised.push(slug.clone());
        }
    }
    let covered = of_one.covered.iter().cloned();
    summary.covered.extend(covered.map(|it| CoveredBy { entry: named(&it.entry), ..it }));
}

/// Whether a case of the selection was carried out: getting to know the device is none of it.
fn shows_something(case: &CaseReport) -> bool {
    let built_in = [BRING_UP, CLOSE].contains(&case.case.as_str());
    !built_in && case.verdict != Verdict::NotApplicable
}

/// The exit code that a summary amounts to.
fn exit_code(summary: &Summary) -> u8 {
    let conforming = summary.failed == 0
        && summary.inconclusive == 0
        && (summary.flaky == 0 || !summary.flaky_fails)
        && summary.unexercised.is_empty()
        && !summary.answers.as_ref().is_some_and(Answers::fail)
        && summary.stale.is_empty();
    if summary.interrupted {
        exit::INTERRUPTED
    } else if summary.bench_error.is_some() || summary.errors > 0 {
        exit::BENCH
    } else if !conforming {
        exit::NOT_CONFORMING
    } else if summary.cases == 0 {
        exit::NOTHING_RAN
    } else if summary.answers.as_ref().is_some_and(|answers| answers.unwritten > 0) {
        // Who asked for files must not take their absence for what was to be in them.
        exit::BENCH
    } else {
        exit::CONFORMING
    }
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::catalogue::{Catalogue, RuleSet};
    use mcp_hil_record::event::DutInfo;

    use super::*;

    fn dut_info(name: &str) -> DutInfo {
        DutInfo {
            name: name.to_owned(),
            target: "native".into(),
            transport: "websocket".into(),
            fidelity: String::new(),
            level: String::new(),
            cannot_show: Vec::new(),
            reference: false,
            in_place_of: None,
        }
    }

    /// The exit code of a run of these cases, with how it ended beside them.
    fn exit_of(cases: &[(&str, Verdict)], demands: Demands, end: RunEnd) -> u8 {
        let catalogue = Catalogue::load([], RuleSet::DEFAULT).unwrap();
        let policy = VerdictPolicy {
            catalogue: &catalogue,
            strict: false,
            baseline: None,
            today: "2030-01-01",
            transport: None,
            firmware: None,
            symbols: None,
        };
        let case = |(case, verdict): &(&str, Verdict)| CaseReport {
            verdict: *verdict,
            ..CaseReport::blank("dut", "websocket", case, case)
        };
        let cases = cases.iter().map(case).collect();
        let mut reporters = Reporters::new(std::io::sink());
        let duts = vec![dut_info("dut")];
        let started = RunStarted { duts, ..RunStarted::default() };
        let mut driver = Driver::begin(started, policy, demands, String::new(), &mut reporters);
        driver.dut_run("dut", "websocket", DutRunEnd { cases, ..DutRunEnd::default() });
        driver.end = end;
        driver.finish(&mut reporters).exit
    }

    #[test]
    fn a_green_run_must_show_something_of_its_selection_where_that_is_demanded() {
        let around = [(BRING_UP, Verdict::Pass), ("a/a", Verdict::NotApplicable)];
        let own = [(BRING_UP, Verdict::Pass), ("a/a", Verdict::Pass)];
        let red = [(BRING_UP, Verdict::Fail), ("a/a", Verdict::NotApplicable)];
        let must_show = Demands { must_show: true, ..Demands::default() };
        let exit_of = |cases, demands| exit_of(cases, demands, RunEnd::default());
        assert_eq!(exit_of(&around, must_show), exit::NOTHING_RAN);
        assert_eq!(exit_of(&around, Demands::default()), exit::CONFORMING);
        assert_eq!(exit_of(&own, must_show), exit::CONFORMING);
        assert_eq!(exit_of(&red, must_show), exit::NOT_CONFORMING);
        assert_eq!(exit_of(&[], Demands::default()), exit::NOTHING_RAN);
    }

    #[test]
    fn what_cut_a_run_short_comes_before_its_verdicts_and_files_that_are_missing_after_them() {
        let passed = [("a/a", Verdict::Pass)];
        let failed = [("a/a", Verdict::Fail)];
        let exit_of = |cases, end| exit_of(cases, Demands::default(), end);
        let bench = || RunEnd { bench_error: Some("no board".into()), ..RunEnd::default() };
        let stopped = || RunEnd { interrupted: true, ..bench() };
        let unwritten = || {
            let answers = Answers { unwritten: 1, ..Answers::default() };
            RunEnd { answers: Some(answers), ..RunEnd::default() }
        };
        assert_eq!(exit_of(&failed, stopped()), exit::INTERRUPTED);
        assert_eq!(exit_of(&failed, bench()), exit::BENCH);
        assert_eq!(exit_of(&failed, unwritten()), exit::NOT_CONFORMING);
        assert_eq!(exit_of(&passed, unwritten()), exit::BENCH);
        assert_eq!(exit_of(&passed, RunEnd::default()), exit::CONFORMING);
    }
}
