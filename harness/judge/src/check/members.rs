//! Optional members of results and of the device's notifications: where they are there, they have the type that MCP's
//! schema gives them. What the device claims in `initialize` holds later.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::wire::as_integer;
use serde_json::{Map, Value};

use super::answer::proof;
use super::pending::{Open, PendingRequests};
use super::sink::{Sink, evidence};

/// What a value has to be, in words and by the eye.
type Form = (&'static str, fn(&Value) -> bool);

const OBJECT: Form = ("an object", Value::is_object);
const STRING: Form = ("a string", Value::is_string);
const BOOLEAN: Form = ("a boolean", Value::is_boolean);
const ROLES: Form = ("an array of \"user\" and \"assistant\"", |value| {
    let is_role = |role: &Value| role == "user" || role == "assistant";
    value.as_array().is_some_and(|roles| roles.iter().all(is_role))
});
const PRIORITY: Form = ("a number from 0 to 1", |value| {
    value.as_f64().is_some_and(|priority| (0.0..=1.0).contains(&priority))
});

/// Optional members of results by method (MCP 2024-11-05, schema); `*` is each item of an array.
const MEMBERS: [(&str, &str, Form); 9] = [
    ("", "_meta", OBJECT),
    ("initialize", "instructions", STRING),
    ("initialize", "capabilities/experimental", OBJECT),
    ("initialize", "capabilities/logging", OBJECT),
    ("initialize", "capabilities/prompts", OBJECT),
    ("initialize", "capabilities/resources", OBJECT),
    ("tools/call", "content/*/annotations", OBJECT),
    ("tools/call", "content/*/annotations/audience", ROLES),
    ("tools/call", "content/*/annotations/priority", PRIORITY),
];

/// The revision that brought `structuredContent`.
const STRUCTURED_SINCE: &str = "2025-06-18";

/// Members that later revisions added, by the revision (its date) from which on they mean something: before, they are
/// members like any other that no document knows.
const LATER_MEMBERS: [(&str, &str, &str, Form); 8] = [
    ("2025-03-26", "tools/list", "tools/*/annotations", OBJECT),
    ("2025-03-26", "tools/list", "tools/*/annotations/title", STRING),
    ("2025-03-26", "tools/list", "tools/*/annotations/readOnlyHint", BOOLEAN),
    ("2025-03-26", "tools/list", "tools/*/annotations/destructiveHint", BOOLEAN),
    ("2025-06-18", "tools/list", "tools/*/title", STRING),
    ("2025-06-18", "tools/list", "tools/*/outputSchema", OBJECT),
    ("2025-06-18", "tools/list", "tools/*/_meta", OBJECT),
    (STRUCTURED_SINCE, "tools/call", "structuredContent", OBJECT),
];

/// Optional members without which an answer says something else: in what of a method's result, and how each is spelled
/// (MCP 2024-11-05, schema).
const NAMES: [(&str, &str, &str); 3] = [
    ("initialize", "/capabilities/tools", "listChanged"),
    ("tools/list", "", "nextCursor"),
    ("tools/call", "", "isError"),
];

/// Levels of `notifications/message` (MCP 2024-11-05, server/utilities/logging).
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What belongs to a capability of `initialize`: a request that a device that claims it knows.
/// Logging is none: who claims it sends log messages, and need not let their level be set.
const SERVED: [(&str, &str); 2] = [("resources", "resources/list"), ("prompts", "prompts/list")];

/// Notifications that a device says in `initialize` that it sends, and where it says so (MCP 2024-11-05, server/utilities/logging,
/// server/tools, server/resources and server/prompts, "Capabilities").
const DECLARED: [(&str, &str, Id); 5] = [
    ("notifications/message", "/logging", Id::NotificationsLogDeclared),
    ("notifications/tools/list_changed", "/tools/listChanged", Id::NotificationsChangeDeclared),
    ("notifications/prompts/list_changed", "/prompts/listChanged", Id::NotificationsChangeDeclared),
    (
        "notifications/resources/list_changed",
        "/resources/listChanged",
        Id::NotificationsChangeDeclared,
    ),
    ("notifications/resources/updated", "/resources/subscribe", Id::NotificationsChangeDeclared),
];

/// JSON-RPC's code of methods that do not exist.
const METHOD_NOT_FOUND: i64 = -32601;

/// What the device has said of itself in `initialize`.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// What the first `initialize` for each version got, as far as it stays the same.
    first: Vec<(Value, [Option<String>; 3])>,
    /// The capabilities of the latest one.
    capabilities: Vec<String>,
    /// The places of all that it ever declared of [`DECLARED`]; nothing before the first `initialize` was answered.
    declared: Option<BTreeSet<&'static str>>,
    /// The version of the protocol that it got.
    version: String,
    /// Whether one of [`SERVED`] was ever among them.
    has_more: bool,
    /// The device has sent a notification of progress.
    has_progress: bool,
    /// The latest progress of a request, by where it was sent.
    progress: BTreeMap<u64, f64>,
}

