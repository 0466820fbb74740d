//! What findings amount to: five verdicts in one order, and the findings they come from.

use crate::catalogue::RequirementId as Id;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalogue::{Catalogue, Level};

/// The verdict on a case; the worst wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Does not apply to this device: it never claimed what the case needs.
    NotApplicable,
    /// All that was judged holds.
    Pass,
    /// Nothing was shown either way.
    Inconclusive,
    /// The device broke a requirement.
    Fail,
    /// The bench or the harness broke: says nothing about the device.
    Error,
}

impl Verdict {
    /// The worse of two verdicts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl FromIterator<Verdict> for Verdict {
    fn from_iter<I: IntoIterator<Item = Self>>(verdicts: I) -> Self {
        verdicts.into_iter().fold(Self::NotApplicable, Self::and)
    }
}

/// One pure judgement of a check about one requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Slug of the requirement.
    pub requirement: Id,
    /// The case that it is charged to.
    pub case: Arc<str>,
    /// The step, when one can be named.
    pub step: Option<Arc<str>>,
    /// What was found.
    pub outcome: Outcome,
}

/// What a check found about a requirement.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was exercised and holds.
    Held,
    /// It was exercised and is broken.
    Broken(Box<Evidence>),
    /// It was exercised and is broken, and the cause lies with the bench, not with the device.
    Bench(Box<Evidence>),
    /// It was exercised without a result: the device fell silent.
    Unclear(String),
    /// The harness itself broke it: our bug.
    OurFault(String),
}

/// Why a requirement counts as broken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// What the requirement asks for here.
    pub expected: String,
    /// What the device did.
    pub received: String,
    /// The message that provoked it, when there was one.
    pub sent: Option<String>,
    /// Entry of the transcript that shows it.
    pub seq: Option<u64>,
}

/// A finding: a requirement that does not hold, in a form that is written to reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Slug of the requirement.
    pub requirement: String,
    /// Its level.
    pub level: Level,
    /// The verdict that it leads to; `pass` for a warning.
    pub verdict: Verdict,
    /// The step of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What the requirement asks for here.
    pub expected: String,
    /// What the device did.
    pub received: String,
    /// The message that provoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// Entry of the transcript (`seq`) that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The transcript's file with that entry, relative to the run's folder, where it is not that of the case
    /// that the finding is charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Where in its program the device broke down: lines of its console, each followed by the
    /// functions and lines that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// What the console said when the device broke down: the panic and what follows it, or the last lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub console: Vec<String>,
    /// Whether it was found after the case had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Whether the baseline lists it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
}

impl Finding {
    /// Turns a judgement into a finding; `None` when the requirement holds or is not asked for.
    ///
    /// A broken MUST fails. A broken SHOULD is a warning, and fails only when `strict`.
    pub fn of(judgement: &Judgement, catalogue: &Catalogue, strict: bool) -> Option<Self> {
        let level = catalogue.active(judgement.requirement.slug())?.level;
        let evidence = match &judgement.outcome {
            Outcome::Held => return None,
            Outcome::Broken(evidence) | Outcome::Bench(evidence) => evidence.as_ref().clone(),
            Outcome::Unclear(why) => Evidence {
                expected: "an answer to the request".to_owned(),
                received: why.clone(),
                ..Evidence::default()
            },
            Outcome::OurFault(what) => Evidence {
                expected: "valid messages from the harness".to_owned(),
                received: format!("a bug in mcp-hil: {what}"),
                ..Evidence::default()
            },
        };
        let verdict = match (&judgement.outcome, level) {
            (Outcome::OurFault(_) | Outcome::Bench(_), _) => Verdict::Error,
            (Outcome::Broken(_), Level::Must) => Verdict::Fail,
            (Outcome::Broken(_), Level::Should) if strict => Verdict::Fail,
            (Outcome::Unclear(_), Level::Must) => Verdict::Inconclusive,
            _ => Verdict::Pass,
        };
        Some(Self {
            requirement: judgement.requirement.to_string(),
            level,
            verdict,
            step: judgement.step.as_deref().map(str::to_owned),
            expected: evidence.expected,
            received: evidence.received,
            sent: evidence.sent,
            seq: evidence.seq,
            transcript: None,
            console: Vec::new(),
            places: Vec::new(),
            late: false,
            known: false,
        })
    }

    /// Whether the finding only warns.
    pub fn is_warning(&self) -> bool {
        self.verdict <= Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdict() -> impl Strategy<Value = Verdict> {
        prop::sample::select(vec![
            Verdict::NotApplicable,
            Verdict::Pass,
            Verdict::Inconclusive,
            Verdict::Fail,
            Verdict::Error,
        ])
    }

    proptest! {
        #[test]
        fn verdicts_are_a_lattice(a in verdict(), b in verdict(), c in verdict()) {
            prop_assert_eq!(a.and(b), b.and(a));
            prop_assert_eq!(a.and(b).and(c), a.and(b.and(c)));
            prop_assert_eq!(a.and(a), a);
            prop_assert_eq!(a.and(Verdict::NotApplicable), a);
            prop_assert_eq!(a.and(Verdict::Error), Verdict::Error);
            prop_assert!(a.and(b) >= a);
        }
    }

    #[test]
    fn the_worst_wins() {
        use Verdict::{Error, Fail, Inconclusive, Pass};
        assert_eq!([Pass, Fail, Inconclusive].into_iter().collect::<Verdict>(), Fail);
        assert_eq!([Pass, Error, Fail].into_iter().collect::<Verdict>(), Error);
        assert_eq!([].into_iter().collect::<Verdict>(), Verdict::NotApplicable);
    }
}
