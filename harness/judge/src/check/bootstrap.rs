//! Checks on the request by which a device asks for its configuration.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::sink::{Sink, evidence};
use mcp_hil_core::transcript::{HttpEndpoint, HttpExchange};
use mcp_hil_core::wire::{Frame, WEBSOCKET_PATH, as_integer};

/// Longest part of a body that evidence shows, in characters.
const SHOWN: usize = 200;

/// The headers by which a device says which one it is, and the requirement that each stays the same.
const IDENTITY: [(&str, Id); 2] =
    [("device-id", Id::BootstrapSameDevice), ("client-id", Id::BootstrapSameClient)];

/// What the last configuration request said, until it is compared with what comes later.
#[derive(Debug, Default)]
pub(crate) struct Bootstrap {
    /// Device-Id and Client-Id, each until it was compared.
    identity: [Option<String>; 2],
    version: Option<String>,
    /// The version of the framing of binary messages that the device was told; it is a setting, and
    /// stays until it is told another.
    binary_version: Option<u8>,
}

impl Bootstrap {
    /// The device made a request.
    pub(crate) fn exchange(&mut self, exchange: &HttpExchange, seq: u64, sink: &mut Sink) {
        if exchange.endpoint != HttpEndpoint::Bootstrap {
            return;
        }
        let post = exchange.method == "POST";
        let names_itself =
            ["device-id", "client-id"].iter().any(|name| exchange.headers.contains_key(*name));
        // A browser at the URL is somebody who looks what is there.
        if post || names_itself {
            sink.test_once(Id::BootstrapMethod, post, || {
                evidence("a POST request", exchange.method.clone(), seq)
            });
        }
        // What did not come whole, perhaps because the device was stopped, shows nothing.
        let whole = exchange.problem.is_none() || exchange.status == Some(413);
        if !post || !whole {
            return;
        }
        self.identity = IDENTITY.map(|(name, _)| exchange.header(name).map(str::to_owned));
        self.binary_version = exchange.binary_version.or(self.binary_version);
        judge_headers(exchange, seq, sink);
        let body = match &exchange.body {
            Some(Frame::Text(text)) => serde_json::from_str::<Map<String, Value>>(text).ok(),
            _ => None,
        };
        sink.test_once(Id::BootstrapBody, body.is_some(), || {
            let received = match (&exchange.problem, &exchange.body) {
                (Some(problem), _) => problem.clone(),
                (None, None) => "no body".to_owned(),
                (None, Some(body)) => body.display().chars().take(SHOWN).collect(),
            };
            evidence("a JSON object as the body", received, seq)
        });
        if let Some(body) = body {
            self.version = text(&body, "application", "version").map(str::to_owned);
            judge_body(&body, exchange, seq, sink);
        }
    }

    /// The device connected over WebSocket.
    pub(crate) fn link_up(
        &mut self,
        path: &str,
        headers: &BTreeMap<String, String>,
        seq: u64,
        sink: &mut Sink,
    ) {
        // One without a header breaks a requirement of its own.
        let version = headers.get("protocol-version");
        if let (Some(told), Some(version)) = (self.binary_version, version) {
            sink.test(Id::BootstrapWebsocketVersion, *version == told.to_string(), || {
                let expected = format!("header Protocol-Version: {told}, as configured");
                evidence(expected, format!("Protocol-Version: {version}"), seq)
            });
        }
        if self.binary_version.is_some() && !path.is_empty() {
            let bare = |path: &str| {
                let path = path.split('?').next().unwrap_or_default();
                path.trim_end_matches('/').to_owned()
            };
            sink.test_once(Id::BootstrapWebsocketPath, bare(path) == bare(WEBSOCKET_PATH), || {
                evidence(format!("a request for {WEBSOCKET_PATH}, as configured"), path, seq)
            });
        }
        for (then, (name, requirement)) in self.identity.iter_mut().zip(IDENTITY) {
            let Some(now) = headers.get(name) else {
                continue;
            };
            if let Some(then) = then.take() {
                sink.test_once(requirement, then.eq_ignore_ascii_case(now), || {
                    let expected = format!("the {name} of the configuration request, {then}");
                    evidence(expected, format!("{name} {now}"), seq)
                });
            }
        }
    }

    /// The device answered `initialize`.
    pub(crate) fn initialized(&mut self, payload: &Map<String, Value>, seq: u64, sink: &mut Sink) {
        let now = payload
            .get("result")
            .and_then(|result| result.pointer("/serverInfo/version"))
            .and_then(Value::as_str);
        let Some(now) = now else { return };
        if let Some(then) = self.version.take() {
            sink.test_once(Id::BootstrapSameVersion, then == now, || {
                let expected = format!("the version of the configuration request, {then}");
                evidence(expected, format!("serverInfo.version {now}"), seq)
            });
        }
    }
}

