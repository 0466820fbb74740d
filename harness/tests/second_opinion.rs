//! A second opinion: what `mcp-trace-validator` says about recorded sessions, beside what we say.
//!
//! It knows MCP of 2025-11-25 and nothing of devices: envelopes, tools' effects, silence and what is
//! no JSON are beyond it, and it judges the client as well, which here does wrong on purpose. Where it
//! says something else than we do, the tables below say why; a disagreement that they do not name
//! fails the test, and so does one that they name and that is gone.

#![cfg(not(feature = "hil"))]

mod support;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_conformance_core::requirement::Registry;
use mcp_hil_core::transcript::{Entry, What, read_jsonl};
use mcp_trace_validator::{engine, reader};
use serde_json::{Value, json};
use support::Place;

/// What crossed the link, in the form that the validator reads: one event a line. What is no JSON,
/// or no MCP message, cannot be said in it.
fn trace(entries: &[Entry]) -> String {
    let mut lines = String::new();
    for entry in entries {
        let (direction, frame) = match &entry.what {
            What::Sent { frame, .. } => ("client-to-server", frame),
            What::Received { frame } => ("server-to-client", frame),
            _ => continue,
        };
        let message: Option<Value> = serde_json::from_slice(frame.bytes()).ok();
        let payload = message
            .filter(|message| message["type"] == "mcp")
            .and_then(|message| message.get("payload").cloned());
        if let Some(payload) = payload {
            let event = json!({
                "seq": entry.seq,
                "direction": direction,
                "transport": "stdio",
                "kind": "message",
                "payload": payload,
            });
            lines += &event.to_string();
            lines += "\n";
        }
    }
    lines
}

/// The entries of the last run, in order.
fn entries(place: &Place) -> Vec<Entry> {
    let folder = place.latest().join("transcripts");
    let mut entries: Vec<Entry> = std::fs::read_dir(folder)
        .expect("transcripts")
        .flat_map(|file| {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
            read_jsonl(&text).expect("a transcript")
        })
        .collect();
    entries.sort_by_key(|entry| entry.seq);
    entries
}

/// What the validator finds in the last run.
#[derive(Debug, Default)]
struct Opinion {
    /// Clauses that it sees broken by a message of the harness.
    of_us: BTreeSet<String>,
    /// Clauses that it sees broken by a message of the device, with what it says.
    of_the_device: BTreeSet<(String, String)>,
}

impl Opinion {
    fn of(place: &Place) -> Self {
        let entries = entries(place);
        let trace = trace(&entries);
        let events = reader::parse_trace(&trace, &reader::Limits::default()).expect("a trace");
        let registry = Registry::builtin_2025_11_25().expect("its own registry");
        let mut opinion = Self::default();
        for row in engine::validate(&registry, &events).requirements {
            for finding in row.findings {
                let seq = finding.seq.expect("a finding names a message");
                let entry = entries.iter().find(|entry| entry.seq == seq);
                match entry.expect("an entry").what {
                    What::Sent { .. } => opinion.of_us.insert(row.id.clone()),
                    _ => opinion.of_the_device.insert((row.id.clone(), finding.detail)),
                };
            }
        }
        opinion
    }

    /// What it has against the device, as clauses, without what [`explained`] explains.
    fn against_the_device(&self) -> BTreeSet<&str> {
        let open = |(clause, detail): &&(String, String)| !explained(clause, detail);
        let all = self.of_the_device.iter().filter(open);
        all.map(|(clause, _)| clause.as_str()).collect()
    }
}

/// What the validator has against a device that does as the device documents say.
fn explained(clause: &str, detail: &str) -> bool {
    // An empty cursor asks for the first page (device-protocol, tools/list). The validator takes every
    // cursor that the server has not issued for a foreign one.
    let asks_for_first = detail.contains("presented the cursor \"\",");
    // A method that the device does not have is refused as that, whatever its cursor.
    let is_unknown = !detail.contains("`tools/list`") && detail.contains("error -32601 rather");
    clause == "PAGE-003" && (asks_for_first || is_unknown)
}

