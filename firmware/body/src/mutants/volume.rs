//! Defects of the six volume commands, each on its own.

use alloc::rc::Rc;
use core::cell::Cell;

use reference_device::Board;
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;

pub(super) const SET: &str = "self.audio_speaker.set_volume";
pub(super) const UP: &str = "self.audio_speaker.volume_up";
pub(super) const DOWN: &str = "self.audio_speaker.volume_down";
pub(super) const MUTE: &str = "self.audio_speaker.mute";
pub(super) const UNMUTE: &str = "self.audio_speaker.unmute";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "status-volume-string",
        "The status shows the volume as a string.",
        || status(|speaker| speaker["volume"] = json!(speaker["volume"].to_string())),
    ),
    mutant(
        "status-volume-fraction",
        "The status shows the volume between 0 and 1.",
        || {
            status(|speaker| {
                speaker["volume"] = json!(speaker["volume"].as_f64().unwrap_or(0.0) / 100.0 + 0.001)
            })
        },
    ),
    mutant(
        "status-volume-missing",
        "The status does not show the volume.",
        || {
            status(|speaker| {
                speaker
                    .as_object_mut()
                    .map(|speaker| speaker.remove("volume"));
            })
        },
    ),
    mutant(
        "status-volume-raw",
        "The status shows the volume in steps of the amplifier, 0 to 255.",
        || {
            status(|speaker| {
                speaker["volume"] = json!(speaker["volume"].as_u64().unwrap_or(0) * 255 / 100)
            })
        },
    ),
    mutant(
        "set-volume-ignored",
        "set_volume is answered and has no effect.",
        || {
            after(|request, board, before| {
                if request.tool() == SET {
                    board.speaker = before.speaker.clone();
                }
            })
        },
    ),
    mutant(
        "set-volume-one-less",
        "set_volume sets one less, but 0 and 100 exactly.",
        || {
            after_set(|board| {
                if (1..100).contains(&board.speaker.volume) {
                    board.speaker.volume -= 1;
                }
            })
        },
    ),
    mutant(
        "set-volume-in-steps",
        "set_volume rounds to steps of ten.",
        || after_set(|board| board.speaker.volume = board.speaker.volume / 10 * 10),
    ),
    mutant(
        "set-volume-zero-becomes-ten",
        "set_volume 0 sets 10.",
        || {
            after_set(|board| {
                if board.speaker.volume == 0 {
                    board.speaker.volume = 10;
                }
            })
        },
    ),
    mutant(
        "set-volume-zero-missing",
        "set_volume 0 is refused as a missing argument: 0 is falsy.",
        || {
            Defect::default().on_argument(|property, value| {
                (property.name != "volume" || value != json!(0)).then_some(value)
            })
        },
    ),
    mutant(
        "set-volume-hundred-becomes-99",
        "set_volume 100 sets 99.",
        || after_set(|board| board.speaker.volume = board.speaker.volume.min(99)),
    ),
    mutant(
        "set-volume-clamps",
        "set_volume 101 sets 100, and -1 sets 0, as if nothing were wrong.",
        || {
            Defect::default().on_argument(|property, value| {
                let level = value.as_i64().filter(|_| property.name == "volume");
                Some(level.map_or(value, |level| json!(level.clamp(0, 100))))
            })
        },
    ),
    mutant(
        "set-volume-refused-but-set",
        "set_volume 101 is refused and sets 100.",
        || {
            Defect::default().on_call(|params, hands| {
                if params["name"] == SET
                    && params["arguments"]["volume"]
                        .as_i64()
                        .is_some_and(|level| level > 100)
                {
                    hands.device.board_mut().speaker.volume = 100;
                }
            })
        },
    ),
    mutant(
        "set-volume-toggles",
        "set_volume to the present level sets 0.",
        || {
            after(|request, board, before| {
                if request.tool() == SET && *board == *before {
                    board.speaker.volume = 0;
                }
            })
        },
    ),
    mutant(
        "set-volume-accumulates",
        "set_volume to the present level raises it by one.",
        || {
            after(|request, board, before| {
                if request.tool() == SET && *board == *before && board.speaker.volume < 100 {
                    board.speaker.volume += 1;
                }
            })
        },
    ),
    mutant(
        "volume-up-ignores-step",
        "volume_up takes ten, whatever the step.",
        || fixed_step(UP),
    ),
    mutant(
        "volume-down-ignores-step",
        "volume_down takes ten, whatever the step.",
        || fixed_step(DOWN),
    ),
    mutant(
        "volume-down-raises",
        "volume_down raises the volume.",
        || renamed(DOWN, UP),
    ),
    mutant("volume-up-lowers", "volume_up lowers the volume.", || {
        renamed(UP, DOWN)
    }),
    mutant(
        "volume-step-default-five",
        "volume_up and volume_down without step take five.",
        || {
            Defect::default().on_call(|params, _| {
                if params["name"] == UP || params["name"] == DOWN {
                    if params.get("arguments").is_none() {
                        params["arguments"] = json!({});
                    }
                    if let Some(Value::Object(arguments)) = params.get_mut("arguments") {
                        arguments.entry("step").or_insert(json!(5));
                    }
                }
            })
        },
    ),
    mutant(
        "volume-down-default-one",
        "volume_down without step takes one.",
        || {
            Defect::default().on_call(|params, _| {
                if params["name"] == DOWN && params["arguments"].get("step").is_none() {
                    params["arguments"] = json!({"step": 1});
                }
            })
        },
    ),
    mutant("volume-up-overshoots", "volume_up goes beyond 100.", || {
        after(|request, board, before| {
            if request.tool() == UP && board.speaker != before.speaker {
                board.speaker.volume = before.speaker.volume.saturating_add(step(request));
            }
        })
    }),
    mutant(
        "volume-up-wraps",
        "volume_up beyond 100 begins again at 0.",
        || {
            after(|request, board, before| {
                if request.tool() == UP && board.speaker != before.speaker {
                    board.speaker.volume =
                        before.speaker.volume.saturating_add(step(request)) % 101;
                }
            })
        },
    ),
    mutant(
        "volume-down-wraps",
        "volume_down below 0 ends at 255: the level is an unsigned byte.",
        || {
            after(|request, board, before| {
                if request.tool() == DOWN && board.speaker != before.speaker {
                    board.speaker.volume = before.speaker.volume.wrapping_sub(step(request));
                }
            })
        },
    ),
    mutant(
        "volume-down-stops-at-ten",
        "volume_down never goes below 10.",
        || {
            after(|request, board, before| {
                if request.tool() == DOWN {
                    board.speaker.volume = board.speaker.volume.max(10.min(before.speaker.volume));
                }
            })
        },
    ),
    mutant(
        "mute-not-shown",
        "After mute the status shows the level, and muted is false.",
        || {
            Defect::default().on_answer(|cause, payload, hands| {
                let speaker = &hands.device.board().speaker;
                if cause.tool() == "self.get_device_status" && speaker.muted {
                    let shown = speaker.volume;
                    edit_status(payload, |speaker| {
                        *speaker = json!({"volume": shown, "muted": false})
                    });
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "mute-ignored",
        "mute is answered and has no effect.",
        || {
            after(|request, board, before| {
                if request.tool() == MUTE {
                    board.speaker = before.speaker.clone();
                }
            })
        },
    ),
    mutant(
        "unmute-to-default",
        "unmute sets the level that the device had when it was new.",
        || {
            after(|request, board, before| {
                if request.tool() == UNMUTE && before.speaker.muted {
                    board.speaker.volume = Board::default().speaker.volume;
                }
            })
        },
    ),
    mutant(
        "unmute-stays-zero",
        "mute sets the level to 0, so unmute has nothing to restore.",
        || {
            after(|request, board, _| {
                if request.tool() == MUTE {
                    board.speaker.volume = 0;
                }
            })
        },
    ),
    mutant(
        "unmute-ignored",
        "unmute is answered and has no effect.",
        || {
            after(|request, board, before| {
                if request.tool() == UNMUTE {
                    board.speaker = before.speaker.clone();
                }
            })
        },
    ),
    mutant(
        "mute-twice-loses-level",
        "mute of a muted speaker stores 0 as the level to restore.",
        || {
            after(|request, board, before| {
                if request.tool() == MUTE && before.speaker.muted {
                    board.speaker.volume = 0;
                }
            })
        },
    ),
    mutant(
        "mute-twice-stores-ten",
        "mute of a muted speaker stores 10 as the level to restore.",
        || {
            after(|request, board, before| {
                if request.tool() == MUTE && before.speaker.muted {
                    board.speaker.volume = 10;
                }
            })
        },
    ),
    mutant(
        "volume-log-missing",
        "Changes of the volume are not logged.",
        || {
            Defect::default().console(|line| {
                if line.contains("Set output volume") {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "volume-log-old",
        "The log shows the volume one too high.",
        || {
            Defect::default().console(|line| {
                if let Some((head, level)) = line.rsplit_once("Set output volume to ") {
                    let level = level.parse::<u32>().unwrap_or_default() + 1;
                    *line = format!("{head}Set output volume to {level}");
                }
                Flow::Pass
            })
        },
    ),
];

/// Edits `audio_speaker` in the text of the status.
fn status(edit: fn(&mut Value)) -> Defect {
    Defect::default().on_answer(move |cause, payload, _| {
        if cause.tool() == "self.get_device_status" {
            edit_status(payload, edit);
        }
        Flow::Pass
    })
}

pub(super) fn edit_status(payload: &mut Value, edit: impl FnOnce(&mut Value)) {
    let Some(text) = payload.pointer_mut("/result/content/0/text") else {
        return;
    };
    let Ok(mut status) = serde_json::from_str::<Value>(text.as_str().unwrap_or_default()) else {
        return;
    };
    edit(&mut status["audio_speaker"]);
    *text = json!(status.to_string());
}

/// Changes the board after a call has succeeded; the hook gets the board as it was before.
pub(super) fn after(change: fn(&Request, &mut Board, &Board)) -> Defect {
    let before = Rc::new(Cell::new(Board::default()));
    let kept = Rc::clone(&before);
    Defect::default()
        .on_call(move |_, hands| kept.set(hands.device.board().clone()))
        .on_answer(move |cause, payload, hands| {
            if !cause.tool().is_empty() && payload.get("result").is_some() {
                change(cause, hands.device.board_mut(), &before.take());
            }
            Flow::Pass
        })
}

/// Changes the board after set_volume has succeeded.
fn after_set(change: fn(&mut Board)) -> Defect {
    Defect::default().on_answer(move |cause, payload, hands| {
        if cause.tool() == SET && payload.get("result").is_some() {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}

fn fixed_step(tool: &'static str) -> Defect {
    Defect::default().on_call(move |params, _| {
        if params["name"] == tool && params["arguments"]["step"].is_i64() {
            let step = &mut params["arguments"]["step"];
            // What is out of range stays so: checking is not this defect.
            if step.as_i64().is_some_and(|step| (1..=100).contains(&step)) {
                *step = json!(10);
            }
        }
    })
}

/// Calls another tool.
fn renamed(from: &'static str, to: &'static str) -> Defect {
    Defect::default().on_call(move |params, _| {
        if params["name"] == from {
            params["name"] = json!(to);
        }
    })
}

pub(super) fn step(request: &Request) -> u8 {
    request
        .argument("step")
        .as_u64()
        .and_then(|step| u8::try_from(step).ok())
        .unwrap_or(10)
}
