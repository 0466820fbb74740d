//! The household around the board: remote control, fan, curtain, heating, socket, doorbell.

use alloc::format;

use super::done;
use crate::console::{self, Level};
use crate::property::Property;
use crate::registry::{Tool, ToolFailure};

/// Keys that the remote control has learnt.
const KEYS: [&str; 7] = ["power", "up", "down", "left", "right", "ok", "back"];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "self.remote.press_key",
        description: "Press a key of the infrared remote control that the device imitates: `power`, `up`, `down`, `left`, \
                      `right`, `ok` or `back`. The receiver gives no answer, so tell the user what was sent and ask whether \
                      it worked. Repeats are for scrolling through a list. Any other key is an error.",
        properties: &[
            Property::text("key", "Which key.").with_default_text("ok"),
            Property::integer("repeat", "How often it is pressed.", 1, 20).with_default_integer(1),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            let asked = arguments.text("key");
            let Some(key) = KEYS.into_iter().find(|key| *key == asked) else {
                return Err(ToolFailure(format!("Unknown key: {asked}")));
            };
            effects.log(Level::Info, "Infrared", format!("{key} x{}", arguments.integer("repeat")));
            done()
        },
    },
    Tool {
        name: "self.remote.set_channel",
        description: "Tune the television to a channel by sending its digits through the infrared remote control. The \
                      television must be on. For a channel that the user names, look up the number first; do not guess it.",
        properties: &[Property::integer("channel", "Number of the channel.", 1, 999)],
        user_only: false,
        handler: |_, arguments, effects| {
            effects.log(
                Level::Info,
                "Infrared",
                format!("channel {}", arguments.integer("channel")),
            );
            done()
        },
    },
    Tool {
        name: "self.fan.set_speed",
        description: "Set how fast the fan turns, from 0 (off) over 2 (a light breeze, and what is taken when the user does \
                      not say) to 5 (as fast as it goes). The fan needs some seconds to change its speed.",
        properties: &[Property::integer("speed", "The new speed.", 0, 5).with_default_integer(2)],
        user_only: false,
        handler: |_, arguments, effects| {
            effects.log(Level::Info, "Fan", format!("speed {}", arguments.integer("speed")));
            done()
        },
    },
    Tool {
        name: "self.note.write",
        description: "Print a short note on the console of the device, for whoever services it: a complaint of the user, \
                      something that did not work, a wish. The user does not see it. Longer notes are cut. Write in the \
                      language of the user and leave out names and addresses.",
        properties: &[
            Property::text("text", "The note."),
            Property::integer("urgency", "1 can wait, 5 can not.", 1, 5).with_default_integer(3),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            let (urgency, text) =
                (arguments.integer("urgency"), console::quote(arguments.text("text")));
            effects.log(Level::Info, "Note", format!("[{urgency}] {text}"));
            done()
        },
    },
    Tool {
        name: "self.curtain.move_to",
        description: "Open or close the curtain of the room where the device stands, to an absolute position: 0 is closed, \
                      100 is open, and 50 lets in some light without being seen from outside, which is taken when the user \
                      does not say. The motor takes about twenty seconds for the whole way.",
        properties: &[Property::integer("position", "How far it is open, in percent.", 0, 100)
            .with_default_integer(50)],
        user_only: false,
        handler: |_, arguments, effects| {
            effects.log(
                Level::Info,
                "Curtain",
                format!("position {}", arguments.integer("position")),
            );
            done()
        },
    },
    Tool {
        name: "self.heating.set_target",
        description: "Set the temperature that the heating of the room shall reach, in whole degrees Celsius. It takes about \
                      an hour for two degrees, so do not promise warmth at once. With `hours` the old temperature comes \
                      back after that time; 0 keeps the new one until it is changed again.",
        properties: &[
            Property::integer("degrees", "The temperature to reach.", 5, 28),
            Property::integer("hours", "For how long; 0 is for good.", 0, 24)
                .with_default_integer(0),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            effects.log(
                Level::Info,
                "Heating",
                format!("target {} degrees", arguments.integer("degrees")),
            );
            done()
        },
    },
    Tool {
        name: "self.socket.switch",
        description: "Switch the wall socket that belongs to the device on or off for a while. It is meant for a lamp or a \
                      coffee machine; refuse it for anything that must not run unattended. The socket switches back after \
                      the given number of minutes, thirty when the user does not say how long.",
        properties: &[
            Property::text("state", "`on` or `off`.").with_default_text("off"),
            Property::integer("minutes", "Time until it switches back.", 1, 240)
                .with_default_integer(30),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            let state = match arguments.text("state") {
                "on" => "on",
                "off" => "off",
                other => return Err(ToolFailure(format!("Unknown state: {other}"))),
            };
            effects.log(
                Level::Info,
                "Socket",
                format!("{state} for {} min", arguments.integer("minutes")),
            );
            done()
        },
    },
    Tool {
        name: "self.doorbell.set_melody",
        description: "Choose what the doorbell plays and how loud, independent of the volume of the audio speaker: melody 1 is \
                      a gong, 2 a bell, 3 birds, 4 a tune. Melody 1 at half volume when the user does not say.",
        properties: &[
            Property::integer("melody", "Number of the melody.", 1, 4).with_default_integer(1),
            Property::integer("loudness", "Loudness in percent.", 0, 100).with_default_integer(50),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            effects.log(Level::Info, "Doorbell", format!("melody {}", arguments.integer("melody")));
            done()
        },
    },
];
