//! The program `mcp-hil`: arguments in, exit code out.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};

use clap::{CommandFactory as _, FromArgMatches as _};
use mcp_hil::replay::Replay;
use mcp_hil::{clean, doctor, explain, init, install, review, self_test};
use mcp_hil_args as args;
use mcp_hil_args::{
    BaselineCommand, Cli, Color, Command, FirmwareCommand, Format, GatewayArgs, MergeArgs,
    OutputArgs, PROFILES, ReplayArgs, ReviewArgs, RunArgs, SelfTestArgs, ServeArgs, SetupCommand,
    SoakArgs, Sut, from_profile,
};
use mcp_hil_bench::{bridge, duts, firmware, flash, program, setup};
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_gateway::server::GatewaySetup;
use mcp_hil_gateway::suite::plan::GatewayPlan;
use mcp_hil_gateway::{serve, server, suite};
use mcp_hil_record::Ndjson;
use mcp_hil_record::Reporters;
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;
use mcp_hil_record::read::read_record;
use mcp_hil_record::text::layout::hanging;
use mcp_hil_report::merge::Merge;
use mcp_hil_report::{
    self, Annotations, Progress, Sources, StepSummary, Style, Terminal, Workspace, html, junit,
    markdown,
};
use mcp_hil_report::{baseline, coverage, diff};
use mcp_hil_runner::plan::Plan;
use mcp_hil_runner::rack::{self, LaneFiles, Rack};
use mcp_hil_runner::run;
use mcp_hil_runner::soak::{self, Soak};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// The command that is the reference device.
const NATIVE: &str = "native";

fn main() -> ExitCode {
    // Runs start this program again, for parts that take a process of their own.
    if let Ok(own) = std::env::current_exe() {
        program::set(own);
    }
    // The library does not know the reference device; this is the one place that brings both together.
    let native = reference_native::Arguments::command()
        .name(NATIVE)
        .about("Run the reference device, for any backend");
    let program = args::command(native).version(env!("PROGRAM_VERSION"));
    let mut matches = match with_profile(program.clone()) {
        Ok(matches) => matches,
        Err(refusal) => {
            tell(&refusal);
            return ExitCode::from(refusal.exit);
        }
    };
    if let Some((NATIVE, arguments)) = matches.subcommand() {
        return match reference_native::Arguments::from_arg_matches(arguments) {
            Ok(device) => device.run(),
            Err(error) => error.exit(),
        };
    }
    let cli = Cli::from_arg_matches_mut(&mut matches);
    let cli = cli.unwrap_or_else(|error| error.format(&mut Cli::command()).exit());
    let done = match cli.command {
        Command::Init(_) => init::init(&program).map(print),
        Command::Run(args) => run_suite(&args),
        Command::Soak(args) => soak(&args),
        Command::Replay(args) => replay(&args),
        Command::Gateway(args) => run_gateway(&args),
        Command::List(args) => explain::list(&args, list_width()).map(print),
        Command::Explain(args) => explain::explain(&args).map(print),
        Command::Diff(args) => diff::diff(&args).map(|(text, exit)| {
            print(text);
            exit
        }),
        Command::Baseline(BaselineCommand::New(args)) => baseline::new(&args).map(print),
        Command::Baseline(BaselineCommand::Update(args)) => baseline::update(&args).map(print),
        Command::Review(args) => review_answers(&args),
        Command::Merge(args) => merge_runs(&args),
        Command::Coverage(args) => coverage::coverage(&args).map(print),
        Command::Clean(args) => clean::clean(&args).map(print),
        Command::Firmware(FirmwareCommand::Build(args)) => firmware::build(&args).map(print),
        Command::Firmware(FirmwareCommand::Host(args)) => firmware::host(&args).map(print),
        Command::Firmware(FirmwareCommand::Image(args)) => firmware::image(&args).map(print),
        Command::Firmware(FirmwareCommand::Nvs(args)) => firmware::nvs(&args).map(print),
        Command::Flash(args) => flash::flash(&args, bar()).map(print),
        Command::FlashWorker => flash_worker(),
        Command::Duts(args) => duts::duts(&args).map(|(text, exit)| {
            print(text);
            exit
        }),
        Command::AskChip(args) => duts::ask_chip(&args),
        Command::Doctor(args) => doctor::doctor(&args).map(|(text, exit)| {
            print(text);
            exit
        }),
        Command::Setup(SetupCommand::QemuEsp(args)) => setup::qemu_esp(&args).map(print),
        Command::Serve(args) => serve_devices(&args),
        Command::Completions(args) => Ok(print(install::completions(&args, program))),
        Command::Man(args) => install::man(&args, program).map(print),
        Command::Schema(args) => install::schema(&args, &program).map(print),
        Command::Bridge(args) => bridge::run(&args),
        Command::SelfTest(args) => test_harness(&args),
    };
    ExitCode::from(done.unwrap_or_else(|refusal| {
        tell(&refusal);
        refusal.exit
    }))
}

