//! Why a device could not be started.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use mcp_hil_boards::board::lock::LockError;
use mcp_hil_record::error::{UserError, whole};
use mcp_hil_runner::run::RunError;

/// Why a device could not be started.
#[derive(thiserror::Error)]
pub enum StartError {
    /// An argument or a file is wrong.
    #[error("{0}")]
    Plan(#[from] UserError),
    /// An argument is none that `mcp-hil run` knows.
    #[error("{0}")]
    Arguments(#[from] clap::Error),
    /// The bench could not do its part.
    #[error("{0}")]
    Bench(#[from] RunError),
    /// The thread of the device could not be started, or is gone.
    #[error("the thread that talks to the device: {0}")]
    Thread(String),
    /// Others use the board.
    #[error("waited {} s for the board without success: {}", waited.as_secs(), whole(&**held))]
    Busy {
        /// How long it was waited for.
        waited: Duration,
        /// Who uses it.
        held: Box<LockError>,
    },
    /// Who uses the board cannot be told.
    #[error("{}", whole(&**.0))]
    Lock(Box<LockError>),
    /// This very test has started the device before, and has not ended it.
    #[error(
        "this test already uses the board `{board}`: it was started at {at}\n\nhint: call `finish` \
         on that one first"
    )]
    Twice {
        /// The board's name.
        board: String,
        /// Where it was started.
        at: &'static Location<'static>,
    },
}

// What `unwrap` shows is for people.
impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
