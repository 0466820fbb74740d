//! The JSON Schema of a device file: what serde reads, and the rules beyond it that a schema can hold.

use mcp_hil_boards::flash::Chip;
use mcp_hil_core::schema::{add_rules, member_is, of, rule};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{BOARD, DutFile};
use crate::dut::emulated::KINDS;

/// What a `target` may begin with that has an argument.
const WITH_ARGUMENT: [&str; 2] = ["host", "exec"];

/// Targets that are one word.
const WORDS: [&str; 4] = [BOARD, "native", "qemu", "wait"];

/// The whole schema.
pub(super) fn schema() -> Value {
    let mut schema = of::<DutFile>("A device under test, for mcp-hil");
    let is_board = member_is("target", &BOARD.into());
    let has = |member: &str| json!({"required": [member]});
    let target = |target: Value| json!({"properties": {"target": target}});
    let mut emulators = vec!["qemu"];
    emulators.extend(KINDS);
    let both = json!({"required": ["firmware"], "properties": {"board": {"required": ["parts"]}}});
    let rules = [
        rule(&is_board, &has("board")),
        rule(&has("board"), &target(json!({"const": BOARD}))),
        rule(&has("fallback"), &target(json!({"const": BOARD}))),
        rule(&has("emulator"), &target(json!({"enum": emulators}))),
        rule(&has("host"), &target(json!({"pattern": "^host:"}))),
        json!({"not": {"allOf": [is_board, has("board"), both]}}),
    ];
    add_rules(&mut schema, rules);
    let parts = &mut schema["definitions"];
    parts["BoardFile"]["required"] = json!([]);
    let named = ["serial", "mac", "location"].map(has);
    let on_usb = json!({"anyOf": named});
    let elsewhere = json!({"required": ["port"], "not": {"anyOf": named}});
    let in_place = json!({"not": {"required": ["port"]}, "allOf": [on_usb]});
    add_rules(&mut parts["BoardFile"], [json!({"oneOf": [in_place, elsewhere]})]);
    let by = |kind: &str| json!({"properties": {"kind": {"const": kind}}, "required": ["kind"]});
    let command = json!({"required": ["command"], "properties": {"command": {"pattern": "\\S"}}});
    let rules = [
        rule(&by("command"), &command),
        rule(&has("command"), &by("command")),
        rule(&has("pulse_ms"), &by("button")),
    ];
    add_rules(&mut parts["TriggerFile"], rules);
    parts["PowerFile"]["dependencies"] = json!({"off": ["on"], "on": ["off"]});
    schema
}

/// How a device is run.
pub(super) fn target(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = WORDS.into_iter().chain(KINDS).collect();
    let begins: Vec<String> = WITH_ARGUMENT.map(|word| format!("{word}:.+")).into();
    json_schema!({
        "type": "string",
        "anyOf": [{"enum": words}, {"pattern": format!("^({})$", begins.join("|"))}]
    })
}

/// A truth, or kinds of devices.
pub(super) fn fallback(_: &mut SchemaGenerator) -> Schema {
    let kinds = ["qemu-esp", "qemu", "wokwi", "esp-emu", "native"];
    json_schema!({
        "anyOf": [
            {"type": "boolean"},
            {"type": "array", "items": {"enum": kinds}, "minItems": 1}
        ]
    })
}

/// An address of this host with a port.
pub(super) fn address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^([0-9.]+|\\[[0-9A-Fa-f:.%]+\\]):[0-9]{1,5}$"})
}

/// Six bytes in hexadecimal.
pub(super) fn mac(_: &mut SchemaGenerator) -> Schema {
    let pattern = "^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$|^[0-9A-Fa-f]{12}$";
    json_schema!({"type": "string", "pattern": pattern})
}

/// A port whose name does not change.
pub(super) fn port(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "not": {"pattern": "(^|/)(ttyUSB|ttyACM|cu\\.|tty\\.usb)[^/]*$"}
    })
}

/// A chip.
pub(super) fn chip(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": Chip::ALL.map(|chip| chip.to_string())})
}

/// Sizes of flash memory.
pub(super) fn flash_size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["2MB", "4MB", "8MB", "16MB"]})
}
