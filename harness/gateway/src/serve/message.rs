//! Says a message in a line: a head that is shown whole, and a rest that may be cut.

use std::time::Duration;

use mcp_hil_core::transcript::MqttNote;
use mcp_hil_core::wire::{Frame, Inbound, Message, Payload};
use serde_json::{Map, Value};

/// Longest piece of a device's own words that gets into a head, in characters.
const MAX_WORD: usize = 64;

/// What is said about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// Shown whole.
    pub head: String,
    /// Cut to what is left of the line.
    pub rest: String,
}

impl Said {
    pub(super) fn new(head: impl Into<String>) -> Self {
        Self { head: head.into(), rest: String::new() }
    }

    pub(super) fn with(mut self, rest: impl Into<String>) -> Self {
        self.rest = rest.into();
        self
    }
}

/// A request that was answered, whoever made it.
#[derive(Debug, Clone)]
pub(super) struct Answered {
    /// Its method.
    pub method: String,
    /// How long the answer took.
    pub took: Duration,
}

/// Says a frame in a line, whichever way it went. `answered` is the request that it answers.
pub(super) fn said(frame: &Frame, inbound: &Inbound, answered: Option<&Answered>) -> Said {
    match inbound {
        Inbound::Message(message) => of_message(message, answered),
        Inbound::NotText => Said::new(frame.display()),
        Inbound::JsonInBinary { .. } => Said::new("JSON in a binary frame").with(bytes(frame)),
        Inbound::NotUtf8 { .. } => Said::new("not UTF-8").with(frame.display()),
        Inbound::NotJson { why, .. } => {
            // Where it breaks is short, and tells more than how.
            let head = match why.rsplit_once(" at ") {
                Some((_, place)) => format!("not JSON at {place}:"),
                None => format!("not JSON, {why}:"),
            };
            Said::new(head).with(bytes(frame))
        }
        Inbound::NotObject => Said::new("JSON, but not an object").with(bytes(frame)),
    }
}

/// Says what happened below the messages over MQTT.
pub(super) fn said_of_note(note: &MqttNote) -> Said {
    match note {
        MqttNote::Subscribed { filter } => {
            Said::new("SUBSCRIBE").with(format!("{filter}; messages are pushed without it"))
        }
        MqttNote::Ping => Said::new("PINGREQ"),
        MqttNote::AckWanted => Said::new("QoS 1"),
        MqttNote::Acknowledged => Said::new("PUBACK"),
        MqttNote::AcknowledgedAgain => Said::new("PUBACK once more"),
        MqttNote::Topic { topic } => {
            Said::new("the next message has a different topic").with(topic)
        }
        MqttNote::Elsewhere { topic } => {
            Said::new("no message of the protocol, to a different topic").with(topic)
        }
        MqttNote::Qos { qos } => Said::new(format!("the next message has QoS {qos}")),
        MqttNote::Redelivered => Said::new("a message that had come already, sent again"),
        MqttNote::Duplicate => Said::new("the next message is marked as sent again"),
        MqttNote::Retained => Said::new("the next message has the RETAIN flag"),
        MqttNote::LargePacket { bytes } => {
            Said::new(format!("the next message is large: a packet of {bytes} bytes"))
        }
    }
}

fn of_message(message: &Message, answered: Option<&Answered>) -> Said {
    match message.kind() {
        Some("mcp") => of_payload(message.payload(), answered),
        Some(kind) => Said::new(word(kind)).with(members(&message.envelope)),
        None => Said::new("a message without `type`").with(compact(&message.envelope)),
    }
}

fn of_payload(payload: Payload<'_>, answered: Option<&Answered>) -> Said {
    match payload {
        Payload::Request(request) => of_request(request),
        Payload::Notification(note) => {
            Said::new(text(note, "method")).with(params(note.get("params")))
        }
        Payload::Answer(answer) => of_answer(answer, answered),
        Payload::Batch(batch) => Said::new(format!("a batch of {}", batch.len())),
        Payload::Invalid(Some(other)) => {
            Said::new("mcp whose payload is not an object").with(other.to_string())
        }
        Payload::Invalid(None) => Said::new("mcp without payload"),
    }
}

