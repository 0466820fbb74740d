//! The runs behind the tests: one for a device over a transport, whatever the number of its cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::bench::COVERAGE;
use super::{Bench, Device, Over, Test};
use mcp_hil_record::Recorder;
use mcp_hil_record::Reporter;
use mcp_hil_record::Reporters;
use mcp_hil_record::about;
use mcp_hil_record::answers::AnswerReport;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{CaseReport, Event, Summary};
use mcp_hil_record::exit;
use mcp_hil_report::{self, Sources, Status, Style, Terminal, exit_meaning};
use mcp_hil_runner::plan::Plan;
use mcp_hil_runner::run;

/// What becomes of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The case passed.
    Passed,
    /// It says nothing about the device, for this reason.
    Ignored(String),
    /// The case failed, with its evidence; or the bench did, and the text begins so.
    Failed(String),
}

/// The wanted cases of a device over one transport, or both.
type Wanted = BTreeMap<Over, BTreeSet<String>>;

/// Runs that are under way.
#[derive(Debug)]
pub struct Runs {
    done: Arc<Done>,
}

/// What came out, by device; `None` until its runs are over.
#[derive(Debug)]
struct Done {
    outcomes: Mutex<Vec<Option<Outcomes>>>,
    /// What was judged where that is not the device that was meant.
    judged: Mutex<BTreeSet<String>>,
    more: Condvar,
}

/// The outcomes of a device's tests.
type Outcomes = BTreeMap<(Over, String), Outcome>;

impl Runs {
    /// Starts what the wanted tests need: each device in a thread, so that boards run side by side.
    pub fn start(bench: Arc<Bench>, wanted: &[Test]) -> Self {
        let number = bench.devices.len();
        let done = Arc::new(Done {
            outcomes: Mutex::new(vec![None; number]),
            judged: Mutex::default(),
            more: Condvar::new(),
        });
        for at in 0..number {
            let mut of_it = Wanted::new();
            for test in wanted.iter().filter(|test| test.device == at) {
                of_it.entry(test.over).or_default().insert(test.case.clone());
            }
            if of_it.is_empty() {
                continue;
            }
            let (bench, done) = (bench.clone(), done.clone());
            thread::spawn(move || {
                let runs = || of_device(&bench, at, &of_it, &done.judged);
                let panicked = "harness: the run ended in a panic, which is shown above";
                let outcomes = std::panic::catch_unwind(std::panic::AssertUnwindSafe(runs))
                    .unwrap_or_else(|_| all(&of_it, &Outcome::Failed(panicked.into())));
                let mut all = done.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                all[at] = Some(outcomes);
                done.more.notify_all();
            });
        }
        Self { done }
    }

    /// What the runs that are over have judged where that is not the device that was meant: the reference
    /// device, or one that stood in for a board.
    pub fn judged(&self) -> Vec<String> {
        let judged = self.done.judged.lock();
        let judged = judged.unwrap_or_else(PoisonError::into_inner);
        judged.iter().cloned().collect()
    }

    /// Waits for what becomes of a wanted test.
    pub fn outcome(&self, test: &Test) -> Outcome {
        let mut all = self.done.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcomes) = &all[test.device] {
                let own = outcomes.get(&(test.over, test.case.clone()));
                let none = || Outcome::Failed("harness: the run has no report of it".into());
                return own.cloned().unwrap_or_else(none);
            }
            let more = self.done.more.wait(all);
            all = more.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The same outcome for all tests.
fn all(wanted: &Wanted, outcome: &Outcome) -> Outcomes {
    let each = wanted.iter().flat_map(|(over, cases)| {
        cases.iter().map(move |case| ((*over, case.clone()), outcome.clone()))
    });
    each.collect()
}

/// What is run at once, and the tests that are answered by it.
struct Batch {
    over: Over,
    /// The cases to carry out.
    cases: BTreeSet<String>,
    tests: Wanted,
}

/// Carries out what is wanted of a device, one transport after the other.
fn of_device(
    bench: &Bench,
    at: usize,
    wanted: &Wanted,
    judged: &Mutex<BTreeSet<String>>,
) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for batch in batches(bench, wanted) {
        outcomes.extend(match carry_out(bench, at, &batch, judged) {
            Ok(outcomes) => outcomes,
            Err(refusal) => {
                let who = if refusal.exit == exit::BENCH { "bench: " } else { "" };
                all(&batch.tests, &Outcome::Failed(format!("{who}{refusal}")))
            }
        });
    }
    // A comparison needs the same cases on both sides.
    if let Some(cases) = wanted.get(&Over::Both) {
        for case in cases {
            let why = "transports are compared only if the same cases run over both";
            let test = (Over::Both, case.clone());
            outcomes.entry(test).or_insert_with(|| Outcome::Ignored(why.into()));
        }
    }
    outcomes
}

