//! Chance, for lives and defects that are not regular.

/// Numbers that look drawn by chance. The id of the first session seeds them: another run, another order.
#[derive(Debug, Default)]
pub(crate) struct Chance {
    state: u64,
    is_seeded: bool,
}

impl Chance {
    pub(crate) fn seed(&mut self, session: &str) {
        const NONE: &str = "\"\"";
        if !self.is_seeded && session != NONE {
            self.is_seeded = true;
            for byte in session.bytes() {
                self.state = (self.state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    /// For how many milliseconds the device stalls before the next message, if it does.
    pub(crate) fn stall(&mut self) -> Option<u64> {
        match self.below(4_000) {
            0 => Some(3_000),
            1..=4 => Some(1_000),
            5..=104 => Some(250),
            _ => None,
        }
    }
}