fn of_request(request: &Map<String, Value>) -> Said {
    let (method, id) = (text(request, "method"), id(request));
    let given = request.get("params");
    match given.and_then(|params| params.get("name")?.as_str()) {
        Some(name) if method == "tools/call" => {
            let arguments = given.and_then(|params| params.get("arguments"));
            Said::new(format!("call {id} {}", word(name))).with(params(arguments))
        }
        _ => Said::new(format!("{method} {id}")).with(params(given)),
    }
}

fn of_answer(answer: &Map<String, Value>, answered: Option<&Answered>) -> Said {
    let id = id(answer);
    let Some(answered) = answered else {
        return Said::new(format!("answer {id} to no pending request")).with(outcome(answer, ""));
    };
    let method = match answered.method.as_str() {
        "tools/call" => "call",
        method => method,
    };
    let took = match answered.took.as_millis() {
        0 => "<1 ms".to_owned(),
        ms => format!("{ms} ms"),
    };
    Said::new(format!("{} {id} {took}:", word(method))).with(outcome(answer, &answered.method))
}

/// What an answer says, in short.
fn outcome(answer: &Map<String, Value>, method: &str) -> String {
    if let Some(error) = answer.get("error") {
        let code = error.get("code").map(Value::to_string);
        let message = error.get("message").and_then(Value::as_str);
        return match (code, message) {
            (Some(code), Some(message)) => format!("error {code} {message}"),
            (None, Some(message)) => format!("error {message}"),
            _ => format!("error {error}"),
        };
    }
    let Some(result) = answer.get("result") else {
        return "neither result nor error".to_owned();
    };
    let told = match method {
        "initialize" => about_server(result),
        "tools/list" => about_list(result),
        "tools/call" => about_call(result),
        _ => None,
    };
    told.unwrap_or_else(|| result.to_string())
}

fn about_server(result: &Value) -> Option<String> {
    let info = |name: &str| result.pointer(name)?.as_str();
    Some(format!(
        "{} {}, MCP {}",
        info("/serverInfo/name")?,
        info("/serverInfo/version").unwrap_or("without a version"),
        info("/protocolVersion").unwrap_or("without a version"),
    ))
}

fn about_list(result: &Value) -> Option<String> {
    let tools = result.get("tools")?.as_array()?.len();
    let noun = if tools == 1 { "tool" } else { "tools" };
    Some(match next_cursor(result) {
        Some(cursor) => format!("{tools} {noun}, more after {cursor}"),
        None => format!("{tools} {noun}"),
    })
}

fn about_call(result: &Value) -> Option<String> {
    let texts: Vec<&str> = result
        .get("content")?
        .as_array()?
        .iter()
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
    match (failed, texts.is_empty()) {
        (true, _) => Some(format!("isError {}", texts.join(" "))),
        (false, false) => Some(texts.join(" ")),
        (false, true) => None,
    }
}

/// The cursor of the next page, when there is one.
pub(super) fn next_cursor(result: &Value) -> Option<&str> {
    let cursor = result.get("nextCursor")?.as_str()?;
    (!cursor.is_empty()).then_some(cursor)
}

/// The tools of a page as rows of a table: name, and arguments or else the description.
pub(super) fn tools(result: &Value) -> Vec<(String, String)> {
    let tools = result.get("tools").and_then(Value::as_array);
    tools
        .into_iter()
        .flatten()
        .map(|tool| {
            let member = |name: &str| tool.get(name).and_then(Value::as_str);
            let name = member("name").map_or_else(|| "(without a name)".to_owned(), word);
            let arguments = arguments(tool);
            let about = if arguments.is_empty() {
                short(member("description").unwrap_or_default(), 200)
            } else {
                arguments
            };
            (name, about)
        })
        .collect()
}

