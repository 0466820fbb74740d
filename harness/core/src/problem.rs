//! A mistake in a file that a person wrote: scenario, catalogue, baseline or DUT file.

use std::fmt;

/// What is wrong in a file, where, and the likely fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// The file, as the user knows it.
    pub file: String,
    /// Line, counted from 1; 0 when the whole file is meant.
    pub line: u64,
    /// Column, counted from 1; 0 when the whole line is meant.
    pub column: u64,
    /// What failed, with expected and got.
    pub what: String,
    /// The likely fix, when one can be named.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at a place in a file.
    pub fn at(file: &str, line: u64, column: u64, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, column, what: what.into(), hint: None }
    }

    /// The same problem with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Reads the position and the unknown word out of a TOML error.
    pub fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let (line, column) = error.span().map_or((0, 0), |span| position(text, span.start));
        Self::at(file, line, column, error.message().trim().to_owned()).with_typo_hint()
    }

    /// Adds "did you mean" to messages of the form "unknown field `x`, expected one of `a`, `b`".
    #[must_use]
    pub fn with_typo_hint(mut self) -> Self {
        // serde says "unknown field X, expected one of A, B", with or without back-ticks.
        if let Some((_, rest)) = self.what.split_once("unknown ")
            && let Some((unknown, known)) = rest.split_once(", expected ")
        {
            let word = |text: &str| text.trim().trim_matches('`').to_owned();
            let unknown = word(unknown.rsplit(' ').next().unwrap_or(unknown));
            let known = known.trim_start_matches("one of ").split([',', ' ']).map(word);
            // "expected `a` or `b`"
            let known: Vec<String> = known.filter(|word| word != "or").collect();
            self.hint = nearest(&unknown, known.iter().map(String::as_str))
                .map(|near| format!("did you mean `{near}`?"));
        }
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        write!(f, ": {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The known word that is nearest to `word`, when it is near enough to be a typo of it. A word that is known is none, for
/// whatever reason it was refused.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    if known.contains(&word) {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn position(text: &str, offset: usize) -> (u64, u64) {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() as u64 + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_refused_is_not_suggested() {
        assert_eq!(nearest("natve", ["native", "wait"]), Some("native"));
        assert_eq!(nearest("native", ["native", "wait"]), None);
        let hint = |what: &str| Problem::at("a.toml", 1, 1, what).with_typo_hint().hint;
        let told = hint("unknown variant `os`, expected `os2` or `mac`");
        assert_eq!(told.as_deref(), Some("did you mean `os2`?"));
        assert_eq!(hint("unknown variant `ore`, expected `xyz` or `mac`"), None);
    }
}
