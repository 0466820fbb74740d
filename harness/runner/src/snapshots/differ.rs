//! The lines in which two texts differ.

use similar::{ChangeTag, TextDiff};

/// Lines around a difference that are shown.
const CONTEXT: usize = 1;

/// Lines that differ, as `- before` and `+ after`, with a line around them as `  line`.
pub fn lines(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let diff = TextDiff::from_slices(&before, &after);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !lines.is_empty() {
            lines.push("...".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("{sign} {}", change.value()));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh";
        let after = "a\nB\nc\nd\ne\nf\ng\nh\ni";
        let expected = ["  a", "- b", "+ B", "  c", "...", "  h", "+ i"];
        assert_eq!(lines(before, after), expected);
        assert!(lines(before, before).is_empty());
        assert_eq!(lines("", "x"), ["+ x"]);
        assert_eq!(lines("x\ny", "y"), ["- x", "  y"]);
    }
}
