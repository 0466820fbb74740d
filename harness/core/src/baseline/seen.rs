//! The other direction: what is listed must fail, on the day and on the firmware that it is listed for.

use std::collections::{BTreeMap, BTreeSet};

use super::{Baseline, Failing, Known};
use crate::transport::Transport;

/// What a run has seen of the devices, as far as a baseline speaks of it.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The devices that got known.
    pub devices: Vec<SeenDevice>,
    /// The cases that were carried out.
    pub cases: Vec<SeenCase>,
    /// The requirements that should have been exercised and were not.
    pub unexercised: BTreeSet<String>,
    /// Whether all cases of the suite were selected.
    pub whole_suite: bool,
    /// Whether the rest of the run is carried out elsewhere: what does not fail here may fail there.
    pub is_part: bool,
}

/// A device over one transport.
#[derive(Debug, Clone, Default)]
pub struct SeenDevice {
    /// The transport.
    pub transport: Option<Transport>,
    /// The version that it told.
    pub firmware: Option<String>,
}

/// A case that was carried out.
#[derive(Debug, Clone, Default)]
pub struct SeenCase {
    /// Its id.
    pub case: String,
    /// The requirements that fail.
    pub failing: BTreeSet<String>,
    /// The requirements that were exercised.
    pub exercised: BTreeSet<String>,
    /// The transport; `None` for a comparison of both.
    pub transport: Option<Transport>,
    /// The version that the device told.
    pub firmware: Option<String>,
}

/// What an entry covered without naming it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// Number of the entry.
    pub entry: usize,
    /// What failed: the case and the requirement, each pair once, in order.
    pub failures: BTreeSet<(String, String)>,
}

impl SeenCase {
    /// What fails in it.
    pub fn failures(&self) -> impl Iterator<Item = Failing<'_>> {
        self.failing.iter().map(|slug| Failing {
            case: &self.case,
            requirement: slug,
            transport: self.transport,
            firmware: self.firmware.as_deref(),
        })
    }
}

impl Baseline {
    /// The entries that do not hold in what was seen on a day (`YYYY-MM-DD`), each with the reason.
    pub fn stale(&self, seen: &Seen, today: &str) -> Vec<(usize, String)> {
        let failures = || seen.cases.iter().flat_map(SeenCase::failures);
        // That another entry covers a failure as well, and comes first, makes none stale.
        let is_used = |known: &Known| {
            let counts =
                |failing: Failing<'_>| known.is_about(&failing) && known.is_for(failing.firmware);
            !known.unexercised && failures().any(counts)
        };
        let reason = |(at, known): (usize, &Known)| {
            Some((at, known.why_stale(seen, today, is_used(known))?))
        };
        self.known.iter().enumerate().filter_map(reason).collect()
    }

    /// What was covered on a day by entries that name more than one case and one requirement.
    pub fn covered(&self, seen: &Seen, today: &str) -> Vec<Covered> {
        let mut covered: BTreeMap<usize, BTreeSet<(String, String)>> = BTreeMap::new();
        for failing in seen.cases.iter().flat_map(SeenCase::failures) {
            if let Some(at) = self.covering(&failing, today)
                && !self.known[at].is_exact()
            {
                let failure = (failing.case.to_owned(), failing.requirement.to_owned());
                covered.entry(at).or_default().insert(failure);
            }
        }
        let covered = covered.into_iter();
        covered.map(|(entry, failures)| Covered { entry, failures }).collect()
    }
}

