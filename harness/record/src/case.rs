//! What became of a case, in a form that is written to reports.

use mcp_hil_core::verdict::{Finding, Verdict};
use serde::{Deserialize, Serialize};

/// A judged case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseReport {
    /// The device.
    pub dut: String,
    /// The transport.
    pub transport: String,
    /// The case's id.
    pub case: String,
    /// Its title.
    pub title: String,
    /// Its file, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it of the step that the worst finding is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it does not apply, or why nothing was shown, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether every failing finding is listed in the baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// How often it was tried, where that is more than once. What follows is about the first attempt that did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Whether it passed in the end: the verdict is that of the first attempt, and is not held against the run unless that
    /// was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// What was found; warnings too.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Slugs of the requirements that were exercised, in order.
    #[serde(default)]
    pub exercised: Vec<String>,
    /// The transcript's file, relative to the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The command that runs this case again.
    pub repro: String,
    /// What became of its inputs, when they were generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
}

/// What became of the generated inputs of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// How many inputs were carried out.
    pub inputs: u32,
    /// How many exchanges they had; those of fences and of shrinking are not among them.
    pub exchanges: usize,
    /// Why there were no more of them, when there were fewer than asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Parts that took no part, because the device lacks what they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The places of messages that inputs went through, where they go through a table of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// What failed, each cause once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// Why a case has fewer inputs: its time was over.
pub const OUT_OF_TIME: &str = "its share of `--max-time` was used up";

/// Why a case has fewer inputs: they would have called more than the budget allows.
pub const OUT_OF_BUDGET: &str = "inputs beyond `--budget` were left out";

impl Generated {
    /// Whether inputs were left out that might have shown more.
    pub fn had_too_little(&self) -> bool {
        matches!(self.ended.as_deref(), Some(OUT_OF_TIME | OUT_OF_BUDGET))
    }
}

/// A place of a message, and the kinds of values that were tried there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its name: `tools/list cursor`.
    pub place: String,
    /// Kinds that were answered correctly, or survived.
    pub held: Vec<String>,
    /// Kinds that broke a requirement, or left the device silent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Generated {
    /// Takes note of what a kind of value came to at a place.
    pub fn tried(&mut self, place: &str, kind: &str, holds: bool) {
        let at = self.places.iter().position(|known| known.place == place);
        let at = at.unwrap_or_else(|| {
            self.places.push(Place { place: place.to_owned(), ..Place::default() });
            self.places.len() - 1
        });
        let place = &mut self.places[at];
        let of = if holds { &mut place.held } else { &mut place.failed };
        if !of.iter().any(|known| known == kind) {
            of.push(kind.to_owned());
        }
    }
}

/// A failure that generated inputs showed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Slugs of the requirements that its smallest input breaks, the one that was followed first.
    pub requirements: Vec<String>,
    /// Number of the input that showed it first, from 0.
    pub input: u32,
    /// How many inputs showed it.
    pub times: u32,
    /// How many exchanges that first input had.
    pub from: usize,
    /// How many exchanges the smallest one has.
    pub to: usize,
    /// How many smaller inputs were tried.
    pub steps: u32,
    /// How many of them on the substitute device (`surrogate`).
    #[serde(default, alias = "on_twin", skip_serializing_if = "is_none")]
    pub on_surrogate: u32,
    /// Why no more were tried, when there were more to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What a second try from a known state showed, when it did not show the failure again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_try: Option<String>,
    /// The file of the smallest input.
    pub scenario: String,
    /// The command that carries it out.
    pub repro: String,
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

impl CaseReport {
    /// Whether it is held against the run: it did not pass, nobody knew of it, and trying again did not help.
    pub fn is_red(&self) -> bool {
        match self.verdict {
            Verdict::Pass | Verdict::NotApplicable => false,
            Verdict::Fail => !self.known && !self.flaky,
            Verdict::Inconclusive => !self.flaky,
            Verdict::Error => true,
        }
    }

