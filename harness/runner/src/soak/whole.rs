//! One report of all rounds.

use mcp_hil_core::capability::Facts;
use mcp_hil_judge::drift::{self, RoundSeen};
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{Event, RunStarted, Summary};
use mcp_hil_record::text::layout::count;

use super::Soak;
use super::record::SoakRecord;
use crate::run::{CaseReports, Driver, DutRunEnd, RunEnd, demands};

/// The case that looks at all rounds together.
const DRIFT: &str = "soak/drift";

/// How many cases that were red are told by name, beside the report.
const MOST_TOLD: usize = 20;

/// Tells reporters of a soak as of a run in which each case occurs once.
pub(super) fn tell(
    soak: &Soak,
    record: &SoakRecord,
    end: RunEnd,
    reporters: &mut Reporters<'_>,
) -> Summary {
    let plan = &soak.plan;
    let transport = plan.transports[0];
    let firmware = record.device.as_ref().and_then(|device| device.server.as_ref());
    let firmware = firmware.map(|(_, version)| version.clone());
    let started = RunStarted {
        cases: record.cases.len() + 1,
        joined: record.rounds.iter().map(|round| round.name.clone()).collect(),
        ..record.run.clone()
    };
    let folder = plan.folder.display().to_string();
    let mut driver = Driver::begin(started, plan.policy(), demands(plan), folder, reporters);
    if let Some(device) = &record.device {
        reporters.event(&Event::DutReady(Box::new(device.clone())));
    }
    for case in &record.cases {
        reporters.event(&Event::CaseFinished(case.clone()));
    }
    let mut own = CaseReports::of(Some(transport), firmware.clone());
    let rounds: Vec<RoundSeen> = record
        .rounds
        .iter()
        .map(|round| RoundSeen { timing: round.timing.clone(), memory: round.memory })
        .collect();
    let outcome = drift::judge(DRIFT, &rounds);
    let mut report = mcp_hil_record::event::CaseReport::blank(
        &plan.dut.name,
        transport.name(),
        DRIFT,
        "Answers stay as quick, and memory as free, from round to round",
    );
    report.repro = format!("mcp-hil soak --resume '{}'", plan.folder.display());
    own.finish(report, outcome, &plan.policy(), reporters);
    for text in notices(record) {
        reporters.event(&Event::Notice { text });
    }
    let last = record.rounds.last();
    let facts = Facts { capabilities: record.capabilities.clone(), ..Facts::default() };
    driver.dut_run(
        &plan.dut.name,
        transport.name(),
        DutRunEnd {
            cases: record.cases.iter().cloned().chain(own.into_cases()).collect(),
            facts: (!record.rounds.is_empty()).then_some(facts),
            firmware,
            timing: last.map(|round| round.timing.clone()).unwrap_or_default(),
            memory: last.and_then(|round| round.memory),
            ..DutRunEnd::default()
        },
    );
    driver.end = RunEnd { took_us: Some(record.took_us), ..end };
    driver.finish(reporters)
}

/// What the report of one run has no place for.
fn notices(record: &SoakRecord) -> Vec<String> {
    let mut told = vec![course(record)];
    for (case, red) in record.red.iter().take(MOST_TOLD) {
        told.push(format!(
            "{case}: not passed in {} of {}; first in {}",
            red.rounds,
            count(record.rounds.len(), "round"),
            red.first
        ));
    }
    if record.red.len() > MOST_TOLD {
        told.push(format!("and {} more cases", record.red.len() - MOST_TOLD));
    }
    told
}

/// The first round and the last one side by side.
fn course(record: &SoakRecord) -> String {
    let mut text = format!(
        "{} in {:.1} min",
        count(record.rounds.len(), "round"),
        record.took_us as f64 / 60e6
    );
    let (Some(first), Some(last)) = (record.rounds.first(), record.rounds.last()) else {
        return text;
    };
    if let (Some(from), Some(to)) = (first.memory, last.memory) {
        text.push_str(&format!("; free memory from {} to {} bytes", from.first, to.last));
    }
    for row in &last.timing {
        if let Some(before) = first.timing.iter().find(|before| before.kind == row.kind) {
            let ms = |us: u64| us as f64 / 1000.0;
            text.push_str(&format!(
                "; {} from {:.1} to {:.1} ms",
                row.kind,
                ms(before.median_us),
                ms(row.median_us)
            ));
        }
    }
    let harness = record.rounds.iter().filter_map(|round| round.harness_kib);
    if let (Some(first), Some(most)) = (first.harness_kib, harness.max()) {
        text.push_str(&format!(
            "; the harness used {} MiB after the first, at most {} MiB",
            first.div_ceil(1024),
            most.div_ceil(1024)
        ));
    }
    text
}