impl Known {
    fn why_stale(&self, seen: &Seen, today: &str, used: bool) -> Option<String> {
        if self.is_expired(today) {
            let date = self.expires.as_deref().unwrap_or_default();
            return Some(format!("expired on {date}"));
        }
        // A device that told no version may be the one that the entry is for.
        let mut versions = seen.devices.iter().map(|device| device.firmware.as_deref());
        if let (Some(range), Some(Some(version))) = (&self.firmware, versions.clone().next())
            && !versions.any(|version| version.is_none() || self.is_for(version))
        {
            return Some(format!("for firmware {range}, but the device has {version}"));
        }
        if seen.is_part {
            return None;
        }
        if self.unexercised {
            let slug = self.requirement.as_deref().unwrap_or_default();
            let open = seen.unexercised.contains(slug);
            return (seen.whole_suite && !open && !self.intermittent).then(|| {
                "listed as unexercised, but it was exercised, or is not in force".to_owned()
            });
        }
        let tried = seen.cases.iter().any(|case| self.is_tried(case, seen));
        (tried && !used && !self.intermittent)
            .then(|| "listed as failing, but it no longer fails".to_owned())
    }

    /// Whether it would have shown in a case. Of an entry for every case that can be said only after
    /// the whole suite, and only where something put its requirement to the test.
    fn is_tried(&self, case: &SeenCase, seen: &Seen) -> bool {
        // What counts for other firmware, or for a version that was not told, cannot have shown.
        if !self.is_over(case.transport) || !self.is_for(case.firmware.as_deref()) {
            return false;
        }
        if self.case != "*" {
            return self.covers(&case.case);
        }
        let mut exercised = case.exercised.iter();
        let tested = self.requirement.is_none() || exercised.any(|slug| self.names(slug));
        seen.whole_suite && tested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: &str = "2026-11-21";

    fn seen(case: &str, failing: &[&str], exercised: &[&str]) -> Seen {
        let set = |list: &[&str]| list.iter().map(|slug| (*slug).to_owned()).collect();
        Seen {
            devices: vec![SeenDevice {
                transport: Some(Transport::WebSocket),
                firmware: Some("2.4.2".into()),
            }],
            cases: vec![SeenCase {
                case: case.into(),
                failing: set(failing),
                exercised: set(exercised),
                transport: Some(Transport::WebSocket),
                firmware: Some("2.4.2".into()),
            }],
            unexercised: ["errors.object".to_owned()].into(),
            whole_suite: true,
            is_part: false,
        }
    }

    fn reasons(entry: &str, seen: &Seen) -> Vec<String> {
        let text = format!("[[known]]\nreason = \"r\"\n{entry}\n");
        let baseline = Baseline::load("b.toml", &text).unwrap();
        let stale = baseline.stale(seen, DAY);
        stale.into_iter().map(|(_, why)| why).collect()
    }

    #[test]
    fn what_fails_as_listed_is_not_stale() {
        let seen = seen("ids/large", &["ids.echo"], &["ids.echo"]);
        for entry in [
            "case = \"ids/large\"",
            "case = \"ids/large\"\nrequirement = \"ids.echo\"",
            "case = \"ids/\"\nfirmware = \"~2.4\"\nexpires = \"2026-11-21\"",
            "case = \"*\"\nrequirement = \"ids.echo\"",
        ] {
            assert_eq!(reasons(entry, &seen), [""; 0], "{entry}");
        }
    }

    #[test]
    fn what_passes_is_stale_where_it_was_tried() {
        let passes = seen("ids/large", &[], &["ids.echo"]);
        let gone = ["listed as failing, but it no longer fails"];
        assert_eq!(reasons("case = \"ids/large\"", &passes), gone);
        assert_eq!(reasons("case = \"ids/\"", &passes), gone);
        let everywhere = "case = \"*\"\nrequirement = \"ids.echo\"";
        assert_eq!(reasons(everywhere, &passes), gone);
        let part = Seen { whole_suite: false, ..passes.clone() };
        assert_eq!(reasons(everywhere, &part), [""; 0]);
        let other = "case = \"*\"\nrequirement = \"ids.zero\"";
        assert_eq!(reasons(other, &passes), [""; 0], "nothing exercised it");
        assert_eq!(reasons("case = \"volume/set\"", &passes), [""; 0]);
        assert_eq!(reasons("case = \"ids/large\"\nintermittent = true", &passes), [""; 0]);
    }

    #[test]
    fn what_nothing_puts_to_the_test_can_be_listed() {
        let seen = seen("ids/large", &[], &["ids.echo"]);
        let entry =
            |slug: &str| format!("case = \"*\"\nrequirement = \"{slug}\"\nunexercised = true");
        assert_eq!(reasons(&entry("errors.object"), &seen), [""; 0]);
        let tried = ["listed as unexercised, but it was exercised, or is not in force"];
        assert_eq!(reasons(&entry("ids.echo"), &seen), tried);
        let text = format!("[[known]]\nreason = \"r\"\n{}\n", entry("errors.object"));
        let baseline = Baseline::load("b.toml", &text).unwrap();
        assert!(baseline.excuses("errors.object", DAY, None));
        assert!(!baseline.excuses("ids.echo", DAY, None));
        // It says nothing of what fails.
        let failing =
            Failing { case: "ids/large", requirement: "errors.object", ..Failing::default() };
        assert_eq!(baseline.covering(&failing, DAY), None);
    }

    #[test]
    fn what_is_out_of_its_range_is_stale_whatever_fails() {
        let mut seen = seen("ids/large", &["ids.echo"], &["ids.echo"]);
        let entry = "case = \"ids/large\"\nfirmware = \">=2.5\"";
        let for_other = ["for firmware >=2.5, but the device has 2.4.2"];
        assert_eq!(reasons(entry, &seen), for_other);
        // Whether the entry holds for a device without a version, nobody can tell.
        seen.devices[0].firmware = None;
        seen.cases[0].firmware = None;
        assert_eq!(reasons(entry, &seen), [""; 0]);
        // No device was seen: nothing can be said.
        assert_eq!(reasons(entry, &Seen::default()), [""; 0]);
        assert_eq!(
            reasons("case = \"ids/large\"\nexpires = \"2026-11-20\"", &Seen::default()),
            ["expired on 2026-11-20"]
        );
    }

    #[test]
    fn an_entry_is_not_stale_because_another_covers_the_same() {
        let seen = seen("ids/large", &["ids.echo"], &["ids.echo"]);
        let both =
            "case = \"*\"\nrequirement = \"ids.echo\"\n[[known]]\nreason = \"r\"\ncase = \"ids/\"";
        assert_eq!(reasons(both, &seen), [""; 0]);
    }

    #[test]
    fn an_entry_for_one_transport_is_stale_over_that_one_only() {
        let passes = seen("ids/large", &[], &["ids.echo"]);
        let gone = ["listed as failing, but it no longer fails"];
        for case in ["ids/large", "*"] {
            let entry = |transport: &str| {
                format!(
                    "case = \"{case}\"\nrequirement = \"ids.echo\"\ntransport = \"{transport}\""
                )
            };
            assert_eq!(reasons(&entry("websocket"), &passes), gone);
            assert_eq!(reasons(&entry("mqtt"), &passes), [""; 0]);
        }
    }

    #[test]
    fn what_an_entry_covers_without_naming_it_is_told() {
        let seen = seen("ids/large", &["ids.echo", "liveness.no-panic"], &[]);
        let covered = |entry: &str| {
            let text = format!("[[known]]\nreason = \"r\"\n{entry}\n");
            let baseline = Baseline::load("b.toml", &text).unwrap();
            let covered = baseline.covered(&seen, DAY).into_iter();
            let failures = covered.flat_map(|covered| covered.failures);
            failures.map(|(_, slug)| slug).collect::<Vec<_>>()
        };
        assert_eq!(covered("case = \"ids/\""), ["ids.echo"]);
        assert_eq!(covered("case = \"*\"\nrequirement = \"ids.echo\""), ["ids.echo"]);
        assert_eq!(covered("case = \"ids/large\"\nrequirement = \"ids.echo\""), [""; 0]);
    }
}
