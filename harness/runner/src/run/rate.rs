//! How fast messages may follow one another, on a device that limits them (MCP, server/tools, Security
//! Considerations: servers rate limit tool invocations).

use std::time::{Duration, Instant};

/// The first pause between two messages to a device that limits its calls, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

/// How long a device is left alone that has refused a call for its rate: limits are told by the second.
pub(super) const REST: Duration = Duration::from_millis(1_100);

/// How often a call is sent again.
const MOST_TRIES: usize = 3;

/// The pause between messages, calls or not; none on a device that takes them as they come.
#[derive(Debug, Default)]
pub(super) struct Rate {
    pause: Option<Duration>,
    last: Option<Instant>,
    /// A call was refused for its rate however long it was waited: that is not the reason.
    is_refuted: bool,
    /// A call was put off however long it was waited: what the device says so does not mean it.
    pub(super) is_never_later: bool,
    /// Whether the limit was told to the user.
    is_told: bool,
}

impl Rate {
    /// Whether the device limits its calls, which is news: once.
    pub(super) fn is_news(&mut self) -> bool {
        let is_limited = self.pause.is_some();
        is_limited && !std::mem::replace(&mut self.is_told, true)
    }

    /// How often a call that is refused for its rate is sent again.
    pub(super) fn tries(&self) -> usize {
        if self.is_refuted { 1 } else { MOST_TRIES }
    }

    /// Time does not help.
    pub(super) fn refute(&mut self) {
        (self.is_refuted, self.pause) = (true, None);
    }

    /// A call was refused for its rate.
    pub(super) fn slow_down(&mut self) {
        if self.is_refuted {
            return;
        }
        let pause = self.pause.map_or(PAUSES.0, |pause| pause * 2);
        self.pause = Some(pause.min(PAUSES.1));
    }

    /// When the next message may be sent, where that is not now.
    pub(super) fn next(&mut self) -> Option<Instant> {
        let (pause, now) = (self.pause?, Instant::now());
        let next = self.last.map_or(now, |last| (last + pause).max(now));
        self.last = Some(next);
        Some(next).filter(|next| *next > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_device_that_has_refused_calls_is_given_time() {
        let mut rate = Rate::default();
        assert_eq!((rate.next(), rate.next()), (None, None));
        assert!(!rate.is_news());
        rate.slow_down();
        assert_eq!((rate.is_news(), rate.is_news()), (true, false));
        assert_eq!(rate.next(), None);
        let (second, third) = (rate.next().unwrap(), rate.next().unwrap());
        assert_eq!(third - second, PAUSES.0);
        (0..20).for_each(|_| rate.slow_down());
        assert_eq!(rate.pause, Some(PAUSES.1));
        rate.refute();
        rate.slow_down();
        assert_eq!((rate.next(), rate.next(), rate.tries()), (None, None, 1));
    }
}
