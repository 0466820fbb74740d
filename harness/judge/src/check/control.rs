//! What a device does with a plain message, for what is sent like it with a variation.
//!
//! A device that answers no unknown method at all does not answer one under a negative id either: that says
//! nothing about negative ids.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Controls of a session that did not get the kind of answer that they expect: name to the latest case in which.
#[derive(Debug, Default)]
pub(super) struct Controls(BTreeMap<String, Arc<str>>);

impl Controls {
    /// Begins to judge a case, perhaps once more because an answer came late.
    pub(super) fn begin(&mut self, case: &Arc<str>) {
        self.0.retain(|_, of| of != case);
    }

    /// Takes note of what a control of the case came to.
    pub(super) fn note(&mut self, name: &str, case: &Arc<str>, holds: bool) {
        if !holds {
            self.0.insert(name.to_owned(), case.clone());
        } else if self.0.get(name).is_some_and(|of| of != case) {
            self.0.remove(name);
        }
    }

    /// Whether it is known that the plain message does not get what it expects. What was never sent is not.
    pub(super) fn has_failed(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_counts_until_another_case_shows_the_contrary() {
        let (first, second): (Arc<str>, Arc<str>) = ("first".into(), "second".into());
        let mut controls = Controls::default();
        assert!(!controls.has_failed("plain"));
        controls.begin(&first);
        controls.note("plain", &first, false);
        controls.note("plain", &first, true);
        assert!(controls.has_failed("plain"));
        controls.begin(&second);
        assert!(controls.has_failed("plain"));
        controls.note("plain", &second, true);
        assert!(!controls.has_failed("plain"));
        controls.note("plain", &second, false);
        controls.begin(&second);
        assert!(!controls.has_failed("plain"), "it is judged again");
    }
}
