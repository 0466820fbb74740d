//! MAC addresses of chips.

use std::fmt;
use std::str::FromStr;

/// The MAC address of a chip: what makes one board different from every other, whatever carries it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl FromStr for Mac {
    type Err = String;

    /// Six bytes in hexadecimal, with `:` or `-` between them or nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        let digits: String = text.chars().filter(|c| !":-".contains(*c)).collect();
        let separators = text.len() - digits.len();
        let bytes: Vec<u8> = digits
            .as_bytes()
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        match <[u8; 6]>::try_from(bytes) {
            Ok(bytes)
                if digits.len() == 12
                    && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
                    && [0, 5].contains(&separators) =>
            {
                Ok(Self(bytes))
            }
            _ => Err(format!(
                "expected six bytes in hexadecimal, such as `f4:12:fa:00:11:22`, got `{text}`"
            )),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.map(|byte| format!("{byte:02x}"));
        f.write_str(&bytes.join(":"))
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_in_every_spelling() {
        for text in ["F4:12:FA:00:11:22", "f4-12-fa-00-11-22", "f412fa001122"] {
            let mac: Mac = text.parse().unwrap();
            assert_eq!(mac.to_string(), "f4:12:fa:00:11:22");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "0001",
            "f4:12:fa:00:11",
            "f4:12:fa:00:11:2g",
            "f4:12:fa:00:11:22:33",
            "f4:12fa001122",
            "+4:12:fa:00:11:22",
            "é4:12:fa:00:11:22",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }
}
