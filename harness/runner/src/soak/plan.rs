//! What is to be repeated, and for how long.

use std::path::Path;
use std::time::Duration;

use mcp_hil_args::{RunArgs, SoakArgs, Sut};
use mcp_hil_record::error::UserError;

use super::record::SoakRecord;
use crate::plan::Plan;
use crate::rack;

/// How long a round stays with its device unless told otherwise: half of it is enough for one kind of request to show what
/// it takes of the memory that stock firmware tells every ten seconds.
const LINGER: Duration = Duration::from_secs(120);

/// What is to be repeated, and for how long.
#[derive(Debug)]
pub struct Soak {
    /// One round of it; its folder is that of the soak.
    pub plan: Plan,
    /// How long all rounds take together.
    pub time: Duration,
    /// How often the reports are written meanwhile.
    pub report_every: Duration,
    /// How many rounds are kept that found nothing.
    pub keep: usize,
    /// What came of it before it was stopped.
    pub(super) before: Option<SoakRecord>,
}

impl Soak {
    /// Makes a soak of the arguments, and its folder.
    ///
    /// # Errors
    ///
    /// The first mistake in arguments or files; several devices or transports; a folder to go on in that is not one of a
    /// soak, or of another one.
    pub fn new(args: &SoakArgs) -> Result<Self, UserError> {
        let run = single(args)?;
        let (plan, before) = match &args.resume {
            None => (Plan::new(&run)?, None),
            Some(folder) => {
                let before = SoakRecord::read(folder)?;
                let seed = run.seed.unwrap_or(before.run.seed);
                let plan = Plan::at(&RunArgs { seed: Some(seed), ..run }, folder)?;
                goes_on(&before, &plan, folder)?;
                (plan, Some(before))
            }
        };
        if let [first, second, ..] = plan.transports[..] {
            let (first, second) = (first.name(), second.name());
            return Err(UserError::usage(
                format!(
                    "a soak is over one transport, and this one would be over {first} and {second}"
                ),
                &format!("add `--transport {first}`"),
            ));
        }
        let (time, report_every) = (args.time, args.report_every);
        Ok(Self { plan, time, report_every, keep: args.keep, before })
    }
}

/// The arguments of a round, if they mean one device.
fn single(args: &SoakArgs) -> Result<RunArgs, UserError> {
    let run = &args.run;
    if run.sut == Sut::Gateway {
        return Err(UserError::usage(
            "a soak is for devices, not for gateways",
            "leave `--sut` out",
        ));
    }
    if run.shard.is_some() || run.last_failed {
        let option = if run.last_failed { "--last-failed" } else { "--shard" };
        return Err(UserError::usage(
            format!("`{option}` is for single runs: a soak repeats its whole selection"),
            "select with `--only` and `--exclude`",
        ));
    }
    match &rack::devices(run)?[..] {
        [one] => {
            let linger = Some(run.linger.unwrap_or(LINGER));
            Ok(RunArgs { dut: vec![one.clone()], linger, ..run.clone() })
        }
        several => Err(UserError::usage(
            format!("a soak tests one device, and these are {}", several.len()),
            "start one `mcp-hil soak` for each of them, each with `--out` of its own",
        )),
    }
}

/// Refuses to go on with what does not stand on the same.
fn goes_on(before: &SoakRecord, plan: &Plan, folder: &Path) -> Result<(), UserError> {
    let device = |name: Option<&str>| name.unwrap_or_default().to_owned();
    let was = device(before.run.duts.first().map(|dut| dut.name.as_str()));
    if was != plan.dut.name {
        return Err(UserError::usage(
            format!("`{}` is a soak of `{was}`, not of `{}`", folder.display(), plan.dut.name),
            "repeat its command, with `--resume` added",
        ));
    }
    if before.run.basis.as_ref() != Some(&plan.basis) {
        return Err(UserError::usage(
            format!("`{}` was begun with other options, cases or firmware", folder.display()),
            "repeat its command with `--resume` added, or begin a new one",
        ));
    }
    Ok(())
}
