//! What a device can do, learned from the device itself, and which of its tools may be called.
//!
//! Scenarios are selected by capability, never by the name of a device or board.

mod lacking;
mod permission;
mod told;
mod untouched;
mod volume;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounds::{bounds, lengths, takes_each_alone};
use crate::samples::{is_plain, samples};
use crate::wire::as_integer;

pub use lacking::lacking;
pub use permission::{
    HARMLESS, Permission, Trust, family, is_harmless, is_restart, is_setting, only_reads,
};
pub use told::{Pair, Told, pairs};
pub use untouched::untouched;

use volume::{
    STEPPED_FROM, STEPPERS, is_of_another_form, is_usual, step_without_argument, takes_levels,
};

/// The tool that tells a device's state.
pub const STATUS_TOOL: &str = "self.get_device_status";

/// The tool that sets the volume (xiaozhi volume workflow).
pub const SET_VOLUME: &str = "self.audio_speaker.set_volume";

/// The tool that takes a picture and asks the backend about it.
pub const PHOTO_TOOL: &str = "self.camera.take_photo";

/// What only a board has, and no emulator and no process.
pub const SILICON: &str = "silicon";

/// What has the memory of a computer.
pub const SIMULATED: &str = "simulated";

/// What a run has that stays with its device for a while (`--linger`).
pub const LINGER: &str = "linger";

/// All capabilities that scenarios and requirements may ask for.
pub const ALL: [&str; 59] = [
    "both-transports",
    "websocket",
    "mqtt",
    "hello",
    "configured",
    "own-broker",
    "simulated",
    "keep-alive",
    "tools",
    "pages",
    "user-tools",
    "status",
    "status.tool",
    "volume",
    "volume.tool",
    "volume.required",
    "volume.told",
    "volume.elsewhere",
    "volume.step",
    "volume.step-optional",
    "mute",
    "brightness",
    "theme",
    "lamp",
    "nullary",
    "integer",
    "integer.state",
    "boolean",
    "string",
    "default",
    "told",
    "told.number",
    "told.several",
    "told.signed",
    "enum",
    "length",
    "structured",
    "console",
    "console.boot",
    "console.mcp",
    "console.tools",
    "reconnect",
    "notifications",
    "reinitialize",
    "token",
    "sut.gateway",
    "bootstrap",
    "reconfigure",
    "camera",
    "camera.untold",
    "channel",
    "memory",
    "echo",
    "claims",
    "progress",
    "requests",
    "listen",
    SILICON,
    LINGER,
];

/// The variable that says how far a level may be from the one that was set, on a loudspeaker with few levels.
pub const VOLUME_TOLERANCE: &str = "volume.tolerance";

/// Names of all variables that a look at a device may bring.
pub const VARIABLES: [&str; 38] = [
    "nullary.tool",
    "boolean.tool",
    "boolean.argument",
    "string.tool",
    "string.argument",
    "integer.tool",
    "integer.argument",
    "integer.minimum",
    "integer.maximum",
    "integer.middle",
    "integer.below",
    "integer.above",
    "integer.state",
    "default.tool",
    "default.argument",
    "default.value",
    "tools.count",
    "tools.last",
    "cursor.second",
    "cursor.unlisted",
    "status.volume",
    "volume.tool",
    VOLUME_TOLERANCE,
    "brightness.tool",
    "theme.tool",
    "mute.tool",
    "unmute.tool",
    "lamp.on",
    "lamp.off",
    "lamp.state",
    "step.up",
    "step.down",
    "vision.url",
    "vision.token",
    "vision.other_token",
    "vision.reply",
    "good.method",
    "good.params",
];

/// What is known of a device: its capabilities and the values of the variables they bring.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Capabilities, from [`ALL`].
    pub capabilities: BTreeSet<String>,
    /// Variables for scenarios, such as `integer.tool`.
    pub variables: Map<String, Value>,
    /// Names of the ordinary tools, in the device's order.
    pub tools: Vec<String>,
    /// Names of the tools that only `withUserTools` shows.
    pub user_tools: Vec<String>,
    /// Which tools tell what others have set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
}

