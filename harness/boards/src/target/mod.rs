//! How the device under test is run.

mod board;
mod console;
mod end;
mod error;
mod family;
mod group;
mod output;
mod process;

pub use board::{Board, BoardSetup, Trigger};
pub use error::TargetError;
pub use process::{CONSOLE_PORT, Command, LONGEST_INPUT, Part, Process, STOP_GRACE};

/// What a target did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetOutput {
    /// A line of the console, cleaned.
    Line(String),
    /// It ended without having been asked to, in the way that the text says: `exited with code 3`.
    Exited(String),
    /// The bench took it away: its port is gone, or somebody ended the process that it runs in.
    Lost {
        /// How the loss was noticed, in words.
        why: String,
        /// Whether a reset of the chip alone looks the same.
        by_reset: bool,
    },
    /// Its port is back, as the text says.
    Back(String),
    /// Something was done to it or to its port, as the text says; nothing that it did itself.
    Bench(String),
    /// The bench does not do its part any more, for the reason that the text says.
    Trouble(String),
}

/// How the device under test is run.
#[derive(Debug)]
pub enum Target {
    /// A program on this machine.
    Process(Process),
    /// A board at a serial port.
    Board(Box<Board>),
    /// Somebody else starts the device; it has no console.
    Wait,
}

impl Target {
    /// Starts the device, if that is up to the harness.
    ///
    /// # Errors
    /// The program does not start.
    pub async fn start(&mut self) -> Result<(), TargetError> {
        match self {
            Self::Process(process) => process.start().await,
            Self::Board(board) => board.start().await,
            Self::Wait => Ok(()),
        }
    }

    /// Stops the device and starts it again.
    ///
    /// # Errors
    /// The program does not start, or it is not the harness that starts it.
    pub async fn restart(&mut self) -> Result<(), TargetError> {
        match self {
            Self::Process(process) => process.restart().await,
            Self::Board(board) => board.restart().await,
            Self::Wait => Err(TargetError::NotOurs),
        }
    }

    /// Ends the device, if the harness started it.
    pub async fn stop(&mut self) {
        match self {
            Self::Process(process) => process.stop().await,
            Self::Board(board) => board.stop().await,
            Self::Wait => {}
        }
    }

    /// What the device did next; for ever pending when there is nothing to see. Cancel-safe.
    pub async fn next(&mut self) -> TargetOutput {
        match self {
            Self::Process(process) => process.next().await,
            Self::Board(board) => board.next().await,
            Self::Wait => std::future::pending().await,
        }
    }

    /// What the device did and nobody asked for yet.
    pub fn try_next(&mut self) -> Option<TargetOutput> {
        match self {
            Self::Process(process) => process.try_next(),
            Self::Board(board) => board.try_next(),
            Self::Wait => None,
        }
    }

    /// Takes in what the device has written until now: what it wrote before it answered is in
    /// [`try_next`](Self::try_next) afterwards. Of a board that is still on its way, as on any serial line.
    pub fn catch_up(&mut self) {
        if let Self::Process(process) = self {
            process.catch_up();
        }
    }

    /// Whether its process has ended, or is about to, and that is not told yet.
    pub fn is_ending(&self) -> bool {
        match self {
            Self::Process(process) => process.is_ending(),
            Self::Board(_) | Self::Wait => false,
        }
    }

    /// Why the device stands still by somebody else's doing, if it does: see [`Process::stopped`].
    pub fn stopped(&self) -> Option<String> {
        match self {
            Self::Process(process) => process.stopped(),
            Self::Board(_) | Self::Wait => None,
        }
    }

    /// Whether the device is known to run; `None` when that cannot be known.
    pub fn is_running(&self) -> Option<bool> {
        match self {
            Self::Process(process) => Some(process.is_running()),
            Self::Board(board) => Some(board.trouble().is_none()),
            Self::Wait => None,
        }
    }

    /// The board, if it is one.
    pub fn board(&mut self) -> Option<&mut Board> {
        match self {
            Self::Board(board) => Some(board),
            Self::Process(_) | Self::Wait => None,
        }
    }
}
