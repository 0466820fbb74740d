//! `--max-fail`: a run that stops after so many failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_hil_record::event::CaseReport;

/// A count of failures with an end. Clones count together: devices that are tested at once stop together.
#[derive(Debug, Clone)]
pub struct FailureLimit {
    most: u32,
    seen: Arc<AtomicU32>,
}

impl FailureLimit {
    /// A limit of so many failures, none of which is seen yet.
    pub fn new(most: u32) -> Self {
        Self { most, seen: Arc::default() }
    }

    /// Counts a case that is held against the run.
    pub fn count(&self, case: &CaseReport) {
        if case.is_red() {
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether there were that many.
    pub fn is_reached(&self) -> bool {
        self.seen.load(Ordering::Relaxed) >= self.most
    }

    /// Why a run that it stopped ended, in words.
    pub fn told(&self) -> String {
        match self.most {
            1 => "after the first failure".to_owned(),
            most => format!("after {most} failures"),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::verdict::Verdict;

    use super::*;

    #[test]
    fn what_did_not_pass_counts_and_what_is_known_does_not() {
        let limit = FailureLimit::new(2);
        let count = |verdict, known| {
            limit.clone().count(&CaseReport {
                verdict,
                known,
                ..CaseReport::blank("a", "mqtt", "b/c", "")
            });
        };
        for (verdict, known) in
            [(Verdict::Pass, false), (Verdict::NotApplicable, false), (Verdict::Fail, true)]
        {
            count(verdict, known);
        }
        count(Verdict::Error, false);
        assert!(!limit.is_reached());
        count(Verdict::Fail, false);
        assert!(limit.is_reached());
    }
}
