//! Programs for chips, made by hand: what a linker would leave, as small as it gets.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) const RISC_V: u16 = 243;
pub(crate) const XTENSA: u16 = 94;

/// A program: its instruction set, and what is loaded where.
pub(crate) struct Program {
    pub(crate) machine: u16,
    pub(crate) entry: u32,
    pub(crate) parts: Vec<(u32, Vec<u8>)>,
}

impl Program {
    /// A few instructions in mapped flash memory, and some data in RAM.
    pub(crate) fn for_c3() -> Self {
        Self {
            machine: RISC_V,
            entry: 0x4200_0020,
            parts: vec![(0x4200_0020, pattern(3000)), (0x3fc8_8000, pattern(64))],
        }
    }

    /// The ELF file: header, table of segments, contents, names, table of sections.
    pub(crate) fn elf(&self) -> Vec<u8> {
        let names = b"\0.part\0.names\0";
        let count = self.parts.len();
        let mut contents = Vec::new();
        let begin = 52 + 32 * count;
        let offsets: Vec<usize> = self
            .parts
            .iter()
            .map(|(_, bytes)| {
                let at = begin + contents.len();
                contents.extend_from_slice(bytes);
                at
            })
            .collect();
        let names_at = begin + contents.len();
        let sections_at = names_at + names.len();

        let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let halves = |file: &mut Vec<u8>, values: &[u16]| {
            values.iter().for_each(|v| file.extend(v.to_le_bytes()));
        };
        let words = |file: &mut Vec<u8>, values: &[u32]| {
            values.iter().for_each(|v| file.extend(v.to_le_bytes()));
        };
        halves(&mut file, &[2, self.machine]);
        words(&mut file, &[1, self.entry, 52, sections_at as u32, 0]);
        halves(&mut file, &[52, 32, count as u16, 40, count as u16 + 2, count as u16 + 1]);
        for ((address, bytes), offset) in self.parts.iter().zip(&offsets) {
            let size = bytes.len() as u32;
            words(&mut file, &[1, *offset as u32, *address, *address, size, size, 5, 4]);
        }
        file.extend(&contents);
        file.extend(names);
        words(&mut file, &[0; 10]);
        for ((address, bytes), offset) in self.parts.iter().zip(&offsets) {
            let size = bytes.len() as u32;
            // PROGBITS, allocated and executable.
            words(&mut file, &[1, 1, 6, *address, *offset as u32, size, 0, 0, 4, 0]);
        }
        words(&mut file, &[7, 3, 0, 0, names_at as u32, names.len() as u32, 0, 0, 1, 0]);
        file
    }
}

/// Bytes that are not all the same.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 ^ 0x5a).collect()
}
