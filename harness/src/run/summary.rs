//! What the cases of a run come to together.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::verdict::Verdict;

use super::{BOTH, Ruling};
use crate::event::{CaseReport, Summary};

/// Counts cases and watches over the two closures: every required requirement is exercised, and
/// every entry of the baseline still fails.
#[derive(Debug)]
pub struct Tally<'a> {
    ruling: Ruling<'a>,
    whole_suite: bool,
    /// Whether the rest of the run is carried out elsewhere.
    is_part: bool,
    summary: Summary,
    /// What each device must meet over each transport.
    required: Vec<(String, BTreeSet<String>)>,
    /// What was exercised there.
    exercised: BTreeMap<String, BTreeSet<String>>,
    baseline_used: BTreeSet<usize>,
    cases: Vec<String>,
}

impl<'a> Tally<'a> {
    /// An empty tally. Only a run of the whole suite must exercise every requirement.
    pub fn new(ruling: Ruling<'a>, whole_suite: bool) -> Self {
        Self {
            ruling,
            whole_suite,
            is_part: false,
            summary: Summary::default(),
            required: Vec::new(),
            exercised: BTreeMap::new(),
            baseline_used: BTreeSet::new(),
            cases: Vec::new(),
        }
    }

    /// An empty tally of one of several parts of a run: what another part may show is not missed.
    pub fn of_part(ruling: Ruling<'a>) -> Self {
        Self {
            is_part: true,
            ..Self::new(ruling, false)
        }
    }

    /// What turns judgements into verdicts.
    pub fn ruling(&self) -> Ruling<'a> {
        self.ruling
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
        self.exercised
            .entry(lane(&case.dut, &case.transport))
            .or_default()
            .extend(case.exercised.iter().cloned());
        self.cases.push(case.case.clone());
        let Some(baseline) = self.ruling.baseline else {
            return;
        };
        for finding in case.findings.iter().filter(|finding| finding.known) {
            let entry = baseline.covering(&case.case, &finding.requirement, self.ruling.today);
            self.baseline_used.extend(entry);
        }
    }

    /// Takes note of what a device can do, as it showed over one transport: it must meet the
    /// requirements that go with it.
    pub fn device(&mut self, dut: &str, transport: &str, capabilities: &BTreeSet<String>) {
        let required = self.ruling.catalogue.required(capabilities);
        let slugs = required.map(|requirement| requirement.id.clone()).collect();
        let lane = lane(dut, transport);
        let shown = &mut self.summary.capabilities;
        shown.insert(lane.clone(), capabilities.clone());
        self.required.push((lane, slugs));
    }

    /// Takes note that two transports were compared: with it go only the requirements that need
    /// both.
    pub fn compared(&mut self, dut: &str) {
        let catalogue = self.ruling.catalogue;
        let none = BTreeSet::new();
        let alone: BTreeSet<&str> = catalogue
            .required(&none)
            .map(|requirement| requirement.id.as_str())
            .collect();
        let both = BTreeSet::from(["both-transports".to_owned()]);
        let slugs = catalogue
            .required(&both)
            .filter(|requirement| !alone.contains(requirement.id.as_str()))
            .map(|requirement| requirement.id.clone())
            .collect();
        self.required.push((lane(dut, BOTH), slugs));
    }

    /// The summary. A requirement counts as exercised when it was on every device and transport
    /// that must meet it.
    pub fn summary(mut self) -> Summary {
        let mut required: BTreeSet<&str> = BTreeSet::new();
        let mut missed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (lane, slugs) in &self.required {
            for slug in slugs {
                required.insert(slug);
                let exercised = self.exercised.get(lane);
                if !exercised.is_some_and(|slugs| slugs.contains(slug)) {
                    missed.entry(slug).or_default().push(lane);
                }
            }
        }
        self.summary.required = required.len();
        self.summary.exercised = required.len() - missed.len();
        if self.whole_suite && self.summary.cases > 0 {
            let several = self.required.len() > 1;
            let named = |(slug, lanes): (&&str, &Vec<&str>)| match several {
                true => format!("{slug} ({})", lanes.join(", ")),
                false => (*slug).to_owned(),
            };
            self.summary.unexercised = missed.iter().map(named).collect();
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
            } else if ran && !self.is_part && !self.baseline_used.contains(&index) {
                stale.push(format!("{name}: listed as failing, but it no longer fails"));
            }
        }
        stale
    }
}

/// A device over a transport, in one word.
pub(crate) fn lane(dut: &str, transport: &str) -> String {
    format!("{dut}/{transport}")
}
