//! What the cases of a run come to together.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::baseline::{Baseline, Seen, SeenCase, SeenDevice};
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::timing::Row;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Verdict;

use super::VerdictPolicy;

use mcp_hil_record::event::{CaseReport, CoveredBy, Generated, Summary, Unanswered};
use mcp_hil_record::names::{BOTH, dut_over};

/// Counts cases and watches over the two closures: every required requirement is exercised, and
/// every entry of the baseline still fails.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    policy: VerdictPolicy<'a>,
    whole_suite: bool,
    /// Whether the rest of the run is carried out elsewhere.
    is_part: bool,
    summary: Summary,
    /// What each device must meet over each transport.
    required: Vec<(String, BTreeSet<String>)>,
    /// What was exercised there.
    exercised: BTreeMap<String, BTreeSet<String>>,
    /// What each device told of its version, by device and transport.
    firmware: BTreeMap<String, SeenDevice>,
    /// The cases that were carried out, for the baseline: device and transport, and what was seen.
    seen: Vec<(String, SeenCase)>,
}

impl<'a> Tally<'a> {
    /// An empty tally. Only a run of the whole suite must exercise every requirement.
    pub(super) fn new(policy: VerdictPolicy<'a>, whole_suite: bool) -> Self {
        Self {
            policy,
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
    pub(super) fn of_part(policy: VerdictPolicy<'a>) -> Self {
        Self { is_part: true, ..Self::new(policy, false) }
    }

    /// A part of the run is left out: what it may have shown is not missed.
    pub(super) fn cut_short(&mut self) {
        (self.whole_suite, self.is_part) = (false, true);
    }

    /// What turns judgements into verdicts.
    pub(super) fn policy(&self) -> VerdictPolicy<'a> {
        self.policy
    }

    /// Counts a case.
    pub(super) fn case(&mut self, case: &CaseReport) {
        // A slow device has no time for all inputs.
        if case.generated.as_ref().is_some_and(Generated::had_too_little) {
            self.cut_short();
        }
        let summary = &mut self.summary;
        let count = match case.verdict {
            Verdict::NotApplicable => {
                summary.not_applicable += 1;
                return;
            }
            _ if case.flaky => &mut summary.flaky,
            Verdict::Fail if case.known => &mut summary.known,
            Verdict::Pass => &mut summary.passed,
            Verdict::Inconclusive => &mut summary.inconclusive,
            Verdict::Fail => &mut summary.failed,
            Verdict::Error => &mut summary.errors,
        };
        *count += 1;
        summary.cases += 1;
        summary.warnings += case.findings.iter().filter(|finding| finding.is_warning()).count();
        self.exercised
            .entry(dut_over(&case.dut, &case.transport))
            .or_default()
            .extend(case.exercised.iter().cloned());
        let seen = SeenCase {
            case: case.case.clone(),
            failing: failing(case).map(str::to_owned).collect(),
            exercised: case.exercised.iter().cloned().collect(),
            transport: Transport::named(&case.transport),
            firmware: None,
        };
        self.seen.push((dut_over(&case.dut, &case.transport), seen));
    }

    /// Takes note of what a device can do, as it showed over one transport: it must meet the
    /// requirements that go with it.
    pub(super) fn device(
        &mut self,
        dut: &str,
        transport: &str,
        capabilities: &BTreeSet<String>,
        firmware: Option<String>,
    ) {
        let seen = SeenDevice { transport: Transport::named(transport), firmware };
        self.firmware.insert(dut_over(dut, transport), seen);
        let required = self.policy.catalogue.required(capabilities);
        let slugs = required.map(|requirement| requirement.id.clone()).collect();
        let dut_run = dut_over(dut, transport);
        let shown = &mut self.summary.capabilities;
        shown.insert(dut_run.clone(), capabilities.clone());
        self.required.push((dut_run, slugs));
    }

    /// What each device (`dut/transport`) showed that it can do.
    pub(super) fn capabilities(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.summary.capabilities
    }

    /// Takes note of how long a device took for its answers over one transport.
    pub(super) fn timing(&mut self, dut: &str, transport: &str, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.summary.timing.insert(dut_over(dut, transport), rows);
        }
    }

    /// Takes note of how often a device was waited for over one transport.
    pub(super) fn round_trips(&mut self, dut: &str, transport: &str, number: u64) {
        if number > 0 {
            self.summary.round_trips.insert(dut_over(dut, transport), number);
        }
    }

    /// Takes note of how many messages to a device were in flight together over one transport.
    pub(super) fn in_flight(&mut self, dut: &str, transport: &str, number: u64) {
        if number > 1 {
            self.summary.in_flight.insert(dut_over(dut, transport), number);
        }
    }

    /// Takes note of the answers of a device that were waited for in vain over one transport.
    pub(super) fn unanswered(&mut self, dut: &str, transport: &str, unanswered: Unanswered) {
        if unanswered.number > 0 {
            self.summary.unanswered.insert(dut_over(dut, transport), unanswered);
        }
    }

    /// Takes note of the cases that there was no time for on a device over one transport.
    pub(super) fn left_out(&mut self, dut: &str, transport: &str, cases: Vec<String>) {
        if !cases.is_empty() {
            self.summary.left_out.insert(dut_over(dut, transport), cases);
        }
    }

    /// Whether there were any.
    pub(super) fn has_left_out(&self) -> bool {
        !self.summary.left_out.is_empty()
    }

