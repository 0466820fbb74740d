//! Status and loudspeaker: the six commands of the volume workflow document, and a sound.

use alloc::format;

use super::{Effects, done};
use crate::board::Speaker;
use crate::console::Level;
use crate::property::Property;
use crate::registry::Tool;

const STEP: &[Property] = &[Property::integer(
    "step",
    "By how many percent the level changes; ten when the user does not say how much.",
    1,
    100,
)
.with_default_integer(10)];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "self.get_device_status",
        description: "Provides the real-time information of the device, including the current status of the audio \
                      speaker, screen, light, robot, timer, battery and network.\nUse this tool for: \n1. Answering \
                      questions about the current condition (e.g. what is the current volume of the audio speaker?)\n\
                      2. As the first step to control the device (e.g. turn the volume up or down, make the screen \
                      brighter) when the new value depends on the present one.",
        properties: &[],
        user_only: false,
        handler: |board, _, _| Ok(board.status()),
    },
    Tool {
        name: "self.audio_speaker.set_volume",
        description: "Set the volume of the audio speaker to an absolute level. If the current volume is unknown, call \
                      `self.get_device_status` first and then call this tool. Setting a level also ends a mute. Use it \
                      when the user names a number, or says loudest (100), half (50) or silent (0).",
        properties: &[Property::integer("volume", "The new level in percent.", 0, 100)],
        user_only: false,
        handler: |board, arguments, effects| {
            board.speaker = Speaker { volume: arguments.byte("volume"), muted: false };
            apply(&board.speaker, effects);
            done()
        },
    },
    Tool {
        name: "self.audio_speaker.volume_up",
        description: "Make the audio speaker louder by a step. The level stays at 100 once it is reached. Use it when the \
                      user asks for more volume without naming a level, e.g. louder please, I can not hear you.",
        properties: STEP,
        user_only: false,
        handler: |board, arguments, effects| {
            let volume = board.speaker.volume.saturating_add(arguments.byte("step")).min(100);
            board.speaker = Speaker { volume, muted: false };
            apply(&board.speaker, effects);
            done()
        },
    },
    Tool {
        name: "self.audio_speaker.volume_down",
        description: "Make the audio speaker quieter by a step. The level stays at 0 once it is reached. Use it when the \
                      user asks for less volume without naming a level, e.g. not so loud, the baby is asleep.",
        properties: STEP,
        user_only: false,
        handler: |board, arguments, effects| {
            let volume = board.speaker.volume.saturating_sub(arguments.byte("step"));
            board.speaker = Speaker { volume, muted: false };
            apply(&board.speaker, effects);
            done()
        },
    },
    Tool {
        name: "self.audio_speaker.mute",
        description: "Silence the audio speaker and remember its level, so that `self.audio_speaker.unmute` can bring it \
                      back. Muting a muted speaker changes nothing. While it is muted the status shows the volume 0.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.speaker.muted = true;
            apply(&board.speaker, effects);
            done()
        },
    },
    Tool {
        name: "self.audio_speaker.unmute",
        description: "End the silence of the audio speaker and restore the level that it had before it was muted. Has no \
                      effect on a speaker that is not muted.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.speaker.muted = false;
            apply(&board.speaker, effects);
            done()
        },
    },
    Tool {
        name: "self.audio_speaker.play_sound",
        description: "Play one of the built-in sounds: `chime`, `success`, `exclamation`, `vibration` or `low_battery`. Use \
                      it to draw attention without words, for example when a timer has run out or when the user asks \
                      where the device is. Other names are played as `chime`.",
        properties: &[
            Property::text("name", "Which sound.").with_default_text("chime"),
            Property::integer("repeat", "How often it is played.", 1, 5).with_default_integer(1),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            let known = ["chime", "success", "exclamation", "vibration", "low_battery"];
            let asked = arguments.text("name");
            let sound = known.into_iter().find(|name| *name == asked).unwrap_or("chime");
            let repeat = arguments.integer("repeat");
            effects.log(Level::Info, "AudioService", format!("Play sound {sound} x{repeat}"));
            done()
        },
    },
];

fn apply(speaker: &Speaker, effects: &mut Effects) {
    effects.log(Level::Info, "AudioCodec", format!("Set output volume to {}", speaker.audible()));
}
