//! The same JSON in another spelling (RFC 8259), in all that the device sends.

use core::fmt::Write;

use super::lists::pages_of;
use crate::rows::prelude::*;

pub(super) const VARIANTS: &[Row] = rows! {
    "members-ascending": "The members of all objects are in alphabetical order." => spelled(PLAIN);
    "members-descending": "The members of all objects are in reverse alphabetical order."
        => spelled(Spelling { descending: true, ..PLAIN });
    "white-space":
        "There are blanks, tabs and line ends between all tokens, and around the message."
        => pages_of(spelled(Spelling { space: " \r\n\t", ..PLAIN }), 5000);
    "escapes": "Strings are written with escapes that they do not need: \\u0074ools, \\/."
        => pages_of(spelled(Spelling { escapes: true, ..PLAIN }), 6000);
};

/// How a JSON text is written.
#[derive(Clone, Copy)]
struct Spelling {
    /// Members from Z to A, else from A to Z.
    descending: bool,
    /// What stands between tokens.
    space: &'static str,
    /// Write characters as escapes that could stand as they are: the first one of each string, all
    /// outside ASCII, and every slash.
    escapes: bool,
}

const PLAIN: Spelling = Spelling { descending: false, space: "", escapes: false };

fn spelled(spelling: Spelling) -> Defect {
    defect().outbound(move |outbound, _| {
        if let Ok(message) = serde_json::from_str::<Value>(&outbound.text) {
            let mut text = spelling.space.to_string();
            spelling.write(&message, &mut text);
            text.push_str(spelling.space);
            outbound.text = text;
        }
        Flow::Pass
    })
}

impl Spelling {
    fn write(self, value: &Value, out: &mut String) {
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by(|(a, _), (b, _)| match self.descending {
                    true => b.cmp(a),
                    false => a.cmp(b),
                });
                self.list(out, ['{', '}'], &members, |(name, value), out| {
                    self.string(name, out);
                    out.extend([self.space, ":", self.space]);
                    self.write(value, out);
                });
            }
            Value::Array(items) => {
                self.list(out, ['[', ']'], items, |item, out| self.write(item, out));
            }
            Value::String(text) => self.string(text, out),
            other => out.push_str(&other.to_string()),
        }
    }

    fn list<T>(
        self,
        out: &mut String,
        [open, close]: [char; 2],
        items: &[T],
        write: impl Fn(&T, &mut String),
    ) {
        out.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(self.space);
            write(item, out);
            out.push_str(self.space);
        }
        out.push(close);
    }

    fn string(self, text: &str, out: &mut String) {
        if !self.escapes {
            out.push_str(&Value::from(text).to_string());
            return;
        }
        out.push('"');
        for (index, character) in text.chars().enumerate() {
            match character {
                '/' => out.push_str("\\/"),
                '"' | '\\' | '\0'..='\u{1f}' => escape(character, out),
                _ if index == 0 || !character.is_ascii() => escape(character, out),
                _ => out.push(character),
            }
        }
        out.push('"');
    }
}

/// Appends a character as `\uXXXX`, as a surrogate pair outside the first plane.
fn escape(character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_means_the_same() {
        let text = r#"{"a/b":[1,-2.5,true,null,[],{}],"Z":"é😀\"\\\n","m":{"y":1,"x":"/"}}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let written = |spelling: Spelling| {
            let mut out = String::new();
            spelling.write(&value, &mut out);
            assert_eq!(serde_json::from_str::<Value>(&out).expect("JSON"), value, "{out}");
            out
        };
        let plain = written(PLAIN);
        let descending = written(Spelling { descending: true, ..PLAIN });
        assert!(plain.starts_with(r#"{"Z""#), "{plain}");
        assert!(descending.starts_with(r#"{"m":{"y""#), "{descending}");
        assert!(written(Spelling { space: "\n", ..PLAIN }).starts_with("{\n"));
        let escapes = written(Spelling { escapes: true, ..PLAIN });
        assert!(escapes.contains(r"\ud83d\ude00"), "{escapes}");
        assert!(escapes.is_ascii());
    }
}
