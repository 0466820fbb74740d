//! Defects that show only when both transports are asked: the same request, another answer.

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "transport-error-code": "Over MQTT an unknown tool has the error code -32601."
        => over_mqtt(|cause, payload| {
            if cause.method() == "tools/call" && payload["error"]["code"] == -32602 {
                payload["error"]["code"] = json!(-32601);
            }
        });
    "transport-error-message": "Over MQTT errors say only that something went wrong."
        => over_mqtt(|_, payload| if let Some(error) = payload.get_mut("error") {
            error["message"] = json!("Error");
        });
    "transport-tool-missing": "Over MQTT self.robot.home is not listed."
        => over_mqtt(|_, payload| {
            if let Some(Value::Array(tools)) = payload.pointer_mut("/result/tools") {
                tools.retain(|tool| tool["name"] != "self.robot.home");
            }
        });
    "transport-description": "Over MQTT the descriptions of tools are truncated to 40 characters."
        => each_tool(|tool| {
            let text = tool["description"].as_str().unwrap_or_default();
            tool["description"] = json!(text.chars().take(40).collect::<String>());
        });
    "transport-bounds": "Over MQTT the upper bound of the volume is listed as 99."
        => each_tool(|tool| if tool["name"] == SET {
            tool["inputSchema"]["properties"]["volume"]["maximum"] = json!(99);
        });
    "transport-volume": "Over MQTT set_volume sets half of what was requested."
        => defect().on_call(|params, hands| {
            if hands.over_mqtt()
                && params["name"] == SET
                && let Some(volume @ 0..=100) = params["arguments"]["volume"].as_i64()
            {
                params["arguments"]["volume"] = json!(volume / 2);
            }
        });
    "transport-server-info": "Over MQTT the device has a different name."
        => over_mqtt(|_, payload| {
            if let Some(name) = payload.pointer_mut("/result/serverInfo/name") {
                *name = json!("mcp-hil-reference-mqtt");
            }
        });
    "transport-status-member": "Over MQTT the status lacks the battery."
        => over_mqtt(|cause, payload| if cause.tool() == STATUS {
            edit_text(payload, |status| remove(status, "battery"));
        });
    "transport-is-error": "Over MQTT results have no isError."
        => over_mqtt(|_, payload| if let Some(result) = payload.get_mut("result") {
            remove(result, "isError");
        });
};

/// Edits the tools of each page over MQTT.
fn each_tool(edit: fn(&mut Value)) -> Defect {
    over_mqtt(move |_, payload| {
        let tools = payload.pointer_mut("/result/tools").and_then(Value::as_array_mut);
        tools.into_iter().flatten().for_each(edit);
    })
}
