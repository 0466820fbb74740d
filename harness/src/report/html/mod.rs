//! HTML for everybody: one file that opens from a folder, needs no network and hides nothing.
//!
//! The verdict, the devices, the cases with their evidence and the requirement matrix are plain HTML.
//! Timelines lie in the page as data, one block a case, and the script draws what is opened; so a run of
//! 100,000 exchanges opens at once. A policy in the page forbids all that could reach out, and any script
//! but this one. Unlike other reporters this one reads the transcripts, which are no events: when the run is
//! over they lie in its folder.

mod cases;
mod device;
mod latency;
mod matrix;
mod previous;
mod text;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::Verdict;
use sha2::{Digest, Sha256};

use self::cases::Cases;
use self::previous::Previous;
use self::text::{escape, escape_cut, escape_lines};
use super::fanout::Reporter;
use super::json::{Record, Recorder, write_file};
use super::layout::count;
use super::lines::{self, Status};
use super::summary::exit_meaning;
use crate::event::{Event, Summary};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Most notices and most stale entries that are shown, and the characters of each.
const NOTICES: usize = 100;
const NOTICE: usize = 2_000;

/// Most broken requirements that are named at the top.
const BROKEN: usize = 12;

/// Where the page gets what is no event.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The run's folder, in which the transcripts lie.
    pub folder: PathBuf,
    /// The folder of the run to compare with; without one it is the newest earlier run of the same
    /// device beside this one.
    pub compare: Option<PathBuf>,
}

/// Writes the page when the run is over.
#[derive(Debug)]
pub struct HtmlFile {
    path: PathBuf,
    catalogue: Arc<Catalogue>,
    sources: Sources,
    recorder: Recorder,
}

impl HtmlFile {
    /// A page for a file; its folder is made when the file is written.
    pub fn new(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>, sources: Sources) -> Self {
        Self {
            path: path.into(),
            catalogue,
            sources,
            recorder: Recorder::default(),
        }
    }
}

impl Reporter for HtmlFile {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.recorder.take(event);
        match (event, self.recorder.record()) {
            (Event::RunFinished(_), Some(record)) => {
                let page = render(record, &self.catalogue, &self.sources);
                write_file(&self.path, page.as_bytes())
            }
            _ => Ok(()),
        }
    }
}

/// Writes a run as a page. The same record, transcripts and earlier run give the same bytes.
pub fn render(record: &Record, catalogue: &Catalogue, sources: &Sources) -> String {
    let previous = match &sources.compare {
        Some(folder) => crate::recording::read_record(folder)
            .ok()
            .map(|record| Previous {
                folder: folder.clone(),
                record,
            }),
        None => Previous::beside(&sources.folder, record),
    };
    let links = links(record);
    let cases = Cases::of(record, catalogue, &sources.folder);
    let summary = &record.summary;
    let (class, verdict) = verdict(summary);
    // Comparisons of two transports are no device.
    let planned = &links[..record.run.duts.len().min(links.len())];
    let names: Vec<String> = planned
        .iter()
        .map(|(dut, transport)| lines::link(dut, transport))
        .collect();
    let names = escape_cut(&names.join(", "), 200);
    let hash = text::base64(&Sha256::digest(SCRIPT.as_bytes()));
    let mut statuses: BTreeMap<u8, (Status, usize)> = BTreeMap::new();
    for status in record.cases.iter().map(Status::of) {
        statuses.entry(rank(status)).or_insert((status, 0)).1 += 1;
    }
    let latencies: String = cases
        .latencies
        .into_iter()
        .map(|((dut, transport), taken)| taken.html(&lines::link(&dut, &transport)))
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
    parts.insert("broken", broken(record));
    parts.insert("troubles", troubles(record));
    parts.insert(
        "previous",
        previous.map_or_else(String::new, |previous| previous.html(record)),
    );
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
        _ if summary.interrupted => ("inconc", "Cut short"),
        0 if summary.warnings > 0 => ("warn", "Conforming, with warnings"),
        0 => ("pass", "Conforming"),
        3 => ("error", "The bench failed"),
        4 => ("inconc", "Nothing ran"),
        _ if summary.failed > 0 => ("fail", "Not conforming"),
        _ if summary.errors > 0 => ("error", "Broken by the bench"),
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
        Status::Known => 3,
        Status::Warn => 4,
        Status::Pass => 5,
        Status::NotApplicable => 6,
    }
}

