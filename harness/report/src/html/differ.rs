//! Where two texts differ, word by word.

use std::ops::Range;

use super::text::escape;
use mcp_hil_record::text::clean;

/// Most words of one side that are compared; of longer texts the middle is one difference.
const WORDS: usize = 400;

/// What part of the longer text both must share, or else everything differs: one in so many.
const SHARED_PART: usize = 3;

/// The parts of two texts that only one of them has, where these are values: numbers, strings, signs. Where
/// texts have little in common, or differ in what they tell in words, there are none.
pub(super) fn differences(one: &str, other: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (ours, theirs) = (Side::of(one), Side::of(other));
    match compare(&ours, &theirs) {
        Some((keep, keep_theirs))
            if ours.differ_in_values(&keep) && theirs.differ_in_values(&keep_theirs) =>
        {
            (ours.ranges(&keep), theirs.ranges(&keep_theirs))
        }
        _ => (Vec::new(), Vec::new()),
    }
}

/// Two texts as content, with `mark` around all that only one of them has.
pub(super) fn marked(one: &str, other: &str, limit: usize) -> (String, String) {
    let (one, other) = (clean::line(one, limit), clean::line(other, limit));
    let (ours, theirs) = (Side::of(&one), Side::of(&other));
    match compare(&ours, &theirs) {
        Some((keep, keep_theirs)) => (ours.html(&keep), theirs.html(&keep_theirs)),
        None => (escape(&one), escape(&other)),
    }
}

/// Which words of two texts are in both. None if they have little in common.
fn compare(ours: &Side<'_>, theirs: &Side<'_>) -> Option<(Vec<bool>, Vec<bool>)> {
    let (one, other) = (&ours.words, &theirs.words);
    let front = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let back = one[front..].iter().rev().zip(other[front..].iter().rev());
    let back = back.take_while(|(a, b)| a == b).count();
    let (left, right) = (&one[front..one.len() - back], &other[front..other.len() - back]);
    let (mut keep, mut keep_theirs) = (vec![true; one.len()], vec![true; other.len()]);
    keep[front..front + left.len()].fill(false);
    keep_theirs[front..front + right.len()].fill(false);
    if left.len() <= WORDS && right.len() <= WORDS {
        for (a, b) in common(left, right) {
            keep[front + a] = true;
            keep_theirs[front + b] = true;
        }
    }
    let shared = one.iter().zip(&keep).filter(|(word, keep)| **keep && is_word(word)).count();
    let count = |words: &[&str]| words.iter().filter(|word| is_word(word)).count();
    let enough = shared > 0 && shared * SHARED_PART >= count(one).max(count(other));
    enough.then_some((keep, keep_theirs))
}

/// A text in words, runs of spaces, and single characters of all else.
struct Side<'a> {
    words: Vec<&'a str>,
}

impl<'a> Side<'a> {
    fn of(text: &'a str) -> Self {
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
        Self { words }
    }

    /// Whether what only this side has are values: no word that tells something, unless it is in quotes.
    fn differ_in_values(&self, keep: &[bool]) -> bool {
        let mut quoted = false;
        self.words.iter().zip(keep).all(|(word, keep)| {
            quoted ^= *word == "\"";
            let tells = word.starts_with(char::is_alphabetic)
                && !word.contains(|c: char| c.is_ascii_digit())
                && !["true", "false", "null"].contains(word);
            *keep || quoted || !tells
        })
    }

    /// The parts that are not kept.
    fn ranges(&self, keep: &[bool]) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        for (word, keep) in self.words.iter().zip(keep) {
            let end = at + word.len();
            match ranges.last_mut() {
                _ if *keep => {}
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
            at = end;
        }
        ranges
    }

    fn html(&self, keep: &[bool]) -> String {
        let text = self.words.concat();
        let mut html = String::new();
        let mut at = 0;
        for range in self.ranges(keep) {
            html += &escape(&text[at..range.start]);
            html += &format!("<mark>{}</mark>", escape(&text[range.clone()]));
            at = range.end;
        }
        html + &escape(&text[at..])
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_differs_is_marked() {
        assert_eq!(
            marked("id 7", "id \"7\"", 99),
            ("id 7".into(), "id <mark>&quot;</mark>7<mark>&quot;</mark>".into())
        );
        assert_eq!(
            marked("clock 1.2 of a lamp", "clock 1.3 of a door", 99).1,
            "clock 1.<mark>3</mark> of a <mark>door</mark>"
        );
        assert_eq!(marked("", "", 9), (String::new(), String::new()));
    }

    #[test]
    fn only_values_differ() {
        let differ = |one: &str, other: &str| {
            let (ours, theirs) = differences(one, other);
            let of = |text: &str, ranges: &[Range<usize>]| -> Vec<String> {
                ranges.iter().map(|range| text[range.clone()].to_owned()).collect()
            };
            [of(one, &ours).join("|"), of(other, &theirs).join("|")]
        };
        assert_eq!(differ("volume 70 of 100", "volume 71 of 100"), ["70", "71"]);
        assert_eq!(differ("theme \"dark\"", "theme \"light\""), ["dark", "light"]);
        for (one, other) in [
            ("an answer within 2 s", "no answer within 2 s"),
            ("volume 70 of 100", "volume cannot be read 70 of 100"),
            ("7", "8"),
        ] {
            assert_eq!(differ(one, other), ["", ""], "{one}");
        }
    }

    proptest! {
        #[test]
        fn marks_lose_nothing(one in "[a-c 1{}:]{0,40}", other in "[a-c 1{}:]{0,40}") {
            let plain = |html: &str| html.replace("<mark>", "").replace("</mark>", "");
            let (left, right) = marked(&one, &other, 99);
            prop_assert_eq!((plain(&left), plain(&right)), (one, other));
        }
    }
}
