//! The format of the partition: pages of 126 entries of 32 bytes, of which the newest with a name
//! counts. ESP-IDF's documentation has it under "Non-Volatile Storage Library", "Internals".

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a page: a sector of the flash.
pub const PAGE: usize = 4096;

/// Bytes of an entry, of the head of a page, and of the map that follows the head.
const ENTRY: usize = 32;
const ENTRIES: usize = 126;
const FIRST_ENTRY: usize = 2 * ENTRY;

/// States of a page that has something: in use, full, or about to be moved elsewhere.
const IN_USE: [u32; 3] = [0xffff_fffe, 0xffff_fffc, 0xffff_fff8];
/// State of an entry that counts; others are empty or erased.
const WRITTEN: u8 = 0b10;
/// The namespace of the names of namespaces.
const NAMESPACES: u8 = 0;
/// Kinds of values. That of a number has its bytes in the lower half.
const KIND_TEXT: u8 = 0x21;
const KIND_SIGNED: u8 = 0x10;

/// All texts and numbers of a partition.
#[derive(Debug, Default)]
pub struct Nvs {
    namespaces: BTreeMap<String, u8>,
    texts: BTreeMap<(u8, String), String>,
    numbers: BTreeMap<(u8, String), i64>,
}

impl Nvs {
    /// Reads a partition of so many bytes. `load` fills a buffer from an offset; where it cannot,
    /// or what it gives is damaged, there are no settings.
    pub fn read(bytes: u32, mut load: impl FnMut(u32, &mut [u8]) -> bool) -> Nvs {
        let mut pages = Vec::new();
        for page in 0..bytes / PAGE as u32 {
            let offset = page * PAGE as u32;
            let mut head = [0; ENTRY];
            if load(offset, &mut head)
                && IN_USE.contains(&word(&head, 0))
                && word(&head, 28) == crc32(&head[4..28])
            {
                pages.push((word(&head, 4), offset));
            }
        }
        // By number of sequence: of two entries with a name the later one counts.
        pages.sort_unstable();
        let mut nvs = Nvs::default();
        let mut page = vec![0; PAGE];
        for (_, offset) in pages {
            if load(offset, &mut page) {
                nvs.read_page(&page);
            }
        }
        nvs
    }

    /// A text.
    pub fn text(&self, namespace: &str, name: &str) -> Option<&str> {
        let key = (*self.namespaces.get(namespace)?, name.into());
        self.texts.get(&key).map(|text| &**text)
    }

    /// A number of any width.
    pub fn number(&self, namespace: &str, name: &str) -> Option<i64> {
        let key = (*self.namespaces.get(namespace)?, name.into());
        self.numbers.get(&key).copied()
    }

    fn read_page(&mut self, page: &[u8]) {
        let mut index = 0;
        while index < ENTRIES {
            let state = page[ENTRY + index / 4] >> (2 * (index % 4)) & 0b11;
            let start = FIRST_ENTRY + index * ENTRY;
            let entry = &page[start..start + ENTRY];
            let span = usize::from(entry[2]);
            index += 1;
            if state != WRITTEN || !is_sound(entry) || !(1..=ENTRIES + 1 - index).contains(&span) {
                continue;
            }
            let data = &page[start + ENTRY..start + span * ENTRY];
            self.read_entry(entry, data);
            index += span - 1;
        }
    }

    fn read_entry(&mut self, entry: &[u8], data: &[u8]) {
        let (namespace, kind) = (entry[0], entry[1]);
        let Some(name) = text(&entry[8..24]) else {
            return;
        };
        if namespace == NAMESPACES {
            self.namespaces.insert(name, entry[24]);
            return;
        }
        let key = (namespace, name);
        if kind == KIND_TEXT {
            let length = usize::from(u16::from_le_bytes([entry[24], entry[25]]));
            let whole = data.get(..length);
            if let Some(whole) = whole.filter(|whole| crc32(whole) == word(entry, 28))
                && let Some(text) = text(whole)
            {
                self.numbers.remove(&key);
                self.texts.insert(key, text);
            }
        } else if let Some(number) = number(kind, &entry[24..]) {
            self.texts.remove(&key);
            self.numbers.insert(key, number);
        }
    }
}

