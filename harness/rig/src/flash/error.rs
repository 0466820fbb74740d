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
            Self::NoAnswer => "no-answer",
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
            Self::NoAnswer => "the bootloader of the chip does not answer".into(),
            Self::Stopped => "the bootloader fell silent while the board was flashed".into(),
            Self::WrongChip => "the board has another chip".into(),
            Self::TooSmall => "the flash memory is too small".into(),
            Self::NoFlash => "the flash memory does not answer".into(),
            Self::Refused => "the bootloader refused".into(),
            Self::Verify(piece) => {
                format!("the flash memory does not keep what was written: {piece}")
            }
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Open => {
                "is the board plugged in, may you open it (group `dialout`, or the udev rules in \
                 `ci/`), and does no other program hold it?"
            }
            Self::PortLost => {
                "check the cable, the hub and the supply; then plug the board in again"
            }
            Self::NoAnswer => {
                "hold BOOT while you press RESET once, or take another cable: some carry no data, and \
                 some boards do not join DTR and RTS to the chip"
            }
            Self::Stopped => "take a lower `flash_baud`, such as 115200, or another cable",
            Self::WrongChip => "take the image of this board, or select another board",
            Self::TooSmall => "take an image for this flash size",
            Self::NoFlash => "its flash chip is missing, broken or wired to other pins",
            Self::Refused => "flash encryption, secure boot or a broken image can be the reason",
            Self::Verify(_) => {
                "take a lower `flash_baud`; if it fails again the flash memory is worn out"
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
        Self {
            kind,
            text: text.into(),
            port: None,
        }
    }

    pub(super) fn with(self, port: TTYPort) -> Self {
        let port = Some(port);
        Self { port, ..self }
    }
}

impl std::fmt::Display for FlashError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, hint) = (self.kind.what(), self.kind.hint());
        write!(f, "{what}: {}\n\nhint: {hint}", self.text)
    }
}

impl std::error::Error for FlashError {}

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
