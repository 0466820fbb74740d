//! Why a board could not be flashed.

use std::error::Error as _;

use serialport::{SerialPort, TTYPort};

/// What kind of trouble it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlashErrorKind {
    /// The port cannot be opened.
    Open,
    /// The port is gone: unplugged, or its emulator ended.
    PortLost,
    /// The ROM bootloader does not answer.
    NoAnswer,
    /// The same at a port without lines, where nothing here could bring the chip into its bootloader.
    NotInBootloader,
    /// It answered, and fell silent.
    Stopped,
    /// It is not the chip that the image is for.
    WrongChip,
    /// The flash memory is smaller than the image.
    TooSmall,
    /// The flash memory itself does not answer.
    NoFlash,
    /// The bootloader refused a command.
    Refused,
    /// What was written reads back differently; which piece.
    Verify(String),
}

impl FlashErrorKind {
    /// A word for machines, the same in every version.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::PortLost => "port-lost",
            Self::NoAnswer | Self::NotInBootloader => "no-answer",
            Self::Stopped => "stopped",
            Self::WrongChip => "wrong-chip",
            Self::TooSmall => "too-small",
            Self::NoFlash => "no-flash",
            Self::Refused => "refused",
            Self::Verify(_) => "verify",
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Open => "the port cannot be opened".into(),
            Self::PortLost => "the port was lost while the board was flashed".into(),
            Self::NoAnswer | Self::NotInBootloader => {
                "the bootloader of the chip does not answer".into()
            }
            Self::Stopped => "the bootloader stopped answering while the board was flashed".into(),
            Self::WrongChip => "the board has a different chip".into(),
            Self::TooSmall => "the flash memory is too small".into(),
            Self::NoFlash => "the flash memory does not answer".into(),
            Self::Refused => "the bootloader refused".into(),
            Self::Verify(piece) => {
                format!("the flash memory does not retain what was written: {piece}")
            }
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Open => {
                "is the board plugged in, do you have permission (group `dialout`, or the udev \
                 rules in `ci/`), and is another program using it?"
            }
            Self::PortLost => "check the cable, the hub and the supply; then reconnect the board",
            Self::NoAnswer => {
                "hold BOOT while you press RESET once, or try another cable: some carry no data, \
                 and some boards do not connect DTR and RTS to the chip"
            }
            Self::NotInBootloader => {
                "this port has no lines DTR and RTS, so the chip cannot be put into its bootloader \
                 from here: hold BOOT while you press RESET once, or restart its emulator in \
                 download mode"
            }
            Self::Stopped => "try a lower `flash_baud`, such as 115200, or another cable",
            Self::WrongChip => "use the image for this board, or select another board",
            Self::TooSmall => "use an image for this flash size",
            Self::NoFlash => "its flash chip is missing, broken or wired to other pins",
            Self::Refused => "flash encryption, secure boot or a broken image can be the reason",
            Self::Verify(_) => {
                "try a lower `flash_baud`; if it fails again, the flash memory is worn out"
            }
        }
    }
}

/// Why a board could not be flashed: always trouble of the bench.
#[derive(Debug)]
pub struct FlashError {
    /// What kind.
    pub kind: FlashErrorKind,
    /// What was expected and what came instead.
    pub text: String,
    /// The port, where it is still there.
    pub port: Option<TTYPort>,
}

impl FlashError {
    /// Trouble without a port.
    pub fn new(kind: FlashErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), port: None }
    }

    pub(super) fn with(self, port: TTYPort) -> Self {
        let port = Some(port);
        Self { port, ..self }
    }
}

impl std::fmt::Display for FlashError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.what(), self.text)
    }
}

impl std::error::Error for FlashError {}

impl miette::Diagnostic for FlashError {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.kind.hint()))
    }
}

/// An error with what is behind it, in one line.
pub(super) fn told(error: &espflash::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        let reason_text = reason.to_string();
        if !text.ends_with(&reason_text) {
            text.push_str(": ");
            text.push_str(&reason_text);
        }
        next = reason.source();
    }
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Whether nothing is behind the port any more.
pub(super) fn lost(port: &TTYPort) -> bool {
    let gone = |name: String| !std::path::Path::new(&name).exists();
    port.bytes_to_read().is_err() || port.name().is_some_and(gone)
}
