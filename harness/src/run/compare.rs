//! The last word of a run over two transports: were the answers the same?

use mcp_hil_core::compare::{SAME_ANSWERS, Side, compare};

use super::{Book, Tally};
use crate::event::CaseReport;
use crate::recording::Recorded;
use crate::report::Reporters;

/// Stands for the transport in the report of the comparison.
pub const BOTH: &str = "both";

/// Compares what was recorded of a device over two transports, and reports it as a case.
pub fn same_answers(
    lanes: [&Recorded; 2],
    repro: &str,
    tally: &mut Tally<'_>,
    reporters: &mut Reporters<'_>,
) -> CaseReport {
    let [first, second] = lanes.map(|lane| Side {
        name: &lane.transport,
        entries: &lane.entries,
    });
    let comparison = compare(first, second);
    let title = "The same request gets the same answer over both transports";
    let blank = CaseReport {
        repro: repro.to_owned(),
        ..CaseReport::blank(&lanes[0].dut, BOTH, SAME_ANSWERS, title)
    };
    let mut book = Book::of(tally.firmware());
    let outcome = comparison.outcome();
    book.finish(blank, outcome, &tally.ruling(), reporters);
    let report = book.into_cases().remove(0);
    tally.case(&report);
    tally.compared(&report.dut);
    report
}
