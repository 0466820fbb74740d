//! The list of known failures of a device, enforced both ways: what fails must be listed, and
//! what is listed must fail.

mod firmware;
mod seen;

use serde::{Deserialize, Serialize};

use crate::problem::Problem;

pub use firmware::FirmwareRange;
pub use seen::{Seen, SeenCase, SeenDevice};

/// Known failures of one device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The entries; `[[known]]` tables in the file.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// One known failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Case id, or a prefix of it that ends in `/`, or `*` for every case.
    pub case: String,
    /// Slug of the requirement; absent means any finding of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Why it is known and tolerated.
    pub reason: String,
    /// Where it is discussed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Last day on which the entry counts, as `YYYY-MM-DD`; absent means for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Versions of the firmware for which the entry counts; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<FirmwareRange>,
    /// Whether it shows by chance, such as in generated inputs: a run without it is no news.
    #[serde(default, skip_serializing_if = "is_false")]
    pub intermittent: bool,
    /// Whether it is about a requirement that nothing puts to the test on this device, and not about one
    /// that it breaks: a device without errors leaves open what they look like.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unexercised: bool,
    /// Whether a program wrote the entry and nobody has read it yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub review: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Baseline {
    /// Reads a baseline file.
    ///
    /// # Errors
    ///
    /// Broken TOML, unknown members, an empty reason, a date of another form, a range of versions that
    /// is none, the same entry twice.
    pub fn load(name: &str, text: &str) -> Result<Self, Problem> {
        let baseline: Self =
            toml::from_str(text).map_err(|error| Problem::from_toml(name, text, &error))?;
        for (at, known) in baseline.known.iter().enumerate() {
            let line = line_of(text, at);
            if known.reason.trim().is_empty() {
                return Err(Problem::at(
                    name,
                    line,
                    0,
                    format!("`{}` has an empty reason", known.case),
                )
                .hint("say why the failure is tolerated, and where it is tracked"));
            }
            if let Some(date) = known.expires.as_deref().filter(|date| !is_date(date)) {
                return Err(Problem::at(
                    name,
                    line,
                    0,
                    format!("`expires = \"{date}\"`: expected a date of the form YYYY-MM-DD"),
                ));
            }
            if known.unexercised && (known.case != "*" || known.requirement.is_none()) {
                return Err(Problem::at(
                    name,
                    line,
                    0,
                    format!("`{}` is listed as unexercised", known.name()),
                )
                .hint(
                    "that is said of a requirement and all cases: `case = \"*\"` and `requirement`",
                ));
            }
            let key = |it: &Known| (it.name(), it.firmware.clone(), it.unexercised);
            let same = |other: &Known| key(other) == key(known);
            if baseline.known[..at].iter().any(same) {
                return Err(Problem::at(
                    name,
                    line,
                    0,
                    format!("`{}` is listed twice", known.name()),
                )
                .hint("delete one of the entries: only the first one would ever be used"));
            }
        }
        Ok(baseline)
    }

    /// The entry that covers a failing requirement of a case on a day (`YYYY-MM-DD`), with the version
    /// that the device told.
    pub fn covering(
        &self,
        case: &str,
        requirement: &str,
        today: &str,
        firmware: Option<&str>,
    ) -> Option<usize> {
        self.known.iter().position(|known| {
            !known.unexercised
                && known.is_about(case, requirement)
                && !known.is_expired(today)
                && known.is_for(firmware)
        })
    }

    /// Whether an entry says of a requirement that nothing puts it to the test.
    pub fn excuses(&self, requirement: &str, today: &str, firmware: Option<&str>) -> bool {
        self.known.iter().any(|known| {
            known.unexercised
                && known.is_about("*", requirement)
                && !known.is_expired(today)
                && known.is_for(firmware)
        })
    }

    /// Names of the entries that a program wrote and nobody has read yet.
    pub fn unreviewed(&self) -> impl Iterator<Item = String> {
        let entries = self.known.iter().filter(|known| known.review);
        entries.map(Known::name)
    }
}

impl Known {
    /// The case, with the requirement if it names one: `ids/large:ids.echo`.
    pub fn name(&self) -> String {
        match &self.requirement {
            Some(slug) => format!("{}:{slug}", self.case),
            None => self.case.clone(),
        }
    }

