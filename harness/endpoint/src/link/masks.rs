//! The masking keys of a device's frames: whether they are what nobody can tell beforehand (RFC 6455, section 5.3).

/// The masks of frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Masks {
    /// How many frames had one.
    pub frames: u32,
    /// The one that all of them had.
    pub same: Option<[u8; 4]>,
    last: [u8; 4],
    /// How the latest ones count, as numbers of either byte order.
    counts: [Count; 2],
}

/// By how much numbers grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    step: i32,
    /// How many times in a row.
    times: u32,
    /// The step that was seen often enough.
    seen: Option<i32>,
}

/// So many times in a row keys grow by the same small step where they are counted: by chance none does.
const COUNTED: u32 = 7;

/// Greatest step of a counter.
const LARGEST_STEP: u32 = 255;

impl Count {
    fn add(&mut self, from: u32, to: u32) {
        let step = to.wrapping_sub(from).cast_signed();
        let goes_on = step == self.step && (1..=LARGEST_STEP).contains(&step.unsigned_abs());
        self.times = if goes_on { self.times + 1 } else { 1 };
        self.step = step;
        if goes_on && self.times >= COUNTED {
            self.seen = Some(step);
        }
    }
}

impl Masks {
    /// By how much each of eight in a row was above the one before it, where that is little.
    pub fn step(&self) -> Option<i32> {
        self.counts.iter().find_map(|count| count.seen)
    }

    pub(crate) fn add(&mut self, mask: [u8; 4]) {
        if self.frames > 0 {
            let number = [u32::from_be_bytes, u32::from_le_bytes];
            for (count, number) in self.counts.iter_mut().zip(number) {
                count.add(number(self.last), number(mask));
            }
        }
        self.last = mask;
        self.same = match self.frames {
            0 => Some(mask),
            _ => self.same.filter(|same| *same == mask),
        };
        self.frames = self.frames.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::counted(8, 1, Some(1))]
    #[case::counted_down(8, 0xffff_fffe, Some(-2))]
    #[case::too_few(7, 1, None)]
    #[case::far_apart(8, 0x9e37_79b9, None)]
    #[case::same(8, 0, None)]
    fn keys_that_count_are_seen(#[case] frames: u32, #[case] step: u32, #[case] seen: Option<i32>) {
        for bytes in [u32::to_be_bytes, u32::to_le_bytes] {
            let mut masks = Masks::default();
            (0..frames).for_each(|frame| {
                masks.add(bytes(0xffff_fffd_u32.wrapping_add(frame.wrapping_mul(step))))
            });
            assert_eq!(masks.step(), seen);
        }
    }
}
