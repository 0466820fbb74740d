//! How a comparison of two runs is shown.

use mcp_hil_core::catalogue::Level;
use mcp_hil_core::verdict::Verdict;
use mcp_hil_judge::compare::answers::{AnswerDifference, Latency};
use mcp_hil_judge::compare::tools::{Impact, ToolChange};

use super::{CaseChange, Diff, DutRun, Found, RunShown};
use mcp_hil_record::error::UserError;
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::{Page, count, pad, wrap};
use mcp_hil_runner::snapshots::capabilities::in_words;

/// Columns of a page.
const WIDTH: usize = 80;

/// Characters of a message that people are shown.
const LONGEST_TEXT: usize = 400;

/// Differences in answers that people are shown one by one.
const MOST_ANSWERS: usize = 12;

/// Latencies that people are shown.
const MOST_LATENCIES: usize = 10;

/// An answer is told to be slower or faster when its median changes by this factor,
const FACTOR: u64 = 2;
/// and by as many microseconds: below that, it is the machine.
const LEAST_US: u64 = 5000;

/// The comparison as one line of JSON.
pub(super) fn json(diff: &Diff) -> Result<String, UserError> {
    let text = serde_json::to_string(diff).map_err(|error| {
        UserError::bench(
            format!("cannot write the comparison as JSON: {error}"),
            "this is a bug in mcp-hil",
        )
    })?;
    Ok(text + "\n")
}

/// The comparison for people.
pub(super) fn text(diff: &Diff, verbose: bool) -> String {
    let mut page = Page::new(WIDTH, false);
    run(&mut page, "first", &diff.first);
    run(&mut page, "second", &diff.second);
    if diff.targets_differ {
        page.line("the targets differ; this is where they disagree");
    }
    for case in &diff.cases {
        verdict(&mut page, case);
    }
    for text in &diff.unpaired {
        page.line("");
        page.row("missing", &clean::visible(text));
    }
    for dut_run in &diff.dut_runs {
        capabilities(&mut page, dut_run);
        tools(&mut page, dut_run);
        answers(&mut page, dut_run, verbose);
        latencies(&mut page, dut_run, verbose);
    }
    not_observed(&mut page, diff);
    page.line("");
    page.line(&summary(diff));
    page.take()
}

fn run(page: &mut Page, label: &str, run: &RunShown) {
    page.line(&format!("{label}: {}", run.folder));
    for dut in &run.duts {
        let target = format!("{} over {}: {}", dut.name, dut.transport, dut.fidelity);
        page.row("device", &target);
        if !dut.cannot_show.is_empty() {
            page.row("cannot show", &dut.cannot_show.join(", "));
        }
    }
    if let Some((name, version)) = &run.server {
        page.row("firmware", &short(&format!("{name} {version}")));
    }
}

fn verdict(page: &mut Page, case: &CaseChange) {
    page.line("");
    let change = match case.first == case.second {
        true => format!("{} in both, different findings", word(case.second)),
        false => format!("{} -> {}", word(case.first), word(case.second)),
    };
    page.line(&format!("{} over {}: {change}", case.case, case.transport));
    if let Some(reason) = &case.reason {
        page.row("reason", &short(reason));
    }
    for found in &case.new {
        finding(page, "new", found);
    }
    for found in &case.gone {
        page.row("gone", &requirement(found));
    }
    if !case.new.is_empty() {
        page.whole_row("repro", &clean::visible(&case.repro));
    }
}

fn finding(page: &mut Page, label: &str, found: &Found) {
    page.row(label, &requirement(found));
    page.row("expected", &short(&found.expected));
    page.row("received", &short(&found.received));
}

fn requirement(found: &Found) -> String {
    let level = match found.level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    };
    format!("{} ({level})", found.requirement)
}

fn capabilities(page: &mut Page, dut_run: &DutRun) {
    if dut_run.capabilities.is_empty() {
        return;
    }
    page.line("");
    page.line(&format!("capabilities over {}", dut_run.second));
    let not_tried = |name: &str| dut_run.not_tried.get(name).cloned().unwrap_or_default();
    for change in in_words(&dut_run.capabilities, not_tried) {
        let word = change.kind.split(' ').next_back().unwrap_or_default();
        page.row(word, &short(&change.what));
    }
}

