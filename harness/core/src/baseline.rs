//! The list of known failures of a device, enforced both ways: what fails must be listed, and
//! what is listed must fail.

use serde::{Deserialize, Serialize};

use crate::problem::Problem;

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
}

impl Baseline {
    /// Reads a baseline file.
    ///
    /// # Errors
    ///
    /// Broken TOML, unknown members, an empty reason, a date of another form.
    pub fn load(name: &str, text: &str) -> Result<Self, Problem> {
        let baseline: Self =
            toml::from_str(text).map_err(|error| Problem::from_toml(name, text, &error))?;
        for known in &baseline.known {
            let line = line_of(text, &known.case);
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
        }
        Ok(baseline)
    }

    /// The entry that covers a failing requirement of a case on a day (`YYYY-MM-DD`).
    pub fn covering(&self, case: &str, requirement: &str, today: &str) -> Option<usize> {
        self.known.iter().position(|known| {
            known.covers(case)
                && known
                    .requirement
                    .as_deref()
                    .is_none_or(|slug| slug == requirement)
                && !known.is_expired(today)
        })
    }
}

impl Known {
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

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn line_of(text: &str, case: &str) -> u64 {
    text.lines()
        .position(|line| line.trim_start().starts_with("case") && line.contains(case))
        .map_or(0, |at| at as u64 + 1)
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
        let covering = |case, slug, day| baseline.covering(case, slug, day);
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
    fn mistakes_are_named() {
        let load = |text: &str| Baseline::load("b.toml", text).unwrap_err().to_string();
        assert!(load(&FILE.replace("2027-01-31", "31.1.2027")).contains("YYYY-MM-DD"));
        assert!(load(&FILE.replace("\"ids are C ints\"", "\" \"")).contains("b.toml:9"));
        assert!(load(&FILE.replace("reason", "raison")).contains("did you mean `reason`"));
    }
}
