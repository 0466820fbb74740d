//! Texts that match the `pattern` of a schema.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Which of several characters people would write.
const USUAL: [&str; 2] = ["a1A5-_ .:#/", "c2C9 _-.:#/"];

/// Longest text that is made, in bytes.
const LONGEST: usize = 256;

/// Up to two texts that match an expression, as far as it means here what it means in ECMAScript, which a schema's does
/// (JSON Schema 2020-12, core, section 6.4). Whether they do in truth is for a validator to say.
pub(super) fn texts_of(pattern: &str) -> Vec<String> {
    let Ok(hir) = regex_syntax::parse(pattern) else { return Vec::new() };
    let made = USUAL.iter().enumerate().filter_map(|(nth, usual)| {
        let mut text = String::new();
        write(&hir, nth, usual, &mut text).then_some(text)
    });
    let mut texts: Vec<String> = made.collect();
    texts.dedup();
    texts
}

/// Writes what matches, the `nth` way of several; whether there is any that is short enough.
fn write(hir: &Hir, nth: usize, usual: &str, text: &mut String) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(literal) => {
                text.push_str(literal);
                true
            }
            Err(_) => false,
        },
        HirKind::Class(class) => {
            let found = one_of(class, usual);
            text.extend(found);
            found.is_some()
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let times = repetition.min.max(1).min(most);
            (0..times).all(|_| write(&repetition.sub, nth, usual, text))
        }
        HirKind::Capture(capture) => write(&capture.sub, nth, usual, text),
        HirKind::Concat(parts) => parts.iter().all(|part| write(part, nth, usual, text)),
        HirKind::Alternation(parts) => {
            let part = if nth == 0 { parts.first() } else { parts.last() };
            part.is_some_and(|part| write(part, nth, usual, text))
        }
    }
}

/// A character of a class, a usual one if there is any.
fn one_of(class: &Class, usual: &str) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has = |c: &char| class.iter().any(|range| range.start() <= *c && *c <= range.end());
    usual.chars().find(has).or_else(|| class.iter().next().map(|range| range.start()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("^#[0-9A-Fa-f]{6}$", &["#aaaaaa", "#cccccc"])]
    #[case(r"^\d{2}:\d{2}$", &["11:11", "22:22"])]
    #[case("^(on|off)$", &["on", "off"])]
    #[case("^[A-Z]{3}-x?$", &["AAA-x", "CCC-x"])]
    #[case("^(?=a)b$", &[])]
    #[case("(", &[])]
    #[case("^a{9999}$", &[])]
    fn a_pattern_has_texts(#[case] pattern: &str, #[case] texts: &[&str]) {
        assert_eq!(texts_of(pattern), texts);
    }
}
