//! The partition table that lies in a flash image, read for where settings go.

use esp_idf_part::PartitionTable;

use super::{FlashSegment, NVS, TABLE_OFFSET};

/// The sector that the table lies in, in bytes; the table ends before, with a checksum (`0xc00`).
const TABLE_SIZE: usize = 0xc00;

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
    let mut table = bytes[..bytes.len().min(TABLE_SIZE)].to_vec();
    if table.iter().all(|byte| *byte == super::ERASED) {
        return Err(TableError::Unreadable("it is erased".to_owned()));
    }
    // A table alone may come without what ends it; erased memory does.
    table.resize(TABLE_SIZE, super::ERASED);
    let table = PartitionTable::try_from_bytes(table)
        .map_err(|error| TableError::Unreadable(error.to_string()))?;
    let found =
        table.find(NVS).map(|found| Partition { offset: found.offset(), size: found.size() });
    found.ok_or_else(|| {
        let names: Vec<String> = table.partitions().iter().map(|part| part.name()).collect();
        TableError::NoSettings(names.join(", "))
    })
}