/// Clauses that the harness breaks, on purpose, and how.
const OURS: [(&str, &str); 12] = [
    ("BASE-001", "ids that are fractions, booleans, null, arrays, objects"),
    ("BASE-002", "the id null"),
    ("BASE-003", "ids once more, after they were answered"),
    ("BASE-004", "results, although the device asked nothing"),
    ("BASE-005", "notifications with an id"),
    ("BASE-006", "errors that are no error objects, although the device asked nothing"),
    ("BASE-008", "requests with another `jsonrpc`, or without it"),
    ("BASE-009", "errors, although the device asked nothing"),
    ("BASE-010", "an id and nothing else"),
    ("LIFE-009", "methods of capabilities that the device does not have"),
    ("PAGE-002", "cursors that the device never gave"),
    ("TRAN-005", "what is no message of MCP at all"),
];

/// Mutants that both find: mutant, case, clause of the validator.
const BOTH: [(&str, &str, &str); 30] = [
    ("id-as-string", "ids/large", "BASE-004"),
    ("id-int32-saturated", "ids/large", "BASE-004"),
    ("id-single-precision", "ids/errors", "BASE-009"),
    ("id-previous", "initialize/full", "BASE-004"),
    ("answer-twice", "jsonrpc/case-sensitive", "BASE-004"),
    ("answer-neither", "jsonrpc/case-sensitive", "BASE-010"),
    ("answer-result-and-error", "jsonrpc/case-sensitive", "BASE-008"),
    ("answer-error-null", "initialize/capabilities", "BASE-008"),
    ("answer-unsolicited", "hello/connect", "BASE-004"),
    ("answer-version-missing", "jsonrpc/case-sensitive", "BASE-008"),
    ("answer-version-number", "jsonrpc/case-sensitive", "BASE-008"),
    ("notification-answered", "notifications/id-less-call", "BASE-004"),
    ("notification-version-missing", "notifications/from-device", "BASE-008"),
    ("device-notification-id-number", "notifications/from-device", "BASE-005"),
    ("device-notification-method-number", "notifications/from-device", "BASE-008"),
    ("error-code-string", "errors/hostile-method", "BASE-007"),
    ("error-code-fraction", "errors/hostile-method", "BASE-007"),
    ("error-code-missing", "errors/hostile-method", "BASE-006"),
    ("error-message-missing", "errors/hostile-method", "BASE-006"),
    ("error-message-null", "errors/hostile-tool", "BASE-006"),
    ("error-array", "errors/hostile-method", "BASE-006"),
    ("error-string", "errors/hostile-method", "BASE-006"),
    ("unknown-method-succeeds", "errors/method-not-found", "RES-001"),
    ("initialize-version-missing", "initialize/capabilities", "LIFE-006"),
    ("initialize-server-info-missing", "initialize/capabilities", "LIFE-010"),
    ("initialize-tools-missing", "initialize/capabilities", "TOOL-001"),
    ("cursor-unknown-first-page", "list/cursor-unknown", "PAGE-003"),
    ("cursor-unknown-code", "list/cursor-unknown", "PAGE-003"),
    ("list-tool-twice", "list/callable", "TOOL-008"),
    ("list-schema-string", "list/callable", "TOOL-003"),
];

