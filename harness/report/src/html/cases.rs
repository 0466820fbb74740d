//! The cases: a line each, and below it the evidence, the command that runs it again, and its timeline.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::{Finding, Verdict};

use super::code;
use super::latency::Latencies;
use super::matrix::{self, Became};
use super::text::{anchor, escape, escape_cut};
use super::timeline::Timeline;
use super::{badge, class, rank};
use crate::lines::{self, Repro, Status};
use mcp_hil_record::Record;
use mcp_hil_record::cause::{Cause, Shown};
use mcp_hil_record::event::{CaseReport, Generated};
use mcp_hil_record::text::layout::time;

/// Most cases of a cause that are named.
const CASES_NAMED: usize = 12;

/// Most characters of a text of a cause.
const CAUSE: usize = 1_000;

/// How many bytes all timelines may take as they lie in the page, and the rows of one case before that.
const ALL_TIMELINES: usize = 6 << 20;
const TIMELINE: usize = 24 << 20;

/// How many findings of a case are shown, and the characters of each of their texts.
const FINDINGS: usize = 40;
const EVIDENCE: usize = 3_000;

/// How many findings of a case get onto paper; the style says so too.
const PRINTED: usize = 3;

/// From how many bytes on the cases get less, so that no page grows without end: only so many findings,
/// of so many characters.
const LARGE: usize = 2 << 20;
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
    /// Where the evidence lies.
    found: Found,
    /// What cases are called on the page, by device, transport and case.
    anchors: BTreeMap<(String, String, String), String>,
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
        let mut cases = Self { found: Found::of(record), ..Self::default() };
        let mut read = Vec::new();
        let mut anchors = BTreeSet::new();
        for (number, case) in order.into_iter().enumerate() {
            let name = format!("{}/{}", lines::link(&case.dut, &case.transport), case.case);
            let mut anchor = anchor(&name);
            if !anchors.insert(anchor.clone()) {
                anchor += &format!("__{number}");
            }
            let lean = is_lean(record, case);
            let timeline = cases.timeline(case, number, &anchor, folder, lean);
            let key = (case.dut.clone(), case.transport.clone(), case.case.clone());
            cases.anchors.entry(key).or_insert_with(|| anchor.clone());
            read.push((case, anchor, timeline));
        }
        // Only now it is known where the evidence of late findings lies.
        for (number, (case, anchor, timeline)) in read.iter().enumerate() {
            let timeline = timeline.as_ref();
            cases.add(case, number, anchor, timeline, record, catalogue);
        }
        cases
    }

    /// Reads the timeline of a case, and puts its rows to the data; where the page is `lean`, it is left out.
    fn timeline(
        &mut self,
        case: &CaseReport,
        number: usize,
        anchor: &str,
        folder: &Path,
        lean: bool,
    ) -> Option<Timeline> {
        let name = case.transcript.as_ref()?;
        let link = (case.dut.clone(), case.transport.clone());
        let left = ALL_TIMELINES.saturating_sub(self.data.len());
        let (positions, places) = self.found.0.entry(link.clone()).or_default();
        let latencies = self.latencies.entry(link).or_default();
        latencies.begin(anchor);
        let mut timeline = Timeline::read(folder, name, positions, TIMELINE, Some(latencies));
        if timeline.data.len() > left {
            // Packed, rows are never larger than twice what they were.
            let again = Timeline::read(folder, name, positions, left / 2, None);
            timeline.data = again.data;
        }
        for (seq, line) in &timeline.lines {
            let place = format!(
                "<a href=\"#{anchor}@{seq}\">{} line {line}</a> (seq {seq})",
                escape_cut(name, WORDS)
            );
            places.insert(*seq, place);
        }
        if lean {
            (timeline.data, timeline.length) = (String::new(), 0);
        }
        if timeline.length > 0 {
            let data = std::mem::take(&mut timeline.data);
            self.data += &format!(
                "<script type=\"application/octet-stream\" id=\"t{number}\">{data}</script>\n"
            );
        }
        Some(timeline)
    }

    fn add(
        &mut self,
        case: &CaseReport,
        number: usize,
        anchor: &str,
        timeline: Option<&Timeline>,
        record: &Record,
        catalogue: &Catalogue,
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
            "<details class=\"case\" id=\"{anchor}\" data-status=\"{}\"{}{}><summary>{}<b>{}</b> \
             <span class=\"link\">{}</span><span class=\"why\">{}</span><span class=\"took\">{}</span>\
             </summary><div class=\"body\">",
            class(status),
            if has_rows { format!(" data-timeline=\"t{number}\"") } else { String::new() },
            searched(&findings),
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
            let file = finding.transcript.as_ref().or(case.transcript.as_ref());
            let place = self.found.place(&case.dut, &case.transport, file, finding);
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
        for repro in lines::repro(case, &record.summary.causes) {
            self.html += &match repro {
                Repro::Command(command) => copied(command),
                Repro::None(why) => format!("<p class=\"dim\">repro {}</p>", escape(&why)),
            };
        }
        self.html += &closing(case, catalogue);
        if let Some(trouble) = timeline.and_then(|timeline| timeline.trouble.as_ref()) {
            self.html += &format!(
                "<p class=\"cut\">The rest of the transcript cannot be shown: {}</p>",
                escape_cut(trouble, WORDS)
            );
        }
        if has_rows {
            self.html += "<div class=\"timeline\"><noscript>The timeline needs JavaScript; the \
                          transcript contains the same.</noscript></div>";
        }
        self.html += "</div></details>\n";
    }

    /// A cause: its evidence, the cases that it spoils, and how it is shown again.
    pub(super) fn cause(&self, cause: &Cause, catalogue: &Catalogue) -> String {
        let file = cause.transcript.as_ref();
        let place = self.found.place(&cause.dut, &cause.transport, file, &cause.finding);
        let also = match cause.also.is_empty() {
            true => String::new(),
            false => format!(
                "<p class=\"dim\">also broken: {}</p>",
                slugs(cause.also.iter().take(CASES_NAMED), ", ", catalogue)
            ),
        };
        let several = cause.cases.iter().any(|spoilt| spoilt.transport != cause.transport);
        let names = cause.cases.iter().take(CASES_NAMED).map(|spoilt| {
            let shown = match several {
                true => format!("{} ({})", spoilt.case, lines::short_transport(&spoilt.transport)),
                false => spoilt.case.clone(),
            };
            let key = (cause.dut.clone(), spoilt.transport.clone(), spoilt.case.clone());
            let anchor = self.anchors.get(&key).cloned().unwrap_or_default();
            format!(
                "<li><a class=\"badge fail\" href=\"#{anchor}\">{}</a></li>",
                escape_cut(&shown, 120)
            )
        });
        let names: String = names.collect();
        let left = match cause.cases.len().saturating_sub(CASES_NAMED) {
            0 => String::new(),
            left => format!("<li>and {left} more</li>"),
        };
        let repro = match cause.shown {
            Shown::Not(_) => format!("<p class=\"dim\">repro {}</p>", escape(&cause.repro())),
            _ => copied(&cause.repro),
        };
        let evidence = evidence(&cause.finding, &place, catalogue, CAUSE);
        format!(
            "<div class=\"cause\">{evidence}{also}<ul class=\"broken\">{names}{left}</ul>{repro}</div>"
        )
    }
}