/// What a look at the device has shown.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// The ordinary tools.
    pub tools: Vec<Value>,
    /// The tools of the list with `withUserTools`.
    pub all_tools: Vec<Value>,
    /// The first `nextCursor`, when the list has more than one page.
    pub first_cursor: Option<String>,
    /// The status tool's text as JSON.
    pub status: Option<Value>,
    /// Whether a console is attached.
    pub console: bool,
    /// Whether it shows lines of the tag `MCP`.
    pub console_mcp: bool,
    /// Whether it shows `MCP: Add tool:` lines.
    pub console_tools: bool,
    /// Whether the device can be made to connect again.
    pub reconnect: bool,
}

/// Variables with the tools that change a setting, and the capability that they need. Scenarios use them where a
/// device need not have the setting: a step whose variable has no value is left out.
const SETTERS: [(&str, &str, &str); 5] = [
    ("volume.tool", "volume", SET_VOLUME),
    ("brightness.tool", "brightness", "self.screen.set_brightness"),
    ("theme.tool", "theme", "self.screen.set_theme"),
    ("mute.tool", "mute", "self.audio_speaker.mute"),
    ("unmute.tool", "mute", "self.audio_speaker.unmute"),
];

/// Works out capabilities and variables from what the device has shown.
pub fn discover(surface: &Surface, permission: &Permission) -> Facts {
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let tools: Vec<String> = surface.tools.iter().filter_map(name).collect();
    let user_tools: Vec<String> =
        surface.all_tools.iter().filter_map(name).filter(|tool| !tools.contains(tool)).collect();
    let mut facts = Facts { tools, user_tools, ..Facts::default() };
    let has = |tool: &str| {
        let is_listed = facts.tools.iter().any(|known| known == tool);
        is_listed && !permission.denies(tool) && !asks_for_more(&surface.tools, tool)
    };
    let reads = |pointer: &str| {
        surface.status.as_ref().and_then(|status| status.pointer(pointer)).is_some()
    };

    let sets = |setter: &str| has(setter) && takes_levels(&surface.tools, setter);
    let volume = sets(SET_VOLUME) && is_usual(&surface.tools, surface.status.as_ref());
    let is_elsewhere = surface.status.as_ref().is_some_and(is_of_another_form);
    let steps = STEPPERS.map(|(variable, tool, sign)| {
        let step = step_without_argument(&surface.tools, tool).filter(|_| volume && has(tool))?;
        Some((variable, Value::from(STEPPED_FROM + sign * step)))
    });
    let steps_required = STEPPERS.iter().any(|(_, tool, _)| requires(&surface.tools, tool, "step"));
    let claims = [
        ("tools", !facts.tools.is_empty()),
        ("pages", surface.first_cursor.is_some()),
        ("user-tools", !facts.user_tools.is_empty()),
        ("status", surface.status.as_ref().is_some_and(Value::is_object)),
        ("status.tool", has(STATUS_TOOL)),
        ("volume", volume),
        ("volume.tool", has(SET_VOLUME)),
        ("volume.required", volume && requires(&surface.tools, SET_VOLUME, "volume")),
        ("volume.told", has(SET_VOLUME) && !is_elsewhere),
        ("volume.elsewhere", has(SET_VOLUME) && is_elsewhere),
        ("volume.step", steps.iter().all(Option::is_some)),
        ("volume.step-optional", steps.iter().all(Option::is_some) && !steps_required),
        ("mute", volume && has("self.audio_speaker.mute") && has("self.audio_speaker.unmute")),
        ("brightness", sets("self.screen.set_brightness") && reads("/screen/brightness")),
        ("theme", has("self.screen.set_theme") && reads("/screen/theme")),
        ("console", surface.console),
        ("console.mcp", surface.console_mcp),
        ("console.tools", surface.console_tools),
        ("reconnect", surface.reconnect),
    ];
    for (capability, _) in claims.iter().filter(|(_, claimed)| *claimed) {
        facts.capabilities.insert((*capability).to_owned());
    }
    facts.variables.insert("tools.count".into(), facts.tools.len().into());
    if let Some(last) = facts.tools.last().cloned() {
        facts.variables.insert("tools.last".into(), last.into());
    }
    if let Some(cursor) = &surface.first_cursor {
        facts.variables.insert("cursor.second".into(), cursor.clone().into());
        let is_listed = facts.tools.iter().chain(&facts.user_tools).any(|tool| tool == cursor);
        if !is_listed && only_reads(cursor) && permission.allows(cursor) {
            facts.variables.insert("cursor.unlisted".into(), cursor.clone().into());
        }
    }
    if let Some(level) = surface.status.as_ref().and_then(|s| s.pointer("/audio_speaker/volume")) {
        facts.variables.insert("status.volume".into(), level.clone());
    }
    for (variable, value) in steps.into_iter().flatten() {
        facts.variables.insert(variable.into(), value);
    }
    for (variable, capability, tool) in SETTERS {
        if facts.capabilities.contains(capability) {
            facts.variables.insert(variable.into(), tool.into());
        }
    }
    if let Some(lamp) = lamp(&facts.tools, permission) {
        facts.capabilities.insert("lamp".into());
        for (variable, verb) in LAMP {
            facts.variables.insert(variable.into(), format!("{lamp}.{verb}").into());
        }
    }
    probe_tools(&mut facts, surface, permission);
    facts
}