/// Tells an error, on a terminal with lines that fit.
fn tell(refusal: &UserError) {
    let text = format!("mcp-hil: {refusal}");
    match std::io::stderr().is_terminal() {
        true => {
            let lines: Vec<String> = text.lines().map(|line| hanging(line, WIDTH, 0)).collect();
            mcp_hil_core::notice!("{}", lines.join("\n"));
        }
        false => mcp_hil_core::notice!("{text}"),
    }
}

/// How long the lines of a list may be: as long as they are where a program reads them.
fn list_width() -> Option<usize> {
    std::io::stdout().is_terminal().then_some(WIDTH)
}

/// What is typed, and what the file of profiles adds to it.
///
/// # Errors
///
/// A mistake in that file, or a profile that it has not.
fn with_profile(command: clap::Command) -> Result<clap::ArgMatches, UserError> {
    let typed = command.clone().get_matches();
    let file = match std::fs::read_to_string(PROFILES) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(UserError::usage(
                format!("cannot read `{PROFILES}`: {error}"),
                "it holds profiles for `mcp-hil run`; check who owns it",
            ));
        }
    };
    let added = from_profile(&command, &typed, file.as_deref())?;
    if added.is_empty() {
        return Ok(typed);
    }
    Ok(command.get_matches_from(std::env::args_os().chain(added)))
}

fn review_answers(args: &ReviewArgs) -> Result<u8, UserError> {
    let stdin = std::io::stdin();
    let is_asked = stdin.is_terminal();
    let (mut input, mut output) = (stdin.lock(), std::io::stdout());
    let input = is_asked.then_some(&mut input as &mut dyn std::io::BufRead);
    review::review(args, &mut review::Talk { input, output: &mut output })
}

/// A bar is for people who watch.
fn bar() -> flash::Bar {
    match std::io::stderr().is_terminal() && std::env::var_os("CI").is_none() {
        true => flash::Bar::Shown,
        false => flash::Bar::Hidden,
    }
}

/// Its output is read by the process that started it, which also judges how it ends.
fn flash_worker() -> Result<u8, UserError> {
    let done =
        mcp_hil_boards::flash::worker::work(std::io::stdin().lock(), std::io::stdout().lock());
    done.map(|()| exit::CONFORMING).map_err(|error| {
        UserError::bench(
            format!("cannot flash: {error}"),
            "this command is for `mcp-hil flash`, which controls it",
        )
    })
}

/// What a run tries.
enum Job {
    Device(Box<Plan>),
    Devices(Box<Rack>),
    Gateway(Box<GatewayPlan>),
}

fn run_suite(args: &RunArgs) -> Result<u8, UserError> {
    let job = job(args)?;
    let (folder, catalogue) = match &job {
        Job::Device(plan) => (&plan.folder, &plan.catalogue),
        Job::Devices(rack) => (&rack.folder, &rack.catalogue),
        Job::Gateway(plan) => (&plan.folder, &plan.catalogue),
    };
    let runtime = runtime()?;
    let mut reporters = reporters(&args.output, catalogue, folder)?;
    mcp_hil_report::add_files(&mut reporters, catalogue, sources(&args.output, folder));
    let (summary, lost) = runtime.block_on(async {
        let interrupt = interrupted();
        match &job {
            Job::Device(plan) => (run::run(plan, &mut reporters, interrupt).await, false),
            Job::Devices(rack) => {
                let files = lane_files(&rack.catalogue);
                let end = rack::carry_out(rack, &files, &mut reporters, interrupt).await;
                (end.summary, end.lost)
            }
            Job::Gateway(plan) => (suite::run(plan, &mut reporters, interrupt).await, false),
        }
    });
    let exit = match ending(&reporters, summary.exit) {
        exit::CONFORMING if lost => exit::BENCH,
        exit => exit,
    };
    // What is still running are handshakes of strangers; nobody waits for them.
    runtime.shutdown_background();
    Ok(exit)
}

