//! The other direction: what is listed must fail, on the day and on the firmware that it is listed for.

use std::collections::BTreeSet;

use super::{Baseline, Known};

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
    /// The version that the device told.
    pub firmware: Option<String>,
}

impl Baseline {
    /// The entries that do not hold in what was seen on a day (`YYYY-MM-DD`), each with the reason.
    pub fn stale(&self, seen: &Seen, today: &str) -> Vec<(usize, String)> {
        let mut used = BTreeSet::new();
        for case in &seen.cases {
            for slug in &case.failing {
                used.extend(self.covering(&case.case, slug, today, case.firmware.as_deref()));
            }
        }
        let reason = |(at, known): (usize, &Known)| {
            let used = used.contains(&at);
            Some((at, known.why_stale(seen, today, used)?))
        };
        self.known.iter().enumerate().filter_map(reason).collect()
    }
}

impl Known {
    fn why_stale(&self, seen: &Seen, today: &str, used: bool) -> Option<String> {
        if self.is_expired(today) {
            let date = self.expires.as_deref().unwrap_or_default();
            return Some(format!("expired on {date}"));
        }
        let mut devices = seen.devices.iter();
        if let (Some(range), Some(device)) = (&self.firmware, seen.devices.first())
            && !devices.any(|device| self.is_for(device.firmware.as_deref()))
        {
            return Some(match &device.firmware {
                Some(version) => format!("for firmware {range}, and the device has {version}"),
                None => format!("for firmware {range}, and the device told no version"),
            });
        }
        if seen.is_part {
            return None;
        }
        if self.unexercised {
            let slug = self.requirement.as_deref().unwrap_or_default();
            let open = seen.unexercised.contains(slug);
            return (seen.whole_suite && !open).then(|| {
                "listed as unexercised, but it was put to the test, or is not asked for".to_owned()
            });
        }
        let tried = seen.cases.iter().any(|case| self.is_tried(case, seen));
        (tried && !used && !self.intermittent)
            .then(|| "listed as failing, but it no longer fails".to_owned())
    }

    /// Whether it would have shown in a case. Of an entry for every case that can be said only after
    /// the whole suite, and only where something put its requirement to the test.
    fn is_tried(&self, case: &SeenCase, seen: &Seen) -> bool {
        if self.case != "*" {
            return self.covers(&case.case);
        }
        let slug = self.requirement.as_ref();
        seen.whole_suite && slug.is_none_or(|slug| case.exercised.contains(slug))
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
                firmware: Some("2.4.2".into()),
            }],
            cases: vec![SeenCase {
                case: case.into(),
                failing: set(failing),
                exercised: set(exercised),
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
        let part = Seen {
            whole_suite: false,
            ..passes.clone()
        };
        assert_eq!(reasons(everywhere, &part), [""; 0]);
        let other = "case = \"*\"\nrequirement = \"ids.zero\"";
        assert_eq!(reasons(other, &passes), [""; 0], "nothing exercised it");
        assert_eq!(reasons("case = \"volume/set\"", &passes), [""; 0]);
        assert_eq!(
            reasons("case = \"ids/large\"\nintermittent = true", &passes),
            [""; 0]
        );
    }

    #[test]
    fn what_nothing_puts_to_the_test_can_be_listed() {
        let seen = seen("ids/large", &[], &["ids.echo"]);
        let entry =
            |slug: &str| format!("case = \"*\"\nrequirement = \"{slug}\"\nunexercised = true");
        assert_eq!(reasons(&entry("errors.object"), &seen), [""; 0]);
        let tried = ["listed as unexercised, but it was put to the test, or is not asked for"];
        assert_eq!(reasons(&entry("ids.echo"), &seen), tried);
        let text = format!("[[known]]\nreason = \"r\"\n{}\n", entry("errors.object"));
        let baseline = Baseline::load("b.toml", &text).unwrap();
        assert!(baseline.excuses("errors.object", DAY, None));
        assert!(!baseline.excuses("ids.echo", DAY, None));
        // It says nothing of what fails.
        assert_eq!(
            baseline.covering("ids/large", "errors.object", DAY, None),
            None
        );
    }

    #[test]
    fn what_is_out_of_its_range_is_stale_whatever_fails() {
        let mut seen = seen("ids/large", &["ids.echo"], &["ids.echo"]);
        let entry = "case = \"ids/large\"\nfirmware = \">=2.5\"";
        let for_other = ["for firmware >=2.5, and the device has 2.4.2"];
        assert_eq!(reasons(entry, &seen), for_other);
        seen.devices[0].firmware = None;
        let told_none = ["for firmware >=2.5, and the device told no version"];
        assert_eq!(reasons(entry, &seen), told_none);
        // No device was seen: nothing can be said.
        assert_eq!(reasons(entry, &Seen::default()), [""; 0]);
        assert_eq!(
            reasons(
                "case = \"ids/large\"\nexpires = \"2026-11-20\"",
                &Seen::default()
            ),
            ["expired on 2026-11-20"]
        );
    }
}
