//! Lines of a console: raw bytes in, clean lines out, in bounded memory.

use mcp_hil_core::limits::MAX_CONSOLE_LINE_BYTES;

/// Cuts a byte stream into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of the line that is not complete.
    open: Vec<u8>,
    /// Its real length.
    length: u64,
}

/// A line as it came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawLine<'a> {
    /// The bytes kept.
    bytes: &'a [u8],
    /// The real length.
    length: u64,
}

impl Lines {
    /// Takes the next bytes, and hands out each line that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(RawLine<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            line(self.raw());
            self.clear();
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Hands out the last line, when it did not end.
    pub(crate) fn finish(&mut self, line: impl FnOnce(RawLine<'_>)) {
        if self.length > 0 {
            line(self.raw());
            self.clear();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_CONSOLE_LINE_BYTES + 1 - self.open.len();
        self.open.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.length += bytes.len() as u64;
    }

    fn raw(&self) -> RawLine<'_> {
        RawLine { bytes: &self.open, length: self.length }
    }

    fn clear(&mut self) {
        self.open.clear();
        self.length = 0;
    }
}

impl RawLine<'_> {
    /// Whether a text stands in it.
    pub(crate) fn holds(self, text: &str) -> bool {
        let text = text.as_bytes();
        self.bytes.windows(text.len().max(1)).any(|window| window == text)
    }

    /// The line as text: without CR and escape sequences, with U+FFFD for what is not UTF-8, and
    /// cut to its limit with a mark.
    pub(crate) fn clean(self) -> String {
        let mut text = String::from_utf8_lossy(&without_escapes(self.bytes)).into_owned();
        let is_whole = self.length == self.bytes.len() as u64;
        if !is_whole || text.len() > MAX_CONSOLE_LINE_BYTES {
            text.truncate(text.floor_char_boundary(MAX_CONSOLE_LINE_BYTES));
            text.push_str(&format!(
                " ... (line cut: {} bytes, MAX_CONSOLE_LINE_BYTES is {MAX_CONSOLE_LINE_BYTES})",
                self.length
            ));
        }
        text
    }
}

/// Removes CR and the escape sequences of terminals (ECMA-48): colours, cursor moves, titles.
fn without_escapes(line: &[u8]) -> Vec<u8> {
    const ESC: u8 = 0x1b;
    const BEL: u8 = 0x07;
    let mut clean = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match (byte, tail) {
            (b'\r', _) => tail,
            // Control sequence: parameters, then one final byte.
            (ESC, [b'[', sequence @ ..]) => {
                let end = sequence.iter().position(|b| !(0x20..0x40).contains(b));
                match end {
                    Some(end) if (0x40..0x7f).contains(&sequence[end]) => &sequence[end + 1..],
                    Some(end) => &sequence[end..],
                    None => &[],
                }
            }
            // A string (title, hyperlink) up to BEL or ESC \. One without an end is text.
            (ESC, [b']' | b'P' | b'X' | b'^' | b'_', string @ ..]) => {
                let end = string.iter().position(|b| *b == BEL || *b == ESC);
                match end {
                    Some(end) if string[end] == BEL => &string[end + 1..],
                    Some(end) if string.get(end + 1) == Some(&b'\\') => &string[end + 2..],
                    Some(_) | None => string,
                }
            }
            // Any other: intermediate bytes, then one final byte.
            (ESC, _) => {
                let end = tail.iter().position(|b| !(0x20..0x30).contains(b));
                match end {
                    Some(end) if (0x30..0x7f).contains(&tail[end]) => &tail[end + 1..],
                    _ => tail,
                }
            }
            _ => {
                clean.push(byte);
                tail
            }
        };
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.push(piece, |line| out.push(line.clean()));
        }
        lines.finish(|line| out.push(line.clean()));
        out
    }

    #[rstest]
    #[case::plain(b"I (12) main: hi", "I (12) main: hi")]
    #[case::crlf(b"hi\r", "hi")]
    #[case::cr_inside(b"10%\r20%", "10%20%")]
    #[case::colours(b"\x1b[0;32mI (1) MCP: ok\x1b[0m", "I (1) MCP: ok")]
    #[case::title(b"\x1b]0;title\x07text", "text")]
    #[case::title_with_st(b"\x1b]0;title\x1b\\text", "text")]
    #[case::title_without_end(b"\x1b]0;title", "0;title")]
    #[case::charset(b"\x1b(Btext", "text")]
    #[case::reset(b"\x1bctext", "text")]
    #[case::cut_off(b"text\x1b[0;3", "text")]
    #[case::lone(b"text\x1b", "text")]
    #[case::broken(b"\x1b[0\xc3\xa4text", "ätext")]
    #[case::others_kept(b"a\0b\x07c\td", "a\0b\x07c\td")]
    #[case::not_utf8(b"a\xff\xfeb", "a\u{fffd}\u{fffd}b")]
    #[case::empty(b"", "")]
    fn a_line_is_cleaned(#[case] raw: &[u8], #[case] clean: &str) {
        let raw = [raw, b"\n"].concat();
        assert_eq!(lines(&[&raw]), [clean]);
    }

    #[test]
    fn lines_are_cut_where_they_end_and_not_where_they_arrive() {
        assert_eq!(lines(&[b"a", b"b\n\nc", b"", b"\nd"]), ["ab", "", "c", "d"]);
    }

    #[rstest]
    #[case(MAX_CONSOLE_LINE_BYTES, false)]
    #[case(MAX_CONSOLE_LINE_BYTES + 1, true)]
    #[case(MAX_CONSOLE_LINE_BYTES * 10, true)]
    fn a_long_line_is_cut_with_a_mark(#[case] length: usize, #[case] is_cut: bool) {
        let raw = [&vec![b'x'; length], b"\r\n".as_slice()].concat();
        let line = &lines(&[&raw, b"next\n"])[0];
        assert_eq!(line.contains("line cut"), is_cut);
        assert_eq!(line.matches('x').count(), length.min(MAX_CONSOLE_LINE_BYTES));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_lines(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), Just(b'\n'), Just(0x1b), Just(b'['), Just(b']')], 0..300),
            piece in 1..20_usize,
        ) {
            let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
            let lines = lines(&pieces);
            prop_assert_eq!(&lines, &self::lines(&[&bytes]));
            for line in lines {
                let control = line.chars().any(|c| matches!(c, '\n' | '\r' | '\x1b'));
                prop_assert!(!control, "{}", line);
            }
        }
    }
}
