//! A first look at a program: is it one, and one for the chip?
//!
//! What stands in sections is read by `espflash`; it takes any addresses, and would make an image of a
//! program for another chip that never starts.

use super::{Chip, ImageError};

/// Numbers of instruction sets (`e_machine`).
pub(super) const XTENSA: u16 = 94;
pub(super) const RISC_V: u16 = 243;

/// Size of the header of a 32-bit file, and of an entry of its table of segments.
const HEADER: usize = 52;
const SEGMENT: usize = 32;

/// A segment that is loaded (`PT_LOAD`).
const LOAD: u32 = 1;

/// Checks that a file is a program for a chip.
pub(super) fn check(chip: Chip, file: &[u8]) -> Result<(), ImageError> {
    let bad = |what: &str| ImageError::NotElf(what.to_owned());
    if !file.starts_with(b"\x7fELF") {
        return Err(bad("it does not begin with `\\x7fELF`"));
    }
    if file.get(4..6) != Some(&[1, 1]) {
        return Err(ImageError::WrongChip {
            expected: chip,
            got: "a program that is not 32-bit little-endian, such as one for this computer".into(),
            target: chip.target(),
        });
    }
    if file.len() < HEADER {
        return Err(bad("the file ends within its header"));
    }
    let machine = half(file, 18).unwrap_or_default();
    if machine != chip.machine() {
        let got = match machine {
            XTENSA => "Xtensa code".to_owned(),
            RISC_V => "RISC-V code".to_owned(),
            other => format!("code for machine {other}"),
        };
        return Err(ImageError::WrongChip { expected: chip, got, target: chip.target() });
    }
    let (table, count) = (word(file, 28), half(file, 44));
    let (Some(table), Some(count)) = (table, count) else {
        return Err(bad("the file ends within its header"));
    };
    let mut loaded = 0;
    for at in 0..usize::from(count) {
        let start = table as usize + at * SEGMENT;
        let field = |offset: usize| word(file, start + offset);
        let (Some(kind), Some(offset), Some(address), Some(size)) =
            (field(0), field(4), field(8), field(16))
        else {
            return Err(bad("the file ends within its segment table"));
        };
        if kind != LOAD || size == 0 {
            continue;
        }
        if u64::from(offset) + u64::from(size) > file.len() as u64 {
            return Err(bad("the file ends within a segment"));
        }
        // The first one may hold the file's own headers, which are not loaded and lie before it.
        let last = address.saturating_add(size - 1);
        if !chip.has(last) {
            return Err(ImageError::WrongChip {
                expected: chip,
                got: format!("code at {address:#010x}, where it has no memory"),
                target: chip.target(),
            });
        }
        loaded += 1;
    }
    match loaded {
        0 => Err(ImageError::Empty(chip)),
        _ => Ok(()),
    }
}

fn half(file: &[u8], at: usize) -> Option<u16> {
    let bytes = file.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    let bytes = file.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