/// Whether a tool lists an argument as required.
fn requires(tools: &[Value], tool: &str, argument: &str) -> bool {
    required(tools, tool).iter().any(|one| one == argument)
}

/// Whether a tool of a known name requires an argument that the family's does not have: then it is another tool.
pub fn asks_for_more(tools: &[Value], tool: &str) -> bool {
    let known = ["volume", "brightness", "theme", "step", "question"];
    required(tools, tool).iter().any(|one| !known.iter().any(|known| one == known))
}

/// What the list says that a tool requires.
fn required<'a>(tools: &'a [Value], tool: &str) -> &'a [Value] {
    let required = named(tools, tool).and_then(|one| one.pointer("/inputSchema/required"));
    required.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The tool of a name, as it is listed.
fn named<'a>(tools: &'a [Value], name: &str) -> Option<&'a Value> {
    tools.iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
}

/// What switches a lamp, and tells whether it is on: variables, and the ends of the names of tools.
const LAMP: [(&str, &str); 3] =
    [("lamp.on", "turn_on"), ("lamp.off", "turn_off"), ("lamp.state", "get_state")];

/// The first lamp, by what its tools have in common: `self.lamp`.
fn lamp<'a>(tools: &'a [String], permission: &Permission) -> Option<&'a str> {
    let there = |name: String| tools.contains(&name) && permission.allows(&name);
    let lamps = tools.iter().filter_map(|tool| tool.strip_suffix(".get_state"));
    lamps.into_iter().find(|lamp| LAMP.iter().all(|(_, verb)| there(format!("{lamp}.{verb}"))))
}

