//! What a device owes for a message that the harness sent, read off the message itself.
//!
//! The same reading serves the conversation (which messages need a fence) and the checks (what an
//! answer, or its absence, means), live and in a replay.

use crate::catalogue::RequirementId as Id;
use serde_json::{Map, Value};

use crate::limits::{MAX_ANSWERED_DEPTH, MAX_ANSWERED_MESSAGE_BYTES};
use crate::wire::{Frame, forgiven, read_json, recover_ids};

/// Largest integer that a double holds exactly; ids beyond it are judged as SHOULD only.
pub const EXACT_IN_DOUBLE: u64 = 1 << 53;

/// Types beside `mcp` that servers and devices of the family send (xiaozhi WebSocket, section 4; the
/// forks; device-protocol 2.4 and 3.3). Nobody answers them with an mcp message.
const OTHER_TYPES: [&str; 11] = [
    "hello", "tts", "stt", "llm", "alert", "system", "custom", "listen", "abort", "goodbye", "iot",
];

/// What a device owes for a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Owes {
    /// Exactly one answer: it is a legal request.
    Answer,
    /// No answer at all; the requirement that says so.
    Silence(Id),
    /// Anything but a success: silence or an error; the requirement that says so.
    NoSuccess(Id),
    /// Documents do not say, or say different things; only its life is judged.
    #[default]
    Nothing,
}

/// A message of the harness, as far as the device's duties depend on it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Duty {
    /// What is owed.
    pub owes: Owes,
    /// The JSON-RPC id, when there is one.
    pub id: Option<Value>,
    /// The method, when it is a string.
    pub method: Option<String>,
    /// The tool, when the method is `tools/call` and the name is a string.
    pub tool: Option<String>,
    /// The session that the message ends, when it is a `goodbye`.
    pub ends_session: Option<String>,
}

impl Duty {
    /// Reads a frame that the harness sent.
    pub fn of(frame: &Frame) -> Self {
        match frame {
            Frame::Text(text) => match read_json(text) {
                // Which of two members of one name counts is open (RFC 8259, section 4).
                Ok((Value::Object(envelope), Some(_))) => {
                    Self { owes: Owes::Nothing, ..Self::of_envelope(&envelope) }
                }
                Ok((Value::Object(envelope), None)) => {
                    let duty = Self::of_envelope(&envelope);
                    let may_be_refused = text.len() > MAX_ANSWERED_MESSAGE_BYTES
                        || depth(text) > MAX_ANSWERED_DEPTH
                        || holds_nul(text);
                    match duty.owes {
                        Owes::Answer if may_be_refused => Self { owes: Owes::Nothing, ..duty },
                        _ => duty,
                    }
                }
                Ok(_) => Self::bare(Owes::Nothing),
                // A parser may take more than JSON (RFC 8259, section 9), or refuse lone surrogates: what it
                // makes of such a text is its own affair. The id tells whose answer comes, if one does.
                Err(_) => Self {
                    owes: Owes::Nothing,
                    ..match forgiven(text) {
                        Some(Value::Object(envelope)) => Self::of_envelope(&envelope),
                        _ => Self { id: recover_ids(text).pop(), ..Self::default() },
                    }
                },
            },
            Frame::Odd(_, text) => {
                let owes = Owes::Silence(Id::SessionOddFrames);
                Self { owes, ..Self::of(&Frame::Text(text.clone())) }
            }
            _ => Self::bare(Owes::Nothing),
        }
    }

    /// The ids in a batch, whose members may be answered one by one; `None` when it is no batch.
    pub fn batch_ids(frame: &Frame) -> Option<Vec<Value>> {
        let Frame::Text(text) = frame else {
            return None;
        };
        // Nearly all messages are no batches: one look at the text spares the parser.
        if !text.contains("\"payload\":[") {
            return None;
        }
        let envelope: Value = serde_json::from_str(text).ok()?;
        let members = envelope["payload"].as_array()?;
        Some(members.iter().filter_map(|member| member.get("id").cloned()).collect())
    }

