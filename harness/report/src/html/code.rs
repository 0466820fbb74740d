//! What was expected, received and sent, in a page: JSON indented and coloured, and with marks where two values differ.
//!
//! JSON is broken into lines without being read into values: a parser would lose digits and escapes.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::differ::differences;
use super::text::{escape, escape_lines};
use mcp_hil_record::text::clean;

/// Longest object or array that stays on one line, in characters.
const ONE_LINE: usize = 56;

/// Deepest level that is indented further.
const DEEPEST: usize = 12;

/// From how many lines or characters on a text may need to be scrolled, in the narrowest window.
const MANY_LINES: usize = 12;
const MANY_CHARACTERS: usize = 500;

/// One side of the evidence, as an element.
pub(super) fn block(label: &str, text: &str, limit: usize) -> String {
    element(label, &Shown::of(text, limit).html(&[]))
}

/// Lines that are no JSON, as an element.
pub(super) fn text(label: &str, text: &str, limit: usize) -> String {
    element(label, &escape_lines(text, limit))
}

/// What was expected and what was received, as elements, with `mark` around the values that differ.
pub(super) fn sides(expected: &str, received: &str, limit: usize) -> (String, String) {
    let (expected, received) = (Shown::of(expected, limit), Shown::of(received, limit));
    // Evidence ends with the whole message: `id 8: {"jsonrpc":...`. That has no other side.
    let compared = match expected.text.contains('{') {
        true => received.text.len(),
        false if received.json == Some(0) => 0,
        false => received.text.find(": {").unwrap_or(received.text.len()),
    };
    let (ours, theirs) = differences(&expected.text, &received.text[..compared]);
    let right = match received.text.is_empty() {
        true => "<i>nothing</i>".to_owned(),
        false => received.html(&theirs),
    };
    (element("expected", &expected.html(&ours)), element("received", &right))
}

/// Content that may have to be scrolled is reached by the keyboard, and says what it is.
fn element(label: &str, html: &str) -> String {
    let is_long = html.matches('\n').count() >= MANY_LINES || html.len() > MANY_CHARACTERS;
    let reached = match is_long {
        true => format!(" tabindex=\"0\" role=\"region\" aria-label=\"{label}\""),
        false => String::new(),
    };
    format!("<pre{reached}>{html}</pre>")
}

/// A text that is fit to be shown.
#[derive(Debug)]
struct Shown {
    text: String,
    /// Where JSON begins in it, which lasts to the end or to where it is cut.
    json: Option<usize>,
    /// Where it is cut.
    cut: usize,
}

impl Shown {
    fn of(text: &str, limit: usize) -> Self {
        let begin = match text.starts_with(['{', '[']) {
            true => Some(0),
            false => text.find(": {").or_else(|| text.find(": [")).map(|at| at + 2),
        };
        let is_json = |at: &usize| serde_json::from_str::<IgnoredAny>(&text[*at..]).is_ok();
        let begin = begin.filter(is_json);
        let cut = clean::cut(text, limit);
        let was_cut = matches!(cut, std::borrow::Cow::Owned(_));
        let text = clean::visible(&cut).into_owned();
        let cut = if was_cut { text.find(" ... [") } else { None }.unwrap_or(text.len());
        // What becomes visible before it moves it.
        let json = begin.and_then(|begin| text.get(begin..).map(|rest| (begin, rest)));
        let json = json.filter(|(at, rest)| *at < cut && rest.starts_with(['{', '[']));
        Self { json: json.map(|(at, _)| at), cut, text }
    }

    /// The text as content, with marks around some parts of it.
    fn html(&self, marks: &[Range<usize>]) -> String {
        let begin = self.json.unwrap_or(self.cut);
        let mut html = with_marks(&self.text, 0..begin, marks);
        if self.json.is_some() {
            let mut lines = Lines { text: &self.text, marks, html, depth: 0, flat_until: 0 };
            lines.json(begin..self.cut);
            html = lines.html;
        }
        html + &escape(&self.text[self.cut..])
    }
}

