//! Markdown for the page that a CI server shows with a run: the verdict first, then what is broken.
//!
//! What devices say is hostile: it gets into a table with every character that could mean something to a
//! reader of Markdown written as a number, and into the evidence inside of fences that it cannot end.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::Finding;

use super::clean;
use super::fanout::Reporter;
use super::json::{Record, Recorder, write_file};
use super::layout::count;
use super::lines::{self, Status, few};
use super::summary::{counts, exit_meaning};
use crate::event::{CaseReport, Event};

/// Most bytes of a summary: GitHub takes one MiB for each step, and nothing of one that is larger.
pub const LIMIT: usize = 1 << 20;

/// Bytes that are kept for what stands at the end.
const END: usize = 16 << 10;

/// Most rows of the table of failures.
const ROWS: usize = 100;

/// Most characters of a text in a table, in the evidence, and of what belongs to the whole run.
const CELL: usize = 160;
const EVIDENCE: usize = 2_000;
const TROUBLE: usize = 2_000;

/// Most changes of an answer that are named in the table.
const CHANGES: usize = 4;

/// Most requirements and stale entries that are named.
const NAMED: usize = 20;

/// A run as Markdown, in at most `limit` bytes; what does not fit is counted.
pub fn render(record: &Record, catalogue: &Catalogue, limit: usize) -> String {
    let summary = &record.summary;
    let mut text = String::new();
    let (sign, word) = match summary.exit {
        0 if summary.known > 0 => ("✅", "conforming, with known failures"),
        0 => ("✅", "conforming"),
        1 => ("❌", "not conforming"),
        4 => ("⚠️", "nothing ran"),
        _ if summary.interrupted => ("⚠️", "cut short"),
        _ => ("⚠️", "no verdict"),
    };
    let _ = writeln!(text, "## {sign} mcp-hil: {word}\n");
    if let Some(meaning) = exit_meaning(summary) {
        let _ = writeln!(text, "**Exit code {}**\n", plain(&meaning));
    }
    let _ = writeln!(text, "{}\n", plain(&counts(summary)));
    devices(&mut text, record);
    troubles(&mut text, record);

    let red: Vec<&CaseReport> = record.cases.iter().filter(|case| is_red(case)).collect();
    if !red.is_empty() {
        table(&mut text, &red);
        let mut told = 0;
        for case in &red {
            let block = block(case, catalogue);
            if text.len() + block.len() + END > limit {
                break;
            }
            text += &block;
            told += 1;
        }
        if told < red.len() {
            let left = count(red.len() - told, "more case");
            let _ = writeln!(
                text,
                "The evidence of {left} is in the reports only: this page is full.\n"
            );
        }
    }
    answers(&mut text, record, limit);
    rest(&mut text, record);
    // Whatever else there may be too much of: a page that is too large is shown to nobody.
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit.saturating_sub(4)));
        text.push_str("\n…");
    }
    text
}

/// Writes the summary to a file when the run is over.
#[derive(Debug)]
pub struct SummaryFile {
    path: PathBuf,
    catalogue: Arc<Catalogue>,
    recorder: Recorder,
}

impl SummaryFile {
    /// A summary for a file; its folder is made when the file is written.
    pub fn new(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>) -> Self {
        Self {
            path: path.into(),
            catalogue,
            recorder: Recorder::default(),
        }
    }
}

