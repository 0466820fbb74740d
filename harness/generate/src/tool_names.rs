//! Names of tools.

pub(crate) use mcp_hil_core::capability::SET_VOLUME;

pub(crate) const UP: &str = "self.audio_speaker.volume_up";
pub(crate) const DOWN: &str = "self.audio_speaker.volume_down";
pub(crate) const MUTE: &str = "self.audio_speaker.mute";
pub(crate) const UNMUTE: &str = "self.audio_speaker.unmute";
pub(crate) const SET_BRIGHTNESS: &str = "self.screen.set_brightness";
pub(crate) const SET_THEME: &str = "self.screen.set_theme";

/// A tool that no device has.
pub(crate) const NO_TOOL: &str = "self.mcp_hil.no_such_tool";
