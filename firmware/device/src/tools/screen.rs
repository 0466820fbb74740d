//! Display and backlight.

use alloc::format;
use alloc::string::ToString;

use super::done;
use crate::console::Level;
use crate::property::Property;
use crate::registry::{Tool, ToolFailure};

/// Themes that the display knows.
const THEMES: [&str; 3] = ["light", "dark", "contrast"];

/// Longest text that the display can show, in characters.
const MESSAGE_LENGTH: usize = 120;

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "self.screen.set_brightness",
        description: "Set the brightness of the screen to an absolute level; 0 turns the backlight off. If the current \
                      brightness is unknown and the user asks for brighter or darker, call `self.get_device_status` first.",
        properties: &[Property::integer("brightness", "The new level in percent.", 0, 100)],
        user_only: false,
        handler: |board, arguments, effects| {
            board.screen.brightness = arguments.byte("brightness");
            effects.log(
                Level::Info,
                "Backlight",
                format!("Set brightness to {}", board.screen.brightness),
            );
            done()
        },
    },
    Tool {
        name: "self.screen.set_theme",
        description: "Set the colour theme of the screen. The theme can be `light` (dark letters on a bright ground), `dark` \
                      (bright letters on a dark ground, kinder at night) or `contrast` (yellow on black, for weak eyes). \
                      Any other name is an error and leaves the theme as it is.",
        properties: &[Property::text("theme", "Name of the theme.")],
        user_only: false,
        handler: |board, arguments, effects| {
            let asked = arguments.text("theme");
            let Some(theme) = THEMES.into_iter().find(|theme| *theme == asked) else {
                return Err(ToolFailure(format!("Unknown theme: {asked}")));
            };
            board.screen.theme = theme.to_string();
            effects.log(Level::Info, "Display", format!("Set theme to {theme}"));
            done()
        },
    },
    Tool {
        name: "self.screen.set_auto_rotate",
        description: "Let the picture turn with the device (true), or keep it as it is now whichever way the device is held \
                      (false). Use it when the user complains that the screen keeps turning, or that it is upside down.",
        properties: &[Property::boolean("enabled", "True lets the picture turn.")],
        user_only: false,
        handler: |board, arguments, effects| {
            board.screen.auto_rotate = arguments.boolean("enabled");
            effects.log(
                Level::Info,
                "Display",
                format!("Auto rotate: {}", board.screen.auto_rotate),
            );
            done()
        },
    },
    Tool {
        name: "self.screen.set_timeout",
        description: "Set after how many seconds without use the backlight goes out to save the battery. A touch, the wake \
                      word or an alert lights the screen again. One minute when the user does not say how long.",
        properties: &[Property::integer("seconds", "Time until the screen goes dark.", 5, 3600)
            .with_default_integer(60)],
        user_only: false,
        handler: |board, arguments, effects| {
            board.screen.timeout_s =
                u16::try_from(arguments.integer("seconds")).unwrap_or(u16::MAX);
            effects.log(Level::Info, "Display", format!("Timeout {} s", board.screen.timeout_s));
            done()
        },
    },
    Tool {
        name: "self.screen.show_message",
        description: "Show a short text in the middle of the screen until the next message or until \
                      `self.screen.clear_message` is called. Longer texts are cut after 120 characters. Use it for things \
                      that are better read than heard: a telephone number, an address, a shopping list, a code.",
        properties: &[
            Property::text("text", "What to show. Plain text, no markup."),
            Property::text("emotion", "The face shown beside the text.")
                .with_default_text("neutral"),
        ],
        user_only: false,
        handler: |board, arguments, effects| {
            board.screen.message = arguments.text("text").chars().take(MESSAGE_LENGTH).collect();
            let length = board.screen.message.chars().count();
            effects.log(Level::Info, "Display", format!("Show message of {length} characters"));
            done()
        },
    },
    Tool {
        name: "self.screen.clear_message",
        description: "Remove the text that `self.screen.show_message` put on the screen and show the ordinary picture again. \
                      Has no effect when there is no such text.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.screen.message.clear();
            effects.log(Level::Info, "Display", "Clear message");
            done()
        },
    },
];