/// Most requests whose progress is remembered.
const REQUESTS: usize = 32;

/// Most versions that are remembered.
const VERSIONS: usize = 32;

impl Claims {
    /// Whether the device ever claimed more than tools.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether the device ever told of progress.
    pub(super) fn has_progress(&self) -> bool {
        self.has_progress
    }

    /// Whether the revision that the device speaks lets it leave out an id that it could not read.
    pub(super) fn may_leave_out_ids(&self) -> bool {
        self.version.as_str() >= "2025-11-25"
    }

    /// The device answered a request.
    pub(super) fn answered(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let method = open.duty.method.as_deref().unwrap_or_default();
        let served = SERVED.iter().find(|(_, known)| *known == method);
        if let Some((claimed, _)) = served
            && self.capabilities.iter().any(|capability| capability == claimed)
        {
            let code = payload.get("error").and_then(|error| error.get("code"));
            let known = code.and_then(as_integer) != Some(METHOD_NOT_FOUND);
            sink.test_once(Id::InitializeCapabilitiesServed, known, || {
                let expected = format!("{method} exists, as initialize claims `{claimed}`");
                proof(&expected, payload, Some(open), seq)
            });
        }
        let Some(result) = payload.get("result") else {
            return;
        };
        judge_members(method, result, &self.version, (payload, open, seq), sink);
        judge_names(method, result, (payload, open, seq), sink);
        if method == "initialize" {
            self.initialized(result, (payload, open, seq), sink);
        }
    }

    /// Judges a notification of the device that MCP knows.
    pub(super) fn notified(
        &mut self,
        payload: &Map<String, Value>,
        pending: &PendingRequests,
        seq: u64,
        sink: &mut Sink,
    ) {
        if payload.contains_key("id") {
            return;
        }
        self.judge_declared(payload, seq, sink);
        let received = || Value::Object(payload.clone()).to_string();
        let member = |name: &str| payload.get("params").and_then(|params| params.get(name));
        match payload.get("method").and_then(Value::as_str) {
            Some("notifications/progress") => {
                self.has_progress = true;
                if pending.has_odd_token() {
                    return;
                }
                let token = member("progressToken");
                let total = member("total").is_none_or(Value::is_number);
                let holds = token.is_some_and(|token| token.is_string() || token.is_number())
                    && member("progress").is_some_and(Value::is_number)
                    && total;
                sink.test(Id::McpMemberTypes, holds, || {
                    let expected = "progressToken a string or number; progress, and total where it is there, numbers";
                    evidence(expected, received(), seq)
                });
                let asked = token.is_some_and(|token| pending.has_token(token));
                sink.test(Id::NotificationsProgressToken, asked, || {
                    evidence(
                        "a progressToken of a request that is not answered yet",
                        received(),
                        seq,
                    )
                });
                let progress = member("progress").and_then(Value::as_f64);
                if let (Some(asked), Some(progress)) =
                    (token.and_then(|token| pending.only_with_token(token)), progress)
                {
                    let before = self.progress.insert(asked, progress);
                    if self.progress.len() > REQUESTS {
                        self.progress.pop_first();
                    }
                    let more = before.is_none_or(|before| progress > before);
                    sink.test(Id::NotificationsProgressIncreases, more, || {
                        let before = before.unwrap_or_default();
                        let expected = format!("progress above {before}, as told before");
                        evidence(expected, received(), seq)
                    });
                }
            }
            Some("notifications/message") => {
                let level = member("level").and_then(Value::as_str);
                let holds = level.is_some_and(|level| LEVELS.contains(&level))
                    && member("data").is_some()
                    && member("logger").is_none_or(Value::is_string);
                sink.test(Id::McpMemberTypes, holds, || {
                    let levels = LEVELS.join(", ");
                    let expected = format!("level one of {levels}; data; logger a string");
                    evidence(expected, received(), seq)
                });
            }
            _ => {}
        }
    }