    /// All ids in a text that a parser may read in more than one way: one that is no JSON by the letter, and
    /// one in which a member stands twice. An answer under any of them belongs to it. `None` for any other.
    pub fn possible_ids(frame: &Frame) -> Option<Vec<Value>> {
        let Frame::Text(text) = frame else {
            return None;
        };
        match read_json(text) {
            Ok((_, None)) => None,
            Ok((_, Some(_))) | Err(_) => Some(recover_ids(text)),
        }
    }

    /// Whether a message tells the device to restart: it may end its connection then, and boot.
    pub fn restarts(frame: &Frame) -> bool {
        let Frame::Text(text) = frame else {
            return false;
        };
        // Nearly no message is one: a look at the text spares the parser.
        text.contains("\"reboot\"")
            && serde_json::from_str::<Value>(text)
                .is_ok_and(|message| message["type"] == "system" && message["command"] == "reboot")
    }

    /// Whether the message is a `tools/call`, legal or not.
    pub fn is_call(&self) -> bool {
        self.method.as_deref() == Some("tools/call")
    }

    fn bare(owes: Owes) -> Self {
        Self { owes, ..Self::default() }
    }

    fn of_envelope(envelope: &Map<String, Value>) -> Self {
        let unknown_kind = match envelope.get("type").map(Value::as_str) {
            Some(Some("mcp")) => None,
            Some(Some(kind)) if OTHER_TYPES.contains(&kind) => {
                Some(Owes::Silence(Id::EnvelopeOtherTypes))
            }
            Some(Some(_)) => Some(Owes::Silence(Id::EnvelopeUnknownTypeIgnored)),
            _ => Some(Owes::NoSuccess(Id::EnvelopeMissingTypeIgnored)),
        };
        let says =
            |name: &str, value: &str| envelope.get(name).and_then(Value::as_str) == Some(value);
        if says("type", "system") && says("command", "reboot") {
            return Self::bare(Owes::Nothing);
        }
        if says("type", "goodbye") {
            let session = envelope.get("session_id").and_then(Value::as_str);
            return Self {
                owes: Owes::Nothing,
                ends_session: session.map(str::to_owned),
                ..Self::default()
            };
        }
        let Some(Value::Object(payload)) = envelope.get("payload") else {
            return Self::bare(match (unknown_kind, envelope.get("payload")) {
                (Some(owes), _) => owes,
                // One device family reads a JSON text in a string, another ignores batches.
                (None, Some(Value::String(_) | Value::Array(_))) => Owes::Nothing,
                (None, _) => Owes::NoSuccess(Id::EnvelopePayloadNotObject),
            });
        };
        let method = payload.get("method").and_then(Value::as_str);
        let tool = (method == Some("tools/call"))
            .then(|| payload.get("params")?.get("name")?.as_str())
            .flatten();
        let owes = match unknown_kind.unwrap_or_else(|| owed_for(payload)) {
            // Whether a message needs a session is a SHOULD of its own; one that is no text is none.
            Owes::Answer if !envelope.get("session_id").is_some_and(Value::is_string) => {
                Owes::Nothing
            }
            owes => owes,
        };
        Self {
            owes,
            id: payload.get("id").cloned(),
            method: method.map(str::to_owned),
            tool: tool.map(str::to_owned),
            ends_session: None,
        }
    }
}

/// Whether a string in a JSON text has the character U+0000, which a parser may refuse (RFC 8259, section 9:
/// limits of the character contents of strings).
pub fn holds_nul(text: &str) -> bool {
    // Nearly no message has one. Of two backslashes the first one escapes the second.
    text.contains(r"\u0000") && text.replace(r"\\", "").contains(r"\u0000")
}

/// How deep the arrays and objects of a JSON text are nested.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut bytes) = (0, 0, false, text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => _ = bytes.next(),
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    deepest
}

