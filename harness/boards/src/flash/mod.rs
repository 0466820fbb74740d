//! What goes into the flash memory of a chip: bootloader, partition table, program, settings.
//!
//! A board is given the [segments](FlashImage::segments) in one go; an emulator wants the whole memory
//! as one [file](FlashImage::merged). Bootloaders and formats are those of `espflash`.
//!
//! * [`FlashJob`]: what is to be written, of a program, of a vendor's merged image or of parts;
//! * [`write()`]: writing it through a serial port, and [`worker`], the process that does it;
//! * [`nvs`] and [`StockSettings`]: the partition of settings.

mod chip;
mod elf;
mod error;
mod job;
pub mod nvs;
#[cfg(feature = "jtag")]
pub mod probe;
mod stock;
mod table;
mod wire;
pub mod worker;
mod write;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use espflash::flasher::{FlashData, FlashSettings, FlashSize as EspSize};
use espflash::image_format::{ImageFormat, Metadata, idf::IdfBootloaderFormat};

pub use chip::Chip;
pub use error::{FlashError, FlashErrorKind};
pub use job::{FlashJob, JobError, Provision, Resets};
pub use stock::{MqttSettings, Network, Secret, StockSettings, WebSocketSettings};
pub use table::{Partition, TableError, settings_partition};
pub use write::{Attached, CONSOLE_BAUD, FlashStep, Flashed, identify, write};

/// What erased flash memory reads as.
const ERASED: u8 = 0xff;

/// Flash memory is erased in sectors, and settings are kept in whole ones.
const SECTOR: usize = 4096;

/// The partition of settings (NVS), by its name in the table.
const NVS: &str = "nvs";

/// Where the bootloaders look for the table, in bytes from the start of the flash memory.
const TABLE_OFFSET: u32 = 0x8000;

/// Size of a flash memory: those that emulators take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlashSize {
    /// 2 MiB
    Two,
    /// 4 MiB, which most boards have
    #[default]
    Four,
    /// 8 MiB
    Eight,
    /// 16 MiB
    Sixteen,
}

impl FlashSize {
    /// In bytes.
    pub fn bytes(self) -> usize {
        let mib = match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
            Self::Sixteen => 16,
        };
        mib * 1024 * 1024
    }

    fn esp(self) -> EspSize {
        match self {
            Self::Two => EspSize::_2Mb,
            Self::Four => EspSize::_4Mb,
            Self::Eight => EspSize::_8Mb,
            Self::Sixteen => EspSize::_16Mb,
        }
    }
}

impl std::fmt::Display for FlashSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}MB", self.bytes() / (1024 * 1024))
    }
}

/// What an image is made of.
#[derive(Debug, Clone, Copy)]
pub struct ImageParts<'a> {
    /// The chip.
    pub chip: Chip,
    /// Its flash memory.
    pub size: FlashSize,
    /// The program, as the linker left it.
    pub elf: &'a [u8],
    /// The partition of settings, as it is to stand in the flash memory.
    pub nvs: Option<&'a [u8]>,
    /// A partition table (`.csv` or `.bin`) instead of the usual one: settings at 0x9000, the program
    /// at 0x10000.
    pub partitions: Option<&'a Path>,
}

/// Why there can be no image.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ImageError {
    /// The file is no program.
    #[error("the program is not an ELF file for a 32-bit chip: {0}")]
    #[diagnostic(help(
        "give the file that the linker wrote, such as \
         `target/riscv32imc-unknown-none-elf/release/<name>`; `.bin` files are already images"
    ))]
    NotElf(String),
    /// It is a program for something else.
    #[error("the program does not run on {expected}: expected code for it, got {got}")]
    #[diagnostic(help("build it for `{target}`, or choose the chip that it is built for"))]
    WrongChip {
        /// The chip that was asked for.
        expected: Chip,
        /// What it is instead.
        got: String,
        /// What a compiler calls the chip.
        target: &'static str,
    },
    /// There is nothing in it to be loaded.
    #[error("the program has nothing to load: expected sections with addresses of {0}, got none")]
    #[diagnostic(help(
        "was it linked with the linker script of its chip, and not stripped of its sections?"
    ))]
    Empty(Chip),
    /// It is larger than its partition.
    #[error(
        "the program does not fit: expected at most {room} bytes, the size of its partition, got \
         {needed}"
    )]
    #[diagnostic(help("choose a larger flash memory, or build in release mode"))]
    TooBig {
        /// Size of the program as an image, in bytes.
        needed: u32,
        /// Size of its partition, in bytes.
        room: u32,
    },
    /// The partition table does not go together with the rest.
    #[error("the partition table does not fit: {0}")]
    #[diagnostic(help(
        "every partition has to be within the flash memory, and one of them has to be named `nvs` \
         if settings are given"
    ))]
    Table(String),
    /// The settings are no partition.
    #[error(
        "the settings do not fit the partition `nvs`: expected whole sectors of 4096 bytes, at \
         most {room} bytes, got {got}"
    )]
    #[diagnostic(help("create the file with the size of the partition"))]
    Settings {
        /// Size of the partition, in bytes.
        room: u32,
        /// Size of the file, in bytes.
        got: usize,
    },
    /// Something else about the format.
    #[error("the image cannot be created: {0}")]
    #[diagnostic(help("is the program built for the ESP-IDF bootloader?"))]
    Format(String),
}

/// A piece of flash memory.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashSegment {
    /// What it contains, such as `bootloader` or `partition table`, for messages.
    pub name: Cow<'static, str>,
    /// Where it begins, in bytes from the start of the flash memory.
    pub offset: u32,
    /// What it holds; whole words.
    #[serde(with = "wire")]
    pub bytes: Vec<u8>,
}