    /// Whether it is about a requirement of a case, on whatever day and firmware.
    pub fn is_about(&self, case: &str, requirement: &str) -> bool {
        let own = self.requirement.as_deref();
        self.covers(case) && own.is_none_or(|slug| slug == requirement)
    }

    /// Whether it counts for a device that told this version.
    pub fn is_for(&self, firmware: Option<&str>) -> bool {
        let range = self.firmware.as_ref();
        range.is_none_or(|range| firmware.is_some_and(|version| range.has(version)))
    }

    /// Whether the entry is about the case.
    pub fn covers(&self, case: &str) -> bool {
        self.case == "*"
            || self.case == case
            || (self.case.ends_with('/') && case.starts_with(&self.case))
    }

    /// Whether the entry no longer counts on a day (`YYYY-MM-DD`).
    pub fn is_expired(&self, today: &str) -> bool {
        // Dates of this form compare as text.
        self.expires.as_deref().is_some_and(|last| last < today)
    }
}

/// Whether a text has the form of a date, `YYYY-MM-DD`.
pub fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Line of the case of an entry, counted from 1; 0 where entries have no lines of their own.
fn line_of(text: &str, entry: usize) -> u64 {
    let lines = || (1..).zip(text.lines().map(str::trim_start));
    let heads = lines().filter(|(_, line)| line.starts_with("[[known]]"));
    let Some((head, _)) = heads.into_iter().nth(entry) else {
        return 0;
    };
    let case = lines().find(|(at, line)| *at > head && line.starts_with("case"));
    case.map_or(head, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
[[known]]
case = "errors/unknown-method"
requirement = "errors.code-integer"
reason = "stock firmware sends no code"
expires = "2027-01-31"

[[known]]
case = "ids/"
reason = "ids are C ints"
"#;

    #[test]
    fn entries_cover_by_case_requirement_and_day() {
        let baseline = Baseline::load("stock.toml", FILE).unwrap();
        let covering = |case, slug, day| baseline.covering(case, slug, day, None);
        assert_eq!(
            covering("errors/unknown-method", "errors.code-integer", "2027-01-31"),
            Some(0)
        );
        assert_eq!(
            covering("errors/unknown-method", "errors.code-integer", "2027-02-01"),
            None
        );
        assert_eq!(
            covering("errors/unknown-method", "errors.object", "2027-01-01"),
            None
        );
        assert_eq!(covering("ids/zero", "ids.zero", "2030-01-01"), Some(1));
        assert_eq!(covering("idsy/zero", "ids.zero", "2030-01-01"), None);
    }

    #[test]
    fn entries_cover_the_firmware_that_they_name() {
        let text = FILE.replace("expires = \"2027-01-31\"", "firmware = \">=2.4.0, <2.5\"");
        let baseline = Baseline::load("stock.toml", &text).unwrap();
        let covering = |version| {
            baseline.covering(
                "errors/unknown-method",
                "errors.code-integer",
                "2030-01-01",
                version,
            )
        };
        assert_eq!(covering(Some("2.4.2")), Some(0));
        assert_eq!(covering(Some("2.5.0")), None);
        assert_eq!(covering(None), None);
        // What names no firmware is for all.
        assert_eq!(
            baseline.covering("ids/x", "ids.zero", "2030-01-01", None),
            Some(1)
        );
    }

    #[test]
    fn mistakes_are_named() {
        let load = |text: &str| Baseline::load("b.toml", text).unwrap_err().to_string();
        assert!(load(&FILE.replace("2027-01-31", "31.1.2027")).contains("YYYY-MM-DD"));
        assert!(load(&FILE.replace("\"ids are C ints\"", "\" \"")).contains("b.toml:9"));
        let twice = FILE.replace("ids/", "errors/unknown-method").replace(
            "reason = \"ids are C ints\"",
            "reason = \"again\"\nrequirement = \"errors.code-integer\"",
        );
        assert!(load(&twice).contains("b.toml:9: `errors/unknown-method:errors.code-integer`"));
        let open = FILE.replace("expires = \"2027-01-31\"", "unexercised = true");
        assert!(load(&open).contains("b.toml:3"));
        let range = FILE.replace("expires = \"2027-01-31\"", "firmware = \"two\"");
        assert!(load(&range).contains("`two` is no range of versions"));
        assert!(load(&FILE.replace("reason", "raison")).contains("did you mean `reason`"));
    }
}