fn owed_for(payload: &Map<String, Value>) -> Owes {
    let id = payload.get("id");
    let other_case = |name: &String| {
        let lower = name.to_ascii_lowercase();
        *name != lower && ["jsonrpc", "id", "method", "params"].contains(&lower.as_str())
    };
    if payload.keys().any(other_case) {
        // Whether member names match in another case is a SHOULD of its own.
        return Owes::Nothing;
    }
    if !payload.contains_key("method")
        && (payload.contains_key("result") || payload.contains_key("error"))
    {
        return Owes::NoSuccess(Id::JsonrpcResponseIgnored);
    }
    if payload.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Owes::NoSuccess(Id::JsonrpcVersionChecked);
    }
    if !payload.get("method").is_some_and(Value::is_string) {
        return Owes::NoSuccess(Id::JsonrpcMethodRequired);
    }
    let owes = match id {
        None => return Owes::Silence(Id::NotificationsNotAnswered),
        Some(Value::String(text)) if text.parse::<i64>().is_ok() => {
            Owes::NoSuccess(Id::IdsNumericStringRejected)
        }
        Some(Value::String(_)) => Owes::NoSuccess(Id::IdsStringRejected),
        Some(Value::Null) => Owes::NoSuccess(Id::IdsNullRejected),
        Some(Value::Bool(_)) => Owes::NoSuccess(Id::IdsBooleanRejected),
        Some(Value::Array(_) | Value::Object(_)) => Owes::NoSuccess(Id::IdsStructuredRejected),
        Some(Value::Number(number)) => {
            let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match magnitude {
                Some(magnitude) if magnitude <= EXACT_IN_DOUBLE => Owes::Answer,
                _ => Owes::Nothing,
            }
        }
    };
    // A method without a name may be taken for none, which makes the request an invalid one.
    if owes == Owes::Answer && payload.get("method").is_some_and(|method| method == "") {
        return Owes::Nothing;
    }
    // A strict schema takes a request with further members, or with `_meta` that MCP's schema does not allow, for none.
    let is_further = |name: &String| !["jsonrpc", "id", "method", "params"].contains(&&**name);
    if owes == Owes::Answer
        && (payload.keys().any(is_further) || payload.get("params").is_some_and(has_odd_meta))
    {
        return Owes::Nothing;
    }
    match (owes, payload.get("params")) {
        (Owes::Answer, Some(Value::String(_) | Value::Number(_))) => {
            Owes::NoSuccess(Id::JsonrpcParamsStructured)
        }
        // Absent, null and array parameters are read in different ways by different documents.
        (Owes::Answer, Some(Value::Null | Value::Bool(_) | Value::Array(_))) => Owes::Nothing,
        (owes, _) => owes,
    }
}

