//! What is to be flashed: a program, a merged image or parts, and settings where the partition table
//! puts them.
//!
//! All of it is cut into pieces of at most a mebibyte, so that what has not changed is passed over
//! piece by piece and a board is never silent for long. A long erased run becomes a piece of its own:
//! a merged image is mostly such runs, and where the memory is erased already its checksum says so
//! and nothing is written. Elsewhere it is written like the rest, and the memory ends as the image says.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::nvs::{NvsError, Settings};
use super::table::{TableError, settings_partition};
use super::{Chip, ERASED, FlashImage, FlashSegment, SECTOR};

/// Longest piece, in bytes. Reading one back takes a chip less than 8 s (espflash's own patience).
const LONGEST_PIECE: usize = 1024 * 1024;

/// Shortest erased run that is a piece of its own, in bytes; a block that flash memory erases at once.
const ERASED_RUN: usize = 64 * 1024;

/// The first byte of a program image.
const IMAGE_MAGIC: u8 = 0xe9;

/// Where the bootloaders of the chips lie.
const BOOTLOADERS: [usize; 3] = [0x0, 0x1000, 0x2000];

/// How the board is brought into its bootloader, and out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resets {
    /// By the lines DTR and RTS, in the sequence that the USB id asks for.
    Lines,
    /// Not at all: emulators on a pseudo-terminal have no such lines, and wait in the bootloader.
    None,
}

/// What is to be written, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashJob {
    /// The chip it is for; none when nothing says so.
    pub chip: Option<Chip>,
    /// The size that the flash memory must have at least, in bytes.
    pub size: Option<u32>,
    /// The pieces, in the order of their places, none of them overlapping.
    pub segments: Vec<FlashSegment>,
    /// Bits per second while flashing. The console runs at 115,200 whatever it is.
    pub baud: u32,
    /// Resets before and after.
    pub resets: Resets,
}

/// Settings to be flashed with the rest.
#[derive(Debug, Clone, Copy)]
pub enum Provision<'a> {
    /// None: the partition is flashed as the image has it, erased or not at all.
    Nothing,
    /// The partition, from a file.
    Image(&'a [u8]),
    /// Settings, for a partition of the size that the table says.
    Settings(&'a Settings),
}

/// Why there is nothing to be flashed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum JobError {
    /// The file is no image of a flash memory.
    #[error(
        "this is not a merged flash image: expected a bootloader (its first byte is 0xe9) at 0x0, \
         0x1000 or 0x2000, got none"
    )]
    #[diagnostic(help(
        "use the `merged-binary.bin` of the release, or give parts with their offsets"
    ))]
    NotMerged,
    /// It is one for another chip.
    #[error("the image is for a different chip: expected one for {expected}, got one for {got}")]
    #[diagnostic(help("use the image for this board, or correct its chip"))]
    WrongChip {
        /// The chip that it should be for.
        expected: Chip,
        /// What its bootloader is for.
        got: String,
    },
    /// A part begins within a sector.
    #[error(
        "the part `{name}` cannot be at {offset:#x}: expected a multiple of {SECTOR:#x}, since \
         flash memory is erased in sectors"
    )]
    #[diagnostic(help("use its offset from the partition table"))]
    Unaligned {
        /// The part.
        name: String,
        /// Where it was to begin.
        offset: u32,
    },
    /// Two parts in one place.
    #[error("`{before}` and `{after}` overlap at {at:#x}: expected parts that do not overlap")]
    #[diagnostic(help("compare the offsets with the partition table"))]
    Overlap {
        /// The part that begins first.
        before: String,
        /// The other one.
        after: String,
        /// Where the other one begins.
        at: u32,
    },
    /// It reaches beyond the memory.
    #[error(
        "the image does not fit: expected at most {room:#x} bytes, the size of the flash memory, \
         got {needed:#x}"
    )]
    #[diagnostic(help("use an image for this flash size, or correct the size"))]
    TooBig {
        /// End of the last piece.
        needed: u64,
        /// Size of the memory.
        room: u32,
    },
    /// The settings are no partition.
    #[error(
        "the settings do not fit the partition `nvs`: expected whole sectors of 4096 bytes, at \
         most {room} bytes, got {got}"
    )]
    #[diagnostic(help("create the file with the size of the partition"))]
    SettingsSize {
        /// Size of the partition, in bytes.
        room: u32,
        /// Size of the file, in bytes.
        got: usize,
    },
    /// Nothing was named.
    #[error("there is nothing to flash: expected a part that is not empty, got none")]
    #[diagnostic(help("is the file empty?"))]
    Empty,
    /// Where the settings go.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Table(#[from] TableError),
    /// The settings themselves.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Settings(#[from] NvsError),
}