/// Picks, for each kind of argument, the harmless tool that tests it best.
fn probe_tools(facts: &mut Facts, surface: &Surface, permission: &Permission) {
    let mut candidates: Vec<Candidate> = surface
        .tools
        .iter()
        .filter_map(Candidate::of)
        .filter(|tool| permission.allows(&tool.name))
        // Of others nobody knows what they must take.
        .filter(|tool| is_setting(&tool.name) || permission.names(&tool.name))
        .collect();
    // Well-known tools first: their effect can be read back.
    candidates
        .sort_by_key(|tool| HARMLESS.iter().position(|known| *known == tool.name).unwrap_or(99));

    let lists_texts = |(_, schema): &(&str, &Value)| {
        schema.get("type").and_then(Value::as_str) == Some("string")
            && schema.pointer("/enum/0").is_some()
    };
    if candidates.iter().flat_map(|tool| &tool.properties).any(lists_texts) {
        facts.set("enum", []);
    }
    if candidates.iter().flat_map(|tool| &tool.properties).any(|(_, one)| lengths(one).is_some()) {
        facts.set("length", []);
    }
    if candidates.iter().any(Candidate::is_structured) {
        facts.set("structured", []);
    }
    // A tool without arguments must read rather than set: it is called very often.
    if let Some(tool) = candidates.iter().find(|tool| {
        tool.properties.is_empty()
            && tool.name.rsplit('.').next().is_some_and(|s| s.starts_with("get_"))
    }) {
        facts.set("nullary", [("tool", tool.name.clone().into())]);
    }
    probe_integer(facts, surface, &candidates);
    for kind in ["boolean", "string"] {
        if let Some((tool, argument)) =
            candidates.iter().find_map(|tool| Some((tool, tool.only_required(kind)?.0)))
        {
            facts.set(kind, [("tool", tool.name.clone().into()), ("argument", argument.into())]);
        }
    }
    if takes_photos(surface, permission) {
        facts.set("camera", []);
    }
    let default = candidates.iter().find_map(|tool| {
        let (argument, schema) = tool.only_default("integer")?;
        // One that goes against its own schema is a fault of the list.
        let value = schema.get("default")?;
        as_integer(value).map(|_| (tool, argument, value))
    });
    if let Some((tool, argument, value)) = default {
        facts.set(
            "default",
            [
                ("tool", tool.name.clone().into()),
                ("argument", argument.into()),
                ("value", value.clone()),
            ],
        );
    }
}

/// Picks the tool that takes one integer between bounds, and where its effect shows.
fn probe_integer(facts: &mut Facts, surface: &Surface, candidates: &[Candidate]) {
    let integer = candidates.iter().find_map(|tool| {
        let (argument, schema) = tool.only_required("integer")?;
        let [low, high] = bounds(schema);
        Some((tool, argument, low.zip(high).filter(|(low, high)| low < high)?))
    });
    let Some((tool, argument, (low, high))) = integer else {
        return;
    };
    facts.set(
        "integer",
        [
            ("tool", tool.name.clone().into()),
            ("argument", argument.into()),
            ("minimum", low.into()),
            ("maximum", high.into()),
            ("middle", i64::midpoint(low, high).into()),
            ("below", low.saturating_sub(1).into()),
            ("above", high.saturating_add(1).into()),
        ],
    );
    let pointer = match tool.name.as_str() {
        SET_VOLUME => "/audio_speaker/volume",
        // A backlight may have steps, and never be dark: what the status shows of it is no proof.
        _ => return,
    };
    if surface.status.as_ref().is_some_and(|s| s.pointer(pointer).is_some()) {
        facts.set("integer.state", []);
        facts.variables.insert("integer.state".into(), pointer.into());
    }
}

/// Whether the camera may be used. A picture leaves the device, and its tool asks for more than its name
/// tells: simulations only.
fn takes_photos(surface: &Surface, permission: &Permission) -> bool {
    let mut tools = surface.tools.iter().filter_map(Candidate::of);
    let camera = tools.find(|tool| tool.name == PHOTO_TOOL);
    let argument = camera.and_then(|tool| Some(tool.of_type("string", true)?.0));
    let simulated = permission.trust == Trust::Simulated && !permission.denies(PHOTO_TOOL);
    argument == Some("question") && (simulated || permission.allows(PHOTO_TOOL))
}

impl Facts {
    fn set<const N: usize>(&mut self, capability: &str, variables: [(&str, Value); N]) {
        self.capabilities.insert(capability.to_owned());
        for (name, value) in variables {
            self.variables.insert(format!("{capability}.{name}"), value);
        }
    }

    /// The first of the needed capabilities that the device lacks.
    pub fn lacks<'a>(&self, needs: &'a [String]) -> Option<&'a str> {
        needs.iter().find(|need| !self.capabilities.contains(*need)).map(String::as_str)
    }
}

