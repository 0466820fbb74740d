//! Checks on every answer: its JSON-RPC shape, its id, and what the results of `initialize` and
//! `tools/call` hold.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::Unmatched;
use super::log::tells_failure;
use super::pending::Open;
use super::sink::{Sink, evidence};
use mcp_hil_core::capability::PHOTO_TOOL;
use mcp_hil_core::obligation::{EXACT_IN_DOUBLE, Owes};
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::as_integer;

/// The revisions of MCP that were published.
const REVISIONS: [&str; 5] = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Whether a version of the form YYYY-MM-DD is a date behind the last revision that is known here.
fn is_later(version: &str) -> bool {
    let number = |from: usize, to: usize| version[from..to].parse::<u8>().unwrap_or(0);
    let is_date = (1..=12).contains(&number(5, 7)) && (1..=31).contains(&number(8, 10));
    is_date && REVISIONS.iter().all(|known| version > *known)
}

/// Evidence from an answer and its request.
pub(crate) fn proof(
    expected: &str,
    payload: &Map<String, Value>,
    open: Option<&Open>,
    seq: u64,
) -> Evidence {
    Evidence {
        expected: expected.to_owned(),
        received: Value::Object(payload.clone()).to_string(),
        sent: open.map(|open| open.text.to_string()),
        seq: Some(seq),
    }
}

/// The error of an answer. `"error": null` beside a result is one fault of form, and no error.
pub(crate) fn error_of(payload: &Map<String, Value>) -> Option<&Value> {
    payload.get("error").filter(|error| !(error.is_null() && payload.contains_key("result")))
}

/// Whether an answer is an error with a code that servers define themselves (JSON-RPC 2.0, section 5.1).
pub(crate) fn is_servers_own(payload: &Map<String, Value>) -> bool {
    let code = error_of(payload).and_then(|error| error.get("code")).and_then(as_integer);
    code.is_some_and(|code| (-32099..=-32000).contains(&code))
}

/// Judges the shape of an answer, whoever asked (JSON-RPC 2.0 sections 5 and 5.1).
pub(crate) fn judge_shape(
    seq: u64,
    payload: &Map<String, Value>,
    open: Option<&Open>,
    sink: &mut Sink,
) {
    if payload.contains_key("id") {
        sink.held(Id::JsonrpcIdMember);
    }
    let result = payload.get("result");
    sink.test(Id::JsonrpcResultXorError, result.is_some() != payload.contains_key("error"), || {
        proof("exactly one of `result` and `error`", payload, open, seq)
    });
    if let Some(result) = result {
        sink.test(Id::JsonrpcResultObject, result.is_object(), || {
            proof("`result` as an object", payload, open, seq)
        });
    }
    let foreign = ["method", "params"].into_iter().find(|name| payload.contains_key(*name));
    sink.test_once(Id::JsonrpcAnswerMembers, foreign.is_none(), || {
        let expected = format!("an answer without `{}`", foreign.unwrap_or_default());
        proof(&expected, payload, open, seq)
    });
    let Some(error) = error_of(payload) else {
        return;
    };
    if sink.test(Id::ErrorsObject, error.is_object(), || {
        proof("`error` as an object", payload, open, seq)
    }) {
        let code = error.get("code");
        let integer = code.and_then(as_integer).is_some();
        sink.test(Id::ErrorsCodeInteger, integer, || {
            proof("error.code is an integer", payload, open, seq)
        });
        let message = error.get("message").and_then(Value::as_str);
        sink.test(Id::ErrorsMessageString, message.is_some(), || {
            proof("error.message is a string", payload, open, seq)
        });
        if let Some(message) = message {
            // A method or tool without a name may be all that the message would tell of.
            let is_named = open.is_none_or(|open| {
                let names = [&open.duty.method, &open.duty.tool];
                names.into_iter().flatten().all(|name| !name.trim().is_empty())
            });
            sink.test(Id::ErrorsMessageNotEmpty, !is_named || !message.trim().is_empty(), || {
                proof("error.message describes the error", payload, open, seq)
            });
        }
    }
}

/// Judges an answer against what was owed for its request.
pub(crate) fn judge_owed(seq: u64, payload: &Map<String, Value>, open: &Open, sink: &mut Sink) {
    let is_error = error_of(payload).is_some();
    match open.duty.owes {
        Owes::Answer | Owes::Nothing => {
            sink.held(if is_error { Id::IdsErrorEcho } else { Id::IdsEcho });
            sink.held(Id::JsonrpcOneAnswer);
            sink.held(Id::JsonrpcNoUnsolicitedAnswer);
            if open.duty.owes == Owes::Answer {
                sink.held(Id::JsonrpcAnswerRequired);
            }
        }
        Owes::Silence(requirement) => {
            sink.test(requirement, false, || proof("no answer", payload, Some(open), seq));
        }
        Owes::NoSuccess(requirement) => {
            // Devices that tell all that is wrong with a call by a result say it this way here, too.
            let refused = open.duty.method.as_deref() == Some("tools/call")
                && payload.get("result").is_some_and(|result| result["isError"] == true)
                && requirement == Id::JsonrpcParamsStructured;
            sink.test(requirement, is_error || refused, || {
                proof("silence or an error", payload, Some(open), seq)
            });
        }
    }
    let Some(result) = payload.get("result") else {
        return;
    };
    match open.duty.method.as_deref() {
        Some("initialize") => judge_initialize(seq, payload, result, open, sink),
        Some("tools/call") => judge_call(seq, payload, result, open, sink),
        _ => {}
    }
}