/// What the search finds a case by besides its text: `broken:ids.echo`.
fn searched(findings: &[&Finding]) -> String {
    let words = findings
        .iter()
        .map(|finding| format!("{}:{}", Became::of(finding).word(), finding.requirement));
    let words: BTreeSet<String> = words.collect();
    match words.is_empty() {
        true => String::new(),
        false => {
            let words: Vec<String> =
                words.iter().take(FINDINGS).map(|word| escape_cut(word, 120)).collect();
            format!(" data-found=\"{}\"", words.join(" "))
        }
    }
}

/// Slugs with links to what they ask for.
fn slugs<'a>(
    slugs: impl Iterator<Item = &'a String>,
    between: &str,
    catalogue: &Catalogue,
) -> String {
    let slugs: Vec<String> =
        slugs.map(|slug| matrix::link(slug, &escape_cut(slug, WORDS), catalogue)).collect();
    slugs.join(between)
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
        for cause in &record.summary.causes {
            let link = (cause.dut.clone(), cause.transport.clone());
            found.0.entry(link).or_default().0.extend(cause.finding.seq);
        }
        found
    }

    /// Where the evidence of a finding lies, as content.
    fn place(
        &self,
        dut: &str,
        transport: &str,
        file: Option<&String>,
        finding: &Finding,
    ) -> String {
        let Some(seq) = finding.seq else {
            return file.map_or_else(String::new, |file| escape_cut(file, WORDS));
        };
        let places = self.0.get(&(dut.to_owned(), transport.to_owned()));
        match places.and_then(|(_, places)| places.get(&seq)) {
            Some(place) => place.clone(),
            None => {
                let name = file.map_or("transcript", String::as_str);
                format!("{} seq {seq}", escape_cut(name, WORDS))
            }
        }
    }
}

