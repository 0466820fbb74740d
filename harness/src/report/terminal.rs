//! The report for people: one line per case, a block per finding, a summary.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::{Finding, Verdict};

use super::clean;
use super::fanout::Reporter;
use super::layout::{CYAN, Page, RED, YELLOW, columns, count, pad, seconds};
use super::lines::{self, Status};
use super::progress::Progress;
use super::summary::{self, Warnings};
use crate::event::{CaseReport, DutReady, Event, Failure, RunStarted};
use crate::snapshots::{AnswerReport, AnswerState};

/// Most characters of what was expected, received or sent that are printed.
const EVIDENCE: usize = 300;

/// Most changes of an answer, and most lines that differ, that are printed.
const DIFF: usize = 14;

/// How a changed answer is accepted.
const ACCEPT: &str =
    "`cargo insta review` shows and accepts what is meant; `--snapshots update` takes all";

/// Most slugs that stand in a line of a case.
const SLUGS_NAMED: usize = 3;

/// Narrowest columns of devices and of cases, so that the lines of most runs look the same.
const LINK_WIDTH: usize = 11;
const CASE_WIDTH: usize = 27;

/// How the report looks.
#[derive(Debug, Clone)]
pub struct Style {
    /// Whether words are coloured; they say the same without.
    pub color: bool,
    /// Columns that values are wrapped to.
    pub width: usize,
    /// Whether cases that do not apply, and warnings, are printed one by one.
    pub verbose: bool,
    /// Where requirements are looked up.
    pub catalogue: Arc<Catalogue>,
}

/// Writes the report to `out`, and notices to `talk` (standard error).
#[derive(Debug)]
pub struct Terminal<O, T> {
    out: O,
    talk: T,
    style: Style,
    page: Page,
    link_width: usize,
    planned: usize,
    /// What the run cannot show.
    hidden: Option<String>,
    done: usize,
    /// What is going on, kept up in place; for terminals only.
    progress: Option<Progress>,
    /// What the cases were said to be, by device, transport and case.
    said: HashMap<(String, String), Status>,
    /// Cases in which a finding was first printed, by device, requirement and what was expected.
    seen: HashMap<(String, String, String), String>,
    warnings: Warnings,
    /// Whether it was told how answers are accepted.
    hinted: bool,
}

impl<O: Write + Send, T: Write + Send> Reporter for Terminal<O, T> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::RunStarted(run) => self.run_started(run),
            Event::DutReady(dut) => self.dut_ready(dut),
            Event::CaseStarted { .. } => {}
            Event::CaseFinished(case) => self.case_finished(case),
            Event::CaseRevised(case) => self.case_revised(case),
            Event::AnswerChanged(answer) => self.answer_changed(answer),
            Event::Notice { text } => self.notice(text),
            Event::RunFinished(end) => {
                let hidden = self.hidden.as_deref();
                summary::put(&mut self.page, end, &self.warnings, self.planned, hidden);
            }
        }
        let text = self.page.take();
        if !text.is_empty() {
            self.erase();
            self.out.write_all(text.as_bytes())?;
            self.out.flush()?;
        }
        match event {
            Event::RunStarted(_) => self.progress("waiting for the device", false),
            Event::DutReady(_) => self.progress("ready", false),
            Event::CaseStarted {
                dut,
                transport,
                case,
            } => {
                self.progress(&format!("{}  {case}", lines::link(dut, transport)), true);
            }
            _ => {}
        }
        Ok(())
    }
}

impl<O: Write + Send, T: Write + Send> Terminal<O, T> {
    /// A report that nothing has been printed of.
    pub fn new(out: O, talk: T, style: Style) -> Self {
        Self {
            out,
            talk,
            page: Page::new(style.width, style.color),
            style,
            link_width: LINK_WIDTH,
            planned: 0,
            hidden: None,
            done: 0,
            progress: None,
            said: HashMap::new(),
            seen: HashMap::new(),
            warnings: Warnings::new(),
            hinted: false,
        }
    }

