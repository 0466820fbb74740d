//! What else the device sends or prints, and what it does not.

use serde_json::json;

use super::{Variant, variant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands};
use crate::mutants::liveness::heartbeat;
use crate::platform::Frame;
use crate::prelude::*;

pub(super) const VARIANTS: &[Variant] = &[
    variant(
        "notifications-between",
        "A notification comes before every answer.",
        || {
            before_answers(|hands, count| {
                let data = json!({"level": "info", "data": format!("answer {count}")});
                hands.send_payload(
                    &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": data}),
                );
            })
        },
    ),
    variant(
        "other-messages-between",
        "Messages of other types come before every answer, known ones and unknown ones.",
        || {
            before_answers(|hands, count| {
                let session = hands.device.session_json().to_string();
                let message = match count % 2 {
                    0 => r#""type":"iot","states":[]"#,
                    _ => r#""type":"telemetry","heap":142331"#,
                };
                hands.send(format!(r#"{{"session_id":{session},{message}}}"#));
            })
        },
    ),
    variant(
        "audio-between",
        "Over WebSocket a frame of sound comes before every answer and behind it.",
        || {
            Defect::default().on_answer_text(|_, text, hands| {
                if hands.over_mqtt() {
                    return Flow::Pass;
                }
                let sound = || Act::Send(Frame::Binary(vec![0x58; 40]));
                hands.act(sound());
                hands.send(core::mem::take(text));
                hands.act(sound());
                Flow::Drop
            })
        },
    ),
    variant(
        "device-asks",
        "The device sends a ping with an id of its own now and then.",
        || {
            before_answers(|hands, count| {
                if count % 10 == 0 {
                    let id = format!("device-{count}");
                    hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
                }
            })
        },
    ),
    variant(
        "no-notifications",
        "The device sends no notifications, as all real ones.",
        || {
            Defect::default().on_message(|_, envelope, _| {
                match envelope["payload"]["method"].is_string() {
                    true => Flow::Drop,
                    false => Flow::Pass,
                }
            })
        },
    ),
    variant(
        "hello-more",
        "The hello has more features and more members.",
        || {
            Defect::default().on_hello(|hello| {
                hello["features"]["aec"] = json!(true);
                hello["features"]["glyph_push"] = json!(true);
                hello["text_font"] = json!({"size": 20, "bpp": 1});
            })
        },
    ),
    variant(
        "no-audio-channel",
        "Over MQTT the device opens no audio channel: nobody presses its button.",
        || Defect::default().setup(|device| device.identity_mut().opens_channel = false),
    ),
    variant("console-silent", "The console shows nothing.", || {
        Defect::default().console(|_| Flow::Drop)
    }),
    variant(
        "console-without-mcp",
        "The console shows no lines about MCP.",
        || {
            Defect::default().console(|line| match line.contains(" MCP: ") {
                true => Flow::Drop,
                false => Flow::Pass,
            })
        },
    ),
    variant(
        "console-late",
        "The console is attached late: the first lines of each boot are missing, some tools among them.",
        || {
            let mut tools = 0;
            Defect::default().console(move |line| {
                let missed = match line {
                    line if line.starts_with("ESP-ROM:") => {
                        tools = 0;
                        true
                    }
                    line if line.contains(" MCP: Add tool: ") => {
                        tools += 1;
                        tools <= 5
                    }
                    _ => tools == 0,
                };
                if missed { Flow::Drop } else { Flow::Pass }
            })
        },
    ),
    variant(
        "console-tool-late",
        "A tool is added at the end of the boot, and added once more, which changes nothing.",
        || {
            let mut late = None;
            Defect::default().console(move |line| {
                if line.contains(" MCP: Add tool: ") && late.is_none() {
                    late = Some(core::mem::take(line));
                    return Flow::Drop;
                }
                if line.contains(" Activation done")
                    && let Some(added) = late.take()
                {
                    let again = added.replace("I (", "W (").replace("Add tool: ", "Tool ");
                    *line = format!("{line}\n{added}\n{again} already added");
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "memory-wobbles",
        "Free memory goes up and down, and falls when something is loaded.",
        || {
            heartbeat(|_, _, count| {
                let loaded = if count > 200 { 24_000 } else { 0 };
                loaded + count * 7919 % 6000
            })
        },
    ),
    variant(
        "console-coloured",
        "The lines of the console are coloured, as by older versions.",
        || {
            Defect::default().console(|line| {
                *line = format!("\u{1b}[0;32m{line}\u{1b}[0m");
                Flow::Pass
            })
        },
    ),
];

/// Does something before each answer, which the hook is told the number of.
fn before_answers(mut act: impl FnMut(&mut Hands, u64) + 'static) -> Defect {
    let mut count = 0;
    Defect::default().on_answer_text(move |_, text, hands| {
        count += 1;
        act(hands, count);
        hands.send(core::mem::take(text));
        Flow::Drop
    })
}
