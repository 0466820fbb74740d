//! Which device a test talks to, and how it is started.

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::Location;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use clap::Parser;
use mcp_hil_core::transport::Transport;
use tokio::sync::mpsc;

use super::error::StartError;
use super::handle::Device;
use super::queue;
use crate::hil::DUTS;
use mcp_hil_args::Mode;
use mcp_hil_args::{Cli, Command, RunArgs};
use mcp_hil_bench::dut::How;
use mcp_hil_record::Reporter;
use mcp_hil_record::Reporters;
use mcp_hil_record::about::judged;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{DutInfo, Event};
use mcp_hil_report::{Sources, add_files};
use mcp_hil_runner::plan::Plan;
use mcp_hil_runner::run::Interactive;
use mcp_hil_runner::snapshots::name::file_name;

/// The variable that names a baseline.
const BASELINE: &str = "MCP_HIL_BASELINE";

/// The variable that says where the folders of runs are made.
const OUT: &str = "MCP_HIL_OUT";

/// The variable that says how long a board is waited for that others use, in seconds.
const PATIENCE: &str = "MCP_HIL_WAIT_FOR_BOARD";

/// The same unless told otherwise: other tests take minutes.
const LONG: Duration = Duration::from_secs(30 * 60);

/// How a device is to be started. What is not said is as in `mcp-hil run`.
#[derive(Debug, Clone)]
pub struct Setup {
    arguments: Vec<OsString>,
    fallback: Option<OsString>,
    name: Option<String>,
    patience: Option<Duration>,
}

impl Default for Setup {
    /// The device, the baseline and the folder that MCP_HIL_DUT, MCP_HIL_BASELINE and MCP_HIL_OUT name.
    fn default() -> Self {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut setup = Self { arguments: Vec::new(), fallback: None, name: None, patience: None };
        setup = setup.argument("--inputs", "0").argument("--snapshots", "check");
        for (option, variable) in [("--dut", DUTS), ("--baseline", BASELINE), ("--out", OUT)] {
            if let Some(value) = named(variable) {
                setup = setup.argument(option, value);
            }
        }
        setup
    }
}

impl Device {
    /// How a device is to be started; it begins with what the environment says.
    pub fn setup() -> Setup {
        Setup::default()
    }
}

impl Setup {
    /// The device, as `mcp-hil run --dut` takes it.
    #[must_use]
    pub fn dut(self, dut: &str) -> Self {
        self.argument("--dut", dut)
    }

    /// What may stand in for a board that has a file and is not attached, as `--fallback` takes it, such
    /// as `qemu,native`; `""` for whatever `--dut auto` tries. Without it an absent board is an error, unless
    /// its file says otherwise.
    #[must_use]
    pub fn fallback(mut self, kinds: &str) -> Self {
        self.fallback = Some(match kinds {
            "" => "--fallback".into(),
            kinds => format!("--fallback={kinds}").into(),
        });
        self
    }

    /// How messages reach it.
    #[must_use]
    pub fn transport(self, transport: Transport) -> Self {
        self.argument("--transport", transport.name())
    }

    /// One defect that the reference device is to have.
    #[must_use]
    pub fn mutant(self, name: &str) -> Self {
        self.argument("--mutant", name)
    }

    /// A list of known failures.
    #[must_use]
    pub fn baseline(self, file: impl Into<PathBuf>) -> Self {
        self.argument("--baseline", file.into())
    }

    /// What is done with reviewed answers, and the folder in which they lie. Without it they are compared,
    /// in the folder `snapshots`.
    #[must_use]
    pub fn snapshots(self, mode: Mode, folder: impl Into<PathBuf>) -> Self {
        let name = match mode {
            Mode::Check => "check",
            Mode::New => "new",
            Mode::Update => "update",
            Mode::Off => "off",
        };
        self.argument("--snapshots", name).argument("--snapshots-dir", folder.into())
    }

    /// Where the folder of the run is made.
    #[must_use]
    pub fn out(self, folder: impl Into<PathBuf>) -> Self {
        self.argument("--out", folder.into())
    }

    /// The name of the test; without it that of the thread, which test programs set to it.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Any other option of `mcp-hil run` with its value. The last one of a name counts.
    #[must_use]
    pub fn argument(mut self, option: &str, value: impl Into<OsString>) -> Self {
        let old = self.arguments.iter().position(|it| it == option);
        match old {
            Some(at) => self.arguments[at + 1] = value.into(),
            None => self.arguments.extend([option.into(), value.into()]),
        }
        self
    }

