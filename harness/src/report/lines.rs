//! The words that all reports use for a case and for a finding.

use mcp_hil_core::catalogue::{Catalogue, Level};
use mcp_hil_core::verdict::{Finding, Verdict};

use super::clean;
use super::layout::{CYAN, Colour, DIM, GREEN, MAGENTA, RED, YELLOW, count};
use crate::event::{CaseReport, Failure, Generated, RunStarted};
use crate::snapshots::{AnswerReport, AnswerState, Answers};

/// What became of a case, in the words of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It passed.
    Pass,
    /// It passed, and a SHOULD is broken.
    Warn,
    /// It failed as the baseline says.
    Known,
    /// Nothing was shown.
    Inconclusive,
    /// It failed.
    Fail,
    /// The bench or the harness broke.
    Error,
    /// It does not apply.
    NotApplicable,
}

impl Status {
    /// The status of a judged case.
    pub fn of(case: &CaseReport) -> Self {
        match case.verdict {
            Verdict::NotApplicable => Self::NotApplicable,
            Verdict::Pass if case.findings.is_empty() => Self::Pass,
            Verdict::Pass => Self::Warn,
            Verdict::Fail if case.known => Self::Known,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Error => Self::Error,
        }
    }

    /// The word that begins its line; at most six letters.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Known => "KNOWN",
            Self::Inconclusive => "INCONC",
            Self::Fail => "FAIL",
            Self::Error => "ERROR",
            Self::NotApplicable => "N/A",
        }
    }

    pub(crate) fn colour(self) -> Colour {
        match self {
            Self::Pass => GREEN,
            Self::Warn | Self::Inconclusive => YELLOW,
            Self::Known => CYAN,
            Self::Fail => RED,
            Self::Error => MAGENTA,
            Self::NotApplicable => DIM,
        }
    }
}

/// The short form of a transport, for columns.
pub(crate) fn short_transport(transport: &str) -> &str {
    if transport == "websocket" {
        "ws"
    } else {
        transport
    }
}

/// A device and its transport in short: `native/ws`.
pub(crate) fn link(dut: &str, transport: &str) -> String {
    clean::visible(&format!("{dut}/{}", short_transport(transport))).into_owned()
}

/// Which part of a run it is, or of how many runs: `, shard 2/3`.
pub(crate) fn part(run: &RunStarted) -> String {
    match (
        run.basis.as_ref().and_then(|basis| basis.shard),
        run.joined.len(),
    ) {
        (Some(shard), _) => format!(", shard {shard}"),
        (None, 0) => String::new(),
        (None, runs) => format!(", joined of {}", count(runs, "run")),
    }
}

/// A requirement with its level and where it stands: `ids.echo (MUST, JSON-RPC 2.0 section 5)`.
pub(crate) fn requirement(slug: &str, level: Level, catalogue: &Catalogue) -> String {
    let level = match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    };
    let source = match catalogue.get(slug) {
        None => String::new(),
        Some(requirement) if requirement.section.is_empty() => format!(", {}", requirement.source),
        Some(requirement)
            if requirement
                .section
                .starts_with(|c: char| c.is_ascii_digit()) =>
        {
            format!(", {} section {}", requirement.source, requirement.section)
        }
        Some(requirement) => format!(", {}: {}", requirement.source, requirement.section),
    };
    clean::visible(&format!("{slug} ({level}{source})")).into_owned()
}

/// The evidence of a finding as labelled lines, each text cut to `limit` characters.
pub(crate) fn evidence(
    finding: &Finding,
    case: &CaseReport,
    catalogue: &Catalogue,
    limit: usize,
) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        (
            "requirement",
            requirement(&finding.requirement, finding.level, catalogue),
        ),
        ("expected", clean::line(&finding.expected, limit)),
        (
            "received",
            or_nothing(clean::line(&finding.received, limit)),
        ),
    ];
    for place in &finding.places {
        rows.push(("where", clean::line(place, limit)));
    }
    if let Some(sent) = &finding.sent {
        rows.push(("sent", clean::line(sent, limit)));
    }
    if let Some(step) = &finding.step {
        rows.push(("step", clean::line(step, limit)));
    }
    if let Some(transcript) = &case.transcript {
        let seq = finding
            .seq
            .map(|seq| format!(" seq {seq}"))
            .unwrap_or_default();
        rows.push(("transcript", clean::line(transcript, limit) + &seq));
    }
    rows
}

/// What a case that passed has shown, in words.
pub(crate) fn shown(case: &CaseReport) -> String {
    match &case.generated {
        Some(generated) => inputs(generated),
        None => count(case.exercised.len(), "requirement"),
    }
}

/// How much was generated: `25 inputs, 140 exchanges`.
pub(crate) fn inputs(generated: &Generated) -> String {
    let mut text = format!(
        "{}, {}",
        count(generated.inputs as usize, "input"),
        count(generated.exchanges, "exchange")
    );
    if !generated.missing.is_empty() {
        text.push_str(&format!("; without {}", generated.missing.join(", ")));
    }
    text
}