impl Reporter for SummaryFile {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.recorder.take(event);
        match (event, self.recorder.record()) {
            (Event::RunFinished(_), Some(record)) => {
                let text = render(record, &self.catalogue, LIMIT);
                write_file(&self.path, text.as_bytes())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a case stands against the run.
pub(super) fn is_red(case: &CaseReport) -> bool {
    matches!(
        Status::of(case),
        Status::Fail | Status::Inconclusive | Status::Error
    )
}

/// What a case is told by in one line: its first finding that counts, or its reason.
pub(super) fn leading(case: &CaseReport) -> Option<&Finding> {
    let counts = |finding: &&Finding| finding.verdict == case.verdict && !finding.known;
    case.findings.iter().find(counts)
}

/// The devices, and what the verdicts on them stand on.
fn devices(text: &mut String, record: &Record) {
    text.push_str("| Device | Stands on | Told by the device |\n|---|---|---|\n");
    for info in &record.run.duts {
        let ready = record
            .duts
            .iter()
            .rfind(|ready| ready.dut == info.name && ready.transport == info.transport);
        let mut told: Vec<String> = Vec::new();
        if let Some(ready) = ready {
            let server = ready.server.as_ref();
            told.extend(server.map(|(name, version)| format!("{name} {version}")));
            told.extend(ready.identity.as_ref().map(ToString::to_string));
        }
        let mut stands = plain(&info.fidelity);
        if !info.cannot_show.is_empty() {
            stands += &format!("<br>not observed: {}", plain(&info.cannot_show.join(", ")));
        }
        let _ = writeln!(
            text,
            "| {} | {stands} | {} |",
            plain(&lines::link(&info.name, &info.transport)),
            match told.len() {
                0 => "nothing".to_owned(),
                _ => code(&told.join("; ")),
            },
        );
    }
    text.push('\n');
}

/// What belongs to no case.
fn troubles(text: &mut String, record: &Record) {
    let summary = &record.summary;
    if let Some(error) = &summary.bench_error {
        let _ = writeln!(text, "### The bench\n\n{}", fence(&lines_of(error)));
    }
    if !summary.stale.is_empty() {
        text.push_str("### Stale entries of the baseline\n\n");
        for stale in summary.stale.iter().take(NAMED) {
            let _ = writeln!(text, "- {}", code(stale));
        }
        if let Some(more @ 1..) = summary.stale.len().checked_sub(NAMED) {
            let _ = writeln!(text, "- and {more} more");
        }
        text.push('\n');
    }
    if !summary.unexercised.is_empty() {
        let _ = writeln!(
            text,
            "**{}** that nothing exercised: {}\n",
            count(summary.unexercised.len(), "required requirement"),
            code_long(&few(&summary.unexercised, NAMED)),
        );
    }
}

fn table(text: &mut String, red: &[&CaseReport]) {
    text.push_str("| Verdict | On | Case | Requirement | Expected | Received |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for case in red.iter().take(ROWS) {
        let (slug, expected, received) = match leading(case) {
            Some(found) => (&*found.requirement, &*found.expected, &*found.received),
            None => ("", "", lines::reason(case).unwrap_or_default()),
        };
        let more = case.findings.iter();
        let more = more.filter(|finding| !finding.is_warning()).count();
        let more = match more.saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {}{more} | {} | {} |",
            Status::of(case).word(),
            plain(&lines::link(&case.dut, &case.transport)),
            plain(&case.case),
            code(slug),
            code(expected),
            code(received),
        );
    }
    if let Some(more @ 1..) = red.len().checked_sub(ROWS) {
        let _ = writeln!(text, "\n{} not in the table.", count(more, "more case"));
    }
    text.push('\n');
}

/// The evidence of a case, folded, with the command that runs it again.
fn block(case: &CaseReport, catalogue: &Catalogue) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some(file) = &case.file {
        let line = case.line.map(|line| format!(":{line}")).unwrap_or_default();
        rows.push(("scenario", clean::line(file, EVIDENCE) + &line));
    }
    if let Some(reason) = &case.reason {
        rows.push(("reason", clean::line(reason, EVIDENCE)));
    }
    for finding in case.findings.iter().filter(|finding| !finding.is_warning()) {
        rows.push(("", String::new()));
        rows.extend(lines::evidence(finding, case, catalogue, EVIDENCE));
    }
    let mut followed = false;
    for failure in case
        .generated
        .iter()
        .flat_map(|generated| &generated.failures)
    {
        followed = true;
        rows.push(("", String::new()));
        rows.push((
            "failure",
            clean::line(&failure.requirements.join(", "), EVIDENCE),
        ));
        rows.extend(lines::failure(failure, EVIDENCE));
    }
    if case.findings.is_empty()
        && let Some(transcript) = &case.transcript
    {
        rows.push(("transcript", clean::line(transcript, EVIDENCE)));
    }
    if !followed {
        rows.push(("repro", clean::visible(&case.repro).into_owned()));
    }
    let rows: Vec<String> = rows
        .iter()
        .map(|(label, value)| format!("{label:<13}{value}").trim_end().to_owned())
        .collect();
    format!(
        "<details><summary>{} {} {}</summary>\n\n{}\n</details>\n\n",
        Status::of(case).word(),
        plain(&lines::link(&case.dut, &case.transport)),
        plain(&case.case),
        fence(&rows.join("\n")),
    )
}

/// Answers that are not as people have reviewed them.
fn answers(text: &mut String, record: &Record, limit: usize) {
    if record.answers.is_empty() {
        return;
    }
    text.push_str("### Answers\n\n");
    if let Some(all) = &record.summary.answers {
        let _ = writeln!(text, "{}.\n", lines::answers(all));
    }
    text.push_str("| Answer | On | What changed |\n|---|---|---|\n");
    for answer in record.answers.iter().take(ROWS) {
        let changes: Vec<String> = answer.changes.iter().map(ToString::to_string).collect();
        let on = match &*answer.transport {
            "" => clean::visible(&answer.dut).into_owned(),
            transport => lines::link(&answer.dut, transport),
        };
        let _ = writeln!(
            text,
            "| {}{} {} | {} | {} |",
            lines::answer_word(answer.state),
            if answer.fails { "" } else { " (allowed)" },
            code(&answer.snapshot),
            plain(&on),
            code_long(&few(&changes, CHANGES)),
        );
    }
    if let Some(more @ 1..) = record.answers.len().checked_sub(ROWS) {
        let _ = writeln!(text, "\n{} not in the table.", count(more, "more answer"));
    }
    text.push('\n');
    for answer in &record.answers {
        let rows = lines::answer(answer, CELL, ROWS).into_iter();
        let rows: Vec<String> = rows
            .map(|(label, value, _)| format!("{label:<13}{value}").trim_end().to_owned())
            .collect();
        let block = format!(
            "<details><summary>{} {}</summary>\n\n{}\n</details>\n\n",
            lines::answer_word(answer.state),
            plain(&answer.snapshot),
            fence(&rows.join("\n")),
        );
        if text.len() + block.len() + END > limit {
            break;
        }
        *text += &block;
    }
    text.push_str("`cargo insta review` shows what waits, and accepts what is meant.\n\n");
}

/// What is good to know, and where it came from.
fn rest(text: &mut String, record: &Record) {
    let mut known = 0;
    let mut warned: Vec<&Finding> = Vec::new();
    for case in &record.cases {
        known += usize::from(Status::of(case) == Status::Known);
        warned.extend(case.findings.iter().filter(|finding| finding.is_warning()));
    }
    let warnings: Vec<String> = lines::tally(warned.into_iter())
        .into_iter()
        .map(|(slug, times)| match times {
            1 => slug.to_owned(),
            _ => format!("{slug} ({times} times)"),
        })
        .collect();
    if !warnings.is_empty() {
        let _ = writeln!(text, "Warnings: {}\n", code_long(&few(&warnings, NAMED)));
    }
    if known > 0 {
        let _ = writeln!(
            text,
            "{}, as the baseline says.\n",
            count(known, "known failure")
        );
    }
    let run = &record.run;
    let strict = if run.strict { ", strict" } else { "" };
    let origin = format!(
        "{}, run {} of {}, seed {}, rules {}{strict}",
        run.tool,
        run.run,
        run.started,
        run.seed,
        run.rules.join(" + "),
    );
    let _ = writeln!(text, "<sub>{}</sub>", plain(&clean::cut(&origin, TROUBLE)));
}

/// A text that people wrote, in a line or a cell.
fn plain(text: &str) -> String {
    let shown: Vec<char> = clean::line(text, TROUBLE).chars().collect();
    let mut safe = String::with_capacity(text.len() + 8);
    for (at, &character) in shown.iter().enumerate() {
        let structural = matches!(
            character,
            '&' | '<'
                | '>'
                | '|'
                | '`'
                | '\\'
                | '*'
                | '_'
                | '['
                | ']'
                | '~'
                | '@'
                | '#'
                | '$'
                | '!'
        );
        // Inside of a word it means nothing, and names are full of it.
        let word = |at: Option<usize>| {
            let letter = at.and_then(|at| shown.get(at));
            letter.is_some_and(char::is_ascii_alphanumeric)
        };
        let emphasis = character == '_' && !(word(at.checked_sub(1)) && word(Some(at + 1)));
        // Readers make links of what begins as an address.
        let www = |before: &[char]| {
            before
                .iter()
                .all(|letter| letter.eq_ignore_ascii_case(&'w'))
        };
        let address = match character {
            ':' => shown.get(at + 1) == Some(&'/'),
            '.' => at >= 3 && www(&shown[at - 3..at]),
            _ => false,
        };
        if structural || emphasis || address {
            // Writing into a string cannot fail.
            let _ = write!(safe, "&#{};", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// A text of a device or about one, as code in a cell.
fn code(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("<code>{}</code>", plain(&clean::cut(text, CELL))),
    }
}

/// The same of a list that is cut already.
fn code_long(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// Lines as they are, in a fence that they cannot end.
fn fence(lines: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for character in lines.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let ticks = "`".repeat(longest + 1);
    format!("{ticks}text\n{lines}\n{ticks}\n")
}

/// A text of several lines, made visible, its lines kept.
fn lines_of(text: &str) -> String {
    let text = clean::cut(text, TROUBLE);
    let lines: Vec<_> = text.lines().map(clean::visible).collect();
    lines.join("\n")
}
