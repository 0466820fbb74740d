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
//! | flaky | passed, with a `flakyFailure` that has the evidence of the first attempt, as Maven and nextest write it |
//! | passed with warnings | passed; the warnings are in `system-out` |
//!
//! Known failures are skipped since the readers of Jenkins, GitLab and GitHub show a skipped case
//! and its message in a list of its own and leave the build green; text in `system-out` of a passed
//! case is shown by none of them unless one opens it.
//!
//! Names stay what they are from run to run: the suite is device and transport, the class adds the area,
//! the name is the case. The file of a scenario is no attribute of a case, for the schema of Jenkins has none: it begins
//! the text of a failure (`scenarios/scripts/ids/zero.yaml:12`), and is a property of the suite. Device, firmware,
//! transport, seed, fidelity and the rest of what a verdict came from are properties too, and stand in `system-out` of
//! the suite and at the end of a failure: some readers show the one, some the other.
//!
//! What the console said of a crash is in `system-err` of the case.
//!
//! What belongs to no case - no device came, the run was cut short, nothing ran, the baseline is
//! stale, answers are not as reviewed - stands in a suite `run`, so that this file is never greener than the exit code.

mod xml;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::{Finding, Verdict};

use self::xml::{Case, Outcome, Suite, Told};
use super::lines::{self, Status};
use super::summary::exit_meaning;
use mcp_hil_record::about::stood_in;
use mcp_hil_record::answers::AnswerKind;
use mcp_hil_record::answers::AnswerReport;
use mcp_hil_record::cause::Cause;
use mcp_hil_record::event::{CaseReport, DutInfo, Summary};
use mcp_hil_record::text::clean;
use mcp_hil_record::{Record, ReportFile};

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
    let mut links: Vec<(&str, &str)> =
        record.run.duts.iter().map(|dut| (&*dut.name, &*dut.transport)).collect();
    for case in &record.cases {
        let link = (&*case.dut, &*case.transport);
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let timestamp = &record.run.started;
    let mut suites = Vec::new();
    for (dut, transport) in links {
        let cases =
            record.cases.iter().filter(|case| case.dut == dut && case.transport == transport);
        let cases: Vec<&CaseReport> = cases.collect();
        let device = device(record, dut, transport);
        let origin = origin(record, dut, transport);
        let lines: Vec<String> =
            device.iter().chain(&origin).map(|(name, value)| format!("{name}: {value}")).collect();
        // Of the run, each setting is a property.
        let others = origin.iter().filter(|(name, _)| *name != "run");
        let rows = device.iter().cloned().chain(settings(record)).chain(others.cloned());
        let mut properties: Vec<(String, String)> =
            rows.map(|(name, value)| (name.to_owned(), value)).collect();
        if !properties.iter().any(|(name, _)| name == "firmware") {
            let server = properties.iter().find(|(name, _)| name == "server");
            properties.extend(server.map(|(_, server)| ("firmware".to_owned(), server.clone())));
        }
        let files = cases.iter().filter(|case| case.file.is_some());
        properties
            .extend(files.map(|case| (format!("file:{}", case.case), place(case).trim().into())));
        let causes = &record.summary.causes;
        suites.push(Suite {
            name: format!("{dut}/{transport}"),
            timestamp: timestamp.clone(),
            properties,
            cases: cases.iter().map(|case| testcase(case, causes, &origin, catalogue)).collect(),
            out: lines.join("\n"),
        });
    }
    let green = !suites.iter().any(|suite| suite.errors() + suite.failures() > 0);
    suites.push(Suite {
        name: "run".to_owned(),
        timestamp: timestamp.clone(),
        properties: Vec::new(),
        cases: of_the_run(&record.summary, &record.answers, green),
        out: String::new(),
    });
    // Readers take a suite without cases for a mistake.
    suites.retain(|suite| !suite.cases.is_empty());
    xml::write(&suites)
}