    /// Judges whether a notification of the device is of a kind that it has said it sends.
    fn judge_declared(&self, payload: &Map<String, Value>, seq: u64, sink: &mut Sink) {
        sink.held(Id::NotificationsLogDeclared);
        sink.held(Id::NotificationsChangeDeclared);
        let Some(declared) = &self.declared else { return };
        let method = payload.get("method").and_then(Value::as_str).unwrap_or_default();
        let known = DECLARED.iter().find(|(kind, ..)| *kind == method);
        if let Some((_, place, requirement)) = known {
            sink.test_once(*requirement, declared.contains(place), || {
                let place = place.trim_start_matches('/').replace('/', ".");
                let expected = format!("`{place}` among the capabilities of initialize");
                evidence(expected, Value::Object(payload.clone()).to_string(), seq)
            });
        }
    }

    fn initialized(&mut self, result: &Value, (payload, open, seq): Exchange<'_>, sink: &mut Sink) {
        let capabilities = result.get("capabilities").and_then(Value::as_object);
        self.capabilities = capabilities.into_iter().flat_map(Map::keys).cloned().collect();
        let says = |place: &str| {
            let said = result.get("capabilities").and_then(|all| all.pointer(place));
            said.is_some_and(|said| !matches!(said, Value::Null | Value::Bool(false)))
        };
        let places = DECLARED.iter().map(|(_, place, _)| *place).filter(|place| says(place));
        self.declared.get_or_insert_default().extend(places);
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        version.clone_into(&mut self.version);
        let sent: Value = serde_json::from_str(&open.text).unwrap_or_default();
        let claims = |known: &(&str, &str)| self.capabilities.iter().any(|one| one == known.0);
        self.has_more |= SERVED.iter().any(claims);
        let asked = sent.pointer("/payload/params/protocolVersion").cloned().unwrap_or_default();
        let said = ["/protocolVersion", "/serverInfo/name", "/serverInfo/version"]
            .map(|place| result.pointer(place).and_then(Value::as_str).map(str::to_owned));
        match self.first.iter().find(|(version, _)| *version == asked) {
            Some((_, first)) => {
                let is_supported = asked.is_string() && first[0].as_deref() == asked.as_str();
                let is_kept = !is_supported || first[0] == said[0];
                sink.test_once(Id::InitializeVersionNegotiated, is_kept, || {
                    let expected = format!("protocolVersion {asked}, which the device supports");
                    proof(&expected, payload, Some(open), seq)
                });
                sink.test_once(Id::InitializeRepeatSame, *first == said, || {
                    let said_first = first.each_ref().map(|said| said.clone().unwrap_or_default());
                    let expected = format!("as in an initialize before: {}", said_first.join(", "));
                    proof(&expected, payload, Some(open), seq)
                });
            }
            None if self.first.len() < VERSIONS => self.first.push((asked, said)),
            None => {}
        }
    }
}

/// An answer, its request, and where it is.
type Exchange<'a> = (&'a Map<String, Value>, &'a Open, u64);

fn judge_members(
    method: &str,
    result: &Value,
    version: &str,
    (payload, open, seq): Exchange<'_>,
    sink: &mut Sink,
) {
    // None of them need be there.
    sink.held(Id::McpMemberTypes);
    if method == "tools/call" {
        judge_structured(result, version, (payload, open, seq), sink);
    }
    let later = LATER_MEMBERS.iter().filter(|(since, ..)| version >= *since);
    let members = MEMBERS.into_iter().chain(later.map(|(_, of, place, form)| (*of, *place, *form)));
    for (of, place, (form, is_such)) in members {
        if !of.is_empty() && of != method {
            continue;
        }
        let steps: Vec<&str> = place.split('/').collect();
        let mut found = Vec::new();
        collect(result, &steps, &mut found);
        if found.is_empty() {
            continue;
        }
        sink.test(Id::McpMemberTypes, found.into_iter().all(is_such), || {
            proof(&format!("{place} as {form}"), payload, Some(open), seq)
        });
    }
}

/// Judges what a device tells as the revision has it that brought that, though it speaks an earlier one, to which it is a
/// member like any other.
fn judge_structured(result: &Value, version: &str, answered: Exchange<'_>, sink: &mut Sink) {
    let (payload, open, seq) = answered;
    let told = result.get("structuredContent").filter(|told| !told.is_null());
    let is_later = version >= STRUCTURED_SINCE;
    sink.test_once(Id::CallStructuredObject, is_later || told.is_none_or(Value::is_object), || {
        proof("structuredContent as an object", payload, Some(open), seq)
    });
}

