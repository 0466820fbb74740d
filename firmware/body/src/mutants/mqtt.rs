//! Defects of the connection to the broker: CONNECT, PUBLISH, acknowledgements, signs of life.

use crate::platform::{ConnectPlan, Publication, Tamper};
use crate::rows::prelude::*;

/// Packet types (MQTT 3.1.1 section 2.2.1).
const PUBLISH: u8 = 3;
const PUBACK: u8 = 4;

/// The first byte of PINGREQ (MQTT 3.1.1 section 3.12).
const PINGREQ: u8 = 0xc0;

/// A CONNECT packet of the client `again`, with a keep-alive of 10 s and a clean session.
const OTHER_CONNECT: &[u8] = b"\x10\x11\x00\x04MQTT\x04\x02\x00\x0a\x00\x05again";

pub(super) const MUTANTS: &[Row] = rows! {
    "mqtt-client-id-own": "The device connects with a client id that it generated."
        => plan(|plan| plan.settings.client_id = "ESP32_4D4350".to_string());
    "mqtt-client-id-cut": "The client id loses its last character."
        => plan(|plan| cut(&mut plan.settings.client_id));
    "mqtt-client-id-counts": "Every connection after the first has a different client id." => {
        let mut connections = 0;
        defect().plan(move |plan| {
            if connections > 0 {
                plan.settings.client_id.push_str(&connections.to_string());
            }
            connections += 1;
        })
    };
    "mqtt-credentials-missing": "The device connects without user name and password."
        => plan(|plan| plan.settings.username.clear());
    "mqtt-password-cut": "The password loses its last character."
        => plan(|plan| cut(&mut plan.settings.password));
    "mqtt-credentials-swapped": "User name and password are swapped."
        => plan(|plan| core::mem::swap(&mut plan.settings.username, &mut plan.settings.password));
    "mqtt-topic-slash": "Everything is published under the topic with a slash before it."
        => publication(|publication| publication.topic.insert(0, '/'));
    "mqtt-topic-of-errors": "Errors are published under a separate topic."
        => publication(|publication| if contains(&publication.payload, b"\"error\":{") {
            publication.topic.push_str("/errors");
        });
    "mqtt-topic-forgotten": "After a new connection messages are published to the topic `default`." => {
        let [again, is_again] = shared(false);
        defect()
            .publication(move |publication| if is_again.get() {
                publication.topic = "default".to_string();
            })
            .disconnected(move |_| again.set(true))
    };
    "mqtt-qos-1": "Everything is published with QoS 1."
        => publication(|publication| publication.qos = 1);
    "mqtt-qos-2": "Everything is published with QoS 2."
        => publication(|publication| publication.qos = 2);
    "mqtt-retain": "The broker is asked to retain every message."
        => publication(|publication| publication.retain = true);
    "mqtt-retain-answers": "The broker is asked to retain answers, but not the hello."
        => publication(|sent| sent.retain = contains(&sent.payload, b"\"result\":"));
    "mqtt-packet-qos-3": "The first answer has both QoS bits set."
        => tampered(|_, packet| {
            let mut bytes = packet.to_vec();
            bytes[0] |= if is_first_answer(packet) { 0x06 } else { 0 };
            bytes
        });
    "mqtt-packet-topic-length": "In the first answer the length of the topic exceeds the packet."
        => tampered(|_, packet| {
            let mut bytes = packet.to_vec();
            if is_first_answer(packet) {
                let header = 1 + bytes[1..].iter().take_while(|byte| **byte >= 0x80).count();
                bytes[header + 1..header + 3].fill(0xff);
            }
            bytes
        });
    "mqtt-packet-reserved-type": "A packet of the reserved type 0 follows CONNECT."
        => tampered(|number, packet| followed_by(number == 1, packet, &[0x00, 0x00]));
    "mqtt-subscribe-id-zero": "SUBSCRIBE has the packet id 0."
        => tampered(|number, packet| followed_by(number == 1, packet, b"\x82\x06\0\0\0\x01a\0"));
    "mqtt-unsubscribe-id-zero": "UNSUBSCRIBE has the packet id 0."
        => tampered(|number, packet| followed_by(number == 1, packet, b"\xa2\x05\0\0\0\x01a"));
    "mqtt-dup-at-most-once": "Messages with QoS 0 have the flag of those that are sent again."
        => tampered(|_, packet| {
            let mut bytes = packet.to_vec();
            bytes[0] |= if packet[0] >> 4 == PUBLISH { 0x08 } else { 0 };
            bytes
        });
    "mqtt-connect-qos-without-will": "CONNECT has a QoS for a will, and no will."
        => tampered(|number, packet| {
            let mut bytes = packet.to_vec();
            bytes[9] |= if number == 0 { 0x08 } else { 0 };
            bytes
        });
    "mqtt-version-5": "CONNECT names version 5 of the protocol."
        => tampered(|number, packet| {
            let mut bytes = packet.to_vec();
            bytes[8] = if number == 0 { 5 } else { bytes[8] };
            bytes
        });
    "mqtt-level-of-another-name": "CONNECT names level 3, to which another name of the protocol belongs."
        => tampered(|number, packet| {
            let mut bytes = packet.to_vec();
            bytes[8] = if number == 0 { 3 } else { bytes[8] };
            bytes
        });
    "mqtt-ping-first": "PINGREQ is sent before CONNECT."
        => tampered(|number, packet| match number {
            0 => [&[PINGREQ, 0], packet].concat(),
            _ => packet.to_vec(),
        });
    "mqtt-connect-bits": "Reserved bits in the first byte of CONNECT are set."
        => tampered(|number, packet| {
            let mut bytes = packet.to_vec();
            bytes[0] |= if number == 0 { 0x02 } else { 0 };
            bytes
        });
    "mqtt-connect-will-qos-3": "CONNECT has a will with QoS 3."
        => tampered(|number, packet| connect(number, packet, |flags, client| {
            *flags |= 0x1c;
            client.extend(b"\0\x01w\0\x01x");
        }));
    "mqtt-connect-nameless": "CONNECT has an empty client id, and is to keep the session."
        => tampered(|number, packet| connect(number, packet, |flags, client| {
            *flags &= !0x02;
            *client = vec![0, 0];
        }));
    "mqtt-connect-too-long": "CONNECT has two bytes behind its last field."
        => tampered(|number, packet| match number {
            0 => sized(packet[0], &[body(packet), &[0, 0]].concat()),
            _ => packet.to_vec(),
        });
    "mqtt-subscribe-dup": "SUBSCRIBE has the bit of packets that are sent again."
        => tampered(|number, packet| followed_by(number == 1, packet, b"\x8a\x06\0\x01\0\x01a\0"));
    "mqtt-subscribe-wildcard": "SUBSCRIBE has a filter with a wildcard behind other characters."
        => tampered(|number, packet| {
            followed_by(number == 1, packet, b"\x82\x0d\0\x01\0\x08devices#\0")
        });
    "mqtt-subscribe-qos-bits": "SUBSCRIBE has a reserved bit beside the QoS that it asks for."
        => tampered(|number, packet| followed_by(number == 1, packet, b"\x82\x06\0\x01\0\x01a\x04"));
    "mqtt-dup-first": "Answers have QoS 1, and the flag of what is sent again when they are sent first."
        => publication(|publication| publication.qos = 1).plan(|plan| {
            plan.tamper = Some(|_, packet| {
                let mut bytes = packet.to_vec();
                let is_answer = packet[0] >> 4 == PUBLISH && contains(packet, b"\"result\":");
                bytes[0] |= if is_answer { 0x08 } else { 0 };
                bytes
            });
        });
    "mqtt-ping-too-long": "PINGREQ has a byte behind its header."
        => tampered(|_, packet| match packet {
            [PINGREQ, ..] => vec![PINGREQ, 1, 0],
            _ => packet.to_vec(),
        });
    "mqtt-connect-twice": "A second CONNECT follows on the same connection."
        => tampered(|number, packet| followed_by(number == 1, packet, OTHER_CONNECT));
    "mqtt-ping-never": "The device never sends PINGREQ."
        => plan(|plan| plan.ping_at_percent = None);
    "mqtt-ping-late": "PINGREQ is sent after five keep-alive intervals."
        => plan(|plan| plan.ping_at_percent = Some(500));
    "mqtt-keep-alive-ignored":
        "The keep-alive interval of the configuration is ignored; it is always 240 s."
        => plan(|plan| plan.settings.keep_alive_s = 240);
    "mqtt-puback-never": "Messages with QoS 1 are not acknowledged."
        => plan(|plan| plan.acknowledges = false);
    "mqtt-puback-other-id": "Messages with QoS 1 are acknowledged with an id that is 1 too high."
        => tampered(|_, packet| {
            let mut bytes = packet.to_vec();
            if packet[0] >> 4 == PUBACK {
                let id = u16::from_be_bytes([packet[2], packet[3]]).wrapping_add(1);
                bytes[2..4].copy_from_slice(&id.max(1).to_be_bytes());
            }
            bytes
        });
    "mqtt-puback-one-byte": "Messages with QoS 1 are acknowledged with the low byte of their id."
        => tampered(|_, packet| {
            let mut bytes = packet.to_vec();
            if packet[0] >> 4 == PUBACK {
                bytes[2] = 0;
            }
            bytes
        });
    "mqtt-puback-twice": "Messages with QoS 1 are acknowledged twice."
        => tampered(|_, packet| followed_by(packet[0] >> 4 == PUBACK, packet, packet));
    "mqtt-dup-ignored": "Messages with QoS 1 and the flag of what is sent again are acknowledged but not read."
        => plan(|plan| plan.reads_dup = false);
    "mqtt-qos1-ignored": "Messages with QoS 1 are acknowledged but not read."
        => plan(|plan| plan.reads_qos1 = false);
    "mqtt-list-too-large": "Over MQTT the answers to tools/list exceed 8192 bytes."
        => result_over_mqtt(
            |request| request.method() == "tools/list",
            |result| {
                result["_padding"] = json!("x".repeat(8192));
            },
        );
    "mqtt-answer-too-large": "Over MQTT the status carries 9000 bytes of history."
        => result_over_mqtt(
            |request| request.tool() == "self.get_device_status",
            |result| {
                result["_history"] = json!("x".repeat(9000));
            },
        );
    "mqtt-no-reconnect": "When the broker closes the connection, the device does not reconnect."
        => defect().disconnected(|hands| if hands.over_mqtt() { hands.act(Act::Exit); });
    "mqtt-payload-nul": "Over MQTT every message ends with a NUL byte."
        => publication(|publication| publication.payload.push(0));
    "mqtt-hello-transport": "The hello over MQTT names the transport of WebSocket."
        => hello(|hello| hello["transport"] = json!("websocket"));
    "mqtt-hello-version-1": "The version in the hello over MQTT is 1."
        => hello(|hello| hello["version"] = json!(1));
    "mqtt-hello-without-mcp": "The hello over MQTT has no features."
        => hello(|hello| remove(hello, "features"));
};