/// Makes one run of both transports where that does for all, else one for each.
fn batches(bench: &Bench, wanted: &Wanted) -> Vec<Batch> {
    let dut_runs: Vec<(&Over, &BTreeSet<String>)> =
        wanted.iter().filter(|(over, _)| **over != Over::Both).collect();
    let compared = wanted.contains_key(&Over::Both);
    match dut_runs[..] {
        // The comparison alone, as test programs that run each test by itself ask for it.
        [] => vec![Batch { over: Over::Both, cases: bench.scripted(), tests: wanted.clone() }],
        [(_, one), (_, other)] if compared && one == other => {
            vec![Batch { over: Over::Both, cases: one.clone(), tests: wanted.clone() }]
        }
        _ => dut_runs
            .into_iter()
            .map(|(over, cases)| Batch {
                over: *over,
                cases: cases.clone(),
                tests: Wanted::from([(*over, cases.clone())]),
            })
            .collect(),
    }
}

fn carry_out(
    bench: &Bench,
    at: usize,
    batch: &Batch,
    judged: &Mutex<BTreeSet<String>>,
) -> Result<Outcomes, UserError> {
    let args = bench.arguments(&bench.devices[at], batch.over)?;
    let _turn = wait_for_turn(&bench.devices[at], &args.out)?;
    let mut plan = Plan::new(&args)?;
    let is_whole = bench.is_all(&batch.cases);
    plan.cases.retain(|case| batch.cases.contains(&*case.id));
    let properties = &mut plan.generation.properties;
    properties.retain(|property| batch.cases.contains(property.id));
    plan.whole_suite &= is_whole;
    plan.basis.whole_suite &= is_whole;
    plan.basis.selected.retain(|id| batch.cases.contains(id));
    if let Some(snapshots) = &mut plan.snapshots {
        snapshots.whole &= is_whole;
    }
    let mut gathered = Gathered::default();
    let summary = {
        let mut reporters = Reporters::new(std::io::stderr());
        let sources = Sources { folder: plan.folder.clone(), compare: None };
        mcp_hil_report::add_files(&mut reporters, &plan.catalogue, sources);
        reporters.add("the tests", &mut gathered);
        block_on(&plan, &mut reporters)?
    };
    let record = gathered.0.record();
    if let Some(what) = record.and_then(|record| about::judged(&record.run.duts, &summary)) {
        let mut all = judged.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(what);
    }
    let cases = record.map_or(&[][..], |record| &record.cases);
    let answers = record.map_or(&[][..], |record| &record.answers);
    let of = |test: &(Over, String)| {
        let (over, case) = test;
        if case == COVERAGE {
            let outcome = coverage(&summary, is_whole && plan.whole_suite);
            return with_answers(outcome, answers, ["", ""], &plan.catalogue);
        }
        let transport = over.to_string();
        let mut reports = cases.iter();
        match reports.find(|report| report.case == *case && report.transport == transport) {
            Some(report) => {
                let outcome = outcome_of(report, &plan.catalogue, &summary);
                with_answers(outcome, answers, [case, &transport], &plan.catalogue)
            }
            None => unreported(&summary, case),
        }
    };
    let tests = all(&batch.tests, &Outcome::Passed).into_keys();
    Ok(tests.map(|test| (test.clone(), of(&test))).collect())
}

