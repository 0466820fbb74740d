//! Makes any text fit to be shown: on a terminal, in an XML attribute, in an XML body.
//!
//! What a device says is untrusted. Nothing of it may move a cursor, hide a finding, reorder a line
//! or break a report; and nothing of it gets lost silently, for it is evidence.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Longest colour sequence that is taken out; a longer one is no colour and stays visible.
const MAX_COLOUR_BYTES: usize = 24;

/// Writes every character that would not show itself as a visible mark, line ends too.
///
/// Controls become their picture (`␛` for escape, `␊` for line feed), the others their number
/// (`<U+202E>`).
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\u{0}'..='\u{1f}' => shown.push(picture(character)),
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_unseen(character) => {
                // Writing into a string cannot fail.
                let _ = write!(shown, "<U+{:04X}>", u32::from(character));
            }
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Cuts the middle out of a text of clearly more than `limit` characters, and notes how many bytes: what the note says
/// would else be longer than what it stands for.
///
/// Both ends are kept since both tell something: what it is, and how it ends.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    // A text of at most so many bytes has at most so many characters.
    let most = limit + limit / 6;
    if text.len() <= most || text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let tail = limit / 3;
    let head_end = text.char_indices().nth(limit - tail).map_or(text.len(), |(at, _)| at);
    let tail_start = match tail {
        0 => text.len(),
        _ => text.char_indices().nth_back(tail - 1).map_or(0, |(at, _)| at),
    };
    Cow::Owned(format!(
        "{} ... [{} of {} bytes cut] ... {}",
        &text[..head_end],
        tail_start - head_end,
        text.len(),
        &text[tail_start..],
    ))
}

/// A text for one line: cut to `limit` characters, then made visible.
pub fn line(text: &str, limit: usize) -> String {
    visible(&cut(text, limit)).into_owned()
}

/// A text for an XML attribute: one line, without colours.
///
/// Markup is left alone: the XML writer escapes it in attributes.
pub fn xml_attribute(text: &str) -> String {
    visible(&strip_colour(text)).into_owned()
}

/// A text for the content of an XML element: lines stay lines, and colours go. Markup is left alone, too.
pub fn xml_body(text: &str) -> String {
    let text = strip_colour(text).replace("\r\n", "\n").replace('\t', "    ");
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(visible).collect();
    lines.join("\n")
}

/// Takes out colour sequences (`ESC [ digits ; digits m`), which logs of devices are full of.
///
/// Only whole ones: what merely looks like the start of a sequence must not swallow what follows.
fn strip_colour(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = colour_length(rest.as_bytes());
        if length == 0 {
            plain.push('\u{1b}');
        }
        rest = &rest[length.max(1)..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Bytes of the colour sequence that a text begins with; 0 when it begins with none.
fn colour_length(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 0;
    }
    let inside = bytes[2..]
        .iter()
        .take(MAX_COLOUR_BYTES)
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        .count();
    if bytes.get(2 + inside) == Some(&b'm') { inside + 3 } else { 0 }
}

/// The picture of a control character below the space.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or('\u{fffd}')
}

/// Whether a character does not show itself, moves others about, or is forbidden in XML 1.0.
fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, zero width, line and paragraph ends, bidirectional controls, byte order mark.
        | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{fdd0}'..='\u{fdef}' | '\u{e0000}'..='\u{e007f}')
        // The last two code points of every plane are no characters; XML forbids U+FFFE and U+FFFF.
        || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_become_visible() {
        assert_eq!(visible("a\u{1b}[2J\r\n\0b\u{7f}"), "a␛[2J␍␊␀b␡");
        assert_eq!(
            visible("\u{9b}31m \u{202e}x\u{feff}\u{ffff}"),
            "<U+009B>31m <U+202E>x<U+FEFF><U+FFFF>"
        );
        assert!(matches!(visible("音量 70 %"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(cut("0123456789", 10), "0123456789");
        assert_eq!(cut("0123456789abcdef", 9), "012345 ... [7 of 16 bytes cut] ... def");
        assert_eq!(cut("音音音音音音音", 3), "音音 ... [12 of 21 bytes cut] ... 音");
        assert_eq!(cut("abc", 1), "a ... [2 of 3 bytes cut] ... ");
        assert!(cut(&"x".repeat(4_000_000), 6).len() < 60);
    }

    #[test]
    fn whole_colours_go_and_nothing_else() {
        assert_eq!(xml_attribute("\u{1b}[0;31mE (12) MCP: x\u{1b}[0m"), "E (12) MCP: x");
        assert_eq!(xml_attribute("\u{1b}]0;never ended"), "␛]0;never ended");
        assert_eq!(xml_attribute("\u{1b}[31"), "␛[31");
        assert_eq!(xml_attribute("\u{1b}"), "␛");
        assert_eq!(xml_attribute("\u{1b}[2Jx\u{1b}音"), "␛[2Jx␛音");
    }

    #[test]
    fn bodies_keep_their_lines() {
        assert_eq!(xml_body("a\r\nb\tc\rd"), "a\nb    c␍d");
    }

    proptest! {
        #[test]
        fn nothing_unseen_is_left(text in any::<String>(), limit in 0usize..40) {
            prop_assert!(!line(&text, limit).chars().any(is_unseen));
            prop_assert!(!xml_attribute(&text).chars().any(is_unseen));
            prop_assert!(!xml_body(&text).chars().any(|c| c != '\n' && is_unseen(c)));
        }

        #[test]
        fn visible_text_is_left_alone(text in "[ -~à-ž一-龥]{0,60}") {
            prop_assert_eq!(visible(&text), &*text);
            prop_assert_eq!(xml_attribute(&text), text);
        }
    }
}
