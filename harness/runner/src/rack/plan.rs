//! Which devices a run has, and the plan for each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_hil_args::RunArgs;
use mcp_hil_bench::dut::{Dut, How};
use mcp_hil_boards::board::port;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{Basis, RunStarted};
use mcp_hil_record::exit;

use crate::plan::{FailureLimit, Plan, device, make_folder};
use crate::random::Random;

/// What the folder of a run of several devices is named after, in the place of a device.
const NAME: &str = "rack";

/// A run of several devices, complete before anything starts.
#[derive(Debug)]
pub struct Rack {
    /// A plan for each device, in the order in which they were named.
    pub lanes: Vec<Arc<Plan>>,
    /// What could not be planned, because of the bench and not of a mistake: what `--dut` said, and why.
    pub refused: Vec<(String, UserError)>,
    /// The requirements.
    pub catalogue: Arc<Catalogue>,
    /// The folder of all.
    pub folder: PathBuf,
    /// How many lanes run at once.
    pub jobs: usize,
    run: String,
}

/// The devices that arguments name, a folder as the device files in it, in the order of their names. Files in folders
/// below it are not among them: examples are there.
///
/// # Errors
///
/// A folder without a device file, or one that cannot be read.
pub fn devices(args: &RunArgs) -> Result<Vec<String>, UserError> {
    let mut devices = Vec::new();
    for spec in &args.dut {
        let folder = Path::new(spec);
        match folder.is_dir() {
            true => devices.extend(files_in(folder)?),
            false => devices.push(spec.clone()),
        }
    }
    Ok(devices)
}

fn files_in(folder: &Path) -> Result<Vec<String>, UserError> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).map_err(|error| {
        UserError::usage(
            format!("cannot read the folder `{shown}`: {error}"),
            "check the path after `--dut`",
        )
    })?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<String> = paths
        .filter(|path| path.is_file() && path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.display().to_string())
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(UserError::usage(
            format!("`--dut {shown}`: expected a folder with device files `*.toml`, got none"),
            "`mcp-hil duts --write FILE` writes one for a board that is attached",
        ));
    }
    Ok(files)
}

impl Rack {
    /// Makes the plans. The seed is the same for all, so that their runs can be compared.
    ///
    /// # Errors
    ///
    /// A mistake in arguments or files; two devices of one name, or two names of one board; a fault of the bench, where
    /// it leaves no device; the folder cannot be made.
    pub fn new(args: &RunArgs, devices: &[String]) -> Result<Self, UserError> {
        check_addresses(args)?;
        let seed = args.seed.unwrap_or_else(Random::seed);
        // Of all devices together.
        let limit = args.most_failures().map(FailureLimit::new);
        let (mut lanes, mut refused): (Vec<Plan>, _) = (Vec::new(), Vec::new());
        for spec in devices {
            let own = RunArgs { dut: vec![spec.clone()], seed: Some(seed), ..args.clone() };
            let planned =
                device(&own).map_err(|error| of_device(error, spec)).and_then(|mut dut| {
                    name_apart(&mut dut, &lanes, spec)?;
                    let mut plan = Plan::of_one(&own, dut)?;
                    plan.limit.clone_from(&limit);
                    Ok(plan)
                });
            match planned {
                Ok(plan) => lanes.push(plan),
                Err(error) if error.exit == exit::BENCH => refused.push((spec.clone(), error)),
                Err(error) => return Err(error),
            }
        }
        if lanes.is_empty() {
            let first = refused.into_iter().next().map(|(_, error)| error);
            let nobody = || UserError::nothing_ran("no device is named", "name one with `--dut`");
            return Err(first.unwrap_or_else(nobody));
        }
        let several = lanes.len() > 1;
        lanes.iter_mut().for_each(|plan| plan.beside_others = several);
        let fixed = lanes.iter_mut().filter(|plan| plan.listening.has_fixed_port());
        (0..).zip(fixed).for_each(|(at, plan)| plan.listening.move_up(at));
        let (catalogue, stamp) = (lanes[0].catalogue.clone(), lanes[0].started.replace(':', ""));
        let (run, folder) = make_folder(&args.out, &stamp, NAME)?;
        let lanes = lanes.into_iter().map(|plan| plan.in_folder_of_all(&folder).map(Arc::new));
        let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        let jobs = args.jobs.map_or(usize::MAX, |jobs| jobs as usize).min(lanes.len());
        Ok(Self { lanes, refused, catalogue, folder, jobs, run })
    }

