//! The chips, and where their memory lies.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A chip of the ESP32 family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chip {
    /// ESP32
    Esp32,
    /// ESP32-S2
    Esp32s2,
    /// ESP32-S3
    Esp32s3,
    /// ESP32-C3
    Esp32c3,
    /// ESP32-C5
    Esp32c5,
    /// ESP32-C6
    Esp32c6,
    /// ESP32-P4
    Esp32p4,
}

impl Chip {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Esp32,
        Self::Esp32s2,
        Self::Esp32s3,
        Self::Esp32c3,
        Self::Esp32c5,
        Self::Esp32c6,
        Self::Esp32p4,
    ];

    /// The name on the command line, and in programs of `esp-hal`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Esp32 => "esp32",
            Self::Esp32s2 => "esp32s2",
            Self::Esp32s3 => "esp32s3",
            Self::Esp32c3 => "esp32c3",
            Self::Esp32c5 => "esp32c5",
            Self::Esp32c6 => "esp32c6",
            Self::Esp32p4 => "esp32p4",
        }
    }

    /// What the Rust compiler calls it.
    pub fn target(self) -> &'static str {
        match self {
            Self::Esp32 => "xtensa-esp32-none-elf",
            Self::Esp32s2 => "xtensa-esp32s2-none-elf",
            Self::Esp32s3 => "xtensa-esp32s3-none-elf",
            Self::Esp32c3 => "riscv32imc-unknown-none-elf",
            Self::Esp32c5 | Self::Esp32c6 => "riscv32imac-unknown-none-elf",
            Self::Esp32p4 => "riscv32imafc-unknown-none-elf",
        }
    }

    /// The number of its instruction set in ELF files.
    pub(super) fn machine(self) -> u16 {
        match self {
            Self::Esp32 | Self::Esp32s2 | Self::Esp32s3 => super::elf::XTENSA,
            Self::Esp32c3 | Self::Esp32c5 | Self::Esp32c6 | Self::Esp32p4 => super::elf::RISC_V,
        }
    }

    /// The one that espflash means, when it is one of ours.
    pub(super) fn of(chip: espflash::target::Chip) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.esp() == chip)
    }

    pub(super) fn esp(self) -> espflash::target::Chip {
        use espflash::target::Chip as Esp;
        match self {
            Self::Esp32 => Esp::Esp32,
            Self::Esp32s2 => Esp::Esp32s2,
            Self::Esp32s3 => Esp::Esp32s3,
            Self::Esp32c3 => Esp::Esp32c3,
            Self::Esp32c5 => Esp::Esp32c5,
            Self::Esp32c6 => Esp::Esp32c6,
            Self::Esp32p4 => Esp::Esp32p4,
        }
    }

    /// Whether the bootloader can put something there: into RAM, or where flash memory is mapped.
    pub(super) fn has(self, address: u32) -> bool {
        let in_ram = |range: &Range<u32>| range.contains(&address);
        self.esp().addr_is_flash(address) || self.ram().iter().any(in_ram)
    }

    /// RAM that programs are loaded into (technical reference manuals, chapter "System and Memory").
    fn ram(self) -> &'static [Range<u32>] {
        match self {
            Self::Esp32 => &[
                0x3ff8_0000..0x3ff8_2000,
                0x3ffa_e000..0x4000_0000,
                0x4007_0000..0x400c_2000,
                0x5000_0000..0x5000_2000,
            ],
            Self::Esp32s2 => {
                &[0x3ff9_e000..0x4000_0000, 0x4002_0000..0x4007_2000, 0x5000_0000..0x5000_2000]
            }
            Self::Esp32s3 => &[
                0x3fc8_8000..0x3fd0_0000,
                0x4037_0000..0x403e_0000,
                0x5000_0000..0x5000_2000,
                0x600f_e000..0x6010_0000,
            ],
            Self::Esp32c3 => {
                &[0x3fc8_0000..0x3fce_0000, 0x4037_c000..0x403e_0000, 0x5000_0000..0x5000_2000]
            }
            Self::Esp32c5 => &[0x4080_0000..0x4086_0000, 0x5000_0000..0x5000_4000],
            Self::Esp32p4 => {
                &[0x3010_0000..0x3010_2000, 0x4ff0_0000..0x4ffc_0000, 0x5010_8000..0x5011_0000]
            }
            Self::Esp32c6 => &[0x4080_0000..0x4088_0000, 0x5000_0000..0x5000_4000],
        }
    }
}

impl std::fmt::Display for Chip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Chip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // As on the package: ESP32-C3.
        let name = text.to_ascii_lowercase().replace('-', "");
        let found = Self::ALL.into_iter().find(|chip| chip.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected one of {names}")
        })
    }
}
