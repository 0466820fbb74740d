//! Defects of the connection to the broker: CONNECT, PUBLISH, acknowledgements, signs of life.

use alloc::rc::Rc;
use core::cell::Cell;

use serde_json::json;

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow};
use crate::platform::{ConnectPlan, Publication, Tamper};
use crate::prelude::*;

/// Packet types (MQTT 3.1.1 section 2.2.1).
const PUBLISH: u8 = 3;
const PUBACK: u8 = 4;

/// A CONNECT packet of the client `again`, with a keep-alive of 10 s and a clean session.
const OTHER_CONNECT: &[u8] = b"\x10\x11\x00\x04MQTT\x04\x02\x00\x0a\x00\x05again";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "mqtt-client-id-own",
        "The device connects with a client id of its own making.",
        || plan(|plan| plan.settings.client_id = "ESP32_4D4350".to_string()),
    ),
    mutant(
        "mqtt-client-id-cut",
        "The client id loses its last character.",
        || plan(|plan| cut(&mut plan.settings.client_id)),
    ),
    mutant(
        "mqtt-client-id-counts",
        "Every connection after the first has another client id.",
        || {
            let mut connections = 0;
            Defect::default().plan(move |plan| {
                if connections > 0 {
                    plan.settings.client_id.push_str(&connections.to_string());
                }
                connections += 1;
            })
        },
    ),
    mutant(
        "mqtt-credentials-missing",
        "The device connects without user name and password.",
        || plan(|plan| plan.settings.username.clear()),
    ),
    mutant(
        "mqtt-password-cut",
        "The password loses its last character.",
        || plan(|plan| cut(&mut plan.settings.password)),
    ),
    mutant(
        "mqtt-credentials-swapped",
        "User name and password change places.",
        || {
            plan(|plan| {
                let settings = &mut plan.settings;
                core::mem::swap(&mut settings.username, &mut settings.password);
            })
        },
    ),
    mutant(
        "mqtt-topic-slash",
        "Everything is published under the topic with a slash before it.",
        || publication(|publication| publication.topic.insert(0, '/')),
    ),
    mutant(
        "mqtt-topic-of-errors",
        "Errors are published under a topic of their own.",
        || {
            publication(|publication| {
                if contains(&publication.payload, b"\"error\":{") {
                    publication.topic.push_str("/errors");
                }
            })
        },
    ),
    mutant(
        "mqtt-topic-forgotten",
        "After a new connection messages go to the topic `default`.",
        || {
            let again = Rc::new(Cell::new(false));
            let is_again = Rc::clone(&again);
            Defect::default()
                .publication(move |publication| {
                    if is_again.get() {
                        publication.topic = "default".to_string();
                    }
                })
                .disconnected(move |_| again.set(true))
        },
    ),
    mutant("mqtt-qos-1", "Everything is published with QoS 1.", || {
        publication(|publication| publication.qos = 1)
    }),
    mutant("mqtt-qos-2", "Everything is published with QoS 2.", || {
        publication(|publication| publication.qos = 2)
    }),
    mutant(
        "mqtt-retain",
        "The broker is asked to retain every message.",
        || publication(|publication| publication.retain = true),
    ),
    mutant(
        "mqtt-retain-answers",
        "The broker is asked to retain answers, but not the hello.",
        || {
            publication(|publication| {
                publication.retain = contains(&publication.payload, b"\"result\":");
            })
        },
    ),
    mutant(
        "mqtt-packet-qos-3",
        "The first answer has both QoS bits set.",
        || {
            tampered(|_, packet| {
                let mut bytes = packet.to_vec();
                if is_first_answer(packet) {
                    bytes[0] |= 0x06;
                }
                bytes
            })
        },
    ),
    mutant(
        "mqtt-packet-topic-length",
        "In the first answer the length of the topic exceeds the packet.",
        || {
            tampered(|_, packet| {
                let mut bytes = packet.to_vec();
                if is_first_answer(packet) {
                    let header = 1 + bytes[1..].iter().take_while(|byte| **byte >= 0x80).count();
                    bytes[header + 1..header + 3].fill(0xff);
                }
                bytes
            })
        },
    ),
    mutant(
        "mqtt-packet-reserved-type",
        "A packet of the reserved type 0 follows CONNECT.",
        || tampered(|number, packet| followed_by(number == 1, packet, &[0x00, 0x00])),
    ),
    mutant(
        "mqtt-connect-twice",
        "A second CONNECT follows on the same connection.",
        || tampered(|number, packet| followed_by(number == 1, packet, OTHER_CONNECT)),
    ),
    mutant("mqtt-ping-never", "The device never sends PINGREQ.", || {
        plan(|plan| plan.ping_at_percent = None)
    }),
    mutant(
        "mqtt-ping-late",
        "PINGREQ is sent after five keep-alive intervals.",
        || plan(|plan| plan.ping_at_percent = Some(500)),
    ),
    mutant(
        "mqtt-keep-alive-ignored",
        "The keep-alive interval of the configuration is ignored; it is always 240 s.",
        || plan(|plan| plan.settings.keep_alive_s = 240),
    ),
    mutant(
        "mqtt-puback-never",
        "Messages with QoS 1 are not acknowledged.",
        || plan(|plan| plan.acknowledges = false),
    ),
    mutant(
        "mqtt-puback-other-id",
        "Messages with QoS 1 are acknowledged with the id 1 higher.",
        || {
            tampered(|_, packet| {
                let mut bytes = packet.to_vec();
                if packet[0] >> 4 == PUBACK {
                    let id = u16::from_be_bytes([packet[2], packet[3]]).wrapping_add(1);
                    bytes[2..4].copy_from_slice(&id.max(1).to_be_bytes());
                }
                bytes
            })
        },
    ),
    mutant(
        "mqtt-qos1-ignored",
        "Messages with QoS 1 are acknowledged and not read.",
        || plan(|plan| plan.reads_qos1 = false),
    ),
    mutant(
        "mqtt-list-too-large",
        "Over MQTT the answers to tools/list exceed 8192 bytes.",
        || {
            Defect::default().on_answer(|cause, payload, hands| {
                if hands.over_mqtt()
                    && cause.method() == "tools/list"
                    && let Some(result) = payload.get_mut("result")
                {
                    result["_padding"] = json!("x".repeat(8192));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "mqtt-answer-too-large",
        "Over MQTT the status carries 9000 bytes of history.",
        || {
            Defect::default().on_answer(|cause, payload, hands| {
                if hands.over_mqtt()
                    && cause.tool() == "self.get_device_status"
                    && let Some(result) = payload.get_mut("result")
                {
                    result["_history"] = json!("x".repeat(9000));
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "mqtt-no-reconnect",
        "When the broker drops the connection the device does not connect again.",
        || {
            Defect::default().disconnected(|hands| {
                if hands.over_mqtt() {
                    hands.act(Act::Exit);
                }
            })
        },
    ),
    mutant(
        "mqtt-payload-nul",
        "Over MQTT every message ends with a NUL byte.",
        || publication(|publication| publication.payload.push(0)),
    ),
    mutant(
        "mqtt-hello-transport",
        "The hello over MQTT names the transport of WebSocket.",
        || {
            Defect::default().on_message(|kind, hello, hands| {
                if kind == "hello" && hands.over_mqtt() {
                    hello["transport"] = json!("websocket");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "mqtt-hello-version-1",
        "The version in the hello over MQTT is 1.",
        || {
            Defect::default().on_message(|kind, hello, hands| {
                if kind == "hello" && hands.over_mqtt() {
                    hello["version"] = json!(1);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "mqtt-hello-without-mcp",
        "The hello over MQTT has no features.",
        || {
            Defect::default().on_message(|kind, hello, hands| {
                if kind == "hello" && hands.over_mqtt() {
                    hello.as_object_mut().map(|hello| hello.remove("features"));
                }
                Flow::Pass
            })
        },
    ),
];

fn plan(hook: fn(&mut ConnectPlan)) -> Defect {
    Defect::default().plan(hook)
}

fn publication(hook: fn(&mut Publication)) -> Defect {
    Defect::default().publication(hook)
}

fn tampered(tamper: Tamper) -> Defect {
    Defect::default().plan(move |plan| plan.tamper = Some(tamper))
}

fn cut(text: &mut String) {
    text.pop();
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn followed_by(is_now: bool, packet: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    if is_now {
        bytes.extend_from_slice(other);
    }
    bytes
}

/// The first answer of a session, which is the one to `initialize`.
fn is_first_answer(packet: &[u8]) -> bool {
    packet[0] >> 4 == PUBLISH && contains(packet, b"\"protocolVersion\":")
}
