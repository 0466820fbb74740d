//! Bytes of flash memory as JSON: hexadecimal digits, and a number where all of them are erased.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ERASED;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Erased(usize),
    Digits(String),
}

pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if bytes.iter().all(|byte| *byte == ERASED) {
        return Bytes::Erased(bytes.len()).serialize(to);
    }
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    let pairs = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    Bytes::Digits(pairs.collect()).serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let digits = match Bytes::deserialize(from)? {
        Bytes::Erased(count) => return Ok(vec![ERASED; count]),
        Bytes::Digits(digits) => digits,
    };
    let value =
        |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
    bytes.ok_or_else(|| D::Error::custom("expected pairs of hexadecimal digits"))
}
