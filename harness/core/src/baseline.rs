//! The list of known failures of a device, enforced both ways: what fails must be listed, and
//! what is listed must fail.

mod firmware;
mod seen;

use std::ops::Range;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::catalogue::{RequirementId, is_liveness};
use crate::problem::Problem;
use crate::schema;
use crate::transport::Transport;

pub use firmware::FirmwareRange;
pub use seen::{Covered, Seen, SeenCase, SeenDevice};

/// Known failures of one device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The entries; `[[known]]` tables in the file.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// One known failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Case id, or a prefix of it that ends in `/`, or `*` for every case.
    pub case: String,
    /// Slug of the requirement, or a prefix of it that ends in `.`; absent means any finding of the case.
    /// That the device crashed, restarted or lost its connection ([`is_liveness`]) only a slug covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Why it is known and tolerated.
    #[schemars(regex(pattern = r"\S"))]
    pub reason: String,
    /// Where it is discussed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Last day on which the entry counts, as `YYYY-MM-DD`; absent means for ever.
    #[serde(default, deserialize_with = "day", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    pub expires: Option<String>,
    /// Versions of the firmware for which the entry counts; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub firmware: Option<FirmwareRange>,
    /// The transport over which it fails; absent means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
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

/// A requirement that a case fails, and on what device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failing<'a> {
    /// The case.
    pub case: &'a str,
    /// Slug of the requirement.
    pub requirement: &'a str,
    /// The transport; `None` for a comparison of both, which entries for one do not cover.
    pub transport: Option<Transport>,
    /// The version that the device told.
    pub firmware: Option<&'a str>,
}

