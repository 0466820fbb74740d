//! Checks on what a device sends by itself: the members of `listen` and `abort`, its requests, the framing of its audio.

use std::collections::BTreeMap;

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::wire::{Frame, as_integer};
use serde_json::{Map, Value};

use super::sink::{Sink, evidence};

/// States of `listen` (xiaozhi WebSocket, section 4.1).
const STATES: [&str; 3] = ["start", "stop", "detect"];

/// Modes of `listen`.
const MODES: [&str; 3] = ["auto", "manual", "realtime"];

/// Most ids of the device's own requests that are remembered in a session.
const IDS: usize = 1024;

/// The ids that the device has given its own requests on a connection.
#[derive(Debug, Default)]
pub(super) struct OwnIds {
    /// How often each came.
    given: BTreeMap<String, u32>,
    /// How often a session began. A request that is on its way belongs to the one before, so an id may have come once for
    /// each, whenever.
    sessions: u32,
}

impl OwnIds {
    /// A connection begins.
    pub(super) fn connected(&mut self) {
        *self = Self { sessions: 1, ..Self::default() };
    }

    /// The device may take what is sent for the beginning of another session: a hello, or `initialize`.
    pub(super) fn begin(&mut self) {
        self.sessions += 1;
    }

    /// Whether the device ever asked something on this connection.
    pub(super) fn is_any(&self) -> bool {
        !self.given.is_empty()
    }

    /// The device asks something: its id is none that it gave an earlier request (MCP 2024-11-05, basic/messages).
    pub(super) fn asked(&mut self, payload: &Map<String, Value>, seq: u64, sink: &mut Sink) {
        let is_good = |id: &&Value| id.is_string() || as_integer(id).is_some();
        let Some(id) = payload.get("id").filter(is_good) else {
            return;
        };
        let id = id.to_string();
        if self.given.len() >= IDS && !self.given.contains_key(&id) {
            return;
        }
        let times = self.given.entry(id.clone()).or_default();
        *times += 1;
        let is_new = *times <= self.sessions;
        sink.test(Id::McpOwnIds, is_new, || {
            evidence(
                format!("an id that no request of the device had before in this session, not {id}"),
                Value::Object(payload.clone()).to_string(),
                seq,
            )
        });
    }
}

/// A message that is neither `mcp` nor hello came: its members are those that the document lists.
pub(super) fn judge_members(envelope: &Map<String, Value>, seq: u64, sink: &mut Sink) {
    // Some write null for none.
    let given = |name: &str| envelope.get(name).filter(|value| !value.is_null());
    let is_text = |name: &str| given(name).is_none_or(Value::is_string);
    let is_one_of = |name: &str, known: &[&str]| {
        envelope.get(name).and_then(Value::as_str).is_some_and(|value| known.contains(&value))
    };
    let (holds, expected) = match envelope.get("type").and_then(Value::as_str) {
        Some("listen") => (
            is_one_of("state", &STATES)
                && (given("mode").is_none() || is_one_of("mode", &MODES))
                && is_text("text"),
            "state start, stop or detect; mode auto, manual or realtime; text a string",
        ),
        Some("abort") => (is_text("reason"), "reason, a string"),
        _ => return,
    };
    sink.test_once(Id::SessionOwnMembers, holds, || {
        evidence(expected, Value::Object(envelope.clone()).to_string(), seq)
    });
}

