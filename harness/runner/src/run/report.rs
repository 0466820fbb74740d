//! From judgements to the report of a case.

use mcp_hil_core::baseline::{Baseline, Failing};
use mcp_hil_core::catalogue::{Catalogue, RequirementId};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Finding, Judgement, Verdict};
use mcp_hil_judge::check::{CaseOutcome, breaks_down};
use mcp_hil_scenario::Case;

use crate::plan::Plan;
use mcp_hil_bench::backtrace::Symbols;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{CaseReport, Event};

/// What turns judgements into verdicts.
#[derive(Debug, Clone, Copy)]
pub struct VerdictPolicy<'a> {
    /// The requirements.
    pub catalogue: &'a Catalogue,
    /// Whether broken SHOULDs fail.
    pub strict: bool,
    /// Known failures.
    pub baseline: Option<&'a Baseline>,
    /// The day of the run, `YYYY-MM-DD`.
    pub today: &'a str,
    /// The transport over which the device is talked to, where it is one.
    pub transport: Option<Transport>,
    /// The version that the device told, once it did.
    pub firmware: Option<&'a str>,
    /// The program of the device, to tell where in it the device broke down.
    pub symbols: Option<&'a Symbols>,
}

impl Plan {
    /// What turns judgements into verdicts in this run.
    pub fn policy(&self) -> VerdictPolicy<'_> {
        VerdictPolicy {
            catalogue: &self.catalogue,
            strict: self.strict,
            baseline: self.baseline.as_ref(),
            today: &self.today,
            transport: None,
            firmware: None,
            symbols: self.symbols.as_ref().and_then(|it| it.as_deref().ok()),
        }
    }
}

impl VerdictPolicy<'_> {
    /// The finding of a judgement, with the baseline's word on it.
    pub fn finding(&self, judgement: &Judgement, late: bool) -> Option<Finding> {
        let mut finding = Finding::of(judgement, self.catalogue, self.strict)?;
        finding.late = late;
        let failing = Failing {
            case: &judgement.case,
            requirement: judgement.requirement.slug(),
            transport: self.transport,
            firmware: self.firmware,
        };
        finding.known = finding.verdict == Verdict::Fail
            && self
                .baseline
                .is_some_and(|baseline| baseline.covering(&failing, self.today).is_some());
        Some(finding)
    }

    /// Adds what was found about a case after it had ended. Returns whether it changes anything.
    fn revise(
        &self,
        report: &mut CaseReport,
        judgement: &Judgement,
        transcripts: &[(u64, String)],
    ) -> bool {
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
        let finding = place(finding, report, transcripts);
        report.findings.push(finding);
        settle(report);
        true
    }
}

/// A finding about a case with the file of its evidence, where that is the file of another case.
fn place(mut finding: Finding, report: &CaseReport, transcripts: &[(u64, String)]) -> Finding {
    let file = finding.seq.and_then(|seq| {
        let before = transcripts.iter().filter(|(began, _)| *began <= seq);
        before.max_by_key(|(began, _)| *began).map(|(_, file)| file.clone())
    });
    finding.transcript = file.filter(|file| report.transcript.as_ref() != Some(file));
    finding
}

/// Takes back what was found about a case after it had ended. Returns whether that changes anything.
fn withdraw(policy: &VerdictPolicy<'_>, report: &mut CaseReport, judgement: &Judgement) -> bool {
    let Some(withdrawn) = policy.finding(judgement, false) else {
        return false;
    };
    let same = |known: &Finding| {
        let about = known.requirement == withdrawn.requirement && known.step == withdrawn.step;
        about && known.expected == withdrawn.expected && known.received == withdrawn.received
    };
    let before = report.findings.len();
    report.findings.retain(|known| !same(known));
    let changes = report.findings.len() < before;
    if changes {
        settle(report);
    }
    changes
}

/// What a case brought for earlier ones.
struct Late {
    /// What was found about them after their end.
    found: Vec<Judgement>,
    /// What was found before, and holds no longer.
    withdrawn: Vec<Judgement>,
}

