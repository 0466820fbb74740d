//! Defects of one setting that another one brings out, or a new connection.

use reference_device::Board;
use serde_json::Value;

use super::volume::{MUTE, SET, UNMUTE, after};
use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;

const BRIGHTNESS: &str = "self.screen.set_brightness";
const THEME: &str = "self.screen.set_theme";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "mute-ends-with-connection",
        "A new connection ends the mute.",
        || lost(|board| board.speaker.muted = false),
    ),
    mutant(
        "brightness-lost-with-connection",
        "After a new connection the brightness is that of the factory.",
        || lost(|board| board.screen.brightness = 75),
    ),
    mutant(
        "theme-lost-with-connection",
        "After a new connection the theme is that of the factory.",
        || lost(|board| board.screen.theme = "light".to_string()),
    ),
    mutant(
        "light-off-with-connection",
        "A new connection switches the light off.",
        || lost(|board| board.light.on = false),
    ),
    mutant(
        "steps-small-after-reboot",
        "Once told to restart, the device makes steps of one, whatever it is asked for.",
        || {
            let mut told = false;
            Defect::default().on_envelope(move |envelope, _| {
                told |= envelope.get("command").and_then(Value::as_str) == Some("reboot");
                let payload = envelope.get_mut("payload");
                let step =
                    payload.and_then(|payload| payload.pointer_mut("/params/arguments/step"));
                if let Some(step) = step.filter(|_| told) {
                    *step = 1.into();
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "brightness-ends-mute",
        "set_brightness ends the mute.",
        || {
            after(|request, board, _| {
                if request.tool() == BRIGHTNESS {
                    board.speaker.muted = false;
                }
            })
        },
    ),
    mutant(
        "brightness-switches-light",
        "set_brightness below the middle switches the light off.",
        || {
            after(|request, board, _| {
                if request.tool() == BRIGHTNESS && board.screen.brightness < 50 {
                    board.light.on = false;
                }
            })
        },
    ),
    mutant(
        "refusal-ends-mute",
        "A level that is refused ends the mute.",
        || {
            refused(|request, board| {
                if request.tool() == SET {
                    board.speaker.muted = false;
                }
            })
        },
    ),
    mutant(
        "refusal-loses-theme",
        "A theme that is refused leaves the dark one.",
        || {
            refused(|request, board| {
                if request.tool() == THEME && board.screen.theme == "light" {
                    board.screen.theme = "dark".to_string();
                }
            })
        },
    ),
    mutant(
        "mute-three-times-loses-level",
        "The third mute in a row takes the level 0 for the one to be restored.",
        || {
            let mut times = 0;
            Defect::default().on_call(move |params, hands| {
                let speaker = &mut hands.device.board_mut().speaker;
                if params["name"] == MUTE {
                    times += 1;
                    if times == 3 {
                        speaker.volume = 0;
                    }
                } else if params["name"] == UNMUTE {
                    times = 0;
                }
            })
        },
    ),
];

/// Changes the board when a connection ends.
fn lost(change: fn(&mut Board)) -> Defect {
    Defect::default().disconnected(move |hands| change(hands.device.board_mut()))
}

/// Changes the board after a call has failed or was refused.
fn refused(change: fn(&Request, &mut Board)) -> Defect {
    Defect::default().on_answer(move |cause, payload, hands| {
        let failed = payload.pointer("/result/isError") == Some(&Value::Bool(true));
        if failed || payload.get("error").is_some() {
            change(cause, hands.device.board_mut());
        }
        Flow::Pass
    })
}
