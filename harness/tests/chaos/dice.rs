//! Numbers that a seed decides (splitmix64).

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    pub(crate) fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.roll(most + 1);
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
