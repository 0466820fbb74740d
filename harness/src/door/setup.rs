//! Which device a test talks to, and how it is started.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;

use clap::Parser;
use mcp_hil_core::transcript::Transport;
use tokio::sync::mpsc;

use super::handle::Device;
use crate::cli::{Cli, Command, RunArgs};
use crate::event::Event;
use crate::hil::DUTS;
use crate::plan::{Plan, Refusal};
use crate::report::{Reporter, Reporters, Sources, add_files};
use crate::run::{ByHand, RunError};
use crate::snapshots::Mode;
use crate::snapshots::name::file_name;

/// The variable that names a baseline.
const BASELINE: &str = "MCP_HIL_BASELINE";

/// The variable that says where the folders of runs are made.
const OUT: &str = "MCP_HIL_OUT";

/// Why a device could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An argument or a file is wrong.
    #[error("{0}")]
    Plan(#[from] Refusal),
    /// An argument is none that `mcp-hil run` knows.
    #[error("{0}")]
    Arguments(#[from] clap::Error),
    /// The bench could not do its part.
    #[error("{0}")]
    Bench(#[from] RunError),
    /// The thread of the device could not be started, or is gone.
    #[error("the thread that talks to the device: {0}")]
    Thread(String),
}

/// How a device is to be started. What is not said is as in `mcp-hil run`.
#[derive(Debug, Clone)]
pub struct Setup {
    arguments: Vec<OsString>,
    name: Option<String>,
}

impl Default for Setup {
    /// The device, the baseline and the folder that MCP_HIL_DUT, MCP_HIL_BASELINE and MCP_HIL_OUT name.
    fn default() -> Self {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut setup = Self {
            arguments: Vec::new(),
            name: None,
        };
        setup = setup
            .argument("--cases", "0")
            .argument("--snapshots", "check");
        for (option, variable) in [("--dut", DUTS), ("--baseline", BASELINE), ("--out", OUT)] {
            if let Some(value) = named(variable) {
                setup = setup.argument(option, value);
            }
        }
        setup
    }
}

impl Setup {
    /// The device, as `mcp-hil run --dut` takes it.
    #[must_use]
    pub fn dut(self, dut: &str) -> Self {
        self.argument("--dut", dut)
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
        self.argument("--snapshots", name)
            .argument("--snapshots-dir", folder.into())
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

    /// Starts the device and waits until it is connected and known.
    ///
    /// # Errors
    ///
    /// A mistake in the arguments, or a bench that cannot do its part.
    pub fn start(self) -> Result<Device, StartError> {
        let mut plan = Plan::new(&self.run_args()?)?;
        // A test is one conversation.
        plan.transports.truncate(1);
        let thread = thread::current();
        let test = self.name.as_deref().or(thread.name()).unwrap_or("main");
        let name = file_name(&test.replace("::", "."));
        let (orders, received) = mpsc::unbounded_channel();
        let (say, ready) = channel();
        let folder = plan.folder.clone();
        let snapshots = plan.snapshots.clone();
        let case = format!("door/{name}");
        let repro = format!("cargo test {test}");
        let talk = {
            let case = case.clone();
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| StartError::Thread(error.to_string()))?;
                let mut reporters = Reporters::new(std::io::stderr());
                let sources = Sources {
                    folder: plan.folder.clone(),
                    compare: None,
                };
                reporters.add("standard error", Notices);
                add_files(&mut reporters, &plan.catalogue, sources);
                let by_hand = ByHand {
                    plan: &plan,
                    transport: plan.transports[0],
                    case: &case,
                    repro: &repro,
                };
                // The one who waits may have gone away.
                let ready = || {
                    let _ = say.send(());
                };
                let run = by_hand.run(&mut reporters, received, ready);
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
                Ok(Ok(_)) => StartError::Thread("it ended before the device was known".into()),
                Err(_) => StartError::Thread("it broke down".into()),
            });
        }
        Ok(Device::new(orders, thread, case, folder, snapshots))
    }

    fn run_args(&self) -> Result<RunArgs, StartError> {
        let mut words: Vec<OsString> = vec!["mcp-hil".into(), "run".into()];
        words.extend(self.arguments.iter().cloned());
        match Cli::try_parse_from(words)?.command {
            Command::Run(args) => Ok(*args),
            _ => Err(StartError::Thread("`run` is another command".into())),
        }
    }
}

/// Tells what people should know: what a device waits for that somebody else starts, for one.
struct Notices;

impl Reporter for Notices {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Notice { text } => writeln!(io::stderr(), "{text}"),
            _ => Ok(()),
        }
    }
}