    /// What the run says at its beginning.
    pub(super) fn started(&self) -> RunStarted {
        let first = &self.lanes[0];
        let started = self.lanes.iter().map(|plan| plan.started(&plan.transports, plan.planned()));
        let (mut duts, mut cases) = (Vec::new(), 0);
        for one in started {
            duts.extend(one.duts);
            cases += one.cases;
        }
        let baseline = self.has_one_baseline().then(|| first.basis.baseline.clone()).flatten();
        RunStarted {
            run: self.run.clone(),
            duts,
            basis: Some(Basis { firmware: None, baseline, ..first.basis.clone() }),
            joined: self.lanes.iter().map(|plan| plan.run.clone()).collect(),
            at_once: Some(self.jobs),
            ..first.started(&[], cases)
        }
    }

    /// Whether the same failures are known of all devices.
    pub(super) fn has_one_baseline(&self) -> bool {
        self.lanes.iter().all(|plan| plan.basis.baseline == self.lanes[0].basis.baseline)
    }
}

/// A mistake with the device that has it: of several, nobody would know whose it is.
fn of_device(error: UserError, spec: &str) -> UserError {
    match error.exit == exit::USAGE && !error.what.contains(spec) {
        true => error.about(format_args!("`--dut {spec}`")),
        false => error,
    }
}

/// One address cannot be listened at for several devices.
fn check_addresses(args: &RunArgs) -> Result<(), UserError> {
    for (option, address) in [("listen", args.listen), ("http-listen", args.http_listen)] {
        if let Some(address) = address.filter(|address| address.port() != 0) {
            let member = option.replace('-', "_");
            return Err(UserError::usage(
                format!(
                    "`--{option} {address}` with several devices: each needs a port of its own"
                ),
                &format!(
                    "give port 0, which takes any free one, or set `{member}` in the devices' files"
                ),
            ));
        }
    }
    Ok(())
}

/// Gives a device a name that no other has: reports and folders tell devices apart by it.
///
/// # Errors
///
/// Its file gives it the name of another one, or it is the same board.
fn name_apart(dut: &mut Dut, others: &[Plan], spec: &str) -> Result<(), UserError> {
    if let Some(same) = others.iter().find(|plan| is_same_board(&plan.dut, dut)) {
        return Err(UserError::usage(
            format!("`{}` and `{spec}` are the same board", same.dut.spec()),
            "name each board once",
        ));
    }
    let names: BTreeSet<&str> = others.iter().map(|plan| &*plan.dut.name).collect();
    if !names.contains(&*dut.name) {
        return Ok(());
    }
    if dut.file.is_some() {
        return Err(UserError::usage(
            format!("two devices are named `{}`; one is in `{spec}`", dut.name),
            "give each file its own `name`",
        ));
    }
    let numbered = (2..).map(|number: usize| format!("{}-{number}", dut.name));
    if let Some(free) = numbered.into_iter().find(|name| !names.contains(&**name)) {
        dut.name = free;
    }
    Ok(())
}

fn is_same_board(one: &Dut, other: &Dut) -> bool {
    let identity = |dut: &Dut| match &dut.how {
        How::Board(board) => port::identity(&board.file.place()).ok(),
        _ => None,
    };
    identity(one).is_some_and(|of_one| identity(other) == Some(of_one))
}
