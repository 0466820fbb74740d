//! Opening the serial port of a board, and saying why it cannot be opened.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serialport::{ErrorKind, TTYPort, UsbPortInfo};

use super::lock::{BoardLock, Holder};
use super::protocol::{Job, Place};
use super::reset::Circuit;
use super::signals::Signals;
use super::{Selector, UsbKind, attached};
use crate::flash::{Attached, FlashJob, FlashStep, Resets, worker, write};

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

    /// Finds the port and opens it.
    ///
    /// # Errors
    /// It is not there, or not to be had.
    fn open(&mut self) -> Result<Found<Self::Port>, Trouble>;

    /// Flashes what is to be flashed, and gives the port back, open all the while. `None` when nothing is.
    ///
    /// # Errors
    /// It cannot be flashed.
    fn flash(
        &mut self,
        found: Found<Self::Port>,
        _step: &mut dyn FnMut(FlashStep),
    ) -> Result<(Found<Self::Port>, Option<Written>), Trouble> {
        Ok((found, None))
    }
}

/// What was flashed.
#[derive(Debug)]
pub struct Written {
    /// What is attached, and how much of it was written, in words.
    pub what: String,
    /// Whether the board was reset after it.
    pub boots: bool,
}

/// A port that was found.
#[derive(Debug)]
pub struct Found<P> {
    /// The port, open.
    pub port: P,
    /// Its name.
    pub name: String,
    /// What its lines reach.
    pub circuit: Circuit,
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

/// The board of a job, which is nobody else's as long as this lives.
#[derive(Debug)]
pub struct OfJob {
    place: Place,
    circuit: Option<Circuit>,
    holder: Holder,
    lock: Option<BoardLock>,
    /// What is to be flashed; taken when it is.
    flash: Option<FlashJob>,
    /// What the USB device at the port tells.
    usb: Option<UsbPortInfo>,
}

impl OfJob {
    /// The board that a job is for.
    pub fn new(job: &Job) -> Self {
        Self {
            place: job.place.clone(),
            circuit: job.circuit,
            holder: Holder::this_process(job.command.clone(), job.folder.as_deref()),
            lock: None,
            flash: job.flash.clone(),
            usb: None,
        }
    }

    /// Its port, who it is, and what the lines of such a port reach.
    fn find(&mut self) -> Result<(PathBuf, String, Circuit), Trouble> {
        match &self.place {
            Place::Port(path) => {
                // A name that stays may be a link, and the lock is one for each of its names.
                self.usb = Some(worker::usb(path));
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                Ok((
                    path.clone(),
                    format!("port-{}", real.display()),
                    Circuit::Uart,
                ))
            }
            Place::Usb {
                serial,
                mac,
                location,
            } => {
                let mac = mac.as_deref().map(str::parse).transpose();
                let selector = Selector {
                    serial: serial.clone(),
                    mac: mac.map_err(|error: String| told(TroubleKind::Other, &error))?,
                    location: location.clone(),
                };
                let boards = attached().boards;
                let board = selector
                    .select(&boards)
                    .map_err(|error| told(TroubleKind::Absent, &error.to_string()))?;
                let circuit = match board.known().map(|known| known.kind) {
                    Some(UsbKind::SerialJtag) => Circuit::UsbSerialJtag,
                    _ => Circuit::Uart,
                };
                self.usb = Some(board.port_info());
                Ok((board.port.clone(), board.identity(), circuit))
            }
        }
    }
}

impl Finder for OfJob {
    type Port = TTYPort;

    fn open(&mut self) -> Result<Found<TTYPort>, Trouble> {
        let (path, identity, circuit) = self.find()?;
        if self.lock.is_none() {
            let lock = BoardLock::take(&identity, &self.holder)
                .map_err(|error| told(TroubleKind::Held, &error.to_string()))?;
            self.lock = Some(lock);
        }
        Ok(Found {
            port: open(&path)?,
            name: path.display().to_string(),
            circuit: self.circuit.unwrap_or(circuit),
        })
    }

    fn flash(
        &mut self,
        found: Found<TTYPort>,
        step: &mut dyn FnMut(FlashStep),
    ) -> Result<(Found<TTYPort>, Option<Written>), Trouble> {
        let (Some(mut job), Some(usb)) = (self.flash.take(), self.usb.clone()) else {
            return Ok((found, None));
        };
        if worker::is_pseudo_terminal(Path::new(&found.name)) {
            job.resets = Resets::None;
        }
        let boots = job.resets == Resets::Lines;
        let flashed = write(found.port, usb, &job, step)
            .map_err(|error| told(TroubleKind::Flash, &error.to_string()))?;
        let Attached { chip, mac, .. } = flashed.attached;
        let mac = mac.map_or_else(String::new, |mac| format!(", {mac}"));
        let (written, skipped) = (flashed.written, flashed.skipped);
        let what = format!("{chip}{mac}: {written} bytes written, {skipped} were there already");
        let port = flashed.port;
        Ok((Found { port, ..found }, Some(Written { what, boots })))
    }
}

/// Trouble that was told in words, with its hint at the end.
fn told(kind: TroubleKind, text: &str) -> Trouble {
    let (what, hint) = text
        .split_once("\n\nhint: ")
        .unwrap_or((text, "`mcp-hil duts` lists what is attached"));
    Trouble {
        kind,
        what: what.to_owned(),
        hint: hint.to_owned(),
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
