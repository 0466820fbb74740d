//! HTML for everybody: one file that opens from a folder, needs no network and hides nothing.
//!
//! The verdict, the devices, the cases with their evidence and the requirement matrix are plain HTML.
//! Timelines lie in the page as data, one packed block a case, and the script draws what is opened; so a run of
//! 100,000 exchanges opens at once, and its page has some MiB. (The page could not load them from the run's folder:
//! browsers let no file read another one, and a page is often sent away alone.) A policy in the page forbids all that could reach out, and any script
//! but this one. Unlike other reporters this one reads the transcripts, which are no events: when the run is
//! over they lie in its folder.

mod across;
mod cases;
mod chart;
mod code;
mod device;
mod differ;
mod latency;
mod matrix;
mod previous;
mod text;
mod timeline;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use sha2::{Digest, Sha256};

use self::cases::Cases;
use self::previous::Previous;
use self::text::{escape, escape_cut};
use super::lines::{self, Status};
use super::summary::exit_meaning;
use mcp_hil_record::about::judged;
use mcp_hil_record::event::Summary;
use mcp_hil_record::text::layout::{count, time};
use mcp_hil_record::{Record, ReportFile};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Most notices and most stale entries that are shown, and the characters of each.
const NOTICES: usize = 100;
const NOTICE: usize = 2_000;

/// Most broken requirements that are named at the top.
const BROKEN: usize = 12;

/// Most answers that are named at the top as other than reviewed, and changes in one of them.
const CHANGED: usize = 40;

/// Where the page gets what is no event.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The run's folder, in which the transcripts lie.
    pub folder: PathBuf,
    /// The folder of the run to compare with; without one it is the newest earlier run of the same
    /// device beside this one.
    pub compare: Option<PathBuf>,
}

/// The page as a file.
pub fn file(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>, sources: Sources) -> ReportFile {
    ReportFile::new(path, move |record| Ok(render(record, &catalogue, &sources).into_bytes()))
}

/// Writes a run as a page. The same record, transcripts and earlier run give the same bytes.
pub fn render(record: &Record, catalogue: &Catalogue, sources: &Sources) -> String {
    let previous = match &sources.compare {
        Some(folder) => mcp_hil_record::read::read_record(folder)
            .ok()
            .map(|record| Previous { folder: folder.clone(), record }),
        None => Previous::beside(&sources.folder, record),
    };
    let links = links(record);
    let cases = Cases::of(record, catalogue, &sources.folder);
    let summary = &record.summary;
    let (class, verdict) = verdict(summary);
    // Comparisons of two transports are no device.
    let planned = &links[..record.run.duts.len().min(links.len())];
    let names = names(planned);
    let hash = data_encoding::BASE64.encode(&Sha256::digest(SCRIPT.as_bytes()));
    let mut statuses: BTreeMap<u8, (Status, usize)> = BTreeMap::new();
    for status in record.cases.iter().map(Status::of) {
        statuses.entry(rank(status)).or_insert((status, 0)).1 += 1;
    }
    let broken = broken(record, &cases, catalogue);
    let latencies: String = cases
        .latencies
        .into_iter()
        .map(|((dut, transport), taken)| taken.html(&lines::link(&dut, &transport)))
        .chain((record.summary.timing.iter()).map(|(dut_run, rows)| latency::timing(dut_run, rows)))
        .collect();

    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    parts.insert("policy", format!("'sha256-{hash}'"));
    parts.insert("title", format!("{verdict}: {names}"));
    parts.insert("style", STYLE.to_owned());
    parts.insert("script", SCRIPT.to_owned());
    parts.insert("class", class.to_owned());
    parts.insert("verdict", verdict.to_owned());
    parts.insert("names", names);
    parts.insert("about", about(record));
    parts.insert("bar", bar(&statuses));
    parts.insert("broken", broken);
    parts.insert("troubles", troubles(record));
    parts.insert("reviewed", reviewed(record));
    parts.insert("previous", previous.map_or_else(String::new, |previous| previous.html(record)));
    parts.insert("across", across::html(record, planned));
    parts.insert("devices", device::html(record, planned));
    parts.insert("filters", filters(&statuses));
    parts.insert("cases", cases.html);
    parts.insert("matrix", matrix::html(record, &links, catalogue));
    parts.insert(
        "latencies",
        match &*latencies {
            "" => "<p class=\"dim\">Nothing was answered.</p>".to_owned(),
            _ => latencies,
        },
    );
    parts.insert("data", cases.data);
    parts.insert("foot", foot(record));
    fill(PAGE, &parts)
}