/// A tool as a candidate for being called.
struct Candidate<'a> {
    name: String,
    schema: &'a Value,
    properties: Vec<(&'a str, &'a Value)>,
    required: Vec<&'a str>,
}

impl<'a> Candidate<'a> {
    /// Whether it takes what is no plain integer, boolean or text, and there are good values for all that it requires.
    fn is_structured(&self) -> bool {
        let is_made = |(_, schema): &(&str, &Value)| samples(schema, self.schema).is_some();
        let is_known = |property: &(&str, &Value)| is_plain(property.1) || is_made(property);
        let mut needed = self.properties.iter().filter(|(name, _)| self.required.contains(name));
        self.properties.iter().any(is_made) && needed.all(is_known)
    }

    fn of(tool: &'a Value) -> Option<Self> {
        let schema = tool.get("inputSchema").filter(|schema| takes_each_alone(schema))?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        Some(Self {
            name: tool.get("name")?.as_str()?.to_owned(),
            schema,
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.as_str(), schema))
                .collect(),
            required: required.into_iter().flatten().filter_map(Value::as_str).collect(),
        })
    }

    fn of_type(&self, kind: &str, required: bool) -> Option<(&'a str, &'a Value)> {
        let wanted = |(name, schema): &&(&'a str, &'a Value)| {
            schema.get("type").and_then(Value::as_str) == Some(kind)
                && self.required.contains(name) == required
        };
        self.properties.iter().find(wanted).copied()
    }

    /// The one required argument, when the tool has just one and it is of the type.
    fn only_required(&self, kind: &str) -> Option<(&'a str, &'a Value)> {
        (self.required.len() == 1).then(|| self.of_type(kind, true)).flatten()
    }

    /// An optional argument of the type, when the tool has no required ones.
    fn only_default(&self, kind: &str) -> Option<(&'a str, &'a Value)> {
        self.required.is_empty().then(|| self.of_type(kind, false)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn surface() -> Surface {
        let tools = vec![
            json!({"name": "self.reboot", "inputSchema": {"type": "object", "properties": {}}}),
            json!({"name": STATUS_TOOL, "inputSchema": {"type": "object", "properties": {}}}),
            json!({"name": "self.audio_speaker.set_volume", "inputSchema": {"type": "object",
                "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
                "required": ["volume"]}}),
            json!({"name": "self.fan.set_on", "inputSchema": {"type": "object",
                "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}),
        ];
        Surface {
            all_tools: tools.clone(),
            tools,
            status: Some(json!({"audio_speaker": {"volume": 70}})),
            ..Surface::default()
        }
    }

    #[test]
    fn capabilities_come_from_the_tools() {
        let facts = discover(&surface(), &Trust::WellKnown.into());
        for capability in ["tools", "status", "volume", "nullary", "integer", "integer.state"] {
            assert!(facts.capabilities.contains(capability), "{capability}");
        }
        assert_eq!(facts.variables["integer.above"], json!(101));
        assert_eq!(facts.variables["nullary.tool"], json!(STATUS_TOOL));
        assert_eq!(facts.lacks(&["tools".into(), "mute".into()]), Some("mute"));
    }

    #[test]
    fn a_camera_is_used_in_simulations_only() {
        let camera = |argument: &str, trust| {
            let mut surface = surface();
            surface.tools.push(json!({"name": PHOTO_TOOL, "inputSchema": {"type": "object",
                "properties": {argument: {"type": "string"}}, "required": [argument]}}));
            let facts = discover(&surface, &Permission::from(trust));
            facts.capabilities.contains("camera")
        };
        assert!(camera("question", Trust::Simulated));
        assert!(!camera("question", Trust::WellKnown));
        assert!(!camera("prompt", Trust::Simulated));
    }

    #[test]
    fn unknown_tools_are_used_in_simulations_only() {
        assert!(!discover(&surface(), &Trust::WellKnown.into()).capabilities.contains("boolean"));
        assert!(discover(&surface(), &Trust::Simulated.into()).capabilities.contains("boolean"));
    }
}
