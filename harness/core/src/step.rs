//! Names of steps: where a step stands in its case, and what the harness does beside it.
//!
//! `3#1.0` is the first step in row 1 of step 3; `3#1.0.fence` is the request that fences it. A name is a text in
//! transcripts and wherever it is only handed on. Names are made here, and taken apart here: no other code looks
//! into the text.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// What the harness does beside a step, or a part of what the step comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The status is read before the message of the step.
    Before,
    /// The status is read after it.
    After,
    /// The step is tried once more.
    Again,
    /// The tool of the step is told to set something else.
    Other,
    /// Settings are put back for another try.
    Settings,
    /// Settings that were left behind are put back.
    Left,
    /// A good request shows whether the device has dropped the message.
    Fence,
    /// The same once more, after the first one was lost.
    FenceAgain,
    /// A complete `initialize`, after both were lost: a device may have forgotten its session, and live.
    FenceInitialize,
    /// A good request once more, after that was answered: who still ignores it does not live.
    FenceRestored,
    /// A page of a list, counted from 0.
    Page(usize),
    /// A reading of the status that is repeated until it stands still, counted from 1.
    Settle(u32),
    /// `initialize` is sent.
    Initialize,
    /// The device is told that the session is initialized.
    Done,
    /// A request of the device is answered.
    Reply,
    /// The device is served while nothing is to be done.
    Idle,
    /// The case ends.
    End,
}

/// The kinds that fence a message, in their order.
pub const FENCES: [StepKind; 4] =
    [StepKind::Fence, StepKind::FenceAgain, StepKind::FenceInitialize, StepKind::FenceRestored];

/// Those that are a word in the name.
const WORDS: [(StepKind, &str); 15] = [
    (StepKind::Before, "before"),
    (StepKind::After, "after"),
    (StepKind::Again, "again"),
    (StepKind::Other, "other"),
    (StepKind::Settings, "settings"),
    (StepKind::Left, "left"),
    (StepKind::Fence, "fence"),
    (StepKind::FenceAgain, "fence-again"),
    (StepKind::FenceInitialize, "fence-initialize"),
    (StepKind::FenceRestored, "fence-restored"),
    (StepKind::Initialize, "initialize"),
    (StepKind::Done, "done"),
    (StepKind::Reply, "reply"),
    (StepKind::Idle, "idle"),
    (StepKind::End, "end"),
];

/// Those that are a letter or word with a number.
const PAGE: &str = "p";
const SETTLE: &str = "settle";

impl StepKind {
    /// Whether it fences a message.
    pub fn is_fence(self) -> bool {
        FENCES.contains(&self)
    }

    fn read(text: &str) -> Option<Self> {
        let word = WORDS.iter().find(|(_, word)| *word == text).map(|(kind, _)| *kind);
        let page = || Some(Self::Page(text.strip_prefix(PAGE)?.parse().ok()?));
        let settle = || Some(Self::Settle(text.strip_prefix(SETTLE)?.parse().ok()?));
        word.or_else(page).or_else(settle)
    }
}

impl Display for StepKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(number) => write!(f, "{PAGE}{number}"),
            Self::Settle(number) => write!(f, "{SETTLE}{number}"),
            kind => match WORDS.iter().find(|(word, _)| word == kind) {
                Some((_, word)) => f.write_str(word),
                None => Ok(()),
            },
        }
    }
}

/// The name of what is done beside a step.
pub fn beside(step: &str, kind: StepKind) -> Arc<str> {
    format!("{step}.{kind}").into()
}

/// The name of one of the messages that a step sends at once, counted from 0.
pub fn message(step: &str, index: usize) -> Arc<str> {
    format!("{step}.{index}").into()
}

/// Takes a name apart: the step, and what is done beside it. Of `2.again.before` the step is `2.again`.
pub fn parts(name: &str) -> (&str, Option<StepKind>) {
    match name.rsplit_once('.') {
        Some((step, kind)) => match StepKind::read(kind) {
            Some(kind) => (step, Some(kind)),
            None => (name, None),
        },
        None => (name, None),
    }
}

/// Whether a name is of a step of a scenario, or beside one. Those have numbers, and what the harness does on its own
/// account has words.
pub fn is_of_scenario(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_comes_apart_again() {
        let numbered = [StepKind::Page(0), StepKind::Page(12), StepKind::Settle(1)];
        let words = WORDS.iter().map(|(kind, _)| *kind);
        for kind in words.chain(numbered) {
            for step in ["2", "3#1.0", "status", "2.again"] {
                let name = beside(step, kind);
                assert_eq!(parts(&name), (step, Some(kind)), "{name}");
            }
        }
    }

    #[test]
    fn names_are_spelled_as_in_recorded_transcripts() {
        let names = [
            beside("2", StepKind::FenceAgain),
            beside("list", StepKind::Page(0)),
            beside(&beside("3#1.0", StepKind::Again), StepKind::Before),
            beside("4", StepKind::Settle(2)),
            message("5", 1),
        ];
        let names = names.each_ref().map(|name| &**name);
        assert_eq!(names, ["2.fence-again", "list.p0", "3#1.0.again.before", "4.settle2", "5.1"]);
    }

    #[test]
    fn a_step_is_nothing_beside_another_one() {
        for name in ["2", "3#1.0", "5.1", "fence", "2.fences", "2.p", "2.px", "list", ""] {
            assert_eq!(parts(name), (name, None));
        }
        assert!(is_of_scenario("3#1.0.fence") && !is_of_scenario("list.p0"));
        assert!(StepKind::FenceAgain.is_fence() && !StepKind::After.is_fence());
    }
}
