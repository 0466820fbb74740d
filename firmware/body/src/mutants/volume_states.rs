//! Defects of the volume commands that show only in a sequence, at a bound or on the console.

use reference_device::Speaker;

use super::volume::{after, before_calls, unmuted};
use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "mute-twice-toggles": "mute of a muted speaker ends the mute."
        => after(MUTE, |speaker, before, _| speaker.muted &= !before.muted);
    "unmute-to-fifty": "unmute sets 50, whatever the level was." => unmuted(|_| 50);
    "unmute-to-first-level": "unmute restores the level of the first mute since power-on." => {
        let mut first = None;
        before_calls(move |tool, speaker| {
            if tool == MUTE && !speaker.muted {
                first.get_or_insert(speaker.volume);
            } else if tool == UNMUTE && speaker.muted {
                speaker.volume = first.unwrap_or(speaker.volume);
            }
        })
    };
    "unmute-zero-becomes-ten": "unmute treats the level 0 as missing and sets 10."
        => unmuted(|level| if level == 0 { 10 } else { level });
    "unmute-at-most-ninety": "unmute spares the ears: it restores at most 90."
        => unmuted(|level| level.min(90));
    "unmute-alone-to-old-level":
        "unmute of a speaker that is not muted goes back to the level of the last mute." => {
        let mut kept = None;
        before_calls(move |tool, speaker| match tool {
            MUTE => kept = Some(speaker.volume),
            UNMUTE => speaker.volume = kept.unwrap_or(speaker.volume),
            _ => {}
        })
    };
    "volume-up-clamps-to-99": "volume_up beyond 100 ends at 99."
        => after(UP, |speaker, before, step| if u16::from(before.volume) + u16::from(step) > 100 {
            speaker.volume = 99;
        });
    "volume-up-bounces": "volume_up beyond 100 goes back by the excess: 95 and 10 make 95."
        => after(UP, |speaker, before, step| {
            let sum = u16::from(before.volume) + u16::from(step);
            if sum > 100 {
                speaker.volume = u8::try_from(200 - sum.min(200)).unwrap_or(0);
            }
        });
    "volume-down-clamps-to-1": "volume_down below 0 ends at 1."
        => after(DOWN, |speaker, before, step| if step > before.volume { speaker.volume = 1; });
    "volume-up-stops-before-100": "volume_up that would end at 100 exactly has no effect."
        => after(UP, |speaker, before, step| if before.volume + step == 100 {
            *speaker = before.clone();
        });
    "volume-down-stops-before-0": "volume_down that would end at 0 exactly has no effect."
        => after(DOWN, |speaker, before, step| if before.volume == step {
            *speaker = before.clone();
        });
    "volume-step-zero-is-loudest": "A step of 0 means all the way."
        => stepped(|step| if step == 0 { 100 } else { step });
    "volume-step-zero-is-one": "A step of 0 is raised to 1." => stepped(|step| step.max(1));
    "volume-step-byte": "The step is kept in a byte: 266 is 10." => stepped(|step| step & 0xff);
    "volume-step-int16": "The step is kept in 16 bits: 65546 is 10."
        => stepped(|step| step & 0xffff);
    "volume-string-id-mutes": "mute with a string id is executed but not answered."
        => string_id(MUTE, |_, speaker| speaker.muted = true);
    "volume-string-id-unmutes": "unmute with a string id is executed but not answered."
        => string_id(UNMUTE, |_, speaker| speaker.muted = false);
    "volume-string-id-zero": "set_volume 0 with a string id is executed but not answered."
        => string_id(SET, |arguments, speaker| if arguments["volume"] == 0 { speaker.volume = 0; });
    "volume-string-id-later":
        "set_volume with a string id is executed after the next request." => {
        let [waiting, due] = shared(None);
        defect()
            .on_method("tools/call", move |payload, _| {
                let params = get(payload, "params");
                if params["name"] == SET && get(payload, "id").is_string() {
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
    };
    "volume-set-late": "Of the levels, the latest above 60 takes effect once more when the connection ends." => {
        let [level, due] = shared(None);
        defect()
            .on_call(move |params, _| {
                let asked = params["arguments"]["volume"].as_u64();
                let loud = asked.filter(|level| (61..=100).contains(level));
                if let Some(loud) = loud.and_then(|loud| u8::try_from(loud).ok()) {
                    level.set(Some(loud));
                }
            })
            .disconnected(move |hands| if let Some(level) = due.take() {
                hands.device.board_mut().speaker.volume = level;
            })
    };
    "volume-command-guessed":
        "An unknown tool is treated as the volume command that its name ends with."
        => defect().on_call(|params, hands| {
            let name = params["name"].as_str().unwrap_or_default();
            let is_meant =
                |tool: &&str| tool.rsplit('.').next().is_some_and(|last| name.ends_with(last));
            let meant = [SET, UP, DOWN, MUTE].into_iter().find(is_meant);
            if let Some(meant) = meant.filter(|_| hands.tool_of(params).is_none()) {
                params["name"] = json!(meant);
            }
        });
    "volume-command-refused-but-done":
        "A call of `self.mcp_hil.mute` is refused, and mutes: the name was cut off too early."
        => defect().on_call(|params, hands| {
            let name = params["name"].as_str().unwrap_or_default();
            if hands.tool_of(params).is_none() && name.ends_with(".mute") {
                hands.device.board_mut().speaker.muted = true;
            }
        });
    "set-volume-missing-is-zero": "set_volume without a level sets 0."
        => defect().on_call(|params, _| {
            if params["name"] == SET && params["arguments"].get("volume").is_none() {
                params["arguments"] = json!({"volume": 0});
            }
        });
    "set-volume-takes-value": "set_volume uses the member `value` if `volume` is missing."
        => defect().on_call(|params, _| {
            let value = params["arguments"].get("value").cloned();
            if params["name"] == SET
                && params["arguments"].get("volume").is_none()
                && let Some(value) = value
            {
                params["arguments"]["volume"] = value;
            }
        });
    "status-volume-of-before":
        "The status shows the volume from before the latest change, however often it is read." => {
        let mut latest = None;
        defect().on_answer(move |cause, payload, hands| {
            let now = hands.device.board().speaker.audible();
            let (shown, known) = latest.unwrap_or((now, now));
            let shown = if known == now { shown } else { known };
            latest = Some((shown, now));
            if cause.tool() == STATUS {
                edit_text(payload, |status| status["audio_speaker"]["volume"] = json!(shown));
            }
            Flow::Pass
        })
    };
    "volume-log-steps-missing": "volume_up and volume_down are not logged."
        => unlogged(&[UP, DOWN]);
    "volume-log-mute-missing": "mute is not logged." => unlogged(&[MUTE]);
};

/// The tool gets another step than was sent.
fn stepped(step: fn(i64) -> i64) -> Defect {
    Defect::default().on_argument(move |property, value| {
        let asked = value.as_i64().filter(|_| property.name == "step");
        Some(asked.map_or(value, |asked| json!(step(asked))))
    })
}

/// Changes the speaker at calls of a tool whose id is a string, which the device then drops.
fn string_id(tool: &'static str, change: fn(&Value, &mut Speaker)) -> Defect {
    defect().on_method("tools/call", move |payload, hands| {
        let params = get(payload, "params");
        if get(payload, "id").is_string() && params["name"] == tool {
            change(&params["arguments"], &mut hands.device.board_mut().speaker);
        }
        Flow::Pass
    })
}

/// Some calls leave no line about the volume.
fn unlogged(tools: &'static [&'static str]) -> Defect {
    let [called, is_silent] = shared(false);
    defect()
        .on_call(move |params, _| called.set(tools.iter().any(|tool| params["name"] == *tool)))
        .console(move |line| drop_if(is_silent.get() && line.contains("Set output volume")))
}
