//! What stands at the end of a run: the summary line, what is left open, the exit code in words.

use std::collections::BTreeMap;

use super::across::{Across, compared};
use super::lines;
use mcp_hil_record::about::judged;
use mcp_hil_record::cause::unexplained;
use mcp_hil_record::event::{DutInfo, Summary};
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::few;
use mcp_hil_record::text::layout::{GREEN, Page, RED, YELLOW, count, seconds, time};

/// Most unexercised requirements that are named; `report.json` names all.
const UNEXERCISED_NAMED: usize = 12;

/// Most cases in which devices differ that are named, and devices of each.
const DIFFERENCES_NAMED: usize = 6;

/// Most characters of one line of a bench error.
const BENCH_LINE: usize = 600;

/// How many of the cases that there was no time for are named.
const LEFT_OUT_NAMED: usize = 8;

/// How long the answers of a device must have been waited for, in microseconds, for the number to be told.
const LONG_WAIT_US: u64 = 2_000_000;

/// How long answers must have been waited for in vain, in microseconds, for that to be told.
const LONG_IN_VAIN_US: u64 = 20_000_000;

/// Warnings of a run: by slug, how many there are and the case of the first.
pub(crate) type Warnings = BTreeMap<String, (usize, String)>;

/// What an exit code other than 0 means for this run, in one line.
pub fn exit_meaning(summary: &Summary) -> Option<String> {
    let reviewed = summary.answers.as_ref();
    let meaning = match summary.exit {
        0 => return None,
        1 => {
            let causes: Vec<&str> = [
                (summary.failed > 0, "the device does not conform"),
                (summary.errors > 0, "cases failed because of the harness or the bench"),
                (summary.inconclusive > 0, "cases were inconclusive"),
                (summary.flaky > 0 && summary.flaky_fails, "cases were flaky"),
                (
                    !unexplained(&summary.unexercised, &summary.causes).is_empty(),
                    "requirements were not exercised",
                ),
                (!summary.stale.is_empty(), "the baseline is stale"),
                (
                    reviewed.is_some_and(|answers| answers.failed > 0),
                    "answers differ from the reviewed ones",
                ),
                (
                    reviewed.is_some_and(|answers| answers.capabilities_fail),
                    "the device's capabilities differ from the reviewed ones",
                ),
            ]
            .iter()
            .filter(|(applies, _)| *applies)
            .map(|(_, cause)| *cause)
            .collect();
            if causes.is_empty() { "not conforming".to_owned() } else { causes.join("; ") }
        }
        2 => "wrong usage or configuration; this says nothing about the device".to_owned(),
        3 => "the bench or the set-up failed; this says nothing about the device".to_owned(),
        4 => "nothing ran; this says nothing about the device".to_owned(),
        101 => "a bug in mcp-hil; this says nothing about the device".to_owned(),
        _ if summary.interrupted => "the run was interrupted".to_owned(),
        _ => "not conforming".to_owned(),
    };
    Some(format!("{}: {meaning}", summary.exit))
}

/// What no run with the devices of this one can show, for people; nothing where that is nothing.
fn hidden(duts: &[DutInfo]) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in duts.iter().flat_map(|dut| &dut.cannot_show) {
        if !words.contains(&&**word) {
            words.push(word);
        }
    }
    (!words.is_empty()).then(|| clean::visible(&words.join(", ")).into_owned())
}

/// What is known of a run beside its summary.
pub(crate) struct Beside<'a> {
    /// Its warnings.
    pub(crate) warnings: &'a Warnings,
    /// How many cases were to run.
    pub(crate) planned: usize,
    /// The devices.
    pub(crate) duts: &'a [DutInfo],
    /// Those that listed no tool, by device and transport.
    pub(crate) toolless: &'a [String],
    /// The cases of several devices, side by side.
    pub(crate) across: &'a Across,
}

