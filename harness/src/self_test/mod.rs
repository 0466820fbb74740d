//! The test of the harness: every mutant of the reference device must be found out, and nothing may
//! be found in the device itself and in its harmless variations.
//!
//! `table` knows what should kill which mutant, `trial` runs the program once against one device and
//! reads its report, `show` prints what came of it. Each trial is a process of its own: one that
//! hangs or breaks spoils no other.

mod cost;
mod show;
mod table;
mod trial;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_hil_core::problem::nearest;
use tokio::sync::{RwLock, Semaphore, watch};
use tokio::task::JoinSet;

use mcp_hil_args::SelfTestArgs;
use mcp_hil_bench::dut::{Difference, NativeProgram};
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;

pub use show::{Event, Totals};
pub use table::{Kill, LINGER, kills};
pub use trial::{Differing, FalseFinding, Killed, Outcome, Tried};

use trial::{Bench, Trial};

/// The name of the device without mutant and variation.
pub const GOOD: &str = "good";

/// Tries every mutant and every variation that is selected, and prints what came of it to `out`.
/// `program` is this program, of which each trial starts another. `interrupt` turns true on Ctrl-C.
///
/// # Errors
///
/// The reference device is not there, or nothing is selected.
pub async fn run(
    args: &SelfTestArgs,
    program: PathBuf,
    out: impl Write,
    mut interrupt: watch::Receiver<bool>,
) -> Result<u8, UserError> {
    let trials = trials(args, &NativeProgram::find()?)?;
    let mut shown = show::Shown::new(out, args.format);
    let bench = Arc::new(Bench::new(program, args)?);
    let work = carry_out(&bench, trials, args, &mut shown);
    let done = tokio::select! {
        () = work => true,
        // The trials end with their tasks.
        _ = interrupt.wait_for(|stop| *stop) => false,
    };
    if !done {
        return Ok(exit::INTERRUPTED);
    }
    Ok(shown.finish())
}

/// How many devices that are slow by nature run beside the others, unless `--jobs` sets a limit: they do nearly nothing
/// but wait.
const SLOW_AT_ONCE: usize = 2;

/// How many trials at a time. They wait more than they work.
fn jobs(args: &SelfTestArgs) -> usize {
    let default = || 3 * std::thread::available_parallelism().map_or(1, usize::from);
    args.jobs.map_or_else(default, usize::from)
}

/// Runs the trials, several at a time, and shows each as soon as all before it are shown.
async fn carry_out<W: Write>(
    bench: &Arc<Bench>,
    trials: Vec<Trial>,
    args: &SelfTestArgs,
    shown: &mut show::Shown<W>,
) {
    let (slots, alone) = (Arc::new(Semaphore::new(jobs(args))), Arc::new(RwLock::new(())));
    let slow = match args.jobs {
        Some(_) => slots.clone(),
        None => Arc::new(Semaphore::new(SLOW_AT_ONCE)),
    };
    // Most mutants need a script: that generated inputs alone let them live says nothing.
    let tries_again = !args.generated;
    let mut tasks = JoinSet::new();
    for (index, trial) in trials.into_iter().enumerate() {
        let slots = if trial.is_slow() { &slow } else { &slots };
        let (bench, slots, alone) = (bench.clone(), slots.clone(), alone.clone());
        tasks.spawn(async move {
            let _slot = slots.acquire().await;
            let mut tried = {
                let _together = alone.read().await;
                trial.carry_out(&bench).await
            };
            if tries_again && tried.is_worth_another() {
                let _alone = alone.write().await;
                tried = trial.carry_out(&bench).await;
                tried.again = true;
            }
            (index, tried)
        });
    }
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok((index, tried)) => waiting.insert(index, tried),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        while let Some(tried) = waiting.remove(&next) {
            shown.tried(tried);
            next += 1;
        }
    }
}

/// What is selected: the good device and its variations, then mutants by area. The former take
/// longest, so that what is left at the end is short.
fn trials(args: &SelfTestArgs, native: &NativeProgram) -> Result<Vec<Trial>, UserError> {
    let (mutants, variants) = (native.listed("mutant")?, native.listed("variant")?);
    let kills = kills();
    let mistaken = |name: &str| args.mistake.iter().any(|mistaken| mistaken == name);
    let mutant = |name: &str| Difference::Mutant(name.to_owned());
    let variant = |name: &str| Difference::Variant(name.to_owned());
    let (quick, generated) = (args.quick, args.generated);
    let new = |difference, area: &str, known: &[Kill]| match generated {
        true => Trial::generated(difference, area, known),
        false => Trial::mutant(difference, area, known, quick),
    };
    let mut trials = vec![Trial::harmless(None, quick)];
    for listed in variants.iter().filter(|listed| !mistaken(&listed.name)) {
        trials.push(Trial::harmless(Some(variant(&listed.name)), quick));
    }
    for listed in mutants.iter().filter(|listed| mistaken(&listed.name)) {
        trials.push(Trial::harmless(Some(mutant(&listed.name)), quick));
    }
    for listed in variants.iter().filter(|listed| mistaken(&listed.name)) {
        trials.push(new(variant(&listed.name), "", &[]));
    }
    for listed in mutants.iter().filter(|listed| !mistaken(&listed.name)) {
        let known = kills.get(&listed.name).map_or(&[][..], Vec::as_slice);
        trials.push(new(mutant(&listed.name), &listed.area, known));
    }
    for selector in &args.only {
        if !trials.iter().any(|trial| trial.name().starts_with(selector.as_str())) {
            let hint = match nearest(selector, trials.iter().map(Trial::name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "leave it out".to_owned(),
            };
            return Err(UserError::nothing_ran(
                format!("`--only {selector}` selects no mutant and no variation"),
                &hint,
            ));
        }
    }
    let wanted = |trial: &Trial| {
        args.only.is_empty()
            || args.only.iter().any(|selector| trial.name().starts_with(selector.as_str()))
    };
    trials.retain(|trial| !(args.harmless && trial.is_mutant()));
    trials.retain(wanted);
    Ok(trials)
}
