//! Defects that show only when both transports are asked: the same request, another answer.

use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "transport-error-code",
        "Over MQTT an unknown tool has the error code -32601.",
        || {
            over_mqtt(|cause, payload| {
                if let Some(code) = payload.pointer_mut("/error/code")
                    && cause.method() == "tools/call"
                    && *code == -32602
                {
                    *code = json!(-32601);
                }
            })
        },
    ),
    mutant(
        "transport-error-message",
        "Over MQTT errors say only that something went wrong.",
        || {
            over_mqtt(|_, payload| {
                if let Some(error) = payload.get_mut("error") {
                    error["message"] = json!("Error");
                }
            })
        },
    ),
    mutant(
        "transport-tool-missing",
        "Over MQTT self.robot.home is not listed.",
        || {
            over_mqtt(|_, payload| {
                if let Some(Value::Array(tools)) = payload.pointer_mut("/result/tools") {
                    tools.retain(|tool| tool["name"] != "self.robot.home");
                }
            })
        },
    ),
    mutant(
        "transport-description",
        "Over MQTT the descriptions of tools are cut to 40 characters.",
        || {
            over_mqtt(|_, payload| {
                for tool in tools_of(payload) {
                    let text = tool["description"].as_str().unwrap_or_default();
                    tool["description"] = json!(text.chars().take(40).collect::<String>());
                }
            })
        },
    ),
    mutant(
        "transport-bounds",
        "Over MQTT the upper bound of the volume is listed as 99.",
        || {
            over_mqtt(|_, payload| {
                for tool in tools_of(payload) {
                    if tool["name"] == "self.audio_speaker.set_volume" {
                        tool["inputSchema"]["properties"]["volume"]["maximum"] = json!(99);
                    }
                }
            })
        },
    ),
    mutant(
        "transport-volume",
        "Over MQTT set_volume sets half of what was asked for.",
        || {
            Defect::default().on_call(|params, hands| {
                if hands.over_mqtt()
                    && params["name"] == "self.audio_speaker.set_volume"
                    && let Some(volume) = params["arguments"]["volume"].as_i64()
                    && (0..=100).contains(&volume)
                {
                    params["arguments"]["volume"] = json!(volume / 2);
                }
            })
        },
    ),
    mutant(
        "transport-server-info",
        "Over MQTT the device has another name.",
        || {
            over_mqtt(|cause, payload| {
                if cause.method() == "initialize"
                    && let Some(name) = payload.pointer_mut("/result/serverInfo/name")
                {
                    *name = json!("mcp-hil-reference-mqtt");
                }
            })
        },
    ),
    mutant(
        "transport-status-member",
        "Over MQTT the status lacks the battery.",
        || {
            over_mqtt(|cause, payload| {
                if cause.tool() == "self.get_device_status"
                    && let Some(text) = payload.pointer_mut("/result/content/0/text")
                    && let Ok(Value::Object(mut status)) =
                        serde_json::from_str(text.as_str().unwrap_or_default())
                {
                    status.remove("battery");
                    *text = json!(Value::Object(status).to_string());
                }
            })
        },
    ),
    mutant(
        "transport-is-error",
        "Over MQTT results have no isError.",
        || {
            over_mqtt(|_, payload| {
                if let Some(Value::Object(result)) = payload.get_mut("result") {
                    result.remove("isError");
                }
            })
        },
    ),
];

/// The tools of a page, none in other answers.
fn tools_of(payload: &mut Value) -> impl Iterator<Item = &mut Value> {
    let tools = payload.pointer_mut("/result/tools");
    tools.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Changes the payloads of answers over MQTT.
fn over_mqtt(change: fn(&Request, &mut Value)) -> Defect {
    Defect::default().on_answer(move |cause, payload, hands| {
        if hands.over_mqtt() {
            change(cause, payload);
        }
        Flow::Pass
    })
}