/// The reports of a run so far.
#[derive(Debug, Default)]
pub struct CaseReports {
    cases: Vec<CaseReport>,
    /// How many of them were taken as new.
    taken: usize,
    /// The first entry of each case's transcript, and its file.
    transcripts: Vec<(u64, String)>,
    /// The transport, where it is one.
    transport: Option<Transport>,
    /// The version that the device told.
    firmware: Option<String>,
}

impl CaseReports {
    /// Reports of a device over a transport (`None`: over both), that told this version.
    pub fn of(transport: Option<Transport>, firmware: Option<String>) -> Self {
        Self { transport, firmware, ..Self::default() }
    }

    /// Takes note of the version that the device told.
    pub fn told(&mut self, firmware: Option<String>) {
        self.firmware = firmware;
    }

    /// The version that the device told.
    pub fn firmware(&self) -> Option<&str> {
        self.firmware.as_deref()
    }

    /// The ruling for this device over this transport.
    pub fn policy<'a>(&'a self, policy: &VerdictPolicy<'a>) -> VerdictPolicy<'a> {
        VerdictPolicy { transport: self.transport, firmware: self.firmware.as_deref(), ..*policy }
    }

    /// Completes the report of a case that was run, and revises earlier ones where the case
    /// brought something late.
    pub fn finish(
        &mut self,
        report: CaseReport,
        outcome: CaseOutcome,
        policy: &VerdictPolicy<'_>,
        reporters: &mut Reporters<'_>,
    ) {
        self.finish_after(None, report, outcome, policy, reporters);
    }

    /// The same of the last attempt at a case; `before` is what those before it came to.
    pub fn finish_after(
        &mut self,
        before: Option<CaseReport>,
        report: CaseReport,
        outcome: CaseOutcome,
        policy: &VerdictPolicy<'_>,
        reporters: &mut Reporters<'_>,
    ) {
        let (report, late) = self.compose(report, outcome, policy);
        let report = match before {
            Some(before) => before.tried_again(report),
            None => report,
        };
        self.add(report, reporters);
        self.revise_earlier(late, policy, reporters);
    }

    /// What an attempt at a case comes to that may not be the last one, with those before it. Nothing is reported but
    /// what it brought for earlier cases.
    pub fn attempt(
        &mut self,
        blank: &CaseReport,
        before: Option<CaseReport>,
        outcome: CaseOutcome,
        policy: &VerdictPolicy<'_>,
        reporters: &mut Reporters<'_>,
    ) -> CaseReport {
        let (report, late) = self.compose(blank.clone(), outcome, policy);
        self.revise_earlier(late, policy, reporters);
        match before {
            Some(before) => before.tried_again(report),
            None => report,
        }
    }

    /// Whether a case passes, or fails only as is known: it need not be tried again.
    pub(super) fn passes(
        &self,
        report: &CaseReport,
        outcome: &CaseOutcome,
        policy: &VerdictPolicy<'_>,
    ) -> bool {
        let policy = self.policy(policy);
        let own = outcome.judgements.iter().filter(|judgement| *judgement.case == *report.case);
        let mut found = own.filter_map(|judgement| policy.finding(judgement, false));
        outcome.not_carried_out.is_none()
            && !found.any(|finding| finding.verdict > Verdict::Pass && !finding.known)
    }

