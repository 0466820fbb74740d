//! Anybody's text in a page: as content, as data of a script, as the name of an element.
//!
//! What devices say is hostile. It gets into the page as text only, with all that does not show itself
//! made visible; no character of it ever means something to the browser.

use std::fmt::Write as _;

use serde::Serialize;

use mcp_hil_record::text::clean;

/// A text as content of an element, or of an attribute in double quotes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for character in clean::visible(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

/// The same of at most `limit` characters; what is cut out is said.
pub(super) fn escape_cut(text: &str, limit: usize) -> String {
    escape(&clean::cut(text, limit))
}

/// The same, but lines stay lines.
pub(super) fn escape_lines(text: &str, limit: usize) -> String {
    let text = clean::cut(text, limit);
    let lines: Vec<String> = text.lines().map(escape).collect();
    lines.join("\n")
}

/// A value as JSON in a `script` element: nothing in it ends the element or begins a comment.
pub(super) fn script_json(value: &impl Serialize) -> String {
    // These characters stand only inside of strings, where JSON takes them by number too.
    serde_json::to_string(value)
        .unwrap_or_else(|_| "null".to_owned())
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A text as the name of an element, and as a fragment of an address that finds it.
pub(super) fn anchor(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '-' | '.' => name.push(character),
            // Two names must not become one.
            other => {
                // Writing into a string cannot fail.
                let _ = write!(name, "_{:x}", u32::from(other));
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_is_markup(text in any::<String>()) {
            for html in [escape(&text), escape_lines(&text, 50)] {
                prop_assert!(!html.contains(['<', '>', '"', '\'']), "{}", html);
            }
            prop_assert!(!script_json(&text).contains(['<', '>', '&']));
            prop_assert!(!anchor(&text).contains(|c: char| !c.is_ascii_graphic() || "\"'<>&".contains(c)));
        }

        #[test]
        fn data_of_scripts_reads_back_equal(text in any::<String>()) {
            prop_assert_eq!(serde_json::from_str::<String>(&script_json(&text)).unwrap(), text);
        }
    }
}
