//! JUnit XML for CI readers.
//!
//! How verdicts are told in a format that knows only failure, error and skipped:
//!
//! | here | there |
//! |---|---|
//! | fail | `failure`; its type is the slug of the first broken requirement |
//! | inconclusive, error | `error` of the type `inconclusive` or `error` |
//! | not-applicable | `skipped` of the type `not-applicable`, its reason as the message |
//! | known failure | `skipped` of the type `known-failure`; the evidence is in `system-out` |
//! | passed with warnings | passed; the warnings are in `system-out` |
//!
//! Known failures are skipped since the readers of Jenkins, GitLab and GitHub show a skipped case
//! and its message in a list of its own and leave the build green; text in `system-out` of a passed
//! case is shown by none of them unless one opens it.
//!
//! Names stay what they are from run to run: the suite is device and transport, the class adds the area,
//! the name is the case. What a reader needs besides has no place of its own in what `junit-report` writes:
//! the line of the scenario begins the text of a failure (`scenarios/scripts/ids/zero.yaml:12`; the file is
//! an attribute too); program, seed, rules and the device's version and hash end it, and stand in the
//! `system-out` of the suite. Some readers show the one, some the other.
//!
//! What belongs to no case - no device came, the run was cut short, nothing ran, the baseline is
//! stale, answers are not as reviewed - stands in a suite `run`, so that this file is never greener than the exit code.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use junit_report::{Duration, OffsetDateTime, Report, TestCase, TestResult, TestSuite};
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::{Finding, Verdict};
use time::format_description::well_known::Rfc3339;

use super::clean::{self, xml_attribute, xml_cdata};
use super::fanout::Reporter;
use super::json::{Record, Recorder, write_file};
use super::lines::{self, Status};
use super::summary::exit_meaning;
use crate::event::{CaseReport, Event, Summary};
use crate::snapshots::AnswerReport;

/// Most characters of one text of evidence in a body.
const EVIDENCE: usize = 4_000;

/// Most characters of one text of evidence in a message.
const MESSAGE: usize = 120;

/// Writes the record of a run as JUnit XML.
///
/// The same record gives the same bytes, wherever and whenever.
///
/// # Errors
///
/// The XML writer failed, which it does not on memory.
pub fn render(record: &Record, catalogue: &Catalogue) -> io::Result<Vec<u8>> {
    let timestamp =
        OffsetDateTime::parse(&record.run.started, &Rfc3339).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let mut links: Vec<(&str, &str)> = record
        .run
        .duts
        .iter()
        .map(|dut| (&*dut.name, &*dut.transport))
        .collect();
    for case in &record.cases {
        let link = (&*case.dut, &*case.transport);
        if !links.contains(&link) {
            links.push(link);
        }
    }

    let mut suites = Vec::new();
    for (dut, transport) in links {
        let cases = record
            .cases
            .iter()
            .filter(|case| case.dut == dut && case.transport == transport);
        let origin = origin(record, dut, transport);
        let testcases = cases.map(|case| testcase(case, &origin, catalogue));
        let mut suite = suite(
            &format!("{dut}/{transport}"),
            timestamp,
            testcases.collect(),
        );
        let mut lines: Vec<String> = Vec::new();
        let planned = record.run.duts.iter();
        for info in planned.filter(|info| info.name == dut && info.transport == transport) {
            lines.push(format!("fidelity: {}", info.fidelity));
            if !info.cannot_show.is_empty() {
                lines.push(format!("not observed: {}", info.cannot_show.join(", ")));
            }
        }
        lines.extend(
            origin
                .iter()
                .map(|(label, text)| format!("{label}: {text}")),
        );
        suite.set_system_out(&xml_cdata(&lines.join("\n")));
        suites.push(suite);
    }
    let green = !suites
        .iter()
        .any(|suite: &TestSuite| suite.errors() + suite.failures() > 0);
    suites.push(suite(
        "run",
        timestamp,
        of_the_run(&record.summary, &record.answers, green),
    ));

    let mut report = Report::new();
    // Readers take a suite without cases for a mistake.
    report.add_testsuites(
        suites
            .into_iter()
            .filter(|suite| !suite.testcases.is_empty()),
    );
    let mut xml = Vec::new();
    report.write_xml(&mut xml).map_err(io::Error::other)?;
    xml.push(b'\n');
    Ok(xml)
}

