//! JSON-RPC 2.0 as this device reads it: what is a request, what is refused, what is dropped.
//!
//! Ids are integers. A string id is a mistake by the volume workflow document ("must be a
//! number"), and a fraction is none of the ids that MCP knows; neither is executed nor answered,
//! because an answer could only carry an id that was not sent.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde_json::Number;

use crate::console;
use crate::json::{self, Object, Text, Value};
use crate::limits::LONGEST_ECHO;

/// Id of a request: an integer of 64 bits, echoed digit by digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// Zero and above.
    Unsigned(u64),
    /// Below zero.
    Negative(i64),
}

impl Id {
    /// The id that `value` spells, if it is an integer. `7.0`, `7e0` and `-0` are not: their
    /// spelling could not be given back.
    pub fn from_value(value: &serde_json::Value) -> Option<Id> {
        Id::from_number(value.as_number()?)
    }

    fn from_number(number: &Number) -> Option<Id> {
        number.as_u64().map(Id::Unsigned).or_else(|| number.as_i64().map(Id::Negative))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Unsigned(id) => id.fmt(f),
            Id::Negative(id) => id.fmt(f),
        }
    }
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// JSON-RPC 2.0 section 5.1.
    pub code: i32,
    /// One sentence for a person.
    pub message: String,
}

impl RpcError {
    /// -32600: the message is no request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        RpcError { code: -32600, message: message.into() }
    }

    /// -32601: no such method.
    pub(crate) fn unknown_method(method: Text<'_>) -> Self {
        let method = method.shortened(LONGEST_ECHO);
        RpcError { code: -32601, message: format!("Method not implemented: {method}") }
    }

    /// -32602: the method exists, its parameters are wrong. Unknown tools belong here (MCP
    /// 2024-11-05, tools, "Error Handling").
    pub fn invalid_params(message: impl Into<String>) -> Self {
        RpcError { code: -32602, message: message.into() }
    }

    /// Appends `"error":{...}` as in an answer.
    pub(crate) fn push_member(&self, out: &mut String) {
        out.push_str("\"error\":{\"code\":");
        out.push_str(&self.code.to_string());
        out.push_str(",\"message\":");
        json::push_string(out, &self.message);
        out.push('}');
    }
}

/// What a payload turned out to be.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// To be executed and answered.
    Request { id: Id, method: Text<'a>, params: Option<Object<'a>> },
    /// Answered with an error, and logged.
    Refused { id: Id, error: RpcError, log: String },
    /// Not answered; `log` is a console line when there is something to say.
    Dropped { log: Option<String> },
}

/// Reads an object payload.
pub(crate) fn read(payload: Object<'_>) -> Incoming<'_> {
    let names = ["id", "method", "result", "error", "jsonrpc", "params"];
    let [sent_id, sent_method, result, error, version, params] = payload.pick(names);
    let id = sent_id.and_then(Value::as_number);
    let id = id.as_ref().and_then(Id::from_number);
    let refuse = |error: RpcError, log: String| match id {
        Some(id) => Incoming::Refused { id, error, log },
        None => Incoming::Dropped { log: Some(log) },
    };

    let is_response = sent_method.is_none() && (result.is_some() || error.is_some());
    if is_response {
        // This device asks nothing, so nobody owes it an answer.
        return Incoming::Dropped { log: Some("Missing method".to_string()) };
    }
    let version_text = version.and_then(Value::as_text);
    if version_text.is_none_or(|text| text != *"2.0") {
        let found = match (version, version_text) {
            (None, _) => "null".to_string(),
            (_, Some(text)) => console::quote_chars(text.chars()),
            (_, None) => "(null)".to_string(),
        };
        return refuse(
            RpcError::invalid_request("jsonrpc must be the string \"2.0\""),
            format!("Invalid JSONRPC version: {found}"),
        );
    }
    let Some(method) = sent_method.and_then(Value::as_text) else {
        return refuse(
            RpcError::invalid_request("method must be a string"),
            "Missing method".to_string(),
        );
    };
    if sent_id.is_none() && method.starts_with("notifications/") {
        return Incoming::Dropped { log: None };
    }
    let quoted = || console::quote_chars(method.chars());
    let Some(id) = id else {
        return Incoming::Dropped { log: Some(format!("Invalid id for method: {}", quoted())) };
    };
    match params.map(Value::as_object) {
        None => Incoming::Request { id, method, params: None },
        Some(Some(params)) => Incoming::Request { id, method, params: Some(params) },
        Some(None) => Incoming::Refused {
            id,
            error: RpcError::invalid_params("params must be an object"),
            log: format!("Invalid params for method: {}", quoted()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn parse(text: &str) -> Object<'_> {
        let object = Value::read(text).and_then(Value::as_object);
        object.expect("an object")
    }

    #[rstest]
    #[case("0", Some("0"))]
    #[case("-5", Some("-5"))]
    #[case("2147483648", Some("2147483648"))]
    #[case("1758893424665", Some("1758893424665"))]
    #[case("9007199254740993", Some("9007199254740993"))]
    #[case("18446744073709551615", Some("18446744073709551615"))]
    #[case("-9223372036854775808", Some("-9223372036854775808"))]
    #[case("18446744073709551616", None)]
    #[case("1.5", None)]
    #[case("1.0", None)]
    #[case("1e3", None)]
    #[case("\"7\"", None)]
    #[case("null", None)]
    #[case("true", None)]
    #[case("[1]", None)]
    fn an_id_is_an_integer_of_64_bits(#[case] text: &str, #[case] echoed: Option<&str>) {
        let value = serde_json::from_str(text).expect("JSON");
        assert_eq!(Id::from_value(&value).map(|id| id.to_string()).as_deref(), echoed);
    }

    #[rstest]
    #[case(r#"{"id":1,"method":"ping"}"#, -32600)]
    #[case(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600)]
    #[case(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600)]
    #[case(r#"{"jsonrpc":"2.0","id":1}"#, -32600)]
    #[case(r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600)]
    #[case(r#"{"jsonrpc":"2.0","id":1,"METHOD":"ping"}"#, -32600)]
    #[case(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#, -32602)]
    #[case(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, -32602)]
    fn a_bad_request_with_a_good_id_is_refused(#[case] text: &str, #[case] code: i32) {
        match read(parse(text)) {
            Incoming::Refused { id: Id::Unsigned(1), error, .. } => assert_eq!(error.code, code),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None)]
    #[case(
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#,
        Some("Invalid id for method: tools/call")
    )]
    #[case(
        r#"{"jsonrpc":"2.0","id":"7","method":"tools/call"}"#,
        Some("Invalid id for method: tools/call")
    )]
    #[case(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some("Missing method"))]
    #[case(r#"{"method":"ping"}"#, Some("Invalid JSONRPC version: null"))]
    fn what_must_not_be_answered_is_dropped(#[case] text: &str, #[case] line: Option<&str>) {
        match read(parse(text)) {
            Incoming::Dropped { log } => assert_eq!(log.as_deref(), line),
            other => panic!("{other:?}"),
        }
    }
}
