//! One page: a header, a bitmap of the entries in use, and 126 entries of 32 bytes.

use super::{PAGE, Value};
use crate::flash::ERASED;

/// Entries of a page.
pub(super) const ENTRIES: usize = 126;

/// Size of an entry, in bytes.
pub(super) const ENTRY: usize = 32;

/// Where the bitmap and the entries begin.
const BITMAP: usize = 32;
const FIRST_ENTRY: usize = 64;

/// States of a page; each one clears a bit of the one before.
const ACTIVE: u32 = 0xffff_fffe;
const FULL: u32 = 0xffff_fffc;

/// Version 2: values longer than a page come in chunks.
const VERSION: u8 = 0xfe;

/// The entry is no chunk.
const NO_CHUNK: u8 = 0xff;

/// A page that is written.
pub(super) struct Page {
    bytes: Vec<u8>,
    used: usize,
}

impl Page {
    pub(super) fn new(number: u32) -> Self {
        let mut bytes = vec![ERASED; PAGE];
        bytes[0..4].copy_from_slice(&ACTIVE.to_le_bytes());
        bytes[4..8].copy_from_slice(&number.to_le_bytes());
        bytes[8] = VERSION;
        let crc = crc32(&bytes[4..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        Self { bytes, used: 0 }
    }

    /// Marks that a page follows.
    pub(super) fn close(&mut self) {
        self.bytes[0..4].copy_from_slice(&FULL.to_le_bytes());
    }

    /// Whether a value goes here. Like the generator, a text leaves the last entry free.
    pub(super) fn has_room(&self, value: &Value) -> bool {
        match value {
            Value::Str(text) => self.used + span(text) < ENTRIES,
            _ => self.used < ENTRIES,
        }
    }

    /// Writes a value that [has room](Page::has_room).
    pub(super) fn write(&mut self, namespace: u8, key: &str, value: &Value) {
        let mut entry = [ERASED; ENTRY];
        entry[0] = namespace;
        entry[1] = code(value);
        entry[2] = 1;
        entry[3] = NO_CHUNK;
        entry[8..24].fill(0);
        entry[8..8 + key.len()].copy_from_slice(key.as_bytes());
        match value {
            Value::U8(value) => entry[24..25].copy_from_slice(&value.to_le_bytes()),
            Value::I8(value) => entry[24..25].copy_from_slice(&value.to_le_bytes()),
            Value::U16(value) => entry[24..26].copy_from_slice(&value.to_le_bytes()),
            Value::I16(value) => entry[24..26].copy_from_slice(&value.to_le_bytes()),
            Value::U32(value) => entry[24..28].copy_from_slice(&value.to_le_bytes()),
            Value::I32(value) => entry[24..28].copy_from_slice(&value.to_le_bytes()),
            Value::U64(value) => entry[24..32].copy_from_slice(&value.to_le_bytes()),
            Value::I64(value) => entry[24..32].copy_from_slice(&value.to_le_bytes()),
            Value::Str(text) => return self.write_text(entry, text),
        }
        self.push(&mut entry, &[]);
    }

    fn write_text(&mut self, mut entry: [u8; ENTRY], text: &str) {
        let data = [text.as_bytes(), &[0]].concat();
        // Both fit: a text is shorter than a page.
        entry[2] = u8::try_from(span(text)).unwrap_or(u8::MAX);
        let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
        entry[24..26].copy_from_slice(&length.to_le_bytes());
        entry[28..32].copy_from_slice(&crc32(&data).to_le_bytes());
        self.push(&mut entry, &data);
    }

    /// Adds an entry and what belongs to it, and marks them as written: two bits each, of which the
    /// lower one is cleared.
    fn push(&mut self, entry: &mut [u8; ENTRY], data: &[u8]) {
        let covered = [&entry[0..4], &entry[8..32]].concat();
        entry[4..8].copy_from_slice(&crc32(&covered).to_le_bytes());
        let start = FIRST_ENTRY + self.used * ENTRY;
        self.bytes[start..start + ENTRY].copy_from_slice(entry);
        let start = start + ENTRY;
        self.bytes[start..start + data.len()].copy_from_slice(data);
        for at in self.used..self.used + usize::from(entry[2]) {
            self.bytes[BITMAP + at / 4] &= !(1 << (at % 4 * 2));
        }
        self.used += usize::from(entry[2]);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Entries of a text: one that describes it, and as many as it fills with its NUL.
fn span(text: &str) -> usize {
    1 + (text.len() + 1).div_ceil(ENTRY)
}

/// The number of a type (`nvs::ItemType`).
fn code(value: &Value) -> u8 {
    match value {
        Value::U8(_) => 0x01,
        Value::I8(_) => 0x11,
        Value::U16(_) => 0x02,
        Value::I16(_) => 0x12,
        Value::U32(_) => 0x04,
        Value::I32(_) => 0x14,
        Value::U64(_) => 0x08,
        Value::I64(_) => 0x18,
        Value::Str(_) => 0x21,
    }
}

/// CRC-32 of the IEEE polynomial, begun as ESP-IDF begins it (`esp_rom_crc32_le(0xffffffff, ...)`).
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
    let fold = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(0, fold)
}
