//! Anybody's text in a page: as content, as data of a script, as two texts with their difference marked.
//!
//! What devices say is hostile. It gets into the page as text only, with all that does not show itself
//! made visible; no character of it ever means something to the browser.

use std::fmt::Write as _;

use serde::Serialize;

use crate::report::clean;

/// Most words of one side that are compared; of longer texts the middle is one difference.
const WORDS: usize = 400;

/// What part of the shorter text both must share, or else everything differs: one in so many.
const SHARED_PART: usize = 3;

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

/// Bytes in base64, for the hash of a script.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let at = |index: usize| usize::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            text.push(match digit <= group.len() {
                true => DIGITS[bits >> (18 - 6 * digit) & 63] as char,
                false => '=',
            });
        }
    }
    text
}

/// Two texts as content, with `mark` around what only one of them has. Texts that have little in common
/// get no marks: everything differs.
pub(super) fn marked(one: &str, other: &str, limit: usize) -> (String, String) {
    let (one, other) = (clean::line(one, limit), clean::line(other, limit));
    // Evidence ends with the whole message: `id 8: {"jsonrpc":...`. That has no other side.
    let whole = match other.find(": {") {
        Some(at) if !one.contains('{') => at,
        _ => other.len(),
    };
    let (other, message) = other.split_at(whole);
    let (ours, theirs) = (words(&one), words(other));
    let front = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let back = ours[front..].iter().rev().zip(theirs[front..].iter().rev());
    let back = back.take_while(|(a, b)| a == b).count();
    let (left, right) = (
        &ours[front..ours.len() - back],
        &theirs[front..theirs.len() - back],
    );
    let (mut keep_ours, mut keep_theirs) = (vec![true; ours.len()], vec![true; theirs.len()]);
    keep_ours[front..front + left.len()].fill(false);
    keep_theirs[front..front + right.len()].fill(false);
    if left.len() <= WORDS && right.len() <= WORDS {
        for (a, b) in common(left, right) {
            keep_ours[front + a] = true;
            keep_theirs[front + b] = true;
        }
    }
    let kept = ours.iter().zip(&keep_ours);
    let shared = kept.filter(|(word, keep)| **keep && is_word(word)).count();
    let count = |words: &[&str]| words.iter().filter(|word| is_word(word)).count();
    let (one, mut other) =
        match shared * SHARED_PART < count(&ours).min(count(&theirs)) || shared == 0 {
            true => (escape(&one), escape(other)),
            false => (
                with_marks(&ours, &keep_ours),
                with_marks(&theirs, &keep_theirs),
            ),
        };
    other += &escape(message);
    (one, other)
}

/// Words, runs of spaces, and single characters of all else.
fn words(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        ' ' => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, character) in text.char_indices() {
        let now = class(character);
        if before.is_some_and(|before| before != now || now == 0) {
            words.push(&text[start..at]);
            start = at;
        }
        before = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// Whether it is one: spaces and punctuation in common are no likeness.
fn is_word(word: &str) -> bool {
    word.contains(char::is_alphanumeric)
}

/// Places of the longest common subsequence.
fn common(ours: &[&str], theirs: &[&str]) -> Vec<(usize, usize)> {
    let width = theirs.len() + 1;
    let mut longest = vec![0u16; (ours.len() + 1) * width];
    for a in (0..ours.len()).rev() {
        for b in (0..theirs.len()).rev() {
            longest[a * width + b] = match ours[a] == theirs[b] {
                true => longest[(a + 1) * width + b + 1] + 1,
                false => longest[(a + 1) * width + b].max(longest[a * width + b + 1]),
            };
        }
    }
    let (mut a, mut b, mut places) = (0, 0, Vec::new());
    while a < ours.len() && b < theirs.len() {
        if ours[a] == theirs[b] {
            places.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if longest[(a + 1) * width + b] >= longest[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    places
}

fn with_marks(words: &[&str], keep: &[bool]) -> String {
    let mut html = String::new();
    let mut open = false;
    for (word, keep) in words.iter().zip(keep) {
        if *keep == open {
            html.push_str(if open { "</mark>" } else { "<mark>" });
            open = !open;
        }
        html.push_str(&escape(word));
    }
    if open {
        html.push_str("</mark>");
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_differs_is_marked() {
        assert_eq!(
            marked("id 7", "id \"7\"", 99),
            (
                "id 7".into(),
                "id <mark>&quot;</mark>7<mark>&quot;</mark>".into()
            )
        );
        assert_eq!(
            marked("volume 70 of 100", "volume 71 of 100", 99),
            (
                "volume <mark>70</mark> of 100".into(),
                "volume <mark>71</mark> of 100".into()
            )
        );
        assert_eq!(
            marked("id 8", "id 7: {\"id\":7}", 99),
            (
                "id <mark>8</mark>".into(),
                "id <mark>7</mark>: {&quot;id&quot;:7}".into()
            )
        );
        assert_eq!(
            marked("an answer", "{\"a\":1}", 99),
            ("an answer".into(), "{&quot;a&quot;:1}".into())
        );
        assert_eq!(marked("", "", 9), (String::new(), String::new()));
    }

    #[test]
    fn hashes_are_spelled_as_browsers_spell_them() {
        let spelled = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(spelled, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    proptest! {
        #[test]
        fn no_text_is_markup(text in any::<String>(), other in any::<String>()) {
            let (one, two) = marked(&text, &other, 60);
            for html in [escape(&text), escape_lines(&text, 50), one, two] {
                let rest = html.replace("<mark>", "").replace("</mark>", "");
                prop_assert!(!rest.contains(['<', '>', '"', '\'']), "{}", html);
            }
            prop_assert!(!script_json(&text).contains(['<', '>', '&']));
            prop_assert!(!anchor(&text).contains(|c: char| !c.is_ascii_graphic() || "\"'<>&".contains(c)));
        }

        #[test]
        fn data_of_scripts_reads_back_equal(text in any::<String>()) {
            prop_assert_eq!(serde_json::from_str::<String>(&script_json(&text)).unwrap(), text);
        }

        #[test]
        fn marks_lose_nothing(one in "[a-c 1{}:]{0,40}", other in "[a-c 1{}:]{0,40}") {
            let plain = |html: &str| html.replace("<mark>", "").replace("</mark>", "");
            let (left, right) = marked(&one, &other, 99);
            prop_assert_eq!((plain(&left), plain(&right)), (one, other));
        }
    }
}
