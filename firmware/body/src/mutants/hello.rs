//! Defects of the handshake: headers and the device's hello.

use crate::rows::prelude::*;

/// A hello that the device did not write, but could have.
const AGAIN: &str = concat!(
    r#"{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","#,
    r#""audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}"#,
);

pub(super) const MUTANTS: &[Row] = rows! {
    "hello-missing": "The device never sends hello."
        => defect().on_message(|kind, _, _| drop_if(kind == "hello"));
    "hello-second": "The device reports its wake word before it sends hello."
        => defect().on_message(|kind, hello, hands| {
            if kind != "hello" {
                return Flow::Pass;
            }
            hands.send(r#"{"session_id":"","type":"listen","state":"detect","text":"hi"}"#);
            hands.send(hello.to_string());
            Flow::Drop
        });
    "hello-twice": "The device sends hello twice on one connection."
        => messages("hello", |hello, hands| hands.send(hello.to_string()));
    "hello-late-again": "The device repeats its hello after the server's hello."
        => messages("listen", |_, hands| hands.send(AGAIN));
    "hello-version-string": "The version in the hello is a string."
        => defect().on_hello(|hello| hello["version"] = json!("1"));
    "hello-version-missing": "The hello has no version." => without("version");
    "hello-version-fraction": "The version in the hello is 1.5."
        => defect().on_hello(|hello| hello["version"] = json!(1.5));
    "hello-version-four": "The version in the hello is 4, which does not exist."
        => defect().on_hello(|hello| hello["version"] = json!(4));
    "hello-version-differs": "The hello says version 3 and the header says 1."
        => defect().on_hello(|hello| hello["version"] = json!(3));
    "hello-transport-udp": "The hello on a WebSocket names the transport of MQTT."
        => defect().on_hello(|hello| hello["transport"] = json!("udp"));
    "hello-transport-missing": "The hello names no transport." => without("transport");
    "hello-mcp-missing": "The hello has no features." => without("features");
    "hello-mcp-false": "The hello denies MCP."
        => defect().on_hello(|hello| hello["features"]["mcp"] = json!(false));
    "hello-mcp-string": "The hello says \"true\" instead of true."
        => defect().on_hello(|hello| hello["features"]["mcp"] = json!("true"));
    "hello-audio-missing": "The hello has no audio parameters." => without("audio_params");
    "hello-audio-rate-string": "The sample rate in the hello is a string."
        => defect().on_hello(|hello| hello["audio_params"]["sample_rate"] = json!("16000"));
    "hello-audio-rate-odd": "The hello announces Opus with 44100 samples a second."
        => defect().on_hello(|hello| hello["audio_params"]["sample_rate"] = json!(44_100));
    "hello-audio-channels-zero": "The hello announces audio with no channels."
        => defect().on_hello(|hello| hello["audio_params"]["channels"] = json!(0));
    "hello-audio-format-missing": "The hello does not contain the audio format."
        => defect().on_hello(|hello| remove(&mut hello["audio_params"], "format"));
    "handshake-version-8": "The handshake asks for version 8 of the WebSocket protocol."
        => added_header("Sec-WebSocket-Version", "8");
    "handshake-upgrade-misspelt": "The handshake asks for an upgrade to `websockets`."
        => added_header("Upgrade", "websockets");
    "handshake-host-missing": "The handshake has no header Host." => link(|options| options.hostless = true);
    "handshake-post-unfinished": "The handshake begins with POST, and the empty line behind its headers never comes."
        => link(|options| options.unfinished = true);
    "handshake-path-lost": "The handshake asks for `/`, whatever path the URL has."
        => link(|options| options.pathless = true);
    "handshake-key-short": "The key of the handshake is 8 bytes."
        => added_header("Sec-WebSocket-Key", "bWNwLWhpbCE=");
    "handshake-extension-without-name": "The handshake offers an extension with a parameter that has no name."
        => added_header("Sec-WebSocket-Extensions", "permessage-deflate;;");
    "header-authorization-missing": "The handshake carries no token."
        => without_header("Authorization");
    "header-authorization-bare": "The handshake carries the token without the word Bearer."
        => header("Authorization", |value| value.trim_start_matches("Bearer ").to_string());
    "header-authorization-cut": "The token is truncated to 8 bytes."
        => header("Authorization", |value| value.chars().take("Bearer ".len() + 8).collect());
    "header-protocol-version-missing": "The handshake has no protocol version."
        => without_header("Protocol-Version");
    "header-protocol-version-word": "The protocol version in the handshake is `v1`."
        => header("Protocol-Version", |_| "v1".to_string());
    "header-device-id-missing": "The handshake has no device id."
        => without_header("Device-Id");
    "header-device-id-empty": "The device id in the handshake is empty."
        => header("Device-Id", |_| String::new());
    "header-device-id-serial": "The device id is a serial number instead of a MAC address."
        => header("Device-Id", |_| "SN-2024-000017".to_string());
    "header-device-id-dashes": "The MAC address is written with dashes."
        => header("Device-Id", |value| value.replace(':', "-"));
    "header-client-id-missing": "The handshake has no client id."
        => without_header("Client-Id");
    "header-client-id-empty": "The client id in the handshake is empty."
        => header("Client-Id", |_| String::new());
    "header-client-id-name": "The client id is a name instead of a UUID."
        => header("Client-Id", |_| "living-room".to_string());
};

fn without_header(name: &'static str) -> Defect {
    Defect::default().headers(move |headers| headers.retain(|(known, _)| *known != name))
}

fn header(name: &'static str, change: fn(&str) -> String) -> Defect {
    defect().headers(move |headers| each_header(headers, name, |value| *value = change(value)))
}

/// A header that takes the place of what the WebSocket library writes.
fn added_header(name: &'static str, value: &'static str) -> Defect {
    defect().headers(move |headers| headers.push((name, value.to_string())))
}

/// The hello without one of its members.
fn without(member: &'static str) -> Defect {
    defect().on_hello(move |hello| remove(hello, member))
}