/// Puts the end of a run on the page.
pub(crate) fn put(page: &mut Page, summary: &Summary, beside: &Beside<'_>) {
    let Beside { warnings, planned, duts, toolless, across } = *beside;
    let colour = match summary.exit {
        0 if summary.warnings == 0 && summary.flaky == 0 => GREEN,
        0 => YELLOW,
        _ => RED,
    };
    page.long_status("Summary", colour, &seconds(summary.took_us), &counts(summary));

    if summary.warnings > 0 || !warnings.is_empty() {
        page.row("warnings", &warning_list(summary, warnings));
    }
    let unexercised = unexplained(&summary.unexercised, &summary.causes);
    if !unexercised.is_empty() {
        let number = unexercised.len();
        let unexercised: Vec<String> = unexercised.into_iter().cloned().collect();
        let named = few(&unexercised, UNEXERCISED_NAMED);
        page.row("unexercised", &clean::visible(&format!("{number}: {named}")));
    }
    if let Some(told) = differences(duts, across) {
        page.row("differ", &told);
    }
    if let Some(answers) = &summary.answers {
        if answers.has_answers() {
            page.row("answers", &lines::answers(answers));
        }
        if let Some(told) = lines::capabilities(answers) {
            page.row("capabilities", &told);
        }
    }
    for (at, line) in slow(summary).iter().enumerate() {
        page.row(if at == 0 { "timing" } else { "" }, &clean::line(line, BENCH_LINE));
    }
    if let Some(told) = round_trips(summary) {
        page.row("round trips", &clean::line(&told, BENCH_LINE));
    }
    if let Some(told) = in_vain(summary) {
        page.row("waited", &clean::line(&told, BENCH_LINE));
    }
    // What an entry names, its line in the file says. One that names no requirement hides what nobody
    // may have read.
    let wide = summary.covered.iter().filter(|it| it.any_requirement);
    for (at, covered) in wide.enumerate() {
        let label = if at == 0 { "covered" } else { "" };
        page.row(label, &clean::line(&lines::covered(covered), BENCH_LINE));
    }
    for (at, stale) in summary.stale.iter().enumerate() {
        let label = if at == 0 { "stale" } else { "" };
        page.row(label, &clean::line(stale, BENCH_LINE));
    }
    if let Some(error) = &summary.bench_error {
        let lines = error.lines().map(str::trim_end).filter(|line| !line.is_empty());
        for (at, line) in lines.enumerate() {
            let label = if at == 0 { "bench error" } else { "" };
            page.row(label, &clean::line(line, BENCH_LINE));
        }
    }
    put_what_is_missing(page, summary, planned);
    if !toolless.is_empty() && summary.cases > 0 {
        let text = format!("tools: none was listed ({})", toolless.join(", "));
        page.row("not tested", &clean::visible(&text));
    }
    if let Some(hidden) = hidden(duts).filter(|_| summary.cases > 0) {
        page.row("not observed", &hidden);
    }
    if !summary.folder.is_empty() {
        page.whole_row("report", &clean::visible(&summary.folder));
    }
    if let Some(meaning) = exit_meaning(summary) {
        page.row("exit", &meaning);
    }
    // The last line, and one line: it must not be missed, nor cut off.
    if let Some(judged) = judged(duts, summary) {
        page.whole_row("judged", &judged);
    }
}

/// Says why a run has not carried out everything, and what it left out.
fn put_what_is_missing(page: &mut Page, summary: &Summary, planned: usize) {
    let done = summary.cases + summary.not_applicable;
    if let Some(stopped) = &summary.stopped {
        let text = format!("{stopped}, with {done} of {} done", count(planned, "case"));
        page.row("stopped", &clean::visible(&text));
    }
    for (at, (dut, cases)) in summary.left_out.iter().enumerate() {
        let several = summary.left_out.len() > 1;
        let label = if at == 0 { "left out" } else { "" };
        page.row(label, &clean::line(&left_out(dut, cases, several), BENCH_LINE));
    }
    if summary.interrupted {
        page.row("interrupted", &format!("after {done} of {}", count(planned, "case")));
    }
}

/// `80 cases: list/pages, list/inventory and 78 more (all in report.json)`.
fn left_out(dut: &str, cases: &[String], several: bool) -> String {
    let of = if several { format!("{dut}: ") } else { String::new() };
    let named: Vec<&str> = cases.iter().take(LEFT_OUT_NAMED).map(String::as_str).collect();
    let more = match cases.len().saturating_sub(LEFT_OUT_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more (all in report.json)"),
    };
    format!("{of}{}: {}{more}", count(cases.len(), "case"), named.join(", "))
}

/// `41 cases on 1 DUT: 39 passed, 1 failed, 1 inconclusive; 126 of 131 required requirements
/// exercised`.
pub(super) fn counts(summary: &Summary) -> String {
    let duts = count(summary.duts, "DUT");
    let mut text = if summary.cases == 0 {
        format!("nothing ran on {duts}")
    } else {
        let verdicts: Vec<String> = [
            (summary.passed, "passed".to_owned(), true),
            (summary.failed, "failed".to_owned(), false),
            (summary.known, plural(summary.known, "known failure"), false),
            (summary.flaky, "flaky".to_owned(), false),
            (summary.inconclusive, "inconclusive".to_owned(), false),
            (summary.errors, plural(summary.errors, "error"), false),
        ]
        .into_iter()
        .filter(|(number, _, always)| *always || *number > 0)
        .map(|(number, word, _)| format!("{number} {word}"))
        .collect();
        format!("{} on {duts}: {}", count(summary.cases, "case"), verdicts.join(", "))
    };
    if summary.not_applicable > 0 {
        text += &format!("; {} not applicable", summary.not_applicable);
    }
    if let Some(lost @ 1..) = summary.answers.as_ref().map(|answers| answers.lost.len()) {
        text += match lost {
            1 => "; 1 capability lost".to_owned(),
            number => format!("; {number} capabilities lost"),
        }
        .as_str();
    }
    if summary.required > 0 {
        text += &format!(
            "; {} of {} required requirements exercised",
            summary.exercised, summary.required
        );
    }
    text
}

