//! Defects of the status, and of what changes the settings that it shows: messages that only read, that are
//! refused or that are no request at all.

use reference_device::{Board, Speaker};

use crate::rows::prelude::*;

const THEME: &str = "self.screen.set_theme";

pub(super) const MUTANTS: &[Row] = rows! {
    "status-one-behind": "Each status has the brightness of the time when the status was read before." => {
        let mut before = None;
        tool(STATUS).answer(move |payload| {
            edit_text(payload, |status| {
                let now = status["screen"]["brightness"].clone();
                status["screen"]["brightness"] = before.replace(now.clone()).unwrap_or(now);
            });
        })
    };
    "status-prose": "The status is a sentence instead of JSON."
        => text(|text| *text = "The volume is 70 percent and the screen is bright.".to_string());
    "status-cut": "The status is cut off: the buffer for its text is too small."
        => text(|text| text.truncate(64));
    "status-trailing-comma": "There is a comma behind the last member of the status."
        => text(|text| if let Some(rest) = text.strip_suffix('}') {
            *text = format!("{rest},}}");
        });
    "status-single-quotes": "The status is written with single quotes, as Python prints it."
        => text(|text| *text = text.replace('"', "'"));
    "status-array": "The status is an array of its parts."
        => text(|text| *text = format!("[{text}]"));
    "status-in-string": "The status is JSON inside a JSON string."
        => text(|text| *text = json!(text).to_string());
    "status-battery-101": "The charge of a full battery is told as 101 percent." => charge(101);
    "status-battery-negative": "The charge of an empty battery is told as -1 percent." => charge(-1);
    "status-number": "The status is the volume alone." => text(|text| *text = "70".to_string());
    "status-empty": "The text of the status is empty." => text(String::clear);
    "status-without-text": "The content of the status is empty."
        => tool(STATUS).result(|result| result["content"] = json!([]));
    "status-first-without-volume":
        "The first status after a boot shows the volume 0: the codec has not started yet."
        => tool(STATUS).first().answer(|payload| {
            edit_text(payload, |status| status["audio_speaker"]["volume"] = json!(0));
        });
    "status-first-other-theme":
        "The first status after a boot shows the factory theme, whichever is set."
        => tool(STATUS).first().answer(|payload| {
            edit_text(payload, |status| status["screen"]["theme"] = json!("dark"));
        });
    "list-resets-volume": "tools/list sets the volume of a new device."
        => at("tools/list", |_, board| board.speaker = factory().speaker);
    "list-page-loses-theme": "A page of tools/list that is not the first selects the factory theme."
        => at("tools/list", |params, board| if !params["cursor"].is_null() {
            board.screen.theme = factory().screen.theme;
        });
    "list-for-users-resets-brightness": "withUserTools sets the brightness of a new device."
        => at("tools/list", |params, board| if params["withUserTools"] == true {
            board.screen.brightness = factory().screen.brightness;
        });
    "ping-ends-mute": "ping ends the mute." => at("ping", |_, board| board.speaker.muted = false);
    "initialize-resets-brightness": "initialize sets the brightness of a new device."
        => at("initialize", |_, board| board.screen.brightness = factory().screen.brightness);
    "initialize-vision-loses-theme":
        "initialize with a vision service, and no other, selects the factory theme."
        => at("initialize", |params, board| if params["capabilities"]["vision"].is_object() {
            board.screen.theme = factory().screen.theme;
        });
    "initialize-ends-mute": "initialize ends the mute."
        => at("initialize", |_, board| board.speaker.muted = false);
    "initialized-resets-brightness": "notifications/initialized sets the brightness of a new device."
        => at("notifications/initialized", |_, board| {
            board.screen.brightness = factory().screen.brightness;
        });
    "cancelled-mutes": "notifications/cancelled mutes the speaker, whatever is cancelled."
        => at("notifications/cancelled", |_, board| board.speaker.muted = true);
    "status-resets-brightness": "Reading the status sets the brightness of a new device afterwards."
        => before_answer(
            |request, _| request.tool() == STATUS,
            |board| board.screen.brightness = factory().screen.brightness,
        );
    "unknown-method-ends-mute": "A method that does not exist ends the mute."
        => before_answer(
            |_, payload| payload["error"]["code"] == -32601,
            |board| board.speaker.muted = false,
        );
    "unknown-method-loses-theme": "A method that does not exist selects the factory theme."
        => before_answer(
            |_, payload| payload["error"]["code"] == -32601,
            |board| board.screen.theme = factory().screen.theme,
        );
    "unknown-tool-resets-brightness": "An unknown tool sets the brightness of a new device."
        => before_answer(
            |request, payload| payload.get("error").is_some() && request.tool().contains("mcp_hil"),
            |board| board.screen.brightness = factory().screen.brightness,
        );
    "refused-theme-number-loses-theme": "A theme that is no string is refused, and `light` is set."
        => defect().on_call(|params, hands| {
            if params["name"] == THEME && !params["arguments"]["theme"].is_string() {
                hands.device.board_mut().screen.theme = "light".to_string();
            }
        });
    "garbage-resets-volume": "Text that is not JSON sets the volume of a new device."
        => on_text(|message| message.is_none(), |board| board.speaker = factory().speaker);
    "garbage-loses-theme": "Text that is not JSON selects the factory theme."
        => on_text(|message| message.is_none(), |board| {
            board.screen.theme = factory().screen.theme;
        });
    "unknown-type-resets-volume": "A message of unknown type sets the volume of a new device."
        => on_text(
            |message| message.is_some_and(|it| it["type"].as_str().is_some_and(is_unknown)),
            |board| board.speaker = factory().speaker,
        );
    "response-resets-brightness": "A response that nobody asked for sets the brightness of a new device."
        => on_text(
            |message| message.is_some_and(|it| {
                it["payload"].get("result").is_some() || it["payload"].get("error").is_some()
            }),
            |board| board.screen.brightness = factory().screen.brightness,
        );
    "string-id-list-mutes": "A list that is requested with a string id mutes the speaker."
        => on_text(
            |message| message.is_some_and(|it| it["payload"]["id"].is_string()),
            |board| board.speaker.muted = true,
        );
    "payload-text-resets-volume": "A payload that is no object sets the volume of a new device."
        => on_text(
            |message| message.is_some_and(|it| {
                it["type"] == "mcp" && !it["payload"].is_object()
            }),
            |board| board.speaker = factory().speaker,
        );
    "long-text-resets-volume": "A message of more than 32768 bytes overwrites the volume."
        => defect().inbound(|inbound, hands| {
            if inbound.text.len() > 32_768 {
                hands.device.board_mut().speaker.volume = 77;
            }
            Flow::Pass
        });
    "nesting-loses-theme": "Nesting of more than 512 levels overwrites the theme."
        => defect().inbound(|inbound, hands| {
            if inbound.text.matches('[').count() > 512 {
                hands.device.board_mut().screen.theme = "light".to_string();
            }
            Flow::Pass
        });
    "batch-resets-brightness": "A batch sets the brightness of a new device."
        => on_text(
            |message| message.is_some_and(|it| it["payload"].is_array()),
            |board| board.screen.brightness = factory().screen.brightness,
        );
    "binary-resets-brightness": "A binary frame sets the brightness of a new device."
        => defect().binary(|_, hands| {
            hands.device.board_mut().screen.brightness = factory().screen.brightness;
        });
};

