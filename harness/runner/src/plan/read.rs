//! A plan out of arguments and files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_hil_args::{AUTO, FlakyResult, RunArgs, baseline_argument};
use mcp_hil_bench::backtrace::{Symbols, is_program};
use mcp_hil_bench::dut::declared::check_kinds;
use mcp_hil_bench::dut::{Asked, Choice, Difference, Dut, How, SHORTEST_TOKEN, choose, named};
use mcp_hil_bench::host::HostOptions;
use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transport::Transport;
use mcp_hil_judge::compare::SAME_ANSWERS;
use mcp_hil_record::error::UserError;
use mcp_hil_scenario::Case;

use super::basis::basis;
use super::folder::now;
use super::generation::Generation;
use super::last_failed::last_failed;
use super::limit::FailureLimit;
use super::listen::Listening;
use super::mqtt::MqttPlan;
use super::{Plan, shard};
use crate::random::Random;
use crate::snapshots::Setup as Snapshots;
use crate::suite::{Suite, selects};

/// What is to be tried, and what is known to fail: all that does not depend on the device.
pub(super) struct Tests {
    pub(super) suite: Suite,
    pub(super) cases: Vec<Case>,
    pub(super) generation: Generation,
    pub(super) baseline: Option<Baseline>,
    /// Whether that is the whole suite.
    pub(super) whole_suite: bool,
}

impl Tests {
    fn read(args: &RunArgs) -> Result<Self, UserError> {
        let (suite, cases, generation) = selection(args)?;
        let whole_suite = args.selects_all();
        let mut tests = Self { suite, cases, generation, baseline: None, whole_suite };
        if let Some(path) = &args.baseline {
            tests.read_known(path)?;
            // Other suites and rules need not have what a baseline for these names.
            if let (Some(baseline), None, []) = (&tests.baseline, &args.scenarios, &args.rules[..])
            {
                tests.suite.check_covered(baseline, path)?;
            }
        }
        Ok(tests)
    }

    /// Reads the known failures.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has a mistake.
    fn read_known(&mut self, path: &Path) -> Result<(), UserError> {
        let baseline = read_baseline(path)?;
        check_slugs(&baseline, path, &self.suite.catalogue)?;
        self.baseline = Some(baseline);
        Ok(())
    }

    /// Leaves of the selection what the last runs of a device have not passed, and tells what that is.
    fn keep_last_failed(&mut self, out: &Path, dut: &str) {
        let Some(failed) = last_failed(out, dut) else {
            mcp_hil_core::notice!(
                "last-failed: there is no earlier run of `{dut}` in `{}`: running everything",
                out.display()
            );
            return;
        };
        let number = |of: &Self| of.cases.len() + of.generation.properties.len();
        let is_wanted = |id: &str| failed.contains(id);
        let cases = self.cases.iter().any(|case| is_wanted(&case.id));
        if !cases && !self.generation.properties.iter().any(|property| is_wanted(property.id)) {
            mcp_hil_core::notice!(
                "last-failed: `{dut}` passed all of these when they last ran: running everything"
            );
            return;
        }
        let all = number(self);
        self.cases.retain(|case| is_wanted(&case.id));
        self.generation.properties.retain(|property| is_wanted(property.id));
        self.whole_suite = false;
        mcp_hil_core::notice!("last-failed: {} of {all} cases on `{dut}`", number(self));
    }
}

impl Plan {
    /// Makes a plan of the arguments, in three steps: files are read, the device is chosen (the one step that may
    /// build something: an image of the reference device), and the folder of the run is made.
    ///
    /// # Errors
    ///
    /// The first mistake in arguments or files; no device can be had; the folder cannot be made.
    pub fn new(args: &RunArgs) -> Result<Self, UserError> {
        let tests = Tests::read(args)?;
        let dut = device(args)?;
        Self::of(args, tests, dut)?.in_folder(&args.out)
    }

    /// The same in a folder that is there already.
    ///
    /// # Errors
    ///
    /// The first mistake in arguments or files; no device can be had.
    pub(crate) fn at(args: &RunArgs, folder: &Path) -> Result<Self, UserError> {
        let mut plan = Self::of(args, Tests::read(args)?, device(args)?)?;
        plan.folder = folder.to_owned();
        plan.run = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(plan)
    }

    /// The plan for one of several devices, which is named already; its folder is not made.
    ///
    /// # Errors
    ///
    /// The first mistake in arguments or files.
    pub(crate) fn of_one(args: &RunArgs, dut: Dut) -> Result<Self, UserError> {
        Self::of(args, Tests::read(args)?, dut)
    }

