//! Carrying out a plan: devices are started, cases are run, entries are judged, events come out.
//!
//! `lane` runs one device over one transport; `session` is its connection with everything that
//! records and judges it, and `events` what comes to it; `bring_up` gets to know the device; `stimulus` carries out the steps
//! of a scenario; `properties` has generated ones carried out, `shrink` makes what fails smaller, on a
//! `twin` where there is one, and `keep` leaves it as a file;
//! `by_hand` carries out what a program of its own says, in place of a scenario;
//! `recover` brings a board back, and makes it dial; `recorder` writes the transcripts; `report` turns judgements into reports.

mod bring_up;
mod by_hand;
mod compare;
mod events;
mod keep;
mod lane;
mod link;
mod properties;
mod recorder;
mod recover;
mod report;
mod search;
mod session;
mod settings;
mod shrink;
mod smaller;
mod stimulus;
mod summary;
mod twin;

use std::time::Instant;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::transcript::{BRING_UP, CLOSE, Transport};
use mcp_hil_core::verdict::Verdict;
use tokio::sync::watch;

use crate::event::{CaseReport, DutInfo, Event, RunStarted, SCHEMA, Summary};
use crate::plan::Plan;
use crate::recording::Recorded;
use crate::report::Reporters;
use crate::snapshots::{Answers, review};

pub(crate) use by_hand::{ByHand, Order, Say};
pub use compare::{BOTH, same_answers};
pub use lane::LaneEnd;
pub(crate) use lane::clock;
pub use recorder::{Recorder, Secret, transcript_name};
pub use report::{Book, Ruling};
pub(crate) use session::Exchange;
pub use summary::Tally;
pub(crate) use summary::failing;
pub(crate) use summary::lane as lane_name;

/// Why a run, or the rest of it, could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The bench does not do its part.
    #[error(transparent)]
    Rig(#[from] mcp_hil_rig::RigError),
    /// The device never connected.
    #[error("{0}")]
    NoConnection(String),
    /// Another firmware runs than the one that the harness started.
    #[error(
        "the device runs another firmware: expected version `{expected}`, got `{got}`\
         \n\nhint: build and start the image anew"
    )]
    OtherFirmware {
        /// What the image says.
        expected: String,
        /// What the device says.
        got: String,
    },
    /// What was recorded cannot be read back.
    #[error("{0}")]
    Unreadable(String),
    /// The run's folder cannot be written.
    #[error("cannot write `{path}`: {reason}\n\nhint: choose another folder with `--out`")]
    Write {
        /// The file or folder.
        path: String,
        /// What the system said.
        reason: std::io::Error,
    },
}

