//! Writing flash memory through a serial port, with the protocol and the stubs of `espflash`.
//!
//! Everything here waits, and a board that stops reading can make it wait for ever: it belongs in a
//! process of its own, which is ended when nothing happens for long.

use std::borrow::Cow;
use std::time::Duration;

use espflash::command::Command;
use espflash::connection::{Connection, ResetAfterOperation, ResetBeforeOperation};
use espflash::flasher::{DeviceInfo, Flasher};
use espflash::image_format::Segment;
use espflash::target::ProgressCallbacks;
use serde::{Deserialize, Serialize};
use serialport::{ClearBuffer, SerialPort, TTYPort, UsbPortInfo};

use super::error::{FlashError, FlashErrorKind, lost, told};
use super::{FlashJob, FlashSegment, Resets, SECTOR};

/// Bits per second of the ROM bootloader and of every console.
pub const CONSOLE_BAUD: u32 = 115_200;

/// How long a stub may take to answer that it ends.
const STUB_ENDS: Duration = Duration::from_secs(1);

/// What is attached, as its bootloader says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The chip, such as `esp32c3`.
    pub chip: String,
    /// Its revision, major and minor.
    pub revision: Option<(u32, u32)>,
    /// Its flash memory, in bytes.
    pub flash_size: u32,
    /// Its address, as six pairs of hexadecimal digits; unknown when the chip is locked.
    pub mac: Option<String>,
}

/// What happens while a board is flashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlashStep {
    /// The bootloader has answered.
    Attached(Attached),
    /// So many bytes are as they should be.
    Written {
        /// Name of the piece.
        name: Cow<'static, str>,
        /// Bytes of all pieces that are done, those passed over included.
        done: u64,
        /// Bytes of all pieces.
        total: u64,
    },
    /// A piece is read back, or its checksum is.
    Verifying(Cow<'static, str>),
    /// The board is reset, and boots what was flashed.
    Reset,
}

/// What was flashed. The port is the one that came in, open all the while: no boot line is lost.
#[derive(Debug)]
pub struct Flashed {
    /// The port, at 115,200 bits per second again.
    pub port: TTYPort,
    /// What is attached.
    pub attached: Attached,
    /// Bytes that were written.
    pub written: u64,
    /// Bytes that were there already.
    pub skipped: u64,
    /// Whether checksums were compared. A chip in secure download mode shows none: it is written in
    /// full each time.
    pub verified: bool,
}

impl Flashed {
    /// Whether everything was there already.
    pub fn nothing_new(&self) -> bool {
        self.written == 0
    }
}

/// Asks the bootloader what is attached, writes nothing, and resets the board.
///
/// # Errors
///
/// The bootloader does not answer, or the port is gone.
pub fn identify(
    port: TTYPort,
    usb: UsbPortInfo,
    resets: Resets,
) -> Result<(TTYPort, Attached), FlashError> {
    let (mut flasher, patience) = connect(port, usb, resets, None)?;
    match attached(&mut flasher) {
        Ok(attached) => Ok((finish(flasher, resets, patience)?, attached)),
        Err(error) => Err(failed(flasher, resets, FlashErrorKind::Stopped, &error)),
    }
}

