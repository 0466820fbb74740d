//! What else the device sends or prints, and what it does not.

use crate::heartbeat::heartbeat;
use crate::platform::Frame;
use crate::rows::prelude::*;

pub(super) const VARIANTS: &[Row] = rows! {
    "notifications-between": "A notification comes before every answer."
        => before_answers(|hands, count| {
            let data = json!({"level": "info", "data": format!("answer {count}")});
            hands.send_payload(
                &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": data}),
            );
        })
        .over(method("initialize").result(|result| result["capabilities"]["logging"] = json!({})));
    "other-messages-between":
        "Messages of other types, known and unknown, come before every answer."
        => before_answers(|hands, count| {
            let session = hands.device.session_json();
            let message = match count % 2 {
                0 => r#""type":"iot","states":[]"#,
                _ => r#""type":"telemetry","heap":142331"#,
            };
            hands.send(format!(r#"{{"session_id":{session},{message}}}"#));
        });
    "session-unnamed": "Over WebSocket the session id is empty in all messages of the device."
        => defect().on_message(|kind, envelope, hands| {
            if kind != "hello" && !hands.over_mqtt() {
                envelope["session_id"] = json!("");
            }
            Flow::Pass
        });
    "audio-between": "Over WebSocket an audio frame comes before and after every answer."
        => defect().on_answer_text(|_, text, hands| {
            // The other versions of the framing have a header.
            if hands.over_mqtt() || hands.device.identity().websocket_version != 1 {
                return Flow::Pass;
            }
            let sound = || Act::Send(Frame::Binary(vec![0x58; 40]));
            hands.act(sound());
            hands.send(core::mem::take(text));
            instead(sound(), hands)
        });
    "device-asks": "The device occasionally sends a ping with an id of its own."
        => before_answers(|hands, count| if count % 10 == 0 {
            let id = format!("device-{count}");
            hands.send_payload(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        });
    "device-asks-at-each-start":
        "With each hello of the server, and each `initialize`, the device counts its own requests from 1 again."
        => defect().inbound(|inbound, hands| {
            if inbound.text.contains("\"hello\"") || inbound.text.contains("initialize") {
                hands.send_payload(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
            }
            Flow::Pass
        });
    "device-samples": "The device occasionally asks for a message of the model, as MCP allows."
        => before_answers(|hands, count| if count % 10 == 0 {
            let content = json!({"type": "text", "text": "What is the weather like?"});
            let params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 50});
            let id = format!("device-{count}");
            hands.send_payload(&json!({
                "jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": params,
            }));
        });
    "goodbye-closes": "Over WebSocket a goodbye ends the connection without a word, and the device connects again."
        => defect().on_envelope(|envelope, hands| {
            let ends = !hands.over_mqtt() && get(envelope, "type") == "goodbye";
            act_if(ends, Act::Disconnect, hands)
        });
    "progress-told": "The device tells of progress before each answer to a request with a token for it."
        => defect().on_answer_text(|cause, text, hands| {
            let token = &cause.params()["_meta"]["progressToken"];
            if token.is_null() {
                return Flow::Pass;
            }
            for progress in [0.5, 1.0] {
                let params = json!({"progressToken": token, "progress": progress, "total": 1});
                hands.send_payload(&json!({
                    "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
                }));
            }
            hands.send(core::mem::take(text));
            Flow::Drop
        });
    "no-notifications": "The device sends no notifications, like all real ones."
        => defect()
            .on_message(|_, envelope, _| drop_if(envelope["payload"]["method"].is_string()));
    "hello-more": "The hello has more features and more members."
        => defect().on_hello(|hello| {
            hello["features"]["aec"] = json!(true);
            hello["features"]["glyph_push"] = json!(true);
            hello["text_font"] = json!({"size": 20, "bpp": 1});
        });
    "no-audio-channel":
        "Over MQTT the device opens no audio channel: nobody presses its button."
        => defect().setup(|device| device.identity_mut().opens_channel = false);
    "audio-channel-once":
        "Over MQTT the device opens an audio channel after boot and never again."
        => defect().disconnected(|hands| hands.device.identity_mut().opens_channel = false);
    "console-silent": "The console shows nothing." => unprinted(|_| true);
    "console-without-mcp": "The console shows no lines about MCP."
        => unprinted(|line| line.contains(" MCP: "));
    "console-late":
        "The console is attached late: the first lines of each boot are missing, including some tools." => {
        let mut tools = 0;
        unprinted(move |line| match line {
            line if line.starts_with("ESP-ROM:") => {
                tools = 0;
                true
            }
            line if line.contains(" MCP: Add tool: ") => {
                tools += 1;
                tools <= 5
            }
            _ => tools == 0,
        })
    };
    "console-tool-late":
        "A tool is added at the end of the boot, and added again, which changes nothing." => {
        let mut late = None;
        defect().console(move |line| {
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
    };
    "memory-wobbles": "Free memory goes up and down, and falls when something is loaded."
        => heartbeat(|_, _, count| {
            let loaded = if count > 200 { 24_000 } else { 0 };
            loaded + count * 7919 % 6000
        });
    "console-of-two": "A second chip writes to the console, with a clock of its own." => {
        let mut lines = 0;
        defect().console(move |line| {
            lines += 1;
            if line.starts_with("I (") && lines % 20 == 0 {
                *line = format!("{line}\nI ({lines}) coprocessor: awake");
            }
            Flow::Pass
        })
    };
    "console-clock-still": "A part of the firmware writes log lines of its own, all with the same time." => {
        let mut lines = 0;
        defect().console(move |line| {
            lines += 1;
            if line.starts_with("I (") && lines % 20 == 0 {
                let own = "I (123) app: step";
                *line = format!("{line}\n{own} 1\n{own} 2\n{own} 3\n{own} 4");
            }
            Flow::Pass
        })
    };
    "console-coloured": "The lines of the console are coloured, as by older versions."
        => defect().console(|line| {
            *line = format!("\u{1b}[0;32m{line}\u{1b}[0m");
            Flow::Pass
        });
};

/// Does something before each answer, which the hook is told the number of.
fn before_answers(mut act: impl FnMut(&mut Hands, u64) + 'static) -> Defect {
    let mut count = 0;
    defect().on_answer_text(move |_, text, hands| {
        count += 1;
        act(hands, count);
        hands.send(core::mem::take(text));
        Flow::Drop
    })
}
