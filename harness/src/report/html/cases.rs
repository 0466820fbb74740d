//! The cases: a line each, and below it the evidence, the command that runs it again, and its timeline.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::{Finding, Verdict};

use super::latency::{Latencies, time};
use super::text::{anchor, escape, escape_cut, marked};
use super::timeline::Timeline;
use super::{badge, class, rank};
use crate::event::CaseReport;
use crate::report::Record;
use crate::report::lines::{self, Status};

/// How many bytes all timelines may take, and that of one case.
const ALL_TIMELINES: usize = 40 << 20;
const TIMELINE: usize = 24 << 20;

/// How many findings of a case are shown, and the characters of each of their texts.
const FINDINGS: usize = 40;
const EVIDENCE: usize = 3_000;

/// How many findings of a case get onto paper; the style says so too.
const PRINTED: usize = 3;

/// From how many bytes on the cases get less, so that no page grows without end: only so many findings,
/// of so many characters.
const LARGE: usize = 8 << 20;
const FEW_FINDINGS: usize = 3;
const LITTLE_EVIDENCE: usize = 300;

/// Most characters of a title, a reason, an id.
const WORDS: usize = 400;

/// The cases as parts of the page.
#[derive(Debug, Default)]
pub(super) struct Cases {
    /// The list, what is broken first.
    pub html: String,
    /// The data of the timelines.
    pub data: String,
    /// How long answers took, by device and transport.
    pub latencies: BTreeMap<(String, String), Latencies>,
}

impl Cases {
    /// Reads the transcripts in the run's folder.
    pub(super) fn of(record: &Record, catalogue: &Catalogue, folder: &Path) -> Self {
        let mut order: Vec<&CaseReport> = record.cases.iter().collect();
        // Sorting keeps the order in which they ran among those of one status.
        order.sort_by_key(|case| match Status::of(case) {
            Status::Pass | Status::Warn | Status::NotApplicable => rank(Status::Pass),
            status => rank(status),
        });
        let mut cases = Self::default();
        let mut found = Found::of(record);
        let mut read = Vec::new();
        let mut anchors = BTreeSet::new();
        for (number, case) in order.into_iter().enumerate() {
            let name = format!("{}/{}", lines::link(&case.dut, &case.transport), case.case);
            let mut anchor = anchor(&name);
            if !anchors.insert(anchor.clone()) {
                anchor += &format!("__{number}");
            }
            let timeline = cases.timeline(case, number, &anchor, folder, &mut found);
            read.push((case, anchor, timeline));
        }
        // Only now it is known where the evidence of late findings lies.
        for (number, (case, anchor, timeline)) in read.iter().enumerate() {
            let timeline = timeline.as_ref();
            cases.add(case, number, anchor, timeline, catalogue, &found);
        }
        cases
    }

    /// Reads the timeline of a case, and puts its rows to the data.
    fn timeline(
        &mut self,
        case: &CaseReport,
        number: usize,
        anchor: &str,
        folder: &Path,
        found: &mut Found,
    ) -> Option<Timeline> {
        let name = case.transcript.as_ref()?;
        let link = (case.dut.clone(), case.transport.clone());
        let room = ALL_TIMELINES.saturating_sub(self.data.len()).min(TIMELINE);
        let (positions, places) = found.0.entry(link.clone()).or_default();
        let latencies = self.latencies.entry(link).or_default();
        let mut timeline = Timeline::read(folder, name, positions, room, latencies);
        for (seq, line) in &timeline.lines {
            let place = format!(
                "<a href=\"#{anchor}@{seq}\">{} line {line}</a> (seq {seq})",
                escape_cut(name, WORDS)
            );
            places.insert(*seq, place);
        }
        if timeline.length > 0 {
            let json = std::mem::take(&mut timeline.json);
            self.data +=
                &format!("<script type=\"application/json\" id=\"t{number}\">{json}</script>\n");
        }
        Some(timeline)
    }

