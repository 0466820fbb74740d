//! Defects of the request for the configuration, which every boot begins with.

use reference_device::{HttpRequest, Purpose};

use crate::rows::prelude::*;

/// The MAC address of another interface.
const OTHER_MAC: &str = "02:00:00:4d:43:51";

pub(super) const MUTANTS: &[Row] = rows! {
    "bootstrap-get": "The configuration is requested with GET."
        => requests(|request| {
            request.method = "GET";
            request.body.clear();
        });
    "bootstrap-put": "The configuration is requested with PUT."
        => requests(|request| request.method = "PUT");
    "bootstrap-device-id-missing": "The request for the configuration has no Device-Id."
        => without_header("Device-Id");
    "bootstrap-device-id-serial":
        "Device-Id in the request for the configuration is a serial number."
        => header("Device-Id", "SN-2024-000017");
    "bootstrap-client-id-missing": "The request for the configuration has no Client-Id."
        => without_header("Client-Id");
    "bootstrap-client-id-empty": "Client-Id in the request for the configuration is empty."
        => header("Client-Id", "");
    "bootstrap-body-array": "The description of the device is an array."
        => body(|body| *body = json!([body.take()]));
    "bootstrap-body-cut": "The description of the device lacks its last brace."
        => requests(|request| request.body.truncate(request.body.len().saturating_sub(1)));
    "bootstrap-content-type-missing": "The request for the configuration has no Content-Type."
        => without_header("Content-Type");
    "bootstrap-content-type-text":
        "Content-Type of the request for the configuration is text/plain."
        => header("Content-Type", "text/plain");
    "bootstrap-user-agent-missing": "The request for the configuration has no User-Agent."
        => without_header("User-Agent");
    "bootstrap-activation-version-missing":
        "The request for the configuration has no Activation-Version."
        => without_header("Activation-Version");
    "bootstrap-accept-language-missing": "The request for the configuration has no Accept-Language."
        => without_header("Accept-Language");
    "bootstrap-mac-other": "mac_address is that of the access point interface."
        => body(|body| body["mac_address"] = json!(OTHER_MAC));
    "bootstrap-mac-missing": "The description of the device has no mac_address."
        => without("mac_address");
    "bootstrap-uuid-other": "uuid is generated anew for the description."
        => body(|body| body["uuid"] = json!("0b5c7a52-0000-4000-8000-000000000002"));
    "bootstrap-uuid-missing": "The description of the device has no uuid." => without("uuid");
    "bootstrap-application-missing": "The description of the device has no application."
        => without("application");
    "bootstrap-application-name-empty": "The name of the application is empty."
        => body(|body| body["application"]["name"] = json!(""));
    "bootstrap-application-version-number": "The version of the application is a number."
        => body(|body| body["application"]["version"] = json!(2.4));
    "bootstrap-board-missing": "The description of the device has no board." => without("board");
    "bootstrap-board-type-number": "The type of the board is a number."
        => body(|body| body["board"]["type"] = json!(17));
    "bootstrap-chip-missing": "The description of the device has no chip_model_name."
        => without("chip_model_name");
    "bootstrap-chip-number": "chip_model_name is a number."
        => body(|body| body["chip_model_name"] = json!(9));
    "bootstrap-format-string": "The version of the description is a string."
        => body(|body| body["version"] = json!("2"));
    "bootstrap-format-one": "The version of the description is 1."
        => body(|body| body["version"] = json!(1));
    "bootstrap-partitions-object": "The partition table is an object."
        => body(|body| body["partition_table"] = json!({"nvs": {"address": 36864}}));
    "bootstrap-partition-without-address": "The first partition has no address."
        => body(|body| remove(&mut body["partition_table"][0], "address"));
    "bootstrap-partition-size-text": "The sizes of partitions are hexadecimal strings."
        => body(|body| body["partition_table"][1]["size"] = json!("0x3f0000"));
    "bootstrap-other-device":
        "The WebSocket handshake has a different Device-Id than the request for the configuration."
        => defect()
            .headers(|headers| each_header(headers, "Device-Id", |id| *id = OTHER_MAC.into()));
    "bootstrap-other-client":
        "The WebSocket handshake has a different Client-Id than the request for the configuration."
        => defect().headers(|headers| each_header(headers, "Client-Id", |id| {
            *id = "0b5c7a52-0000-4000-8000-000000000003".into();
        }));
    "bootstrap-user-agent-bare": "User-Agent names the board without a version."
        => header("User-Agent", "bread-compact-wifi");
    "bootstrap-user-agent-versionless": "User-Agent ends with the slash before the version."
        => header("User-Agent", "bread-compact-wifi/");
    "bootstrap-activation-2-without-serial":
        "Activation-Version is 2, and the device has no serial number."
        => header("Activation-Version", "2");
    "bootstrap-other-version":
        "serverInfo has a different version than the request for the configuration."
        => defect()
            .on_result("initialize", |_, info| info["serverInfo"]["version"] = json!("9.9.9"));
};

/// Changes the request.
fn requests(mut change: impl FnMut(&mut HttpRequest) + 'static) -> Defect {
    defect().http(Purpose::Configuration, move |request| {
        change(request);
        Flow::Pass
    })
}

fn header(name: &'static str, value: &'static str) -> Defect {
    requests(move |request| each_header(&mut request.headers, name, |sent| *sent = value.into()))
}

fn without_header(name: &'static str) -> Defect {
    requests(move |request| request.headers.retain(|(known, _)| *known != name))
}

/// Changes the description of the device.
fn body(change: impl Fn(&mut Value) + 'static) -> Defect {
    requests(move |request| {
        if let Ok(mut body) = serde_json::from_slice(&request.body) {
            change(&mut body);
            request.body = body.to_string().into_bytes();
        }
    })
}

fn without(member: &'static str) -> Defect {
    body(move |body| remove(body, member))
}