/// Whether an entry is what was written.
fn is_sound(entry: &[u8]) -> bool {
    let mut covered = [0; ENTRY - 4];
    covered[..4].copy_from_slice(&entry[..4]);
    covered[4..].copy_from_slice(&entry[8..]);
    crc32(&covered) == word(entry, 4)
}

/// A number of 1, 2, 4 or 8 bytes. One that no `i64` holds is none.
fn number(kind: u8, bytes: &[u8]) -> Option<i64> {
    let width = usize::from(kind & !KIND_SIGNED);
    if !matches!(width, 1 | 2 | 4 | 8) {
        return None;
    }
    let is_negative = kind & KIND_SIGNED != 0 && bytes[width - 1] & 0x80 != 0;
    let mut whole = [if is_negative { 0xff } else { 0 }; 8];
    whole[..width].copy_from_slice(&bytes[..width]);
    let number = i64::from_le_bytes(whole);
    (is_negative || number >= 0).then_some(number)
}

/// The text up to the first zero.
fn text(bytes: &[u8]) -> Option<String> {
    let text = bytes.split(|byte| *byte == 0).next()?;
    core::str::from_utf8(text).ok().map(Into::into)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// CRC-32 of IEEE 802.3 as the ROM computes it from `u32::MAX`: without the inversion before.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = 0;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 0 { 0 } else { 0xedb8_8320 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;

    /// Written by Espressif's `esp-idf-nvs-partition-gen` 0.3 from the table beside it, without the
    /// empty flash at its end.
    const STOCK: &[u8] = include_bytes!("../tests/stock.bin");

    fn partition(pages: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for page in pages {
            bytes.extend_from_slice(page);
            bytes.resize(bytes.len().next_multiple_of(PAGE), 0xff);
        }
        bytes.resize(4 * PAGE, 0xff);
        bytes
    }

    fn read(bytes: &[u8]) -> Nvs {
        Nvs::read(bytes.len() as u32, |offset, buffer| {
            let offset = offset as usize;
            buffer.copy_from_slice(&bytes[offset..offset + buffer.len()]);
            true
        })
    }

    /// The first page with another number of sequence.
    fn page(sequence: u32) -> Vec<u8> {
        let mut page = STOCK.to_owned();
        page[4..8].copy_from_slice(&sequence.to_le_bytes());
        let crc = crc32(&page[4..28]);
        page[28..32].copy_from_slice(&crc.to_le_bytes());
        page
    }

    /// The same with another number under the name `sleep_mode`.
    fn page_with_mode(sequence: u32, mode: u8) -> Vec<u8> {
        let mut page = page(sequence);
        let start = find(&page, b"sleep_mode") - 8;
        page[start + 24] = mode;
        let entry = &page[start..start + ENTRY];
        let crc = crc32(&[&entry[..4], &entry[8..]].concat());
        page[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
        page
    }

    fn find(bytes: &[u8], wanted: &[u8]) -> usize {
        let at = bytes.windows(wanted.len()).position(|bytes| bytes == wanted);
        at.expect("part of the partition")
    }

    #[test]
    fn a_partition_of_espressifs_generator_is_read() {
        let nvs = read(&partition(&[STOCK.to_owned()]));
        assert_eq!(nvs.text("wifi", "ssid"), Some("MyAP"));
        assert_eq!(
            nvs.text("wifi", "password"),
            Some("not a password but \"quoted\" and of more than thirty-two bytes")
        );
        assert_eq!(nvs.text("wifi", "password1"), Some(""));
        assert_eq!(nvs.number("wifi", "sleep_mode"), Some(0));
        assert_eq!(nvs.number("wifi", "max_tx_power"), Some(-4));
        assert_eq!(nvs.number("mqtt", "keepalive"), Some(60));
        assert_eq!(nvs.text("mqtt", "publish_topic"), Some("device-server"));
        // Names count in their namespace, and kinds are kept apart.
        assert_eq!(nvs.text("websocket", "ssid"), None);
        assert_eq!(nvs.text("mqtt", "keepalive"), None);
        assert_eq!(nvs.number("wifi", "ssid"), None);
        assert_eq!(nvs.text("phy", "cal_data"), None);
        assert_eq!(nvs.text("nobody", "ssid"), None);
    }

    #[test]
    fn the_newest_page_counts_wherever_it_is() {
        let newest_last = [page_with_mode(0, 1), page_with_mode(1, 2)];
        let nvs = read(&partition(&newest_last));
        assert_eq!(nvs.number("wifi", "sleep_mode"), Some(2));
        let newest_first = [page_with_mode(8, 3), page_with_mode(7, 4)];
        let nvs = read(&partition(&newest_first));
        assert_eq!(nvs.number("wifi", "sleep_mode"), Some(3));
    }

    #[test]
    fn what_was_erased_is_gone() {
        let mut page = page(0);
        let entry = (find(&page, b"sleep_mode") - 8 - FIRST_ENTRY) / ENTRY;
        page[ENTRY + entry / 4] &= !(0b11 << (2 * (entry % 4)));
        let nvs = read(&partition(&[page]));
        assert_eq!(nvs.number("wifi", "sleep_mode"), None);
        assert_eq!(nvs.number("wifi", "max_tx_power"), Some(-4));
    }

    #[test]
    fn every_damaged_byte_costs_at_most_the_settings_it_belongs_to() {
        let whole = read(&partition(&[STOCK.to_owned()]));
        for at in 0..STOCK.len() {
            let mut page = STOCK.to_owned();
            page[at] ^= 0x55;
            let nvs = read(&partition(&[page]));
            for (name, text) in &nvs.texts {
                assert_eq!(whole.texts.get(name), Some(text), "byte {at}");
            }
            for (name, number) in &nvs.numbers {
                assert_eq!(whole.numbers.get(name), Some(number), "byte {at}");
            }
            // From the first entry on, the others stay.
            let lost = whole.texts.len() - nvs.texts.len();
            assert!(at < FIRST_ENTRY || lost <= 1, "byte {at}: {lost} lost");
        }
    }

    #[test]
    fn an_entry_that_claims_to_go_on_beyond_its_page_is_none() {
        let mut page = page(0);
        let start = find(&page, b"sleep_mode") - 8;
        page[start + 2] = 0xff;
        let entry = &page[start..start + ENTRY];
        let crc = crc32(&[&entry[..4], &entry[8..]].concat());
        page[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
        let nvs = read(&partition(&[page]));
        assert_eq!(nvs.number("wifi", "sleep_mode"), None);
        assert_eq!(nvs.number("wifi", "max_tx_power"), Some(-4));
    }

    /// Whatever wrote it made its checksum right, too.
    #[test]
    fn no_entry_with_a_right_checksum_ends_the_reader() {
        for entry in 0..ENTRIES {
            let start = FIRST_ENTRY + entry * ENTRY;
            let Some(whole) = STOCK.get(start..start + ENTRY) else { break };
            for (at, value) in
                (0..ENTRY).flat_map(|at| [0, 1, 0x21, 0x42, 0x80, 0xff].map(|value| (at, value)))
            {
                let mut changed = whole.to_owned();
                changed[at] = value;
                let crc = crc32(&[&changed[..4], &changed[8..]].concat());
                changed[4..8].copy_from_slice(&crc.to_le_bytes());
                let mut page = STOCK.to_owned();
                page[start..start + ENTRY].copy_from_slice(&changed);
                // One entry may hide those behind it, or give its namespace another name; the page is read all the same.
                assert!(
                    !read(&partition(&[page])).namespaces.is_empty(),
                    "entry {entry}, byte {at}: {value}"
                );
            }
        }
    }

    #[test]
    fn empty_or_unreadable_flash_has_no_settings() {
        assert!(read(&partition(&[])).texts.is_empty());
        assert!(read(&[0; 2 * PAGE]).texts.is_empty());
        let nvs = Nvs::read(4 * PAGE as u32, |_, _| false);
        assert!(nvs.texts.is_empty());
    }

    #[test]
    fn numbers_have_their_width_and_sign() {
        let bytes = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        for (kind, expected) in [
            (0x01, Some(0xfe)),
            (0x11, Some(-2)),
            (0x02, Some(0xfffe)),
            (0x12, Some(-2)),
            (0x04, Some(0xffff_fffe)),
            (0x14, Some(-2)),
            (0x08, None),
            (0x18, Some(-2)),
            (0x42, None),
            (0x00, None),
        ] {
            assert_eq!(number(kind, &bytes), expected, "{kind:#x}");
        }
    }
}
