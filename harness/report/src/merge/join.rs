//! The reports of one device over one transport, of all parts.

use mcp_hil_record::event::CaseReport;

/// Brings reports in the order of `place`, and makes one of those of the same case: every part gets to
/// know the device, and takes a last look at it.
pub(super) fn join<'a>(
    reports: impl Iterator<Item = &'a CaseReport>,
    place: impl Fn(&str) -> usize,
) -> Vec<CaseReport> {
    let mut joined: Vec<CaseReport> = Vec::new();
    for report in reports {
        match joined.iter_mut().find(|known| known.case == report.case) {
            Some(known) => known.join(report),
            None => joined.push(report.clone()),
        }
    }
    joined.sort_by_key(|case| place(&case.case));
    joined
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::verdict::Verdict;

    use super::*;

    fn report(case: &str, verdict: Verdict, known: bool, exercised: &[&str]) -> CaseReport {
        CaseReport {
            verdict,
            known,
            took_us: 5,
            exercised: exercised.iter().map(|slug| (*slug).to_owned()).collect(),
            ..CaseReport::blank("a", "mqtt", case, "title")
        }
    }

    #[test]
    fn the_worst_of_several_reports_stands_and_nothing_that_was_exercised_is_lost() {
        let badness = [
            (Verdict::NotApplicable, false),
            (Verdict::Pass, false),
            (Verdict::Fail, true),
            (Verdict::Inconclusive, false),
            (Verdict::Fail, false),
            (Verdict::Error, false),
        ];
        for (at, worse) in badness.iter().enumerate() {
            for better in &badness[..=at] {
                for pair in [[worse, better], [better, worse]] {
                    let [one, other] = pair;
                    let one = report("x/y", one.0, one.1, &["b.b"]);
                    let other = report("x/y", other.0, other.1, &["a.a", "b.b"]);
                    let joined = join([&one, &other].into_iter(), |_| 0);
                    let [joined] = &joined[..] else { panic!("{joined:?}") };
                    assert_eq!((joined.verdict, joined.known), *worse, "{pair:?}");
                    assert_eq!(joined.exercised, ["a.a", "b.b"]);
                    assert_eq!(joined.took_us, 10);
                }
            }
        }
    }

    #[test]
    fn reports_come_in_the_order_of_one_run() {
        let order = ["c/c", "a/a", "b/b"];
        let reports = ["b/b", "c/c", "a/a"].map(|id| report(id, Verdict::Pass, false, &[]));
        let joined =
            join(reports.iter(), |id| order.iter().position(|known| *known == id).unwrap());
        let ids: Vec<&str> = joined.iter().map(|case| &*case.case).collect();
        assert_eq!(ids, order);
    }
}