/// JSON as it gets its lines and colours.
struct Lines<'a> {
    text: &'a str,
    marks: &'a [Range<usize>],
    html: String,
    depth: usize,
    /// Until here everything stays on one line.
    flat_until: usize,
}

impl Lines<'_> {
    fn json(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let token = at..token_end(self.text, at, range.end);
            at = token.end;
            self.token(token, range.end);
        }
    }

    fn token(&mut self, token: Range<usize>, end: usize) {
        let text = &self.text[token.clone()];
        match text.as_bytes()[0] {
            b'{' | b'[' => {
                if token.start >= self.flat_until {
                    let close = closing(self.text, token.start, end);
                    if close.is_some_and(|close| close - token.start <= ONE_LINE) {
                        self.flat_until = close.unwrap_or_default();
                    }
                }
                self.depth += 1;
                self.put(token.clone());
                self.line(token.start);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.line(token.start);
                self.put(token);
            }
            b',' => {
                self.put(token.clone());
                match token.start < self.flat_until {
                    true => self.html.push(' '),
                    false => self.line(token.start),
                }
            }
            b':' => {
                self.put(token);
                self.html.push(' ');
            }
            b' ' => {}
            first => {
                let rest = self.text[token.end..end].trim_start();
                let class = match first {
                    b'"' if rest.starts_with(':') => "k",
                    b'"' => "s",
                    b'-' | b'0'..=b'9' => "n",
                    _ => "b",
                };
                self.html += &format!("<span class=\"{class}\">");
                self.put(token);
                self.html += "</span>";
            }
        }
    }

    fn put(&mut self, range: Range<usize>) {
        self.html += &with_marks(self.text, range, self.marks);
    }

    fn line(&mut self, at: usize) {
        if at >= self.flat_until {
            self.html.push('\n');
            self.html += &"  ".repeat(self.depth.min(DEEPEST));
        }
    }
}

/// Where a token of JSON ends: a string, a run of spaces, a single sign, or everything up to the next sign.
fn token_end(text: &str, at: usize, end: usize) -> usize {
    let bytes = &text.as_bytes()[..end];
    match bytes[at] {
        b'"' => {
            let mut next = at + 1;
            while next < end && bytes[next] != b'"' {
                next += if bytes[next] == b'\\' { 2 } else { 1 };
            }
            // An escape may have led into the middle of a character.
            text.ceil_char_boundary((next + 1).min(end)).min(end)
        }
        b'{' | b'}' | b'[' | b']' | b',' | b':' => at + 1,
        b' ' => bytes[at..].iter().position(|byte| *byte != b' ').map_or(end, |spaces| at + spaces),
        _ => {
            let sign = |byte: &u8| b"{}[],: \"".contains(byte);
            bytes[at..].iter().position(sign).map_or(end, |length| at + length)
        }
    }
}

/// Where an object or array that begins somewhere ends, if that is near.
fn closing(text: &str, begin: usize, end: usize) -> Option<usize> {
    let (mut at, mut depth) = (begin, 0_usize);
    while at < end && at - begin <= ONE_LINE {
        let next = token_end(text, at, end);
        match text.as_bytes()[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(next);
        }
        at = next;
    }
    None
}

