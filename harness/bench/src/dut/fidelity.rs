//! What verdicts about a device stand on, and what they cannot show.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Difference, Dut, How};

/// How close to a real device the one under test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Fidelity {
    /// Silicon on a board.
    #[serde(rename = "board")]
    Board,
    /// A chip with its ROM, flash and devices, in software.
    #[serde(rename = "emulated chip")]
    EmulatedChip,
    /// Firmware on the instructions of a CPU, on a board that was never built.
    #[serde(rename = "emulated CPU")]
    EmulatedCpu,
    /// The application code of firmware, compiled for the CPU of this host.
    #[serde(rename = "host build")]
    HostBuild,
    /// A process of this host.
    #[serde(rename = "host process")]
    HostProcess,
    /// Somebody else runs it, and only they know.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Fidelity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::EmulatedChip => "emulated chip",
            Self::EmulatedCpu => "emulated CPU",
            Self::HostBuild => "host build",
            Self::HostProcess => "host process",
            Self::Unknown => "unknown",
        }
    }
}

impl Fidelity {
    /// Whether what only silicon shows may be judged. Of a device that somebody else runs, nobody here
    /// knows: it is as a rule a board.
    pub fn may_be_silicon(self) -> bool {
        matches!(self, Self::Board | Self::Unknown)
    }
}

impl Dut {
    /// How close to a real device it is. Of a program or of a device that somebody else runs, its file
    /// knows best.
    pub fn fidelity(&self) -> Fidelity {
        let file = self.file.as_ref().and_then(|file| file.fidelity);
        if let (Some(told), How::Exec(_) | How::Wait) = (file, &self.how) {
            return told;
        }
        match self.how {
            How::Native { .. } | How::Exec(_) => Fidelity::HostProcess,
            How::Host(_) => Fidelity::HostBuild,
            How::Qemu(_) => Fidelity::EmulatedCpu,
            How::Emulated(_) => Fidelity::EmulatedChip,
            How::Board(_) => Fidelity::Board,
            How::Wait => Fidelity::Unknown,
        }
    }

    /// What verdicts about it stand on, in words.
    pub fn stands_on(&self) -> String {
        let (what, difference) = match &self.how {
            How::Native { difference, .. } => ("simulation".to_owned(), difference),
            How::Qemu(qemu) => {
                ("emulated CPU (RISC-V, QEMU's board `virt`)".to_owned(), &qemu.difference)
            }
            How::Emulated(emulated) => (
                format!("emulated chip ({}, {})", emulated.image.chip, emulated.emulator()),
                &emulated.difference,
            ),
            How::Board(_) => return "a board on a serial port of this host".to_owned(),
            How::Host(host) => {
                return format!(
                    "application code of the firmware (version {}) on this host's CPU, no board attached",
                    host.version
                );
            }
            How::Exec(_) | How::Wait => {
                let file = self.file.as_ref();
                let told = file.filter(|file| file.fidelity.is_some());
                return match (told, &self.how) {
                    (Some(file), _) => {
                        format!("{}, as `{}` says", self.fidelity().name(), file.path)
                    }
                    (None, How::Wait) => "a device that was started separately".to_owned(),
                    (None, _) => "a program on this host, no board attached".to_owned(),
                };
            }
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
        match (&self.how, self.fidelity()) {
            (How::Emulated(emulated), _) => emulated.cannot_show(),
            (_, Fidelity::Board | Fidelity::Unknown) => &[],
            (_, Fidelity::EmulatedChip) => &["radio", "wear of flash", "power", "timing of a chip"],
            (_, Fidelity::EmulatedCpu) => {
                &["an ESP32", "radio", "flash", "power", "timing of a chip"]
            }
            (_, Fidelity::HostBuild) => {
                &["a chip", "radio", "flash", "power", "timing of a chip", "tasks of FreeRTOS"]
            }
            (_, Fidelity::HostProcess) => {
                &["a chip", "radio", "flash", "power", "timing of a chip"]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_runs_on_this_host_passes_for_silicon_unless_its_file_says_so() {
        for (spec, level, is_silicon) in
            [("exec:true", "host process", false), ("wait", "unknown", true)]
        {
            let dut = Dut::parse(spec, None).unwrap();
            assert_eq!(dut.fidelity().name(), level);
            assert_eq!(dut.fidelity().may_be_silicon(), is_silicon);
            assert_eq!(dut.cannot_show().is_empty(), is_silicon, "{spec}");
        }
        for level in [
            Fidelity::EmulatedChip,
            Fidelity::EmulatedCpu,
            Fidelity::HostBuild,
            Fidelity::HostProcess,
        ] {
            assert!(!level.may_be_silicon());
        }
    }
}