/// The name of a status in styles and in the script.
fn class(status: Status) -> &'static str {
    match status {
        Status::Pass => "pass",
        Status::Warn => "warn",
        Status::Known => "known",
        Status::Inconclusive => "inconc",
        Status::Fail => "fail",
        Status::Error => "error",
        Status::NotApplicable => "na",
    }
}

fn badge(status: Status) -> String {
    format!(
        "<span class=\"badge {}\">{}</span>",
        class(status),
        status.word()
    )
}

/// When, with what, how long.
fn about(record: &Record) -> String {
    let (run, summary) = (&record.run, &record.summary);
    let requirements = match summary.required {
        0 => String::new(),
        required => format!(
            " · {} of {required} required requirements exercised",
            summary.exercised
        ),
    };
    format!(
        "{} · {} · {}{requirements}",
        escape_cut(&run.started, 40),
        latency::time(summary.took_us),
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

/// What is broken, and in how many cases: one defect often shows in many.
fn broken(record: &Record) -> String {
    let mut slugs: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &record.cases {
        let bad = case.findings.iter();
        let bad: BTreeSet<&str> = bad
            .filter(|finding| finding.verdict > Verdict::Pass && !finding.known)
            .map(|finding| &*finding.requirement)
            .collect();
        bad.into_iter()
            .for_each(|slug| *slugs.entry(slug).or_default() += 1);
    }
    let mut slugs: Vec<(&str, usize)> = slugs.into_iter().collect();
    slugs.sort_by_key(|(_, cases)| std::cmp::Reverse(*cases));
    let shown: String = slugs
        .iter()
        .take(BROKEN)
        .map(|(slug, cases)| {
            let slug = escape_cut(slug, 120);
            format!(
                "<li><button type=\"button\" class=\"badge fail\" data-find=\"{slug}\" \
                 title=\"show the cases\">{slug} <small>×{cases}</small></button></li>"
            )
        })
        .collect();
    let left = match slugs.len().saturating_sub(BROKEN) {
        0 => String::new(),
        left => format!("<li>and {left} more requirements</li>"),
    };
    match slugs.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"broken\">{shown}{left}</ul>"),
    }
}

/// What belongs to the run and to no case.
fn troubles(record: &Record) -> String {
    let summary = &record.summary;
    let mut html = String::new();
    if let Some(meaning) = exit_meaning(summary) {
        html += &format!("<p>Exit code {}</p>", escape(&meaning));
    }
    if let Some(error) = &summary.bench_error {
        html += &format!(
            "<div class=\"trouble\"><h3>Bench error</h3><pre>{}</pre></div>",
            escape_lines(error, NOTICE)
        );
    }
    let list = |title: &str, items: &[String]| {
        let shown = items.iter().take(NOTICES);
        let shown: String = shown
            .map(|item| format!("<li>{}</li>", escape_cut(item, NOTICE)))
            .collect();
        let left = match items.len().checked_sub(NOTICES) {
            Some(left @ 1..) => format!("<li>and {left} more</li>"),
            _ => String::new(),
        };
        format!(
            "<details class=\"trouble\"><summary>{title}: {}</summary><ul>{shown}{left}</ul></details>",
            items.len()
        )
    };
    for (title, items) in [
        (
            "Required requirements that nothing exercised",
            &summary.unexercised,
        ),
        (
            "Entries of the baseline that no longer hold",
            &summary.stale,
        ),
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
            for word in [
                "http://",
                "https://",
                "//cdn",
                "@import",
                "url(",
                "fetch(",
                "innerHTML",
            ] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
