//! Columns, wrapping and colour: how text is laid out, whatever it says.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Column at which labels begin.
pub const LABEL_INDENT: usize = 4;

/// Width of the column of labels: the longest is `requirement`.
const LABEL_WIDTH: usize = 13;

/// Fewest columns that values get, however narrow the terminal is.
const MIN_VALUE_WIDTH: usize = 30;

/// Columns of a status word, the brackets of the time behind it, and the spaces between them.
const STATUS_WIDTH: usize = 12;

/// A colour, as the digits of its escape sequence.
pub type Colour = &'static str;

/// What is as it should be.
pub const GREEN: Colour = "1;32";
/// What is broken.
pub const RED: Colour = "1;31";
/// What is in doubt.
pub const YELLOW: Colour = "1;33";
/// What the bench broke.
pub const MAGENTA: Colour = "1;35";
/// What only informs.
pub const CYAN: Colour = "1;36";
/// What matters less.
pub const DIM: Colour = "2";

/// A page that lines are put on.
#[derive(Debug)]
pub struct Page {
    text: String,
    width: usize,
    colour: bool,
    /// Whether no line is longer than that but one that is to be copied.
    wraps: bool,
}

impl Page {
    /// An empty page of so many columns, in colours or without.
    pub fn new(width: usize, colour: bool) -> Self {
        Self { text: String::new(), width, colour, wraps: false }
    }

    /// The same page, which wraps each line that does not fit, if it is for a terminal.
    #[must_use]
    pub fn wrapping(self, wraps: bool) -> Self {
        Self { wraps, ..self }
    }

    /// Takes what was put on the page so far.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Puts a line down as it is.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Puts down a line that begins with a status word and a time: `    PASS [  0.041s] rest`.
    pub fn status(&mut self, word: &str, colour: Colour, bracket: &str, rest: &str) {
        let word = self.paint(colour, &format!("{word:>8}"));
        self.line(&format!("{word} [{bracket}] {rest}"));
    }

    /// Puts down a line; on a page that wraps, what does not fit stands below it, behind so many spaces.
    pub fn long_line(&mut self, line: &str, indent: usize) {
        match self.wraps {
            true => self.line(&hanging(line, self.width, indent)),
            false => self.line(line),
        }
    }

    /// Puts down a line as [`status`](Self::status) does; on a page that wraps, what does not fit stands below.
    pub fn long_status(&mut self, word: &str, colour: Colour, bracket: &str, rest: &str) {
        let taken = STATUS_WIDTH + columns(bracket);
        let room = self.width.saturating_sub(taken).max(MIN_VALUE_WIDTH);
        match self.wraps {
            true => {
                let below = format!("\n{:taken$}", "");
                self.status(word, colour, bracket, &wrap(rest, room).join(&below));
            }
            false => self.status(word, colour, bracket, rest),
        }
    }

    /// Puts down a labelled value, wrapped below itself.
    pub fn row(&mut self, label: &str, value: &str) {
        let room = self.width.saturating_sub(LABEL_INDENT + LABEL_WIDTH).max(MIN_VALUE_WIDTH);
        for (at, part) in wrap(value, room).iter().enumerate() {
            self.labelled(if at == 0 { label } else { "" }, part);
        }
    }

    /// Puts down a labelled value that is to be copied, and therefore never wrapped.
    pub fn whole_row(&mut self, label: &str, value: &str) {
        self.labelled(label, value);
    }

    /// Columns that a status line has left after its first `taken`.
    pub fn room_after(&self, taken: usize) -> usize {
        self.width.saturating_sub(taken)
    }

    /// A text in a colour, when colours are on.
    pub fn paint(&self, colour: Colour, text: &str) -> String {
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
pub fn seconds(micros: u64) -> String {
    // Reports need milliseconds; the loss of precision above 2^53 microseconds is 285 years away.
    #[allow(clippy::cast_precision_loss)]
    let seconds = micros as f64 / 1e6;
    format!("{seconds:>7.3}s")
}

/// Columns that a text takes; wide characters take two.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Fills a text with spaces up to a number of columns.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(columns(text)))
}

/// A number with its noun: `1 case`, `2 cases`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Breaks a line into lines of at most `width` columns, at a space or after a comma where there is
/// one, else after another sign, so that no word is broken that fits; joined again they are the same text but for the
/// spaces broken at.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    // Bytes of `line` up to which it may be kept when the next character does not fit, and up to which it may be where
    // that is nowhere.
    let (mut breakable, mut at_sign) = (0, 0);
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > width && !line.is_empty() {
            let at = [breakable, at_sign, line.len()].into_iter().find(|at| *at > 0).unwrap_or(0);
            let rest = line.split_off(at);
            lines.push(line.trim_end().to_owned());
            line = rest.trim_start().to_owned();
            used = columns(&line);
            (breakable, at_sign) = (0, 0);
        }
        if character == ' ' && line.is_empty() && !lines.is_empty() {
            continue;
        }
        line.push(character);
        used += wide;
        // Breaking in the first half would leave more margin than text.
        if used * 2 > width {
            match character {
                ' ' | ',' => breakable = line.len(),
                ':' | '/' | '.' | '-' | '_' | '{' | '[' => at_sign = line.len(),
                _ => {}
            }
        }
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// A line of at most `width` columns, and below it what does not fit, behind `indent` spaces; what stands in the first
/// `indent` columns is never wrapped.
pub fn hanging(line: &str, width: usize, indent: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let at = line.char_indices().nth(indent).map_or(line.len(), |(at, _)| at);
    let (head, rest) = line.split_at(at);
    let parts = wrap(rest, width.saturating_sub(indent).max(MIN_VALUE_WIDTH));
    format!("{head}{}", parts.join(&format!("\n{:indent$}", "")))
}

/// A time in the unit that suits it: `50 µs`, `1.2 ms`, `3 s`.
pub fn time(micros: u64) -> String {
    let (unit, size) = match micros {
        0..1_000 => return format!("{micros} µs"),
        1_000..1_000_000 => ("ms", 1_000),
        _ => ("s", 1_000_000),
    };
    let (whole, tenth) = (micros / size, micros % size * 10 / size);
    match tenth {
        0 => format!("{whole} {unit}"),
        _ if whole >= 100 => format!("{whole} {unit}"),
        _ => format!("{whole}.{tenth} {unit}"),
    }
}

/// A list of which only the first few are named: `a, b and 3 more`.
pub fn few(items: &[String], most: usize) -> String {
    match items.len().checked_sub(most) {
        None | Some(0) => items.join(", "),
        Some(left) => format!("{} and {left} more", items[..most].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_fit_stands_below_behind_spaces() {
        let line = format!("{:<10}{}", "a/b", "word ".repeat(9).trim_end());
        let told = hanging(&line, 40, 10);
        let below = format!("{:10}word word word", "");
        assert_eq!(told, format!("a/b       {}\n{below}", "word ".repeat(6).trim_end()));
        assert_eq!(hanging("short", 40, 10), "short");
    }

    #[test]
    fn lines_break_at_spaces_and_commas() {
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("one two three", 9), ["one two", "three"]);
        assert_eq!(wrap(r#"{"id":1,"result":{}}"#, 10), [r#"{"id":1,"#, r#""result":{"#, "}}"]);
        assert_eq!(wrap("errors/unknown:errors.code", 16), ["errors/unknown:", "errors.code"]);
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

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let told = [0, 999, 1_000, 1_250, 150_900, 2_000_000, 61_500_000].map(time);
        assert_eq!(told, ["0 µs", "999 µs", "1 ms", "1.2 ms", "150 ms", "2 s", "61.5 s"]);
    }
}
