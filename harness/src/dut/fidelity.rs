//! What verdicts about a device stand on, and what they cannot show.

use super::{Difference, Dut, How};

/// How close to a real device the one under test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// Silicon on a board.
    Board,
    /// A chip with its ROM, flash and devices, in software.
    EmulatedChip,
    /// Firmware on the instructions of a CPU, on a board that was never built.
    EmulatedCpu,
    /// A process of this host.
    HostProcess,
    /// Somebody else runs it, and only they know.
    Unknown,
}

impl Fidelity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::EmulatedChip => "emulated chip",
            Self::EmulatedCpu => "emulated CPU",
            Self::HostProcess => "host process",
            Self::Unknown => "unknown",
        }
    }
}

impl Dut {
    /// How close to a real device it is.
    pub fn fidelity(&self) -> Fidelity {
        match self.how {
            How::Native { .. } | How::Exec(_) => Fidelity::HostProcess,
            How::Qemu(_) => Fidelity::EmulatedCpu,
            How::Emulated(_) => Fidelity::EmulatedChip,
            How::Wait => Fidelity::Unknown,
        }
    }

    /// What verdicts about it stand on, in words.
    pub fn stands_on(&self) -> String {
        let (what, difference) = match &self.how {
            How::Native { difference, .. } => ("simulation".to_owned(), difference),
            How::Qemu(qemu) => (
                "emulated CPU (RISC-V, QEMU's board `virt`)".to_owned(),
                &qemu.difference,
            ),
            How::Emulated(emulated) => (
                format!(
                    "emulated chip ({}, {})",
                    emulated.image.chip,
                    emulated.emulator()
                ),
                &emulated.difference,
            ),
            How::Exec(_) => return "a program on this host, no board attached".to_owned(),
            How::Wait => return "a device that somebody else started".to_owned(),
        };
        let how = match (difference, &self.how) {
            (None, _) => "",
            (Some(Difference::Mutant(_)), _) => " with a seeded defect",
            (Some(Difference::Variant(_)), How::Native { .. }) => " of a harmless variation",
            (Some(Difference::Variant(_)), _) => " with a harmless variation",
        };
        format!("{what}{how}, no board attached")
    }

    /// What no run with it can show, whatever the verdicts say.
    pub fn cannot_show(&self) -> &'static [&'static str] {
        match &self.how {
            How::Native { .. } | How::Exec(_) => {
                &["a chip", "radio", "flash", "power", "timing of a chip"]
            }
            How::Qemu(_) => &["an ESP32", "radio", "flash", "power", "timing of a chip"],
            How::Emulated(emulated) => emulated.cannot_show(),
            How::Wait => &[],
        }
    }
}
