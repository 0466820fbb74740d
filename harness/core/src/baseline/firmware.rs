//! For which firmware an entry counts.

use std::fmt;

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

/// A range of firmware versions, such as `>=2.4.0, <2.5`, in the language of Cargo's requirements:
/// `~2.4` is the same range, and `2.4` alone goes up to 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FirmwareRange {
    text: String,
    range: VersionReq,
}

impl FirmwareRange {
    /// Whether a version that a device told lies in the range. A text that begins with no number does not.
    pub fn has(&self, version: &str) -> bool {
        lenient(version).is_some_and(|version| self.range.matches(&version))
    }
}

impl TryFrom<String> for FirmwareRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match VersionReq::parse(&text) {
            Ok(range) => Ok(Self { text, range }),
            Err(error) => Err(format!(
                "`{text}` is not a range of versions ({error}): expected one such as `>=2.4.0, <2.5`"
            )),
        }
    }
}

impl From<FirmwareRange> for String {
    fn from(range: FirmwareRange) -> Self {
        range.text
    }
}

impl fmt::Display for FirmwareRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A version as devices tell it: `2.4`, `v2.4.2`, `2.4.2-rc1`, `2.4.2.7`. What follows three numbers is
/// left out: a fork that appends its own mark has the faults of the version that it stands on.
fn lenient(text: &str) -> Option<Version> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut parts = text[..end].split('.').map(|part| match part {
        "" => None,
        digits => digits.parse::<u64>().ok(),
    });
    let major = parts.next().flatten()?;
    let mut next = || parts.next().flatten().unwrap_or(0);
    Some(Version::new(major, next(), next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(text: &str) -> FirmwareRange {
        FirmwareRange::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn versions_are_read_as_devices_tell_them() {
        let stock = range(">=2.4.0, <2.5");
        for inside in ["2.4.0", "2.4", "v2.4.2", "2.4.2-rc1", "2.4.2.7", " 2.4.9+x"] {
            assert!(stock.has(inside), "{inside}");
        }
        for outside in ["2.3.9", "2.5.0", "2", "", "beta", "v", "-1", "2.5-rc1", ".2.4"] {
            assert!(!stock.has(outside), "{outside}");
        }
        assert!(!range("2.4").has("3.0.0") && range("2.4").has("2.9.0"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "two", ">=", "2.4 - 2.5"] {
            let refused = FirmwareRange::try_from(text.to_owned());
            assert!(refused.unwrap_err().contains("not a range"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_of_a_device_breaks_it(text in ".{0,40}") {
            let _ = range("*").has(&text);
        }
    }
}
