//! One of several equal parts of a run, each for a machine of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most parts of a run: more than there are cases to deal out.
const MOST: u32 = 1000;

/// One of the parts of a run, as `2/3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Which one, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let read = |(number, of): (&str, &str)| Some((number.parse().ok()?, of.parse().ok()?));
        match parts.and_then(read) {
            Some((number, of)) if 1 <= number && number <= of && of <= MOST => {
                Ok(Self { number, of })
            }
            _ => {
                Err(format!("expected `k/n` with k from 1 to n and n up to {MOST}, such as `2/3`"))
            }
        }
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_read_and_written_as_people_write_it() {
        let shard: Shard = "2/3".parse().unwrap();
        assert_eq!((shard.number, shard.of), (2, 3));
        assert_eq!(serde_json::to_string(&shard).unwrap(), r#""2/3""#);
        assert_eq!(serde_json::from_str::<Shard>(r#""2/3""#).unwrap(), shard);
        for bad in ["", "2", "0/3", "4/3", "1/0", "-1/2", "1/2/3", "a/b", "1/1001"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
            assert!(serde_json::from_str::<Shard>(&format!("{bad:?}")).is_err());
        }
    }
}