    fn add(
        &mut self,
        case: &CaseReport,
        number: usize,
        anchor: &str,
        timeline: Option<&Timeline>,
        catalogue: &Catalogue,
        found: &Found,
    ) {
        let (most, limit) = match self.html.len() < LARGE {
            true => (FINDINGS, EVIDENCE),
            false => (FEW_FINDINGS, LITTLE_EVIDENCE),
        };
        let findings = worst_first(case);
        let shown = &findings[..findings.len().min(most)];
        let status = Status::of(case);
        let has_rows = timeline.is_some_and(|timeline| timeline.length > 0);
        self.html += &format!(
            "<details class=\"case\" id=\"{anchor}\" data-status=\"{}\"{}><summary>{}<b>{}</b> \
             <span class=\"link\">{}</span><span class=\"why\">{}</span><span class=\"took\">{}</span>\
             </summary><div class=\"body\">",
            class(status),
            if has_rows {
                format!(" data-timeline=\"t{number}\"")
            } else {
                String::new()
            },
            badge(status),
            escape_cut(&case.case, WORDS),
            escape(&lines::link(&case.dut, &case.transport)),
            in_short(case, status, &findings),
            time(case.took_us),
        );
        self.html += &format!("<p class=\"title\">{}</p>", escape_cut(&case.title, WORDS));
        if let Some(reason) = &case.reason {
            self.html += &format!("<p>{}</p>", escape_cut(reason, EVIDENCE));
        }
        for finding in shown {
            let place = found.place(case, finding);
            self.html += &evidence(finding, &place, catalogue, limit);
        }
        if let left @ 1.. = shown.len().saturating_sub(PRINTED) {
            self.html +=
                &format!("<p class=\"cut paper\">{left} more findings are not printed.</p>");
        }
        if let left @ 1.. = findings.len() - shown.len() {
            self.html += &format!(
                "<p class=\"cut\">{left} more findings are left out here; <code>report.json</code> has \
                 them all.</p>"
            );
        }
        self.html += &generated(case, limit);
        if !case.repro.is_empty() {
            self.html += &copied(&case.repro);
        }
        self.html += &closing(case);
        if let Some(trouble) = timeline.and_then(|timeline| timeline.trouble.as_ref()) {
            self.html += &format!(
                "<p class=\"cut\">The transcript cannot be shown to its end: {}</p>",
                escape_cut(trouble, WORDS)
            );
        }
        if has_rows {
            self.html += "<div class=\"timeline\"><noscript>The timeline needs the script of this page; \
                          the transcript tells the same.</noscript></div>";
        }
        self.html += "</div></details>\n";
    }
}

/// The findings of a case, the worst first.
fn worst_first(case: &CaseReport) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = case.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.verdict, !finding.known)));
    findings
}

/// A device and its transport.
type Link = (String, String);

/// The positions that findings name, by device and transport, and where they are: late ones lie in the
/// transcript of another case.
#[derive(Debug, Default)]
struct Found(BTreeMap<Link, (BTreeSet<u64>, BTreeMap<u64, String>)>);

impl Found {
    fn of(record: &Record) -> Self {
        let mut found = Self::default();
        for case in &record.cases {
            let shown = worst_first(case).into_iter().take(FINDINGS);
            let positions = shown.filter_map(|finding| finding.seq);
            let link = (case.dut.clone(), case.transport.clone());
            found.0.entry(link).or_default().0.extend(positions);
        }
        found
    }

    /// Where the evidence of a finding lies, as content.
    fn place(&self, case: &CaseReport, finding: &Finding) -> String {
        let Some(seq) = finding.seq else {
            return String::new();
        };
        let places = self.0.get(&(case.dut.clone(), case.transport.clone()));
        match places.and_then(|(_, places)| places.get(&seq)) {
            Some(place) => place.clone(),
            None => {
                let name = case.transcript.as_deref().unwrap_or("transcript");
                format!("{} seq {seq}", escape_cut(name, WORDS))
            }
        }
    }
}

/// What one sees of a case without opening it.
fn in_short(case: &CaseReport, status: Status, findings: &[&Finding]) -> String {
    let text = match (status, findings.first()) {
        (Status::Pass, _) => lines::shown(case),
        (Status::NotApplicable | Status::Inconclusive | Status::Error, _) => {
            lines::reason(case).unwrap_or_default().to_owned()
        }
        (_, Some(first)) => {
            let others = match findings.len() {
                1 => String::new(),
                all => format!(" (and {} more)", all - 1),
            };
            lines::in_short(first, 90) + &others
        }
        (_, None) => lines::reason(case).unwrap_or_default().to_owned(),
    };
    escape_cut(&text, 320)
}

