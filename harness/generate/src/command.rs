//! What a sequence of commands is made of.

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_scenario::Step;
use serde_json::Value;

/// One command of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Set(i64),
    /// By this many; absent means by ten.
    Up(Option<i64>),
    Down(Option<i64>),
    Mute,
    Unmute,
    Brightness(i64),
    Theme(&'static str),
    /// Switches the light on or off.
    Light(bool),
    /// The device has to connect again.
    Reconnect,
    /// Restarts the device.
    Reboot,
    /// A step of 0, or beyond 100: up or down by this many.
    OddStep(bool, i64),
    /// A call under a string id.
    Nameless(&'static str, Value),
    /// A message that must be refused, and the requirement that it changes nothing.
    Refused(Box<Step>, Id),
}