/// Waits until no other test process of this tree runs the device. Test programs that start a process for
/// each test start several at once, and a board would refuse all but the first; what the harness starts
/// itself is there as often as it is wanted.
fn wait_for_turn(device: &Device, folder: &Path) -> Result<Option<File>, UserError> {
    if !device.is_single() {
        return Ok(None);
    }
    let path = folder.join(format!(".{}.turn", device.name));
    let locked = std::fs::create_dir_all(folder).and_then(|()| {
        let file = File::create(&path)?;
        file.lock()?;
        Ok(file)
    });
    let refused = |error| {
        UserError::bench(
            format!("cannot lock `{}`: {error}", path.display()),
            "tests of one device take turns with this lock file",
        )
    };
    locked.map(Some).map_err(refused)
}

/// Carries out a plan. The signals that end a program end the run first, so that no device stays behind.
fn block_on(plan: &Plan, reporters: &mut Reporters<'_>) -> Result<Summary, UserError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        UserError::bench(format!("cannot start: {error}"), "is the machine out of memory?")
    })?;
    let summary = runtime.block_on(async {
        let (stop, interrupt) = watch::channel(false);
        let stop = Arc::new(stop);
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            if let Ok(mut signal) = signal(kind) {
                let stop = stop.clone();
                tokio::spawn(async move {
                    signal.recv().await;
                    let _ = stop.send(true);
                    signal.recv().await;
                    std::process::exit(exit::INTERRUPTED.into());
                });
            }
        }
        run::run(plan, reporters, interrupt).await
    });
    runtime.shutdown_background();
    Ok(summary)
}

/// Keeps what is reported.
#[derive(Debug, Default)]
struct Gathered(Recorder);

impl Reporter for &mut Gathered {
    fn event(&mut self, event: &Event) -> std::io::Result<()> {
        self.0.take(event);
        if let Event::Notice { text } = event {
            mcp_hil_core::notice!("{text}");
        }
        Ok(())
    }
}

/// What the report of a case means for its test.
fn outcome_of(report: &CaseReport, catalogue: &Arc<Catalogue>, summary: &Summary) -> Outcome {
    let reason = || report.reason.clone().unwrap_or_default();
    let folder = &summary.folder;
    match Status::of(report) {
        Status::Pass | Status::Warn => Outcome::Passed,
        // Test programs know no such verdict, and what passed says nothing of how.
        Status::Flaky if !summary.flaky_fails => {
            Outcome::Ignored(format!("flaky:\n{}", block(report, catalogue, folder)))
        }
        Status::Flaky => Outcome::Failed(block(report, catalogue, folder)),
        Status::NotApplicable => Outcome::Ignored(reason()),
        Status::Known => Outcome::Ignored(format!("known failure: {}", reason())),
        Status::Fail | Status::Inconclusive => Outcome::Failed(block(report, catalogue, folder)),
        Status::Error => Outcome::Failed(format!("bench:\n{}", block(report, catalogue, folder))),
    }
}

/// A case also fails when an answer of it is not as people have reviewed it. Answers that no case gives are told
/// where case and transport are empty.
fn with_answers(
    outcome: Outcome,
    answers: &[AnswerReport],
    [case, transport]: [&str; 2],
    catalogue: &Arc<Catalogue>,
) -> Outcome {
    let its = |answer: &&AnswerReport| {
        answer.fails && answer.case == case && answer.transport == transport
    };
    let told: Vec<String> = answers
        .iter()
        .filter(its)
        .map(|answer| lines(&Event::AnswerChanged(Box::new(answer.clone())), catalogue))
        .collect();
    match outcome {
        outcome if told.is_empty() => outcome,
        Outcome::Failed(text) => Outcome::Failed(text + &told.concat()),
        Outcome::Passed | Outcome::Ignored(_) => Outcome::Failed(told.concat()),
    }
}

/// The lines of a case as the report for people has them, and where its files are.
fn block(report: &CaseReport, catalogue: &Arc<Catalogue>, folder: &str) -> String {
    let text = lines(&Event::CaseFinished(report.clone()), catalogue);
    format!("{text}{:13}{:13}{folder}\n", "", "run")
}

