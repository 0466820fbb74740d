//! Defects of the volume commands that show only in a sequence, at a bound or on the console.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use reference_device::Board;
use serde_json::{Value, json};

use super::volume::{DOWN, MUTE, SET, UNMUTE, UP, after, edit_status, step};
use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::Flow;
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "mute-twice-toggles",
        "mute of a muted speaker ends the mute.",
        || {
            after(|request, board, before| {
                if request.tool() == MUTE && before.speaker.muted {
                    board.speaker.muted = false;
                }
            })
        },
    ),
    mutant(
        "unmute-to-fifty",
        "unmute sets 50, whatever the level was.",
        || {
            after(|request, board, before| {
                if request.tool() == UNMUTE && before.speaker.muted {
                    board.speaker.volume = 50;
                }
            })
        },
    ),
    mutant(
        "unmute-to-first-level",
        "unmute restores the level of the first mute since power-on.",
        || {
            let mut first = None;
            Defect::default().on_call(move |params, hands| {
                let speaker = &mut hands.device.board_mut().speaker;
                if params["name"] == MUTE && !speaker.muted {
                    first.get_or_insert(speaker.volume);
                } else if params["name"] == UNMUTE
                    && speaker.muted
                    && let Some(first) = first
                {
                    speaker.volume = first;
                }
            })
        },
    ),
    mutant(
        "unmute-zero-becomes-ten",
        "unmute takes the level 0 for none and sets 10.",
        || {
            after(|request, board, before| {
                if request.tool() == UNMUTE && before.speaker.muted && board.speaker.volume == 0 {
                    board.speaker.volume = 10;
                }
            })
        },
    ),
    mutant(
        "unmute-at-most-ninety",
        "unmute spares the ears: it restores at most 90.",
        || {
            after(|request, board, before| {
                if request.tool() == UNMUTE && before.speaker.muted {
                    board.speaker.volume = board.speaker.volume.min(90);
                }
            })
        },
    ),
    mutant(
        "unmute-alone-to-old-level",
        "unmute of a speaker that is not muted goes back to the level of the last mute.",
        || {
            let mut kept = None;
            Defect::default().on_call(move |params, hands| {
                let speaker = &mut hands.device.board_mut().speaker;
                if params["name"] == MUTE {
                    kept = Some(speaker.volume);
                } else if params["name"] == UNMUTE
                    && let Some(kept) = kept
                {
                    speaker.volume = kept;
                }
            })
        },
    ),
    mutant(
        "volume-up-clamps-to-99",
        "volume_up beyond 100 ends at 99.",
        || {
            after(|request, board, before| {
                let sum = u16::from(before.speaker.volume) + u16::from(step(request));
                if request.tool() == UP && sum > 100 {
                    board.speaker.volume = 99;
                }
            })
        },
    ),
    mutant(
        "volume-up-bounces",
        "volume_up beyond 100 goes back by what was too much: 95 and 10 make 95.",
        || {
            after(|request, board, before| {
                let sum = u16::from(before.speaker.volume) + u16::from(step(request));
                if request.tool() == UP && sum > 100 {
                    board.speaker.volume = u8::try_from(200 - sum.min(200)).unwrap_or(0);
                }
            })
        },
    ),
    mutant(
        "volume-down-clamps-to-1",
        "volume_down below 0 ends at 1.",
        || {
            after(|request, board, before| {
                if request.tool() == DOWN && step(request) > before.speaker.volume {
                    board.speaker.volume = 1;
                }
            })
        },
    ),
    mutant(
        "volume-up-stops-before-100",
        "volume_up that would end at 100 exactly has no effect.",
        || {
            after(|request, board, before| {
                if request.tool() == UP && before.speaker.volume + step(request) == 100 {
                    board.speaker = before.speaker.clone();
                }
            })
        },
    ),
    mutant(
        "volume-down-stops-before-0",
        "volume_down that would end at 0 exactly has no effect.",
        || {
            after(|request, board, before| {
                if request.tool() == DOWN && before.speaker.volume == step(request) {
                    board.speaker = before.speaker.clone();
                }
            })
        },
    ),
    mutant(
        "volume-step-zero-is-loudest",
        "A step of 0 means all the way.",
        || stepped(|step| if step == 0 { 100 } else { step }),
    ),
    mutant(
        "volume-step-zero-is-one",
        "A step of 0 is raised to 1.",
        || stepped(|step| step.max(1)),
    ),
    mutant(
        "volume-step-byte",
        "The step is kept in a byte: 266 is 10.",
        || stepped(|step| step & 0xff),
    ),
    mutant(
        "volume-step-int16",
        "The step is kept in 16 bits: 65546 is 10.",
        || stepped(|step| step & 0xffff),
    ),
    mutant(
        "volume-string-id-mutes",
        "mute with a string id is carried out and not answered.",
        || {
            string_id(|params, board| {
                if params["name"] == MUTE {
                    board.speaker.muted = true;
                }
            })
        },
    ),
    mutant(
        "volume-string-id-unmutes",
        "unmute with a string id is carried out and not answered.",
        || {
            string_id(|params, board| {
                if params["name"] == UNMUTE {
                    board.speaker.muted = false;
                }
            })
        },
    ),
    mutant(
        "volume-string-id-zero",
        "set_volume 0 with a string id is carried out and not answered.",
        || {
            string_id(|params, board| {
                if params["name"] == SET && params["arguments"]["volume"] == 0 {
                    board.speaker.volume = 0;
                }
            })
        },
    ),
    mutant(
        "volume-string-id-later",
        "set_volume with a string id is carried out after the next request.",
        || {
            let waiting = Rc::new(Cell::new(None));
            let due = Rc::clone(&waiting);
            Defect::default()
                .on_method("tools/call", move |payload, _| {
                    let params = payload.get("params").unwrap_or(&Value::Null);
                    if params["name"] == SET && payload.get("id").is_some_and(Value::is_string) {
                        let level = params["arguments"]["volume"].as_u64();
                        waiting.set(level.and_then(|level| u8::try_from(level).ok()));
                    }
                    Flow::Pass
                })
                .on_answer_text(move |_, _, hands| {
                    if let Some(level) = due.take() {
                        hands.device.board_mut().speaker.volume = level;
                    }
                    Flow::Pass
                })
        },
    ),
    mutant(
        "volume-command-guessed",
        "A tool that is not there is taken for the volume command that its name ends with.",
        || {
            Defect::default().on_call(|params, hands| {
                if hands.tool_of(params).is_some() {
                    return;
                }
                let name = params["name"].as_str().unwrap_or_default().to_string();
                let last = |tool: &str| tool.rsplit('.').next().unwrap_or_default().to_string();
                if let Some(meant) = [SET, UP, DOWN, MUTE]
                    .into_iter()
                    .find(|tool| name.ends_with(&last(tool)))
                {
                    params["name"] = json!(meant);
                }
            })
        },
    ),
    mutant(
        "volume-command-refused-but-done",
        "A call of `self.mcp_hil.mute` is refused, and mutes: the name was cut off too early.",
        || {
            Defect::default().on_call(|params, hands| {
                let name = params["name"].as_str().unwrap_or_default();
                if hands.tool_of(params).is_none() && name.ends_with(".mute") {
                    hands.device.board_mut().speaker.muted = true;
                }
            })
        },
    ),
    mutant(
        "set-volume-missing-is-zero",
        "set_volume without a level sets 0.",
        || {
            Defect::default().on_call(|params, _| {
                if params["name"] == SET && params["arguments"].get("volume").is_none() {
                    params["arguments"] = json!({"volume": 0});
                }
            })
        },
    ),
    mutant(
        "set-volume-takes-value",
        "set_volume takes the member `value` where `volume` is missing.",
        || {
            Defect::default().on_call(|params, _| {
                let value = params["arguments"].get("value").cloned();
                if params["name"] == SET
                    && params["arguments"].get("volume").is_none()
                    && let Some(value) = value
                {
                    params["arguments"]["volume"] = value;
                }
            })
        },
    ),
    mutant(
        "status-volume-of-before",
        "The status shows the volume of the reading before.",
        || {
            let mut before = None;
            Defect::default().on_answer(move |cause, payload, hands| {
                if cause.tool() == "self.get_device_status" {
                    let now = hands.device.board().speaker.audible();
                    let shown = before.replace(now).unwrap_or(now);
                    edit_status(payload, |speaker| speaker["volume"] = json!(shown));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "volume-log-steps-missing",
        "volume_up and volume_down leave no line in the log.",
        || unlogged(&[UP, DOWN]),
    ),
    mutant(
        "volume-log-mute-missing",
        "mute leaves no line in the log.",
        || unlogged(&[MUTE]),
    ),
];

/// The tool gets another step than was sent.
fn stepped(step: fn(i64) -> i64) -> Defect {
    Defect::default().on_argument(move |property, value| {
        let asked = value.as_i64().filter(|_| property.name == "step");
        Some(asked.map_or(value, |asked| json!(step(asked))))
    })
}

/// Changes the board at calls whose id is a string, which the device then drops.
fn string_id(change: fn(&Value, &mut Board)) -> Defect {
    Defect::default().on_method("tools/call", move |payload, hands| {
        if payload.get("id").is_some_and(Value::is_string) {
            let params = payload.get("params").unwrap_or(&Value::Null);
            change(params, hands.device.board_mut());
        }
        Flow::Pass
    })
}

/// Some calls leave no line about the volume.
fn unlogged(tools: &'static [&'static str]) -> Defect {
    let called = Rc::new(RefCell::new(String::new()));
    let last = Rc::clone(&called);
    Defect::default()
        .on_call(move |params, _| {
            *called.borrow_mut() = params["name"].as_str().unwrap_or_default().to_string();
        })
        .console(move |line| {
            let silent = tools.contains(&last.borrow().as_str());
            if silent && line.contains("Set output volume") {
                Flow::Drop
            } else {
                Flow::Pass
            }
        })
}