/// The devices of the run; of many, how many there are, and the first.
fn names(links: &[(&str, &str)]) -> String {
    const NAMED: usize = 6;
    let mut names: Vec<String> =
        links.iter().map(|(dut, transport)| lines::link(dut, transport)).collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 1 {
        names.truncate(NAMED);
        return format!("{} and {more} more", escape_cut(&names.join(", "), 200));
    }
    escape_cut(&names.join(", "), 200)
}

/// Puts the parts into the page. What a part holds is never looked at again.
fn fill(page: &str, parts: &BTreeMap<&str, String>) -> String {
    let mut html =
        String::with_capacity(page.len() + parts.values().map(String::len).sum::<usize>());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        html.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        html.push_str(parts.get(name).map_or("", String::as_str));
        rest = after;
    }
    html.push_str(rest);
    html
}

/// The devices over their transports, in the order in which they ran.
fn links(record: &Record) -> Vec<(&str, &str)> {
    let planned = record.run.duts.iter();
    let mut links: Vec<(&str, &str)> = planned.map(|dut| (&*dut.name, &*dut.transport)).collect();
    for case in &record.cases {
        if !links.contains(&(&case.dut, &case.transport)) {
            links.push((&case.dut, &case.transport));
        }
    }
    links
}

/// The run in one word, and its colour.
fn verdict(summary: &Summary) -> (&'static str, &'static str) {
    match summary.exit {
        _ if summary.interrupted => ("inconc", "Interrupted"),
        0 if summary.flaky > 0 => ("warn", "Conforming, with flaky cases"),
        0 if summary.warnings > 0 => ("warn", "Conforming, with warnings"),
        0 => ("pass", "Conforming"),
        3 => ("error", "The bench failed"),
        4 => ("inconc", "Nothing ran"),
        _ if summary.failed > 0 => ("fail", "Not conforming"),
        _ if summary.errors > 0 => ("error", "Bench failure"),
        _ if summary.inconclusive > 0 => ("inconc", "Inconclusive"),
        _ => ("fail", "Not conforming"),
    }
}

/// Where a status stands among others: what people must see comes first.
fn rank(status: Status) -> u8 {
    match status {
        Status::Fail => 0,
        Status::Error => 1,
        Status::Inconclusive => 2,
        Status::Flaky => 3,
        Status::Known => 4,
        Status::Warn => 5,
        Status::Pass => 6,
        Status::NotApplicable => 7,
    }
}

/// The name of a status in styles and in the script.
fn class(status: Status) -> &'static str {
    match status {
        Status::Pass => "pass",
        Status::Warn => "warn",
        Status::Known => "known",
        Status::Flaky => "flaky",
        Status::Inconclusive => "inconc",
        Status::Fail => "fail",
        Status::Error => "error",
        Status::NotApplicable => "na",
    }
}

fn badge(status: Status) -> String {
    format!("<span class=\"badge {}\">{}</span>", class(status), status.word())
}

/// When, with what, how long.
fn about(record: &Record) -> String {
    let (run, summary) = (&record.run, &record.summary);
    let requirements = match summary.required {
        0 => String::new(),
        required => {
            format!(" · {} of {required} required requirements exercised", summary.exercised)
        }
    };
    format!(
        "{} · {} · {}{requirements}",
        escape_cut(&run.started, 40),
        time(summary.took_us),
        count(summary.cases, "case"),
    )
}

/// The cases by status, as one bar.
fn bar(statuses: &BTreeMap<u8, (Status, usize)>) -> String {
    let segments = statuses.values().map(|(status, number)| {
        let (class, word) = (class(*status), status.word());
        format!("<i class=\"{class}\" style=\"flex:{number}\" title=\"{number} {word}\"></i>")
    });
    segments.collect()
}

fn filters(statuses: &BTreeMap<u8, (Status, usize)>) -> String {
    let buttons = statuses.values().map(|(status, number)| {
        let class = class(*status);
        format!(
            "<button type=\"button\" class=\"badge {class}\" data-status=\"{class}\" \
             aria-pressed=\"true\">{number} {}</button>",
            status.word()
        )
    });
    buttons.collect()
}