    /// The plan as a value: nothing is started, built or written for it.
    fn of(args: &RunArgs, mut tests: Tests, dut: Dut) -> Result<Self, UserError> {
        let own = dut.file.as_ref().and_then(|file| file.baseline.as_deref());
        if let (Some(path), None) = (own, &args.baseline) {
            tests.read_known(path)?;
        }
        if args.last_failed {
            tests.keep_last_failed(&args.out, &dut.name);
        }
        let mut repro_arguments = args.repro_arguments();
        if let (Some(_), Some(path)) = (&dut.in_place_of, &args.baseline) {
            // Known failures of the board are none of another device, which would be called to account
            // for not showing them.
            mcp_hil_core::notice!(
                "fallback: the baseline `{}` belongs to the board and is not applied to `{}`",
                path.display(),
                dut.name
            );
            tests.baseline = None;
            repro_arguments = repro_arguments.replace(&baseline_argument(path), "");
        }
        let symbols = program(args, &dut).map(|path| Symbols::read(&path).map(Arc::new));
        let basis = basis(args, &tests, &dut)?;
        if let Some(shard) = basis.shard {
            shard::keep(shard, &mut tests.cases, &mut tests.generation);
        }
        let seed = args.seed.unwrap_or_else(Random::seed);
        let token = token(args, &dut, seed)?;
        let snapshots = Snapshots::new(
            args.snapshots,
            &args.snapshots_dir,
            &dut,
            &tests.cases,
            // Other rule sets leave cases out.
            tests.whole_suite && args.rules.is_empty() && basis.shard.is_none(),
        )?;
        let listening = Listening::new(args, &dut)?;
        let started = now();
        let connect = args.connect_deadline.unwrap_or_else(|| dut.patience());
        let mut random = Random::new(Random::seed().rotate_left(43) ^ seed);
        let configured_token = token.clone().unwrap_or_else(|| random.uuid());
        let transports = transports(args, &dut)?;
        let mqtt = MqttPlan::new(args, &dut, token.as_deref(), seed, &transports)?;
        Ok(Self {
            transports,
            mqtt,
            linger: args.linger.unwrap_or_else(|| dut.linger()),
            in_flight: args.in_flight,
            wait_for_board: args.wait_for_board.unwrap_or_default(),
            beside_others: false,
            confirms: !args.no_confirm,
            retries: args.retries,
            flaky_fails: args.flaky_result == FlakyResult::Fail,
            limit: args.most_failures().map(FailureLimit::new),
            time_budget: args.time_budget,
            reconnect_deadline: args.reconnect_deadline,
            dut,
            cases: tests.cases,
            generation: tests.generation,
            whole_suite: tests.whole_suite && basis.shard.is_none(),
            basis,
            catalogue: tests.suite.catalogue,
            rules: tests.suite.rules,
            strict: args.strict,
            baseline: tests.baseline,
            snapshots,
            symbols,
            seed,
            listening,
            vision_tokens: vision_tokens(&mut random),
            configured_token,
            token,
            deadline: args.deadline,
            connect_deadline: connect,
            run: String::new(),
            today: started.chars().take(10).collect(),
            started,
            folder: PathBuf::new(),
            repro_arguments,
        })
    }
}

/// The device that the arguments mean; the first, where they mean several.
///
/// # Errors
///
/// There is none such, or what it needs cannot be had.
pub(crate) fn device(args: &RunArgs) -> Result<Dut, UserError> {
    let difference = Difference::asked(args.mutant.as_deref(), args.variant.as_deref());
    let host = HostOptions {
        board: args.host_board.clone(),
        components: args.host_components.clone(),
        stubs: args.host_stubs.clone(),
        sanitize: args.host_sanitize,
        heap: args.host_heap,
        stack_scale: args.host_stack_scale,
    };
    let asked = Asked {
        difference: difference.as_ref(),
        firmware: args.firmware.as_deref(),
        host: Some(&host),
        ..Asked::default()
    };
    let choice = Choice::from(args);
    check_kinds(choice.fallback)?;
    let mut say = |line: &str| mcp_hil_core::notice!("{line}");
    let mut dut = match args.dut.first().map_or(AUTO, String::as_str) {
        AUTO => choose(&choice, &asked, &mut say),
        spec => named(spec, &choice, &asked, &mut say),
    }?;
    dut.allow.clone_from(&args.allow);
    Ok(dut)
}

/// The tokens for pictures, one of them as long as a signed token is.
fn vision_tokens(random: &mut Random) -> [String; 2] {
    [random.uuid(), [(); 6].map(|()| random.uuid()).join(".")]
}

/// The token that the device must present; `None` when it was given none.
fn token(args: &RunArgs, dut: &Dut, seed: u64) -> Result<Option<String>, UserError> {
    if args.token.as_ref().is_some_and(|token| token.len() < SHORTEST_TOKEN) {
        return Err(UserError::usage(
            format!("`--token`: expected at least {SHORTEST_TOKEN} characters"),
            "the token is removed from everything that is recorded; a short one would also remove other text",
        ));
    }
    let waits = matches!(dut.how, How::Wait);
    Ok(match (&args.token, waits) {
        (Some(token), _) => Some(token.clone()),
        // Whoever starts the device cannot know a token that was made up here.
        (None, true) => None,
        (None, false) => Some(Random::new(Random::seed().rotate_left(17) ^ seed).uuid()),
    })
}

/// The ids of the cases that arguments select, in the order in which they run. Starts and builds nothing.
///
/// # Errors
///
/// The first mistake in arguments or files.
pub fn selected(args: &RunArgs) -> Result<Vec<String>, UserError> {
    let (_, cases, generation) = selection(args)?;
    let properties = generation.properties.iter().map(|property| property.id);
    let ids = cases.iter().map(|case| &*case.id).chain(properties);
    Ok(ids.map(str::to_owned).collect())
}

