//! The RGB light.

use alloc::format;

use super::{Effects, done};
use crate::board::Light;
use crate::console::Level;
use crate::property::Property;
use crate::registry::Tool;

const RED: Property = Property::integer("red", "Share of red.", 0, 255);
const GREEN: Property = Property::integer("green", "Share of green.", 0, 255);
const BLUE: Property = Property::integer("blue", "Share of blue.", 0, 255);

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "self.led.turn_on",
        description: "Turn the light on with the colour and the level that it had last. Use it when the user asks for light \
                      without saying which; to choose a colour call `self.led.set_color` instead.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.light.on = true;
            apply(&board.light, effects);
            done()
        },
    },
    Tool {
        name: "self.led.turn_off",
        description: "Turn the light off. Its colour and its level are kept for the next time that it is turned on. Has no \
                      effect on a light that is off, and none on the screen.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.light.on = false;
            apply(&board.light, effects);
            done()
        },
    },
    Tool {
        name: "self.led.set_color",
        description: "Give the light a colour and turn it on. The colour is mixed from red, green and blue: 255, 0, 0 is red, \
                      255, 160, 60 is a warm white for the evening, 0, 0, 0 is black. For a colour that the user names, \
                      choose the usual numbers yourself instead of asking.",
        properties: &[RED, GREEN, BLUE],
        user_only: false,
        handler: |board, arguments, effects| {
            board.light.color =
                [arguments.byte("red"), arguments.byte("green"), arguments.byte("blue")];
            board.light.on = true;
            apply(&board.light, effects);
            done()
        },
    },
    Tool {
        name: "self.led.set_level",
        description: "Set how strong the light is, from 0 (dark) over 4 (comfortable, and what is taken when the user does not \
                      say) to 8 (as strong as it goes). The colour stays as it is.",
        properties: &[Property::integer("level", "The new strength.", 0, 8).with_default_integer(4)],
        user_only: false,
        handler: |board, arguments, effects| {
            board.light.level = arguments.byte("level");
            apply(&board.light, effects);
            done()
        },
    },
    Tool {
        name: "self.led.blink",
        description: "Let the light blink in a colour and go back to what it showed before. Use it to draw attention quietly, \
                      for example at night or in a meeting, where `self.audio_speaker.play_sound` would disturb.",
        properties: &[
            RED,
            GREEN,
            BLUE,
            Property::integer("interval", "Milliseconds between two flashes.", 50, 2000)
                .with_default_integer(500),
            Property::integer("times", "Number of flashes.", 1, 20).with_default_integer(3),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            let (times, interval) = (arguments.integer("times"), arguments.integer("interval"));
            effects.log(Level::Info, "Led", format!("Blink {times} times every {interval} ms"));
            done()
        },
    },
    Tool {
        name: "self.led.get_state",
        description: "Tells whether the light is on, its colour and its strength, as JSON. Use it before changing the light in \
                      relation to what it shows now, for example a little warmer or half as bright.",
        properties: &[],
        user_only: false,
        handler: |board, _, _| {
            let Light { on, color: [red, green, blue], level } = board.light;
            Ok(format!(
                r#"{{"on":{on},"red":{red},"green":{green},"blue":{blue},"level":{level}}}"#
            ))
        },
    },
];

fn apply(light: &Light, effects: &mut Effects) {
    let Light { on, color: [red, green, blue], level } = light;
    effects.log(Level::Info, "Led", format!("on {on}, color {red},{green},{blue}, level {level}"));
}
