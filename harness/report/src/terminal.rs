//! The report for people: one line per case, a block per cause, a summary.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::{Finding, Verdict};

use super::across::Across;
use super::lines::{self, Status};
use super::progress::Progress;
use super::summary::{self, Warnings};
use mcp_hil_record::Reporter;
use mcp_hil_record::answers::AnswerKind;
use mcp_hil_record::answers::AnswerReport;
use mcp_hil_record::answers::AnswerState;
use mcp_hil_record::cause::Cause;
use mcp_hil_record::event::{CaseReport, DutInfo, DutReady, Event, RunStarted};
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::few;
use mcp_hil_record::text::layout::{
    CYAN, LABEL_INDENT, Page, RED, YELLOW, columns, count, pad, seconds,
};

/// Most characters of what was expected, received or sent that are printed.
const EVIDENCE: usize = 200;

/// Most changes of an answer, and most lines that differ, that are printed.
const DIFF: usize = 14;

/// How a changed answer is accepted.
const ACCEPT: &str =
    "`mcp-hil review` shows changes and accepts intended ones; `--snapshots update` accepts all";

/// Most slugs that stand in a line of a case.
const SLUGS_NAMED: usize = 3;

/// How many cases that did not pass stand on a terminal, and how many of those that one thing spoils: the causes tell
/// of all.
const CASES_STAND: usize = 6;
const ALIKE_STAND: usize = 2;

/// Narrowest columns of devices and of cases, so that the lines of most runs look the same.
const LINK_WIDTH: usize = 11;
const CASE_WIDTH: usize = 24;

