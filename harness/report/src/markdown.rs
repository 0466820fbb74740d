//! Markdown for the page that a CI server shows with a run: the verdict first, then what is broken.
//!
//! What devices say is hostile: it gets into a table with every character that could mean something to a
//! reader of Markdown written as a number, and into the evidence inside of fences that it cannot end.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::Finding;

use super::lines::{self, Status};
use super::summary::{counts, exit_meaning};
use mcp_hil_record::about::{judged, stood_in};
use mcp_hil_record::cause::{Cause, unexplained};
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::count;
use mcp_hil_record::text::layout::few;
use mcp_hil_record::{Record, ReportFile};

/// Most bytes of a summary: GitHub takes one MiB for each step, and nothing of one that is larger.
pub const LIMIT: usize = 1 << 20;

/// Bytes that are kept for what stands at the end.
const END: usize = 16 << 10;

/// Most rows of the table of failures.
const ROWS: usize = 100;

/// Most characters of a text in a table, in the evidence, and of what belongs to the whole run.
const CELL: usize = 160;
const EVIDENCE: usize = 300;
const LEAST_EVIDENCE: usize = 60;
const EVIDENCE_STEP: usize = 40;
const TROUBLE: usize = 2_000;

/// Most changes of an answer that are named in the table.
const CHANGES: usize = 4;

/// Most requirements and stale entries that are named.
const NAMED: usize = 20;

/// How long a summary of few causes may be: what fits on a screen or two is read.
const SHORT: usize = 4 << 10;

/// Up to how many causes are few.
const FEW: usize = 4;

/// A run as Markdown, in at most `limit` bytes; what does not fit is counted. That of few causes is short.
pub fn render(record: &Record, catalogue: &Catalogue, limit: usize) -> String {
    if record.summary.causes.len() > FEW {
        return with_evidence(record, catalogue, limit, EVIDENCE);
    }
    let limits = (LEAST_EVIDENCE..=EVIDENCE).rev().step_by(EVIDENCE_STEP);
    let mut texts = limits.map(|evidence| with_evidence(record, catalogue, limit, evidence));
    let fits = |text: &String| text.len() <= SHORT;
    texts.find(fits).unwrap_or_else(|| with_evidence(record, catalogue, limit, LEAST_EVIDENCE))
}

/// The same, with so many characters of each text of evidence.
fn with_evidence(record: &Record, catalogue: &Catalogue, limit: usize, evidence: usize) -> String {
    let summary = &record.summary;
    let mut text = String::new();
    let (sign, word) = match summary.exit {
        0 if summary.flaky > 0 => ("⚠️", "conforming, with flaky cases"),
        0 if summary.known > 0 => ("✅", "conforming, with known failures"),
        0 => ("✅", "conforming"),
        1 => ("❌", "not conforming"),
        4 => ("⚠️", "nothing ran"),
        _ if summary.interrupted => ("⚠️", "interrupted"),
        _ => ("⚠️", "no verdict"),
    };
    let _ = writeln!(text, "## {sign} mcp-hil: {word}\n");
    if let Some(meaning) = exit_meaning(summary) {
        let _ = writeln!(text, "**Exit code {}**\n", plain(&meaning));
    }
    let _ = writeln!(text, "{}\n", plain(&counts(summary)));
    if let Some(judged) = judged(&record.run.duts, summary) {
        let _ = writeln!(text, "⚠️ **Judged: {}**\n", plain(&judged));
    }
    devices(&mut text, record);
    troubles(&mut text, record);

    let causes = &summary.causes;
    if !causes.is_empty() {
        table(&mut text, causes, catalogue);
        let mut told = 0;
        for cause in causes {
            let block = block(cause, record, catalogue, evidence);
            if text.len() + block.len() + END > limit {
                break;
            }
            text += &block;
            told += 1;
        }
        if told < causes.len() {
            let left = count(causes.len() - told, "more cause");
            let _ = writeln!(
                text,
                "The evidence of {left} is only in the reports: this page is full.\n"
            );
        }
    }
    flaky(&mut text, record);
    others(&mut text, record);
    answers(&mut text, record, limit);
    rest(&mut text, record);
    // Whatever else there may be too much of: a page that is too large is shown to nobody.
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit.saturating_sub(4)));
        text.push_str("\n…");
    }
    text
}

/// The summary as a file.
pub fn file(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>) -> ReportFile {
    ReportFile::new(path, move |record| Ok(render(record, &catalogue, LIMIT).into_bytes()))
}

/// Whether a case stands against the run.
pub(super) fn is_red(case: &CaseReport) -> bool {
    matches!(Status::of(case), Status::Fail | Status::Inconclusive | Status::Error)
}

