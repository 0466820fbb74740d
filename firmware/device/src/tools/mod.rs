//! The tools of the reference board.

mod audio;
mod camera;
mod home;
mod light;
mod robot;
mod screen;
mod system;

use alloc::string::{String, ToString};

use crate::effects::Effects;
use crate::registry::{Registry, Tool, ToolFailure};

pub(crate) use camera::PHOTO;

/// What a tool answers that has nothing to report.
fn done() -> Result<String, ToolFailure> {
    Ok("true".to_string())
}

/// All tools: common ones first, then the board's, then those for people.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::default();
    let tables: [&[Tool]; 6] =
        [audio::TOOLS, screen::TOOLS, light::TOOLS, robot::TOOLS, home::TOOLS, system::TOOLS];
    for tool in tables.into_iter().flatten() {
        let added = registry.add(*tool);
        debug_assert!(added.is_ok(), "{added:?}");
    }
    registry
}
