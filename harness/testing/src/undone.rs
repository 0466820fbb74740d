//! What a test wanted of its bench and did not get.

use std::fmt;

use mcp_hil_runner::run::Undone;

/// Something that a test wanted to be done to the device was not done. Says what was on its console last.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}\n\nhint: {hint}", shown(console))]
pub struct ControlError {
    /// What failed, what was expected and what came.
    pub what: String,
    /// What was on the console last.
    pub console: Vec<String>,
    hint: String,
}

// What `unwrap` shows is for people.
impl fmt::Debug for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Undone> for ControlError {
    fn from(undone: Undone) -> Self {
        let Undone { what, hint, console } = undone;
        Self { what, console, hint }
    }
}

/// Nobody is there any more to do anything.
pub(super) fn ended() -> Undone {
    Undone {
        what: "the bench has ended".to_owned(),
        hint: "the end of the test says why".to_owned(),
        console: Vec::new(),
    }
}

/// The end of a console, for an error.
pub(super) fn shown(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        lines => format!("\n\nits console ended with:\n  {}", lines.join("\n  ")),
    }
}
