//! What users are told when a command cannot be carried out.

use std::fmt::Display;

use mcp_hil_core::problem::Problem;
/// An error that may know what the user can do about it.
pub use miette::Diagnostic;

use crate::exit;

/// A command that cannot be carried out: what is wrong, what helps, and the exit code that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", .hint.as_ref().map(|hint| format!("\n\nhint: {hint}")).unwrap_or_default())]
pub struct UserError {
    /// What failed, what was expected, and what was there instead.
    pub what: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// The exit code.
    pub exit: u8,
}

impl UserError {
    /// The command line or a file is wrong.
    pub fn usage(what: impl Into<String>, hint: &str) -> Self {
        Self::new(exit::USAGE, what, hint)
    }

    /// The bench is not ready.
    pub fn bench(what: impl Into<String>, hint: &str) -> Self {
        Self::new(exit::BENCH, what, hint)
    }

    /// There is nothing to run.
    pub fn nothing_ran(what: impl Into<String>, hint: &str) -> Self {
        Self::new(exit::NOTHING_RAN, what, hint)
    }

    fn new(exit: u8, what: impl Into<String>, hint: &str) -> Self {
        Self { what: what.into(), hint: Some(hint.to_owned()), exit }
    }

    /// The error of a layer below, with the hint that it names.
    pub fn from_below(exit: u8, error: &dyn Diagnostic) -> Self {
        let hint = error.help().map(|hint| hint.to_string());
        Self { what: error.to_string(), hint, exit }
    }

    /// The same about something, which stands before what is wrong.
    #[must_use]
    pub fn about(self, subject: impl Display) -> Self {
        Self { what: format!("{subject}: {}", self.what), ..self }
    }
}

impl From<Problem> for UserError {
    fn from(mut problem: Problem) -> Self {
        let hint = problem.hint.take();
        Self { what: problem.to_string(), hint, exit: exit::USAGE }
    }
}

/// All that an error of a layer below tells the user: what failed, and the hint.
pub fn whole(error: &dyn Diagnostic) -> String {
    UserError::from_below(exit::BENCH, error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_of_a_layer_below_is_a_field_and_ends_the_message() {
        #[derive(Debug, thiserror::Error, Diagnostic)]
        #[error("no port\n\nhint: is part of its name")]
        #[diagnostic(help("plug it in"))]
        struct NoPort;
        let error = UserError::from_below(exit::BENCH, &NoPort).about("`desk`");
        assert_eq!(error.what, "`desk`: no port\n\nhint: is part of its name");
        assert_eq!(error.hint.as_deref(), Some("plug it in"));
        assert_eq!(whole(&NoPort), "no port\n\nhint: is part of its name\n\nhint: plug it in");
        let problem = Problem::at("a.toml", 3, 0, "odd").hint("make it even");
        let error = UserError::from(problem.clone());
        assert_eq!((error.what.as_str(), error.exit), ("a.toml:3: odd", exit::USAGE));
        assert_eq!(error.to_string(), problem.to_string());
    }
}