/// The device asks something itself: MCP's schema says what a request looks like (MCP 2024-11-05, schema:
/// JSONRPCRequest, CreateMessageRequest). Which methods it may ask for is open.
pub(super) fn judge_request(payload: &Map<String, Value>, seq: u64, sink: &mut Sink) {
    let Some(id) = payload.get("id") else {
        return;
    };
    let params = payload.get("params");
    let member = |name: &str| params.and_then(|params| params.get(name));
    let (holds, expected) = if !(id.is_string() || as_integer(id).is_some()) {
        (false, "an id that is a string or an integer")
    } else if !payload.get("method").is_some_and(Value::is_string) {
        (false, "a method that is a string")
    } else if !params.is_none_or(Value::is_object) {
        (false, "params that are an object")
    } else if payload.get("method").and_then(Value::as_str) == Some(SAMPLING) {
        let messages = member("messages").and_then(Value::as_array);
        let holds = messages.is_some_and(|messages| messages.iter().all(is_sampling_message))
            && member("maxTokens").is_some_and(Value::is_number);
        (holds, "messages with role user or assistant and a content, and maxTokens, a number")
    } else {
        (true, "")
    };
    sink.test(Id::McpMemberTypes, holds, || {
        evidence(expected, Value::Object(payload.clone()).to_string(), seq)
    });
}

/// The request by which a server has its client ask a model.
const SAMPLING: &str = "sampling/createMessage";

fn is_sampling_message(message: &Value) -> bool {
    let role = message.get("role").and_then(Value::as_str);
    let kind = message.pointer("/content/type");
    matches!(role, Some("user" | "assistant")) && kind.is_some_and(Value::is_string)
}

/// A frame came, perhaps a binary one, from a device that says this version of the framing.
pub(super) fn judge_framing(version: Option<&str>, frame: &Frame, seq: u64, sink: &mut Sink) {
    let Frame::Binary(frame) = frame else {
        // A device that sends no audio frames none wrongly.
        if matches!(version, Some("2" | "3")) {
            sink.held(Id::SessionBinaryFraming);
        }
        return;
    };
    // Stock firmware writes them in network order; the document names none.
    let number = |at: usize, bytes: usize| {
        let digits = frame.get(at..at + bytes).unwrap_or_default();
        let read = |all: &mut dyn Iterator<Item = &u8>| {
            all.fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
        };
        [read(&mut digits.iter()), read(&mut digits.iter().rev())]
    };
    let (header, holds) = match version {
        Some("2") => {
            let is_known = number(2, 2).iter().any(|kind| [0, 1].contains(kind));
            let is_two = number(0, 2).contains(&2);
            (16, is_two && is_known && sizes(&number(12, 4), frame.len(), 16))
        }
        Some("3") => (4, sizes(&number(2, 2), frame.len(), 4)),
        _ => return,
    };
    sink.test_once(Id::SessionBinaryFraming, holds, || {
        let version = version.unwrap_or_default();
        let begin: String = frame.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let kinds = if version == "2" { " and type 0 or 1" } else { "" };
        evidence(
            format!(
                "a header of {header} bytes for version {version}, with the size of the rest{kinds}"
            ),
            format!("{} bytes, which begin with {begin}", frame.len()),
            seq,
        )
    });
}