/// The arguments of a tool: `volume: integer 0..100, theme?: string`.
fn arguments(tool: &Value) -> String {
    let schema = tool.get("inputSchema");
    let required: Vec<&str> = schema
        .and_then(|schema| schema.get("required")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let each = properties.into_iter().flatten().map(|(name, property)| {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let kind = property.get("type").and_then(Value::as_str);
        let range = match (property.get("minimum"), property.get("maximum")) {
            (Some(low), Some(high)) => format!(" {low}..{high}"),
            _ => String::new(),
        };
        format!("{}{optional}: {}{range}", word(name), word(kind.unwrap_or("?")))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The members of a message with a type of its own: `state=start mode=auto`.
fn members(envelope: &Map<String, Value>) -> String {
    let shown = envelope.iter().filter(|(name, _)| !matches!(name.as_str(), "type" | "session_id"));
    let each = shown.map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    each.collect::<Vec<_>>().join(" ")
}

/// Parameters, unless there are none.
fn params(params: Option<&Value>) -> String {
    match params {
        None => String::new(),
        Some(Value::Object(map)) if map.is_empty() => String::new(),
        Some(params) => params.to_string(),
    }
}

fn id(message: &Map<String, Value>) -> String {
    match message.get("id") {
        None => "without id".to_owned(),
        Some(Value::Number(number)) => format!("#{number}"),
        Some(other) => format!("#{}", short(&other.to_string(), MAX_WORD)),
    }
}

fn text(message: &Map<String, Value>, name: &str) -> String {
    match message.get(name) {
        Some(Value::String(text)) => word(text),
        Some(other) => word(&other.to_string()),
        None => String::new(),
    }
}

fn compact(map: &Map<String, Value>) -> String {
    Value::from(map.clone()).to_string()
}

fn bytes(frame: &Frame) -> String {
    String::from_utf8_lossy(frame.bytes()).into_owned()
}

fn word(text: &str) -> String {
    short(text, MAX_WORD)
}

fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn shown(text: &str, method: Option<&str>) -> String {
        let frame = Frame::Text(text.to_owned());
        let answered = method
            .map(|method| Answered { method: method.to_owned(), took: Duration::from_millis(3) });
        let said = said(&frame, &Inbound::read(&frame), answered.as_ref());
        format!("{} {}", said.head, said.rest).trim_end().to_owned()
    }

    fn mcp(payload: Value) -> String {
        json!({"session_id": "s", "type": "mcp", "payload": payload}).to_string()
    }

    #[rstest]
    #[case::request(json!({"id": 3, "method": "ping", "params": {}}), None, "ping #3")]
    #[case::text_id(json!({"id": "d-1", "method": "ping"}), None, r#"ping #"d-1""#)]
    #[case::params(json!({"id": 3, "method": "x", "params": {"a": 1}}), None, r#"x #3 {"a":1}"#)]
    #[case::call(
        json!({"id": 3, "method": "tools/call", "params": {"name": "self.a", "arguments": {"v": 1}}}),
        None, r#"call #3 self.a {"v":1}"#
    )]
    #[case::no_arguments(
        json!({"id": 3, "method": "tools/call", "params": {"name": "self.a"}}), None, "call #3 self.a"
    )]
    #[case::notification(
        json!({"method": "notifications/x", "params": {"a": 1}}), None, r#"notifications/x {"a":1}"#
    )]
    #[case::server(
        json!({"id": 1, "result": {"protocolVersion": "2024-11-05", "serverInfo": {"name": "n", "version": "1"}}}),
        Some("initialize"), "initialize #1 3 ms: n 1, MCP 2024-11-05"
    )]
    #[case::list(json!({"id": 2, "result": {"tools": [{}]}}), Some("tools/list"), "tools/list #2 3 ms: 1 tool")]
    #[case::page(
        json!({"id": 2, "result": {"tools": [{}, {}], "nextCursor": "self.b"}}),
        Some("tools/list"), "tools/list #2 3 ms: 2 tools, more after self.b"
    )]
    #[case::result(
        json!({"id": 3, "result": {"content": [{"type": "text", "text": "true"}], "isError": false}}),
        Some("tools/call"), "call #3 3 ms: true"
    )]
    #[case::is_error(
        json!({"id": 3, "result": {"content": [{"type": "text", "text": "no"}], "isError": true}}),
        Some("tools/call"), "call #3 3 ms: isError no"
    )]
    #[case::odd_result(json!({"id": 3, "result": 7}), Some("tools/call"), "call #3 3 ms: 7")]
    #[case::error(
        json!({"id": 3, "error": {"code": -32601, "message": "no such"}}),
        Some("x"), "x #3 3 ms: error -32601 no such"
    )]
    #[case::stock_error(json!({"id": 3, "error": {"message": "no such"}}), Some("x"), "x #3 3 ms: error no such")]
    #[case::stray(json!({"id": 9, "result": {}}), None, "answer #9 to no pending request {}")]
    #[case::batch(json!([1, 2]), None, "a batch of 2")]
    #[case::number(json!(7), None, "mcp whose payload is not an object 7")]
    fn an_mcp_message_is_one_line(
        #[case] payload: Value,
        #[case] method: Option<&str>,
        #[case] line: &str,
    ) {
        assert_eq!(shown(&mcp(payload), method), line);
    }

    #[rstest]
    #[case::listen(
        r#"{"session_id":"s","type":"listen","state":"start","mode":"auto"}"#,
        "listen state=start mode=auto"
    )]
    #[case::numbers(r#"{"type":"iot","n":[1]}"#, "iot n=[1]")]
    #[case::no_type(r#"{"a":1}"#, r#"a message without `type` {"a":1}"#)]
    #[case::array("[1]", "JSON, but not an object [1]")]
    fn other_messages_show_their_members(#[case] text: &str, #[case] line: &str) {
        assert_eq!(shown(text, None), line);
    }

    #[test]
    fn what_is_no_json_is_shown_as_it_is() {
        let line = shown(r#"{"type":"mcp""#, None);
        assert!(
            line.starts_with("not JSON at line 1 column 13: ")
                && line.ends_with(r#"{"type":"mcp""#),
            "{line}"
        );
        let line = shown(&"[".repeat(200), None);
        assert!(line.starts_with("not JSON, nested deeper than "), "{line}");
        let frame = Frame::NotUtf8(vec![b'a', 0xff]);
        assert_eq!(said(&frame, &Inbound::read(&frame), None).rest, r"a\xff");
    }

    #[test]
    fn tools_are_rows() {
        let page = json!({"tools": [
            {"name": "self.a", "description": "Does a.", "inputSchema": {"type": "object", "properties": {}}},
            {"name": "self.b", "inputSchema": {"properties": {
                "v": {"type": "integer", "minimum": 0, "maximum": 100}, "t": {"type": "string"}
            }, "required": ["v"]}},
            7
        ]});
        let row = |name: &str, about: &str| (name.to_owned(), about.to_owned());
        assert_eq!(
            tools(&page),
            [
                row("self.a", "Does a."),
                row("self.b", "v: integer 0..100, t?: string"),
                row("(without a name)", "")
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_said(text in any::<String>()) {
            shown(&text, Some("tools/list"));
        }

        #[test]
        fn any_members_are_said(
            value in r#"(-?[1-9][0-9]{0,9}|"[a-zä]{0,99}"|\[\]|null|\{"tools":1\}|\{"content":[1]\})"#,
            method in "(tools/list|tools/call|initialize|x)",
        ) {
            for name in ["result", "error", "method", "id", "params"] {
                let text = format!(r#"{{"type":"mcp","payload":{{"{name}":{value},"id":{value}}}}}"#);
                shown(&text, Some(&method));
            }
            let page: Value = serde_json::from_str(&format!(
                r#"{{"tools":[{value},{{"name":{value},"inputSchema":{value}}},
                   {{"inputSchema":{{"properties":{{"a":{value}}},"required":{value}}}}}]}}"#
            )).unwrap();
            prop_assert_eq!(tools(&page).len(), 3);
        }
    }
}
