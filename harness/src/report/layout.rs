//! Columns, wrapping and colour: how text is laid out, whatever it says.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Column at which labels begin.
const LABEL_INDENT: usize = 13;

/// Width of the column of labels: the longest is `requirement`.
const LABEL_WIDTH: usize = 13;

/// Fewest columns that values get, however narrow the terminal is.
const MIN_VALUE_WIDTH: usize = 30;

/// A colour, as the digits of its escape sequence.
pub(crate) type Colour = &'static str;

pub(crate) const GREEN: Colour = "1;32";
pub(crate) const RED: Colour = "1;31";
pub(crate) const YELLOW: Colour = "1;33";
pub(crate) const MAGENTA: Colour = "1;35";
pub(crate) const CYAN: Colour = "1;36";
pub(crate) const DIM: Colour = "2";

/// A page that lines are put on.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    pub(crate) fn new(width: usize, colour: bool) -> Self {
        Self {
            text: String::new(),
            width,
            colour,
        }
    }

    /// Takes what was put on the page so far.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Puts a line down as it is.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Puts down a line that begins with a status word and a time: `    PASS [  0.041s] rest`.
    pub(crate) fn status(&mut self, word: &str, colour: Colour, bracket: &str, rest: &str) {
        let word = self.paint(colour, &format!("{word:>8}"));
        self.line(&format!("{word} [{bracket}] {rest}"));
    }

    /// Puts down a labelled value, wrapped below itself.
    pub(crate) fn row(&mut self, label: &str, value: &str) {
        let room = self
            .width
            .saturating_sub(LABEL_INDENT + LABEL_WIDTH)
            .max(MIN_VALUE_WIDTH);
        for (at, part) in wrap(value, room).iter().enumerate() {
            self.labelled(if at == 0 { label } else { "" }, part);
        }
    }

    /// Puts down a labelled value that is to be copied, and therefore never wrapped.
    pub(crate) fn whole_row(&mut self, label: &str, value: &str) {
        self.labelled(label, value);
    }

    /// Columns that a status line has left after its first `taken`.
    pub(crate) fn room_after(&self, taken: usize) -> usize {
        self.width.saturating_sub(taken)
    }

    /// A text in a colour, when colours are on.
    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{colour}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn labelled(&mut self, label: &str, value: &str) {
        let label = match label {
            "" => " ".repeat(LABEL_WIDTH),
            label => self.paint(DIM, &format!("{label:<LABEL_WIDTH$}")),
        };
        self.line(&format!("{:LABEL_INDENT$}{label}{value}", ""));
    }
}

/// A time in seconds for the brackets of a status line: seven columns and the unit.
pub(crate) fn seconds(micros: u64) -> String {
    // Reports need milliseconds; the loss of precision above 2^53 microseconds is 285 years away.
    #[allow(clippy::cast_precision_loss)]
    let seconds = micros as f64 / 1e6;
    format!("{seconds:>7.3}s")
}

/// Columns that a text takes; wide characters take two.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Fills a text with spaces up to a number of columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(columns(text)))
}

/// A number with its noun: `1 case`, `2 cases`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Breaks a line into lines of at most `width` columns, at a space or after a comma where there is
/// one; joined again they are the same text but for the spaces broken at.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    // Bytes of `line` up to which it may be kept when the next character does not fit.
    let mut breakable = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > width && !line.is_empty() {
            let at = if breakable > 0 { breakable } else { line.len() };
            let rest = line.split_off(at);
            lines.push(line.trim_end().to_owned());
            line = rest.trim_start().to_owned();
            used = columns(&line);
            breakable = 0;
        }
        if character == ' ' && line.is_empty() && !lines.is_empty() {
            continue;
        }
        line.push(character);
        used += wide;
        // Breaking in the first half would leave more margin than text.
        if matches!(character, ' ' | ',') && used * 2 > width {
            breakable = line.len();
        }
    }
    lines.push(line.trim_end().to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_break_at_spaces_and_commas() {
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("one two three", 9), ["one two", "three"]);
        assert_eq!(
            wrap(r#"{"id":1,"result":{}}"#, 10),
            [r#"{"id":1,"#, r#""result":{"#, "}}"]
        );
        assert_eq!(wrap("0123456789", 4), ["0123", "4567", "89"]);
        assert_eq!(wrap("音量音量", 4), ["音量", "音量"]);
    }

    #[test]
    fn times_keep_their_columns() {
        assert_eq!(seconds(41_000), "  0.041s");
        assert_eq!(seconds(123_456_789), "123.457s");
    }

    proptest! {
        #[test]
        fn wrapping_loses_only_spaces(text in "[a-c, 音]{0,80}", width in 4usize..30) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| columns(line) <= width), "{:?}", lines);
            let squeeze = |text: &str| text.replace(' ', "");
            prop_assert_eq!(squeeze(&lines.concat()), squeeze(&text));
        }
    }
}