/// A finding: what was asked for, and both sides beside each other.
fn evidence(finding: &Finding, place: &str, catalogue: &Catalogue, limit: usize) -> String {
    let (class, word) = match finding.verdict {
        Verdict::Fail if finding.known => ("known", "known"),
        Verdict::Fail => ("fail", "broken"),
        Verdict::Error => ("error", "error"),
        Verdict::Inconclusive => ("inconc", "unclear"),
        Verdict::Pass | Verdict::NotApplicable => ("warn", "warning"),
    };
    let slug = &finding.requirement;
    let full = lines::requirement(slug, finding.level, catalogue);
    let source = full.strip_prefix(&**slug).unwrap_or(&full).trim();
    let sentence = catalogue.get(slug).map_or("", |known| known.text.trim());
    let (expected, received) = marked(&finding.expected, &finding.received, limit);
    let received = match &*received {
        "" => "<i>nothing</i>".to_owned(),
        _ => received,
    };
    let mut html = format!(
        "<section class=\"finding {class}\"><h4><span class=\"badge {class}\">{word}</span> \
         <code>{}</code> <span class=\"dim\">{}</span></h4><p>{}</p><div class=\"sides\"><div>\
         <h5>expected</h5><pre>{expected}</pre></div><div><h5>received</h5><pre>{received}</pre></div>\
         </div>",
        escape_cut(slug, WORDS),
        escape(source),
        escape(sentence),
    );
    if let Some(sent) = &finding.sent {
        html += &format!("<h5>sent</h5><pre>{}</pre>", escape_cut(sent, limit));
    }
    let mut spot = Vec::new();
    if let Some(step) = &finding.step {
        spot.push(format!("step {}", escape_cut(step, WORDS)));
    }
    if finding.late {
        spot.push("found after the case had ended".to_owned());
    }
    if !place.is_empty() {
        spot.push(place.to_owned());
    }
    if !spot.is_empty() {
        html += &format!("<p class=\"dim\">{}</p>", spot.join(" · "));
    }
    html + "</section>"
}

/// What became of generated inputs.
fn generated(case: &CaseReport, limit: usize) -> String {
    let Some(generated) = &case.generated else {
        return String::new();
    };
    let mut html = format!(
        "<p class=\"dim\">{}",
        escape_cut(&lines::inputs(generated), WORDS)
    );
    if let Some(ended) = &generated.ended {
        html += &format!("; ended early: {}", escape_cut(ended, WORDS));
    }
    html += "</p>";
    for failure in generated.failures.iter().take(FINDINGS) {
        let mut rows = String::new();
        for (label, value) in lines::failure(failure, limit) {
            if label != "repro" {
                rows += &format!("<dt>{label}</dt><dd>{}</dd>", escape(&value));
            }
        }
        html += &format!(
            "<section class=\"finding fail\"><h4>smallest input that breaks <code>{}</code></h4><dl>\
             {rows}<dt>file</dt><dd><code>{}</code></dd></dl>{}</section>",
            escape_cut(&failure.requirements.join(", "), WORDS),
            escape_cut(&failure.scenario, WORDS),
            copied(&failure.repro)
        );
    }
    html
}

/// A command with its button.
fn copied(command: &str) -> String {
    format!(
        "<div class=\"repro\"><code>{}</code><button type=\"button\" class=\"copy\">Copy</button></div>",
        escape(command)
    )
}

/// Where the case stands, and what it exercised.
fn closing(case: &CaseReport) -> String {
    let mut html = String::new();
    if let Some(file) = &case.file {
        html += &format!(
            "<p class=\"dim\">scenario <code>{}</code></p>",
            escape_cut(file, WORDS)
        );
    }
    if !case.exercised.is_empty() {
        let slugs = case.exercised.iter();
        let slugs: Vec<String> = slugs
            .map(|slug| format!("<code>{}</code>", escape_cut(slug, WORDS)))
            .collect();
        html += &format!(
            "<details class=\"exercised\"><summary>{} requirements exercised</summary>\
             <p class=\"names\">{}</p></details>",
            slugs.len(),
            slugs.join(" ")
        );
    }
    html
}