fn tools(page: &mut Page, dut_run: &DutRun) {
    if dut_run.tools.is_empty() && dut_run.pages.is_none() {
        return;
    }
    page.line("");
    page.line(&format!("tools over {}", dut_run.second));
    for ToolChange { tool, change, what } in &dut_run.tools {
        let (kind, impact) = change.words();
        let word = impact.map_or("", Impact::word);
        let what = match what.is_empty() {
            true => format!("{kind}: {tool}"),
            false => format!("{kind}: {tool}: {what}"),
        };
        page.row(word, &short(&what));
    }
    if let Some(pages) = &dut_run.pages {
        page.row("", &format!("page boundaries moved: {pages}"));
    }
}

fn answers(page: &mut Page, dut_run: &DutRun, verbose: bool) {
    let all = &dut_run.answers.differences;
    let most = if verbose { usize::MAX } else { MOST_ANSWERS };
    for difference in all.iter().take(most) {
        answer(page, dut_run, difference);
    }
    if all.len() > most {
        page.line("");
        let more = count(all.len() - most, "more answer");
        page.row("and", &format!("{more} that differ: `--verbose` shows them"));
    }
}

fn answer(page: &mut Page, dut_run: &DutRun, difference: &AnswerDifference) {
    page.line("");
    let times = match difference.times {
        1 => String::new(),
        times => format!(", {times} times"),
    };
    let kind = difference.kind;
    let what = short(&difference.what);
    wrapped(page, "", &format!("{what} over {}: {kind}{times}", dut_run.second));
    page.row("first", &short(&difference.first));
    page.row("second", &short(&difference.second));
    page.row("sent", &short(&difference.sent));
    page.row("in", &short(&format!("{} step {}", difference.case, difference.step)));
}

fn latencies(page: &mut Page, dut_run: &DutRun, verbose: bool) {
    let told = |latency: &&Latency| {
        let (first, second) = (latency.first_us, latency.second_us);
        let (less, more) = (first.min(second), first.max(second));
        verbose || (more >= less.saturating_mul(FACTOR) && more - less >= LEAST_US)
    };
    let told: Vec<&Latency> = dut_run.answers.latencies.iter().filter(told).collect();
    if told.is_empty() {
        return;
    }
    page.line("");
    page.line(&format!(
        "median response times over {}; they do not count as a difference",
        dut_run.second
    ));
    let shown = |micros: u64| format!("{}.{} ms", micros / 1000, micros % 1000 / 100);
    let most = if verbose { usize::MAX } else { MOST_LATENCIES };
    for latency in told.iter().take(most) {
        let times = format!("{} -> {}", shown(latency.first_us), shown(latency.second_us));
        wrapped(page, &format!("    {} ", pad(&times, 24)), &short(&latency.what));
    }
    if told.len() > most {
        page.line(&format!("    and {} more: `--verbose` shows them", told.len() - most));
    }
}

fn not_observed(page: &mut Page, diff: &Diff) {
    if diff.not_observed.is_empty() {
        return;
    }
    page.line("");
    page.line("not compared, because one of the targets cannot show it");
    for case in &diff.not_observed {
        page.row(&case.dut, &short(&format!("{}: {}", case.case, case.reason)));
    }
}

fn summary(diff: &Diff) -> String {
    let pairs: usize = diff.dut_runs.iter().map(|dut_run| dut_run.answers.pairs).sum();
    let compared =
        format!("{} and {} compared", count(diff.compared, "case"), count(pairs, "answer"));
    match diff.differences {
        0 => format!("no difference: {compared}"),
        number => format!("{}: {compared}", count(number, "difference")),
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotApplicable => "not applicable",
        Verdict::Pass => "pass",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Fail => "fail",
        Verdict::Error => "error",
    }
}

/// A text behind what stands before it, wrapped below itself.
fn wrapped(page: &mut Page, before: &str, text: &str) {
    let indent = before.chars().count();
    for (at, part) in wrap(text, WIDTH - indent).iter().enumerate() {
        let before = if at == 0 { before } else { "" };
        page.line(&format!("{}{part}", pad(before, indent)));
    }
}

/// The ends of a long text, on one line. Devices name their tools, and may put anything there.
fn short(text: &str) -> String {
    clean::line(text, LONGEST_TEXT)
}
