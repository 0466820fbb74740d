//! `--last-failed`: what a device did not pass when it was last run, by the records of earlier runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mcp_hil_record::Record;
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::read::read_record;

/// How many earlier runs are looked at: other devices share the folder.
const LOOKS: usize = 60;

/// The cases that a device did not pass when each was last run, over any transport; `None` if it was never run. Runs of
/// a part of the suite say nothing about the other cases, so earlier runs are asked, until one had all of them.
pub(super) fn last_failed(out: &Path, dut: &str) -> Option<BTreeSet<String>> {
    let mut runs: Vec<PathBuf> = std::fs::read_dir(out)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        // `latest` is a link to one of them.
        .filter(|path| !path.is_symlink() && path.join("report.json").is_file())
        .collect();
    runs.sort();
    let runs = runs.iter().rev().take(LOOKS);
    of_runs(runs.filter_map(|folder| read_record(folder).ok()), dut)
}

/// The same of records, the newest first.
fn of_runs(records: impl Iterator<Item = Record>, dut: &str) -> Option<BTreeSet<String>> {
    let mut last: BTreeMap<(String, String), bool> = BTreeMap::new();
    for record in records {
        for case in record.cases.iter().filter(|case| case.dut == dut) {
            let key = (case.case.clone(), case.transport.clone());
            last.entry(key).or_insert_with(|| is_failure(case));
        }
        let whole =
            record.run.basis.is_some_and(|basis| basis.whole_suite && basis.shard.is_none());
        let summary = &record.summary;
        let complete = whole && !summary.interrupted && summary.stopped.is_none();
        if complete && record.run.duts.iter().any(|known| known.name == dut) {
            break;
        }
    }
    if last.is_empty() {
        return None;
    }
    let failed = last.into_iter().filter(|(_, failed)| *failed);
    Some(failed.map(|((case, _), _)| case).collect())
}

/// Whether a case is one to try again: it did not pass, and nobody knew of it.
fn is_failure(case: &CaseReport) -> bool {
    case.is_red() || case.flaky
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::verdict::Verdict;
    use mcp_hil_record::event::{Basis, RunStarted, Summary};

    use super::*;

    /// A run of a device; `whole` where it is of the whole suite.
    fn record(whole: bool, cases: &[(&str, &str, Verdict)]) -> Record {
        let report = |(dut, case, verdict): &(&str, &str, Verdict)| CaseReport {
            verdict: *verdict,
            ..CaseReport::blank(dut, "websocket", case, "")
        };
        let basis = Basis { whole_suite: whole, ..Basis::default() };
        Record {
            schema: 1,
            run: RunStarted { basis: Some(basis), ..RunStarted::default() },
            duts: Vec::new(),
            cases: cases.iter().map(report).collect(),
            answers: Vec::new(),
            notices: Vec::new(),
            summary: Summary::default(),
        }
    }

    #[test]
    fn the_newest_verdict_of_each_case_counts() {
        let (pass, fail) = (Verdict::Pass, Verdict::Fail);
        let runs = [
            record(false, &[("a", "x/one", pass), ("b", "x/two", pass)]),
            record(false, &[("a", "x/three", fail)]),
            record(true, &[("a", "x/one", fail), ("a", "x/two", fail), ("a", "x/three", pass)]),
        ];
        let failed = of_runs(runs.clone().into_iter(), "a").unwrap();
        assert_eq!(failed.into_iter().collect::<Vec<_>>(), ["x/three", "x/two"]);
        assert_eq!(of_runs(runs.into_iter(), "b"), Some(BTreeSet::new()));
        assert_eq!(of_runs(std::iter::empty(), "a"), None);
    }
}