/// Judges the answer to the first `initialize` of a link: it opens the session, and must not be
/// refused. The form that it was sent in names the requirement; one without what MCP requires may be
/// refused.
pub(crate) fn judge_opening(seq: u64, payload: &Map<String, Value>, open: &Open, sink: &mut Sink) {
    let full = open.text.contains("\"clientInfo\"");
    let requirement = if full { Id::InitializeFull } else { Id::InitializeMinimal };
    let may_be_refused = !full && error_of(payload).is_some();
    sink.test(requirement, may_be_refused || payload.contains_key("result"), || {
        proof("initialize is accepted", payload, Some(open), seq)
    });
}

/// What MCP's capabilities of servers hold, each a boolean.
const FLAGS: [&str; 2] = ["listChanged", "subscribe"];

fn judge_initialize(
    seq: u64,
    payload: &Map<String, Value>,
    result: &Value,
    open: &Open,
    sink: &mut Sink,
) {
    static DATE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\d{2}-\d{2}$").expect("a constant pattern"));
    let version = result.get("protocolVersion").and_then(Value::as_str);
    sink.test(
        Id::InitializeProtocolVersion,
        version.is_some_and(|version| DATE.is_match(version)),
        || proof("protocolVersion of the form YYYY-MM-DD", payload, Some(open), seq),
    );
    // A version that was only repeated is judged where one is requested that does not exist.
    if let Some(version) = version
        .filter(|version| DATE.is_match(version) && !open.text.contains(&format!("\"{version}\"")))
    {
        let known = REVISIONS.contains(&version) || is_later(version);
        sink.test(Id::InitializeVersionPublished, known, || {
            let expected = format!("a published protocolVersion: {}", REVISIONS.join(", "));
            proof(&expected, payload, Some(open), seq)
        });
    } else if version.is_some_and(|version| REVISIONS.contains(&version)) {
        sink.held(Id::InitializeVersionPublished);
    }
    let tools = result.get("capabilities").and_then(|capabilities| capabilities.get("tools"));
    sink.test(Id::InitializeCapabilitiesTools, tools.is_some_and(Value::is_object), || {
        proof("capabilities.tools as an object", payload, Some(open), seq)
    });
    let all = result.get("capabilities").and_then(Value::as_object).into_iter().flatten();
    let mut flags = all.flat_map(|(_, one)| FLAGS.iter().filter_map(|flag| one.get(*flag)));
    sink.test(Id::InitializeCapabilityFlags, flags.all(Value::is_boolean), || {
        proof("booleans for `listChanged` and `subscribe`", payload, Some(open), seq)
    });
    let info = result.get("serverInfo");
    let text = |name: &str| info.and_then(|info| info.get(name)).is_some_and(Value::is_string);
    sink.test(Id::InitializeServerInfo, text("name") && text("version"), || {
        proof("serverInfo with name and version as strings", payload, Some(open), seq)
    });
}

fn judge_call(
    seq: u64,
    payload: &Map<String, Value>,
    result: &Value,
    open: &Open,
    sink: &mut Sink,
) {
    let content = result.get("content").and_then(Value::as_array);
    sink.test(Id::CallContentArray, content.is_some(), || {
        proof("result.content as an array", payload, Some(open), seq)
    });
    if let Some(content) = content {
        sink.test(Id::CallContentItems, content.iter().all(is_content), || {
            proof(
                "content items of MCP: text with `text`; image or audio with base64 `data` and `mimeType`; \
                 a resource with `uri` and `text` or base64 `blob`",
                payload,
                Some(open),
                seq,
            )
        });
    }
    let flag = result.get("isError");
    sink.test(Id::CallIsErrorBoolean, flag.is_none_or(Value::is_boolean), || {
        proof("isError as a boolean", payload, Some(open), seq)
    });
    // Of a picture the backend's own words are handed on.
    if open.duty.tool.as_deref() != Some(PHOTO_TOOL) {
        let is_marked = flag == Some(&Value::Bool(true));
        sink.test(Id::CallFailureMarked, is_marked || !tells_failure(result), || {
            proof("isError true beside a text that tells of a failure", payload, Some(open), seq)
        });
    }
}