/// How the report looks.
#[derive(Debug, Clone)]
pub struct Style {
    /// Whether words are coloured; they say the same without.
    pub color: bool,
    /// Columns that values are wrapped to.
    pub width: usize,
    /// Whether all other lines are, too: on a terminal, and not where programs read them.
    pub wraps: bool,
    /// Whether cases that do not apply, and warnings, are printed one by one.
    pub verbose: bool,
    /// Whether only cases that failed or showed nothing are printed, and the summary.
    pub quiet: bool,
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
    /// What is to run.
    duts: Vec<DutInfo>,
    done: usize,
    /// What is going on, kept up in place; for terminals only.
    progress: Option<Progress>,
    /// What the cases were said to be, by device, transport and case.
    said: HashMap<(String, String), Status>,
    /// Why cases showed nothing, as far as that was printed.
    reasons: HashSet<String>,
    /// What was said of cases that late answers have revised.
    revised: HashSet<String>,
    /// On a terminal, cases that did not pass: by what is said of them, how many there were.
    red: HashMap<String, usize>,
    /// And how many of them do not stand there.
    left_out: usize,
    warnings: Warnings,
    /// Devices without a tool.
    toolless: Vec<String>,
    /// The cases of several devices, side by side.
    across: Across,
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
                if self.left_out > 0 {
                    let text = format!(
                        "and {} of cases that did not pass",
                        count(self.left_out, "more line")
                    );
                    self.page.row("", &text);
                }
                self.causes(&end.causes);
                let beside = summary::Beside {
                    warnings: &self.warnings,
                    planned: self.planned,
                    duts: &self.duts,
                    toolless: &self.toolless,
                    across: &self.across,
                };
                summary::put(&mut self.page, end, &beside);
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
            Event::CaseStarted { dut, transport, case } => {
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
            page: Page::new(style.width, style.color).wrapping(style.wraps),
            style,
            link_width: LINK_WIDTH,
            planned: 0,
            duts: Vec::new(),
            done: 0,
            progress: None,
            said: HashMap::new(),
            reasons: HashSet::new(),
            revised: HashSet::new(),
            red: HashMap::new(),
            left_out: 0,
            warnings: Warnings::new(),
            toolless: Vec::new(),
            across: Across::default(),
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
        self.duts.clone_from(&run.duts);
        // One line for a device, whatever the number of its transports.
        for of_one in run.duts.chunk_by(|a, b| a.name == b.name) {
            let transports: Vec<&str> = of_one.iter().map(|dut| &*dut.transport).collect();
            let instead = of_one[0].in_place_of.as_ref().map(|board| {
                let (name, file) = (&board.board, &board.file);
                format!(" in place of the board `{name}` of `{file}`, which is not attached")
            });
            let text = format!(
                "{}: {}{} over {}: {}",
                run.tool,
                of_one[0].name,
                instead.unwrap_or_default(),
                transports.join(" and "),
                of_one[0].fidelity
            );
            self.page.long_line(&clean::visible(&text), LABEL_INDENT);
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
        self.page.long_line(&format!("{word} {}", clean::visible(&text)), LABEL_INDENT);
    }

    fn dut_ready(&mut self, dut: &DutReady) {
        // A gateway has no capabilities at all.
        let facts = &dut.facts;
        let is_empty = facts.tools.is_empty() && facts.user_tools.is_empty();
        if is_empty && !facts.capabilities.is_empty() {
            self.toolless.push(lines::link(&dut.dut, &dut.transport));
        }
        if self.style.quiet {
            return;
        }
        let server = match &dut.server {
            Some((name, version)) => format!("{name} {version}"),
            None => "a device that reports no name".to_owned(),
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
        self.page.status("Ready", CYAN, &seconds(dut.took_us), &text);
        let told = dut.identity.as_ref().map(ToString::to_string);
        if let Some(told) = told.filter(|told| !told.is_empty()) {
            self.page.row("device", &clean::visible(&told));
        }
    }

    fn case_finished(&mut self, case: &CaseReport) {
        self.done += 1;
        self.across.take(case);
        let status = Status::of(case);
        self.said.insert(key(case), status);
        self.remember_warnings(case, |_| true);
        let room = self.room_beside(case);
        let (tail, below) = match status {
            Status::Pass | Status::Warn | Status::Known if self.is_brief() => return,
            Status::NotApplicable if !self.style.verbose => return,
            Status::Pass => (lines::shown(case), None),
            Status::Warn => (slugs(case, room, Finding::is_warning), None),
            Status::Known => match &case.reason {
                Some(reason) => (String::new(), Some(reason.as_str())),
                None => (slugs(case, room, |finding| !finding.is_warning()), None),
            },
            // The end of the run tells each cause once, with its evidence.
            Status::Flaky => (slugs(case, room, |finding| !finding.is_warning()), None),
            Status::Fail => (slugs(case, room, |finding| finding.verdict == case.verdict), None),
            Status::NotApplicable | Status::Inconclusive | Status::Error => {
                (String::new(), lines::reason(case))
            }
        };
        if !matches!(status, Status::Pass | Status::NotApplicable)
            && self.has_enough_of(&format!("{status:?} {tail} {}", below.unwrap_or_default()))
        {
            self.left_out += 1;
            return;
        }
        // Of cases that one thing spoils, the first tells of it.
        let below = below.map(|reason| match self.reasons.insert(reason.to_owned()) {
            true => reason,
            false => "as before",
        });
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
        // What the baseline lists is not news, and the end of the run tells of the rest.
        let has_evidence = !matches!(status, Status::Pass | Status::NotApplicable);
        if let Some(attempts) = lines::attempts(case) {
            self.page.row("attempts", &attempts);
        }
        // No cause tells of what is flaky.
        if (self.style.verbose || status == Status::Flaky) && has_evidence {
            self.block(case);
        }
    }

    /// Columns that the line of a case has for what is said of it.
    fn room_beside(&self, case: &CaseReport) -> usize {
        let name = columns(&case.case).max(CASE_WIDTH);
        self.page.room_after(20 + self.link_width + 2 + name + 2)
    }

    /// Whether cases that passed need no line: on a terminal the line at its bottom counts them, and what is wrong must
    /// not be searched for.
    fn is_brief(&self) -> bool {
        self.style.quiet || (self.progress.is_some() && !self.style.verbose)
    }

    /// Whether a terminal shows enough cases already of which the same is said, or enough at all.
    fn has_enough_of(&mut self, said: &str) -> bool {
        if self.progress.is_none() || self.style.verbose {
            return false;
        }
        let stand: usize = self.red.values().map(|cases| (*cases).min(ALIKE_STAND)).sum();
        let alike = self.red.entry(said.to_owned()).or_default();
        *alike += 1;
        *alike > ALIKE_STAND || stand >= CASES_STAND
    }

    fn case_revised(&mut self, case: &CaseReport) {
        self.across.take(case);
        let status = Status::of(case);
        let before = self.said.insert(key(case), status);
        self.remember_warnings(case, |finding| finding.late);
        let before = before.map_or("none", Status::word);
        let late = |finding: &Finding| finding.late && finding.verdict == case.verdict;
        let slugs = slugs(case, self.room_beside(case), late);
        // Each late answer revises the case again; what was said of it is said.
        let said = format!("{} {} {status:?} {slugs}", case.transport, case.case);
        if !self.revised.insert(said) {
            return;
        }
        if self.has_enough_of(&format!("late {slugs}")) {
            self.left_out += 1;
            return;
        }
        let tail = format!("{slugs} (an answer arrived after the verdict {before})");
        self.case_line(status, "  late  ", case, tail.trim_start());
    }

    fn answer_changed(&mut self, answer: &AnswerReport) {
        let colour = if answer.fails { RED } else { YELLOW };
        let link = match &*answer.transport {
            "" => clean::visible(&answer.dut).into_owned(),
            transport => lines::link(&answer.dut, transport),
        };
        let text = format!("{}  {}", pad(&link, self.link_width), clean::visible(&answer.snapshot));
        let word = lines::answer_word(answer.state);
        let bracket = match answer.kind {
            AnswerKind::Answer => " answer ",
            AnswerKind::Capabilities => " device ",
        };
        self.page.status(word, colour, bracket, &text);
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
        self.page.status(status.word(), status.colour(), bracket, &rest);
    }

    /// The findings of a case, and how to run it again.
    fn block(&mut self, case: &CaseReport) {
        for finding in &case.findings {
            self.rows(lines::evidence(finding, case, &self.style.catalogue, EVIDENCE));
        }
        self.page.whole_row("repro", &clean::visible(&case.repro));
    }

    /// What is wrong, each thing once.
    fn causes(&mut self, causes: &[Cause]) {
        let several = self.duts.iter().any(|dut| dut.name != self.duts[0].name);
        for (at, cause) in causes.iter().enumerate() {
            let inconclusive = cause.finding.verdict == Verdict::Inconclusive;
            let (word, colour) = match inconclusive {
                true => ("Unclear", YELLOW),
                false => ("Cause", RED),
            };
            let bracket = format!("{:>8}", format!("{} of {}", at + 1, causes.len()));
            let mut title = clean::visible(&cause.finding.requirement).into_owned();
            if several {
                title += &format!(" on {}", lines::link(&cause.dut, &cause.transport));
            }
            self.page.status(word, colour, &bracket, &title);
            self.rows(lines::cause(cause, &self.style.catalogue, EVIDENCE));
        }
    }

    fn rows(&mut self, rows: Vec<(&'static str, String)>) {
        for (label, value) in rows {
            match label {
                "transcript" | "repro" => self.page.whole_row(label, &value),
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

/// The slugs of some findings of a case, as far as they have room in its line; their number where none has.
fn slugs(case: &CaseReport, room: usize, wanted: impl Fn(&Finding) -> bool) -> String {
    let slugs: Vec<String> = lines::tally(case.findings.iter().filter(|finding| wanted(finding)))
        .into_iter()
        .map(|(slug, _)| clean::visible(slug).into_owned())
        .collect();
    let named = (1..=SLUGS_NAMED).rev().map(|most| few(&slugs, most));
    let mut fitting = named.filter(|text| columns(text) <= room);
    match (&slugs[..], fitting.next()) {
        (_, Some(text)) => text,
        ([only], None) => only.clone(),
        (all, None) => count(all.len(), "requirement"),
    }
}