    /// Takes note of the free memory that a device told over one transport.
    pub(super) fn memory(&mut self, dut: &str, transport: &str, seen: Option<FreeMemory>) {
        self.summary.memory.extend(seen.map(|seen| (dut_over(dut, transport), seen)));
    }

    /// The version that the device told over any transport.
    pub(super) fn firmware(&self) -> Option<String> {
        let mut devices = self.firmware.values();
        devices.find_map(|device| device.firmware.clone())
    }

    /// Takes note that two transports were compared: with it go only the requirements that need
    /// both.
    pub(super) fn compared(&mut self, dut: &str) {
        let catalogue = self.policy.catalogue;
        let none = BTreeSet::new();
        let alone: BTreeSet<&str> =
            catalogue.required(&none).map(|requirement| requirement.id.as_str()).collect();
        let both = BTreeSet::from(["both-transports".to_owned()]);
        let slugs = catalogue
            .required(&both)
            .filter(|requirement| !alone.contains(requirement.id.as_str()))
            .map(|requirement| requirement.id.clone())
            .collect();
        self.required.push((dut_over(dut, BOTH), slugs));
    }

    /// The summary. A requirement counts as exercised when it was on every device and transport
    /// that must meet it.
    pub(super) fn summary(mut self) -> Summary {
        let mut required: BTreeSet<&str> = BTreeSet::new();
        let mut missed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (dut_run, slugs) in &self.required {
            for slug in slugs {
                required.insert(slug);
                let exercised = self.exercised.get(dut_run);
                if !exercised.is_some_and(|slugs| slugs.contains(slug)) {
                    missed.entry(slug).or_default().push(dut_run);
                }
            }
        }
        self.summary.required = required.len();
        self.summary.exercised = required.len() - missed.len();
        if self.whole_suite && self.summary.cases > 0 {
            let several = self.required.len() > 1;
            let named = |(slug, dut_runs): (&&str, &Vec<&str>)| match several {
                true => format!("{slug} ({})", dut_runs.join(", ")),
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
        if let Some(baseline) = self.policy.baseline {
            let (seen, today) = (self.seen(missed), self.policy.today);
            let stale = baseline.stale(&seen, today).into_iter();
            self.summary.stale =
                stale.map(|(at, why)| format!("{}: {why}", baseline.known[at].name())).collect();
            self.summary.covered = covered(baseline, &seen, today);
        }
        self.summary
    }

    /// Whether the baseline says of a requirement that nothing puts it to the test.
    fn is_excused(&self, slug: &str) -> bool {
        let firmware = self.firmware();
        let baseline = self.policy.baseline;
        baseline.is_some_and(|it| it.excuses(slug, self.policy.today, firmware.as_deref()))
    }

    /// What was seen, as far as a baseline speaks of it.
    fn seen(&self, unexercised: BTreeSet<String>) -> Seen {
        let told = |dut_run: &str| self.firmware.get(dut_run).map(|it| it.firmware.clone());
        let cases = self.seen.iter().map(|(dut_run, case)| SeenCase {
            // A comparison of transports stands on both.
            firmware: told(dut_run).unwrap_or_else(|| self.firmware()),
            ..case.clone()
        });
        Seen {
            cases: cases.collect(),
            devices: self.firmware.values().cloned().collect(),
            unexercised,
            whole_suite: self.whole_suite,
            is_part: self.is_part,
        }
    }
}

/// What entries of a baseline covered that they do not name.
fn covered(baseline: &Baseline, seen: &Seen, today: &str) -> Vec<CoveredBy> {
    let covered = baseline.covered(seen, today).into_iter();
    covered
        .map(|covered| {
            let known = &baseline.known[covered.entry];
            let failures = covered.failures.into_iter();
            CoveredBy {
                entry: known.name(),
                any_requirement: known.requirement.is_none(),
                failures: failures.map(|(case, slug)| format!("{case}:{slug}")).collect(),
            }
        })
        .collect()
}

/// The requirements that a case fails, known failures among them.
pub fn failing(case: &CaseReport) -> impl Iterator<Item = &str> {
    let fails = case.findings.iter();
    let fails = fails.filter(|finding| finding.verdict == Verdict::Fail);
    fails.map(|finding| &*finding.requirement)
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::catalogue::{Catalogue, RuleSet};
    use mcp_hil_record::event::{OUT_OF_BUDGET, OUT_OF_TIME};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all_inputs(None, true)]
    #[case::enough_failures(Some("5 failures were found"), true)]
    #[case::time(Some(OUT_OF_TIME), false)]
    #[case::budget(Some(OUT_OF_BUDGET), false)]
    fn what_there_was_no_time_for_is_not_missed(
        #[case] ended: Option<&str>,
        #[case] is_missed: bool,
    ) {
        let files = mcp_hil_scenarios::requirements().iter().copied();
        let catalogue = Catalogue::load(files, RuleSet::DEFAULT).unwrap();
        let policy = VerdictPolicy {
            catalogue: &catalogue,
            strict: false,
            baseline: None,
            today: "2030-01-01",
            transport: None,
            firmware: None,
            symbols: None,
        };
        let mut tally = Tally::new(policy, true);
        tally.device("native", "websocket", &BTreeSet::new(), None);
        let generated = Generated { ended: ended.map(str::to_owned), ..Generated::default() };
        tally.case(&CaseReport {
            verdict: Verdict::Pass,
            generated: Some(generated),
            ..CaseReport::blank("native", "websocket", "properties/arguments", "")
        });
        assert_eq!(!tally.summary().unexercised.is_empty(), is_missed);
    }
}