/// What the arguments of a run mean.
fn job(args: &RunArgs) -> Result<Job, UserError> {
    if args.sut == Sut::Gateway {
        return Ok(Job::Gateway(Box::new(GatewayPlan::new(args)?)));
    }
    let devices = rack::devices(args)?;
    Ok(match &devices[..] {
        [one] => {
            Job::Device(Box::new(Plan::new(&RunArgs { dut: vec![one.clone()], ..args.clone() })?))
        }
        several => Job::Devices(Box::new(Rack::new(args, several)?)),
    })
}

fn soak(args: &SoakArgs) -> Result<u8, UserError> {
    let soak = Soak::new(args)?;
    let plan = &soak.plan;
    let runtime = runtime()?;
    let output = &args.run.output;
    let mut reporters = reporters(output, &plan.catalogue, &plan.folder)?;
    mcp_hil_report::add_files(&mut reporters, &plan.catalogue, sources(output, &plan.folder));
    let mut say = |line: &str| match output.format {
        Format::Human => drop(print(format!("{line}\n"))),
        Format::Json => mcp_hil_core::notice!("{line}"),
    };
    let files = lane_files(&plan.catalogue);
    let end = runtime.block_on(async {
        soak::carry_out(&soak, &files, &mut reporters, &mut say, interrupted()).await
    });
    runtime.shutdown_background();
    Ok(match ending(&reporters, end.summary.exit) {
        exit::CONFORMING if end.lost => exit::BENCH,
        exit => exit,
    })
}

/// The reports that each of several devices, or of several rounds, gets in its own folder.
fn lane_files(catalogue: &Arc<Catalogue>) -> LaneFiles {
    let catalogue = catalogue.clone();
    Arc::new(move |reporters, plan| {
        let sources = Sources { folder: plan.folder.clone(), compare: None };
        mcp_hil_report::add_files(reporters, &catalogue, sources);
    })
}

fn serve_devices(args: &ServeArgs) -> Result<u8, UserError> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let mut stopping = Stopping::new();
        serve::serve(args, stopping.next()).await
    });
    // A thread may still wait for a line on standard input.
    runtime.shutdown_background();
    done.map(|()| exit::CONFORMING)
}

fn test_harness(args: &SelfTestArgs) -> Result<u8, UserError> {
    let program = std::env::current_exe().map_err(|error| {
        UserError::bench(
            format!("cannot determine the path of this program: {error}"),
            "start it by its path",
        )
    })?;
    let runtime = runtime()?;
    let ended = runtime
        .block_on(async { self_test::run(args, program, std::io::stdout(), interrupted()).await });
    runtime.shutdown_background();
    ended
}

fn run_gateway(args: &GatewayArgs) -> Result<u8, UserError> {
    let setup = GatewaySetup::new(args)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async { server::run(&setup, interrupted()).await });
    runtime.shutdown_background();
    ended
}

/// One thread: the harness and the device take turns, and a turn should not cost a wake-up.
fn runtime() -> Result<Runtime, UserError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| {
        UserError::bench(format!("cannot start: {error}"), "is the machine out of memory?")
    })
}

/// Turns true with the first signal, which ends the run with its reports; the second one ends the
/// program at once.
fn interrupted() -> watch::Receiver<bool> {
    let (stop, interrupt) = watch::channel(false);
    // From here on, not from when the task is first polled.
    let mut stopping = Stopping::new();
    tokio::spawn(async move {
        stopping.next().await;
        let _ = stop.send(true);
        stopping.next().await;
        std::process::exit(exit::INTERRUPTED.into());
    });
    interrupt
}

/// The signals that stop a run: Ctrl-C, an end asked for by a CI runner, a terminal that closed.
struct Stopping([Option<Signal>; 3]);

impl Stopping {
    /// Catches them from now on. One that cannot be caught does what it always does.
    fn new() -> Self {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Self(kinds.map(|kind| signal(kind).ok()))
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        let came = |context: &mut Context<'_>| {
            let any =
                self.0.iter_mut().flatten().any(|signal| signal.poll_recv(context).is_ready());
            if any { Poll::Ready(()) } else { Poll::Pending }
        };
        std::future::poll_fn(came).await;
    }
}

fn replay(args: &ReplayArgs) -> Result<u8, UserError> {
    let replay = Replay::open(args)?;
    let mut reporters = reporters(&args.output, &replay.suite.catalogue, &args.run)?;
    let summary = replay.run(&mut reporters);
    Ok(ending(&reporters, summary.exit))
}

