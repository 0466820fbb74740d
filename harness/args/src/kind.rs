//! Which kind of device `--dut auto` may take.

use clap::ValueEnum;
use serde::Deserialize;

/// What `--dut` says to let this choose.
pub const AUTO: &str = "auto";

/// A kind of device that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A board on USB
    Board,
    /// A chip in Espressif's QEMU
    QemuEsp,
    /// The reference device on QEMU's RISC-V board
    Qemu,
    /// A chip in Wokwi's simulator
    Wokwi,
    /// A chip in Espressif's esp-emulator; only where it is preferred
    EspEmu,
    /// The reference device as a process on this host
    Native,
}

impl Kind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::QemuEsp => "qemu-esp",
            Self::Qemu => "qemu",
            Self::Wokwi => "wokwi",
            Self::EspEmu => "esp-emu",
            Self::Native => "native",
        }
    }
}
