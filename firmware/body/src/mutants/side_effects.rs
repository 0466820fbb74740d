//! Defects of settings that change beside something that has nothing to do with them.

use reference_device::Board;

use crate::rows::prelude::*;

pub(super) const STATUS: &[Row] = rows! {
    "battery-dims": "Reading the charge of the battery makes the screen darker."
        => answered_call("self.battery.get_level", |board| {
            board.screen.brightness = board.screen.brightness.saturating_sub(5);
        });
    "loud-dims": "Above a volume of 90 the screen gets darker."
        => defect().on_answer(|cause, payload, hands| {
            let is_loud = cause.argument("volume").as_i64().is_some_and(|volume| volume > 90);
            if is_loud && cause.tool() == SET && payload.get("result").is_some() {
                hands.device.board_mut().screen.brightness = 40;
            }
            Flow::Pass
        });
    "climate-ends-mute": "Reading temperature and humidity ends the mute."
        => answered_call("self.sensor.get_climate", |board| board.speaker.muted = false);
    "photo-changes-volume": "The sound of the shutter leaves its level behind."
        => answered_call("self.camera.take_photo", |board| board.speaker.volume = 80);
    "version-one-mutes": "A request of JSON-RPC 1.0 mutes the speaker."
        => at_payload(
            |payload| get(payload, "jsonrpc") != "2.0",
            |board| board.speaker.muted = true,
        );
    "method-missing-dims": "A request without a method makes the screen dark."
        => at_payload(
            |payload| {
                let has = |name| payload.contains_key(name);
                has("id") && !has("method") && !has("result") && !has("error")
            },
            |board| board.screen.brightness = 12,
        );
    "text-changes-volume": "The text of what was said sets the level to 0."
        => at_message("stt", |board| board.speaker.volume = 0);
    "text-with-number-changes-volume": "A number in the text of what was said sets the level."
        => arriving("stt", |envelope, hands| {
            let text = envelope.get("text").and_then(Value::as_str).unwrap_or_default();
            if let Some(level) = text.split(' ').find_map(|word| word.parse().ok()) {
                hands.device.board_mut().speaker.volume = level;
            }
            Flow::Pass
        });
    "emotion-changes-theme": "An emotion selects the theme that goes with it."
        => at_message("llm", |board| board.screen.theme = "dark".to_string());
    "alert-ends-mute": "An alert ends the mute, so that it is heard."
        => at_message("alert", |board| board.speaker.muted = false);
    "speech-changes-volume": "Speech has a level of its own, which stays when it is over."
        => at_message("tts", |board| board.speaker.volume = 61);
};

pub(super) const SESSION: &[Row] = rows! {
    "session-goodbye-foreign-mutes": "A goodbye with a different session id mutes the speaker."
        => arriving("goodbye", |envelope, hands| {
            let own = serde_json::from_str::<Value>(hands.device.session_json());
            if own.is_ok_and(|own| own != *get(envelope, "session_id")) {
                hands.device.board_mut().speaker.muted = true;
            }
            Flow::Pass
        });
    "session-hello-repeated-dims":
        "A second hello from the server makes the screen dark." => {
        let [hellos, lost] = shared(0);
        arriving("hello", move |_, hands| {
            hellos.set(hellos.get() + 1);
            if hellos.get() > 1 {
                hands.device.board_mut().screen.brightness = 12;
            }
            Flow::Pass
        })
        .disconnected(move |_| lost.set(0))
    };
};

/// Changes the board before a call of the tool is answered with a result.
fn answered_call(name: &'static str, change: fn(&mut Board)) -> Defect {
    defect().on_answer(move |cause, payload, hands| {
        if cause.tool() == name && payload.get("result").is_some() {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}

/// Changes the board when such a payload arrives.
fn at_payload(is_such: fn(&Map<String, Value>) -> bool, change: fn(&mut Board)) -> Defect {
    defect().on_payload(move |payload, hands| {
        if is_such(payload) {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}

/// Changes the board when a message of the type arrives.
fn at_message(kind: &'static str, change: fn(&mut Board)) -> Defect {
    arriving(kind, move |_, hands| {
        change(hands.device.board_mut());
        Flow::Pass
    })
}
