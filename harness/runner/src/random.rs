//! What is drawn by chance: session ids and tokens. Reproducible from a seed.

/// A small generator (SplitMix64): good enough for names, not for keys that guard anything.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator that begins at a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that nobody chose.
    pub fn seed() -> u64 {
        use std::hash::{BuildHasher, RandomState};
        // Short enough to be typed again.
        RandomState::new().hash_one(std::process::id()) % 1_000_000_000
    }

    /// Bytes that nobody can guess, from the system: for what guards something.
    ///
    /// # Errors
    ///
    /// The system has no source of chance.
    pub fn secret<const N: usize>() -> std::io::Result<[u8; N]> {
        use std::io::Read;
        let mut bytes = [0; N];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Draws the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// So many bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.draw() as u8)
    }

    /// A text of the form of a UUID, version 4.
    pub fn uuid(&mut self) -> String {
        let (a, b) = (self.draw(), self.draw());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xfff,
            b >> 48 & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_names() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        let first = a.uuid();
        assert_eq!(first, b.uuid());
        assert_ne!(first, a.uuid());
        assert_eq!(first.len(), 36);
    }
}
