//! Defects of the six volume commands, each on its own.

use reference_device::{Board, Speaker};

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "status-volume-string": "The status shows the volume as a string."
        => status(|speaker| speaker["volume"] = json!(speaker["volume"].to_string()));
    "status-volume-fraction": "The status shows the volume between 0 and 1."
        => status(|speaker| {
            let level = speaker["volume"].as_f64().unwrap_or(0.0);
            speaker["volume"] = json!(level / 100.0 + 0.001);
        });
    "status-volume-missing": "The status does not show the volume."
        => status(|speaker| remove(speaker, "volume"));
    "status-speaker-renamed": "The status calls the speaker `audio`."
        => tool(STATUS).result(|result| {
            let content = &mut result["content"][0]["text"];
            *content = json!(content.as_str().unwrap_or_default().replace("audio_speaker", "audio"));
        });
    "status-volume-zero-missing": "The status does not show a volume of 0: 0 is falsy."
        => status(|speaker| if speaker["volume"] == 0 {
            remove(speaker, "volume");
        });
    "status-volume-raw": "The status shows the volume in steps of the amplifier, 0 to 255."
        => status(|speaker| {
            speaker["volume"] = json!(speaker["volume"].as_u64().unwrap_or(0) * 255 / 100)
        });
    "set-volume-ignored": "set_volume is answered but has no effect."
        => after(SET, |speaker, before, _| *speaker = before.clone());
    "set-volume-one-less": "set_volume sets one less, but 0 and 100 exactly."
        => after(SET, |speaker, _, _| {
            speaker.volume -= u8::from((1..100).contains(&speaker.volume))
        });
    "set-volume-in-steps": "set_volume rounds to steps of ten."
        => after(SET, |speaker, _, _| speaker.volume = speaker.volume / 10 * 10);
    "set-volume-zero-becomes-ten": "set_volume 0 sets 10."
        => after(SET, |speaker, _, _| if speaker.volume == 0 { speaker.volume = 10; });
    "set-volume-zero-missing": "set_volume 0 is refused as a missing argument: 0 is falsy."
        => defect().on_argument(|property, value| {
            (property.name != "volume" || value != 0).then_some(value)
        });
    "set-volume-zero-refused": "set_volume 0 is refused by a result, as a setting that is locked."
        => defect().on_method("tools/call", |payload, hands| {
            let params = get(payload, "params");
            let is_zero = params["name"] == SET && params["arguments"] == json!({"volume": 0});
            reply_if(is_zero, payload, hands, |id| {
                let mut refused = text_result("The volume must be above 0.");
                refused["isError"] = json!(true);
                result(id, refused)
            })
        });
    "set-volume-hundred-becomes-99": "set_volume 100 sets 99."
        => after(SET, |speaker, _, _| speaker.volume = speaker.volume.min(99));
    "set-volume-clamps": "set_volume 101 sets 100, and -1 sets 0, as if nothing were wrong."
        => defect().on_argument(|property, value| {
            let level = value.as_i64().filter(|_| property.name == "volume");
            Some(level.map_or(value, |level| json!(level.clamp(0, 100))))
        });
    "set-volume-refused-but-set": "set_volume 101 is refused and sets 100."
        => defect().on_call(|params, hands| {
            let level = params["arguments"]["volume"].as_i64();
            if params["name"] == SET && level.is_some_and(|level| level > 100) {
                hands.device.board_mut().speaker.volume = 100;
            }
        });
    "set-volume-toggles": "set_volume to the present level sets 0."
        => after(SET, |speaker, before, _| if speaker == before { speaker.volume = 0; });
    "set-volume-accumulates": "set_volume to the present level raises it by one."
        => after(SET, |speaker, before, _| if speaker == before && speaker.volume < 100 {
            speaker.volume += 1;
        });
    "volume-up-ignores-step": "volume_up uses ten, whatever the step." => fixed_step(UP);
    "volume-down-ignores-step": "volume_down uses ten, whatever the step." => fixed_step(DOWN);
    "volume-down-raises": "volume_down raises the volume." => renamed(DOWN, UP);
    "volume-up-lowers": "volume_up lowers the volume." => renamed(UP, DOWN);
    "volume-step-default-five": "volume_up and volume_down without step use five."
        => defect().on_call(|params, _| if params["name"] == UP || params["name"] == DOWN {
            if params.get("arguments").is_none() {
                params["arguments"] = json!({});
            }
            if let Some(Value::Object(arguments)) = params.get_mut("arguments") {
                arguments.entry("step").or_insert(json!(5));
            }
        });
    "volume-step-of-before": "volume_up and volume_down without step use the latest one." => {
        let mut latest = json!(10);
        defect().on_call(move |params, _| if params["name"] == UP || params["name"] == DOWN {
            let arguments = &mut params["arguments"];
            match arguments.get("step") {
                Some(step) => latest = step.clone(),
                None => *arguments = json!({"step": latest}),
            }
        })
    };
    "volume-down-default-one": "volume_down without step uses one."
        => defect().on_call(|params, _| {
            if params["name"] == DOWN && params["arguments"].get("step").is_none() {
                params["arguments"] = json!({"step": 1});
            }
        });
    "volume-up-overshoots": "volume_up goes beyond 100."
        => after(UP, |speaker, before, step| if speaker != before {
            speaker.volume = before.volume.saturating_add(step);
        });
    "volume-up-wraps": "volume_up beyond 100 wraps around to 0."
        => after(UP, |speaker, before, step| if speaker != before {
            speaker.volume = before.volume.saturating_add(step) % 101;
        });
    "volume-down-wraps": "volume_down below 0 ends at 255: the level is an unsigned byte."
        => after(DOWN, |speaker, before, step| if speaker != before {
            speaker.volume = before.volume.wrapping_sub(step);
        });
    "volume-down-stops-at-ten": "volume_down never goes below 10."
        => after(DOWN, |speaker, before, _| {
            speaker.volume = speaker.volume.max(10.min(before.volume))
        });
    "mute-not-shown": "After mute the status shows the level, and muted is false."
        => defect().on_answer(|cause, payload, hands| {
            let Speaker { volume, muted } = hands.device.board().speaker;
            if cause.tool() == STATUS && muted {
                let shown = json!({"volume": volume, "muted": false});
                edit_text(payload, |status| status["audio_speaker"] = shown);
            }
            Flow::Pass
        });
    "mute-untold": "The status has no member muted, and shows the level of a muted speaker."
        => defect().on_answer(|cause, payload, hands| {
            let level = hands.device.board().speaker.volume;
            if cause.tool() == STATUS {
                edit_text(payload, |status| status["audio_speaker"] = json!({"volume": level}));
            }
            Flow::Pass
        });
    "mute-ignored": "mute is answered but has no effect."
        => after(MUTE, |speaker, before, _| *speaker = before.clone());
    "unmute-to-default": "unmute sets the level that the device had when it was new."
        => unmuted(|_| Board::default().speaker.volume);
    "unmute-stays-zero": "mute sets the level to 0, so unmute has nothing to restore."
        => after(MUTE, |speaker, _, _| speaker.volume = 0);
    "unmute-ignored": "unmute is answered but has no effect."
        => after(UNMUTE, |speaker, before, _| *speaker = before.clone());
    "mute-twice-loses-level": "mute of a muted speaker stores 0 as the level to restore."
        => after(MUTE, |speaker, before, _| if before.muted { speaker.volume = 0; });
    "mute-twice-stores-ten": "mute of a muted speaker stores 10 as the level to restore."
        => after(MUTE, |speaker, before, _| if before.muted { speaker.volume = 10; });
    "volume-log-missing": "Changes of the volume are not logged."
        => unprinted(|line| line.contains("Set output volume"));
    "volume-log-old": "The log shows the volume one too high."
        => defect().console(|line| {
            if let Some((head, level)) = line.rsplit_once("Set output volume to ") {
                let level = level.parse::<u32>().unwrap_or_default() + 1;
                *line = format!("{head}Set output volume to {level}");
            }
            Flow::Pass
        });
};

