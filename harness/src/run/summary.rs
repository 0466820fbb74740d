//! What the cases of a run come to together.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::baseline::{Seen, SeenCase, SeenDevice};
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
    /// What each device told of its version, by transport.
    firmware: BTreeMap<String, Option<String>>,
    /// The cases that were carried out, for the baseline: device and transport, and what was seen.
    seen: Vec<(String, SeenCase)>,
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
            firmware: BTreeMap::new(),
            seen: Vec::new(),
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
        let seen = SeenCase {
            case: case.case.clone(),
            failing: failing(case).map(str::to_owned).collect(),
            exercised: case.exercised.iter().cloned().collect(),
            firmware: None,
        };
        self.seen.push((lane(&case.dut, &case.transport), seen));
    }

    /// Takes note of what a device can do, as it showed over one transport: it must meet the
    /// requirements that go with it.
    pub fn device(
        &mut self,
        dut: &str,
        transport: &str,
        capabilities: &BTreeSet<String>,
        firmware: Option<String>,
    ) {
        self.firmware.insert(lane(dut, transport), firmware);
        let required = self.ruling.catalogue.required(capabilities);
        let slugs = required.map(|requirement| requirement.id.clone()).collect();
        let lane = lane(dut, transport);
        let shown = &mut self.summary.capabilities;
        shown.insert(lane.clone(), capabilities.clone());
        self.required.push((lane, slugs));
    }

    /// The version that the device told over any transport.
    pub fn firmware(&self) -> Option<String> {
        self.firmware.values().flatten().next().cloned()
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
            let (known, news): (Vec<_>, Vec<_>) =
                missed.iter().partition(|(slug, _)| self.is_excused(slug));
            let known = known.into_iter().map(|(slug, _)| (*slug).to_owned());
            let (known, news) = (known.collect(), news.into_iter().map(named).collect());
            self.summary.known_unexercised = known;
            self.summary.unexercised = news;
        }
        let missed = missed.keys().map(|slug| (*slug).to_owned()).collect();
        self.summary.stale = self.stale(missed);
        self.summary
    }

    /// Whether the baseline says of a requirement that nothing puts it to the test.
    fn is_excused(&self, slug: &str) -> bool {
        let firmware = self.firmware();
        let baseline = self.ruling.baseline;
        baseline.is_some_and(|it| it.excuses(slug, self.ruling.today, firmware.as_deref()))
    }

    /// Entries of the baseline that do not hold, each with the reason.
    fn stale(&self, unexercised: BTreeSet<String>) -> Vec<String> {
        let Some(baseline) = self.ruling.baseline else {
            return Vec::new();
        };
        let told = |lane: &str| self.firmware.get(lane).cloned();
        let cases = self.seen.iter().map(|(lane, case)| SeenCase {
            // A comparison of transports stands on both.
            firmware: told(lane).unwrap_or_else(|| self.firmware()),
            ..case.clone()
        });
        let devices = self.firmware.values().cloned();
        let seen = Seen {
            cases: cases.collect(),
            devices: devices.map(|firmware| SeenDevice { firmware }).collect(),
            unexercised,
            whole_suite: self.whole_suite,
            is_part: self.is_part,
        };
        let stale = baseline.stale(&seen, self.ruling.today).into_iter();
        stale
            .map(|(at, why)| format!("{}: {why}", baseline.known[at].name()))
            .collect()
    }
}

/// The requirements that a case fails, known failures among them.
pub(crate) fn failing(case: &CaseReport) -> impl Iterator<Item = &str> {
    let fails = case.findings.iter();
    let fails = fails.filter(|finding| finding.verdict == Verdict::Fail);
    fails.map(|finding| &*finding.requirement)
}

/// A device over a transport, in one word.
pub(crate) fn lane(dut: &str, transport: &str) -> String {
    format!("{dut}/{transport}")
}