/// Writes the JUnit file when the run is over.
#[derive(Debug)]
pub struct JunitFile {
    path: PathBuf,
    catalogue: Arc<Catalogue>,
    recorder: Recorder,
}

impl JunitFile {
    /// A report for a file; its folder is made when the file is written.
    pub fn new(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>) -> Self {
        Self {
            path: path.into(),
            catalogue,
            recorder: Recorder::default(),
        }
    }
}

impl Reporter for JunitFile {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.recorder.take(event);
        match (event, self.recorder.record()) {
            (Event::RunFinished(_), Some(record)) => {
                write_file(&self.path, &render(record, &self.catalogue)?)
            }
            _ => Ok(()),
        }
    }
}

fn suite(name: &str, timestamp: OffsetDateTime, testcases: Vec<TestCase>) -> TestSuite {
    let mut suite = TestSuite::new(&xml_attribute(name));
    suite.set_timestamp(timestamp);
    suite.add_testcases(testcases);
    suite
}

/// What a verdict came from: the program and its settings, and the device by its own words.
fn origin(record: &Record, dut: &str, transport: &str) -> Vec<(&'static str, String)> {
    let run = &record.run;
    let strict = if run.strict { ", strict" } else { "" };
    let rules = run.rules.join(" + ");
    let mut rows = vec![(
        "run",
        format!("{}, seed {}, rules {rules}{strict}", run.tool, run.seed),
    )];
    if let Some(basis) = &run.basis {
        let short = |hash: &str| hash.chars().take(12).collect::<String>();
        let suite = format!(
            "requirements {}, scenarios {}",
            short(&basis.requirements),
            short(&basis.scenarios)
        );
        rows.push(("suite", suite));
        let image = basis.firmware.iter();
        rows.extend(image.map(|hash| ("image", format!("sha256 {hash}"))));
        rows.extend(basis.shard.map(|shard| ("shard", shard.to_string())));
    }
    let ready = record.duts.iter();
    for ready in ready.filter(|ready| ready.dut == dut && ready.transport == transport) {
        if let Some((name, version)) = &ready.server {
            rows.push(("server", clean::line(&format!("{name} {version}"), MESSAGE)));
        }
        if let Some(identity) = &ready.identity {
            rows.push(("device", clean::line(&identity.to_string(), EVIDENCE)));
            let hash = identity.elf_sha256.iter();
            rows.extend(
                hash.map(|hash| ("firmware", clean::line(&format!("sha256 {hash}"), MESSAGE))),
            );
        }
    }
    rows
}

