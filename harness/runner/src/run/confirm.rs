//! Whether the commands that reports give show what they are given for: each is carried out before it is printed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mcp_hil_bench::dut::{Emulator, How, TriggerKind};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::transcript::PROPERTY;
use mcp_hil_core::transport::Transport;
use mcp_hil_record::Reporters;
use mcp_hil_record::cause::{Cause, Shown, causes};
use mcp_hil_record::event::{Event, Failure};
use mcp_hil_record::names::transcript_name;
use mcp_hil_scenario::Case;
use tokio::sync::watch;

use super::dut_run;
use super::keep;
use super::lessen::Lessening;
use crate::plan::Plan;

/// How many causes are confirmed, the most severe first.
const CAUSES: usize = 8;

/// The same on a board, which each confirmation restarts.
const CAUSES_ON_BOARD: usize = 3;

/// How long all confirmations may take; the one that is running then is carried through.
const PATIENCE: Duration = Duration::from_secs(30);

/// With less than this left of a time budget, none is tried.
const SHORTEST: Duration = Duration::from_secs(2);

/// How long it may take to make one script small that has ended the device.
const LESSENING: Duration = Duration::from_secs(15);

/// How many other cases that a cause spoils are tried where its own does not show it.
const OTHERS: usize = 2;

/// Most cases that a command names.
const CASES_NAMED: usize = 8;

/// Tries the repro commands of what was found, and says of each what it showed.
pub(super) async fn confirm(
    plan: &Plan,
    found: &mut [Cause],
    reporters: &mut Reporters<'_>,
    interrupt: &watch::Receiver<bool>,
    most_time: Option<Duration>,
) {
    let most = most(plan);
    let patience = most_time.map_or(PATIENCE, |time| PATIENCE.min(time));
    if most == 0 || found.is_empty() || patience < SHORTEST {
        return;
    }
    let text = format!(
        "trying the repro commands for up to {} s (`--no-confirm` leaves that out)",
        patience.as_secs()
    );
    reporters.event(&Event::Notice { text });
    let until = Instant::now() + patience;
    for cause in found.iter_mut().take(most) {
        let Some(transport) = Transport::named(&cause.transport) else {
            continue;
        };
        let again = Again { plan, transport, interrupt, until };
        let mut tries = 0;
        for selection in again.selections(cause) {
            if Instant::now() >= until || *interrupt.borrow() {
                break;
            }
            // What the bench does not carry out shows nothing.
            let Some(shows) = again.shows(&selection, cause).await else {
                break;
            };
            tries += 1;
            if shows {
                let is_first = tries == 1;
                // The bring-up is a selection without cases.
                let alone = !matches!(&selection, Selection::Cases(cases) if cases.len() > 1);
                cause.shown = if alone { Shown::Again } else { Shown::AfterOthers };
                if let Selection::Cases(cases) = &selection
                    && let (Some(case), true) = (cases.first(), is_first && ends_the_device(cause))
                {
                    again.make_small(case, cause).await;
                }
                if let (false, Selection::Cases(cases)) = (is_first, &selection) {
                    let ids = cases.iter().map(|case| &*case.id);
                    cause.repro = plan.repro_of(ids, transport);
                }
                break;
            }
        }
        if cause.shown == Shown::NotTried && tries > 0 && !*interrupt.borrow() {
            cause.shown = Shown::Not(tries);
        }
    }
    // What was recorded for this alone nobody looks at.
    let _ = std::fs::remove_dir_all(folder(plan));
}

/// How many causes may be tried again on the device; none where that costs what nobody has granted.
fn most(plan: &Plan) -> usize {
    if !plan.dut.permission().restarts() {
        return 0;
    }
    match &plan.dut.how {
        // Nobody can start it again.
        How::Wait => 0,
        // A person would have to press its button, or the budget for its flash may be spent.
        How::Board(board) if board.file.trigger.kind == TriggerKind::Prompt => 0,
        How::Board(_) if plan.generation.budget.is_some() => 0,
        How::Board(_) => CAUSES_ON_BOARD,
        // Each start is paid for.
        How::Emulated(emulated) if matches!(emulated.emulator, Emulator::Wokwi(_)) => 0,
        _ => CAUSES,
    }
}

/// Whether a cause is the end of the device.
fn ends_the_device(cause: &Cause) -> bool {
    let ends = [Id::LivenessNoPanic, Id::LivenessNoReset].map(|id| id.to_string());
    let mut broken = std::iter::once(&cause.finding.requirement).chain(&cause.also);
    broken.any(|slug| ends.contains(slug))
}

fn folder(plan: &Plan) -> PathBuf {
    plan.folder.join("again")
}

/// What a command selects.
#[derive(Debug)]
enum Selection {
    /// Cases of the plan, in its order.
    Cases(Vec<Case>),
    /// The smallest input of a failure.
    File(Box<Case>),
    /// A property by its id, with all its inputs.
    Property(String),
}

/// What one cause is tried again with.
struct Again<'a> {
    plan: &'a Plan,
    transport: Transport,
    interrupt: &'a watch::Receiver<bool>,
    until: Instant,
}

