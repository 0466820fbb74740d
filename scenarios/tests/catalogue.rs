//! The requirement files: form, names and coverage.

mod common;

use std::collections::BTreeSet;

use common::{CAPABILITIES, catalogue, scripts};

/// Requirements that the judge tests on every transcript; a scenario only has to cause them.
const GENERIC: [&str; 67] = [
    "call.content-array",
    "call.content-items",
    "call.is-error-boolean",
    "envelope.json",
    "envelope.object",
    "envelope.payload-object",
    "envelope.session-id",
    "envelope.text-frame",
    "envelope.type-string",
    "envelope.unique-members",
    "envelope.utf8",
    "errors.code-integer",
    "errors.message-string",
    "errors.object",
    "hello.audio-params",
    "hello.features-mcp",
    "hello.first",
    "hello.header-authorization",
    "hello.header-client-id",
    "hello.header-client-id-uuid",
    "hello.header-device-id",
    "hello.header-device-id-mac",
    "hello.header-protocol-version",
    "hello.once",
    "hello.transport",
    "hello.version-header",
    "hello.version-number",
    "ids.echo",
    "ids.error-echo",
    "jsonrpc.answer-required",
    "jsonrpc.no-unsolicited-answer",
    "jsonrpc.one-answer",
    "jsonrpc.result-object",
    "jsonrpc.result-xor-error",
    "jsonrpc.version",
    "list.callable-listed",
    "list.console-inventory",
    "list.console-complete",
    "list.console-user-only",
    "list.default-valid",
    "list.description",
    "list.description-present",
    "list.input-schema",
    "list.name-unique",
    "list.next-cursor-not-null",
    "list.next-cursor-string",
    "list.page-not-empty",
    "list.page-size",
    "list.required-declared",
    "list.schema-valid",
    "list.stable",
    "list.terminates",
    "list.tool-name",
    "list.tools-array",
    "list.user-tools-hidden",
    "list.user-tools-marked",
    "list.user-tools-superset",
    "liveness.frame-size",
    "liveness.link-kept",
    "liveness.memory",
    "liveness.no-brownout",
    "liveness.no-flood",
    "liveness.no-panic",
    "liveness.no-reset",
    "liveness.no-watchdog",
    "notifications.device-method",
    "notifications.device-no-id",
];

/// The rest of them, which come with a new connection or with a device's notification.
const GENERIC_MORE: [&str; 22] = [
    "hello.version-3",
    "mqtt.client-id",
    "mqtt.credentials",
    "mqtt.keep-alive",
    "mqtt.keep-alive-configured",
    "mqtt.one-connect",
    "mqtt.packet-size",
    "mqtt.packets",
    "mqtt.puback",
    "mqtt.publish-topic",
    "mqtt.qos",
    "mqtt.qos-0",
    "mqtt.reconnect",
    "mqtt.retain",
    "notifications.device-params",
    "session.hello-again",
    "session.new-id",
    "session.no-stale-answer",
    "session.own-messages",
    "session.redial",
    "transport.same-answer",
    "transport.same-text",
];

/// What the judge of gateways tests on every row of its table.
const GATEWAY: [&str; 4] = [
    "gateway.answer-request-id",
    "gateway.call-shape",
    "gateway.one-call",
    "gateway.survives",
];

/// Requirements on what comes beside the link: HTTP requests and audio packets.
const GENERIC_BESIDE: [&str; 25] = [
    "bootstrap.accept-language",
    "bootstrap.activation-version",
    "bootstrap.application",
    "bootstrap.board",
    "bootstrap.body",
    "bootstrap.chip",
    "bootstrap.client-id",
    "bootstrap.content-type",
    "bootstrap.device-id",
    "bootstrap.format",
    "bootstrap.mac",
    "bootstrap.method",
    "bootstrap.partitions",
    "bootstrap.same-device",
    "bootstrap.same-version",
    "bootstrap.user-agent",
    "bootstrap.uuid",
    "channel.header",
    "channel.sequence",
    "channel.stops",
    "vision.device-headers",
    "vision.jpeg",
    "vision.question",
    "vision.token",
    "vision.upload",
];

const SOURCES: [&str; 9] = [
    "xiaozhi MCP flow",
    "xiaozhi WebSocket",
    "xiaozhi volume workflow",
    "JSON-RPC 2.0",
    "MCP 2024-11-05",
    "MQTT 3.1.1",
    "RFC 6455",
    "RFC 8259",
    "measured devices",
];

#[test]
fn requirements_are_well_formed() {
    let catalogue = catalogue();
    assert!(catalogue.len() >= 90);
    for (slug, requirement) in &catalogue {
        let (area, name) = slug.split_once('.').expect(slug);
        assert_eq!(
            requirement.file,
            format!("requirements/{area}.toml"),
            "{slug}"
        );
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(!name.is_empty() && name.chars().all(kebab), "{slug}");
        assert!(
            ["MUST", "SHOULD", "MAY"].contains(&requirement.level.as_str()),
            "{slug}"
        );
        assert!(
            SOURCES.contains(&requirement.source.as_str()),
            "{slug}: {}",
            requirement.source
        );
        assert!(!requirement.section.is_empty(), "{slug}");
        let text = &requirement.text;
        assert!(
            text.ends_with('.') && text.len() < 160,
            "{slug}: one short sentence, got {text}"
        );
        assert!(
            !text.trim_end_matches('.').contains(". "),
            "{slug}: one sentence, got {text}"
        );
        let sets = ["xiaozhi", "jsonrpc-2.0", "mcp-2024-11-05"];
        assert!(!requirement.rules.is_empty(), "{slug}");
        assert!(
            requirement
                .rules
                .iter()
                .all(|set| sets.contains(&set.as_str())),
            "{slug}"
        );
        for need in &requirement.needs {
            assert!(
                CAPABILITIES.contains(&need.as_str()),
                "{slug}: unknown capability `{need}`"
            );
        }
        if let Some(note) = &requirement.note {
            assert!(
                !note.contains("  ") && note.ends_with('.'),
                "{slug}: {note:?}"
            );
        }
    }
}

#[test]
fn every_requirement_is_exercised() {
    let scripts = scripts();
    let named: BTreeSet<&str> = scripts
        .iter()
        .flat_map(|script| script.slugs.iter().map(|(slug, _)| slug.as_str()))
        .collect();
    let controls = common::controls();
    let rows = controls.rows.iter().map(|row| row.requirement);
    let generic: BTreeSet<&str> = GENERIC
        .into_iter()
        .chain(GENERIC_MORE)
        .chain(GENERIC_BESIDE)
        .chain(GATEWAY)
        .chain(rows)
        .collect();
    let catalogue = catalogue();
    for slug in &generic {
        assert!(catalogue.contains_key(*slug), "no requirement `{slug}`");
    }
    let idle: Vec<&String> = catalogue
        .keys()
        .filter(|slug| !named.contains(slug.as_str()) && !generic.contains(slug.as_str()))
        .collect();
    assert!(idle.is_empty(), "nothing exercises {idle:?}");
}
