//! Opening the serial port of a board, and saying why it cannot be opened.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serialport::{ErrorKind, TTYPort};

use super::signals::Signals;

/// How fast consoles are; a chip's own USB port takes any.
pub const BAUD: u32 = 115_200;

/// How long a reading waits for bytes: a request waits as long at most.
const READ_PATIENCE: Duration = Duration::from_millis(20);

/// What is wrong with a port, or with a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// It is not there.
    Absent,
    /// Somebody else uses it.
    Held,
    /// This user may not use it.
    Denied,
    /// It went away and did not come back.
    Gone,
    /// Flash could not be written.
    Flash,
    /// Something else.
    Other,
}

/// Trouble with a board that is the bench's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{what}\n\nhint: {hint}")]
pub struct Trouble {
    /// What it is, for programs.
    pub kind: TroubleKind,
    /// What failed, what was expected and what came.
    pub what: String,
    /// What helps.
    pub hint: String,
}

/// A serial port that a board is at.
pub trait Port: io::Read + io::Write + Signals {}

impl<T: io::Read + io::Write + Signals> Port for T {}

/// Where the port of a board is looked for, each time anew: it may have another name when it comes back.
pub trait Finder {
    /// What it gives.
    type Port: Port;

    /// Finds the port and opens it. Gives its name, too.
    ///
    /// # Errors
    /// It is not there, or not to be had.
    fn open(&mut self) -> Result<(Self::Port, String), Trouble>;
}

/// Opens a port for this process alone.
///
/// # Errors
/// It is not there, somebody else has it, or this user may not.
pub fn open(path: &Path) -> Result<TTYPort, Trouble> {
    serialport::new(path.to_string_lossy(), BAUD)
        .timeout(READ_PATIENCE)
        .open_native()
        .map_err(|error| trouble(path, &error))
}

/// A port with a name that stays.
#[derive(Debug, Clone)]
pub struct ByPath(pub PathBuf);

impl Finder for ByPath {
    type Port = TTYPort;

    fn open(&mut self) -> Result<(TTYPort, String), Trouble> {
        Ok((open(&self.0)?, self.0.display().to_string()))
    }
}

/// What an error at opening means.
pub fn trouble(path: &Path, error: &serialport::Error) -> Trouble {
    let (kind, hint) = match error.kind() {
        ErrorKind::Io(io::ErrorKind::NotFound) => (
            TroubleKind::Absent,
            "is the board plugged in, with a cable that carries data? `mcp-hil duts` lists what is \
             attached",
        ),
        ErrorKind::Io(io::ErrorKind::PermissionDenied) => (
            TroubleKind::Denied,
            "install the udev rules (`ci/60-mcp-hil.rules`) and plug the board in again, or join the \
             group that owns the port (`dialout`, on some systems `uucp`) and log in again",
        ),
        // The library's word for a port that another program has locked.
        ErrorKind::NoDevice => (
            TroubleKind::Held,
            "close the monitor, terminal or other run that uses it; `fuser -v` with its path names \
             the program",
        ),
        _ => (
            TroubleKind::Other,
            "plug the board out and in again; `dmesg` tells what the system makes of it",
        ),
    };
    let got = match kind {
        TroubleKind::Absent => "no such port".to_owned(),
        TroubleKind::Denied => "permission denied".to_owned(),
        TroubleKind::Held => "another program uses it".to_owned(),
        _ => error.to_string(),
    };
    Trouble {
        kind,
        what: format!(
            "cannot open the serial port `{}` of the board: expected one for this program alone, \
             got: {got}",
            path.display()
        ),
        hint: hint.to_owned(),
    }
}
