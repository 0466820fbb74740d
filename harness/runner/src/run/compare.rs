//! The last word of a run over two transports: were the answers the same?

use mcp_hil_judge::compare::{SAME_ANSWERS, Side, compare};

use super::{CaseReports, VerdictPolicy};
use mcp_hil_record::Reporters;
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::names::BOTH;
use mcp_hil_record::read::Recorded;

/// Compares what was recorded of a device over two transports, and reports it as a case. `firmware` is the
/// version that the device told.
pub(super) fn same_answers(
    dut_runs: [&Recorded; 2],
    repro: &str,
    policy: &VerdictPolicy<'_>,
    firmware: Option<String>,
    reporters: &mut Reporters<'_>,
) -> CaseReport {
    let [first, second] =
        dut_runs.map(|dut_run| Side { name: &dut_run.transport, entries: &dut_run.entries });
    let comparison = compare(first, second);
    let title = "The same request gets the same answer over both transports";
    let blank = CaseReport {
        repro: repro.to_owned(),
        ..CaseReport::blank(&dut_runs[0].dut, BOTH, SAME_ANSWERS, title)
    };
    let mut case_reports = CaseReports::of(None, firmware);
    case_reports.finish(blank, comparison.outcome(), policy, reporters);
    case_reports.into_cases().remove(0)
}
