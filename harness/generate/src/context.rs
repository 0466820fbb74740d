//! What generation knows of a device.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use mcp_hil_core::bounds::{Lengths, bounds, lengths, takes_each_alone};
use mcp_hil_core::capability::{Facts, Permission, Told, family, is_setting, only_reads};
use mcp_hil_core::samples::{Samples, is_plain, samples};
use mcp_hil_scenario::Step;

use crate::tool_names::SET_VOLUME;

/// What is known of a device: its facts, its tools as it listed them, and which may be called.
#[derive(Debug, Clone, Default)]
pub struct Context {
    facts: Facts,
    tools: Vec<Tool>,
    restarts: bool,
    is_quick: bool,
    /// What follows from the rest, once somebody has asked for it.
    matrix: Arc<OnceLock<Matrix>>,
}

/// Every place of a message with every kind of value.
#[derive(Debug)]
pub(crate) struct Matrix {
    /// The steps, one for each cell.
    pub(crate) steps: Arc<[Step]>,
    /// Place and kind of each.
    pub(crate) tried: Vec<(String, &'static str)>,
}

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
}

/// An argument of a tool, by its schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether a call without it is refused.
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    /// How long a text may be, where the schema limits that.
    pub(crate) lengths: Option<Lengths>,
}

/// The type of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Integer {
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    Boolean,
    Text {
        /// The values that the schema allows; empty when it allows all.
        choices: Vec<String>,
    },
    /// Anything else of which a schema tells good and bad values: a number, an array, a text with a pattern.
    Samples(Samples),
    /// Anything that is not generated for.
    Other,
}

impl Context {
    /// What these facts and tools tell. Tools that `permission` does not allow are never called.
    pub fn new(facts: &Facts, tools: &[Value], permission: &Permission) -> Self {
        let tools = tools
            .iter()
            .filter_map(Tool::of)
            .filter(|tool| permission.allows(&tool.name))
            .collect();
        Self {
            facts: facts.clone(),
            tools,
            restarts: permission.restarts(),
            is_quick: false,
            matrix: Arc::default(),
        }
    }

    /// Of a device that may be asked very often: it answers at once, and wears nothing out.
    #[must_use]
    pub fn quick(self, is_quick: bool) -> Self {
        Self { is_quick, ..self }
    }

    /// Whether the device may be asked very often.
    pub(crate) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// The matrix of places and kinds, laid out the first time.
    pub(crate) fn matrix(&self, lay_out: impl FnOnce() -> Matrix) -> &Matrix {
        self.matrix.get_or_init(lay_out)
    }

    /// Whether the device may be told to restart, and dials again by itself then.
    pub(crate) fn can_restart(&self) -> bool {
        self.restarts && self.can("reconnect")
    }

    /// Whether the device has a capability.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.facts.capabilities.contains(capability)
    }

    /// Whether the device's level can be set and read, by a tool that may be called.
    pub(crate) fn has_volume(&self) -> bool {
        self.can("status") && self.can("volume") && self.callable(SET_VOLUME)
    }

    /// Whether a tool is listed and may be called.
    pub(crate) fn callable(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// The tools that may be called.
    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tools that tell something, and take nothing.
    pub(crate) fn readers(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|one| one.arguments.is_empty() && only_reads(&one.name))
    }

    /// A tool that may tell what this one keeps: its name has the same beginning.
    pub(crate) fn reader(&self, tool: &str) -> Option<&str> {
        let mut of_it = self.readers().filter(|one| family(&one.name) == family(tool));
        of_it.next().map(|one| one.name.as_str())
    }

    /// What another tool was seen to tell of what this one sets.
    pub(crate) fn told(&self, tool: &str) -> Option<&Told> {
        self.facts.told.iter().find(|told| told.tool == tool)
    }

    /// Names of all tools, callable or not.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let listed = self.facts.tools.iter().chain(&self.facts.user_tools);
        listed.map(String::as_str)
    }

    /// The cursor of the second page, where there is one.
    pub(crate) fn second_cursor(&self) -> Option<&str> {
        self.facts.variables.get("cursor.second")?.as_str()
    }

    /// Whether steps of the level whose size is left out are steps by ten.
    pub(crate) fn steps_by_ten(&self) -> bool {
        let level = |name: &str| self.facts.variables.get(name).and_then(Value::as_i64);
        let by_ten = level("step.up") == Some(50) && level("step.down") == Some(30);
        by_ten && self.can("volume.step-optional")
    }

    /// The level that the device had before the run.
    pub(crate) fn level(&self) -> Option<&Value> {
        self.facts.variables.get("status.volume")
    }
}

impl Tool {
    fn of(tool: &Value) -> Option<Self> {
        let name = tool.get("name")?.as_str()?;
        let root = tool.get("inputSchema").filter(|root| takes_each_alone(root))?;
        let required = root.get("required").and_then(Value::as_array);
        let arguments = root
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| Argument {
                name: name.clone(),
                kind: Kind::of(schema, root),
                required: required.is_some_and(|all| all.iter().any(|one| one == name.as_str())),
                default: schema.get("default").cloned(),
                lengths: lengths(schema),
            })
            .collect::<Vec<_>>();
        // In a scenario these would be variables.
        let plain = |text: &str| !text.contains("${");
        (plain(name) && arguments.iter().all(|argument| plain(&argument.name)))
            .then(|| Self { name: name.to_owned(), arguments })
    }
}

impl Tool {
    /// Whether these arguments of a tool that sets or reads something, all within its schema, must not be called
    /// invalid: no number or text stands beside the one of this name on which it might depend.
    pub(crate) fn is_valid(&self, name: &str, sent: &Map<String, Value>) -> bool {
        let is_free = |one: &Argument| match &one.kind {
            Kind::Boolean => true,
            Kind::Text { choices } => !choices.is_empty(),
            Kind::Integer { .. } | Kind::Samples(_) | Kind::Other => false,
        };
        let mut beside = self.arguments.iter().filter(|one| one.name != name);
        let takes_all = is_setting(&self.name) || only_reads(&self.name);
        takes_all && beside.all(|one| !sent.contains_key(&one.name) || is_free(one))
    }
}

impl Kind {
    fn of(schema: &Value, root: &Value) -> Self {
        // In a scenario it would be a variable.
        let is_written = !schema.to_string().contains("${");
        if !is_plain(schema) {
            let samples = samples(schema, root).filter(|_| is_written);
            return samples.map_or(Self::Other, Self::Samples);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("integer") => {
                let [minimum, maximum] = bounds(schema);
                Self::Integer { minimum, maximum }
            }
            Some("boolean") => Self::Boolean,
            Some("string") => Self::Text {
                choices: schema
                    .get("enum")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(|one| Some(one.as_str()?.to_owned()))
                    .filter(|one| !one.contains("${"))
                    .collect(),
            },
            _ => Self::Other,
        }
    }
}
