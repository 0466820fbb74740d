//! What a tool does besides changing the state of the board.

use alloc::string::String;
use alloc::vec::Vec;

use crate::console::Level;

/// What a tool leaves behind besides the state of the board.
#[derive(Debug, Default)]
pub struct Effects {
    pub(crate) lines: Vec<(Level, &'static str, String)>,
    pub(crate) reboot: bool,
    pub(crate) question: Option<String>,
}

impl Effects {
    /// Prints a console line.
    pub fn log(&mut self, level: Level, tag: &'static str, text: impl Into<String>) {
        self.lines.push((level, tag, text.into()));
    }

    /// Restarts the device once the answer is out.
    pub fn reboot(&mut self) {
        self.reboot = true;
    }

    /// Takes a picture and has it explained; the explanation becomes the answer.
    pub fn explain_photo(&mut self, question: impl Into<String>) {
        self.question = Some(question.into());
    }
}
