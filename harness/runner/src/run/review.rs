//! Comparing the answers of a run with the reviewed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::transcript::BRING_UP;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Verdict;
use mcp_hil_judge::compare::capabilities::CapabilityChange;
use mcp_hil_judge::compare::change::changes;
use mcp_hil_scenario::Case;

use crate::plan::Plan;
use crate::snapshots::answers::{self, Kept, Key};
use crate::snapshots::reviewed::Reviewed;
use crate::snapshots::{Setup, capabilities, differ, file, name};
use mcp_hil_args::Mode;
use mcp_hil_record::answers::{AnswerKind, AnswerReport, AnswerState, Answers};
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::names::dut_over;

/// Most lines of a difference that are kept.
const MOST_LINES: usize = 400;

/// The answers that are not as reviewed, what they come to, and what went wrong with files, in words.
pub(super) type Review = (Vec<AnswerReport>, Answers, Vec<String>);

/// Compares the answers of a run, whose cases were judged so, and what the device showed that it can do, by
/// device and transport. `complete` says that nothing cut it short.
pub(super) fn review(
    plan: &Plan,
    setup: &Setup,
    judged: &[CaseReport],
    shown: &BTreeMap<String, BTreeSet<String>>,
    complete: bool,
) -> Review {
    let mut reader = Reader {
        setup,
        dut: &plan.dut.name,
        reports: Vec::new(),
        answers: Answers::default(),
        trouble: Vec::new(),
        given: BTreeMap::new(),
    };
    for transport in &plan.transports {
        let folder = plan.folder_of(*transport);
        for case in plan.cases.iter().filter(|case| !answers::asked(case).is_empty()) {
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
                    Err(refusal) => reader.trouble.push(refusal.to_string()),
                }
            }
        }
    }
    if complete && setup.whole {
        reader.gone(&plan.cases, judged);
    }
    for transport in &plan.transports {
        if let Some(shown) = shown.get(&dut_over(&plan.dut.name, transport.name())) {
            reader.capabilities(plan, *transport, judged, shown, complete);
        }
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
            self.tidy(&reviewed.pending(&kept.key));
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
        let path = reviewed.path(&kept.key);
        let mut report = self.report(kept.key.to_string(), &path, state);
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
                report.note = Some(format!("over {other} the answer is different"));
            }
            None => {
                let text = file::whole(&kept.file, &kept.from, &kept.text);
                let paths = [reviewed.path(&kept.key), reviewed.pending(&kept.key)];
                let of_family = reviewed.of_family(&kept.key);
                let as_family = of_family.is_some_and(|snap| snap.text == kept.text);
                report.written = self.write(&text, [&paths[0], &paths[1]], as_family);
            }
        }
        self.push(report);
    }

    /// What the device can do. One that could not be got to know shows nothing, and neither does one of which that
    /// is known to fail now and then.
    fn capabilities(
        &mut self,
        plan: &Plan,
        transport: Transport,
        judged: &[CaseReport],
        shown: &BTreeSet<String>,
        complete: bool,
    ) {
        let name = transport.name();
        let here = || judged.iter().filter(|report| report.transport == name);
        let bring_up = here().find(|report| report.case == BRING_UP);
        match bring_up.map(|report| report.verdict) {
            Some(Verdict::Pass) => {}
            Some(Verdict::Fail) if !comes_and_goes(plan) => {}
            _ => return,
        }
        let setup = self.setup;
        let whole = complete && setup.whole && capabilities::is_clear(here());
        let before = setup.reviewed.capabilities(name);
        let look = capabilities::look(&plan.dut.info(transport), whole);
        let now = look.shown(before, shown);
        let [own, pending] = setup.reviewed.capability_files(name);
        let change = match before {
            Some(before) if *before == now => return self.tidy(&pending),
            Some(before) => CapabilityChange::between(before, &now),
            // Of a device that nobody has looked at nothing is lost; and a part of a run shows a part of it.
            None if setup.mode == Mode::Check || !whole => return,
            None => CapabilityChange::default(),
        };
        let not_tried = |capability: &str| {
            let cases = plan.cases.iter();
            let cases = cases.map(|case| (case.id.to_string(), case.needs.clone()));
            let generated = plan.generation.properties.iter().map(|property| {
                let needs = property.needs.iter().map(|need| (*need).to_owned());
                (property.id.to_owned(), needs.collect())
            });
            capabilities::not_tried(capability, shown, cases.chain(generated))
        };
        let state = match change.lost.is_empty() {
            true => AnswerState::New,
            false => AnswerState::Changed,
        };
        let text = capabilities::text(&now);
        let before = before.map(capabilities::text).unwrap_or_default();
        let mut report = AnswerReport {
            kind: AnswerKind::Capabilities,
            transport: name.to_owned(),
            case: BRING_UP.to_owned(),
            changes: capabilities::in_words(&change, not_tried),
            not_tried: change.lost.iter().flat_map(|it| not_tried(it)).collect(),
            diff: differ::lines(&before, &text),
            ..self.report(capabilities::name(name), &own, state)
        };
        let file = capabilities::whole(self.dut, name, &text);
        report.written = self.write(&file, [&own, &pending], false);
        for (all, names) in
            [(&mut self.answers.lost, change.lost), (&mut self.answers.gained, change.gained)]
        {
            let new: Vec<String> = names.into_iter().filter(|it| !all.contains(it)).collect();
            all.extend(new);
        }
        self.answers.capabilities_fail |= report.fails;
        self.reports.push(report);
    }

    /// Leaves something for review, or takes it for reviewed: a whole file, at the device's own place or at that
    /// of what waits.
    fn write(&mut self, text: &str, [own, pending]: [&Path; 2], as_family: bool) -> Option<String> {
        let setup = self.setup;
        if !setup.writes() {
            return None;
        }
        let path = match setup.mode {
            // What is as in the family is not kept twice.
            Mode::Update if as_family => {
                let done = std::fs::remove_file(own);
                self.done(own, "delete", done);
                self.tidy(pending);
                return None;
            }
            Mode::Update => own,
            _ => pending,
        };
        let done = Reviewed::write(path, text);
        let written = self.done(path, "write", done).then(|| shown(path));
        if setup.mode == Mode::Update {
            self.tidy(pending);
        }
        written
    }

    fn done(&mut self, path: &Path, what: &str, done: std::io::Result<()>) -> bool {
        let Err(error) = done else { return true };
        // A comparison was made, whether or not it leaves something to review.
        self.answers.unwritten += usize::from(self.setup.mode != Mode::Check);
        let path = path.display();
        self.trouble.push(format!("cannot {what} `{path}`: {error}"));
        false
    }

    /// Takes away what waits for review, when there is nothing left to review.
    fn tidy(&mut self, pending: &Path) {
        if self.setup.writes() && pending.exists() {
            let done = std::fs::remove_file(pending);
            self.done(pending, "delete", done);
        }
    }

    /// Reviewed answers that did not come, though all cases were run.
    fn gone(&mut self, cases: &[Case], judged: &[CaseReport]) {
        let reviewed = &self.setup.reviewed;
        let areas: BTreeSet<String> =
            cases.iter().map(|case| name::file_name(case.area())).collect();
        let missing = reviewed.keys().filter(|key| !self.given.contains_key(key));
        let missing: Vec<Key> = missing.cloned().collect();
        for key in missing {
            let case = cases.iter().find(|case| answers::asked(case).contains(&key));
            let note = match case {
                // An area of somebody's own scenarios, which were not given this time.
                None if !areas.contains(&key.area) => continue,
                None => "no step refers to it any more: delete the file".to_owned(),
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
            let mut report = self.report(key.to_string(), &reviewed.path(&key), AnswerState::Gone);
            report.case = case.map_or_else(String::new, |case| case.id.to_string());
            report.note = Some(note);
            self.push(report);
        }
    }

    fn report(&self, snapshot: String, path: &Path, state: AnswerState) -> AnswerReport {
        let fails = match state {
            AnswerState::Changed | AnswerState::Gone => true,
            // Whoever adds a scenario sees the answer first; a build that nobody watches may not pass it.
            AnswerState::New => self.setup.ci,
        };
        AnswerReport {
            kind: AnswerKind::Answer,
            dut: self.dut.to_owned(),
            transport: String::new(),
            case: String::new(),
            snapshot,
            state,
            fails: fails && self.setup.mode == Mode::Check,
            changes: Vec::new(),
            not_tried: Vec::new(),
            diff: Vec::new(),
            file: shown(path),
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

/// Whether the baseline says that a device cannot always be got to know.
fn comes_and_goes(plan: &Plan) -> bool {
    let known = plan.baseline.iter().flat_map(|baseline| &baseline.known);
    let mut known = known.filter(|known| known.intermittent);
    known.any(|known| known.covers(BRING_UP))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
