//! Where the status shows what tools of the family set.

use crate::context::{Argument, Context, Tool};
use crate::tool_names::{SET_BRIGHTNESS, SET_VOLUME};

/// Where the status shows what a tool has set.
pub(crate) fn shown_at(context: &Context, tool: &Tool) -> Option<&'static str> {
    match tool.name.as_str() {
        SET_VOLUME if context.has_volume() => Some("/json/audio_speaker/volume"),
        SET_BRIGHTNESS if context.can("status") && context.can("brightness") => {
            Some("/json/screen/brightness")
        }
        _ => None,
    }
}

/// Where the status shows what an argument of a tool has set: set_volume may have one more, such as a time to fade.
pub(crate) fn shown_by(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
) -> Option<&'static str> {
    shown_at(context, tool).filter(|at| at.rsplit('/').next() == Some(&argument.name))
}