/// A label and its text.
type Row = (&'static str, String);

/// What a reader must know of a device before its verdicts.
fn device(record: &Record, dut: &str, transport: &str) -> Vec<Row> {
    let mut rows = vec![("device", dut.to_owned()), ("transport", transport.to_owned())];
    let planned = record.run.duts.iter();
    for info in planned.filter(|info| info.name == dut && info.transport == transport) {
        rows.extend(about(info));
    }
    rows
}

/// What the run was told.
fn settings(record: &Record) -> [Row; 3] {
    let run = &record.run;
    let strict = if run.strict { ", strict" } else { "" };
    [
        ("program", run.tool.clone()),
        ("seed", run.seed.to_string()),
        ("rules", run.rules.join(" + ") + strict),
    ]
}

fn about(info: &DutInfo) -> Vec<Row> {
    let mut rows = vec![("target", info.target.clone()), ("fidelity", info.fidelity.clone())];
    if info.reference {
        let what = "the reference device of mcp-hil, not your firmware";
        rows.push(("judged", what.to_owned()));
    }
    rows.extend(stood_in(std::slice::from_ref(info)).map(|text| ("stand-in", text)));
    if !info.cannot_show.is_empty() {
        rows.push(("not observed", info.cannot_show.join(", ")));
    }
    rows
}

/// The JUnit file.
pub fn file(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>) -> ReportFile {
    ReportFile::new(path, move |record| render(record, &catalogue))
}

/// What a verdict came from: the program and its settings, and the device by its own words.
fn origin(record: &Record, dut: &str, transport: &str) -> Vec<Row> {
    let run = &record.run;
    let strict = if run.strict { ", strict" } else { "" };
    let rules = run.rules.join(" + ");
    let mut rows = vec![("run", format!("{}, seed {}, rules {rules}{strict}", run.tool, run.seed))];
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
        let server = ready.server.as_ref().map(|(name, version)| format!("{name} {version}"));
        rows.extend(server.map(|server| ("server", clean::line(&server, MESSAGE))));
        if let Some(identity) = &ready.identity {
            let told = clean::line(&identity.to_string(), EVIDENCE);
            let hash = identity.elf_sha256.as_ref();
            let hash = hash.map(|hash| format!("sha256 {}", clean::line(hash, MESSAGE)));
            rows.extend((!told.is_empty()).then_some(("identity", told)));
            rows.extend(hash.map(|hash| ("firmware", hash)));
        }
    }
    rows
}

fn testcase(case: &CaseReport, causes: &[Cause], origin: &[Row], catalogue: &Catalogue) -> Case {
    let area = case.case.split('/').next().unwrap_or_default();
    let class = format!("mcp-hil.{}.{}.{}", part(&case.dut), part(&case.transport), part(area));
    let broken: Vec<&Finding> =
        case.findings.iter().filter(|finding| !finding.is_warning()).collect();
    let warnings: Vec<&Finding> =
        case.findings.iter().filter(|finding| finding.is_warning()).collect();
    let told = |kind: &str| {
        let mut body = place(case) + &body(case, causes, &broken, catalogue);
        for (label, value) in origin {
            body += &format!("{label:<13}{value}\n");
        }
        Told { kind: kind.to_owned(), message: message(case, &broken), body }
    };
    let mut out = Vec::new();
    let status = Status::of(case);
    let flaky = (status == Status::Flaky).then(|| {
        let first = leading(case, &broken).map_or("flaky", |first| &*first.requirement);
        let mut told = told(first);
        let attempts = lines::attempts(case).unwrap_or_default();
        told.message = format!("{} ({attempts})", told.message);
        told
    });
    let outcome = match status {
        Status::Pass | Status::Warn | Status::Flaky => Outcome::Passed,
        Status::NotApplicable => Outcome::Skipped(Told {
            kind: "not-applicable".to_owned(),
            message: case.reason.clone().unwrap_or_else(|| "does not apply".to_owned()),
            body: String::new(),
        }),
        Status::Known => {
            out.push(place(case) + &body(case, causes, &broken, catalogue));
            let why = case.reason.clone().unwrap_or_else(|| message(case, &broken));
            Outcome::Skipped(Told {
                kind: "known-failure".to_owned(),
                message: format!("known failure: {why}"),
                body: String::new(),
            })
        }
        Status::Fail => Outcome::Failure(told(
            leading(case, &broken).map_or("fail", |first| &*first.requirement),
        )),
        Status::Error => Outcome::Error(told("error")),
        Status::Inconclusive => Outcome::Error(told("inconclusive")),
    };
    if !warnings.is_empty() {
        out.push(format!("warnings:\n\n{}", blocks(case, &warnings, catalogue)));
    }
    Case {
        name: case.case.clone(),
        class,
        took_us: case.took_us,
        outcome,
        flaky,
        out: out.join("\n"),
        err: said(&broken),
    }
}

