//! JSON-RPC ids for the device: never used twice, and answerable.

use std::collections::BTreeSet;

/// Ids stay below this unless wide ones are asked for: stock firmware keeps them in 32 bits, signed.
pub const DEVICE_IDS_BELOW: u64 = 1 << 31;

/// Numbers out of request ids are taken below this; the rest up to [`DEVICE_IDS_BELOW`] is the
/// gateway's own, for request ids without a number, with a larger one, or with one that was used.
pub const CALLERS_BELOW: u64 = DEVICE_IDS_BELOW - (1 << 28);

/// Largest wide id: what a JSON reader with doubles still holds exactly.
const WIDEST: u64 = 1 << 53;

/// How many used numbers are remembered one by one. Of more, the smallest are forgotten, and with
/// them everything below is used up.
const REMEMBERED: usize = 65_536;

/// Gives ids out.
#[derive(Debug)]
pub(super) struct Ids {
    wide: bool,
    used: BTreeSet<u64>,
    /// Numbers below this are not taken any more.
    floor: u64,
    next_own: u64,
}

impl Ids {
    pub(super) fn new(wide: bool) -> Self {
        Self { wide, used: BTreeSet::new(), floor: 0, next_own: CALLERS_BELOW }
    }

    /// The wanted id where it is free and in range, else one of the gateway's own.
    pub(super) fn take(&mut self, wanted: Option<u64>) -> u64 {
        match wanted.filter(|id| self.may_take(*id)) {
            Some(id) => {
                self.used.insert(id);
                if self.used.len() > REMEMBERED
                    && let Some(smallest) = self.used.pop_first()
                {
                    self.floor = smallest + 1;
                }
                id
            }
            None => {
                let id = self.next_own;
                // After 268 million calls they begin again.
                self.next_own = if id + 1 < DEVICE_IDS_BELOW { id + 1 } else { CALLERS_BELOW };
                id
            }
        }
    }

    fn may_take(&self, id: u64) -> bool {
        let in_range = id < CALLERS_BELOW || self.wide && (DEVICE_IDS_BELOW..=WIDEST).contains(&id);
        in_range && id >= self.floor && !self.used.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_once_even_when_they_are_forgotten() {
        let mut ids = Ids::new(false);
        assert_eq!(ids.take(Some(7)), 7);
        for id in 8..8 + REMEMBERED as u64 {
            assert_eq!(ids.take(Some(id)), id);
        }
        assert_eq!(ids.take(Some(7)), CALLERS_BELOW);
        assert_eq!(ids.take(Some(3)), CALLERS_BELOW + 1, "below what was forgotten");
        assert_eq!(ids.take(Some(8)), CALLERS_BELOW + 2);
    }

    #[test]
    fn own_ids_begin_again_at_their_end() {
        let mut ids = Ids::new(false);
        ids.next_own = DEVICE_IDS_BELOW - 1;
        assert_eq!(ids.take(None), DEVICE_IDS_BELOW - 1);
        assert_eq!(ids.take(None), CALLERS_BELOW);
    }
}