/// Whether parameters have a `_meta` that MCP's schema does not allow (2024-11-05, Request).
fn has_odd_meta(params: &Value) -> bool {
    let Some(meta) = params.get("_meta") else {
        return false;
    };
    let is_odd = |token: &Value| !token.is_string() && !token.is_i64() && !token.is_u64();
    !meta.is_object() || meta.get("progressToken").is_some_and(is_odd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, Owes::Answer)]
    #[case(r#"{"jsonrpc":"2.0","id":1758893424665,"method":"ping","params":{}}"#, Owes::Answer)]
    #[case(r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#, Owes::Nothing)]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":""}"#, Owes::Nothing)]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[[[[[[["\"["]]]]]]]}}"#,
        Owes::Answer
    )]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[[[[[[[[]]]]]]]]}}"#,
        Owes::Nothing
    )]
    #[case(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Owes::Nothing)]
    #[case(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, Owes::NoSuccess(Id::IdsStringRejected))]
    #[case(
        r#"{"jsonrpc":"2.0","id":"42","method":"ping"}"#,
        Owes::NoSuccess(Id::IdsNumericStringRejected)
    )]
    #[case(
        r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
        Owes::Silence(Id::NotificationsNotAnswered)
    )]
    #[case(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Owes::NoSuccess(Id::JsonrpcResponseIgnored))]
    #[case(r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, Owes::NoSuccess(Id::JsonrpcVersionChecked))]
    #[case(r#"{"jsonrpc":"2.0","id":7}"#, Owes::NoSuccess(Id::JsonrpcMethodRequired))]
    #[case(r#"{"JSONRPC":"2.0","ID":7,"METHOD":"ping"}"#, Owes::Nothing)]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":"ping","tag":1}"#, Owes::Nothing)]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":[]}}"#, Owes::Nothing)]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":0.5}}}"#,
        Owes::Nothing
    )]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"tag":1,"_meta":{"progressToken":"t","tag":1}}}"#,
        Owes::Answer
    )]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#,
        Owes::NoSuccess(Id::JsonrpcParamsStructured)
    )]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}"#, Owes::Nothing)]
    #[case(
        r#"{"jsonrpc":"2.0","method":"tools/list","params":{"a":{"b":1,"b":1}}}"#,
        Owes::Nothing
    )]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":"ping\u0000"}"#, Owes::Nothing)]
    #[case(r#"{"jsonrpc":"2.0","id":7,"method":"ping\\u0000"}"#, Owes::Answer)]
    #[case(
        r#"{"jsonrpc":"2.0","method":"ping\u0000"}"#,
        Owes::Silence(Id::NotificationsNotAnswered)
    )]
    #[case("[]", Owes::Nothing)]
    #[case("17", Owes::NoSuccess(Id::EnvelopePayloadNotObject))]
    fn duties_follow_from_the_message(#[case] payload: &str, #[case] owes: Owes) {
        let text = crate::wire::outbound::envelope("s", payload);
        assert_eq!(Duty::of(&Frame::Text(text)).owes, owes);
    }

    #[rstest]
    #[case::raw_control_character("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"mcp_hil/\u{1}\"}")]
    #[case::raw_line_break("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"mcp_hil/\n\"}")]
    #[case::odd_escape(r#"{"jsonrpc":"2.0","id":7,"method":"mcp_hil/\x41"}"#)]
    #[case::leading_zeros(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":007}}"#)]
    #[case::trailing_comma(r#"{"jsonrpc":"2.0","id":7,"method":"ping",}"#)]
    fn what_a_parser_may_forgive_owes_nothing_and_keeps_its_id(#[case] payload: &str) {
        let frame = Frame::Text(crate::wire::outbound::envelope("s", payload));
        let duty = Duty::of(&frame);
        assert_eq!((duty.owes, duty.id), (Owes::Nothing, Some(7.into())));
        assert_eq!(Duty::possible_ids(&frame), Some(vec![7.into()]));
    }

    #[test]
    fn a_text_that_is_read_in_two_ways_has_all_its_ids() {
        let ids = |text: &str| Duty::possible_ids(&Frame::Text(text.into()));
        let twice = r#"{"payload":{"id":3,"id":4,"method":"ping"}}"#;
        assert_eq!(ids(twice), Some(vec![3.into(), 4.into()]));
        let behind = r#"{"payload":{"id":3}}{"payload":{"id":"x"}}"#;
        assert_eq!(ids(behind), Some(vec![3.into(), "x".into()]));
        // The end of the id is not there.
        assert_eq!(ids(r#"{"payload":{"id":31"#), Some(Vec::new()));
        assert_eq!(ids(r#"{"payload":{"id":3,"method":"ping"}}"#), None);
    }

    #[rstest]
    #[case("tts", Id::EnvelopeOtherTypes)]
    #[case("listen", Id::EnvelopeOtherTypes)]
    #[case("TTS", Id::EnvelopeUnknownTypeIgnored)]
    fn other_types_are_told_from_unknown_ones(#[case] kind: &str, #[case] requirement: Id) {
        let text =
            format!(r#"{{"type":"{kind}","payload":{{"jsonrpc":"2.0","id":7,"method":"ping"}}}}"#);
        assert_eq!(Duty::of(&Frame::Text(text)).owes, Owes::Silence(requirement));
    }
}
