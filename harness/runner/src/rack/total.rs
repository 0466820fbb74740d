//! What the devices of a run come to together.

use std::collections::BTreeSet;

use mcp_hil_core::capability::Facts;
use mcp_hil_record::Record;
use mcp_hil_record::answers::Answers;
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::names::{BOTH, dut_over};

use super::Rack;
use crate::run::{Driver, DutRunEnd, RunEnd};

/// Tells the driver what each device came to, from the records of the lanes.
pub(super) fn add_up(rack: &Rack, records: &[&Record], driver: &mut Driver<'_>) {
    for record in records {
        for dut in &record.run.duts {
            let end = end_of(record, &dut.name, &dut.transport);
            driver.dut_run(&dut.name, &dut.transport, end);
        }
        driver.compared(cases(record, BOTH).cloned().collect());
    }
    let summaries = || records.iter().map(|record| &record.summary);
    let apart = match rack.has_one_baseline() {
        true => Vec::new(),
        false => rack
            .lanes
            .iter()
            .filter_map(|plan| {
                let record = records.iter().find(|record| record.run.run == plan.run)?;
                Some((plan.dut.name.clone(), record.summary.clone()))
            })
            .collect(),
    };
    let stopped = summaries().find_map(|one| one.stopped.clone());
    driver.end = RunEnd {
        took_us: None,
        // Of a lane whose turn did not come there is no record.
        interrupted: summaries().any(|one| one.interrupted)
            || (stopped.is_none() && records.len() < rack.lanes.len()),
        stopped,
        bench_error: bench_errors(rack, records),
        tried: summaries().flat_map(|one| one.causes.clone()).collect(),
        answers: answers(summaries().filter_map(|one| one.answers.as_ref())),
        apart,
    };
}

fn cases<'a>(record: &'a Record, transport: &str) -> impl Iterator<Item = &'a CaseReport> {
    record.cases.iter().filter(move |case| case.transport == transport)
}

/// What one device came to over one transport.
fn end_of(record: &Record, dut: &str, transport: &str) -> DutRunEnd {
    let dut_run = dut_over(dut, transport);
    let summary = &record.summary;
    let shown = summary.capabilities.get(&dut_run);
    let facts = |capabilities: &BTreeSet<String>| Facts {
        capabilities: capabilities.clone(),
        ..Facts::default()
    };
    let ready = record.duts.iter().find(|ready| ready.transport == transport);
    let server = ready.and_then(|ready| ready.server.as_ref());
    DutRunEnd {
        cases: cases(record, transport).cloned().collect(),
        facts: shown.map(facts),
        firmware: server.map(|(_, version)| version.clone()),
        timing: summary.timing.get(&dut_run).cloned().unwrap_or_default(),
        unanswered: summary.unanswered.get(&dut_run).copied().unwrap_or_default(),
        left_out: summary.left_out.get(&dut_run).cloned().unwrap_or_default(),
        ..DutRunEnd::default()
    }
}

/// Why the bench could not carry out some of the runs, by device.
fn bench_errors(rack: &Rack, records: &[&Record]) -> Option<String> {
    let mut told: Vec<String> =
        rack.refused.iter().map(|(spec, error)| format!("{spec}: {error}")).collect();
    for plan in &rack.lanes {
        let name = &plan.dut.name;
        let record = records.iter().find(|record| record.run.run == plan.run);
        let error = record.and_then(|record| record.summary.bench_error.as_ref());
        told.extend(error.map(|error| format!("{name}: {error}")));
    }
    (!told.is_empty()).then(|| told.join("\n\n"))
}

/// How the answers of all devices compare with the reviewed ones.
fn answers<'a>(of_each: impl Iterator<Item = &'a Answers>) -> Option<Answers> {
    of_each.fold(None, |total: Option<Answers>, one| {
        let mut total = total.unwrap_or_default();
        total.add(one);
        Some(total)
    })
}
