//! Comparing the answers of a run with the reviewed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::compare::change::{AnswerChange, changes};
use mcp_hil_core::scenario::Case;
use mcp_hil_core::verdict::Verdict;
use serde::{Deserialize, Serialize};

use super::answers::{self, Kept, Key};
use super::reviewed::Reviewed;
use super::{Mode, Setup, differ, file};
use crate::event::CaseReport;
use crate::plan::Plan;

/// Most lines of a difference that are kept.
const MOST_LINES: usize = 400;

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerState {
    /// It is another one than the reviewed.
    Changed,
    /// Nobody has reviewed one.
    New,
    /// There is a reviewed one, and no such answer.
    Gone,
}

/// An answer that is not as reviewed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerReport {
    /// The device.
    pub dut: String,
    /// The transport; empty for an answer that did not come.
    pub transport: String,
    /// The case; empty where none asks for the answer.
    pub case: String,
    /// Area and name of the snapshot.
    pub snapshot: String,
    /// What became of it.
    pub state: AnswerState,
    /// Whether the run does not conform because of it.
    pub fails: bool,
    /// What changed, in words.
    pub changes: Vec<AnswerChange>,
    /// The lines that differ, before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
    /// The reviewed file.
    pub file: String,
    /// The file that waits for review, or was taken for reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What else is to be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What the comparison of a run comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Answers that are as reviewed.
    pub same: usize,
    /// Answers that are others.
    pub changed: usize,
    /// Answers that nobody has reviewed.
    pub new: usize,
    /// Reviewed answers that did not come.
    pub gone: usize,
    /// How many of these do not conform.
    pub failed: usize,
    /// Files that were asked for and could not be written.
    pub unwritten: usize,
}

/// The answers that are not as reviewed, what they come to, and what went wrong with files, in words.
pub type Review = (Vec<AnswerReport>, Answers, Vec<String>);

/// Compares the answers of a run, whose cases were judged so. `complete` says that nothing cut it short.
pub fn review(plan: &Plan, setup: &Setup, judged: &[CaseReport], complete: bool) -> Review {
    let mut reader = Reader {
        setup,
        dut: &plan.dut.name,
        reports: Vec::new(),
        answers: Answers::default(),
        trouble: Vec::new(),
        given: BTreeMap::new(),
    };
    for transport in &plan.transports {
        let folder = plan.lane_folder(*transport);
        for case in plan
            .cases
            .iter()
            .filter(|case| !answers::asked(case).is_empty())
        {
            let shown = |report: &&CaseReport| {
                report.transport == transport.name() && *report.case == *case.id
            };
            let verdict = judged.iter().find(shown).map(|report| report.verdict);
            // Of a case that showed nothing, the answers show nothing either.
            if let Some(Verdict::Pass | Verdict::Fail) = verdict {
                match answers::read(case, &folder, &setup.rules) {
                    Ok(kept) => {
                        let each = kept.iter();
                        each.for_each(|kept| reader.answer(transport.name(), kept));
                    }
                    Err(refusal) => reader.trouble.push(refusal.text),
                }
            }
        }
    }
    if complete && setup.whole {
        reader.gone(&plan.cases, judged);
    }
    (reader.reports, reader.answers, reader.trouble)
}

struct Reader<'a> {
    setup: &'a Setup,
    dut: &'a str,
    reports: Vec<AnswerReport>,
    answers: Answers,
    trouble: Vec<String>,
    /// The answers so far, with the transport that gave them.
    given: BTreeMap<Key, (String, String)>,
}

