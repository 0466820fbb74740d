//! Carrying out a plan: devices are started, cases are run, entries are judged, events come out.
//!
//! `driver` says what every run says: that it begins, and what it comes to. `dut_run` runs one device over one
//! transport, `begin` gets it started and connected, and `case_run` one case on it; `session` is its connection with everything that records and judges it, `exchange` one message and
//! its answer, `flight` several of them under way together (`flights` says how many, `together` does so with
//! generated inputs), and `events` what comes to it; `bring_up` gets to know the device; `stimulus` carries out the steps
//! of a scenario, and `ids` sees to it that no id comes twice in a session; `confirm` tries the repro commands before they
//! are printed; `property_run` has generated ones carried out, `shrink` makes what fails smaller, on a
//! `surrogate` where there is one, and `keep` leaves it as a file;
//! `interactive` carries out what a program of its own orders, in place of a scenario, `talk` each order, and
//! `idle` serves the device meanwhile; `time_budget` chooses what a run with little time carries out;
//! `settle` reads the device's state when it stands still, and `steps` sees whether a loudspeaker has few levels;
//! `recover` brings a board back, and makes it dial; `unreached` tells of one that never does; `recorder` writes the transcripts; `report` turns judgements into reports.

mod begin;
mod bring_up;
mod bug;
mod case_run;
mod company;
mod compare;
mod confirm;
mod driver;
mod dut_run;
mod events;
mod exchange;
mod flight;
mod flights;
mod idle;
mod ids;
mod interactive;
mod keep;
mod lessen;
mod linger;
mod link;
mod locked;
mod log;
mod open;
mod parting;
mod property_run;
mod rate;
mod recorder;
mod recover;
mod report;
mod review;
mod search;
mod session;
mod settings;
mod settle;
mod shrink;
mod smaller;
mod start;
mod state;
mod steps;
mod stimulus;
mod summary;
mod surrogate;
mod talk;
mod time_budget;
mod together;
mod told;
mod turn;
mod unreached;

use std::time::Instant;

use mcp_hil_args::argument;
use mcp_hil_core::baseline::Baseline;
use tokio::sync::watch;

use crate::plan::{Plan, listen};
pub use crate::secrets::Secret;
use mcp_hil_record::Reporters;
use mcp_hil_record::answers::Answers;
use mcp_hil_record::cause::causes;
use mcp_hil_record::error::whole;
use mcp_hil_record::event::{Event, RunStarted, Summary};
use mcp_hil_record::read::Recorded;

pub use case_run::is_retry;
pub use driver::{Demands, Driver, RunEnd};
pub use dut_run::DutRunEnd;
pub use interactive::{Act, Interactive, Order, Say, Undone};
pub use open::{Kept, clock};
pub use recorder::Recorder;
pub use report::{CaseReports, VerdictPolicy};
use review::review;
pub use summary::failing;
use turn::Waited;

/// Why a run, or the rest of it, could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The bench does not do its part.
    #[error("{}", listen::refused(.0, "--listen"))]
    Endpoint(#[from] mcp_hil_endpoint::EndpointError),
    /// The same where devices ask for their configuration.
    #[error("{}", listen::refused(.0, "--http-listen"))]
    Http(mcp_hil_endpoint::EndpointError),
    /// The device cannot be started, restarted or stopped.
    #[error("{}", whole(.0))]
    Target(#[from] mcp_hil_boards::TargetError),
    /// The device never connected.
    #[error("{0}")]
    NoConnection(String),
    /// Another firmware runs than the one that the harness started.
    #[error(
        "the device runs different firmware: expected version `{expected}`, got `{got}`\n\nhint: \
         build and start the image again"
    )]
    OtherFirmware {
        /// What the image says.
        expected: String,
        /// What the device says.
        got: String,
    },
    /// This program has a bug.
    #[error(
        "mcp-hil failed during the case `{case}`: {what}; this is a bug of mcp-hil, and says nothing about the \
         device\n\nhint: please report it, with the folder of the run and what standard error shows"
    )]
    Bug {
        /// The case that ran.
        case: String,
        /// The message of the panic.
        what: String,
    },
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
    carry_out(plan, reporters, interrupt, None).await
}

/// The same on a device that lives on, and that may live already: what is kept of it goes from one run to the next.
pub async fn run_on(
    kept: &mut Kept,
    plan: &Plan,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
) -> Summary {
    carry_out(plan, reporters, interrupt, Some(kept)).await
}

