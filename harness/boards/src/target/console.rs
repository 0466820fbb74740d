//! What a target did and nobody took yet, in bounded memory.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::TargetOutput;
use crate::lines::RawLine;

/// Most console lines that wait to be taken; further ones are counted only, until half of them
/// have been taken.
pub(crate) const MAX_BACKLOG_LINES: usize = 4 * 1024;

/// The lines that wait to be taken.
#[derive(Debug, Default)]
pub(crate) struct Console {
    backlog: Mutex<Backlog>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Backlog {
    waiting: VecDeque<TargetOutput>,
    dropped: u64,
}

impl Backlog {
    fn tell_dropped(&mut self) {
        let lines = std::mem::take(&mut self.dropped);
        if lines > 0 {
            let text = format!("... {lines} console lines dropped (MAX_BACKLOG_LINES)");
            self.waiting.push_back(TargetOutput::Line(text));
        }
    }
}

impl Console {
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, or only counts it.
    pub(crate) fn line(&self, raw: RawLine<'_>) {
        self.add(|| TargetOutput::Line(raw.clean()));
    }

    /// Adds what is known already; lines may be counted only, and nothing else is lost.
    pub(crate) fn push(&self, output: TargetOutput) {
        match output {
            TargetOutput::Line(_) => self.add(|| output),
            other => {
                let mut backlog = self.backlog();
                backlog.tell_dropped();
                backlog.waiting.push_back(other);
                drop(backlog);
                self.more.notify_one();
            }
        }
    }

    fn add(&self, output: impl FnOnce() -> TargetOutput) {
        let mut backlog = self.backlog();
        let limit = if backlog.dropped > 0 { MAX_BACKLOG_LINES / 2 } else { MAX_BACKLOG_LINES };
        if backlog.waiting.len() >= limit {
            backlog.dropped += 1;
            return;
        }
        backlog.tell_dropped();
        backlog.waiting.push_back(output());
        drop(backlog);
        self.more.notify_one();
    }

    /// Ends a run of the process: `how` is `None` when that was asked for. Never waits.
    pub(crate) fn end(&self, how: Option<TargetOutput>) {
        let mut backlog = self.backlog();
        backlog.tell_dropped();
        backlog.waiting.extend(how);
        drop(backlog);
        self.more.notify_one();
    }

    /// What came first of that which was not taken yet.
    pub(crate) fn try_next(&self) -> Option<TargetOutput> {
        self.backlog().waiting.pop_front()
    }

    /// As [`try_next`](Self::try_next), but waits. For one taker at a time; cancel-safe.
    pub(crate) async fn next(&self) -> TargetOutput {
        loop {
            if let Some(output) = self.try_next() {
                return output;
            }
            self.more.notified().await;
        }
    }

    /// Whether lines are only counted at the moment.
    #[cfg(test)]
    fn is_dropping(&self) -> bool {
        self.backlog().dropped > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Lines;

    #[tokio::test]
    async fn a_flood_is_counted_and_the_end_is_told() {
        let (console, mut input) = (Console::default(), Lines::default());
        let mut push = |count: usize| {
            input.push(&b"x\n".repeat(count), |line| console.line(line));
        };
        push(MAX_BACKLOG_LINES + 10);
        for _ in 0..MAX_BACKLOG_LINES / 2 {
            assert_eq!(console.next().await, TargetOutput::Line("x".into()));
        }
        push(1);
        assert!(console.is_dropping());
        console.next().await;
        push(1);
        assert!(!console.is_dropping());
        console.end(Some(TargetOutput::Exited("exited with code 0".to_owned())));
        let rest: Vec<_> = std::iter::from_fn(|| console.try_next()).collect();
        assert_eq!(
            rest[rest.len() - 3..],
            [
                TargetOutput::Line("... 11 console lines dropped (MAX_BACKLOG_LINES)".into()),
                TargetOutput::Line("x".into()),
                TargetOutput::Exited("exited with code 0".into()),
            ]
        );
    }
}