/// Whether an item of a tool's content has the members of its type (MCP, schema: TextContent, ImageContent,
/// AudioContent, EmbeddedResource, ResourceLink).
pub(crate) fn is_content(item: &Value) -> bool {
    let member = |name: &str| item.get(name).and_then(Value::as_str);
    match member("type") {
        Some("text") => member("text").is_some(),
        Some("image" | "audio") => {
            let both = member("data").zip(member("mimeType"));
            both.is_some_and(|(data, mime)| is_base64(data) && is_media(data, mime))
        }
        Some("resource") => item.get("resource").is_some_and(is_resource),
        Some("resource_link") => member("uri").is_some() && member("name").is_some(),
        _ => false,
    }
}

/// Whether an embedded resource says which one it is, and what it holds (schema: TextResourceContents,
/// BlobResourceContents).
fn is_resource(resource: &Value) -> bool {
    let member = |name: &str| resource.get(name).and_then(Value::as_str);
    let holds = member("text").is_some() || member("blob").is_some_and(is_base64);
    member("uri").is_some() && holds
}

/// Whether a text is base64, of either alphabet, also where lines are broken (RFC 4648, sections 3.2, 4 and 5).
fn is_base64(text: &str) -> bool {
    let characters: String = text.chars().filter(|c| !"\r\n".contains(*c)).collect();
    let data = characters.trim_end_matches('=');
    let is_one = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    characters.len().is_multiple_of(4)
        && characters.len() - data.len() <= 2
        && data.chars().all(is_one)
}

/// How pictures begin in base64, and what they are.
const PICTURES: [(&str, &str); 4] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];

/// Whether a media type is one, and not another than the data is of.
fn is_media(data: &str, mime: &str) -> bool {
    let plain = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_type =
        plain.split_once('/').is_some_and(|(kind, of)| !kind.is_empty() && !of.is_empty());
    let is_known = |kind: &str| PICTURES.iter().any(|(_, known)| *known == kind);
    let found = PICTURES.iter().find(|(begins, _)| data.starts_with(begins));
    is_type && found.is_none_or(|(_, known)| *known == plain || !is_known(&plain))
}

/// How much a number changes, in proportion, that is kept in single precision and shown with all its digits.
const SINGLE: f64 = 1e-7;

/// Judges an answer that came under another id than its request's.
pub(crate) fn judge_wrong_id(unmatched: &Unmatched, open: &Open, sink: &mut Sink) {
    let fraction =
        open.duty.id.as_ref().and_then(Value::as_f64).is_some_and(|id| id.fract() != 0.0);
    let came = unmatched.id.as_f64().zip(open.duty.id.as_ref().and_then(Value::as_f64));
    if fraction && came.is_some_and(|(came, sent)| (came - sent).abs() <= sent.abs() * SINGLE) {
        // A parser may limit the precision of numbers (RFC 8259, section 6).
        sink.held(Id::IdsFraction);
        return;
    }
    let is_exact =
        |id: &Value| as_integer(id).is_some_and(|id| id.unsigned_abs() <= EXACT_IN_DOUBLE);
    let (requirement, expected) = match (open.duty.owes, &open.duty.id) {
        (Owes::Answer, Some(id)) if unmatched.is_error => (Id::IdsErrorEcho, format!("id {id}")),
        (Owes::Answer, Some(id)) => (Id::IdsEcho, format!("id {id}")),
        (Owes::Nothing, Some(id)) if fraction => {
            (Id::IdsFraction, format!("id {id}, or a refusal"))
        }
        (Owes::Nothing, Some(id)) if id.is_number() && !is_exact(id) => {
            (Id::IdsAbove253, format!("id {id}, or a refusal"))
        }
        (Owes::NoSuccess(requirement), _) if !unmatched.is_error => {
            (requirement, "silence, or an error with id null".to_owned())
        }
        (Owes::Silence(requirement), _) => (requirement, "no answer".to_owned()),
        _ => (Id::JsonrpcNoUnsolicitedAnswer, "an error with the request's id or null".to_owned()),
    };
    let proof = Evidence {
        sent: Some(open.text.to_string()),
        ..evidence(expected, format!("{}: {}", unmatched.shown_id(), unmatched.text), unmatched.seq)
    };
    let (case, step) = (open.case.clone(), open.step.clone());
    // Who takes an id that others refuse has to give it back as it is (JSON-RPC 2.0, 5).
    // One that is null is entered nowhere, and its answer has nobody else to go to. An id that is of no kind that
    // there is cannot be detected, and then stands as null.
    if let (Owes::NoSuccess(_), Some(id), false) =
        (open.duty.owes, &open.duty.id, unmatched.is_error)
        && *id != unmatched.id
        && (id.is_string() || id.is_number() || !unmatched.id.is_null())
    {
        let proof = Evidence { expected: format!("id {id}, or no result"), ..proof.clone() };
        let outcome = Outcome::Broken(Box::new(proof));
        sink.add(Id::IdsEcho, case.clone(), step.clone(), outcome);
    }
    sink.add(requirement, case, step, Outcome::Broken(Box::new(proof)));
}
