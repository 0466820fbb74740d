//! Defects of the request for the configuration, which every boot begins with.

use reference_device::Purpose;
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::Flow;
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "bootstrap-get",
        "The configuration is asked for with GET.",
        || {
            Defect::default().http(Purpose::Configuration, |request| {
                request.method = "GET";
                request.body.clear();
                Flow::Pass
            })
        },
    ),
    mutant(
        "bootstrap-put",
        "The configuration is asked for with PUT.",
        || {
            Defect::default().http(Purpose::Configuration, |request| {
                request.method = "PUT";
                Flow::Pass
            })
        },
    ),
    mutant(
        "bootstrap-device-id-missing",
        "The request for the configuration has no Device-Id.",
        || without_header("Device-Id"),
    ),
    mutant(
        "bootstrap-device-id-serial",
        "Device-Id in the request for the configuration is a serial number.",
        || header("Device-Id", "SN-2024-000017"),
    ),
    mutant(
        "bootstrap-client-id-missing",
        "The request for the configuration has no Client-Id.",
        || without_header("Client-Id"),
    ),
    mutant(
        "bootstrap-client-id-empty",
        "Client-Id in the request for the configuration is empty.",
        || header("Client-Id", ""),
    ),
    mutant(
        "bootstrap-body-array",
        "The description of the device is an array.",
        || body(|body| *body = json!([body.take()])),
    ),
    mutant(
        "bootstrap-body-cut",
        "The description of the device lacks its last brace.",
        || {
            Defect::default().http(Purpose::Configuration, |request| {
                request.body.pop();
                Flow::Pass
            })
        },
    ),
    mutant(
        "bootstrap-content-type-missing",
        "The request for the configuration has no Content-Type.",
        || without_header("Content-Type"),
    ),
    mutant(
        "bootstrap-content-type-text",
        "Content-Type of the request for the configuration is text/plain.",
        || header("Content-Type", "text/plain"),
    ),
    mutant(
        "bootstrap-user-agent-missing",
        "The request for the configuration has no User-Agent.",
        || without_header("User-Agent"),
    ),
    mutant(
        "bootstrap-activation-version-missing",
        "The request for the configuration has no Activation-Version.",
        || without_header("Activation-Version"),
    ),
    mutant(
        "bootstrap-accept-language-missing",
        "The request for the configuration has no Accept-Language.",
        || without_header("Accept-Language"),
    ),
    mutant(
        "bootstrap-mac-other",
        "mac_address is that of the access point interface.",
        || body(|body| body["mac_address"] = json!("02:00:00:4d:43:51")),
    ),
    mutant(
        "bootstrap-mac-missing",
        "The description of the device has no mac_address.",
        || without("mac_address"),
    ),
    mutant(
        "bootstrap-uuid-other",
        "uuid is made anew for the description.",
        || body(|body| body["uuid"] = json!("0b5c7a52-0000-4000-8000-000000000002")),
    ),
    mutant(
        "bootstrap-uuid-missing",
        "The description of the device has no uuid.",
        || without("uuid"),
    ),
    mutant(
        "bootstrap-application-missing",
        "The description of the device has no application.",
        || without("application"),
    ),
    mutant(
        "bootstrap-application-name-empty",
        "The name of the application is empty.",
        || body(|body| body["application"]["name"] = json!("")),
    ),
    mutant(
        "bootstrap-application-version-number",
        "The version of the application is a number.",
        || body(|body| body["application"]["version"] = json!(2.4)),
    ),
    mutant(
        "bootstrap-board-missing",
        "The description of the device has no board.",
        || without("board"),
    ),
    mutant(
        "bootstrap-board-type-number",
        "The type of the board is a number.",
        || body(|body| body["board"]["type"] = json!(17)),
    ),
    mutant(
        "bootstrap-chip-missing",
        "The description of the device has no chip_model_name.",
        || without("chip_model_name"),
    ),
    mutant(
        "bootstrap-chip-number",
        "chip_model_name is a number.",
        || body(|body| body["chip_model_name"] = json!(9)),
    ),
    mutant(
        "bootstrap-format-string",
        "The version of the description is a string.",
        || body(|body| body["version"] = json!("2")),
    ),
    mutant(
        "bootstrap-format-one",
        "The version of the description is 1.",
        || body(|body| body["version"] = json!(1)),
    ),
    mutant(
        "bootstrap-partitions-object",
        "The partition table is an object.",
        || body(|body| body["partition_table"] = json!({"nvs": {"address": 36864}})),
    ),
    mutant(
        "bootstrap-partition-without-address",
        "The first partition has no address.",
        || {
            body(|body| {
                if let Some(first) = body["partition_table"][0].as_object_mut() {
                    first.remove("address");
                }
            })
        },
    ),
    mutant(
        "bootstrap-partition-size-text",
        "The sizes of partitions are hexadecimal strings.",
        || body(|body| body["partition_table"][1]["size"] = json!("0x3f0000")),
    ),
    mutant(
        "bootstrap-other-device",
        "The WebSocket handshake tells another Device-Id than the request for the configuration.",
        || {
            Defect::default().headers(|headers| {
                for (_, value) in headers.iter_mut().filter(|(name, _)| *name == "Device-Id") {
                    *value = "02:00:00:4d:43:51".to_string();
                }
            })
        },
    ),
    mutant(
        "bootstrap-other-version",
        "serverInfo tells another version than the request for the configuration.",
        || {
            Defect::default().on_result("initialize", |_, result| {
                result["serverInfo"]["version"] = json!("9.9.9");
            })
        },
    ),
];

fn header(name: &'static str, value: &'static str) -> Defect {
    Defect::default().http(Purpose::Configuration, move |request| {
        for (known, sent) in &mut request.headers {
            if *known == name {
                *sent = value.to_string();
            }
        }
        Flow::Pass
    })
}

fn without_header(name: &'static str) -> Defect {
    Defect::default().http(Purpose::Configuration, move |request| {
        request.headers.retain(|(known, _)| *known != name);
        Flow::Pass
    })
}

fn body(change: fn(&mut Value)) -> Defect {
    edit(change)
}

fn without(member: &'static str) -> Defect {
    edit(move |body| {
        body.as_object_mut().map(|body| body.remove(member));
    })
}

fn edit(change: impl Fn(&mut Value) + 'static) -> Defect {
    Defect::default().http(Purpose::Configuration, move |request| {
        if let Ok(mut body) = serde_json::from_slice(&request.body) {
            change(&mut body);
            request.body = body.to_string().into_bytes();
        }
        Flow::Pass
    })
}
