//! The tools of the reference board.

mod audio;
mod camera;
mod home;
mod light;
mod robot;
mod screen;
mod system;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::console::Level;
use crate::registry::{Registry, Tool, ToolFailure};

pub(crate) use camera::PHOTO;

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

/// What a tool answers that has nothing to report.
fn done() -> Result<String, ToolFailure> {
    Ok("true".to_string())
}

/// All tools: common ones first, then the board's, then those for people.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::default();
    let tables: [&[Tool]; 6] = [
        audio::TOOLS,
        screen::TOOLS,
        light::TOOLS,
        robot::TOOLS,
        home::TOOLS,
        system::TOOLS,
    ];
    for tool in tables.into_iter().flatten() {
        let added = registry.add(*tool);
        debug_assert!(added.is_ok(), "{added:?}");
    }
    registry
}
