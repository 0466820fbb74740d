//! Console lines in the style of ESP-IDF: `L (milliseconds since boot) TAG: text`.

use alloc::format;
use alloc::string::String;

/// Severity of a console line, ESP-IDF's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `E`
    Error,
    /// `W`
    Warning,
    /// `I`
    Info,
}

impl Level {
    fn letter(self) -> char {
        match self {
            Level::Error => 'E',
            Level::Warning => 'W',
            Level::Info => 'I',
        }
    }
}

/// Longest text that is quoted in a line, in bytes: a UART at 115200 baud needs 20 ms for it.
pub(crate) const LONGEST_QUOTE: usize = 256;

/// One complete console line, without line feed.
pub(crate) fn line(level: Level, uptime_ms: u64, tag: &str, text: &str) -> String {
    let letter = level.letter();
    format!("{letter} ({uptime_ms}) {tag}: {text}")
}

/// What a peer sent, made fit for a console: no control characters, not longer than
/// [`LONGEST_QUOTE`].
pub(crate) fn quote(text: &str) -> String {
    quote_chars(text.chars())
}

/// The same for text that is not in one piece.
pub(crate) fn quote_chars(text: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    for character in text {
        if out.len() + character.len_utf8() > LONGEST_QUOTE {
            out.push_str("...");
            break;
        }
        out.push(if character.is_control() { '.' } else { character });
    }
    out
}
