//! The comparison with an earlier run of the same device: what became worse, better, or only other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::text::{anchor, escape, escape_cut};
use crate::lines::{self, Status};
use mcp_hil_record::Record;
use mcp_hil_record::event::{CaseReport, DutReady};
use mcp_hil_record::read::read_record;
use mcp_hil_record::text::layout::count;
use mcp_hil_record::text::layout::few;

/// Most changed cases that are named, and up to how many stand there unfolded.
const NAMED: usize = 200;
const FEW: usize = 8;

/// How many runs beside this one are looked at: other devices share the folder.
const LOOKS: usize = 24;

/// A run to compare with.
#[derive(Debug)]
pub(super) struct Previous {
    /// Its folder.
    pub folder: PathBuf,
    /// Its record.
    pub record: Record,
}

impl Previous {
    /// The newest earlier run of the same device in the folder where this run's folder is. One that
    /// cannot be read, was cut short or has no case in common is passed over.
    pub(super) fn beside(run: &Path, record: &Record) -> Option<Self> {
        let run = run.canonicalize().ok()?;
        let mut earlier: Vec<PathBuf> = std::fs::read_dir(run.parent()?)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            // `latest` is a link to one of them.
            .filter(|path| !path.is_symlink() && path.file_name() < run.file_name())
            .filter(|path| path.join("report.json").is_file())
            .collect();
        earlier.sort();
        earlier.into_iter().rev().take(LOOKS).find_map(|folder| {
            let earlier = read_record(&folder).ok()?;
            let fits = earlier.run.started <= record.run.started
                && !earlier.summary.interrupted
                && same_devices(&earlier, record)
                && Changes::of(&earlier, record).common > 0;
            fits.then_some(Self { folder, record: earlier })
        })
    }

    /// The comparison as content of the page.
    pub(super) fn html(&self, record: &Record) -> String {
        let changes = Changes::of(&self.record, record);
        let name = self.folder.file_name().map_or_else(
            || self.folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let mut html = format!(
            "<section id=\"previous\"><h2>Since the previous run</h2><p \
             class=\"dim\"><code>{}</code>, {}: {} in common</p><p>{}</p>",
            escape_cut(&name, 120),
            escape_cut(&self.record.run.started, 40),
            count(changes.common, "case"),
            changes.in_short(),
        );
        for line in identities(&self.record, record) {
            html += &format!("<p>{line}</p>");
        }
        let number = changes.cases.len();
        let items: String = changes.cases.iter().take(NAMED).map(Change::html).collect();
        html += &match number {
            0 => String::new(),
            1..=FEW => format!("<ul class=\"changes\">{items}</ul>"),
            _ => format!(
                "<details><summary>{number} cases that changed</summary><ul class=\"changes\">{items}\
                 </ul></details>"
            ),
        };
        if let Some(left @ 1..) = changes.cases.len().checked_sub(NAMED) {
            html += &format!("<p class=\"dim\">and {left} more</p>");
        }
        html + "</section>"
    }
}

/// Whether a run is one of the same devices, with the same cases: its devices have the same names and run in the same
/// way, and what they said of themselves then does not make them others.
fn same_devices(earlier: &Record, record: &Record) -> bool {
    let devices = |record: &Record| -> BTreeSet<[String; 4]> {
        let duts = record.run.duts.iter();
        let told = duts.map(|dut| [&dut.name, &dut.target, &dut.transport, &dut.fidelity]);
        told.map(|told| told.map(String::clone)).collect()
    };
    let selected = |record: &Record| record.run.basis.as_ref().map(|basis| basis.selected.clone());
    let same = |was: &DutReady| {
        let mut now = record.duts.iter();
        let now = now.find(|now| (&now.dut, &now.transport) == (&was.dut, &was.transport));
        now.is_none_or(|now| is_same_device(was, now))
    };
    devices(earlier) == devices(record)
        && selected(earlier) == selected(record)
        && earlier.duts.iter().all(same)
}

/// Whether nothing that a device says of itself, and no update changes, makes it another one. What one of them did not
/// say shows nothing.
fn is_same_device(was: &DutReady, now: &DutReady) -> bool {
    let stays = |ready: &DutReady| {
        let identity = ready.identity.clone().unwrap_or_default();
        let name = ready.server.as_ref().map(|(name, _)| name.clone());
        [name, identity.board_type, identity.board_name, identity.chip, identity.mac]
    };
    stays(was).iter().zip(&stays(now)).all(|(was, now)| match (was, now) {
        (Some(was), Some(now)) => was == now,
        _ => true,
    })
}

/// What the devices say of themselves that they did not say before.
fn identities(earlier: &Record, record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    for now in &record.duts {
        let same = |dut: &&DutReady| (&dut.dut, &dut.transport) == (&now.dut, &now.transport);
        let Some(was) = earlier.duts.iter().find(same) else {
            continue;
        };
        let said = |dut: &DutReady| {
            let server = dut.server.as_ref();
            let server = server.map(|(name, version)| format!("{name} {version}"));
            let identity = dut.identity.as_ref().map(ToString::to_string);
            let parts: Vec<String> = server.into_iter().chain(identity).collect();
            parts.join("; ")
        };
        if said(was) != said(now) {
            let (before, after) = super::differ::marked(&said(was), &said(now), 400);
            let link = escape(&lines::link(&now.dut, &now.transport));
            lines.push(format!("{link}: was {before}, is {after}"));
        }
        let tools = |dut: &DutReady| -> BTreeSet<String> {
            let facts = &dut.facts;
            facts.tools.iter().chain(&facts.user_tools).cloned().collect()
        };
        let (old, new) = (tools(was), tools(now));
        for (word, names) in
            [("new tools", new.difference(&old)), ("removed tools", old.difference(&new))]
        {
            let names: Vec<String> = names.cloned().collect();
            if !names.is_empty() {
                let link = escape(&lines::link(&now.dut, &now.transport));
                let names = escape_cut(&few(&names, 12), 1_000);
                lines.push(format!("{link}: {word}: {names}"));
            }
        }
    }
    lines
}

/// A case that is not as it was.
#[derive(Debug)]
struct Change<'a> {
    case: &'a CaseReport,
    was: Status,
    is: Status,
    gone: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl Change<'_> {
    fn html(&self) -> String {
        let link = lines::link(&self.case.dut, &self.case.transport);
        let name = format!("{link}/{}", self.case.case);
        let list = |word: &str, slugs: &[&str]| match slugs {
            [] => String::new(),
            slugs => format!("{word} {}", slugs.join(", ")),
        };
        let what = [list("now broken:", &self.new), list("no longer:", &self.gone)];
        let what: Vec<String> = what.into_iter().filter(|text| !text.is_empty()).collect();
        format!(
            "<li>{} → {} <a href=\"#{}\">{}</a> <span class=\"dim\">{}</span></li>",
            super::badge(self.was),
            super::badge(self.is),
            anchor(&name),
            escape(&name),
            escape_cut(&what.join("; "), 600),
        )
    }
}

