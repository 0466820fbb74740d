//! The camera. Its pictures are explained by a service whose address `initialize` brings.

use crate::property::Property;
use crate::registry::Tool;

/// The one picture that this camera takes: four shades of grey on 16 by 16 pixels.
pub(crate) const PHOTO: &[u8] = include_bytes!("../photo.jpg");

pub(super) const TAKE_PHOTO: Tool = Tool {
    name: "self.camera.take_photo",
    description: "Take a photo and explain it. Use this tool after the user asks you to see something. Returns what the \
                  explanation service says about the picture.",
    properties: &[Property::text("question", "The question that you want to ask about the photo.")],
    user_only: false,
    handler: |_, arguments, effects| {
        effects.explain_photo(arguments.text("question"));
        // The answer is made when the service has spoken.
        super::done()
    },
};