/// Writes what is not there yet, reads it back, and resets the board once, at the end.
///
/// # Errors
///
/// See [`FlashErrorKind`]. The port comes with the error where it is still there.
pub fn write(
    port: TTYPort,
    usb: UsbPortInfo,
    job: &FlashJob,
    step: &mut dyn FnMut(FlashStep),
) -> Result<Flashed, FlashError> {
    let (mut flasher, patience) = connect(port, usb, job.resets, Some(job.baud))?;
    let attached = match attached(&mut flasher) {
        Ok(attached) => attached,
        Err(error) => {
            let kind = FlashErrorKind::Stopped;
            return Err(failed(flasher, job.resets, kind, &error));
        }
    };
    step(FlashStep::Attached(attached.clone()));
    if let Some(error) = mismatch(job, &attached, &flasher) {
        let mut connection = left(flasher, job.resets);
        // The console is heard again, whatever becomes of the board.
        let _ = connection.set_baud(CONSOLE_BAUD);
        return Err(error.with(connection.into_serial()));
    }
    let verified = !flasher.secure_download_mode();
    let segments: Vec<Segment<'_>> = job
        .segments
        .iter()
        .map(|part| Segment { addr: part.offset, data: Cow::Borrowed(&part.bytes) })
        .collect();
    let mut progress = Progress::new(&job.segments, step);
    let result = flasher.write_bins_to_flash(&segments, &mut progress);
    let (written, skipped) = (progress.written, progress.skipped);
    if let Err(error) = result {
        let kind = match error {
            espflash::Error::VerifyFailed => FlashErrorKind::Verify(progress.place()),
            espflash::Error::RomError(_) => FlashErrorKind::Refused,
            _ => FlashErrorKind::Stopped,
        };
        return Err(failed(flasher, job.resets, kind, &error));
    }
    step(FlashStep::Reset);
    Ok(Flashed {
        port: finish(flasher, job.resets, patience)?,
        attached,
        written,
        skipped,
        verified,
    })
}

/// Brings the board into its bootloader. The patience that the port had comes back with it.
fn connect(
    port: TTYPort,
    usb: UsbPortInfo,
    resets: Resets,
    baud: Option<u32>,
) -> Result<(Flasher, Duration), FlashError> {
    let patience = port.timeout();
    let before = match resets {
        Resets::Lines => ResetBeforeOperation::DefaultReset,
        Resets::None => ResetBeforeOperation::NoReset,
    };
    // The reset comes later and from us, when the port is back at the speed of the console.
    let after = ResetAfterOperation::NoResetNoStub;
    let mut connection = Connection::new(port, usb, after, before, CONSOLE_BAUD);
    if let Err(error) = connection.set_baud(CONSOLE_BAUD) {
        let text = told(&error);
        return Err(FlashError::new(FlashErrorKind::PortLost, text));
    }
    Flasher::try_connect(connection, true, true, true, None, baud)
        .map(|flasher| (flasher, patience))
        .map_err(|failure| {
            let (error, connection) = *failure;
            let mut port = connection.into_serial();
            // A later attempt begins at the speed of the ROM.
            let slow = port.set_baud_rate(CONSOLE_BAUD);
            let kind = match error {
                _ if slow.is_err() || lost(&port) => FlashErrorKind::PortLost,
                espflash::Error::ChipDetectError(_) => FlashErrorKind::Refused,
                espflash::Error::FlashConnect => FlashErrorKind::NoFlash,
                _ if resets == Resets::None => FlashErrorKind::NotInBootloader,
                _ => FlashErrorKind::NoAnswer,
            };
            FlashError::new(kind, told(&error)).with(port)
        })
}

fn attached(flasher: &mut Flasher) -> Result<Attached, espflash::Error> {
    let DeviceInfo { chip, revision, flash_size, mac_address, .. } = flasher.device_info()?;
    Ok(Attached {
        chip: chip.to_string(),
        revision,
        flash_size: flash_size.size(),
        mac: mac_address,
    })
}

/// Whether the board is another one than the job is for.
fn mismatch(job: &FlashJob, attached: &Attached, flasher: &Flasher) -> Option<FlashError> {
    if let Some(chip) = job.chip
        && chip.esp() != flasher.chip()
    {
        let text = format!("expected {chip}, got {}", attached.chip);
        return Some(FlashError::new(FlashErrorKind::WrongChip, text));
    }
    let needed = job.end().max(job.size.unwrap_or(0).into());
    // Where the size cannot be asked for, espflash says 4 MB, which is no reason to refuse.
    let known = !flasher.secure_download_mode();
    if known && needed > u64::from(attached.flash_size) {
        let got = attached.flash_size;
        let text = format!("expected at least {needed:#x} bytes, got {got:#x}");
        return Some(FlashError::new(FlashErrorKind::TooSmall, text));
    }
    None
}

