//! Defects of one setting that another one brings out, or a new connection.

use reference_device::Board;

use super::volume::before_calls;
use crate::rows::prelude::*;

const THEME: &str = "self.screen.set_theme";

pub(super) const MUTANTS: &[Row] = rows! {
    "mute-ends-with-connection": "A new connection ends the mute."
        => lost(|board| board.speaker.muted = false);
    "brightness-lost-with-connection":
        "After a new connection the brightness is the factory setting."
        => lost(|board| board.screen.brightness = 75);
    "theme-lost-with-connection": "After a new connection the theme is the factory setting."
        => lost(|board| board.screen.theme = "light".to_string());
    "light-off-with-connection": "A new connection switches the light off."
        => lost(|board| board.light.on = false);
    "steps-small-after-reboot":
        "Once told to restart, the device makes steps of one, whatever step is requested." => {
        let mut told = false;
        envelopes(move |envelope| {
            told |= get(envelope, "command") == "reboot";
            let payload = envelope.get_mut("payload").filter(|_| told);
            if let Some(step) = payload.and_then(|all| all.pointer_mut("/params/arguments/step")) {
                *step = 1.into();
            }
        })
    };
    "brightness-ends-mute": "set_brightness ends the mute."
        => after_brightness(|board| board.speaker.muted = false);
    "brightness-switches-light": "set_brightness below the middle switches the light off."
        => after_brightness(|board| board.light.on &= board.screen.brightness >= 50);
    "theme-refused": "set_theme refuses every theme as one that is missing."
        => defect().on_argument(|property, value| (property.name != "theme").then_some(value));
    "theme-taken-and-kept": "set_theme answers `true`, and the theme stays as it was."
        => defect().on_call(|params, hands| {
            if params["name"] == THEME && ["light", "dark"].iter().any(|it| params["arguments"]["theme"] == *it) {
                params["arguments"]["theme"] = json!(hands.device.board_mut().screen.theme);
            }
        });
    "brightness-lost-after-theme": "set_brightness directly after set_theme answers `true`, and does nothing." => {
        let mut before = String::new();
        defect().on_call(move |params, hands| {
            let tool = params["name"].as_str().unwrap_or_default().to_string();
            if tool == BRIGHTNESS && before == THEME && params["arguments"]["brightness"].is_u64() {
                params["arguments"]["brightness"] = json!(hands.device.board_mut().screen.brightness);
            }
            before = tool;
        })
    };
    "refusal-takes-volume-back": "An unknown tool directly after set_volume brings the level before that back." => {
        let [kept, level] = shared(None);
        defect()
            .on_call(move |params, hands| {
                match params["name"].as_str() {
                    Some(SET) => kept.set(Some(hands.device.board_mut().speaker.volume)),
                    Some(name) if hands.tool_of(params).is_none() && !name.is_empty() => {}
                    _ => kept.set(None),
                }
            })
            .on_answer(move |cause, payload, hands| {
                let is_refused = payload.get("error").is_some() && cause.tool() != SET;
                if let Some(before) = level.get().filter(|_| is_refused) {
                    hands.device.board_mut().speaker.volume = before;
                }
                Flow::Pass
            })
    };
    "volume-51-ignored": "set_volume to 51 answers `true`, and does nothing."
        => defect().on_call(|params, hands| {
            if params["name"] == SET && params["arguments"]["volume"] == 51 {
                params["arguments"]["volume"] = json!(hands.device.board_mut().speaker.volume);
            }
        });
    "theme-sets-brightness": "set_theme selects the brightness that goes with the theme."
        => defect().on_answer(|cause, payload, hands| {
            if cause.tool() == THEME && payload.get("result").is_some() {
                hands.device.board_mut().screen.brightness = 75;
            }
            Flow::Pass
        });
    "light-on-toggles": "turn_on switches a light off that is on."
        => defect().on_call(|params, hands| {
            if params["name"] == "self.led.turn_on" && hands.device.board_mut().light.on {
                params["name"] = json!("self.led.turn_off");
            }
        });
    "unknown-tool-switches-light": "A call of a tool that there is not switches the light off."
        => defect().on_call(|params, hands| {
            if hands.tool_of(params).is_none() {
                hands.device.board_mut().light.on = false;
            }
        });
    "light-off-toggles": "turn_off switches a light on that is off."
        => defect().on_call(|params, hands| {
            if params["name"] == "self.led.turn_off" && !hands.device.board_mut().light.on {
                params["name"] = json!("self.led.turn_on");
            }
        });
    "refusal-ends-mute": "A level that is refused ends the mute."
        => refused(SET, |board| board.speaker.muted = false);
    "refusal-loses-theme": "A theme that is refused selects the dark one."
        => refused(THEME, |board| if board.screen.theme == "light" {
            board.screen.theme = "dark".to_string();
        });
    "mute-three-times-loses-level":
        "The third mute in a row stores 0 as the level to restore." => {
        let mut times = 0;
        before_calls(move |tool, speaker| match tool {
            MUTE => {
                times += 1;
                if times == 3 {
                    speaker.volume = 0;
                }
            }
            UNMUTE => times = 0,
            _ => {}
        })
    };
};

/// Changes the board when a connection ends.
fn lost(change: fn(&mut Board)) -> Defect {
    Defect::default().disconnected(move |hands| change(hands.device.board_mut()))
}

/// Changes the board after a call of the tool has failed or was refused.
fn refused(tool: &'static str, change: fn(&mut Board)) -> Defect {
    defect().on_answer(move |cause, payload, hands| {
        let failed = payload.pointer("/result/isError") == Some(&Value::Bool(true));
        if cause.tool() == tool && (failed || payload.get("error").is_some()) {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}

/// Changes the board after `set_brightness` has succeeded.
fn after_brightness(change: fn(&mut Board)) -> Defect {
    defect().on_answer(move |cause, payload, hands| {
        if cause.tool() == BRIGHTNESS && payload.get("result").is_some() {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}