/// Mutants that we find and the validator does not: mutant, case, and why.
const WE_ALONE: [(&str, &str, &str); 19] = [
    (
        "id-error-null",
        "ids/errors",
        "it takes the id null as that of a request that could not be read",
    ),
    ("id-error-missing", "ids/errors", "the same"),
    ("id-string-executed", "ids/string-no-effect", "MCP allows strings as ids; devices must not"),
    (
        "answer-missing",
        "list/callable",
        "a trace may end before the answer, so silence is no finding",
    ),
    ("unknown-tool-silent", "call/name-exact", "the same"),
    ("device-notification-params-string", "notifications/from-device", "`params` is not looked at"),
    (
        "device-notification-result",
        "initialize/full",
        "an answer without an id counts as a notification",
    ),
    ("unknown-method-32000", "errors/method-not-found", "MCP names no code for unknown methods"),
    ("initialize-version-echoed", "initialize/version", "it cannot know what a server supports"),
    (
        "initialize-server-name-missing",
        "initialize/capabilities",
        "inside `serverInfo` nothing is looked at",
    ),
    (
        "initialize-tools-true",
        "initialize/capabilities",
        "a capability is declared, whatever its value",
    ),
    ("page-cursor-loops", "list/callable", "pages are not followed"),
    ("list-name-missing", "list/callable", "only names that are there are judged"),
    ("list-schema-missing", "list/callable", "only schemas that are there are judged"),
    ("list-order-changes", "list/pages", "lists are not compared"),
    ("call-content-missing", "call/arguments-object", "results of calls are not looked at"),
    ("call-is-error-string", "call/arguments-object", "the same"),
    ("argument-above-clamped", "arguments/effect", "it does not know what a call is to do"),
    ("session-id-stale", "hello/connect", "the envelope is no part of MCP"),
];

/// Runs the program against a mutant, strictly and with all rules: whether we find something, and
/// what the validator has against the device.
fn tried(mutant: &str, case: &str) -> (bool, BTreeSet<String>) {
    let place = Place::new();
    let rules = ["xiaozhi", "jsonrpc-2.0", "mcp-2024-11-05"];
    let mut arguments = vec!["run", "--strict", "--cases", "0", "--deadline", "1"];
    arguments.extend(rules.iter().flat_map(|rule| ["--rules", *rule]));
    arguments.extend(["--mutant", mutant, "--only", case]);
    place.hil(arguments).end().exits(1);
    let cases = place.report()["cases"].clone();
    let fails = |case: &Value| case["verdict"] == "fail";
    let found = cases.as_array().expect("cases").iter().any(fails);
    let against = Opinion::of(&place);
    let against = against.against_the_device().into_iter();
    (found, against.map(str::to_owned).collect())
}

/// Tries each row, several at a time. What a row complains of is collected.
fn each<R: Sync>(rows: &[R], check: impl Fn(&R) -> Option<String> + Sync) -> Vec<String> {
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let complaint = check(row);
                    complaints.lock().expect("no panic").extend(complaint);
                }
            });
        }
    });
    complaints.into_inner().expect("no panic")
}

#[test]
fn neither_has_anything_against_the_good_device() {
    let place = Place::new();
    // On a busy machine time would end what is generated sooner, and less of it would be seen.
    place.hil(["run", "--strict", "--seed", "1", "--max-time", "1h"]).end().exits(0);
    let opinion = Opinion::of(&place);
    assert_eq!(opinion.against_the_device(), BTreeSet::new(), "{opinion:#?}");
    assert!(!opinion.of_the_device.is_empty(), "`explained` is out of date");
    let ours: BTreeSet<&str> = opinion.of_us.iter().map(String::as_str).collect();
    assert_eq!(ours, OURS.map(|(clause, _)| clause).into());
}

#[test]
fn what_the_validator_finds_is_found_here_too() {
    let complaints = each(&BOTH, |(mutant, case, clause)| {
        let (found, against) = tried(mutant, case);
        let agreed = found && against.contains(*clause);
        (!agreed).then(|| format!("{mutant}: found {found}, validator {against:?}"))
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn what_only_we_find_has_a_reason() {
    let complaints = each(&WE_ALONE, |(mutant, case, why)| {
        let (found, against) = tried(mutant, case);
        let as_told = found && against.is_empty();
        (!as_told).then(|| format!("{mutant} ({why}): found {found}, validator {against:?}"))
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}
