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
        let mut anchors = BTreeSet::new();
        for (number, case) in order.into_iter().enumerate() {
            let name = format!("{}/{}", lines::link(&case.dut, &case.transport), case.case);
            let mut anchor = anchor(&name);
            if !anchors.insert(anchor.clone()) {
                anchor += &format!("__{number}");
            }
            cases.add(case, number, &anchor, catalogue, folder);
        }
        cases
    }

    fn add(
        &mut self,
        case: &CaseReport,
        number: usize,
        anchor: &str,
        catalogue: &Catalogue,
        folder: &Path,
    ) {
        let (most, limit) = match self.html.len() < LARGE {
            true => (FINDINGS, EVIDENCE),
            false => (FEW_FINDINGS, LITTLE_EVIDENCE),
        };
        let mut findings: Vec<&Finding> = case.findings.iter().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse((finding.verdict, !finding.known)));
        let shown = &findings[..findings.len().min(most)];
        let positions: BTreeSet<u64> = shown.iter().filter_map(|finding| finding.seq).collect();
        let timeline = case.transcript.as_ref().map(|name| {
            let link = (case.dut.clone(), case.transport.clone());
            let room = ALL_TIMELINES.saturating_sub(self.data.len()).min(TIMELINE);
            let latencies = self.latencies.entry(link).or_default();
            Timeline::read(folder, name, &positions, room, latencies)
        });
        let status = Status::of(case);
        let has_rows = timeline
            .as_ref()
            .is_some_and(|timeline| timeline.length > 0);
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
            self.html += &evidence(finding, case, timeline.as_ref(), anchor, catalogue, limit);
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
        if let Some(timeline) = timeline {
            if let Some(trouble) = &timeline.trouble {
                self.html += &format!(
                    "<p class=\"cut\">The transcript ends here: {}</p>",
                    escape_cut(trouble, WORDS)
                );
            }
            if has_rows {
                self.html += "<div class=\"timeline\"><noscript>The timeline needs the script of this \
                              page; the transcript has it too.</noscript></div>";
                self.data += &format!(
                    "<script type=\"application/json\" id=\"t{number}\">{}</script>\n",
                    timeline.json
                );
            }
        }
        self.html += "</div></details>\n";
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
fn evidence(
    finding: &Finding,
    case: &CaseReport,
    timeline: Option<&Timeline>,
    anchor: &str,
    catalogue: &Catalogue,
    limit: usize,
) -> String {
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
    let mut where_ = Vec::new();
    if let Some(step) = &finding.step {
        where_.push(format!("step {}", escape_cut(step, WORDS)));
    }
    if finding.late {
        where_.push("found after the case had ended".to_owned());
    }
    if let (Some(name), Some(seq)) = (&case.transcript, finding.seq) {
        let line = timeline.and_then(|timeline| timeline.lines.get(&seq));
        where_.push(match line {
            Some(line) => format!(
                "<a href=\"#{anchor}@{seq}\">{} line {line}</a> (seq {seq})",
                escape_cut(name, WORDS)
            ),
            None => format!("{} seq {seq}", escape_cut(name, WORDS)),
        });
    }
    if !where_.is_empty() {
        html += &format!("<p class=\"dim\">{}</p>", where_.join(" · "));
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