impl Again<'_> {
    /// What may show a cause again, the smallest first: its own case; others that it spoils; its own with the case in which
    /// it showed; with it ever more of those before it.
    fn selections(&self, cause: &Cause) -> Vec<Selection> {
        if let Some(failure) = &cause.generated {
            let case = self.generated(Path::new(&failure.scenario));
            return case.map(|case| Selection::File(Box::new(case))).into_iter().collect();
        }
        if cause.case.starts_with(PROPERTY) {
            return vec![Selection::Property(cause.case.clone())];
        }
        let cases = &self.plan.cases;
        let at = cases.iter().position(|case| *case.id == *cause.case);
        let file = |case: &Case| self.plan.path_of(self.transport, &transcript_name(&case.id));
        let shown = cases.iter().position(|case| Some(file(case)) == cause.transcript);
        let mut all = vec![at.map_or_else(Vec::new, |at| vec![cases[at].clone()])];
        let spoilt = cause.cases.iter().filter(|one| *one.case != *cause.case);
        let others = spoilt.filter_map(|one| cases.iter().find(|case| *case.id == *one.case));
        all.extend(others.take(OTHERS).map(|case| vec![case.clone()]));
        if let (Some(at), Some(shown)) = (at, shown.filter(|shown| Some(*shown) != at)) {
            let (first, second) = (at.min(shown), at.max(shown));
            all.push(vec![cases[first].clone(), cases[second].clone()]);
        }
        // What only the end of a session shows may come of any case before it.
        let last = at.max(shown).unwrap_or(cases.len().saturating_sub(1));
        let mut more = 1;
        while more < CASES_NAMED && more <= last {
            all.push(cases[last - more..=last].to_vec());
            more *= 2;
        }
        all.into_iter().map(Selection::Cases).collect()
    }

    fn generated(&self, file: &Path) -> Option<Case> {
        let path = self.plan.folder.join(file);
        let path = if path.exists() { path } else { file.to_owned() };
        let text = std::fs::read_to_string(&path).ok()?;
        let id = format!("file/{}", path.file_stem()?.to_string_lossy());
        Case::reload(&id, &path.display().to_string(), &text, &self.plan.catalogue).ok()
    }

    /// Makes a script that has ended the device small, writes what is left of it to a file, and has the cause told
    /// with that.
    async fn make_small(&self, case: &Case, cause: &mut Cause) {
        let until = Instant::now() + LESSENING;
        let mut search = Lessening::new(case, cause.finding.step.as_deref());
        let mut cut_short = None;
        while let Some(next) = search.next_try() {
            if Instant::now() >= until || *self.interrupt.borrow() {
                cut_short = Some("its time was used up".to_owned());
                break;
            }
            let selection = Selection::Cases(vec![next.clone()]);
            let Some(seen) = self.seen(&selection).await else {
                return;
            };
            let same = |seen: &Cause| {
                seen.case == *case.id
                    && seen.is_like(cause)
                    && seen.breaks_down_like(cause)
                    && ends_the_device(seen)
            };
            search.tell(next, seen.iter().any(same));
        }
        let (small, tries) = (search.smallest, search.tries);
        if tries == 0 {
            return;
        }
        let mut requirements = vec![cause.finding.requirement.clone()];
        requirements.extend(cause.also.iter().cloned());
        let mut failure = Failure {
            requirements,
            times: 1,
            from: case.exchanges(),
            to: small.exchanges(),
            steps: tries,
            cut_short,
            ..Failure::default()
        };
        let Some(path) = keep::write_script(self.plan, &small, cause) else {
            return;
        };
        let name = path.strip_prefix(&self.plan.folder).unwrap_or(&path);
        failure.scenario = name.display().to_string();
        failure.repro = self.plan.repro_file(&path.display().to_string(), self.transport);
        cause.repro.clone_from(&failure.repro);
        cause.generated = Some(failure);
    }

    /// Whether a selection, carried out on a device that was started for it, shows a cause. `None` if the bench did
    /// not let it be carried out.
    async fn shows(&self, selection: &Selection, cause: &Cause) -> Option<bool> {
        let seen = self.seen(selection).await?;
        Some(seen.iter().any(|seen| seen.is_like(cause)))
    }

    /// What is wrong with a device that was started for a selection. `None` if the bench did not let it be carried
    /// out.
    async fn seen(&self, selection: &Selection) -> Option<Vec<Cause>> {
        let plan = self.plan;
        let mut again = plan.clone();
        (again.folder, again.snapshots) = (folder(plan), None);
        (again.limit, again.time_budget, again.retries) = (None, None, 0);
        again.transports = vec![self.transport];
        let property = match selection {
            Selection::Property(id) => Some(&**id),
            _ => None,
        };
        again.generation.properties.retain(|one| Some(one.id) == property);
        again.generation.is_asked_for = true;
        again.generation.max_time = self.until.saturating_duration_since(Instant::now());
        again.cases = match selection {
            Selection::Cases(cases) => cases.clone(),
            Selection::File(case) => vec![(**case).clone()],
            Selection::Property(_) => Vec::new(),
        };
        if property.is_none() {
            // The command names no seed.
            again.seed = plan.seed.wrapping_add(1);
        }
        let mut nobody = Reporters::new(std::io::sink());
        let interrupt = self.interrupt.clone();
        let end = dut_run::run(&again, self.transport, &mut nobody, interrupt, None).await;
        let is_complete = end.error.is_none() && !end.interrupted;
        is_complete.then(|| causes(&end.cases))
    }
}
