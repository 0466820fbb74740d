//! The lines in which two texts differ.

/// Lines around a difference that are shown.
const CONTEXT: usize = 1;

/// Most pairs of lines that are compared; beyond, what differs is shown as a whole.
const MOST_PAIRS: usize = 4_000_000;

/// Lines that differ, as `- before` and `+ after`, with a line around them as `  line`.
pub(super) fn lines(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let (ours, theirs) = (&before[head..], &after[head..]);
    let tail = ours.iter().rev().zip(theirs.iter().rev());
    let tail = tail.take_while(same).count();
    let (ours, theirs) = (&ours[..ours.len() - tail], &theirs[..theirs.len() - tail]);
    let mut all: Vec<(char, &str)> = before[..head].iter().map(|line| (' ', *line)).collect();
    all.extend(middle(ours, theirs));
    all.extend(
        before[before.len() - tail..]
            .iter()
            .map(|line| (' ', *line)),
    );
    let near = |at: usize| {
        let (from, to) = (
            at.saturating_sub(CONTEXT),
            (at + CONTEXT + 1).min(all.len()),
        );
        all[from..to].iter().any(|(sign, _)| *sign != ' ')
    };
    let shown: Vec<usize> = (0..all.len()).filter(|at| near(*at)).collect();
    let mut lines = Vec::new();
    for (number, at) in shown.iter().enumerate() {
        if number > 0 && shown[number - 1] + 1 < *at {
            lines.push("...".to_owned());
        }
        let (sign, line) = all[*at];
        lines.push(format!("{sign} {line}"));
    }
    lines
}

/// The longest common part stays, everything else goes or comes.
fn middle<'a>(ours: &[&'a str], theirs: &[&'a str]) -> Vec<(char, &'a str)> {
    let (rows, columns) = (ours.len(), theirs.len());
    let mut out = Vec::new();
    let (mut row, mut column) = (0, 0);
    if rows.saturating_mul(columns) <= MOST_PAIRS {
        // How many lines are common from here on, row by row.
        let width = columns + 1;
        let mut common = vec![0_u32; (rows + 1) * width];
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                common[row * width + column] = match ours[row] == theirs[column] {
                    true => common[(row + 1) * width + column + 1] + 1,
                    false => {
                        common[(row + 1) * width + column].max(common[row * width + column + 1])
                    }
                };
            }
        }
        while row < rows && column < columns {
            if ours[row] == theirs[column] {
                out.push((' ', ours[row]));
                (row, column) = (row + 1, column + 1);
            } else if common[(row + 1) * width + column] >= common[row * width + column + 1] {
                out.push(('-', ours[row]));
                row += 1;
            } else {
                out.push(('+', theirs[column]));
                column += 1;
            }
        }
    }
    out.extend(ours[row..].iter().map(|line| ('-', *line)));
    out.extend(theirs[column..].iter().map(|line| ('+', *line)));
    out
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
