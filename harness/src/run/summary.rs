//! What the cases of a run come to together.

use std::collections::BTreeSet;

use mcp_hil_core::verdict::Verdict;

use super::Ruling;
use crate::event::{CaseReport, Summary};

/// Counts cases and watches over the two closures: every required requirement is exercised, and
/// every entry of the baseline still fails.
#[derive(Debug)]
pub struct Tally<'a> {
    ruling: Ruling<'a>,
    whole_suite: bool,
    summary: Summary,
    exercised: BTreeSet<String>,
    baseline_used: BTreeSet<usize>,
    cases: Vec<String>,
}

impl<'a> Tally<'a> {
    /// An empty tally. Only a run of the whole suite must exercise every requirement.
    pub fn new(ruling: Ruling<'a>, whole_suite: bool) -> Self {
        Self {
            ruling,
            whole_suite,
            summary: Summary::default(),
            exercised: BTreeSet::new(),
            baseline_used: BTreeSet::new(),
            cases: Vec::new(),
        }
    }

    /// Counts a case.
    pub fn case(&mut self, case: &CaseReport) {
        let summary = &mut self.summary;
        let count = match case.verdict {
            Verdict::NotApplicable => {
                summary.not_applicable += 1;
                return;
            }
            Verdict::Fail if case.known => &mut summary.known,
            Verdict::Pass => &mut summary.passed,
            Verdict::Inconclusive => &mut summary.inconclusive,
            Verdict::Fail => &mut summary.failed,
            Verdict::Error => &mut summary.errors,
        };
        *count += 1;
        summary.cases += 1;
        summary.warnings += case
            .findings
            .iter()
            .filter(|finding| finding.is_warning())
            .count();
        self.exercised.extend(case.exercised.iter().cloned());
        self.cases.push(case.case.clone());
        let Some(baseline) = self.ruling.baseline else {
            return;
        };
        for finding in case.findings.iter().filter(|finding| finding.known) {
            let entry = baseline.covering(&case.case, &finding.requirement, self.ruling.today);
            self.baseline_used.extend(entry);
        }
    }

    /// The summary. `capabilities` are those of the device; `None` when it never got known.
    pub fn summary(mut self, capabilities: Option<&BTreeSet<String>>) -> Summary {
        let none = BTreeSet::new();
        let required: Vec<&str> = self
            .ruling
            .catalogue
            .required(capabilities.unwrap_or(&none))
            .map(|requirement| requirement.id.as_str())
            .collect();
        self.summary.required = required.len();
        self.summary.exercised = required
            .iter()
            .filter(|slug| self.exercised.contains(**slug))
            .count();
        if self.whole_suite && self.summary.cases > 0 {
            self.summary.unexercised = required
                .iter()
                .filter(|slug| !self.exercised.contains(**slug))
                .map(|slug| (*slug).to_owned())
                .collect();
        }
        self.summary.stale = self.stale();
        self.summary
    }

    /// Entries of the baseline about cases that ran, and that are expired or no longer fail.
    fn stale(&self) -> Vec<String> {
        let Some(baseline) = self.ruling.baseline else {
            return Vec::new();
        };
        let mut stale = Vec::new();
        for (index, known) in baseline.known.iter().enumerate() {
            let name = match &known.requirement {
                Some(slug) => format!("{}:{slug}", known.case),
                None => known.case.clone(),
            };
            let ran = self.cases.iter().any(|case| known.covers(case));
            if known.is_expired(self.ruling.today) {
                let date = known.expires.as_deref().unwrap_or_default();
                stale.push(format!("{name}: expired on {date}"));
            } else if ran && !self.baseline_used.contains(&index) {
                stale.push(format!("{name}: listed as failing, but it no longer fails"));
            }
        }
        stale
    }
}