/// The suite, and what of it is selected.
fn selection(args: &RunArgs) -> Result<(Suite, Vec<Case>, Generation), UserError> {
    let mut suite = Suite::load(&args.rules, args.scenarios.as_deref())?;
    let regressions = args.regressions_folder();
    let mut cases = match &args.scenario[..] {
        [] => {
            if let Some(folder) = regressions.as_deref().filter(|_| args.tries_regressions()) {
                suite.add_regressions(folder)?;
            }
            suite.select(&args.only)?
        }
        files => suite.read_files(files)?,
    };
    let mut generation = Generation::new(args, regressions)?;
    for selector in &args.exclude {
        suite.check_excluded(selector)?;
        cases.retain(|case| !selects(selector, case));
        generation.properties.retain(|property| !property.id.starts_with(selector.as_str()));
    }
    if !args.exclude.is_empty() && cases.is_empty() && generation.properties.is_empty() {
        return Err(UserError::nothing_ran("`--exclude` leaves no case", "exclude less"));
    }
    Ok((suite, cases, generation))
}

/// Refuses a baseline with a requirement that there is not: the entry would cover nothing, and nobody would
/// be told.
fn check_slugs(baseline: &Baseline, path: &Path, catalogue: &Catalogue) -> Result<(), UserError> {
    let mut slugs = baseline.known.iter().filter_map(|known| known.requirement.as_deref());
    let there = |slug: &str| match slug.ends_with('.') {
        true => catalogue.iter().any(|it| it.id.starts_with(slug)),
        false => catalogue.get(slug).is_some(),
    };
    if let Some(slug) = slugs.find(|slug| !there(slug)) {
        let what = format!("`{}`: unknown requirement `{slug}`", path.display());
        return Err(match catalogue.nearest(slug) {
            Some(near) => UserError::usage(what, &format!("did you mean `{near}`?")),
            None => UserError::usage(what, "`mcp-hil list --requirements` lists them all"),
        });
    }
    Ok(())
}

/// Reads a baseline file.
pub fn read_baseline(path: &Path) -> Result<Baseline, UserError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        UserError::usage(format!("cannot read the baseline `{name}`: {error}"), "check the path")
    })?;
    Ok(Baseline::load(&name, &text)?)
}

/// The transports of a run: those given with `--transport`, else those that the device's file lists.
///
/// # Errors
///
/// A transport that the device's file does not list; a comparison of two where there is one.
fn transports(args: &RunArgs, dut: &Dut) -> Result<Vec<Transport>, UserError> {
    let transports = chosen_transports(args, dut)?;
    check_comparison(args, &transports)?;
    Ok(transports)
}

fn chosen_transports(args: &RunArgs, dut: &Dut) -> Result<Vec<Transport>, UserError> {
    // What stands in for a board is tried over what the board speaks.
    let of_board = dut.in_place_of.as_ref().map(|board| &board.file);
    let file = dut.file.as_ref().or(of_board);
    let named = file.map(|file| &file.transports[..]).unwrap_or_default();
    let Some(asked) = args.transport else {
        return Ok(match named {
            [] => vec![Transport::WebSocket],
            named => named.to_vec(),
        });
    };
    let asked = asked.list();
    match asked.iter().find(|asked| !named.contains(asked)) {
        Some(foreign) if !named.is_empty() => Err(UserError::usage(
            format!(
                "`--transport {}`: the file of `{}` does not list it in `transports`",
                foreign.name(),
                dut.name
            ),
            "add it there if the device supports it",
        )),
        _ => Ok(asked),
    }
}

/// Refuses to compare the transports of a run that has one: it would pass without a comparison.
fn check_comparison(args: &RunArgs, transports: &[Transport]) -> Result<(), UserError> {
    match transports {
        [one] if args.only.iter().any(|selector| selector == SAME_ANSWERS) => {
            let what = format!(
                "`--only {SAME_ANSWERS}` compares two transports, and this run has {} alone",
                one.name()
            );
            Err(UserError::nothing_ran(what, "add `--transport both`"))
        }
        _ => Ok(()),
    }
}

/// The device's program with its debug information (ELF): the one named with `--elf` or in the device's file,
/// else the firmware to be flashed if that is an ELF file, or what was built for this host.
fn program(args: &RunArgs, dut: &Dut) -> Option<PathBuf> {
    let file = dut.file.as_ref();
    let board = file.and_then(|file| file.board.as_ref());
    let named = args.elf.as_ref();
    let named = named.or_else(|| board.and_then(|board| board.elf.as_ref()));
    let flashed = || {
        let image = args.firmware.as_ref();
        let image = image.or_else(|| file.and_then(|file| file.firmware.as_ref()));
        image.filter(|path| is_program(path))
    };
    let built = match &dut.how {
        How::Host(host) => Some(&host.program),
        _ => None,
    };
    named.or_else(flashed).or(built).cloned()
}
