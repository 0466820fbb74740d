//! Errors with id null: the legal answer to a message whose id cannot be used.
//!
//! They name no request, so one that comes late can only be recognised by what the device did
//! before: a device that answers malformed messages so is excused for a while after the last one.

use std::collections::VecDeque;

/// How many malformed messages are remembered.
const REMEMBERED: usize = 64;

/// Slowest answers times this is how long a late refusal is excused.
const PATIENCE: u64 = 4;

/// The least time that a late refusal is excused, in microseconds: the device may have stalled for the
/// first time.
const LEAST_US: u64 = 2_000_000;

/// The malformed messages of a session and the refusals they brought.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// `seq` and time of malformed messages that brought no error with id null so far.
    due: VecDeque<(u64, u64)>,
    /// Whether this device refuses so at all.
    seen: bool,
    slowest_us: u64,
}

impl Refusals {
    /// A malformed message went out.
    pub(crate) fn sent(&mut self, seq: u64, at_us: u64) {
        if self.due.len() == REMEMBERED {
            self.due.pop_front();
        }
        self.due.push_back((seq, at_us));
    }

    /// An answer took this long.
    pub(crate) fn learn(&mut self, latency_us: u64) {
        self.slowest_us = self.slowest_us.max(latency_us);
    }

    /// The malformed message at `seq` was refused while its case ran.
    pub(crate) fn answered(&mut self, seq: u64) {
        self.seen = true;
        self.due.retain(|(due, _)| *due != seq);
    }

    /// Whether a refusal that belongs to no message of the running case may be a late one.
    pub(crate) fn excuse(&mut self, at_us: u64) -> bool {
        let window = (self.slowest_us * PATIENCE).max(LEAST_US);
        let recent = self.due.iter().position(|(_, sent)| at_us.saturating_sub(*sent) <= window);
        match recent.filter(|_| self.seen) {
            Some(at) => self.due.remove(at).is_some(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_refusal_is_excused_once_and_only_from_a_device_that_refuses() {
        let mut refusals = Refusals::default();
        refusals.learn(1000);
        refusals.sent(1, 0);
        assert!(!refusals.excuse(10), "this device was never seen to refuse");
        refusals.sent(2, 20);
        refusals.answered(2);
        assert!(refusals.excuse(3000));
        assert!(!refusals.excuse(3001), "one refusal for one message");
        refusals.sent(3, 5000);
        assert!(!refusals.excuse(5001 + LEAST_US), "too late");
    }
}