    /// Adds another attempt at a case that did not pass. If that passed, the case is flaky; the evidence is that of the
    /// first attempt in any case.
    #[must_use]
    pub fn tried_again(mut self, other: Self) -> Self {
        self.attempts = Some(self.attempts.unwrap_or(1) + 1);
        self.flaky = !other.is_red();
        self.took_us = other.took_us;
        for slug in other.exercised {
            if !self.exercised.contains(&slug) {
                self.exercised.push(slug);
            }
        }
        self.exercised.sort();
        self
    }

    /// How bad it is, from the best: known failures are not held against anybody.
    fn badness(&self) -> u8 {
        match self.verdict {
            Verdict::NotApplicable => 0,
            Verdict::Pass => 1,
            Verdict::Fail if self.known => 2,
            Verdict::Inconclusive => 3,
            Verdict::Fail => 4,
            Verdict::Error => 5,
        }
    }

    /// Adds what was reported about the same case elsewhere, or another time. The worse verdict stands, and its evidence;
    /// of two that are equally bad, this one.
    pub fn join(&mut self, other: &Self) {
        let better = match other.badness() > self.badness() {
            true => std::mem::replace(self, other.clone()),
            false => other.clone(),
        };
        self.took_us += better.took_us;
        for finding in better.findings {
            let same = |told: &Finding| {
                (&told.requirement, &told.step, told.verdict)
                    == (&finding.requirement, &finding.step, finding.verdict)
            };
            if !self.findings.iter().any(same) {
                self.findings.push(finding);
            }
        }
        for slug in better.exercised {
            if !self.exercised.contains(&slug) {
                self.exercised.push(slug);
            }
        }
        self.exercised.sort();
    }

    /// Lets the report of a run name its files from a folder that contains the run as `name`. What repro commands say
    /// of the run's folder, `before`, they say of `after`; nothing where that is empty.
    pub fn belongs_to(&mut self, name: &str, before: &str, after: &str) {
        let here = |file: &mut String| *file = format!("{name}/{file}");
        let of_findings = self.findings.iter_mut().filter_map(|it| it.transcript.as_mut());
        self.transcript.iter_mut().chain(of_findings).for_each(here);
        let failures = self.generated.iter_mut();
        for failure in failures.flat_map(|generated| &mut generated.failures) {
            here(&mut failure.scenario);
            if !before.is_empty() {
                failure.repro = failure.repro.replace(before, after);
            }
        }
    }

    /// A report about which nothing is known yet: it passes.
    pub fn blank(dut: &str, transport: &str, case: &str, title: &str) -> Self {
        Self {
            dut: dut.to_owned(),
            transport: transport.to_owned(),
            case: case.to_owned(),
            title: title.to_owned(),
            file: None,
            line: None,
            verdict: Verdict::Pass,
            reason: None,
            known: false,
            attempts: None,
            flaky: false,
            took_us: 0,
            findings: Vec::new(),
            exercised: Vec::new(),
            transcript: None,
            repro: String::new(),
            generated: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_passes_in_the_end_is_flaky_and_keeps_its_evidence() {
        let report = |verdict, took_us| CaseReport {
            verdict,
            took_us,
            ..CaseReport::blank("a", "mqtt", "b/c", "")
        };
        let failed = report(Verdict::Fail, 1);
        let again = failed.clone().tried_again(report(Verdict::Fail, 2));
        assert_eq!((again.attempts, again.flaky, again.is_red()), (Some(2), false, true));
        let flaky = again.tried_again(report(Verdict::Pass, 3));
        assert_eq!((flaky.attempts, flaky.flaky, flaky.is_red()), (Some(3), true, false));
        assert_eq!((flaky.verdict, flaky.took_us), (Verdict::Fail, 3));
        // A bench that broke the second attempt shows nothing of the device.
        assert!(failed.tried_again(report(Verdict::Error, 2)).is_red());
    }
}
