//! The process that flashes: a job on standard input, what happens on standard output, line by line.
//!
//! Whoever starts it ends it when it has told nothing for [`SILENCE`]: a write to a board that stopped
//! reading can wait for ever.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use serialport::{SerialPortType, TTYPort, UsbPortInfo};

use super::{
    Attached, CONSOLE_BAUD, FlashError, FlashErrorKind, FlashJob, FlashStep, Resets, write,
};
use crate::reset::{self, Circuit};
use crate::users::{User, users_of};

/// How long it may tell nothing, where nobody says otherwise. The longest single command is a block that is
/// erased while it is written; connecting takes seven attempts of 2 s.
pub const SILENCE: Duration = Duration::from_secs(30);

/// The USB ids of the port that some chips have themselves.
const SERIAL_JTAG: (u16, u16) = (0x303a, 0x1001);

/// What is to be flashed, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerJob {
    /// Where the board is.
    pub place: Place,
    /// What is to be written.
    pub job: FlashJob,
}

/// Where a board is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// At a serial port.
    Port(PathBuf),
    /// Behind a debug probe; by its USB ids and serial number, or the only one.
    Probe(Option<String>),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port(path) => write!(f, "at `{}`", path.display()),
            Self::Probe(Some(selector)) => write!(f, "behind the probe `{selector}`"),
            Self::Probe(None) => f.write_str("behind the probe"),
        }
    }
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum WorkerEvent {
    /// It goes on.
    Step {
        /// How far.
        step: FlashStep,
    },
    /// It is done.
    Done {
        /// What is attached; a probe does not tell.
        attached: Option<Attached>,
        /// Bytes that were written.
        written: u64,
        /// Bytes that were there already.
        skipped: u64,
        /// Whether checksums were compared.
        verified: bool,
    },
    /// The board could not be flashed.
    Failed {
        /// What kind of trouble ([`FlashErrorKind::word`]).
        kind: String,
        /// What failed.
        text: String,
        /// What the user can do.
        hint: Option<String>,
    },
}

/// Reads a job and does it.
///
/// # Errors
///
/// There is no job, or nobody listens any more. Trouble with the board is told, and no error.
pub fn work(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let WorkerJob { place, job } = serde_json::from_str(&line)?;
    let mut heard = Ok(());
    let mut step = |step| {
        if heard.is_ok() {
            heard = tell(&mut output, &WorkerEvent::Step { step });
        }
    };
    let event = match place {
        Place::Port(port) => by_port(&port, job, &mut step),
        Place::Probe(chosen) => by_probe(chosen.as_deref(), &job, &mut step),
    };
    heard?;
    tell(&mut output, &event)
}

fn by_port(path: &Path, mut job: FlashJob, step: &mut dyn FnMut(FlashStep)) -> WorkerEvent {
    if is_pseudo_terminal(path) {
        job.resets = Resets::None;
    }
    let usb = usb(path);
    let done = open(path).and_then(|port| write(port, usb.clone(), &job, step));
    match done {
        Ok(done) => WorkerEvent::Done {
            attached: Some(done.attached),
            written: done.written,
            skipped: done.skipped,
            verified: done.verified,
        },
        Err(mut error) => {
            leave_bootloader(&mut error, &usb);
            failed(error.kind.word(), &error)
        }
    }
}

/// Resets a board that was refused, where its port is still there and has the lines for it: it must not
/// wait in its bootloader for what does not come.
pub fn leave_bootloader(error: &mut FlashError, usb: &UsbPortInfo) {
    let circuit = match (usb.vid, usb.pid) {
        SERIAL_JTAG => Circuit::UsbSerialJtag,
        _ => Circuit::Uart,
    };
    if let Some(port) = &mut error.port {
        // Without lines it stays as it is.
        let _ = reset::reset(port, circuit);
    }
}

#[cfg(feature = "jtag")]
fn by_probe(chosen: Option<&str>, job: &FlashJob, step: &mut dyn FnMut(FlashStep)) -> WorkerEvent {
    let mut written = 0;
    let done = super::probe::flash(chosen, job, &mut |done, total| {
        written = done;
        let name = "image".into();
        step(FlashStep::Written { name, done, total });
    });
    match done {
        Ok(()) => WorkerEvent::Done {
            attached: None,
            written,
            skipped: job.bytes() - written,
            verified: true,
        },
        Err(error) => failed("probe", &error),
    }
}

#[cfg(not(feature = "jtag"))]
fn by_probe(_: Option<&str>, _: &FlashJob, _: &mut dyn FnMut(FlashStep)) -> WorkerEvent {
    #[derive(Debug, thiserror::Error, Diagnostic)]
    #[error("this program was built without support for debug probes")]
    #[diagnostic(help(
        "build it with `cargo build --release --features jtag`, or flash through the serial port: \
         chips with built-in USB have one"
    ))]
    struct NoProbes;
    failed("probe", &NoProbes)
}

fn failed(kind: &str, error: &dyn Diagnostic) -> WorkerEvent {
    let hint = error.help().map(|hint| hint.to_string());
    WorkerEvent::Failed { kind: kind.to_owned(), text: error.to_string(), hint }
}

fn tell(output: &mut impl Write, event: &WorkerEvent) -> io::Result<()> {
    let mut line = serde_json::to_string(event)?;
    line.push('\n');
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// Opens a port for flashing, for this process alone.
///
/// # Errors
///
/// It is not there, somebody else has it, or this user may not.
pub fn open(path: &Path) -> Result<TTYPort, FlashError> {
    let shown = path.to_string_lossy();
    let users = users_of(path, &[]);
    if !users.is_empty() {
        let text = format!("`{shown}`: {} has it open", User::list(&users));
        return Err(FlashError::new(FlashErrorKind::Open, text));
    }
    serialport::new(shown.clone(), CONSOLE_BAUD)
        .flow_control(serialport::FlowControl::None)
        .open_native()
        .map_err(|error| FlashError::new(FlashErrorKind::Open, format!("`{shown}`: {error}")))
}

/// Emulators sit on pseudo-terminals, which have no lines DTR and RTS.
pub fn is_pseudo_terminal(path: &Path) -> bool {
    let real = path.canonicalize();
    real.is_ok_and(|real| real.starts_with("/dev/pts"))
}

/// What the system knows of the USB device behind a port; zeros where there is none.
pub fn usb(path: &Path) -> UsbPortInfo {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // The library panics where the system has no such folder.
    let listed = match Path::new("/sys/class/tty").is_dir() {
        true => serialport::available_ports().unwrap_or_default(),
        false => Vec::new(),
    };
    let mut same = listed.into_iter().filter(|port| Path::new(&port.port_name) == real);
    match same.next().map(|port| port.port_type) {
        Some(SerialPortType::UsbPort(usb)) => usb,
        _ => UsbPortInfo {
            vid: 0,
            pid: 0,
            serial_number: None,
            manufacturer: None,
            product: None,
            interface: None,
        },
    }
}
