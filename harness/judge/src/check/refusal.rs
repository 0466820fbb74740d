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

/// How many refusals that came before the answer to any later request show that a device refuses in the order of the
/// messages, as long as none has come behind one.
const IN_ORDER: u32 = 3;

/// The malformed messages of a session and the refusals they brought.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Malformed messages that brought no error with id null so far.
    due: VecDeque<Due>,
    /// How many refusals came before the answer to any later request.
    prompt: u32,
    /// Whether one came behind such an answer.
    is_late: bool,
    slowest_us: u64,
}

/// A malformed message.
#[derive(Debug)]
struct Due {
    seq: u64,
    at_us: u64,
    /// Where a request that was sent later was answered first.
    passed: Option<u64>,
}

impl Refusals {
    /// A malformed message went out.
    pub(crate) fn sent(&mut self, seq: u64, at_us: u64) {
        if self.due.len() == REMEMBERED {
            self.due.pop_front();
        }
        self.due.push_back(Due { seq, at_us, passed: None });
    }

    /// The request at `asked` was answered at `seq`, which took this long.
    pub(crate) fn learn(&mut self, asked: u64, seq: u64, latency_us: u64) {
        self.slowest_us = self.slowest_us.max(latency_us);
        for due in self.due.iter_mut().filter(|due| due.seq < asked) {
            due.passed.get_or_insert(seq);
        }
    }

    /// The malformed message at `asked` was refused at `seq` while its case ran.
    pub(crate) fn answered(&mut self, asked: u64, seq: u64) {
        let Some(at) = self.due.iter().position(|due| due.seq == asked) else {
            self.prompt = self.prompt.max(1);
            return;
        };
        match self.due.remove(at).and_then(|due| due.passed) {
            Some(passed) if passed < seq => self.is_late = true,
            _ => self.prompt += 1,
        }
    }

    /// Whether a refusal, of which `seq` and time are given, may be a late one; it belongs to no message of the running
    /// case.
    pub(crate) fn excuse(&mut self, (seq, at_us): (u64, u64)) -> bool {
        if self.prompt == 0 && !self.is_late {
            return false;
        }
        let window = (self.slowest_us * PATIENCE).max(LEAST_US);
        let is_in_order = self.prompt >= IN_ORDER && !self.is_late;
        let is_past = |due: &Due| is_in_order && due.passed.is_some_and(|passed| passed < seq);
        let may_be = |due: &Due| at_us.saturating_sub(due.at_us) <= window && !is_past(due);
        let at = self.due.iter().position(may_be);
        at.is_some_and(|at| self.due.remove(at).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_refusal_is_excused_once_and_only_from_a_device_that_refuses() {
        let mut refusals = Refusals::default();
        refusals.learn(0, 0, 1000);
        refusals.sent(1, 0);
        assert!(!refusals.excuse((2, 10)), "this device was never seen to refuse");
        refusals.sent(3, 20);
        refusals.answered(3, 4);
        assert!(refusals.excuse((5, 3000)));
        assert!(!refusals.excuse((6, 3001)), "one refusal for one message");
        refusals.sent(7, 5000);
        assert!(!refusals.excuse((8, 5001 + LEAST_US)), "too late");
    }

    #[test]
    fn a_device_that_refuses_in_order_owes_nothing_once_a_later_request_is_answered() {
        for (is_late, is_excused) in [(false, false), (true, true)] {
            let mut refusals = Refusals::default();
            for seq in [1, 11, 21] {
                refusals.sent(seq, 0);
                refusals.answered(seq, seq + 1);
            }
            if is_late {
                refusals.sent(31, 0);
                refusals.learn(32, 33, 1);
                refusals.answered(31, 34);
            }
            refusals.sent(41, 0);
            assert!(refusals.excuse((42, 1)), "nothing was answered since");
            refusals.sent(43, 0);
            refusals.learn(44, 45, 1);
            assert_eq!(refusals.excuse((46, 1)), is_excused);
        }
    }
}