/// Judges how members are spelled: under `next_cursor` nobody looks for the next page.
fn judge_names(method: &str, result: &Value, answered: Exchange<'_>, sink: &mut Sink) {
    let (payload, open, seq) = answered;
    sink.held(Id::McpMemberNames);
    for (_, place, name) in NAMES.into_iter().filter(|(of, ..)| *of == method) {
        let Some(Value::Object(members)) = result.pointer(place) else { continue };
        let is_meant = |(other, value): &(&String, &Value)| {
            letters(other).eq(letters(name))
                && !matches!(value, Value::Null | Value::Bool(false))
                && **value != ""
        };
        let is_there = members.contains_key(name);
        let found = members.iter().find(|member| !is_there && is_meant(member));
        sink.test_once(Id::McpMemberNames, found.is_none(), || {
            let other = found.map(|(other, _)| other.as_str()).unwrap_or_default();
            proof(&format!("`{name}`, and not `{other}`"), payload, Some(open), seq)
        });
    }
}

/// What is left of a name when it is spelled in the manner of another language.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase())
}

/// The values at a place.
fn collect<'a>(value: &'a Value, place: &[&str], found: &mut Vec<&'a Value>) {
    match place {
        [] => found.push(value),
        ["*", rest @ ..] => {
            let items = value.as_array().into_iter().flatten();
            items.for_each(|item| collect(item, rest, found));
        }
        [name, rest @ ..] => {
            if let Some(member) = value.get(name) {
                collect(member, rest, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::obligation::Duty;
    use rstest::rstest;
    use serde_json::json;

    fn open() -> Open {
        Open {
            seq: 0,
            at_us: 0,
            case: "a/a".into(),
            step: None,
            link: 1,
            duty: Duty::default(),
            text: "{}".into(),
            in_line: false,
        }
    }

    #[rstest]
    #[case("2024-11-05", json!({"_meta": 1}), true)]
    #[case("2024-11-05", json!({"tools": [{"title": 1, "annotations": [], "outputSchema": 0}]}), false)]
    #[case("2025-03-26", json!({"tools": [{"title": 1, "annotations": {}, "outputSchema": 0}]}), false)]
    #[case("2025-03-26", json!({"tools": [{"annotations": {"readOnlyHint": "yes"}}]}), true)]
    #[case("2025-06-18", json!({"tools": [{"title": "a"}, {"title": 1}]}), true)]
    #[case("2025-06-18", json!({"tools": [{"title": 1, "outputSchema": 0}]}), true)]
    #[case("", json!({"tools": [{"title": 1}]}), false)]
    fn members_are_judged_by_the_version_that_has_them(
        #[case] version: &str,
        #[case] result: Value,
        #[case] is_found: bool,
    ) {
        let mut sink = Sink::default();
        let payload = Map::from_iter([("result".to_owned(), result.clone())]);
        judge_members("tools/list", &result, version, (&payload, &open(), 1), &mut sink);
        assert_eq!(!sink.found.is_empty(), is_found);
    }

    #[rstest]
    #[case("tools/list", json!({"next_cursor": "a"}), true)]
    #[case("tools/list", json!({"nextcursor": "a"}), true)]
    #[case("tools/list", json!({"next_cursor": ""}), false)]
    #[case("tools/list", json!({"next_cursor": "a", "nextCursor": "a"}), false)]
    #[case("tools/list", json!({"is_error": true}), false)]
    #[case("tools/call", json!({"is_error": true}), true)]
    #[case("tools/call", json!({"is_error": false}), false)]
    #[case("initialize", json!({"capabilities": {"tools": {"list_changed": true}}}), true)]
    #[case("initialize", json!({"capabilities": {"tools": {"listChanged": true}}}), false)]
    fn members_are_named_as_in_the_schema(
        #[case] method: &str,
        #[case] result: Value,
        #[case] is_found: bool,
    ) {
        let mut sink = Sink::default();
        let payload = Map::from_iter([("result".to_owned(), result.clone())]);
        judge_names(method, &result, (&payload, &open(), 1), &mut sink);
        assert_eq!(!sink.found.is_empty(), is_found);
    }
}