impl FlashJob {
    /// Speed when nobody names another: what every USB bridge in use can do.
    pub const BAUD: u32 = 460_800;

    /// A program with its bootloader and partition table.
    ///
    /// # Errors
    ///
    /// The settings have no place, or are none.
    pub fn program(
        chip: Chip,
        image: &FlashImage,
        settings: Provision<'_>,
    ) -> Result<Self, JobError> {
        let size = u32::try_from(image.size.bytes()).ok();
        Self::new(Some(chip), size, image.segments().to_vec(), settings)
    }

    /// A vendor's image of the whole flash memory, from 0x0.
    ///
    /// # Errors
    ///
    /// It is none, or one for another chip, or the settings have no place in it.
    pub fn merged(
        expected: Option<Chip>,
        size: Option<u32>,
        image: &[u8],
        settings: Provision<'_>,
    ) -> Result<Self, JobError> {
        let is_bootloader = |at: &&usize| image.get(**at) == Some(&IMAGE_MAGIC);
        let at = BOOTLOADERS.iter().find(is_bootloader);
        let id = at.and_then(|at| image.get(at + 12..at + 14));
        let Some(id) = id.map(|id| u16::from_le_bytes([id[0], id[1]])) else {
            return Err(JobError::NotMerged);
        };
        let named = espflash::target::Chip::try_from(id).ok();
        let found = named.and_then(Chip::of);
        if let Some(expected) = expected
            && found != Some(expected)
        {
            let name = named.map(|chip| chip.to_string());
            let got = name.unwrap_or_else(|| format!("the chip with number {id}"));
            return Err(JobError::WrongChip { expected, got });
        }
        let whole = FlashSegment { name: "merged image".into(), offset: 0, bytes: image.to_vec() };
        Self::new(found, size, vec![whole], settings)
    }

    /// Parts at their offsets.
    ///
    /// # Errors
    ///
    /// They overlap, begin within a sector, or the settings have no place.
    pub fn parts(
        chip: Option<Chip>,
        size: Option<u32>,
        parts: Vec<FlashSegment>,
        settings: Provision<'_>,
    ) -> Result<Self, JobError> {
        Self::new(chip, size, parts, settings)
    }

    fn new(
        chip: Option<Chip>,
        size: Option<u32>,
        mut parts: Vec<FlashSegment>,
        settings: Provision<'_>,
    ) -> Result<Self, JobError> {
        parts.retain(|part| !part.bytes.is_empty());
        if parts.is_empty() {
            return Err(JobError::Empty);
        }
        check_places(&mut parts)?;
        if let Some(settings) = settings_part(&parts, settings)? {
            parts = punched(parts, &settings);
            parts.push(settings);
            check_places(&mut parts)?;
        }
        let end = parts.iter().map(FlashSegment::end).max().unwrap_or(0) as u64;
        if let Some(room) = size
            && end > u64::from(room)
        {
            return Err(JobError::TooBig { needed: end, room });
        }
        Ok(Self {
            chip,
            size,
            segments: parts.iter().flat_map(pieces).collect(),
            baud: Self::BAUD,
            resets: Resets::Lines,
        })
    }

    /// Bytes of all pieces.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|part| part.bytes.len() as u64).sum()
    }

    /// Where the last piece ends, which is the least that the flash memory has to have.
    pub fn end(&self) -> u64 {
        let ends = self.segments.iter().map(|part| part.end() as u64);
        ends.max().unwrap_or(0)
    }
}

