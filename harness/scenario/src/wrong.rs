//! A mistake in a scenario, by the path to it: its line and column are looked up when it is told.

use mcp_hil_core::problem::{Problem, nearest};

use super::places::Node;

/// What is wrong with a part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Names of members and numbers of elements that lead to it, from where it was found.
    path: Vec<String>,
    what: String,
    hint: Option<String>,
}

impl Wrong {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { path: Vec::new(), what: what.into(), hint: None }
    }

    /// The same with the likely fix.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with the known name that is nearest to a mistyped one, or else with all.
    #[must_use]
    pub(super) fn nearest(self, name: &str, known: &[&str]) -> Self {
        match nearest(name, known.iter().copied()) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None => self.hint(format!("known: {}", known.join(", "))),
        }
    }

    /// The same, seen from one level further out.
    #[must_use]
    pub(super) fn inside(mut self, piece: impl ToString) -> Self {
        self.path.insert(0, piece.to_string());
        self
    }

    /// The mistake with its place in a file; without positions it is that of the whole file.
    pub(super) fn problem(self, file: &str, node: Option<&Node>) -> Problem {
        let (line, column) = node.map_or((0, 0), |node| node.place_of(&self.path));
        let problem = Problem::at(file, line, column, self.what);
        match self.hint {
            Some(hint) => problem.hint(hint),
            None => problem.with_typo_hint(),
        }
    }

    /// What is wrong, for those who know where.
    pub(super) fn what(self) -> String {
        self.what
    }
}