    /// The same report with a line that tells what is going on; it stands where the report goes, too.
    #[must_use]
    pub fn live(mut self, progress: Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    fn run_started(&mut self, run: &RunStarted) {
        self.planned = run.cases;
        self.hidden = summary::hidden(&run.duts);
        // One line for a device, whatever the number of its transports.
        for of_one in run.duts.chunk_by(|a, b| a.name == b.name) {
            let transports: Vec<&str> = of_one.iter().map(|dut| &*dut.transport).collect();
            let text = format!(
                "{}: {} over {}: {}",
                run.tool,
                of_one[0].name,
                transports.join(" and "),
                of_one[0].fidelity
            );
            self.page.line(&clean::visible(&text));
        }
        for dut in &run.duts {
            let link = lines::link(&dut.name, &dut.transport);
            self.link_width = self.link_width.max(columns(&link));
        }
        let text = format!(
            "{}{}, rules {}{}, seed {}",
            count(run.cases, "case"),
            lines::part(run),
            run.rules.join(" + "),
            if run.strict { ", strict" } else { "" },
            run.seed,
        );
        let word = self.page.paint(CYAN, "Starting");
        self.page.line(&format!("{word} {}", clean::visible(&text)));
    }

    fn dut_ready(&mut self, dut: &DutReady) {
        let server = match &dut.server {
            Some((name, version)) => format!("{name} {version}"),
            None => "a device that tells no name".to_owned(),
        };
        let text = format!(
            "{}  {server}, {}",
            pad(&lines::link(&dut.dut, &dut.transport), self.link_width),
            count(dut.facts.tools.len(), "tool"),
        );
        let users = match dut.facts.user_tools.len() {
            0 => String::new(),
            number => format!(", {number} user-only"),
        };
        let text = clean::visible(&text).into_owned() + &users;
        self.page
            .status("Ready", CYAN, &seconds(dut.took_us), &text);
        let told = dut.identity.as_ref().map(ToString::to_string);
        if let Some(told) = told.filter(|told| !told.is_empty()) {
            self.page.row("device", &clean::visible(&told));
        }
    }

    fn case_finished(&mut self, case: &CaseReport) {
        self.done += 1;
        let status = Status::of(case);
        self.said.insert(key(case), status);
        self.remember_warnings(case, |_| true);
        let room = self
            .page
            .room_after(20 + self.link_width + 2 + CASE_WIDTH + 2);
        let (tail, below) = match status {
            Status::NotApplicable if !self.style.verbose => return,
            Status::Pass => (lines::shown(case), None),
            Status::Warn => (slugs(case, Finding::is_warning), None),
            Status::Known => match &case.reason {
                Some(reason) => (String::new(), Some(reason.as_str())),
                None => (slugs(case, |finding| !finding.is_warning()), None),
            },
            Status::Fail => (
                case.generated
                    .as_ref()
                    .map_or_else(String::new, lines::inputs),
                None,
            ),
            Status::NotApplicable | Status::Inconclusive | Status::Error => {
                (String::new(), lines::reason(case))
            }
        };
        // A reason stands in the line when it fits, and under it when it does not.
        let shown = below.map(|reason| clean::line(reason, EVIDENCE));
        let (tail, below) = match shown {
            Some(reason) if columns(&reason) <= room && case.case.len() <= CASE_WIDTH => {
                (reason, None)
            }
            shown => (tail, shown),
        };
        self.case_line(status, &seconds(case.took_us), case, &tail);
        if let Some(reason) = below {
            self.page.row("reason", &reason);
        }
        match status {
            Status::Fail | Status::Inconclusive | Status::Error => self.block(case, |_| true),
            // What the baseline lists is not news.
            Status::Warn | Status::Known if self.style.verbose => self.block(case, |_| true),
            _ => {}
        }
    }

    fn case_revised(&mut self, case: &CaseReport) {
        let status = Status::of(case);
        let before = self.said.insert(key(case), status);
        self.remember_warnings(case, |finding| finding.late);
        let before = before.map_or("none", Status::word);
        let tail = format!("(an answer came after the verdict {before})");
        self.case_line(status, "  late  ", case, &tail);
        let any_late = case.findings.iter().any(|finding| finding.late);
        self.block(case, |finding| finding.late || !any_late);
    }

    fn answer_changed(&mut self, answer: &AnswerReport) {
        let colour = if answer.fails { RED } else { YELLOW };
        let link = match &*answer.transport {
            "" => clean::visible(&answer.dut).into_owned(),
            transport => lines::link(&answer.dut, transport),
        };
        let text = format!(
            "{}  {}",
            pad(&link, self.link_width),
            clean::visible(&answer.snapshot)
        );
        let word = lines::answer_word(answer.state);
        self.page.status(word, colour, " answer ", &text);
        let most = if self.style.verbose { usize::MAX } else { DIFF };
        for (label, value, wraps) in lines::answer(answer, EVIDENCE, most) {
            match wraps {
                true => self.page.row(label, &value),
                false => self.page.whole_row(label, &value),
            }
        }
        // Who has seen how answers are accepted need not see it again.
        let waits = |file: &String| file.ends_with(".snap.new");
        let accept = answer.written.as_ref().is_some_and(waits) || answer.fails;
        if accept && answer.state != AnswerState::Gone && !std::mem::replace(&mut self.hinted, true)
        {
            self.page.row("hint", ACCEPT);
        }
    }

    fn case_line(&mut self, status: Status, bracket: &str, case: &CaseReport, tail: &str) {
        let rest = format!(
            "{}  {}  {tail}",
            pad(&lines::link(&case.dut, &case.transport), self.link_width),
            pad(&clean::visible(&case.case), CASE_WIDTH),
        );
        self.page
            .status(status.word(), status.colour(), bracket, &rest);
    }

    /// The findings of a case, and how to run it again.
    fn block(&mut self, case: &CaseReport, wanted: impl Fn(&Finding) -> bool) {
        // Evidence that was printed is named only; how often, by the line that names it.
        let mut again: Vec<(String, usize)> = Vec::new();
        let mut failures: Vec<&Failure> = case.generated.iter().flat_map(|g| &g.failures).collect();
        let followed = !failures.is_empty();
        for finding in case.findings.iter().filter(|finding| wanted(finding)) {
            if finding.is_warning() && !self.style.verbose {
                continue;
            }
            if finding.known && !case.known {
                let text = format!("{}, as the baseline says", finding.requirement);
                self.page.row("known", &clean::visible(&text));
                continue;
            }
            // Of a failure that was followed, the smallest input shows one finding in full.
            let beside = case
                .generated
                .iter()
                .flat_map(|generated| &generated.failures);
            let mut beside = beside.filter_map(|failure| failure.requirements.split_first());
            if !self.style.verbose && beside.any(|(_, rest)| rest.contains(&finding.requirement)) {
                continue;
            }
            let key = (
                lines::link(&case.dut, &case.transport),
                finding.requirement.clone(),
                finding.expected.clone(),
            );
            if let Some(first) = self.seen.get(&key) {
                let text = format!("{}, first seen in {first}", finding.requirement);
                match again.iter_mut().find(|(known, _)| *known == text) {
                    // Of generated inputs, one case shows much alike.
                    _ if followed && *first == case.case => {}
                    Some((_, times)) => *times += 1,
                    None => again.push((text, 1)),
                }
            } else {
                self.seen.insert(key, case.case.clone());
                self.evidence(finding, case);
            }
            // Each failure is told with the finding that it was followed for.
            let of =
                |failure: &&Failure| failure.requirements.first() == Some(&finding.requirement);
            if let Some(at) = failures.iter().position(of) {
                for (label, value) in lines::failure(failures.remove(at), EVIDENCE) {
                    match label {
                        "repro" => self.page.whole_row(label, &value),
                        _ => self.page.row(label, &value),
                    }
                }
            }
        }
        for (text, times) in again {
            let times = if times == 1 {
                String::new()
            } else {
                format!(" ({times} times)")
            };
            self.page
                .whole_row("again", &clean::visible(&(text + &times)));
        }
        if let (true, Some(transcript)) = (case.findings.is_empty(), &case.transcript) {
            self.page
                .whole_row("transcript", &clean::line(transcript, EVIDENCE));
        }
        if !followed {
            self.page.whole_row("repro", &clean::visible(&case.repro));
        }
    }

    /// The evidence of a finding.
    fn evidence(&mut self, finding: &Finding, case: &CaseReport) {
        // Of a silence, the line of the case has said all but what it was about.
        let told = finding.verdict == Verdict::Inconclusive
            && lines::reason(case) == Some(finding.received.as_str());
        for (label, value) in lines::evidence(finding, case, &self.style.catalogue, EVIDENCE) {
            match label {
                "expected" | "received" if told => {}
                "transcript" => self.page.whole_row(label, &value),
                _ => self.page.row(label, &value),
            }
        }
    }

    fn remember_warnings(&mut self, case: &CaseReport, wanted: impl Fn(&Finding) -> bool) {
        let warnings = case.findings.iter().filter(|finding| finding.is_warning());
        for finding in warnings.filter(|finding| wanted(finding)) {
            let entry = self.warnings.entry(finding.requirement.clone());
            entry.or_insert_with(|| (0, case.case.clone())).0 += 1;
        }
    }

    fn notice(&mut self, text: &str) {
        self.erase();
        let text: Vec<_> = text.lines().map(clean::visible).collect();
        // Talk that cannot be written must not end the report.
        let _ = writeln!(self.talk, "{}", text.join("\n"));
        let _ = self.talk.flush();
    }

    /// Puts up what is going on, in place, until the next line.
    fn progress(&mut self, what: &str, of_a_case: bool) {
        if let Some(progress) = &self.progress {
            progress.show(&clean::visible(what), of_a_case, self.done, self.planned);
        }
    }

    fn erase(&mut self) {
        if let Some(progress) = &self.progress {
            progress.erase();
        }
    }
}

/// What tells a case from others of the run.
fn key(case: &CaseReport) -> (String, String) {
    (lines::link(&case.dut, &case.transport), case.case.clone())
}

/// The slugs of some findings of a case, for its line.
fn slugs(case: &CaseReport, wanted: impl Fn(&Finding) -> bool) -> String {
    let slugs: Vec<String> = lines::tally(case.findings.iter().filter(|finding| wanted(finding)))
        .into_iter()
        .map(|(slug, _)| slug.to_owned())
        .collect();
    clean::visible(&lines::few(&slugs, SLUGS_NAMED)).into_owned()
}