impl Reader<'_> {
    fn answer(&mut self, transport: &str, kept: &Kept) {
        let reviewed = &self.setup.reviewed;
        let first = self.given.get(&kept.key).cloned();
        if first.as_ref().is_some_and(|(_, text)| *text == kept.text) {
            return;
        }
        let entry = (transport.to_owned(), kept.text.clone());
        self.given.entry(kept.key.clone()).or_insert(entry);
        let before = reviewed.get(&kept.key);
        if before.is_some_and(|snap| snap.text == kept.text) {
            self.answers.same += 1;
            self.tidy(&kept.key);
            return;
        }
        let (state, told, lines) = match before {
            Some(snap) => (
                AnswerState::Changed,
                changes(&snap.said, &kept.said),
                differ::lines(&snap.text, &kept.text),
            ),
            None => (AnswerState::New, Vec::new(), Vec::new()),
        };
        let mut report = self.report(&kept.key, state);
        report.transport = transport.to_owned();
        report.case.clone_from(&kept.case);
        report.changes = told;
        let cut = lines.len().saturating_sub(MOST_LINES);
        report.diff = lines.into_iter().take(MOST_LINES).collect();
        if cut > 0 {
            report.diff.push(format!("... {cut} more lines"));
        }
        match first {
            Some((other, _)) => {
                report.note = Some(format!("over {other} the answer is another one"));
            }
            None => report.written = self.write(kept),
        }
        self.push(report);
    }

    /// Leaves an answer for review, or takes it for reviewed.
    fn write(&mut self, kept: &Kept) -> Option<String> {
        let (setup, reviewed) = (self.setup, &self.setup.reviewed);
        if !setup.writes() {
            return None;
        }
        let text = file::whole(&kept.file, &kept.from, &kept.text);
        let own = reviewed.path(&kept.key);
        let as_family = |key| {
            reviewed
                .of_family(key)
                .is_some_and(|snap| snap.text == kept.text)
        };
        let path = match setup.mode {
            // What is as in the family is not kept twice.
            Mode::Update if as_family(&kept.key) => {
                let done = std::fs::remove_file(&own);
                self.done(&own, "delete", done);
                self.tidy(&kept.key);
                return None;
            }
            Mode::Update => own,
            _ => reviewed.pending(&kept.key),
        };
        let done = Reviewed::write(&path, &text);
        let written = self.done(&path, "write", done).then(|| shown(&path));
        if setup.mode == Mode::Update {
            self.tidy(&kept.key);
        }
        written
    }

    fn done(&mut self, path: &Path, what: &str, done: std::io::Result<()>) -> bool {
        let Err(error) = done else { return true };
        // A comparison was made, whether or not it leaves something to review.
        self.answers.unwritten += usize::from(self.setup.mode != Mode::Check);
        let path = path.display();
        self.trouble
            .push(format!("cannot {what} `{path}`: {error}"));
        false
    }

    /// Takes away what waits for review, when there is nothing left to review.
    fn tidy(&mut self, key: &Key) {
        let pending = self.setup.reviewed.pending(key);
        if self.setup.writes() && pending.exists() {
            let done = std::fs::remove_file(&pending);
            self.done(&pending, "delete", done);
        }
    }

    /// Reviewed answers that did not come, though all cases were run.
    fn gone(&mut self, cases: &[Case], judged: &[CaseReport]) {
        let reviewed = &self.setup.reviewed;
        let areas: BTreeSet<String> = cases
            .iter()
            .map(|case| super::name::file_name(case.area()))
            .collect();
        let missing = reviewed.keys().filter(|key| !self.given.contains_key(key));
        let missing: Vec<Key> = missing.cloned().collect();
        for key in missing {
            let case = cases
                .iter()
                .find(|case| answers::asked(case).contains(&key));
            let note = match case {
                // An area of somebody's own scenarios, which were not given this time.
                None if !areas.contains(&key.area) => continue,
                None => "no step asks for it any more: delete the file".to_owned(),
                // What only the family has, this device may lack.
                Some(_) if !reviewed.is_own(&key) => continue,
                Some(case) => {
                    let of_case = judged.iter().filter(|report| *report.case == *case.id);
                    let of_case: Vec<&CaseReport> = of_case.collect();
                    let unclear = |report: &&&CaseReport| {
                        matches!(report.verdict, Verdict::Inconclusive | Verdict::Error)
                    };
                    if of_case.is_empty() || of_case.iter().any(|report| unclear(&report)) {
                        continue;
                    }
                    let reason = of_case.iter().find_map(|report| report.reason.clone());
                    let reason = reason.unwrap_or_else(|| "nothing was sent there".into());
                    format!("{}: {reason}", case.id)
                }
            };
            let mut report = self.report(&key, AnswerState::Gone);
            report.case = case.map_or_else(String::new, |case| case.id.to_string());
            report.note = Some(note);
            self.push(report);
        }
    }

    fn report(&self, key: &Key, state: AnswerState) -> AnswerReport {
        let fails = match state {
            AnswerState::Changed | AnswerState::Gone => true,
            // Whoever adds a scenario sees the answer first; a build that nobody watches may not pass it.
            AnswerState::New => self.setup.ci,
        };
        AnswerReport {
            dut: self.dut.to_owned(),
            transport: String::new(),
            case: String::new(),
            snapshot: key.to_string(),
            state,
            fails: fails && self.setup.mode == Mode::Check,
            changes: Vec::new(),
            diff: Vec::new(),
            file: shown(&self.setup.reviewed.path(key)),
            written: None,
            note: None,
        }
    }

    fn push(&mut self, report: AnswerReport) {
        let count = match report.state {
            AnswerState::Changed => &mut self.answers.changed,
            AnswerState::New => &mut self.answers.new,
            AnswerState::Gone => &mut self.answers.gone,
        };
        *count += 1;
        self.answers.failed += usize::from(report.fails);
        self.reports.push(report);
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