/// Without the bytes: settings hold passwords.
impl std::fmt::Debug for FlashSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, offset, size) = (&self.name, self.offset, self.bytes.len());
        write!(f, "{name} at {offset:#x}, {size} bytes")
    }
}

impl FlashSegment {
    fn end(&self) -> usize {
        self.offset as usize + self.bytes.len()
    }
}

/// What goes into the flash memory of a chip.
#[derive(Debug, Clone)]
pub struct FlashImage {
    size: FlashSize,
    segments: Vec<FlashSegment>,
}

impl FlashImage {
    /// Puts an image together.
    ///
    /// # Errors
    ///
    /// A part is not what it should be, or does not fit.
    pub fn new(parts: ImageParts<'_>) -> Result<Self, ImageError> {
        elf::check(parts.chip, parts.elf)?;
        check_named(parts.chip, parts.elf)?;
        let chip = parts.chip.esp();
        let settings = FlashSettings::new(None, Some(parts.size.esp()), None);
        let data = FlashData::new(settings, 0, None, chip, chip.default_xtal_frequency());
        let format = IdfBootloaderFormat::new(
            parts.elf,
            &data,
            parts.partitions,
            None,
            Some(TABLE_OFFSET),
            None,
        )
        .map_err(|error| explained(parts, error))?;
        let table = format.partition_table();
        let nvs = table.find(NVS).map(|found| (found.offset(), found.size()));
        let names = ["bootloader", "partition table", "program"];
        let segments = ImageFormat::from(format).flash_segments();
        let mut segments: Vec<FlashSegment> = names
            .into_iter()
            .zip(segments)
            .map(|(name, mut segment)| {
                segment.pad_align(4);
                FlashSegment {
                    name: name.into(),
                    offset: segment.addr,
                    bytes: segment.data.into_owned(),
                }
            })
            .collect();
        // The second byte of a program's image is the number of its parts.
        if segments.last().is_none_or(|program| program.bytes.get(1) == Some(&0)) {
            return Err(ImageError::Empty(parts.chip));
        }
        if let Some(settings) = parts.nvs {
            segments.push(settings_segment(settings, nvs)?);
        }
        check_room(&segments, parts.size)?;
        Ok(Self { size: parts.size, segments })
    }

    /// The pieces: bootloader, partition table, program, and settings when there are any.
    pub fn segments(&self) -> &[FlashSegment] {
        &self.segments
    }

    /// The whole flash memory; what no piece covers is erased.
    pub fn merged(&self) -> Vec<u8> {
        let mut memory = vec![ERASED; self.size.bytes()];
        for segment in &self.segments {
            memory[segment.offset as usize..segment.end()].copy_from_slice(&segment.bytes);
        }
        memory
    }
}

/// Programs of `esp-hal` name their chip.
fn check_named(chip: Chip, elf: &[u8]) -> Result<(), ImageError> {
    let metadata = Metadata::from_bytes(Some(elf));
    match metadata.chip_name() {
        Some(name) if !name.eq_ignore_ascii_case(chip.name()) => Err(ImageError::WrongChip {
            expected: chip,
            got: format!("a program that says it is for `{name}`"),
            target: chip.target(),
        }),
        _ => Ok(()),
    }
}

fn settings_segment(
    settings: &[u8],
    partition: Option<(u32, u32)>,
) -> Result<FlashSegment, ImageError> {
    let Some((offset, room)) = partition else {
        return Err(ImageError::Table(format!("it has no partition `{NVS}`")));
    };
    let whole = !settings.is_empty() && settings.len().is_multiple_of(SECTOR);
    if !whole || settings.len() > room as usize {
        return Err(ImageError::Settings { room, got: settings.len() });
    }
    Ok(FlashSegment { name: "settings".into(), offset, bytes: settings.to_vec() })
}

/// No piece may reach beyond the memory or into another one.
fn check_room(segments: &[FlashSegment], size: FlashSize) -> Result<(), ImageError> {
    let mut sorted: Vec<&FlashSegment> = segments.iter().collect();
    sorted.sort_by_key(|segment| segment.offset);
    for pair in sorted.windows(2) {
        if pair[0].end() > pair[1].offset as usize {
            let (before, after) = (pair[0], pair[1]);
            return Err(ImageError::Table(format!(
                "the {} ends at {:#x}, but the {} begins at {:#x}",
                before.name,
                before.end(),
                after.name,
                after.offset
            )));
        }
    }
    match sorted.last() {
        Some(last) if last.end() > size.bytes() => Err(ImageError::Table(format!(
            "the {} ends at {:#x}, beyond the {size} of the flash memory",
            last.name,
            last.end()
        ))),
        _ => Ok(()),
    }
}

fn explained(parts: ImageParts<'_>, error: espflash::Error) -> ImageError {
    use espflash::Error;
    let shown = parts.partitions.map(PathBuf::from).unwrap_or_default();
    match error {
        Error::ElfTooBig(needed, room) => ImageError::TooBig { needed, room },
        Error::PartitionTableDoesNotFit(_) => {
            ImageError::Table(format!("it needs more than {}", parts.size))
        }
        Error::AppPartitionNotFound => {
            ImageError::Table("it has no application partition".to_owned())
        }
        error if parts.partitions.is_some() => {
            ImageError::Table(format!("`{}`: {error}", shown.display()))
        }
        error => ImageError::Format(error.to_string()),
    }
}
