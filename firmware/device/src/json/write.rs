//! Writing JSON text by hand: the answers of a device have few shapes, and a `String` that grows
//! once is cheaper on a chip than a tree of values.

use alloc::string::String;
use core::fmt::Write;

/// Appends `text` as a JSON string with its quotes.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// `text` as a JSON string with its quotes.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_survives_the_round_trip() {
        let hostile = "quote\" back\\slash \u{0}\u{1f}\n\r\t \u{7f} \u{1f600}";
        let parsed: alloc::string::String = match serde_json::from_str(&string(hostile)) {
            Ok(serde_json::Value::String(parsed)) => parsed,
            other => panic!("not a string: {other:?}"),
        };
        assert_eq!(parsed, hostile);
    }
}
