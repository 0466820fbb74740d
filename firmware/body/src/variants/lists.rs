//! Other tools, and other ways to list them (MCP 2024-11-05, tools and pagination).

use reference_device::{Property, Tool};
use serde_json::{Value, json};

use super::{Variant, variant};
use crate::defect::Defect;
use crate::hooks::Flow;
use crate::prelude::*;

/// Tells the state of the device.
const STATUS: &str = "self.get_device_status";

/// What stands before an opaque cursor.
const MARK: &str = "page:";

pub(super) const VARIANTS: &[Variant] = &[
    variant("no-volume", "The device has no loudspeaker.", || {
        keeping(|tool| !tool.name.starts_with("self.audio_speaker."))
    }),
    variant(
        "no-status",
        "The device has no tool that tells its status.",
        || keeping(|tool| tool.name != STATUS),
    ),
    variant(
        "status-only",
        "The one tool of the device tells its status.",
        || keeping(|tool| tool.name == STATUS),
    ),
    variant(
        "set-volume-only",
        "The one tool of the device sets the volume.",
        || keeping(|tool| tool.name == "self.audio_speaker.set_volume"),
    ),
    variant("no-tools", "The device has no tools.", || {
        keeping(|_| false)
    }),
    variant(
        "no-user-tools",
        "The device has no tools for people only.",
        || keeping(|tool| !tool.user_only),
    ),
    variant("no-camera", "The device has no camera.", || {
        keeping(|tool| !tool.name.starts_with("self.camera."))
    }),
    variant(
        "stock-tools",
        "The device has the common tools of stock firmware, which fit in one page.",
        || {
            keeping(|tool| {
                [
                    STATUS,
                    "self.audio_speaker.set_volume",
                    "self.screen.set_brightness",
                    "self.screen.set_theme",
                    "self.reboot",
                ]
                .contains(&tool.name)
            })
        },
    ),
    variant(
        "rare-names",
        "Some tools have names with quotes, blanks and characters outside ASCII.",
        || {
            Defect::default().setup(|device| {
                for tool in RARE {
                    let added = device.registry_mut().add(*tool);
                    debug_assert!(added.is_ok(), "{added:?}");
                }
            })
        },
    ),
    variant("small-pages", "The pages have about 2000 bytes.", || {
        pages_of(2000)
    }),
    variant("one-tool-pages", "Every page has one tool.", || pages_of(0)),
    variant(
        "next-cursor-empty",
        "The last page has an empty nextCursor, as in the diagram of the MCP flow.",
        || {
            Defect::default().on_result("tools/list", |_, result| {
                if result.get("nextCursor").is_none() {
                    result["nextCursor"] = json!("");
                }
            })
        },
    ),
    variant("cursors-opaque", "Cursors are no names of tools.", || {
        Defect::default()
            .on_method("tools/list", |payload, _| {
                if let Some(Value::String(cursor)) = payload
                    .get_mut("params")
                    .and_then(|params| params.get_mut("cursor"))
                    && !cursor.is_empty()
                {
                    // A name of a tool is none of these cursors, nor is the mark alone.
                    *cursor = decoded(cursor).unwrap_or_else(|| "none".to_string());
                }
                Flow::Pass
            })
            .on_result("tools/list", |_, result| {
                if let Some(cursor) = result["nextCursor"].as_str() {
                    result["nextCursor"] = json!(encoded(cursor));
                }
            })
    }),
    variant(
        "unknown-cursor-empty-list",
        "An unknown cursor gives an empty list instead of an error, as one real client does.",
        || {
            Defect::default().on_answer(|cause, payload, _| {
                if cause.method() == "tools/list"
                    && !cause.cursor().is_empty()
                    && payload.get("error").is_some()
                {
                    let id = payload["id"].take();
                    *payload = json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}});
                }
                Flow::Pass
            })
        },
    ),
    variant(
        "schemas-as-stock",
        "Arguments have no description and tools without arguments no `properties`.",
        || {
            tools(|tool| {
                let schema = &mut tool["inputSchema"];
                if schema["properties"] == json!({}) {
                    remove(schema, "properties");
                }
                let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
                for property in properties.into_iter().flat_map(|all| all.values_mut()) {
                    remove(property, "description");
                }
            })
        },
    ),
    variant(
        "schemas-verbose",
        "`required` is always there, and schemas have titles and other annotations.",
        || {
            tools(|tool| {
                let title = format!("Arguments of {}", tool["name"].as_str().unwrap_or_default());
                let schema = &mut tool["inputSchema"];
                if schema.get("required").is_none() {
                    schema["required"] = json!([]);
                }
                schema["title"] = json!(title);
                schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
                schema["$comment"] = json!("generated");
            })
            .setup(|device| device.registry_mut().limit_pages(4000))
        },
    ),
];

const RARE: &[Tool] = &[
    Tool {
        name: "self.灯.get_state",
        description: "Tells whether the lamp 灯 is on.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok("false".to_string()),
    },
    Tool {
        name: "the \"quoted\\tool\"",
        description: "Its name has to be escaped: \"\\\u{1}\u{1f600}.",
        properties: &[Property::integer("größe", "", -5, 5)],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
];

/// A board that has only some of the tools.
fn keeping(keep: fn(&Tool) -> bool) -> Defect {
    Defect::default().setup(move |device| device.registry_mut().retain(keep))
}

fn pages_of(bytes: usize) -> Defect {
    Defect::default().setup(move |device| device.registry_mut().limit_pages(bytes))
}

/// Edits each tool of the list.
fn tools(edit: fn(&mut Value)) -> Defect {
    Defect::default().on_result("tools/list", move |_, result| {
        for tool in result["tools"].as_array_mut().into_iter().flatten() {
            edit(tool);
        }
    })
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().map(|object| object.remove(member));
}

fn encoded(cursor: &str) -> String {
    let digits: Vec<String> = cursor.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{MARK}{}", digits.concat())
}

fn decoded(cursor: &str) -> Option<String> {
    let digits = cursor.strip_prefix(MARK)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?)
        .ok()
        .filter(|name| !name.is_empty())
}
