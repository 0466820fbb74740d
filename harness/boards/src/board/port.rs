//! Opening the serial port of a board, and saying why it cannot be opened.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use serialport::{ErrorKind, TTYPort, UsbPortInfo};

use super::lock::{BoardLock, Holder};
use super::protocol::{Job, Place};
use super::{Selector, UsbKind, attached};
use crate::flash::{Attached, FlashJob, FlashStep, Resets, worker, write};
use crate::reset::Circuit;
use crate::signals::Signals;
use crate::users::{User, users_of};

/// How fast consoles are; a chip's own USB port takes any.
pub const BAUD: u32 = 115_200;

/// How long a reading waits for bytes: a request waits as long at most.
const READ_PATIENCE: Duration = Duration::from_millis(20);

/// What is wrong with a port, or with a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// The port or the board is not attached.
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Diagnostic, Serialize, Deserialize)]
#[error("{what}")]
#[diagnostic(help("{hint}"))]
pub struct Trouble {
    /// What it is, for programs.
    pub kind: TroubleKind,
    /// What failed, what was expected and what came.
    pub what: String,
    /// The hint for the user.
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
    /// It cannot be flashed. The board may be in its bootloader then.
    fn flash(
        &mut self,
        found: Found<Self::Port>,
        _step: &mut dyn FnMut(FlashStep),
    ) -> Flashing<Self::Port> {
        Ok((found, None))
    }
}

/// What comes of flashing: the port, and what was written if anything was to be.
pub type Flashing<P> = Result<(Found<P>, Option<Written>), Unflashed<P>>;

/// Why a board was not flashed.
#[derive(Debug)]
pub struct Unflashed<P> {
    /// Why the board was not flashed.
    pub trouble: Trouble,
    /// Its port, where that is still there.
    pub found: Option<Found<P>>,
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
    /// The name of the port, such as `/dev/ttyUSB0`.
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
        let Located { path, identity, circuit, usb } = locate(&self.place)?;
        self.usb = Some(usb);
        Ok((path, identity, circuit))
    }
}

/// Where a board is now.
struct Located {
    path: PathBuf,
    identity: String,
    circuit: Circuit,
    usb: UsbPortInfo,
}

/// Who the board at a place is, for locks. Its port is not touched.
///
/// # Errors
/// No board is attached at that place.
pub fn identity(place: &Place) -> Result<String, Trouble> {
    locate(place).map(|located| located.identity)
}

fn locate(place: &Place) -> Result<Located, Trouble> {
    match place {
        Place::Port(path) => {
            // A name that stays may be a link, and the lock is one for each of its names.
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            Ok(Located {
                path: path.clone(),
                identity: format!("port-{}", real.display()),
                circuit: Circuit::Uart,
                usb: worker::usb(path),
            })
        }
        Place::Usb { serial, mac, location } => {
            let mac = mac.as_deref().map(str::parse).transpose();
            let selector = Selector {
                serial: serial.clone(),
                mac: mac.map_err(|what: String| told(TroubleKind::Other, what, None))?,
                location: location.clone(),
            };
            let boards = attached().boards;
            let board =
                selector.select(&boards).map_err(|error| known(TroubleKind::Absent, &error))?;
            let circuit = match board.known().map(|known| known.kind) {
                Some(UsbKind::SerialJtag) => Circuit::UsbSerialJtag,
                _ => Circuit::Uart,
            };
            Ok(Located {
                path: board.port.clone(),
                identity: board.identity(),
                circuit,
                usb: board.port_info(),
            })
        }
    }
}

impl Finder for OfJob {
    type Port = TTYPort;

    fn open(&mut self) -> Result<Found<TTYPort>, Trouble> {
        let (path, identity, circuit) = self.find()?;
        let users = users_of(&path, &[]);
        if !users.is_empty() {
            return Err(used(&path, &users));
        }
        if self.lock.is_none() {
            let lock = BoardLock::take(&identity, &self.holder)
                .map_err(|error| known(TroubleKind::Held, &error))?;
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
    ) -> Flashing<TTYPort> {
        let (Some(mut job), Some(usb)) = (self.flash.take(), self.usb.clone()) else {
            return Ok((found, None));
        };
        if worker::is_pseudo_terminal(Path::new(&found.name)) {
            job.resets = Resets::None;
        }
        let boots = job.resets == Resets::Lines;
        let (name, circuit) = (found.name, found.circuit);
        let flashed = write(found.port, usb, &job, step).map_err(|mut error| {
            let port = error.port.take();
            Unflashed {
                trouble: known(TroubleKind::Flash, &error),
                found: port.map(|port| Found { port, name: name.clone(), circuit }),
            }
        })?;
        let Attached { chip, mac, .. } = flashed.attached;
        let mac = mac.map_or_else(String::new, |mac| format!(", {mac}"));
        let (written, skipped) = (flashed.written, flashed.skipped);
        let what = format!("{chip}{mac}: {written} bytes written, {skipped} were already there");
        let port = flashed.port;
        let found = Found { port, name, circuit };
        Ok((found, Some(Written { what, boots })))
    }
}

/// Trouble of which an error of a part below tells.
fn known(kind: TroubleKind, error: &dyn Diagnostic) -> Trouble {
    told(kind, error.to_string(), error.help().map(|hint| hint.to_string()))
}

fn told(kind: TroubleKind, what: String, hint: Option<String>) -> Trouble {
    let hint = hint.unwrap_or_else(|| "`mcp-hil duts` lists what is attached".to_owned());
    Trouble { kind, what, hint }
}

/// That others have a port open, who read what is for us, and who they are.
pub(crate) fn used(path: &Path, users: &[User]) -> Trouble {
    let pids: Vec<String> = users.iter().map(|user| user.pid.to_string()).collect();
    Trouble {
        kind: TroubleKind::Held,
        what: format!(
            "the serial port `{}` of the board is in use: expected exclusive access, got: {} has \
             it open",
            path.display(),
            User::list(users)
        ),
        hint: format!(
            "close that program, or `kill {}`: if two programs read one port, each gets only part of the data",
            pids.join(" ")
        ),
    }
}

/// What an error at opening means.
pub fn trouble(path: &Path, error: &serialport::Error) -> Trouble {
    let (kind, hint) = match error.kind() {
        ErrorKind::Io(io::ErrorKind::NotFound) => (
            TroubleKind::Absent,
            "is the board plugged in, with a cable that has data lines? `mcp-hil duts` lists what \
             is attached",
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
            "unplug the board and plug it in again; `dmesg` shows how the system handles it",
        ),
    };
    let got = match kind {
        TroubleKind::Absent => "no such port".to_owned(),
        TroubleKind::Denied => "permission denied".to_owned(),
        TroubleKind::Held => match users_of(path, &[]) {
            users if users.is_empty() => "another program uses it".to_owned(),
            users => format!("another program uses it: {}", User::list(&users)),
        },
        _ => error.to_string(),
    };
    Trouble {
        kind,
        what: format!(
            "cannot open the serial port `{}` of the board: expected exclusive access, got: {got}",
            path.display()
        ),
        hint: hint.to_owned(),
    }
}