/// What is wrong, each thing once, with its evidence and the cases that it spoils.
fn broken(record: &Record, cases: &Cases, catalogue: &Catalogue) -> String {
    let causes = &record.summary.causes;
    let shown: String =
        causes.iter().take(BROKEN).map(|cause| cases.cause(cause, catalogue)).collect();
    let left = match causes.len().saturating_sub(BROKEN) {
        0 => String::new(),
        left => format!("<p class=\"cut\">{left} more; <code>report.json</code> has them all.</p>"),
    };
    match causes.is_empty() {
        true => String::new(),
        false => format!("<section class=\"causes\"><h2>What is wrong</h2>{shown}{left}</section>"),
    }
}

/// Answers, and what the device can do, where they are not as people have reviewed them.
fn reviewed(record: &Record) -> String {
    let rows = record.answers.iter().take(CHANGED).map(|answer| {
        let class = if answer.fails { "fail" } else { "warn" };
        let on = match &*answer.transport {
            "" => answer.dut.clone(),
            transport => lines::link(&answer.dut, transport),
        };
        let changes = answer.changes.iter().take(CHANGED);
        let changes =
            changes.map(|change| format!("<br>{}", escape_cut(&change.to_string(), NOTICE)));
        let note = answer.note.iter();
        let note = note.map(|note| format!("<br>{}", escape_cut(note, NOTICE)));
        format!(
            "<li><span class=\"badge {class}\">{}</span> {} <code>{}</code>{}</li>",
            lines::answer_word(answer.state),
            escape_cut(&on, 120),
            escape_cut(&answer.snapshot, 120),
            changes.chain(note).collect::<String>(),
        )
    });
    let rows: String = rows.collect();
    let left = match record.answers.len().saturating_sub(CHANGED) {
        0 => String::new(),
        left => format!("<li>and {left} more</li>"),
    };
    match record.answers.is_empty() {
        true => String::new(),
        false => format!("<p>Not as reviewed:</p><ul class=\"reviewed\">{rows}{left}</ul>"),
    }
}

/// What belongs to the run and to no case.
fn troubles(record: &Record) -> String {
    let summary = &record.summary;
    let mut html = String::new();
    if let Some(meaning) = exit_meaning(summary) {
        html += &format!("<p>Exit code {}</p>", escape(&meaning));
    }
    if let Some(judged) = judged(&record.run.duts, summary) {
        html += &format!("<p class=\"trouble\">Judged: {}</p>", escape_cut(&judged, NOTICE));
    }
    if let Some(error) = &summary.bench_error {
        html += &format!(
            "<div class=\"trouble\"><h3>Bench error</h3>{}</div>",
            code::text("bench error", error, NOTICE)
        );
    }
    let list = |title: &str, items: &[String]| {
        let shown = items.iter().take(NOTICES);
        let shown: String =
            shown.map(|item| format!("<li>{}</li>", escape_cut(item, NOTICE))).collect();
        let left = match items.len().checked_sub(NOTICES) {
            Some(left @ 1..) => format!("<li>and {left} more</li>"),
            _ => String::new(),
        };
        format!(
            "<details class=\"trouble\"><summary>{title}: {}</summary><ul>{shown}{left}</ul></details>",
            items.len()
        )
    };
    let covered: Vec<String> = summary.covered.iter().map(lines::covered).collect();
    for (title, items) in [
        ("Unexercised required requirements", &summary.unexercised),
        ("Stale baseline entries", &summary.stale),
        ("Covered by baseline entries for several cases or requirements", &covered),
        ("Notices", &record.notices),
    ] {
        if !items.is_empty() {
            html += &list(title, items);
        }
    }
    html
}

fn foot(record: &Record) -> String {
    let run = &record.run;
    let rules = run.rules.join(", ");
    format!(
        "{} · run <code>{}</code> · seed {} · rules {}{} · the record is <code>report.json</code> in \
         the run's folder <code>{}</code>",
        escape_cut(&run.tool, 80),
        escape_cut(&run.run, 200),
        run.seed,
        escape_cut(&rules, 200),
        if run.strict { ", strict" } else { "" },
        escape_cut(&record.summary.folder, 400),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_of_the_page_gets_its_part_once() {
        let parts = BTreeMap::from([("a", "{{b}}".to_owned()), ("b", "2".to_owned())]);
        assert_eq!(fill("<{{a}}|{{b}}|{{c}}>", &parts), "<{{b}}|2|>");
    }

    #[test]
    fn the_page_names_nothing_outside_of_itself() {
        for text in [PAGE, STYLE, SCRIPT] {
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for word in ["http://", "https://", "//cdn", "@import", "url(", "fetch(", "innerHTML"] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