fn plan(hook: fn(&mut ConnectPlan)) -> Defect {
    Defect::default().plan(hook)
}

fn publication(hook: fn(&mut Publication)) -> Defect {
    Defect::default().publication(hook)
}

fn tampered(tamper: Tamper) -> Defect {
    Defect::default().plan(move |plan| plan.tamper = Some(tamper))
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

/// A packet of this body.
fn sized(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let mut length = body.len();
    while length > 0x7f {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(body);
    bytes
}

/// Edits the flags of CONNECT, and the client id with its length.
fn connect(number: u64, packet: &[u8], edit: fn(&mut u8, &mut Vec<u8>)) -> Vec<u8> {
    /// Where the flags are, and the client id begins.
    const FLAGS: usize = 7;
    const CLIENT: usize = 10;
    if number > 0 {
        return packet.to_vec();
    }
    let (mut head, rest) = (body(packet)[..CLIENT].to_vec(), &body(packet)[CLIENT..]);
    let (client, rest) = rest.split_at(2 + usize::from(u16::from_be_bytes([rest[0], rest[1]])));
    let mut client = client.to_vec();
    edit(&mut head[FLAGS], &mut client);
    sized(packet[0], &[&head, &client, rest].concat())
}

/// What is behind the length of a packet.
fn body(packet: &[u8]) -> &[u8] {
    let header = 2 + packet[1..].iter().take_while(|byte| **byte >= 0x80).count();
    &packet[header..]
}

/// The first answer of a session, which is the one to `initialize`.
fn is_first_answer(packet: &[u8]) -> bool {
    packet[0] >> 4 == PUBLISH && contains(packet, b"\"protocolVersion\":")
}

/// Edits the hello over MQTT.
fn hello(edit: fn(&mut Value)) -> Defect {
    messages("hello", move |hello, hands| {
        if hands.over_mqtt() {
            edit(hello);
        }
    })
}

/// Edits the results of some requests over MQTT.
fn result_over_mqtt(is_such: fn(&Request) -> bool, edit: fn(&mut Value)) -> Defect {
    over_mqtt(move |request, payload| {
        if is_such(request) {
            payload.get_mut("result").map(edit);
        }
    })
}