/// Whether the page does without the timeline of a case: with several devices there are too many that nobody opens, and
/// the page in each device's own folder has them.
fn is_lean(record: &Record, case: &CaseReport) -> bool {
    record.run.at_once.is_some() && Status::of(case) == Status::Pass
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
    let known = catalogue.get(slug);
    let source = known.and_then(lines::source).map_or_else(String::new, |source| {
        let source = escape(&source);
        match known.filter(|known| catalogue.active(&known.id).is_some()) {
            Some(known) => {
                format!(", <a href=\"#{}\">{source}</a>", matrix::document(&known.source))
            }
            None => format!(", {source}"),
        }
    });
    let (expected, received) = code::sides(&finding.expected, &finding.received, limit);
    let mut html = format!(
        "<section class=\"finding {class}\"><h4><span class=\"badge {class}\">{word}</span> {} <span \
         class=\"dim\">({}{source})</span></h4><p>{}</p><div class=\"sides\"><div><h5>expected</h5>{expected}\
         </div><div><h5>received</h5>{received}</div></div>",
        matrix::link(slug, &escape_cut(slug, WORDS), catalogue),
        lines::level(finding.level),
        escape(known.map_or("", |known| known.text.trim())),
    );
    let said: Vec<&str> =
        finding.places.iter().chain(&finding.console).map(String::as_str).collect();
    if !said.is_empty() {
        html += &format!("<h5>console</h5>{}", code::text("console", &said.join("\n"), limit));
    }
    if let Some(sent) = &finding.sent {
        html += &format!("<h5>sent</h5>{}", code::block("sent", sent, limit));
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
    let mut html = format!("<p class=\"dim\">{}", escape_cut(&lines::inputs(generated), WORDS));
    if let Some(ended) = &generated.ended {
        html += &format!("; ended early: {}", escape_cut(ended, WORDS));
    }
    html += "</p>";
    html += &places(generated);
    for failure in generated.failures.iter().take(FINDINGS) {
        let mut rows = String::new();
        for (label, value) in lines::failure(failure, limit) {
            rows += &format!("<dt>{label}</dt><dd>{}</dd>", escape(&value));
        }
        html += &format!(
            "<section class=\"finding fail\"><h4>smallest input that breaks <code>{}</code></h4><dl>\
             {rows}</dl></section>",
            escape_cut(&failure.requirements.join(", "), WORDS),
        );
    }
    html
}

/// The places of messages that inputs went through, and what became of the kinds of values there.
fn places(generated: &Generated) -> String {
    if generated.places.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for place in &generated.places {
        rows += &format!(
            "<tr><td><code>{}</code></td><td title=\"{}\">{}</td><td>{}</td></tr>",
            escape_cut(&place.place, WORDS),
            escape_cut(&place.held.join(", "), WORDS),
            place.held.len(),
            escape_cut(&place.failed.join(", "), WORDS),
        );
    }
    format!(
        "<details><summary>{} places of messages</summary><div class=\"wide\"><table class=\"plain\"><thead><tr><th>place</th><th>kinds of values \
         that held</th><th>kinds that failed</th></tr></thead><tbody>{rows}</tbody></table></div></details>",
        generated.places.len(),
    )
}

/// A command with its button.
fn copied(command: &str) -> String {
    format!(
        "<div class=\"repro\"><code>{}</code><button type=\"button\" class=\"copy\">Copy</button></div>",
        escape(command)
    )
}

/// Where the case stands, and what it exercised.
fn closing(case: &CaseReport, catalogue: &Catalogue) -> String {
    let mut html = String::new();
    if let Some(file) = &case.file {
        html += &format!("<p class=\"dim\">scenario <code>{}</code></p>", escape_cut(file, WORDS));
    }
    if !case.exercised.is_empty() {
        html += &format!(
            "<details class=\"exercised\"><summary>{} requirements exercised</summary>\
             <p class=\"names\">{}</p></details>",
            case.exercised.len(),
            slugs(case.exercised.iter(), " ", catalogue)
        );
    }
    html
}