/// Carries out a plan and reports it as events. `interrupt` turns true on Ctrl-C.
pub async fn run(
    plan: &Plan,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
) -> Summary {
    let began = Instant::now();
    let info = |transport: &Transport| DutInfo {
        name: plan.dut.name.clone(),
        target: plan.dut.kind().to_owned(),
        transport: transport.name().into(),
        fidelity: plan.dut.stands_on(),
        level: plan.dut.fidelity().name().to_owned(),
        cannot_show: words(plan.dut.cannot_show()),
    };
    reporters.event(&Event::RunStarted(RunStarted {
        schema: SCHEMA,
        tool: crate::TOOL.into(),
        run: plan.run.clone(),
        started: plan.started.clone(),
        seed: plan.seed,
        strict: plan.strict,
        rules: plan.rules.iter().map(|name| (*name).to_owned()).collect(),
        duts: plan.transports.iter().map(info).collect(),
        // The cases of the plan and the two around them, and the comparison.
        cases: (plan.cases.len() + plan.generation.properties.len() + 2) * plan.transports.len()
            + usize::from(plan.transports.len() > 1),
        basis: Some(plan.basis.clone()),
        joined: Vec::new(),
    }));
    if let Some(Err(why)) = &plan.symbols {
        let text = format!("places of a panic are told as addresses: {why}");
        reporters.event(&Event::Notice { text });
    }
    if let Some(baseline) = &plan.baseline {
        notice_unreviewed(baseline, reporters);
    }
    let mut tally = match plan.basis.shard {
        None => Tally::new(plan.ruling(), plan.whole_suite),
        Some(_) => Tally::of_part(plan.ruling()),
    };
    let (mut cases, mut error, mut interrupted) = (Vec::new(), None, false);
    for transport in &plan.transports {
        if error.is_some() || interrupted {
            break;
        }
        let end = lane::run(plan, *transport, reporters, interrupt.clone()).await;
        end.cases.iter().for_each(|case| tally.case(case));
        if let Some(facts) = &end.facts {
            let firmware = end.firmware.clone();
            tally.device(
                &plan.dut.name,
                transport.name(),
                &facts.capabilities,
                firmware,
            );
        }
        cases.extend(end.cases);
        (error, interrupted) = (end.error, end.interrupted);
    }
    if let ([_, _], None, false) = (&plan.transports[..], &error, interrupted) {
        let read = |transport| Recorded::read(&plan.folder, &info(transport), true);
        let both: Result<Vec<_>, _> = plan.transports.iter().map(read).collect();
        match both.as_deref() {
            Ok([first, second]) => {
                let repro = plan.repro_both();
                let report = same_answers([first, second], &repro, &mut tally, reporters);
                cases.push(report);
            }
            Ok(_) => {}
            Err(refusal) => error = Some(RunError::Unreadable(refusal.to_string())),
        }
    }
    let complete = error.is_none() && !interrupted;
    let answers = plan.snapshots.as_ref().map(|setup| {
        let (changed, answers, trouble) = review(plan, setup, &cases, complete);
        for report in changed {
            reporters.event(&Event::AnswerChanged(Box::new(report)));
        }
        for text in trouble {
            reporters.event(&Event::Notice { text });
        }
        answers
    });
    let mut summary = tally.summary();
    // Where no step asked for an answer there is nothing to tell.
    summary.answers = answers.filter(|answers| *answers != Answers::default());
    summary.duts = 1;
    summary.took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    summary.interrupted = interrupted;
    summary.bench_error = error.map(|error| error.to_string());
    summary.folder = plan.folder.display().to_string();
    summary.exit = exit_code(&summary);
    let selected = !plan.cases.is_empty() || !plan.generation.properties.is_empty();
    if summary.exit == crate::exit::CONFORMING
        && answers.is_some_and(|answers| answers.unwritten > 0)
    {
        // Who asked for files must not take their absence for what was to be in them.
        summary.exit = crate::exit::BENCH;
    }
    // Of a part only the whole can tell: all of it may be about what this device has not.
    if plan.basis.shard.is_none() && selected && shows_nothing(&summary, &cases) {
        summary.exit = crate::exit::NOTHING_RAN;
    }
    reporters.event(&Event::RunFinished(summary.clone()));
    summary
}

/// Says which entries of a baseline nobody has read yet: until then they hide what nobody decided to.
pub(crate) fn notice_unreviewed(baseline: &Baseline, reporters: &mut Reporters<'_>) {
    let names: Vec<String> = baseline.unreviewed().collect();
    if !names.is_empty() {
        let text = format!(
            "entries of the baseline that nobody has reviewed yet: {}; read them, say why in `reason`, and \
             take `review = true` out",
            names.join(", ")
        );
        reporters.event(&Event::Notice { text });
    }
}

/// Whether a green run carried out nothing of its selection: getting to know the device is no case of it.
pub(crate) fn shows_nothing(summary: &Summary, cases: &[CaseReport]) -> bool {
    let own = |case: &CaseReport| {
        let built_in = [BRING_UP, CLOSE].contains(&case.case.as_str());
        !built_in && case.verdict != Verdict::NotApplicable
    };
    summary.exit == crate::exit::CONFORMING && !cases.iter().any(own)
}

/// The exit code that a summary amounts to.
pub fn exit_code(summary: &Summary) -> u8 {
    let conforming = summary.failed == 0
        && summary.inconclusive == 0
        && summary.unexercised.is_empty()
        && summary.answers.is_none_or(|answers| answers.failed == 0)
        && summary.stale.is_empty();
    if summary.interrupted {
        crate::exit::INTERRUPTED
    } else if summary.bench_error.is_some() || summary.errors > 0 {
        crate::exit::BENCH
    } else if !conforming {
        crate::exit::NOT_CONFORMING
    } else if summary.cases == 0 {
        crate::exit::NOTHING_RAN
    } else {
        crate::exit::CONFORMING
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}