fn judge_headers(exchange: &HttpExchange, seq: u64, sink: &mut Sink) {
    let json = |value: &str| {
        let media_type = value.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case("application/json")
    };
    let there = |value: &str| !value.trim().is_empty();
    let two_parts = |value: &str| {
        let parts = value.split_once('/');
        parts.is_some_and(|(board, version)| there(board) && there(version))
    };
    type Rule<'a> = (&'static str, Id, &'static str, &'a dyn Fn(&str) -> bool);
    let rules: [Rule<'_>; 6] = [
        ("device-id", Id::BootstrapDeviceId, "not empty", &there),
        ("client-id", Id::BootstrapClientId, "not empty", &there),
        ("content-type", Id::BootstrapContentType, "application/json", &json),
        (
            "user-agent",
            Id::BootstrapUserAgent,
            "board and version, with a slash between",
            &two_parts,
        ),
        ("activation-version", Id::BootstrapActivationVersion, "1 or 2", &|value| {
            matches!(value, "1" | "2")
        }),
        ("accept-language", Id::BootstrapAcceptLanguage, "not empty", &there),
    ];
    for (name, requirement, form, good) in rules {
        let value = exchange.header(name);
        sink.test_once(requirement, value.is_some_and(good), || {
            evidence(
                format!("a header {name}, {form}"),
                value.map_or_else(|| "absent".to_owned(), |value| format!("`{value}`")),
                seq,
            )
        });
    }
    let number = exchange.header("serial-number");
    let claims = exchange.header("activation-version") == Some("2");
    sink.test_once(Id::BootstrapSerialNumber, !claims || number.is_some_and(there), || {
        let received = number.map_or_else(|| "absent".to_owned(), |value| format!("`{value}`"));
        evidence("a header serial-number with Activation-Version 2", received, seq)
    });
}

fn judge_body(body: &Map<String, Value>, exchange: &HttpExchange, seq: u64, sink: &mut Sink) {
    let shown = |value: Option<&Value>| {
        let text = value.map_or_else(|| "absent".to_owned(), Value::to_string);
        text.chars().take(SHOWN).collect::<String>()
    };
    for (requirement, member, header, any_case) in [
        (Id::BootstrapMac, "mac_address", "device-id", true),
        (Id::BootstrapUuid, "uuid", "client-id", false),
    ] {
        // One without the header breaks a requirement of its own.
        let Some(wanted) = exchange.header(header) else {
            continue;
        };
        let got = body.get(member);
        let same = got
            .and_then(Value::as_str)
            .is_some_and(|got| got == wanted || (any_case && got.eq_ignore_ascii_case(wanted)));
        sink.test_once(requirement, same, || {
            let expected = format!("{member} as in the header {header}, `{wanted}`");
            evidence(expected, format!("{member} {}", shown(got)), seq)
        });
    }
    let filled = |object: &str, name: &str| text(body, object, name).is_some_and(|t| !t.is_empty());
    let partitions = body.get("partition_table").and_then(Value::as_array);
    let is_partition = |partition: &Value| {
        let number = |name: &str| partition.get(name).and_then(as_integer).is_some();
        partition.get("label").is_some_and(Value::is_string) && number("address") && number("size")
    };
    let rules = [
        (
            Id::BootstrapApplication,
            filled("application", "name") && filled("application", "version"),
            "application with name and version as non-empty strings",
            "application",
        ),
        (
            Id::BootstrapBoard,
            text(body, "board", "type").is_some(),
            "board with a string type",
            "board",
        ),
        (
            Id::BootstrapChip,
            body.get("chip_model_name").is_some_and(Value::is_string),
            "chip_model_name, a string",
            "chip_model_name",
        ),
        (
            Id::BootstrapFormat,
            body.get("version").and_then(as_integer) == Some(2),
            "version, the number 2",
            "version",
        ),
        (
            Id::BootstrapPartitions,
            partitions.is_some_and(|all| all.iter().all(is_partition)),
            "partition_table, an array of objects with label, address and size",
            "partition_table",
        ),
    ];
    // What runs in a browser or on a host has no flash memory to divide.
    let has_flash = body.get("flash_size").and_then(as_integer).is_some_and(|bytes| bytes > 0);
    let owes_partitions = has_flash || body.contains_key("partition_table");
    for (requirement, holds, expected, member) in rules {
        if requirement == Id::BootstrapPartitions && !owes_partitions {
            continue;
        }
        sink.test_once(requirement, holds, || {
            evidence(expected, format!("{member} {}", shown(body.get(member))), seq)
        });
    }
}

fn text<'a>(body: &'a Map<String, Value>, object: &str, name: &str) -> Option<&'a str> {
    body.get(object)?.get(name)?.as_str()
}