    /// The report of a case, and what came late for earlier ones.
    fn compose(
        &mut self,
        mut report: CaseReport,
        outcome: CaseOutcome,
        policy: &VerdictPolicy<'_>,
    ) -> (CaseReport, Late) {
        let firmware = self.firmware.clone();
        let policy =
            &VerdictPolicy { transport: self.transport, firmware: firmware.as_deref(), ..*policy };
        if let (Some(began), Some(transcript)) = (outcome.began, &report.transcript) {
            self.transcripts.push((began, transcript.clone()));
        }
        let (own, late): (Vec<_>, Vec<_>) =
            outcome.judgements.into_iter().partition(|judgement| *judgement.case == *report.case);
        report.findings = own
            .iter()
            .filter_map(|judgement| policy.finding(judgement, false))
            .map(|finding| place(finding, &report, &self.transcripts))
            .collect();
        let broke_down = |finding: &&mut Finding| {
            RequirementId::of(&finding.requirement).is_some_and(breaks_down)
        };
        let is_silence = |finding: &&mut Finding| {
            let silent = [RequirementId::JsonrpcAnswerRequired, RequirementId::LivenessAnswers];
            finding.verdict == Verdict::Inconclusive
                || silent.iter().any(|one| finding.requirement == one.slug())
        };
        if let Some(finding) = report.findings.iter_mut().find(broke_down) {
            finding.console = outcome.console;
            if let Some(symbols) = policy.symbols {
                finding.places = symbols.explain(&outcome.places);
            }
        } else if let Some(finding) = report.findings.iter_mut().find(is_silence) {
            // Of a device that is deaf, its console may say why.
            finding.console = outcome.console;
        }
        report.exercised = outcome
            .exercised
            .into_iter()
            .filter(|slug| policy.catalogue.active(slug.slug()).is_some())
            .map(|slug| slug.to_string())
            .collect();
        settle(&mut report);
        if let Some(what) = outcome.trouble {
            // A case that the bench cut short exercised nothing but what it found.
            report.exercised = report.findings.iter().map(|f| f.requirement.clone()).collect();
            report = match report.verdict {
                Verdict::Fail if !report.known => CaseReport {
                    reason: Some(format!("and then the bench failed: {what}")),
                    ..report
                },
                _ => spoilt(
                    CaseReport {
                        findings: Vec::new(),
                        exercised: Vec::new(),
                        known: false,
                        ..report
                    },
                    &what,
                ),
            };
        } else if let Some(why) = outcome.not_carried_out
            && report.verdict <= Verdict::Inconclusive
        {
            report.verdict = Verdict::Inconclusive;
            report.reason = Some(why);
        }
        (report, Late { found: late, withdrawn: outcome.withdrawn })
    }

    /// Takes in what came late for earlier cases.
    fn revise_earlier(
        &mut self,
        late: Late,
        policy: &VerdictPolicy<'_>,
        reporters: &mut Reporters<'_>,
    ) {
        let firmware = self.firmware.clone();
        let policy =
            &VerdictPolicy { transport: self.transport, firmware: firmware.as_deref(), ..*policy };
        for judgement in late.withdrawn {
            let mut earlier = self.cases.iter_mut();
            if let Some(earlier) = earlier.find(|case| *case.case == *judgement.case)
                && withdraw(policy, earlier, &judgement)
            {
                reporters.event(&Event::CaseRevised(earlier.clone()));
            }
        }
        for judgement in late.found {
            let earlier = self.cases.iter_mut().find(|case| *case.case == *judgement.case);
            if let Some(earlier) = earlier
                && policy.revise(earlier, &judgement, &self.transcripts)
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

    /// The reports that were added since this was last called.
    pub(super) fn take_new(&mut self) -> impl Iterator<Item = &CaseReport> {
        let first = std::mem::replace(&mut self.taken, self.cases.len());
        self.cases[first..].iter()
    }

    /// How many cases are held against the run, as it stands.
    pub(super) fn red(&self) -> usize {
        self.cases.iter().filter(|case| case.is_red()).count()
    }

    /// All reports.
    pub fn into_cases(self) -> Vec<CaseReport> {
        self.cases
    }
}

/// Line in a case's file of the step that the worst of what was found is about.
pub(super) fn line_of(
    case: &Case,
    outcome: &CaseOutcome,
    policy: &VerdictPolicy<'_>,
) -> Option<u64> {
    let mut worst: Option<(Verdict, &str)> = None;
    for judgement in &outcome.judgements {
        let at = judgement.step.as_deref().filter(|_| *judgement.case == *case.id);
        let found = policy.finding(judgement, false).filter(|finding| !finding.known);
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
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
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