/// All that is not as it was; what became worse comes first.
#[derive(Debug, Default)]
struct Changes<'a> {
    common: usize,
    cases: Vec<Change<'a>>,
}

impl<'a> Changes<'a> {
    fn of(earlier: &'a Record, record: &'a Record) -> Self {
        let key = |case: &'a CaseReport| (&*case.dut, &*case.transport, &*case.case);
        let before: BTreeMap<_, &CaseReport> =
            earlier.cases.iter().map(|case| (key(case), case)).collect();
        let mut changes = Self::default();
        for case in &record.cases {
            let Some(was) = before.get(&key(case)) else {
                continue;
            };
            changes.common += 1;
            let (old, new) = (broken(was), broken(case));
            let change = Change {
                case,
                was: Status::of(was),
                is: Status::of(case),
                gone: old.difference(&new).copied().collect(),
                new: new.difference(&old).copied().collect(),
            };
            if change.was != change.is || old != new {
                changes.cases.push(change);
            }
        }
        changes.cases.sort_by_key(|change| (super::rank(change.is), super::rank(change.was)));
        changes
    }

    fn in_short(&self) -> String {
        let bad = |status: Status| super::rank(status) < super::rank(Status::Known);
        let number = |which: &dyn Fn(&&Change<'_>) -> bool| self.cases.iter().filter(which).count();
        let worse = number(&|change| bad(change.is) && !bad(change.was));
        let better = number(&|change| !bad(change.is) && bad(change.was));
        match self.cases.len() {
            0 => "Nothing has changed.".to_owned(),
            all => format!(
                "<span class=\"badge {}\">{worse} newly broken</span> <span class=\"badge \
                 {}\">{better} fixed</span> <span class=\"badge na\">{} otherwise changed</span>",
                if worse > 0 { "fail" } else { "na" },
                if better > 0 { "pass" } else { "na" },
                all - worse - better
            ),
        }
    }
}

/// Slugs of what is broken or warned of in a case.
fn broken(case: &CaseReport) -> BTreeSet<&str> {
    let findings = case.findings.iter();
    findings.map(|finding| &*finding.requirement).collect()
}