/// Calls another tool.
fn renamed(from: &'static str, to: &'static str) -> Defect {
    Defect::default().on_call(move |params, _| {
        if params["name"] == from {
            params["name"] = json!(to);
        }
    })
}

/// Edits `audio_speaker` in the text of the status.
fn status(edit: fn(&mut Value)) -> Defect {
    tool(STATUS)
        .answer(move |payload| edit_text(payload, |status| edit(&mut status["audio_speaker"])))
}

/// Changes the speaker after a call of the tool has succeeded; the hook gets the speaker as it was before,
/// and the step of the call.
pub(super) fn after(tool: &'static str, change: fn(&mut Speaker, &Speaker, u8)) -> Defect {
    let before = Rc::new(RefCell::new(Board::default().speaker));
    let kept = Rc::clone(&before);
    defect()
        .on_call(move |_, hands| *kept.borrow_mut() = hands.device.board().speaker.clone())
        .on_answer(move |cause, payload, hands| {
            if cause.tool() == tool && payload.get("result").is_some() {
                let step = cause.argument("step").as_u64();
                let step = step.and_then(|step| u8::try_from(step).ok()).unwrap_or(10);
                change(&mut hands.device.board_mut().speaker, &before.borrow(), step);
            }
            Flow::Pass
        })
}

/// The level that unmute sets, made of the one that it should set.
pub(super) fn unmuted(level: fn(u8) -> u8) -> Defect {
    let [was_muted, kept] = shared(false);
    defect().on_call(move |_, hands| kept.set(hands.device.board().speaker.muted)).on_answer(
        move |cause, payload, hands| {
            if cause.tool() == UNMUTE && payload.get("result").is_some() && was_muted.get() {
                let speaker = &mut hands.device.board_mut().speaker;
                speaker.volume = level(speaker.volume);
            }
            Flow::Pass
        },
    )
}

/// Sees the speaker before each call, and the name of the tool.
pub(super) fn before_calls(mut hook: impl FnMut(&str, &mut Speaker) + 'static) -> Defect {
    defect().on_call(move |params, hands| {
        let name = params["name"].as_str().unwrap_or_default();
        hook(name, &mut hands.device.board_mut().speaker);
    })
}

fn fixed_step(tool: &'static str) -> Defect {
    defect().on_call(move |params, _| {
        // What is out of range stays so: checking is not this defect.
        if params["name"] == tool
            && let Some(1..=100) = params["arguments"]["step"].as_i64()
        {
            params["arguments"]["step"] = json!(10);
        }
    })
}