fn testcase(
    case: &CaseReport,
    origin: &[(&'static str, String)],
    catalogue: &Catalogue,
) -> TestCase {
    let area = case.case.split('/').next().unwrap_or_default();
    let classname = format!(
        "mcp-hil.{}.{}.{}",
        part(&case.dut),
        part(&case.transport),
        part(area)
    );
    let broken: Vec<&Finding> = case
        .findings
        .iter()
        .filter(|finding| !finding.is_warning())
        .collect();
    let warnings: Vec<&Finding> = case
        .findings
        .iter()
        .filter(|finding| finding.is_warning())
        .collect();
    let body = || {
        let mut text = place(case) + &body(case, &broken, catalogue);
        for (label, value) in origin {
            text += &format!("{label:<13}{value}\n");
        }
        Some(xml_cdata(&text))
    };
    let mut out = Vec::new();

    let result = match Status::of(case) {
        Status::Pass | Status::Warn => TestResult::Success,
        Status::NotApplicable => TestResult::SkippedWithCause {
            type_: "not-applicable".to_owned(),
            message: xml_attribute(case.reason.as_deref().unwrap_or("does not apply")),
            cause: None,
        },
        Status::Known => {
            out.push(place(case) + &self::body(case, &broken, catalogue));
            let why = case
                .reason
                .clone()
                .unwrap_or_else(|| message(case, &broken));
            TestResult::SkippedWithCause {
                type_: "known-failure".to_owned(),
                message: xml_attribute(&format!("known failure: {why}")),
                cause: None,
            }
        }
        Status::Fail => TestResult::Failure {
            type_: xml_attribute(
                leading(case, &broken).map_or("fail", |first| &*first.requirement),
            ),
            message: xml_attribute(&message(case, &broken)),
            cause: body(),
        },
        status => TestResult::Error {
            type_: if status == Status::Error {
                "error"
            } else {
                "inconclusive"
            }
            .to_owned(),
            message: xml_attribute(&message(case, &broken)),
            cause: body(),
        },
    };
    if !warnings.is_empty() {
        out.push(format!(
            "warnings:\n\n{}",
            blocks(case, &warnings, catalogue)
        ));
    }
    TestCase {
        name: xml_attribute(&case.case),
        time: micros(case.took_us),
        result,
        classname: Some(xml_attribute(&classname)),
        filepath: case.file.as_deref().map(xml_attribute),
        system_out: (!out.is_empty()).then(|| xml_cdata(&out.join("\n"))),
        system_err: None,
    }
}

/// What belongs to the run and to no case; `green` when no case is red.
fn of_the_run(summary: &Summary, answers: &[AnswerReport], green: bool) -> Vec<TestCase> {
    let meaning = exit_meaning(summary).unwrap_or_default();
    let mut cases = Vec::new();
    let mut error = |name: &str, message: &str, body: &str| {
        cases.push(run_case(
            name,
            TestResult::Error {
                type_: name.to_owned(),
                message: xml_attribute(message),
                cause: Some(xml_cdata(body)),
            },
        ));
    };
    if let Some(what) = &summary.bench_error {
        error(
            "bench",
            what.lines().next().unwrap_or("the bench failed"),
            what,
        );
    } else if summary.exit == 4 {
        error("nothing-ran", "no case was executed", &meaning);
    }
    if summary.interrupted {
        error("interrupted", "the run was cut short", &meaning);
    }
    // What the exit code forgives is not red here either.
    if summary.exit != 0 && !summary.unexercised.is_empty() {
        let number = summary.unexercised.len();
        let message = format!("required requirements that nothing exercised: {number}");
        error("unexercised", &message, &summary.unexercised.join("\n"));
    }
    if summary.exit != 0 && !summary.stale.is_empty() {
        cases.push(run_case(
            "baseline",
            TestResult::Failure {
                type_: "stale-baseline".to_owned(),
                message: format!("entries that no longer hold: {}", summary.stale.len()),
                cause: Some(xml_cdata(&summary.stale.join("\n"))),
            },
        ));
    }
    let failing: Vec<&AnswerReport> = answers.iter().filter(|answer| answer.fails).collect();
    if summary.exit != 0 && !failing.is_empty() {
        cases.push(run_case(
            "answers",
            TestResult::Failure {
                type_: "answer-changed".to_owned(),
                message: xml_attribute(&changed(&failing)),
                cause: Some(xml_cdata(&differences(&failing))),
            },
        ));
    }
    if summary.exit != 0 && green && cases.is_empty() {
        cases.push(run_case(
            "exit",
            TestResult::Error {
                type_: "exit".to_owned(),
                message: xml_attribute(&meaning),
                cause: None,
            },
        ));
    }
    cases
}

/// Answers that are not as reviewed, in a line.
fn changed(answers: &[&AnswerReport]) -> String {
    let first = answers[0];
    let what = first.changes.first();
    let what = what.map_or_else(
        || lines::answer_word(first.state).to_lowercase(),
        |change| clean::line(&change.to_string(), MESSAGE),
    );
    let more = match answers.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("answer changed: {}: {what}{more}", first.snapshot)
}

fn differences(answers: &[&AnswerReport]) -> String {
    let mut text = String::new();
    for answer in answers {
        let word = lines::answer_word(answer.state);
        text += &format!("{word:<13}{}\n", answer.snapshot);
        for (label, value, _) in lines::answer(answer, EVIDENCE, usize::MAX) {
            text += &format!("{label:<13}{value}\n");
        }
        text.push('\n');
    }
    text
}

fn run_case(name: &str, result: TestResult) -> TestCase {
    TestCase {
        name: name.to_owned(),
        time: Duration::ZERO,
        result,
        classname: Some("mcp-hil.run".to_owned()),
        filepath: None,
        system_out: None,
        system_err: None,
    }
}

/// File and line of a case, as readers that look for places in texts find them.
fn place(case: &CaseReport) -> String {
    match (&case.file, case.line) {
        (Some(file), Some(line)) => format!("{}:{line}\n\n", clean::visible(file)),
        (Some(file), None) => format!("{}\n\n", clean::visible(file)),
        (None, _) => String::new(),
    }
}

/// All evidence of a case, and how to run it again.
fn body(case: &CaseReport, findings: &[&Finding], catalogue: &Catalogue) -> String {
    let reason = match &case.reason {
        Some(reason) => format!("{:<13}{}\n\n", "reason", clean::line(reason, EVIDENCE)),
        None => String::new(),
    };
    let mut text = format!("{reason}{}", blocks(case, findings, catalogue));
    let failures: Vec<_> = case.generated.iter().flat_map(|g| &g.failures).collect();
    for failure in &failures {
        text += &format!("{:<13}{}\n", "failure", failure.requirements.join(", "));
        for (label, value) in lines::failure(failure, EVIDENCE) {
            text += &format!("{label:<13}{value}\n");
        }
        text.push('\n');
    }
    if let (true, Some(transcript)) = (case.findings.is_empty(), &case.transcript) {
        text += &format!(
            "{:<13}{}\n",
            "transcript",
            clean::line(transcript, EVIDENCE)
        );
    }
    if failures.is_empty() {
        text += &format!("{:<13}{}\n", "repro", case.repro);
    }
    text
}

fn blocks(case: &CaseReport, findings: &[&Finding], catalogue: &Catalogue) -> String {
    let mut text = String::new();
    for finding in findings {
        for (label, value) in lines::evidence(finding, case, catalogue, EVIDENCE) {
            text += &format!("{label:<13}{value}\n");
        }
        text.push('\n');
    }
    text
}

/// The finding that the verdict comes from.
fn leading<'a>(case: &CaseReport, findings: &[&'a Finding]) -> Option<&'a Finding> {
    findings
        .iter()
        .find(|finding| finding.verdict == case.verdict && (case.known || !finding.known))
        .or_else(|| {
            findings
                .iter()
                .find(|finding| finding.verdict == case.verdict)
        })
        .copied()
}

fn message(case: &CaseReport, findings: &[&Finding]) -> String {
    let others = match findings.len() {
        0 | 1 => String::new(),
        number => format!(" (and {} more)", number - 1),
    };
    match (leading(case, findings), &case.reason) {
        // Of a case that shows nothing, the reason says more than what was hoped for.
        (_, Some(reason)) if case.verdict != Verdict::Fail => clean::line(reason, MESSAGE * 2),
        (Some(first), _) => lines::in_short(first, MESSAGE) + &others,
        (None, reason) => clean::line(reason.as_deref().unwrap_or("no reason given"), MESSAGE * 2),
    }
}

/// A part of a class name, in which dots separate.
fn part(text: &str) -> String {
    text.replace(|c: char| c == '.' || c == '/' || c.is_whitespace(), "_")
}

fn micros(micros: u64) -> Duration {
    Duration::microseconds(i64::try_from(micros).unwrap_or(i64::MAX))
}
