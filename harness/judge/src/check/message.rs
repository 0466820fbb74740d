//! Checks on every message of a device: frame, envelope, JSON-RPC version, its own notifications.

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::{Map, Value};

use super::sink::{Sink, evidence};
use mcp_hil_core::wire::{Frame, Inbound, Payload};

/// Types of messages that devices of the family send by themselves (xiaozhi WebSocket, section 4).
pub(crate) const OWN_TYPES: [&str; 6] = ["hello", "listen", "abort", "mcp", "goodbye", "iot"];

/// What a first message is that has no envelope.
const BARE: &str =
    "bare JSON-RPC, as the client of an MCP endpoint sends it, which is no device of this protocol";

/// Whether it is a message of JSON-RPC as it is, without an envelope.
fn is_bare(envelope: &Map<String, Value>) -> bool {
    envelope.contains_key("jsonrpc") && !envelope.contains_key("type")
}

/// Judges a received frame as far as every text frame must obey. Who begins a connection with bare JSON-RPC is told
/// apart: that is what speaks to the MCP endpoint of a server, and does not mean to be a device.
pub(crate) fn judge_frame(
    seq: u64,
    frame: &Frame,
    inbound: &Inbound,
    is_first: bool,
    sink: &mut Sink,
) {
    let received = || frame.display();
    match inbound {
        Inbound::NotText => {}
        Inbound::JsonInBinary { .. } => {
            sink.test(Id::EnvelopeTextFrame, false, || {
                evidence("messages in text frames", "a JSON message in a binary frame", seq)
            });
        }
        Inbound::NotUtf8 { .. } => {
            sink.test(Id::EnvelopeUtf8, false, || {
                evidence("valid UTF-8 in a text frame", received(), seq)
            });
        }
        Inbound::NotJson { why, .. } => {
            sink.held(Id::EnvelopeUtf8);
            sink.test(Id::EnvelopeJson, false, || {
                evidence("one JSON text", format!("{} ({why})", received()), seq)
            });
        }
        Inbound::NotObject => {
            sink.held(Id::EnvelopeJson);
            sink.test(Id::EnvelopeObject, false, || evidence("a JSON object", received(), seq));
        }
        Inbound::Message(message) => {
            for requirement in
                [Id::EnvelopeUtf8, Id::EnvelopeJson, Id::EnvelopeObject, Id::EnvelopeTextFrame]
            {
                sink.held(requirement);
            }
            sink.held(Id::LivenessFrameSize);
            sink.test(Id::EnvelopeTypeString, message.kind().is_some(), || {
                let received = match is_first && is_bare(&message.envelope) {
                    true => format!("{BARE}: {}", received()),
                    false => received(),
                };
                evidence("a string member `type`", received, seq)
            });
            sink.test(Id::EnvelopeUniqueMembers, message.duplicate.is_none(), || {
                let name = message.duplicate.clone().unwrap_or_default();
                evidence(
                    "members with different names",
                    format!("`{name}` twice: {}", received()),
                    seq,
                )
            });
            if message.kind() == Some("mcp") {
                let invalid = matches!(message.payload(), Payload::Invalid(_));
                sink.test(Id::EnvelopePayloadObject, !invalid, || {
                    evidence("an object as payload", received(), seq)
                });
            }
        }
    }
}

/// Judges the member `jsonrpc`, which every payload carries (JSON-RPC 2.0 sections 4 and 5).
pub(crate) fn judge_version(seq: u64, payload: &Map<String, Value>, sink: &mut Sink) {
    let version = payload.get("jsonrpc");
    sink.test(Id::JsonrpcVersion, version.and_then(Value::as_str) == Some("2.0"), || {
        evidence(
            "jsonrpc \"2.0\"",
            format!("jsonrpc {}", version.map_or_else(|| "absent".to_owned(), Value::to_string)),
            seq,
        )
    });
}

/// Judges a message by which the device itself calls a method.
pub(crate) fn judge_device_call(seq: u64, payload: &Map<String, Value>, sink: &mut Sink) {
    let received = || Value::Object(payload.clone()).to_string();
    let method = payload.get("method").and_then(Value::as_str);
    let announces = method.is_some_and(|method| method.starts_with("notifications/"));
    if announces {
        sink.test(Id::NotificationsDeviceNoId, !payload.contains_key("id"), || {
            evidence("a notification without id", received(), seq)
        });
    }
    if payload.contains_key("id") {
        // A request of the device: the documents know none, and forbid none.
        return;
    }
    sink.held(Id::NotificationsDeviceNoId);
    sink.test(Id::NotificationsDeviceMethod, announces, || {
        evidence("a method that begins with \"notifications/\"", received(), seq)
    });
    let params = payload.get("params");
    sink.test(Id::NotificationsDeviceParams, params.is_none_or(Value::is_object), || {
        evidence("params as an object", received(), seq)
    });
}