/// What became of a failure that generated inputs showed, as labelled lines.
pub(crate) fn failure(failure: &Failure, limit: usize) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some((_, others)) = failure.requirements.split_first()
        && !others.is_empty()
    {
        rows.push((
            "also broken",
            clean::visible(&others.join(", ")).into_owned(),
        ));
    }
    if let Some(second) = &failure.second_try {
        let text = format!("not shown when tried again from a known state: {second}");
        rows.push(("flaky", clean::line(&text, limit)));
    } else {
        let cut_short = failure.cut_short.as_ref();
        let on_twin = match failure.on_twin {
            0 => String::new(),
            number => format!(", {number} of them on the twin"),
        };
        let text = format!(
            "from {} to {} in {}{on_twin}{}",
            failure.from,
            count(failure.to, "exchange"),
            count(failure.steps as usize, "step"),
            cut_short.map_or_else(String::new, |why| format!(" ({why})")),
        );
        rows.push(("shrunk", clean::line(&text, limit)));
    }
    if failure.times > 1 {
        rows.push(("times", format!("{} inputs failed so", failure.times)));
    }
    rows.push(("repro", clean::visible(&failure.repro).into_owned()));
    rows
}

/// What an answer is, in a word of at most seven letters.
pub(crate) fn answer_word(state: AnswerState) -> &'static str {
    match state {
        AnswerState::Changed => "CHANGED",
        AnswerState::New => "NEW",
        AnswerState::Gone => "GONE",
    }
}

/// How the answers of a run compare with the reviewed ones: `18 as reviewed, 1 changed`.
pub(crate) fn answers(answers: &Answers) -> String {
    let others = [
        (answers.changed, "changed"),
        (answers.new, "not reviewed yet"),
        (answers.gone, "gone"),
    ];
    let others = others.iter().filter(|(number, _)| *number > 0);
    let others: String = others
        .map(|(number, word)| format!(", {number} {word}"))
        .collect();
    format!("{} as reviewed{others}", answers.same)
}

/// A labelled line, and whether it may be wrapped.
pub(crate) type Line = (&'static str, String, bool);

/// What became of an answer as labelled lines; of what changed and of the lines that differ `most` are
/// shown.
pub(crate) fn answer(answer: &AnswerReport, limit: usize, most: usize) -> Vec<Line> {
    let told = answer.changes.iter();
    let told = told.map(|change| clean::line(&change.to_string(), limit));
    let lines = answer.diff.iter();
    let lines = lines.map(|line| clean::visible(&clean::cut(line, limit)).into_owned());
    let mut rows = first_of("changed", told.collect(), most, true);
    rows.extend(first_of("diff", lines.collect(), most, false));
    if let Some(note) = &answer.note {
        rows.push(("note", clean::line(note, limit), true));
    }
    rows.push(match &answer.written {
        Some(written) => ("file", clean::line(written, limit), false),
        None => ("reviewed", clean::line(&answer.file, limit), false),
    });
    rows
}

/// The first of some lines below one label.
fn first_of(label: &'static str, all: Vec<String>, most: usize, wraps: bool) -> Vec<Line> {
    let left = all.len().saturating_sub(most);
    let shown = all.into_iter().take(most).enumerate();
    let mut rows: Vec<Line> = shown
        .map(|(at, line)| (if at == 0 { label } else { "" }, line, wraps))
        .collect();
    if left > 0 {
        rows.push(("", format!("... and {left} more"), false));
    }
    rows
}

/// A finding in one line: `ids.echo: expected id 7, received id "7"`.
pub(crate) fn in_short(finding: &Finding, limit: usize) -> String {
    let text = format!(
        "{}: expected {}, received {}",
        finding.requirement,
        clean::cut(&finding.expected, limit),
        or_nothing(clean::cut(&finding.received, limit).into_owned()),
    );
    clean::visible(&text).into_owned()
}

/// Why a case shows nothing or does not apply, from whoever knows.
pub(crate) fn reason(case: &CaseReport) -> Option<&str> {
    let worst = || {
        case.findings
            .iter()
            .find(|finding| finding.verdict == case.verdict)
    };
    case.reason
        .as_deref()
        .or_else(|| Some(worst()?.received.as_str()))
}

/// The slugs of some findings, each once, in order, with how often it is there.
pub(crate) fn tally<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<(&'a str, usize)> {
    let mut slugs: Vec<(&str, usize)> = Vec::new();
    for finding in findings {
        match slugs
            .iter_mut()
            .find(|(slug, _)| *slug == finding.requirement)
        {
            Some((_, times)) => *times += 1,
            None => slugs.push((&finding.requirement, 1)),
        }
    }
    slugs
}

/// A list of which only the first few are named: `a, b and 3 more`.
pub(crate) fn few(items: &[String], most: usize) -> String {
    match items.len().checked_sub(most) {
        None | Some(0) => items.join(", "),
        Some(left) => format!("{} and {left} more", items[..most].join(", ")),
    }
}

fn or_nothing(text: String) -> String {
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        text
    }
}