/// Back to the console: its speed first, then the one reset.
fn finish(flasher: Flasher, resets: Resets, patience: Duration) -> Result<TTYPort, FlashError> {
    let mut connection = left(flasher, resets);
    let mut slow = connection.set_baud(CONSOLE_BAUD).map_err(|error| told(&error));
    slow = slow.and_then(|()| connection.set_timeout(patience).map_err(|error| told(&error)));
    if let Err(text) = slow {
        return Err(FlashError::new(FlashErrorKind::PortLost, text));
    }
    if resets == Resets::Lines
        && let Err(error) = connection.reset()
    {
        let text = told(&error);
        return Err(FlashError::new(FlashErrorKind::PortLost, text));
    }
    Ok(connection.into_serial())
}

/// The connection of a flasher that has done its work, or is refused. Where no line will reset the chip,
/// the stub is asked to restart it: one that stays in memory is overwritten by the next one while it runs.
fn left(flasher: Flasher, resets: Resets) -> Connection {
    let is_stub = !flasher.secure_download_mode();
    let mut connection = flasher.into_connection();
    if resets == Resets::None && is_stub {
        // One that does not answer any more cannot be ended from here.
        let _ = end_stub(&mut connection);
    }
    connection
}

fn end_stub(connection: &mut Connection) -> Result<(), espflash::Error> {
    // It restarts the chip only at the end of a writing, be it one of nothing.
    let begin = Command::FlashBegin {
        size: 0,
        blocks: 0,
        block_size: SECTOR as u32,
        offset: 0,
        supports_encryption: false,
    };
    connection.with_timeout(STUB_ENDS, |connection| connection.command(begin))?;
    let end = Command::FlashEnd { reboot: true };
    connection.with_timeout(STUB_ENDS, |connection| connection.command(end))?;
    Ok(())
}

fn failed(
    flasher: Flasher,
    resets: Resets,
    kind: FlashErrorKind,
    error: &espflash::Error,
) -> FlashError {
    let mut port = left(flasher, resets).into_serial();
    let text = told(error);
    if port.set_baud_rate(CONSOLE_BAUD).is_err() || lost(&port) {
        return FlashError::new(FlashErrorKind::PortLost, text);
    }
    // What the stub still has to say is no console line.
    let _ = port.clear(ClearBuffer::Input);
    FlashError::new(kind, text).with(port)
}

/// Counts bytes where espflash counts blocks, piece after piece.
struct Progress<'a> {
    pieces: &'a [FlashSegment],
    step: &'a mut dyn FnMut(FlashStep),
    at: usize,
    blocks: usize,
    total: u64,
    written: u64,
    skipped: u64,
}

impl<'a> Progress<'a> {
    fn new(pieces: &'a [FlashSegment], step: &'a mut dyn FnMut(FlashStep)) -> Self {
        Self {
            pieces,
            step,
            at: 0,
            blocks: 1,
            total: pieces.iter().map(|piece| piece.bytes.len() as u64).sum(),
            written: 0,
            skipped: 0,
        }
    }

    fn name(&self) -> Cow<'static, str> {
        let piece = self.pieces.get(self.at);
        piece.map_or(Cow::Borrowed(""), |piece| piece.name.clone())
    }

    fn length(&self) -> u64 {
        let piece = self.pieces.get(self.at);
        piece.map_or(0, |piece| piece.bytes.len() as u64)
    }

    /// The piece that is written, with its place.
    fn place(&self) -> String {
        let piece = self.pieces.get(self.at);
        piece.map_or_else(String::new, |piece| format!("`{}` at {:#x}", piece.name, piece.offset))
    }

    fn tell(&mut self, within: u64) {
        let done = self.written + self.skipped + within;
        let (name, total) = (self.name(), self.total);
        (self.step)(FlashStep::Written { name, done, total });
    }
}

impl ProgressCallbacks for Progress<'_> {
    fn init(&mut self, _address: u32, total: usize) {
        self.blocks = total.max(1);
        self.tell(0);
    }

    fn update(&mut self, current: usize) {
        let within = self.length() * current as u64 / self.blocks as u64;
        self.tell(within);
    }

    fn verifying(&mut self) {
        let name = self.name();
        (self.step)(FlashStep::Verifying(name));
    }

    fn finish(&mut self, skipped: bool) {
        let length = self.length();
        match skipped {
            true => self.skipped += length,
            false => self.written += length,
        }
        self.tell(0);
        self.at += 1;
    }
}