/// The settings of a new device.
fn factory() -> Board {
    Board { speaker: Speaker { volume: 70, muted: false }, ..Board::default() }
}

/// Edits the text of the status.
fn text(edit: fn(&mut String)) -> Defect {
    tool(STATUS).result(move |result| {
        if let Some(text) = result["content"][0]["text"].as_str() {
            let mut text = text.to_string();
            edit(&mut text);
            result["content"][0]["text"] = json!(text);
        }
    })
}

/// Changes the board when a message of the method arrives; the first argument is its params.
fn at(method: &'static str, change: fn(&Value, &mut Board)) -> Defect {
    defect().on_method(method, move |payload, hands| {
        change(get(payload, "params"), hands.device.board_mut());
        Flow::Pass
    })
}

/// Changes the board before such an answer is sent.
fn before_answer(is_such: fn(&Request, &Value) -> bool, change: fn(&mut Board)) -> Defect {
    defect().on_answer(move |cause, payload, hands| {
        if is_such(cause, payload) {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}

/// Changes the board when such a text arrives; the argument is the message, if it is JSON.
fn on_text(is_such: fn(Option<&Value>) -> bool, change: fn(&mut Board)) -> Defect {
    defect().inbound(move |inbound, hands| {
        let message = serde_json::from_str::<Value>(&inbound.text).ok();
        if is_such(message.as_ref()) {
            change(hands.device.board_mut());
        }
        Flow::Pass
    })
}

/// Whether the documents do not know a type of messages.
fn is_unknown(kind: &str) -> bool {
    let known = ["hello", "mcp", "tts", "stt", "llm", "alert", "system", "custom"];
    !known.contains(&kind) && !["listen", "abort", "goodbye", "iot"].contains(&kind)
}

/// Tells this as the charge of the battery.
fn charge(percent: i64) -> Defect {
    tool(STATUS).answer(move |payload| {
        edit_text(payload, |status| status["battery"]["level"] = json!(percent));
    })
}