/// A day as a text, or as the date that TOML has for it.
fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => Ok(Some(text)),
        toml::Value::Datetime(date) => Ok(Some(date.to_string())),
        other => {
            let what = format!("invalid type: {}, expected a date, YYYY-MM-DD", other.type_str());
            Err(D::Error::custom(what))
        }
    }
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
            let area = known.requirement.as_deref().unwrap_or(".").ends_with('.');
            if known.unexercised && (known.case != "*" || area) {
                return Err(Problem::at(
                    name,
                    line,
                    0,
                    format!("`{}` is listed as unexercised", known.name()),
                )
                .hint("this needs a requirement and all cases: `case = \"*\"` and `requirement`"));
            }
            if known.unexercised && known.transport.is_some() {
                return Err(Problem::at(
                    name,
                    line,
                    0,
                    format!("`{}` is listed as unexercised over one transport", known.name()),
                )
                .hint("leave `transport` out: the whole run has to exercise a requirement"));
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

    /// The JSON Schema of a baseline file: what it refuses is refused by [`Baseline::load`], too.
    pub fn schema() -> Value {
        let mut schema = schema::of::<Self>("Known failures of a device, for mcp-hil");
        // Nothing puts a whole requirement to the test, over no transport.
        let whole = json!({
            "properties": {
                "case": {"const": "*"},
                "requirement": {"pattern": "[^.]$"},
                "transport": false
            },
            "required": ["requirement"]
        });
        let unexercised = schema::member_is("unexercised", &true.into());
        schema::add_rules(
            &mut schema["definitions"]["Known"],
            [schema::rule(&unexercised, &whole)],
        );
        schema
    }

    /// The entry that covers a failure on a day (`YYYY-MM-DD`).
    pub fn covering(&self, failing: &Failing<'_>, today: &str) -> Option<usize> {
        self.known.iter().position(|known| {
            !known.unexercised
                && known.is_about(failing)
                && !known.is_expired(today)
                && known.is_for(failing.firmware)
        })
    }

    /// Whether an entry says of a requirement that nothing puts it to the test.
    pub fn excuses(&self, requirement: &str, today: &str, firmware: Option<&str>) -> bool {
        self.known.iter().any(|known| {
            known.unexercised
                && known.names(requirement)
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
    /// The case, with the requirement and the transport if it names them: `ids/large:ids.echo`,
    /// `ids/large:ids.echo over mqtt`.
    pub fn name(&self) -> String {
        let requirement = self.requirement.iter().map(|slug| format!(":{slug}"));
        let transport = self.transport.iter();
        let transport = transport.map(|transport| format!(" over {}", transport.name()));
        [self.case.clone()].into_iter().chain(requirement).chain(transport).collect()
    }

    /// Whether it is about a failure, on whatever day and firmware.
    pub fn is_about(&self, failing: &Failing<'_>) -> bool {
        self.names(failing.requirement)
            && self.covers(failing.case)
            && self.is_over(failing.transport)
    }

    /// Whether it names one case and one requirement: then it covers nothing that it does not say.
    pub fn is_exact(&self) -> bool {
        let requirement = self.requirement.as_deref();
        requirement.is_some_and(|slug| !slug.ends_with('.'))
            && self.case != "*"
            && !self.case.ends_with('/')
    }

    /// Whether the entry is about a requirement, by its slug, by its area or by naming none.
    pub fn names(&self, requirement: &str) -> bool {
        let wide = match self.requirement.as_deref() {
            Some(slug) if RequirementId::todays(slug) == requirement => return true,
            Some(area) => area.ends_with('.') && requirement.starts_with(area),
            None => true,
        };
        // That the device crashed or lost its connection, no entry hides in passing.
        wide && !is_liveness(requirement)
    }

    /// Whether it counts over a transport.
    fn is_over(&self, transport: Option<Transport>) -> bool {
        self.transport.is_none() || self.transport == transport
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

/// Whether a text is a day of the calendar, `YYYY-MM-DD`.
pub fn is_date(text: &str) -> bool {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let number = |place: Range<usize>| text.get(place).and_then(|digits| digits.parse().ok());
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    has_form && (1..=days_of(year, month)).contains(&day)
}

/// How many days a month has; a month that there is not has none.
fn days_of(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
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

    fn failing<'a>(case: &'a str, requirement: &'a str) -> Failing<'a> {
        Failing { case, requirement, ..Failing::default() }
    }

    #[test]
    fn a_date_is_a_day_of_the_calendar() {
        for day in ["2027-01-31", "2028-02-29", "2000-02-29", "2026-11-30"] {
            assert!(is_date(day), "{day}");
        }
        for none in
            ["2027-02-29", "2100-02-29", "2026-13-01", "2026-00-10", "2026-06-31", "2026-1-010"]
        {
            assert!(!is_date(none), "{none}");
        }
    }

    #[test]
    fn entries_cover_by_case_requirement_and_day() {
        let baseline = Baseline::load("stock.toml", FILE).unwrap();
        let covering = |case, slug, day| baseline.covering(&failing(case, slug), day);
        assert_eq!(covering("errors/unknown-method", "errors.code-integer", "2027-01-31"), Some(0));
        assert_eq!(covering("errors/unknown-method", "errors.code-integer", "2027-02-01"), None);
        assert_eq!(covering("errors/unknown-method", "errors.object", "2027-01-01"), None);
        assert_eq!(covering("ids/zero", "ids.zero", "2030-01-01"), Some(1));
        assert_eq!(covering("idsy/zero", "ids.zero", "2030-01-01"), None);
    }

    #[test]
    fn entries_cover_the_firmware_that_they_name() {
        let text = FILE.replace("expires = \"2027-01-31\"", "firmware = \">=2.4.0, <2.5\"");
        let baseline = Baseline::load("stock.toml", &text).unwrap();
        let covering = |firmware| {
            let failing =
                Failing { firmware, ..failing("errors/unknown-method", "errors.code-integer") };
            baseline.covering(&failing, "2030-01-01")
        };
        assert_eq!(covering(Some("2.4.2")), Some(0));
        assert_eq!(covering(Some("2.5.0")), None);
        assert_eq!(covering(None), None);
        // What names no firmware is for all.
        assert_eq!(baseline.covering(&failing("ids/x", "ids.zero"), "2030-01-01"), Some(1));
    }

    #[test]
    fn no_entry_covers_a_crash_that_it_does_not_name() {
        for wide in ["*", "properties/", "properties/ids"] {
            let text = format!("[[known]]\ncase = \"{wide}\"\nreason = \"r\"\n");
            let baseline = Baseline::load("b.toml", &text).unwrap();
            let covering = |slug| baseline.covering(&failing("properties/ids", slug), "2030-01-01");
            assert_eq!(covering("ids.echo"), Some(0), "{wide}");
            for crash in ["liveness.no-panic", "liveness.no-reset", "liveness.link-kept"] {
                assert_eq!(covering(crash), None, "{wide} {crash}");
            }
            let area = text.clone() + "requirement = \"liveness.\"\n";
            let baseline = Baseline::load("b.toml", &area).unwrap();
            let crash = failing("properties/ids", "liveness.no-panic");
            assert_eq!(baseline.covering(&crash, "2030-01-01"), None, "{wide}");
            let named = text + "requirement = \"liveness.no-panic\"\n";
            let baseline = Baseline::load("b.toml", &named).unwrap();
            let crash = failing("properties/ids", "liveness.no-panic");
            assert_eq!(baseline.covering(&crash, "2030-01-01"), Some(0), "{wide}");
        }
    }

    #[test]
    fn entries_cover_an_area_of_requirements() {
        let text = "[[known]]\ncase = \"properties/\"\nrequirement = \"ids.\"\nreason = \"r\"\n";
        let baseline = Baseline::load("b.toml", text).unwrap();
        let covering = |case, slug| baseline.covering(&failing(case, slug), "2030-01-01");
        assert_eq!(covering("properties/ids", "ids.echo"), Some(0));
        assert_eq!(covering("properties/ids", "idsy.echo"), None);
        assert_eq!(covering("ids/large", "ids.echo"), None);
        assert!(!baseline.known[0].is_exact());
    }

    #[test]
    fn entries_cover_the_transport_that_they_name() {
        let text = FILE.replace("expires = \"2027-01-31\"", "transport = \"mqtt\"");
        let baseline = Baseline::load("stock.toml", &text).unwrap();
        let covering = |transport| {
            let failing =
                Failing { transport, ..failing("errors/unknown-method", "errors.code-integer") };
            baseline.covering(&failing, "2030-01-01")
        };
        assert_eq!(covering(Some(Transport::Mqtt)), Some(0));
        assert_eq!(covering(Some(Transport::WebSocket)), None);
        assert_eq!(covering(None), None, "a comparison stands on both");
        let name = baseline.known[0].name();
        assert_eq!(name, "errors/unknown-method:errors.code-integer over mqtt");
    }

    #[test]
    fn a_day_may_be_a_date_of_toml() {
        let text = FILE.replace("\"2027-01-31\"", "2027-01-31");
        let baseline = Baseline::load("b.toml", &text).unwrap();
        assert_eq!(baseline.known[0].expires.as_deref(), Some("2027-01-31"));
        let load = |day: &str| {
            let text = FILE.replace("\"2027-01-31\"", day);
            Baseline::load("b.toml", &text).unwrap_err().to_string()
        };
        assert!(load("2027-01-31T10:00:00").contains("YYYY-MM-DD"));
        assert!(load("20270131").contains("expected a date, YYYY-MM-DD"), "{}", load("20270131"));
        assert!(load("20270131").starts_with("b.toml:6"), "{}", load("20270131"));
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
        let transport = FILE.replace("expires = \"2027-01-31\"", "transport = \"radio\"");
        assert!(load(&transport).contains("`radio`"), "{}", load(&transport));
        let range = FILE.replace("expires = \"2027-01-31\"", "firmware = \"two\"");
        assert!(load(&range).contains("`two` is not a range of versions"));
        assert!(load(&FILE.replace("reason", "raison")).contains("did you mean `reason`"));
    }
}