fn merge_runs(args: &MergeArgs) -> Result<u8, UserError> {
    let merge = Merge::open(args)?;
    let mut reporters = reporters(&args.output, &merge.catalogue, &merge.folder)?;
    let sources = sources(&args.output, &merge.folder);
    mcp_hil_report::add_files(&mut reporters, &merge.catalogue, sources);
    let summary = merge.run(&mut reporters);
    Ok(ending(&reporters, summary.exit))
}

/// The reporters that every command with verdicts has; `folder` is that of the run.
fn reporters(
    output: &OutputArgs,
    catalogue: &Arc<Catalogue>,
    folder: &Path,
) -> Result<Reporters<'static>, UserError> {
    // A mistake in it must not show only when the run is over.
    if let Some(compare) = &output.compare {
        read_record(compare)?;
    }
    let mut reporters = Reporters::new(std::io::stderr());
    match output.format {
        Format::Json => reporters.add("standard output", Ndjson::new(std::io::stdout())),
        Format::Human => {
            let terminal = std::io::stdout().is_terminal();
            // Such a terminal knows no sequences that colour or erase anything.
            let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
            let style = Style {
                color: match output.color {
                    Color::Always => true,
                    Color::Never => false,
                    Color::Auto => terminal && !is_dumb && std::env::var_os("NO_COLOR").is_none(),
                },
                width: WIDTH,
                wraps: terminal,
                verbose: output.verbose,
                quiet: output.quiet,
                catalogue: catalogue.clone(),
            };
            let color = style.color;
            let live = terminal
                && !is_dumb
                && std::io::stderr().is_terminal()
                && std::env::var_os("CI").is_none();
            let mut report = Terminal::new(std::io::stdout(), std::io::stderr(), style);
            if live {
                report = report.live(Progress::new(std::io::stderr(), WIDTH, color));
            }
            reporters.add("standard output", report)
        }
    };
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        github(&mut reporters, output, catalogue)?;
    }
    if let Some(path) = &output.summary {
        let name = path.display().to_string();
        reporters.add(name, markdown::file(path, catalogue.clone()));
    }
    if let Some(path) = &output.junit {
        let name = path.display().to_string();
        reporters.add(name, junit::file(Path::new(path), catalogue.clone()));
    }
    if let Some(path) = &output.html {
        let name = path.display().to_string();
        let page = html::file(path, catalogue.clone(), sources(output, folder));
        reporters.add(name, page);
    }
    Ok(reporters)
}

/// What GitHub shows beside files and with the job.
fn github(
    reporters: &mut Reporters<'static>,
    output: &OutputArgs,
    catalogue: &Arc<Catalogue>,
) -> Result<(), UserError> {
    let current = std::env::current_dir().unwrap_or_default();
    let root = std::env::var_os("GITHUB_WORKSPACE").map_or_else(|| current.clone(), Into::into);
    // A runner reads both streams; that of events is for programs.
    let out: Box<dyn Write + Send> = match output.format {
        Format::Human => Box::new(std::io::stdout()),
        Format::Json => Box::new(std::io::stderr()),
    };
    let annotations = Annotations::new(out, Workspace { root, current }).map_err(|error| {
        UserError::bench(format!("cannot get a random number: {error}"), "is there a /dev/urandom?")
    })?;
    reporters.add("annotations", annotations);
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let name = format!("the summary of the job, {}", Path::new(&path).display());
        reporters.add(name, StepSummary::new(path, catalogue.clone()));
    }
    Ok(())
}

/// Where the page gets what is no event.
fn sources(output: &OutputArgs, folder: &Path) -> Sources {
    Sources { folder: folder.to_owned(), compare: output.compare.clone() }
}

/// The exit code, worse when a report could not be written. A reader of standard output that went
/// away is no trouble: it has seen what it wanted.
fn ending(reporters: &Reporters<'_>, exit: u8) -> u8 {
    let lost =
        reporters.failures().any(|(_, error)| error.kind() != std::io::ErrorKind::BrokenPipe);
    if lost && exit == exit::CONFORMING { exit::BENCH } else { exit }
}

/// Prints what a command is for. A reader that went away has seen what it wanted.
fn print(text: String) -> u8 {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            mcp_hil_core::notice!("mcp-hil: standard output cannot be written: {error}");
            exit::BENCH
        }
        _ => exit::CONFORMING,
    }
}