    /// How long a board is waited for that others use: tests of this program, those of others, and runs. Without
    /// it as many seconds as MCP_HIL_WAIT_FOR_BOARD says, else half an hour.
    #[must_use]
    pub fn wait_for_board(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Starts the device and waits until it is connected and known. A board that others use is waited for
    /// first, so that tests of one board run one after the other.
    ///
    /// # Errors
    ///
    /// A mistake in the arguments, a board that is not free in time, or a bench that cannot do its part.
    #[track_caller]
    pub fn start(self) -> Result<Device, StartError> {
        let at = Location::caller();
        let usual = usual_patience()?;
        let mut plan = Plan::new(&self.run_args()?)?;
        // `--wait-for-board` is an argument as any other.
        let asked = Some(plan.wait_for_board).filter(|asked| !asked.is_zero());
        let patience = self.patience.or(asked).unwrap_or(usual);
        // A test is one conversation.
        plan.transports.truncate(1);
        let thread = thread::current();
        let test = self.name.as_deref().or(thread.name()).unwrap_or("main");
        let name = file_name(&test.replace("::", "."));
        let (orders, received) = mpsc::unbounded_channel();
        let (say, ready) = channel();
        let folder = plan.folder.clone();
        let snapshots = plan.snapshots.clone();
        let case = format!("tests/{name}");
        let repro = format!("cargo test {test}");
        let is_here = plan.dut.absent.is_none();
        if matches!(plan.dut.how, How::Board(_)) && is_here {
            // Looked for, or built, while nobody waits for this test.
            mcp_hil_bench::program::path()?;
        }
        // Nobody queues for a board that is not there: the run tells which one is missed.
        let place = match is_here {
            true => queue::wait(&plan, &repro, patience, at)?,
            false => None,
        };
        let talk = {
            let case = case.clone();
            move || {
                let _place = place;
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| StartError::Thread(error.to_string()))?;
                let mut reporters = Reporters::new(std::io::stderr());
                let sources = Sources { folder: plan.folder.clone(), compare: None };
                reporters.add("standard error", Notices::default());
                add_files(&mut reporters, &plan.catalogue, sources);
                let interactive = Interactive {
                    plan: &plan,
                    transport: plan.transports[0],
                    case: &case,
                    repro: &repro,
                };
                // The one who waits may have gone away.
                let ready = || {
                    let _ = say.send(());
                };
                let run = interactive.run(&mut reporters, received, ready);
                let cases = runtime.block_on(run);
                runtime.shutdown_background();
                Ok(cases?)
            }
        };
        let thread = thread::Builder::new()
            .name(format!("device of {name}"))
            .spawn(talk)
            .map_err(|error| StartError::Thread(error.to_string()))?;
        if ready.recv().is_err() {
            return Err(match thread.join() {
                Ok(Err(error)) => error,
                Ok(Ok(_)) => StartError::Thread("it ended before the device was ready".into()),
                Err(_) => StartError::Thread("it panicked".into()),
            });
        }
        Ok(Device::new(orders, thread, case, folder, snapshots, at))
    }

    fn run_args(&self) -> Result<RunArgs, StartError> {
        let mut words: Vec<OsString> = vec!["mcp-hil".into(), "run".into()];
        words.extend(self.arguments.iter().cloned());
        words.extend(self.fallback.clone());
        match Cli::try_parse_from(words)?.command {
            Command::Run(args) => Ok(*args),
            _ => Err(StartError::Thread("`run` is a different command".into())),
        }
    }
}

/// How long a board is waited for where the test does not say.
fn usual_patience() -> Result<Duration, StartError> {
    let Some(value) = std::env::var_os(PATIENCE).filter(|value| !value.is_empty()) else {
        return Ok(LONG);
    };
    let value = value.to_string_lossy();
    let seconds = value.parse().ok().map(Duration::from_secs);
    let refusal = || {
        UserError::usage(
            format!("{PATIENCE}: expected a number of seconds, got `{value}`"),
            "1800 is half an hour",
        )
    };
    Ok(seconds.ok_or_else(refusal)?)
}

/// Tells what people should know: what a device waits for that somebody else starts, for one, and that it
/// was not the one that was meant.
#[derive(Default)]
struct Notices(Vec<DutInfo>);

impl Reporter for Notices {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Notice { text } => writeln!(io::stderr(), "{text}"),
            Event::RunStarted(run) => {
                self.0.clone_from(&run.duts);
                Ok(())
            }
            Event::RunFinished(summary) => match judged(&self.0, summary) {
                Some(what) => writeln!(io::stderr(), "judged: {what}"),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