/// What the report for people says of an event.
fn lines(event: &Event, catalogue: &Arc<Catalogue>) -> String {
    let style = Style {
        wraps: false,
        color: false,
        width: 100,
        // A test has no end of a run.
        verbose: true,
        quiet: false,
        catalogue: catalogue.clone(),
    };
    let mut text = Vec::new();
    // Writing into memory does not fail.
    let _ = Terminal::new(&mut text, std::io::sink(), style).event(event);
    String::from_utf8_lossy(&text).into_owned()
}

/// Why a case has no report.
fn unreported(summary: &Summary, case: &str) -> Outcome {
    if let Some(error) = &summary.bench_error {
        return Outcome::Failed(format!("bench: {error}"));
    }
    if summary.interrupted {
        return Outcome::Failed("the run was stopped before this case".into());
    }
    match case {
        // A device that was lost is not looked at any more; its cases say so.
        CLOSE => Outcome::Ignored("the device was lost before the end".into()),
        BRING_UP => Outcome::Failed("the device was not brought up".into()),
        _ => Outcome::Failed("harness: the run has no report of it".into()),
    }
}

/// What a run leaves open that belongs to no case.
fn coverage(summary: &Summary, is_whole: bool) -> Outcome {
    if summary.bench_error.is_some() {
        return unreported(summary, COVERAGE);
    }
    if !is_whole {
        return Outcome::Ignored("checked only when all cases of the suite run together".into());
    }
    let mut lines: Vec<String> = Vec::new();
    let missed = summary.unexercised.iter();
    lines.extend(missed.map(|slug| format!("not exercised: {slug}")));
    lines.extend(summary.stale.iter().map(|entry| format!("baseline: {entry}")));
    if lines.is_empty() {
        return Outcome::Passed;
    }
    lines.extend(exit_meaning(summary));
    Outcome::Failed(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::verdict::Verdict;

    use super::*;
    use mcp_hil_record::names::BOTH;

    fn report(verdict: Verdict) -> CaseReport {
        CaseReport {
            verdict,
            reason: Some("the device has no `camera`".into()),
            repro: "mcp-hil run --dut native --only a/b".into(),
            ..CaseReport::blank("native", "websocket", "a/b", "title")
        }
    }

    fn outcome(verdict: Verdict) -> Outcome {
        of(&report(verdict), false)
    }

    fn of(report: &CaseReport, flaky_fails: bool) -> Outcome {
        let catalogue = mcp_hil_runner::suite::Suite::load(&[], None).unwrap().catalogue;
        let folder = "target/run-7".into();
        outcome_of(report, &catalogue, &Summary { folder, flaky_fails, ..Summary::default() })
    }

    #[test]
    fn a_verdict_is_told_as_the_outcome_of_a_test() {
        assert_eq!(outcome(Verdict::Pass), Outcome::Passed);
        assert_eq!(
            outcome(Verdict::NotApplicable),
            Outcome::Ignored("the device has no `camera`".into())
        );
        for (verdict, begins) in [
            (Verdict::Fail, "    FAIL ["),
            (Verdict::Inconclusive, "  INCONC ["),
            (Verdict::Error, "bench:\n"),
        ] {
            let Outcome::Failed(text) = outcome(verdict) else {
                panic!("{verdict:?} did not fail");
            };
            assert!(text.starts_with(begins), "{text}");
            assert!(
                text.contains("mcp-hil run --dut native --only a/b")
                    && text.ends_with("target/run-7\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_flaky_case_is_never_a_test_that_passed() {
        let flaky = CaseReport { flaky: true, ..report(Verdict::Fail) };
        let Outcome::Ignored(told) = of(&flaky, false) else { panic!("it passed or failed") };
        assert!(told.starts_with("flaky:\n   FLAKY [") && told.contains("--only a/b"), "{told}");
        assert!(matches!(of(&flaky, true), Outcome::Failed(told) if told.contains("FLAKY [")));
    }

    #[test]
    fn a_bench_that_failed_fails_tests_in_its_own_name() {
        let summary =
            Summary { bench_error: Some("no device connected".into()), ..Summary::default() };
        let told = Outcome::Failed("bench: no device connected".into());
        assert_eq!(unreported(&summary, "a/b"), told);
        assert_eq!(coverage(&summary, true), told);
    }

    #[test]
    fn tests_of_one_device_take_turns_and_those_of_the_reference_device_need_none() {
        let place = std::env::temp_dir().join(format!("mcp-hil-turns-{}", std::process::id()));
        let device =
            |spec: &str| Device { spec: spec.into(), name: "desk".into(), transports: Vec::new() };
        let board = device("ci/duts/desk.toml");
        let turn = wait_for_turn(&board, &place).unwrap();
        let other = File::open(place.join(".desk.turn")).unwrap();
        assert!(other.try_lock().is_err(), "two have it at once");
        drop(turn);
        other.try_lock().unwrap();
        assert!(wait_for_turn(&device("native"), &place).unwrap().is_none());
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn an_answer_that_changed_fails_its_case_over_its_transport() {
        let suite = mcp_hil_runner::suite::Suite::load(&[], None);
        let catalogue = suite.expect("the embedded suite").catalogue;
        let answer = |fails| AnswerReport {
            kind: mcp_hil_record::answers::AnswerKind::Answer,
            not_tried: Vec::new(),
            dut: "native".into(),
            transport: "websocket".into(),
            case: "errors/method-not-found".into(),
            snapshot: "errors/method-not-found".into(),
            state: mcp_hil_record::answers::AnswerState::Changed,
            fails,
            changes: Vec::new(),
            diff: vec!["- old".into(), "+ new".into()],
            file: "snapshots/native/errors/method-not-found.snap".into(),
            written: None,
            note: None,
        };
        let with =
            |answers: &[AnswerReport], of| with_answers(Outcome::Passed, answers, of, &catalogue);
        let its = ["errors/method-not-found", "websocket"];
        let Outcome::Failed(text) = with(&[answer(true)], its) else {
            panic!("it is another answer");
        };
        assert!(text.contains("method-not-found"), "{text}");
        assert_eq!(with(&[answer(true)], [its[0], "mqtt"]), Outcome::Passed);
        assert_eq!(with(&[answer(false)], its), Outcome::Passed);
    }

    #[test]
    fn what_was_not_exercised_fails_the_coverage_of_a_whole_run_alone() {
        let summary = Summary {
            exit: exit::NOT_CONFORMING,
            unexercised: vec!["ids.echo".into()],
            stale: vec!["x/y: expired".into()],
            ..Summary::default()
        };
        assert!(matches!(coverage(&summary, false), Outcome::Ignored(_)));
        let Outcome::Failed(text) = coverage(&summary, true) else {
            panic!("it is complete");
        };
        assert!(text.contains("ids.echo") && text.contains("x/y: expired"), "{text}");
        assert_eq!(coverage(&Summary::default(), true), Outcome::Passed);
    }

    #[test]
    fn transports_share_a_run_where_the_same_is_wanted_of_both() {
        let variable = |name: &str| (name == super::super::DUTS).then(|| "native".to_owned());
        let bench = Bench::find(&variable, &[], &mut |_| {}).unwrap();
        let wanted = |wanted: &dyn Fn(&Test) -> bool| {
            let mut of_it = Wanted::new();
            for test in bench.tests().iter().filter(|test| wanted(test)) {
                of_it.entry(test.over).or_default().insert(test.case.clone());
            }
            let batches = batches(&bench, &of_it);
            batches.into_iter().map(|batch| batch.over.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(wanted(&|_| true), [BOTH]);
        assert_eq!(wanted(&|test| test.over == Over::Both), [BOTH]);
        assert_eq!(wanted(&|test| test.case == "ids/large"), ["websocket", "mqtt"]);
        assert_eq!(wanted(&|test| test.case == "ids/large" || test.over == Over::Both), [BOTH]);
        assert_eq!(wanted(&|test| test.name == "native::mqtt::ids::large"), ["mqtt"]);
        let uneven =
            |test: &Test| test.name == "native::mqtt::ids::large" || test.over == Over::Both;
        assert_eq!(wanted(&uneven), ["mqtt"]);
    }
}