/// The cases in which devices differ: on which of them it came to something else than on most.
fn differences(duts: &[DutInfo], across: &Across) -> Option<String> {
    let links = compared(duts.iter().map(|dut| (&*dut.name, &*dut.transport)));
    let different = across.different(&links);
    let told: Vec<String> = different
        .iter()
        .map(|case| {
            let word = |link: &(&str, &str)| {
                let cell = across.cell(case, link.0, link.1);
                cell.map_or("not run", |cell| cell.status.word())
            };
            let words: Vec<&str> = links.iter().map(word).collect();
            let times = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
            let usual = words.iter().copied().max_by_key(|word| (times(word), *word == "PASS"));
            let others = links.iter().zip(&words).filter(|(_, word)| Some(**word) != usual);
            let others: Vec<String> = others
                .map(|((dut, transport), word)| {
                    format!("{word} on {}", lines::link(dut, transport))
                })
                .collect();
            match &others[..] {
                [] => format!("{case} (in what is broken)"),
                others => format!("{case} ({})", few(others, DIFFERENCES_NAMED)),
            }
        })
        .collect();
    let number = count(different.len(), "case");
    (!told.is_empty()).then(|| {
        clean::visible(&format!("in {number}: {}", few(&told, DIFFERENCES_NAMED))).into_owned()
    })
}

/// How long devices took for their answers, where that is worth a line: one for each kind of request that
/// is slow, or stalls.
fn slow(summary: &Summary) -> Vec<String> {
    let several = summary.timing.len() > 1;
    let rows = summary.timing.iter();
    let rows = rows.flat_map(|(dut_run, rows)| rows.iter().map(move |row| (dut_run, row)));
    rows.filter(|(_, row)| row.is_noteworthy())
        .map(|(dut_run, row)| {
            let over = match several {
                true => format!(" ({dut_run})"),
                false => String::new(),
            };
            let stalls = match row.stalls {
                0 => String::new(),
                number => format!(", {}", count(number as usize, "stall")),
            };
            format!(
                "{}{over}: median {}, 99 of 100 within {}, slowest {}{stalls}",
                row.kind,
                time(row.median_us),
                time(row.p99_us),
                time(row.worst_us)
            )
        })
        .collect()
}

/// How often each device was waited for, where that made the run long.
fn round_trips(summary: &Summary) -> Option<String> {
    let waited = |(dut_run, trips): &(&String, &u64)| {
        let rows = summary.timing.get(*dut_run).into_iter().flatten();
        let usual = rows.max_by_key(|row| row.answers).map_or(0, |row| row.median_us);
        (*trips * usual >= LONG_WAIT_US).then_some(usual)
    };
    let several = summary.round_trips.len() > 1;
    let told: Vec<String> = summary
        .round_trips
        .iter()
        .filter_map(|trip| Some((waited(&trip)?, trip)))
        .map(|(usual, (dut_run, trips))| {
            let over = if several { format!(" ({dut_run})") } else { String::new() };
            let together = summary.in_flight.get(dut_run);
            let together = together.map_or_else(String::new, |number| {
                format!(", up to {number} messages in flight together")
            });
            format!("{trips} of about {}{together}{over}", time(usual))
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// How long answers were waited for that did not come, where that made the run long.
fn in_vain(summary: &Summary) -> Option<String> {
    let several = summary.unanswered.len() > 1;
    let long = summary.unanswered.iter().filter(|(_, it)| it.waited_us >= LONG_IN_VAIN_US);
    let told: Vec<String> = long
        .map(|(dut_run, it)| {
            let over = if several { format!(" ({dut_run})") } else { String::new() };
            let answers = count(usize::try_from(it.number).unwrap_or(usize::MAX), "answer");
            format!("{} s for {answers} that did not come{over}", it.waited_us / 1_000_000)
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn warning_list(summary: &Summary, warnings: &Warnings) -> String {
    let slugs: Vec<String> = warnings
        .iter()
        .map(|(slug, (times, first))| match times {
            1 => format!("{slug} (in {first})"),
            _ => format!("{slug} {times} times (first in {first})"),
        })
        .collect();
    let named = if slugs.is_empty() { String::new() } else { format!(": {}", slugs.join(", ")) };
    clean::visible(&format!("{}{named}", summary.warnings)).into_owned()
}

fn plural(number: usize, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}