async fn carry_out(
    plan: &Plan,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
    mut kept: Option<&mut Kept>,
) -> Summary {
    let mut driver = begin(plan, reporters);
    notice_of_device(plan, reporters);
    if let Some(Err(why)) = &plan.symbols {
        let text = format!("locations of a panic are shown as addresses: {why}");
        reporters.event(&Event::Notice { text });
    }
    if let Some(baseline) = &plan.baseline {
        notice_unreviewed(baseline, reporters);
    }
    // Held to the end: another run must not get the board between two transports.
    let mut turn = kept.as_mut().and_then(|kept| kept.turn.take());
    if turn.is_none() {
        match turn::take(plan, reporters, interrupt.clone()).await {
            Waited::Taken(taken) => turn = Some(taken),
            Waited::NotNeeded => {}
            Waited::InVain(why) => driver.end.bench_error = Some(why.to_string()),
            Waited::Interrupted => driver.end.interrupted = true,
        }
    }
    let began = Instant::now();
    for transport in &plan.transports {
        if driver.is_complete() && driver.end.stopped.is_none() {
            let kept = kept.as_deref_mut();
            let end = dut_run::run(plan, *transport, reporters, interrupt.clone(), kept).await;
            if let Some(limit) = plan.limit.as_ref().filter(|_| end.stopped) {
                let taken_back = match end.taken_back {
                    true => " (of which late answers have taken some back since)",
                    false => "",
                };
                driver.end.stopped = Some(limit.told() + taken_back);
            }
            driver.dut_run(&plan.dut.name, transport.name(), end);
        }
    }
    if let Some(whole) = plan.time_budget.filter(|_| driver.has_left_out()) {
        let within = || format!("for lack of time (`--time-budget {}`)", argument(whole));
        driver.end.stopped.get_or_insert_with(within);
    }
    if plan.transports.len() == 2 && driver.is_complete() && driver.end.stopped.is_none() {
        compare_transports(plan, &mut driver, reporters);
    }
    if plan.confirms && driver.is_complete() {
        let mut found = causes(driver.cases());
        let left = plan.time_budget.map(|whole| whole.saturating_sub(began.elapsed()));
        confirm::confirm(plan, &mut found, reporters, &interrupt, left).await;
        driver.end.tried = found;
    }
    if let Some(setup) = &plan.snapshots {
        let (cases, shown) = (driver.cases(), driver.capabilities());
        let (changed, answers, trouble) =
            review(plan, setup, cases, shown, driver.is_complete() && driver.end.stopped.is_none());
        for report in changed {
            reporters.event(&Event::AnswerChanged(Box::new(report)));
        }
        for text in trouble {
            reporters.event(&Event::Notice { text });
        }
        // Where no step asked for an answer there is nothing to tell.
        driver.end.answers = Some(answers).filter(|answers| *answers != Answers::default());
    }
    if let Some(kept) = kept {
        kept.turn = turn;
    }
    driver.finish(reporters)
}

/// Reports a run that cannot begin, for a reason that is the bench's.
pub(crate) fn cannot_run(plan: &Plan, why: &str, reporters: &mut Reporters<'_>) {
    let mut driver = begin(plan, reporters);
    driver.end.bench_error = Some(why.to_owned());
    driver.finish(reporters);
}

fn begin<'a>(plan: &'a Plan, reporters: &mut Reporters<'_>) -> Driver<'a> {
    let basis = Some(plan.basis.clone());
    let started = RunStarted { basis, ..plan.started(&plan.transports, plan.planned()) };
    let demands = demands(plan);
    Driver::begin(started, plan.policy(), demands, plan.folder.display().to_string(), reporters)
}

/// What a run of a plan is held to.
pub(crate) fn demands(plan: &Plan) -> Demands {
    let is_part = plan.basis.shard.is_some();
    let selected = !plan.cases.is_empty() || !plan.generation.properties.is_empty();
    Demands {
        whole_suite: plan.whole_suite,
        is_part,
        flaky_fails: plan.flaky_fails,
        // Of a part only the whole can tell: all of it may be about what this device has not.
        must_show: selected && !is_part,
    }
}

fn compare_transports(plan: &Plan, driver: &mut Driver<'_>, reporters: &mut Reporters<'_>) {
    let transports = plan.transports.iter();
    let both: Result<Vec<_>, _> = transports
        .map(|transport| Recorded::read(&plan.folder, &plan.dut.info(*transport), true))
        .collect();
    match both.as_deref() {
        Ok([first, second]) => driver.compare([first, second], &plan.repro_both(), reporters),
        Ok(_) => {}
        Err(refusal) => driver.end.bench_error = Some(refusal.to_string()),
    }
}

/// Says where a board is listened for, and for which one another device stands in.
pub fn notice_of_device(plan: &Plan, reporters: &mut Reporters<'_>) {
    let stand_in = mcp_hil_record::about::stood_in(&[plan.dut.info(plan.transports[0])]);
    // Of a board that is not there, nobody has to know how it would be reached.
    let address = plan.listening.notice.clone();
    let address = address.filter(|_| plan.dut.absent.is_none());
    for text in stand_in.into_iter().chain(address) {
        reporters.event(&Event::Notice { text });
    }
}

/// Says which entries of a baseline nobody has read yet: until then they hide what nobody decided to.
pub fn notice_unreviewed(baseline: &Baseline, reporters: &mut Reporters<'_>) {
    let names: Vec<String> = baseline.unreviewed().collect();
    if !names.is_empty() {
        let text = format!(
            "baseline entries that nobody has reviewed yet: {}; review them, give the reason in \
             `reason`, and remove `review = true`",
            names.join(", ")
        );
        reporters.event(&Event::Notice { text });
    }
}
