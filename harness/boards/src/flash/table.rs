//! The partition table that lies in a flash image, read for where settings go.
//!
//! Only names and places count here. What types and flags partitions have is their firmware's affair: tables of strangers
//! have some that no list of ESP-IDF's knows.

use super::{FlashSegment, NVS, TABLE_OFFSET};

/// The sector that the table lies in, in bytes; the table ends before, with a checksum (`0xc00`).
const TABLE_SIZE: usize = 0xc00;

/// A row of the table, in bytes, and where in it are the place, the size and the label (ESP-IDF, Partition Tables:
/// `esp_partition_info_t`).
const ROW: usize = 32;
const PLACE: usize = 4;
const SIZE: usize = 8;
const LABEL: std::ops::Range<usize> = 12..28;

/// The largest flash memory that there is, in bytes.
const LARGEST_FLASH: u32 = 128 << 20;

/// How a row begins that is a partition, and the one with the checksum of those before it.
const OF_PARTITION: [u8; 2] = [0xaa, 0x50];
const OF_CHECKSUM: [u8; 2] = [0xeb, 0xeb];

/// A partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Where it begins, in bytes from the start of the flash memory.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// Why nobody knows where settings go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum TableError {
    /// No piece covers the place of the table.
    #[error(
        "nothing says where settings go: expected a partition table at {TABLE_OFFSET:#x}, got no \
         part there"
    )]
    #[diagnostic(help(
        "flash the partition table too (`build/partition_table/partition-table.bin` at \
         {TABLE_OFFSET:#x})"
    ))]
    Missing,
    /// There is something else.
    #[error("there is no partition table at {TABLE_OFFSET:#x}: {0}")]
    #[diagnostic(help(
        "is this an image of the whole flash memory, as `idf.py merge-bin` creates it?"
    ))]
    Unreadable(String),
    /// It names no partition of settings.
    #[error("the partition table has no partition `{NVS}`: expected one, got {0}")]
    #[diagnostic(help("firmware without it stores no settings; flash it without settings"))]
    NoSettings(String),
}

/// Where the table in some pieces of flash memory puts the settings.
///
/// # Errors
///
/// There is no table among the pieces, or it has no such partition.
pub fn settings_partition(pieces: &[FlashSegment]) -> Result<Partition, TableError> {
    let offset = TABLE_OFFSET as usize;
    let holds = |piece: &&FlashSegment| {
        let start = piece.offset as usize;
        start <= offset && offset < piece.end()
    };
    let piece = pieces.iter().find(holds).ok_or(TableError::Missing)?;
    let bytes = &piece.bytes[offset - piece.offset as usize..];
    let table = &bytes[..bytes.len().min(TABLE_SIZE)];
    if table.iter().all(|byte| *byte == super::ERASED) {
        return Err(TableError::Unreadable("it is erased".to_owned()));
    }
    let mut names = Vec::new();
    for (number, row) in table.chunks_exact(ROW).enumerate() {
        match [row[0], row[1]] {
            OF_PARTITION => {}
            OF_CHECKSUM => continue,
            [super::ERASED, super::ERASED] => break,
            other => {
                return Err(TableError::Unreadable(format!(
                    "row {} begins with {:02x} {:02x}: expected aa 50",
                    number + 1,
                    other[0],
                    other[1]
                )));
            }
        }
        let label = row[LABEL].split(|byte| *byte == 0).next().unwrap_or_default();
        let word = |at: usize| {
            row[at..at + 4].iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))
        };
        if label == NVS.as_bytes() {
            let (offset, size) = (word(PLACE), word(SIZE));
            let fits = offset.checked_add(size).is_some_and(|end| end <= LARGEST_FLASH);
            return match fits {
                true => Ok(Partition { offset, size }),
                false => Err(TableError::Unreadable(format!(
                    "`{NVS}` would have {size} bytes from {offset:#x} on, beyond any flash memory"
                ))),
            };
        }
        names.push(String::from_utf8_lossy(label).into_owned());
    }
    Err(TableError::NoSettings(match names.is_empty() {
        true => "no partition".to_owned(),
        false => names.join(", "),
    }))
}