/// Whether a frame of so many bytes has one of these sizes behind its header.
fn sizes(told: &[usize], length: usize, header: usize) -> bool {
    length.checked_sub(header).is_some_and(|rest| told.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"type": "listen", "state": "start", "mode": "auto"}), 0)]
    #[case(json!({"type": "listen", "state": "stop"}), 0)]
    #[case(json!({"type": "listen", "state": "detect", "text": "hi", "source": "text"}), 0)]
    #[case(json!({"type": "listen"}), 1)]
    #[case(json!({"type": "listen", "state": "started", "mode": "auto"}), 1)]
    #[case(json!({"type": "listen", "state": "start", "mode": 1}), 1)]
    #[case(json!({"type": "listen", "state": "detect", "text": null, "mode": null}), 0)]
    #[case(json!({"type": "listen", "state": "detect", "text": 7}), 1)]
    #[case(json!({"type": "abort"}), 0)]
    #[case(json!({"type": "abort", "reason": "wake_word_detected"}), 0)]
    #[case(json!({"type": "abort", "reason": 1}), 1)]
    #[case(json!({"type": "iot", "state": 7}), 0)]
    fn members_are_those_of_the_document(#[case] message: Value, #[case] findings: usize) {
        let mut sink = Sink::default();
        judge_members(message.as_object().expect("an object"), 1, &mut sink);
        assert_eq!(sink.found.len(), findings);
    }

    #[rstest]
    #[case(json!({"id": "a", "method": "ping"}), 0)]
    #[case(json!({"id": 1, "method": "roots/list", "params": {}}), 0)]
    #[case(json!({"method": "notifications/message", "params": []}), 0)]
    #[case(json!({"id": null, "method": "ping"}), 1)]
    #[case(json!({"id": {"n": 1}, "method": "ping"}), 1)]
    #[case(json!({"id": 1.5, "method": "ping"}), 1)]
    #[case(json!({"id": 1, "method": 5}), 1)]
    #[case(json!({"id": 1, "method": "roots/list", "params": []}), 1)]
    #[case(json!({"id": 1, "method": SAMPLING}), 1)]
    #[case(json!({"id": 1, "method": SAMPLING, "params": {"messages": "hi", "maxTokens": 9}}), 1)]
    #[case(json!({"id": 1, "method": SAMPLING, "params": {"messages": [], "maxTokens": 9}}), 0)]
    #[case(json!({"id": 1, "method": SAMPLING, "params": {"messages": [{"role": "user"}], "maxTokens": 9}}), 1)]
    fn requests_of_the_device_have_the_form_of_requests(
        #[case] request: Value,
        #[case] findings: usize,
    ) {
        let mut sink = Sink::default();
        judge_request(request.as_object().expect("an object"), 1, &mut sink);
        assert_eq!(sink.found.len(), findings);
    }

    #[test]
    fn ids_of_the_device_come_once_in_a_session() {
        let mut sink = Sink::default();
        let mut ids = OwnIds::default();
        ids.connected();
        let mut ask = |ids: &mut OwnIds, request: Value| {
            ids.asked(request.as_object().expect("an object"), 1, &mut sink);
            std::mem::take(&mut sink.found).len()
        };
        let found = ["a", "b", "a"].map(|id| ask(&mut ids, json!({"id": id, "method": "ping"})));
        assert_eq!(found, [0, 0, 1]);
        assert_eq!(ask(&mut ids, json!({"id": null, "method": "ping"})), 0);
        ids.begin();
        assert_eq!(ask(&mut ids, json!({"id": "b", "method": "ping"})), 0);
        assert_eq!(ask(&mut ids, json!({"id": "b", "method": "ping"})), 1);
        ids.connected();
        assert_eq!(ask(&mut ids, json!({"id": "a", "method": "ping"})), 0);
    }

    #[rstest]
    #[case(Some("1"), &[0x58], 0)]
    #[case(None, &[0x58], 0)]
    #[case(Some("3"), &[0, 0, 0, 2, 0x58, 1], 0)]
    #[case(Some("3"), &[0, 0, 2, 0, 0x58, 1], 0)]
    #[case(Some("3"), &[0, 0, 0, 3, 0x58, 1], 1)]
    #[case(Some("3"), &[0x58, 1], 1)]
    #[case(Some("2"), &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0x58], 0)]
    #[case(Some("2"), &[2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0x58], 0)]
    #[case(Some("2"), &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 0x58], 1)]
    #[case(Some("2"), &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0x58], 1)]
    #[case(Some("2"), &[0, 0, 0, 1, 0x58], 1)]
    #[case(Some("2"), &[0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 123, 125], 0)]
    #[case(Some("2"), &[0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0x58], 1)]
    fn the_header_is_that_of_the_version(
        #[case] version: Option<&str>,
        #[case] frame: &[u8],
        #[case] findings: usize,
    ) {
        let mut sink = Sink::default();
        judge_framing(version, &Frame::Binary(frame.to_vec()), 1, &mut sink);
        assert_eq!(sink.found.len(), findings);
    }
}
