//! From judgements to the report of a case.

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::check::{CaseOutcome, breaks_down};
use mcp_hil_core::scenario::Case;
use mcp_hil_core::verdict::{Finding, Judgement, Verdict};

use crate::backtrace::Symbols;
use crate::event::{CaseReport, Event};
use crate::report::Reporters;

/// What turns judgements into verdicts.
#[derive(Debug, Clone, Copy)]
pub struct Ruling<'a> {
    /// The requirements.
    pub catalogue: &'a Catalogue,
    /// Whether broken SHOULDs fail.
    pub strict: bool,
    /// Known failures.
    pub baseline: Option<&'a Baseline>,
    /// The day of the run, `YYYY-MM-DD`.
    pub today: &'a str,
    /// The version that the device told, once it did.
    pub firmware: Option<&'a str>,
    /// The program of the device, to tell where in it the device broke down.
    pub symbols: Option<&'a Symbols>,
}

impl Ruling<'_> {
    /// The finding of a judgement, with the baseline's word on it.
    pub(crate) fn finding(&self, judgement: &Judgement, late: bool) -> Option<Finding> {
        let mut finding = Finding::of(judgement, self.catalogue, self.strict)?;
        finding.late = late;
        finding.known = finding.verdict == Verdict::Fail
            && self.baseline.is_some_and(|baseline| {
                baseline
                    .covering(
                        &judgement.case,
                        judgement.requirement,
                        self.today,
                        self.firmware,
                    )
                    .is_some()
            });
        Some(finding)
    }

    /// Adds what was found about a case after it had ended. Returns whether it changes anything.
    fn revise(&self, report: &mut CaseReport, judgement: &Judgement) -> bool {
        let Some(finding) = self.finding(judgement, true) else {
            return false;
        };
        // The steps of generated inputs tell nothing apart: all inputs have the same.
        let generated = report.generated.is_some();
        let same = |known: &Finding| {
            known.requirement == finding.requirement
                && (generated || known.step == finding.step)
                && known.verdict >= finding.verdict
        };
        if report.findings.iter().any(same) {
            return false;
        }
        report.findings.push(finding);
        settle(report);
        true
    }
}

/// The reports of a run so far.
#[derive(Debug, Default)]
pub struct Book {
    cases: Vec<CaseReport>,
    /// The version that the device told.
    firmware: Option<String>,
}

impl Book {
    /// Reports of a device that told this version.
    pub fn of(firmware: Option<String>) -> Self {
        Self {
            firmware,
            ..Self::default()
        }
    }

    /// Takes note of the version that the device told.
    pub fn told(&mut self, firmware: Option<String>) {
        self.firmware = firmware;
    }

    /// The version that the device told.
    pub fn firmware(&self) -> Option<&str> {
        self.firmware.as_deref()
    }

    /// Completes the report of a case that was run, and revises earlier ones where the case
    /// brought something late.
    pub fn finish(
        &mut self,
        mut report: CaseReport,
        outcome: CaseOutcome,
        ruling: &Ruling<'_>,
        reporters: &mut Reporters<'_>,
    ) {
        let firmware = self.firmware.clone();
        let ruling = &Ruling {
            firmware: firmware.as_deref(),
            ..*ruling
        };
        if let Some(what) = outcome.trouble {
            // What was found may come of it: a request to a board without power stays unanswered.
            self.add(spoilt(report, &what), reporters);
            return;
        }
        let (own, late): (Vec<_>, Vec<_>) = outcome
            .judgements
            .into_iter()
            .partition(|judgement| *judgement.case == *report.case);
        report.findings = own
            .iter()
            .filter_map(|judgement| ruling.finding(judgement, false))
            .collect();
        let broke_down = |finding: &&mut Finding| breaks_down(&finding.requirement);
        if let Some(symbols) = ruling.symbols
            && let Some(finding) = report.findings.iter_mut().find(broke_down)
        {
            finding.places = symbols.explain(&outcome.places);
        }
        report.exercised = outcome
            .exercised
            .into_iter()
            .filter(|slug| ruling.catalogue.active(slug).is_some())
            .map(str::to_owned)
            .collect();
        settle(&mut report);
        if let Some(why) = outcome.not_carried_out
            && report.verdict <= Verdict::Inconclusive
        {
            report.verdict = Verdict::Inconclusive;
            report.reason = Some(why);
        }
        self.add(report, reporters);
        for judgement in late {
            let earlier = self
                .cases
                .iter_mut()
                .find(|case| *case.case == *judgement.case);
            if let Some(earlier) = earlier
                && ruling.revise(earlier, &judgement)
            {
                reporters.event(&Event::CaseRevised(earlier.clone()));
            }
        }
    }

    /// Adds a report that is complete.
    pub fn add(&mut self, report: CaseReport, reporters: &mut Reporters<'_>) {
        reporters.event(&Event::CaseFinished(report.clone()));
        self.cases.push(report);
    }

    /// All reports.
    pub fn into_cases(self) -> Vec<CaseReport> {
        self.cases
    }
}

/// Line in a case's file of the step that the worst of what was found is about.
pub(super) fn line_of(case: &Case, outcome: &CaseOutcome, ruling: &Ruling<'_>) -> Option<u64> {
    let mut worst: Option<(Verdict, &str)> = None;
    for judgement in &outcome.judgements {
        let at = judgement
            .step
            .as_deref()
            .filter(|_| *judgement.case == *case.id);
        let found = ruling
            .finding(judgement, false)
            .filter(|finding| !finding.known);
        if let (Some(at), Some(found)) = (at, found)
            && worst.is_none_or(|(verdict, _)| found.verdict > verdict)
        {
            worst = Some((found.verdict, at));
        }
    }
    case.line_of(worst?.1)
}

/// The report of a case that the bench spoilt, or did not let begin: it accuses nobody.
pub(super) fn spoilt(report: CaseReport, what: &str) -> CaseReport {
    CaseReport {
        verdict: Verdict::Error,
        reason: Some(format!("the bench, not the device: {what}")),
        ..report
    }
}

/// Works the verdict out of the findings.
fn settle(report: &mut CaseReport) {
    // The worst finding first: it is the one that people look for.
    report
        .findings
        .sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    report.verdict = report
        .findings
        .iter()
        .filter(|finding| !finding.known)
        .map(|finding| finding.verdict)
        .fold(Verdict::Pass, Verdict::and);
    // A known failure is a failure all the same: it is told as one, and not held against the run.
    report.known = report.verdict == Verdict::Pass && report.findings.iter().any(|f| f.known);
    if report.known {
        report.verdict = Verdict::Fail;
    }
    report.reason = report
        .findings
        .iter()
        .find(|finding| finding.verdict == report.verdict && report.verdict != Verdict::Fail)
        .filter(|finding| !finding.is_warning())
        .map(|finding| finding.received.clone());
}