/// A part of a text as content, with marks around what is marked in it.
fn with_marks(text: &str, range: Range<usize>, marks: &[Range<usize>]) -> String {
    let mut html = String::new();
    let mut at = range.start;
    for mark in marks {
        let (from, to) = (mark.start.max(at), mark.end.min(range.end));
        if from < to {
            html += &escape(&text[at..from]);
            html += &format!("<mark>{}</mark>", escape(&text[from..to]));
            at = to;
        }
    }
    html + &escape(&text[at..range.end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a reader sees.
    fn plain(html: &str) -> String {
        let mut text = String::new();
        for (at, part) in html.split('<').enumerate() {
            text += if at == 0 { part } else { part.split_once('>').map_or("", |(_, rest)| rest) };
        }
        text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }

    #[test]
    fn json_gets_lines_and_colours() {
        let text = r#"id 7: {"id":7,"result":{"content":[{"type":"text","text":"a long text, so that it needs a line"}],"isError":false}}"#;
        let html = block("received", text, 999);
        let lines = "<pre>id 7: {\n  \"id\": 7,\n  \"result\": {\n    \"content\": [\n      {\n        \
                     \"type\": \"text\",\n        \"text\": \"a long text, so that it needs a line\"\n      \
                     }\n    ],\n    \"isError\": false\n  }\n}";
        assert_eq!(format!("<pre>{}", plain(html.split_once('>').unwrap().1)), lines);
        for coloured in
            ["<span class=\"k\">&quot;id&quot;</span>", "<span class=\"n\">7</span>", "\"b\">false"]
        {
            assert!(html.contains(coloured), "{html}");
        }
        assert_eq!(plain(&block("sent", r#"{"a":{},"b":[1,2]}"#, 99)), r#"{"a": {}, "b": [1, 2]}"#);
    }

    #[test]
    fn what_is_no_json_stays_as_it_is() {
        for text in ["{id: 7, x}", "[3,", "{\"a\":1} and more", "no answer", ": {", "{\"\\ud8"] {
            assert_eq!(plain(&block("received", text, 99)), text);
        }
    }

    #[test]
    fn values_that_differ_are_marked_and_prose_is_not() {
        let marked = |one: &str, other: &str| {
            let (one, other) = sides(one, other, 200);
            (
                one.replace("<pre>", "").replace("</pre>", ""),
                other.replace("<pre>", "").replace("</pre>", ""),
            )
        };
        assert_eq!(
            marked("id 8", "id 7: {\"id\":7}"),
            (
                "id <mark>8</mark>".into(),
                "id <mark>7</mark>: {<span class=\"k\">&quot;id&quot;</span>: <span class=\"n\">7</span>}"
                    .into()
            )
        );
        assert_eq!(
            marked("[{\"a\":1}]", "[{\"a\":2}]").1,
            "[{<span class=\"k\">&quot;a&quot;</span>: <span class=\"n\"><mark>2</mark></span>}]"
        );
        let prose = ("an answer to the request with id 7", "an error as answer with id 7");
        assert_eq!(marked(prose.0, prose.1), (prose.0.into(), prose.1.into()));
    }

    #[test]
    fn long_content_is_reached_by_the_keyboard() {
        let label = "tabindex=\"0\" role=\"region\" aria-label=\"sent\"";
        assert!(block("sent", &format!("[{}1]", "1,".repeat(60)), 999).contains(label));
        assert!(block("sent", &"x".repeat(900), 999).contains(label));
        assert!(!block("sent", "x", 999).contains("tabindex"));
    }

    proptest! {
        #[test]
        fn no_text_is_markup_and_none_is_lost(one in any::<String>(), other in "[\\[\\]{}:,\"\\\\ a1é<]{0,60}") {
            for html in [block("sent", &one, 60), block("sent", &other, 30), sides(&one, &other, 60).1] {
                let inside = html.split_once('>').unwrap().1.strip_suffix("</pre>").unwrap();
                let mut rest = inside.replace("<mark>", "").replace("</mark>", "").replace("</span>", "");
                for class in ["k", "s", "n", "b"] {
                    rest = rest.replace(&format!("<span class=\"{class}\">"), "");
                }
                prop_assert!(!rest.replace("<i>nothing</i>", "").contains(['<', '>', '"']), "{}", html);
            }
            let squeezed = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(squeezed(&plain(&block("sent", &other, 999))), squeezed(&other));
        }
    }
}
