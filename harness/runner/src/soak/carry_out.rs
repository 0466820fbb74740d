//! Repeating: round after round, until the time is over.

use std::time::{Duration, Instant};

use mcp_hil_record::Reporters;
use mcp_hil_record::event::{RunStarted, Summary};
use mcp_hil_record::read::read_record;
use mcp_hil_record::report::size;
use mcp_hil_record::text::layout::count;
use tokio::sync::watch;

use super::record::{Round, SoakRecord};
use super::{Soak, whole};
use crate::plan::Plan;
use crate::rack::LaneFiles;
use crate::run::{self, Kept, RunEnd};

/// After how many rounds in a row that the bench broke a soak ends.
const BROKEN_ROUNDS: usize = 3;

/// How a soak ended.
#[derive(Debug)]
pub struct SoakEnd {
    /// What it comes to.
    pub summary: Summary,
    /// Whether a report of a round could not be written.
    pub lost: bool,
}

/// Repeats the rounds of a soak, and reports it as one run. `files` adds the reports that lie in a folder, of a round or
/// of all; `say` gets a line for each round; `interrupt` turns true on Ctrl-C.
pub async fn carry_out(
    soak: &Soak,
    files: &LaneFiles,
    reporters: &mut Reporters<'_>,
    say: &mut dyn FnMut(&str),
    interrupt: watch::Receiver<bool>,
) -> SoakEnd {
    let mut record = soak.before.clone().unwrap_or_else(|| {
        let started = soak.plan.started(&soak.plan.transports, 0);
        let basis = Some(soak.plan.basis.clone());
        SoakRecord::new(RunStarted { basis, ..started })
    });
    let mut kept = Kept::default();
    let mut end = RunEnd::default();
    let (mut lost, mut broken) = (false, 0);
    let mut reported = Instant::now();
    say(&format!("soak in {}", soak.plan.folder.display()));
    while Duration::from_micros(record.took_us) < soak.time {
        let plan = next_round(soak, &record);
        match round(&plan, files, &mut kept, &mut record, &interrupt).await {
            Ok(unwritten) => lost |= unwritten,
            Err(why) => {
                end.bench_error = Some(why);
                break;
            }
        }
        if *interrupt.borrow() {
            end.interrupted = true;
            break;
        }
        let Some(last) = record.rounds.last() else { break };
        say(&line(last));
        broken = if last.exit == mcp_hil_record::exit::BENCH { broken + 1 } else { 0 };
        if broken == BROKEN_ROUNDS {
            end.bench_error =
                Some(format!("the bench broke {} in a row", count(BROKEN_ROUNDS, "round")));
            break;
        }
        tidy(soak, &record);
        if let Err(error) = record.write(&soak.plan.folder) {
            end.bench_error = Some(format!("cannot write `soak.json`: {error}"));
            break;
        }
        if reported.elapsed() >= soak.report_every {
            reported = Instant::now();
            let mut own = Reporters::new(std::io::stderr());
            files(&mut own, &soak.plan);
            whole::tell(soak, &record, RunEnd::default(), &mut own);
        }
    }
    kept.end().await;
    tidy(soak, &record);
    SoakEnd { summary: whole::tell(soak, &record, end, reporters), lost }
}

/// The plan of the next round. Its seed follows from that of the soak.
fn next_round(soak: &Soak, record: &SoakRecord) -> Plan {
    let number = record.rounds.len() as u64 + 1;
    let seed = soak.plan.seed.wrapping_add(number - 1);
    soak.plan.round(&format!("round-{number:04}"), seed, number == 1)
}

/// Carries out a round, and adds it to the record; one that the user stopped is not added. Returned is whether one of
/// its reports could not be written.
async fn round(
    plan: &Plan,
    files: &LaneFiles,
    kept: &mut Kept,
    record: &mut SoakRecord,
    interrupt: &watch::Receiver<bool>,
) -> Result<bool, String> {
    // A round that was stopped before its end is begun again.
    let _ = std::fs::remove_dir_all(&plan.folder);
    std::fs::create_dir_all(&plan.folder)
        .map_err(|error| format!("cannot create `{}`: {error}", plan.folder.display()))?;
    let mut reporters = Reporters::new(std::io::stderr());
    files(&mut reporters, plan);
    run::run_on(kept, plan, &mut reporters, interrupt.clone()).await;
    let lost = reporters.failures().next().is_some();
    if !*interrupt.borrow() {
        let done = read_record(&plan.folder).map_err(|error| error.to_string())?;
        record.add(done, size(&plan.folder).unwrap_or_default(), harness_kib());
    }
    Ok(lost)
}

/// A line about a round.
fn line(round: &Round) -> String {
    let found = match (round.red, round.warnings) {
        (0, 0) => "nothing found".to_owned(),
        (0, warnings) => count(warnings, "warning"),
        (red, _) => format!("{red} not passed"),
    };
    let memory = round.memory.map(|seen| format!(", {} bytes free", seen.last));
    format!(
        "{}  seed {}  {} in {:.1} s: {found}{}",
        round.name,
        round.seed,
        count(round.cases, "case"),
        round.took_us as f64 / 1e6,
        memory.unwrap_or_default()
    )
}

/// Deletes the rounds that nobody will look at: all but the last ones, and those with what the report shows.
fn tidy(soak: &Soak, record: &SoakRecord) {
    let shown = record.shown();
    let old = record.rounds.len().saturating_sub(soak.keep);
    for round in &record.rounds[..old] {
        if !shown.contains(round.name.as_str()) {
            let folder = soak.plan.folder.join(crate::plan::PART).join(&round.name);
            // What cannot be deleted takes room, and does no other harm.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The memory of this process, in KiB, where the system tells it.
fn harness_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
