//! Where in a file something stands.

use mcp_hil_core::problem::Problem;
use toml::de::{DeTable, DeValue};

/// A file as it was written, to tell lines of what is wrong in it.
pub(super) struct Text<'a> {
    /// The file's path, as it was given.
    pub(super) path: &'a str,
    /// What is in it.
    pub(super) text: &'a str,
}

impl Text<'_> {
    /// A problem with the member that these keys lead to: its line, or that of the last table on the
    /// way that is there. Elements of arrays are led to by their number.
    pub(super) fn problem(&self, keys: &[&str], what: impl Into<String>) -> Problem {
        let line = self.offset(keys).map_or(0, |offset| {
            let before = self.text.get(..offset).unwrap_or(self.text);
            before.matches('\n').count() as u64 + 1
        });
        Problem::at(self.path, line, 0, what)
    }

    fn offset(&self, keys: &[&str]) -> Option<usize> {
        let root = DeTable::parse(self.text).ok()?;
        let mut table = root.get_ref();
        let mut found = None;
        let mut keys = keys.iter();
        while let Some(key) = keys.next() {
            let Some((name, value)) = table.get_key_value(*key) else {
                return found;
            };
            found = Some(name.span().start);
            table = match value.get_ref() {
                DeValue::Table(inner) => inner,
                DeValue::Array(elements) => {
                    let number: usize = keys.next()?.parse().ok()?;
                    let element = elements.get(number)?;
                    found = Some(element.span().start);
                    match element.get_ref() {
                        DeValue::Table(inner) => inner,
                        _ => return found,
                    }
                }
                _ => return found,
            };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_the_member_or_of_its_table() {
        let text = "name = 'a'\n[board]\nserial = '1'\n\n[[board.parts]]\noffset = 1\n\
                    [[board.parts]]\nfile = 'b'\noffset = 2\n";
        let text = Text { path: "f", text };
        for (keys, line) in [
            (&["name"][..], 1),
            (&["board"], 2),
            (&["board", "serial"], 3),
            (&["board", "mac"], 2),
            (&["board", "parts", "0", "offset"], 6),
            (&["board", "parts", "1", "offset"], 9),
            (&["nothing"], 0),
        ] {
            assert_eq!(text.problem(keys, "").line, line, "{keys:?}");
        }
    }
}
