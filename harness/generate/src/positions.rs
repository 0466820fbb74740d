//! Every place of a message takes every kind of value, by the message grammar: frame, envelope, JSON-RPC members,
//! parameters of each method, arguments of each tool that may be called.
//!
//! Nothing is left to chance: the inputs go through all cells of the matrix in turn. What is owed for a message is
//! read off the message; beyond that, what a document says of a place is expected here.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arguments::{others, refusal};
use crate::context::{Argument, Context, Kind, Matrix};
use crate::json::ID;
use crate::parts::{each_of_shared, swept};
use crate::steps::{LONGEST, NO_METHOD, StepExt as _, raw_call};
use crate::tool_names::NO_TOOL;
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Stands for the value until the message is text.
const VALUE: &str = "@value@";

/// Kinds of values, with the JSON text of one each. Two have none: the member is not there, or stands twice.
const KINDS: [(&str, Option<&str>); 23] = [
    ("absent", None),
    ("duplicated", None),
    ("null", Some("null")),
    ("true", Some("true")),
    ("false", Some("false")),
    ("zero", Some("0")),
    ("negative", Some("-1")),
    ("fraction", Some("0.5")),
    ("huge number", Some("123456789012345678901234567890")),
    ("large exponent", Some("-1e300")),
    ("empty string", Some(r#""""#)),
    ("string", Some(r#""mcp-hil""#)),
    ("number as text", Some(r#""7""#)),
    ("long string", Some(r#""${repeat:mcp-hil.:300}""#)),
    ("control characters", Some(r#""mcp-hil\u0001\n\t\u007f""#)),
    ("lone surrogate", Some(r#""mcp-hil\ud800""#)),
    ("non-BMP", Some("\"mcp-hil\u{1F600}\"")),
    ("empty array", Some("[]")),
    ("array", Some(r#"["mcp-hil",null]"#)),
    ("empty object", Some("{}")),
    ("object", Some(r#"{"mcpHil":1}"#)),
    // Common parsers of small devices take ten levels in all; an argument lies below four.
    ("deep array", Some("[[[[[[]]]]]]")),
    ("deep object", Some(r#"{"a":{"a":{"a":{"a":{"a":{}}}}}}"#)),
];

/// A kind of value at a place.
struct Cell {
    place: String,
    kind: &'static str,
    step: Step,
}

/// A place of a message.
struct Place {
    /// What it is called in reports.
    name: &'static str,
    /// A whole message with [`VALUE`] in the place.
    message: Value,
    /// What a document says of values of the wrong type, and how the value begins that has the right one.
    wrong: Option<(Id, Answer, char)>,
    /// What is left out.
    without: fn(&str) -> bool,
}

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    swept(number, vec![each_of_shared(matrix(context).steps.clone())], 0, LONGEST)
}

/// Place and kind of each step of an input.
pub(super) fn tried(context: &Context, number: u32) -> Vec<(String, &'static str)> {
    let tried = &matrix(context).tried;
    let from = number as usize * LONGEST;
    (from..from + tried.len().min(LONGEST)).map(|at| tried[at % tried.len()].clone()).collect()
}

/// How many inputs it takes to try all cells.
pub(super) fn inputs(context: &Context) -> u32 {
    u32::try_from(matrix(context).tried.len().div_ceil(LONGEST)).unwrap_or(u32::MAX)
}

/// All cells for the device, which each draw begins with.
fn matrix(context: &Context) -> &Matrix {
    context.matrix(|| {
        let cells = cells(context).into_iter();
        let (tried, steps): (_, Vec<Step>) =
            cells.map(|cell| ((cell.place, cell.kind), cell.step)).unzip();
        Matrix { steps: steps.into(), tried }
    })
}

fn cells(context: &Context) -> Vec<Cell> {
    let whole = KINDS.iter().filter_map(|(kind, text)| {
        Some(Cell { place: "frame".to_owned(), kind, step: sent((*text)?.to_owned()) })
    });
    let mut cells: Vec<Cell> = whole.collect();
    for place in places(context) {
        for (kind, text) in KINDS {
            if (place.without)(kind) {
                continue;
            }
            let Some(written) = with(&place.message, kind, text) else {
                continue;
            };
            let step = match (&place.wrong, text.and_then(|text| text.chars().next())) {
                (Some((requirement, answer, right)), Some(first)) if first != *right => {
                    sent(written).answer(*requirement, *answer)
                }
                _ => sent(written),
            };
            cells.push(Cell { place: place.name.to_owned(), kind, step });
        }
    }
    cells.extend(wrong_kinds(context));
    cells
}

/// A frame after which the device lives.
fn sent(text: String) -> Step {
    Step::of(Action::Send(Outgoing::Text(text))).lives(Id::RobustnessAnyValue)
}

/// The text of a message with a value in the place. `None` where the place can be neither empty nor doubled.
fn with(message: &Value, kind: &str, text: Option<&str>) -> Option<String> {
    let marked = message.to_string();
    let written = match (kind, text) {
        (_, Some(text)) => marked.replace(&format!("\"{VALUE}\""), text),
        (kind, None) => {
            let end = marked.find(&format!(":\"{VALUE}\""))?;
            let begin = marked[..end - 1].rfind('"')?;
            let member = &marked[begin..end + VALUE.len() + 3];
            match kind {
                "absent" => marked
                    .replace(&format!("{member},"), "")
                    .replace(&format!(",{member}"), "")
                    .replace(member, ""),
                _ => {
                    let name = &marked[begin..end];
                    marked.replace(member, &format!("{name}:null,{name}:\"mcp-hil\""))
                }
            }
        }
    };
    Some(written.replace(&format!("\"{ID}\""), "${id}"))
}

impl Place {
    fn new(name: &'static str, message: Value) -> Self {
        Self { name, message, wrong: None, without: |_| false }
    }

    fn wrong(self, requirement: Id, answer: Answer, right: char) -> Self {
        Self { wrong: Some((requirement, answer, right)), ..self }
    }

    fn without(self, without: fn(&str) -> bool) -> Self {
        Self { without, ..self }
    }
}

fn payload(payload: Value) -> Value {
    json!({"session_id": "${session}", "type": "mcp", "payload": payload})
}

fn request(method: &str, params: Value) -> Value {
    payload(json!({"jsonrpc": "2.0", "id": ID, "method": method, "params": params}))
}

fn notification(method: &str, params: Value) -> Value {
    payload(json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

fn places(context: &Context) -> Vec<Place> {
    let place = Place::new;
    let good = json!({"jsonrpc": "2.0", "id": ID, "method": "tools/list", "params": {}});
    let good_but = |name: &str| {
        let mut request = good.clone();
        request[name] = VALUE.into();
        payload(request)
    };
    let list = |params: Value| request("tools/list", params);
    let mut places = vec![
        // A text in it is another session, or none; what a device does then is tried elsewhere.
        place("session_id", json!({"session_id": VALUE, "type": "mcp", "payload": good}))
            .without(|kind| is_text(kind) || kind == "absent"),
        place("type", json!({"session_id": "${session}", "type": VALUE, "payload": good})),
        place("payload", payload(VALUE.into())),
        place(
            "another member of the envelope",
            json!({"session_id": "${session}", "type": "mcp", "payload": good, "mcpHil": VALUE}),
        ),
        place("jsonrpc", good_but("jsonrpc")),
        place("method", good_but("method")),
        place("another member of a request", good_but("mcpHil")),
        place("tools/list params", list(VALUE.into())),
        // Null is read as a cursor that is not there, or refused.
        place("tools/list cursor", list(json!({"cursor": VALUE}))).without(|kind| kind != "null"),
        place("tools/list cursor", list(json!({"cursor": VALUE})))
            .wrong(Id::McpStringCursorOnly, Answer::Refused, '"')
            .without(|kind| kind == "null"),
        place("tools/list withUserTools", list(json!({"withUserTools": VALUE}))),
        place("tools/list, another parameter", list(json!({"mcpHil": VALUE}))),
        place("tools/list _meta", list(json!({"_meta": VALUE}))),
        place("tools/list _meta.progressToken", list(json!({"_meta": {"progressToken": VALUE}}))),
        place("unknown method, params", request(NO_METHOD, VALUE.into())),
        place(
            "notification, method",
            payload(json!({"jsonrpc": "2.0", "method": VALUE, "params": {}})),
        ),
        place(
            "notification, jsonrpc",
            payload(json!({"jsonrpc": VALUE, "method": "notifications/mcp_hil"})),
        ),
        place("notification, params", notification("notifications/mcp_hil", VALUE.into())),
        place(
            "cancelled requestId",
            notification("notifications/cancelled", json!({"requestId": VALUE})),
        ),
        place("response, result", payload(json!({"jsonrpc": "2.0", "id": ID, "result": VALUE}))),
        place("response, error", payload(json!({"jsonrpc": "2.0", "id": ID, "error": VALUE}))),
    ];
    places.extend(of_other_types());
    if context.can("reinitialize") {
        places.extend(of_initialize());
        if context.can("camera") {
            let vision = json!({"url": "${vision.url}", "token": VALUE});
            let params = json!({"capabilities": {"vision": vision}});
            places
                .push(place("initialize capabilities.vision.token", request("initialize", params)));
        }
    }
    if context.can("tools") {
        places.extend(of_call(context));
    }
    places
}

/// Whether a kind of value is a text, or may be read as one.
fn is_text(kind: &str) -> bool {
    let text = KINDS.iter().find(|(known, _)| *known == kind).and_then(|(_, text)| *text);
    kind == "duplicated" || text.is_some_and(|text| text.starts_with('"'))
}

/// Places of messages of other types (xiaozhi WebSocket, section 4.2). `hello` and `goodbye` begin and end something;
/// what a device owes for them is tried elsewhere.
fn of_other_types() -> Vec<Place> {
    let place = |name: &'static str, members: Value| {
        let mut envelope = json!({"session_id": "${session}"});
        for (name, value) in members.as_object().into_iter().flatten() {
            envelope[name] = value.clone();
        }
        Place::new(name, envelope)
    };
    let alert = |status: &str, message: &str, emotion: &str| json!({"type": "alert", "status": status, "message": message, "emotion": emotion});
    vec![
        place("stt text", json!({"type": "stt", "text": VALUE})),
        place("llm emotion", json!({"type": "llm", "emotion": VALUE, "text": "mcp-hil"})),
        place("llm text", json!({"type": "llm", "emotion": "neutral", "text": VALUE})),
        place("tts state", json!({"type": "tts", "state": VALUE})),
        place("tts text", json!({"type": "tts", "state": "sentence_start", "text": VALUE})),
        place("alert status", alert(VALUE, "mcp-hil", "neutral")),
        place("alert message", alert("mcp-hil", VALUE, "neutral")),
        place("alert emotion", alert("mcp-hil", "mcp-hil", VALUE)),
        place("system command", json!({"type": "system", "command": VALUE})),
        place("custom payload", json!({"type": "custom", "payload": VALUE})),
        place("iot commands", json!({"type": "iot", "commands": VALUE})),
        place("listen state", json!({"type": "listen", "state": VALUE, "mode": "auto"})),
        place("abort reason", json!({"type": "abort", "reason": VALUE})),
    ]
}

/// Places of `initialize`. Addresses for pictures stay as they are.
fn of_initialize() -> Vec<Place> {
    let place = |name: &'static str, params: Value| Place::new(name, request("initialize", params));
    let client = |name: Value, version: Value| json!({"capabilities": {}, "clientInfo": {"name": name, "version": version}});
    vec![
        place("initialize params", json!(VALUE)),
        place("initialize capabilities", json!({"capabilities": VALUE})),
        place("initialize protocolVersion", json!({"protocolVersion": VALUE, "capabilities": {}})),
        place("initialize capabilities.tools", json!({"capabilities": {"tools": VALUE}})),
        place("initialize capabilities.vision", json!({"capabilities": {"vision": VALUE}}))
            .without(is_text),
        place(
            "initialize capabilities.vision.url",
            json!({"capabilities": {"vision": {"url": VALUE}}}),
        )
        .without(is_text),
        place("initialize clientInfo", json!({"capabilities": {}, "clientInfo": VALUE})),
        place("initialize clientInfo.name", client(json!(VALUE), json!("1"))),
        place("initialize clientInfo.version", client(json!("mcp-hil"), json!(VALUE))),
    ]
}

/// Places of `tools/call`.
fn of_call(context: &Context) -> Vec<Place> {
    let place = |name: &'static str, params: Value| Place::new(name, request("tools/call", params));
    let mut places = vec![
        place("tools/call params", json!(VALUE)),
        place("tools/call name", json!({"name": VALUE, "arguments": {}})).wrong(
            Id::CallNameType,
            Answer::Refused,
            '"',
        ),
        place("tools/call arguments, unknown tool", json!({"name": NO_TOOL, "arguments": VALUE})),
    ];
    if context.can("nullary") {
        let tool = "${nullary.tool}";
        places.extend([
            // Whether a tool without arguments minds is a SHOULD of its own.
            place("tools/call arguments, none needed", json!({"name": tool, "arguments": VALUE})),
            place("tools/call _meta", json!({"name": tool, "arguments": {}, "_meta": VALUE})),
            place(
                "tools/call, another argument",
                json!({"name": tool, "arguments": {"mcpHil": VALUE}}),
            ),
            place(
                "tools/call, another parameter",
                json!({"name": tool, "arguments": {}, "mcpHil": VALUE}),
            ),
        ]);
    }
    if context.can("integer") {
        let params = json!({"name": "${integer.tool}", "arguments": VALUE});
        places.push(
            place("tools/call arguments", params)
                .wrong(Id::CallArgumentsObject, Answer::Refused, '{')
                // No document tells of these.
                .without(|kind| ["null", "true", "false"].contains(&kind)),
        );
    }
    places
}

/// For every argument of every tool that may be called, the call with each kind of value that is of another type than
/// the argument's.
fn wrong_kinds(context: &Context) -> Vec<Cell> {
    let mut cells = Vec::new();
    for tool in context.tools() {
        for argument in &tool.arguments {
            let rest = others(tool, argument);
            for (kind, value) in KINDS {
                let Some((requirement, value)) =
                    value.and_then(|value| Some((wrong_type(argument, value)?, value)))
                else {
                    continue;
                };
                let mut members: Vec<String> =
                    rest.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
                members.push(format!("{}:{value}", json!(argument.name)));
                let message = raw_call(&tool.name, &format!("{{{}}}", members.join(",")));
                let place = format!("{} {}", tool.name, argument.name);
                cells.push(Cell { place, kind, step: refusal(message, requirement) });
            }
        }
    }
    cells
}

/// The requirement that a value, spelled as JSON text, is of another type than the argument takes.
fn wrong_type(argument: &Argument, value: &str) -> Option<Id> {
    let first = value.chars().next()?;
    let is_number = first == '-' || first.is_ascii_digit();
    let is_wrong = match argument.kind {
        Kind::Integer { .. } => !is_number || value.contains('.'),
        Kind::Boolean => !matches!(first, 't' | 'f'),
        Kind::Text { .. } => first != '"' && (argument.required || argument.default.is_some()),
        Kind::Samples(_) | Kind::Other => false,
    };
    if !is_wrong {
        return None;
    }
    Some(match (&argument.kind, first) {
        (Kind::Integer { .. }, _) if is_number => Id::ArgumentsFraction,
        _ if argument.default.is_some() => Id::ArgumentsDefaultWrongType,
        (Kind::Boolean, _) => Id::ArgumentsBooleanWrongType,
        (Kind::Text { .. }, _) => Id::ArgumentsStringWrongType,
        (_, '"') => Id::ArgumentsStringForInteger,
        (_, 't' | 'f') => Id::ArgumentsBooleanForInteger,
        (_, 'n') => Id::ArgumentsNullForInteger,
        _ => Id::ArgumentsStructuredForInteger,
    })
}