/// Sorts the parts, and checks that each begins at a sector and none shares one with another.
fn check_places(parts: &mut [FlashSegment]) -> Result<(), JobError> {
    parts.sort_by_key(|part| part.offset);
    for part in parts.iter() {
        if !(part.offset as usize).is_multiple_of(SECTOR) {
            let name = part.name.to_string();
            let offset = part.offset;
            return Err(JobError::Unaligned { name, offset });
        }
    }
    for pair in parts.windows(2) {
        if pair[0].end().next_multiple_of(SECTOR) > pair[1].offset as usize {
            return Err(JobError::Overlap {
                before: pair[0].name.to_string(),
                after: pair[1].name.to_string(),
                at: pair[1].offset,
            });
        }
    }
    Ok(())
}

/// The partition of settings, in full: what a device kept there before must not come back.
fn settings_part(
    parts: &[FlashSegment],
    settings: Provision<'_>,
) -> Result<Option<FlashSegment>, JobError> {
    if matches!(settings, Provision::Nothing) {
        return Ok(None);
    }
    let partition = settings_partition(parts)?;
    let room = partition.size as usize;
    let bytes = match settings {
        Provision::Nothing => return Ok(None),
        Provision::Settings(settings) => settings.image(room)?,
        Provision::Image(image) => {
            let whole = !image.is_empty() && image.len().is_multiple_of(SECTOR);
            if !whole || image.len() > room {
                let (room, got) = (partition.size, image.len());
                return Err(JobError::SettingsSize { room, got });
            }
            let mut image = image.to_vec();
            image.resize(room, ERASED);
            image
        }
    };
    Ok(Some(FlashSegment { name: "settings".into(), offset: partition.offset, bytes }))
}

/// The parts without the place of another one: a merged image has an erased partition of settings.
fn punched(parts: Vec<FlashSegment>, hole: &FlashSegment) -> Vec<FlashSegment> {
    let (from, to) = (hole.offset as usize, hole.end());
    let cut = |part: FlashSegment| {
        let (start, end) = (part.offset as usize, part.end());
        if end <= from || start >= to {
            return vec![part];
        }
        let before = &part.bytes[..from.saturating_sub(start)];
        let after = &part.bytes[to.saturating_sub(start).min(part.bytes.len())..];
        let piece = |offset: usize, bytes: &[u8]| FlashSegment {
            name: part.name.clone(),
            // Within the part, whose offsets fit.
            offset: offset as u32,
            bytes: bytes.to_vec(),
        };
        let both = [piece(start, before), piece(to, after)];
        both.into_iter().filter(|piece| !piece.bytes.is_empty()).collect()
    };
    parts.into_iter().flat_map(cut).collect()
}

/// A part as pieces that are flashed: see the head of this file.
fn pieces(part: &FlashSegment) -> Vec<FlashSegment> {
    let sectors: Vec<&[u8]> = part.bytes.chunks(SECTOR).collect();
    let erased = |sector: &&[u8]| sector.iter().all(|byte| *byte == ERASED);
    // Runs of sectors: whether they are erased, and how many.
    let mut runs: Vec<(bool, usize)> = Vec::new();
    for same in sectors.chunk_by(|one, other| erased(one) == erased(other)) {
        let long = same.first().is_some_and(erased) && same.len() * SECTOR >= ERASED_RUN;
        match runs.last_mut() {
            Some((false, count)) if !long => *count += same.len(),
            _ => runs.push((long, same.len())),
        }
    }
    let mut found = Vec::new();
    let mut at = 0;
    for (erased, sectors) in runs {
        let end = (at + sectors * SECTOR).min(part.bytes.len());
        for (step, bytes) in part.bytes[at..end].chunks(LONGEST_PIECE).enumerate() {
            let mut bytes = bytes.to_vec();
            // The bootloader takes whole words.
            bytes.resize(bytes.len().next_multiple_of(4), ERASED);
            found.push(FlashSegment {
                name: match erased {
                    true => Cow::Borrowed("erased"),
                    false => part.name.clone(),
                },
                // Within the part, whose offsets fit.
                offset: part.offset + (at + step * LONGEST_PIECE) as u32,
                bytes,
            });
        }
        at = end;
    }
    found
}