/// The devices, and what the verdicts on them stand on.
fn devices(text: &mut String, record: &Record) {
    text.push_str("| Device | Based on | Reported by the device |\n|---|---|---|\n");
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
        if let Some(instead) = stood_in(std::slice::from_ref(info)) {
            stands += &format!("<br>{}", plain(&instead));
        }
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
        text.push_str("### Stale baseline entries\n\n");
        for stale in summary.stale.iter().take(NAMED) {
            let _ = writeln!(text, "- {}", code(stale));
        }
        if let Some(more @ 1..) = summary.stale.len().checked_sub(NAMED) {
            let _ = writeln!(text, "- and {more} more");
        }
        text.push('\n');
    }
    if summary.covered.iter().any(|it| it.any_requirement) {
        text.push_str("### Covered by baseline entries without a requirement\n\n");
        let wide = summary.covered.iter().filter(|it| it.any_requirement);
        for covered in wide.take(NAMED) {
            let _ = writeln!(text, "- {}", code_long(&lines::covered(covered)));
        }
        text.push('\n');
    }
    let unexercised = unexplained(&summary.unexercised, &summary.causes);
    if !unexercised.is_empty() {
        let unexercised: Vec<String> = unexercised.into_iter().cloned().collect();
        let _ = writeln!(
            text,
            "**{}** not exercised: {}\n",
            count(unexercised.len(), "required requirement"),
            code_long(&few(&unexercised, NAMED)),
        );
    }
}

/// What is broken; the evidence stands below.
fn table(text: &mut String, causes: &[Cause], catalogue: &Catalogue) {
    text.push_str("| Broken | On | Cases | What is required |\n|---|---|---|---|\n");
    for cause in causes.iter().take(ROWS) {
        let (slug, level) = (&cause.finding.requirement, cause.finding.level);
        let sentence = lines::sentence(slug, level, catalogue);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            code(slug),
            plain(&lines::link(&cause.dut, &cause.transport)),
            cause.cases.len(),
            plain(&clean::cut(&sentence, CELL)),
        );
    }
    if let Some(more @ 1..) = causes.len().checked_sub(ROWS) {
        let _ = writeln!(text, "\n{} not in the table.", count(more, "more cause"));
    }
    text.push('\n');
}

/// The evidence of a cause, folded, with the command that shows it again.
fn block(cause: &Cause, record: &Record, catalogue: &Catalogue, limit: usize) -> String {
    let mut rows = lines::cause(cause, catalogue, limit);
    // The table has it.
    rows.retain(|(label, _)| *label != "requirement");
    let mut cases = record.cases.iter().filter(|case| cause.spoils(case));
    if let Some(case) = cases.find(|case| case.case == cause.case)
        && let Some(file) = &case.file
    {
        let line = case.line.map(|line| format!(":{line}")).unwrap_or_default();
        rows.insert(0, ("scenario", clean::line(file, EVIDENCE) + &line));
    }
    let rows: Vec<String> = rows
        .iter()
        .map(|(label, value)| format!("{label:<13}{value}").trim_end().to_owned())
        .collect();
    format!(
        "<details><summary>{} {}</summary>\n\n{}\n</details>\n\n",
        plain(&cause.finding.requirement),
        plain(&lines::link(&cause.dut, &cause.transport)),
        fence(&rows.join("\n")),
    )
}

/// Cases that passed only when they were tried again.
fn flaky(text: &mut String, record: &Record) {
    let cases: Vec<String> = record
        .cases
        .iter()
        .filter(|case| case.flaky)
        .map(|case| {
            let link = lines::link(&case.dut, &case.transport);
            let first = case.findings.first().map_or("", |finding| &*finding.requirement);
            let attempts = lines::attempts(case).unwrap_or_default();
            format!("- FLAKY {} {}: {}, {attempts}", plain(&link), plain(&case.case), code(first))
        })
        .collect();
    if let Some(more) = cases.len().checked_sub(1) {
        let _ =
            writeln!(text, "{}", cases.iter().take(ROWS).cloned().collect::<Vec<_>>().join("\n"));
        if more >= ROWS {
            let _ = writeln!(text, "\n{} more.", cases.len() - ROWS);
        }
        text.push('\n');
    }
}

/// Cases that stand against the run without a cause of the device: the bench spoilt them.
fn others(text: &mut String, record: &Record) {
    let spoilt = |case: &&CaseReport| {
        is_red(case) && !record.summary.causes.iter().any(|cause| cause.spoils(case))
    };
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for case in record.cases.iter().filter(spoilt) {
        let reason = lines::reason(case).unwrap_or("no reason given");
        let name = format!(
            "{} {} {}",
            Status::of(case).word(),
            lines::link(&case.dut, &case.transport),
            case.case
        );
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    for (reason, names) in reasons.iter().take(ROWS) {
        let _ = writeln!(text, "- {}: {}", plain(&few(names, NAMED)), code(reason));
    }
    if !reasons.is_empty() {
        text.push('\n');
    }
}

/// Answers that are not as people have reviewed them.
fn answers(text: &mut String, record: &Record, limit: usize) {
    if record.answers.is_empty() {
        return;
    }
    text.push_str("### Answers\n\n");
    if let Some(all) = &record.summary.answers {
        if all.has_answers() {
            let _ = writeln!(text, "{}.\n", lines::answers(all));
        }
        if let Some(told) = lines::capabilities(all) {
            let _ = writeln!(text, "Capabilities: {told}.\n");
        }
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
    text.push_str("`mcp-hil review` shows pending changes, and accepts intended ones.\n\n");
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
        let _ = writeln!(text, "{}, listed in the baseline.\n", count(known, "known failure"));
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
        let www = |before: &[char]| before.iter().all(|letter| letter.eq_ignore_ascii_case(&'w'));
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
