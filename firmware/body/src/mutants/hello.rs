//! Defects of the handshake: headers and the device's hello.

use serde_json::json;

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::Flow;
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("hello-missing", "The device never says hello.", || {
        Defect::default().on_message(|kind, _, _| {
            if kind == "hello" {
                Flow::Drop
            } else {
                Flow::Pass
            }
        })
    }),
    mutant(
        "hello-second",
        "The device reports its wake word before it says hello.",
        || {
            Defect::default().on_message(|kind, hello, hands| {
                if kind != "hello" {
                    return Flow::Pass;
                }
                hands.send(r#"{"session_id":"","type":"listen","state":"detect","text":"hi"}"#);
                hands.send(hello.to_string());
                Flow::Drop
            })
        },
    ),
    mutant(
        "hello-twice",
        "The device says hello twice on one connection.",
        || {
            Defect::default().on_message(|kind, hello, hands| {
                if kind == "hello" {
                    hands.send(hello.to_string());
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "hello-late-again",
        "The device repeats its hello when it has been greeted.",
        || {
            Defect::default().on_message(|kind, _, hands| {
            if kind == "listen" {
                hands.send(
                    r#"{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}"#,
                );
            }
            Flow::Pass
        })
        },
    ),
    mutant(
        "hello-version-string",
        "The version in the hello is a string.",
        || Defect::default().on_hello(|hello| hello["version"] = json!("1")),
    ),
    mutant("hello-version-missing", "The hello has no version.", || {
        without("version")
    }),
    mutant(
        "hello-version-fraction",
        "The version in the hello is 1.5.",
        || Defect::default().on_hello(|hello| hello["version"] = json!(1.5)),
    ),
    mutant(
        "hello-version-four",
        "The version in the hello is 4, which does not exist.",
        || Defect::default().on_hello(|hello| hello["version"] = json!(4)),
    ),
    mutant(
        "hello-version-differs",
        "The hello says version 3 and the header says 1.",
        || Defect::default().on_hello(|hello| hello["version"] = json!(3)),
    ),
    mutant(
        "hello-transport-udp",
        "The hello on a WebSocket names the transport of MQTT.",
        || Defect::default().on_hello(|hello| hello["transport"] = json!("udp")),
    ),
    mutant(
        "hello-transport-missing",
        "The hello names no transport.",
        || without("transport"),
    ),
    mutant("hello-mcp-missing", "The hello has no features.", || {
        without("features")
    }),
    mutant("hello-mcp-false", "The hello denies MCP.", || {
        Defect::default().on_hello(|hello| hello["features"]["mcp"] = json!(false))
    }),
    mutant(
        "hello-mcp-string",
        "The hello says \"true\" instead of true.",
        || Defect::default().on_hello(|hello| hello["features"]["mcp"] = json!("true")),
    ),
    mutant(
        "hello-audio-missing",
        "The hello has no audio parameters.",
        || without("audio_params"),
    ),
    mutant(
        "hello-audio-rate-string",
        "The sample rate in the hello is a string.",
        || {
            Defect::default()
                .on_hello(|hello| hello["audio_params"]["sample_rate"] = json!("16000"))
        },
    ),
    mutant(
        "hello-audio-channels-zero",
        "The hello announces sound without channels.",
        || Defect::default().on_hello(|hello| hello["audio_params"]["channels"] = json!(0)),
    ),
    mutant(
        "hello-audio-format-missing",
        "The hello does not tell the audio format.",
        || {
            Defect::default().on_hello(|hello| {
                if let Some(audio) = hello["audio_params"].as_object_mut() {
                    audio.remove("format");
                }
            })
        },
    ),
    mutant(
        "header-authorization-missing",
        "The handshake carries no token.",
        || without_header("Authorization"),
    ),
    mutant(
        "header-authorization-bare",
        "The handshake carries the token without the word Bearer.",
        || {
            header("Authorization", |value| {
                value.trim_start_matches("Bearer ").to_string()
            })
        },
    ),
    mutant(
        "header-authorization-cut",
        "The token is cut to 8 bytes.",
        || {
            header("Authorization", |value| {
                value.chars().take("Bearer ".len() + 8).collect()
            })
        },
    ),
    mutant(
        "header-protocol-version-missing",
        "The handshake tells no protocol version.",
        || without_header("Protocol-Version"),
    ),
    mutant(
        "header-protocol-version-word",
        "The protocol version in the handshake is `v1`.",
        || header("Protocol-Version", |_| "v1".to_string()),
    ),
    mutant(
        "header-device-id-missing",
        "The handshake does not tell the device.",
        || without_header("Device-Id"),
    ),
    mutant(
        "header-device-id-empty",
        "The device id in the handshake is empty.",
        || header("Device-Id", |_| String::new()),
    ),
    mutant(
        "header-device-id-serial",
        "The device id is a serial number instead of a MAC address.",
        || header("Device-Id", |_| "SN-2024-000017".to_string()),
    ),
    mutant(
        "header-device-id-dashes",
        "The MAC address is written with dashes.",
        || header("Device-Id", |value| value.replace(':', "-")),
    ),
    mutant(
        "header-client-id-missing",
        "The handshake does not tell the client id.",
        || without_header("Client-Id"),
    ),
    mutant(
        "header-client-id-empty",
        "The client id in the handshake is empty.",
        || header("Client-Id", |_| String::new()),
    ),
    mutant(
        "header-client-id-name",
        "The client id is a name instead of a UUID.",
        || header("Client-Id", |_| "living-room".to_string()),
    ),
];

/// The hello without one of its members.
fn without(member: &'static str) -> Defect {
    Defect::default().on_hello(move |hello| {
        hello.as_object_mut().map(|hello| hello.remove(member));
    })
}

fn without_header(name: &'static str) -> Defect {
    Defect::default().headers(move |headers| headers.retain(|(known, _)| *known != name))
}

fn header(name: &'static str, change: fn(&str) -> String) -> Defect {
    Defect::default().headers(move |headers| {
        for (_, value) in headers.iter_mut().filter(|(known, _)| *known == name) {
            *value = change(value);
        }
    })
}