/// What the console said of crashes, and where in the program they were; each once.
fn said(findings: &[&Finding]) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for finding in findings {
        let lines: Vec<&str> =
            finding.console.iter().chain(&finding.places).map(String::as_str).collect();
        let block = lines.join("\n");
        if !block.is_empty() && !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks.join("\n\n")
}

/// What belongs to the run and to no case; `green` when no case is red.
fn of_the_run(summary: &Summary, answers: &[AnswerReport], green: bool) -> Vec<Case> {
    let meaning = exit_meaning(summary).unwrap_or_default();
    let mut cases = Vec::new();
    let mut error = |name: &str, message: &str, body: &str| {
        cases.push(run_case(name, Outcome::Error(told(name, message, body))));
    };
    if let Some(what) = &summary.bench_error {
        error("bench", what.lines().next().unwrap_or("the bench failed"), what);
    } else if summary.exit == 4 {
        error("nothing-ran", "no case was executed", &meaning);
    }
    if summary.interrupted {
        error("interrupted", "the run was interrupted", &meaning);
    }
    // What the exit code forgives is not red here either.
    if summary.exit != 0 && !summary.unexercised.is_empty() {
        let number = summary.unexercised.len();
        let message = format!("unexercised required requirements: {number}");
        error("unexercised", &message, &summary.unexercised.join("\n"));
    }
    if summary.exit != 0 && !summary.stale.is_empty() {
        let message = format!("stale entries: {}", summary.stale.len());
        let told = told("stale-baseline", &message, &summary.stale.join("\n"));
        cases.push(run_case("baseline", Outcome::Failure(told)));
    }
    for (kind, name, type_) in [
        (AnswerKind::Answer, "answers", "answer-changed"),
        (AnswerKind::Capabilities, "capabilities", "capability-lost"),
    ] {
        let failing = answers.iter().filter(|it| it.fails && it.kind == kind);
        let failing: Vec<&AnswerReport> = failing.collect();
        if summary.exit != 0 && !failing.is_empty() {
            let told = told(type_, &changed(&failing), &differences(&failing));
            cases.push(run_case(name, Outcome::Failure(told)));
        }
    }
    if summary.exit != 0 && green && cases.is_empty() {
        cases.push(run_case("exit", Outcome::Error(told("exit", &meaning, ""))));
    }
    cases
}

/// Answers that are not as reviewed, or what the device can do, in a line.
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
    match first.kind {
        AnswerKind::Answer => format!("answer changed: {}: {what}{more}", first.snapshot),
        AnswerKind::Capabilities => format!("{what}{more}"),
    }
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

fn told(kind: &str, message: &str, body: &str) -> Told {
    Told { kind: kind.to_owned(), message: message.to_owned(), body: body.to_owned() }
}

fn run_case(name: &str, outcome: Outcome) -> Case {
    Case {
        name: name.to_owned(),
        class: "mcp-hil.run".to_owned(),
        took_us: 0,
        outcome,
        flaky: None,
        out: String::new(),
        err: String::new(),
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

/// All evidence of a case, and how it is shown again.
fn body(
    case: &CaseReport,
    causes: &[Cause],
    findings: &[&Finding],
    catalogue: &Catalogue,
) -> String {
    let reason = match &case.reason {
        Some(reason) => format!("{:<13}{}\n\n", "reason", clean::line(reason, EVIDENCE)),
        None => String::new(),
    };
    let mut text = format!("{reason}{}", blocks(case, findings, catalogue));
    for failure in case.generated.iter().flat_map(|generated| &generated.failures) {
        text += &format!("{:<13}{}\n", "failure", failure.requirements.join(", "));
        for (label, value) in lines::failure(failure, EVIDENCE) {
            text += &format!("{label:<13}{value}\n");
        }
        text.push('\n');
    }
    if let (true, Some(transcript)) = (case.findings.is_empty(), &case.transcript) {
        text += &format!("{:<13}{}\n", "transcript", clean::line(transcript, EVIDENCE));
    }
    for repro in lines::repro(case, causes) {
        text += &format!("{:<13}{}\n", "repro", repro.text());
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
        .or_else(|| findings.iter().find(|finding| finding.verdict == case.verdict))
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
