//! The table of what a gateway must make of control messages.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use mcp_hil_core::wire::same_value;

/// All requirements that the judge of gateways knows.
pub const REQUIREMENTS: [Id; 21] = [
    Id::GatewayActionMap,
    Id::GatewayAliases,
    Id::GatewayAnswerRequestId,
    Id::GatewayAnswerReturned,
    Id::GatewayArguments,
    Id::GatewayCallShape,
    Id::GatewayErrorReturned,
    Id::GatewayFunctionForwarded,
    Id::GatewayFunctionMap,
    Id::GatewayFunctionName,
    Id::GatewayId31Bit,
    Id::GatewayIdFromRequest,
    Id::GatewayIdNumeric,
    Id::GatewayIdUnique,
    Id::GatewayOneCall,
    Id::GatewayPrototypeWords,
    Id::GatewayStepDefault,
    Id::GatewaySurvives,
    Id::GatewayUnknownAction,
    Id::GatewayValueReturned,
    Id::GatewayZeroKept,
];

/// The table.
#[derive(Debug, Clone)]
pub struct Table {
    /// The volume that the status of the harness' device shows.
    pub level: i64,
    /// The good control that shows that the gateway lives.
    pub fence: Fence,
    /// What is tried.
    pub rows: Vec<Row>,
}

/// The good control.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// The control, without its request id.
    pub send: serde_json::Map<String, Value>,
    /// The call that it makes; no row makes the same.
    pub call: Call,
}

/// One case.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name, unique.
    pub name: String,
    /// What it shows, in words.
    pub title: String,
    /// The requirement that it is about.
    pub requirement: Id,
    /// The texts that are sent.
    pub send: Vec<String>,
    /// The calls that must come out, in any order.
    pub calls: Vec<Wanted>,
    /// What the caller of the last control must get.
    pub reply: Option<Expected>,
}

/// A call that must come out.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Tool and arguments.
    pub call: Call,
    /// Its id, where the request id fixes it.
    pub id: Option<i64>,
}

/// What a caller must get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// A success.
    Result,
    /// A success with the device's level.
    Value,
    /// An error.
    Error,
}

/// A tool with its arguments.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// An object, unless the gateway made something else of it.
    pub arguments: Value,
}

impl Call {
    /// Whether tool and arguments are the same; numbers are compared by value.
    pub fn equals(&self, other: &Self) -> bool {
        self.tool == other.tool && same_value(&self.arguments, &other.arguments)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a call of `{}` with {}", self.tool, self.arguments)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: Vec<String>,
    level: i64,
    fence: Fence,
    rows: Vec<FileRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    name: String,
    title: String,
    requirement: String,
    send: Vec<Value>,
    calls: Vec<FileCall>,
    reply: Option<Expected>,
    #[serde(rename = "why")]
    _why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCall {
    tool: String,
    arguments: Value,
    id: Option<i64>,
}

impl Table {
    /// Reads the table.
    ///
    /// # Errors
    ///
    /// Broken JSON, an unknown member or requirement, a name twice, or a row that makes the call of
    /// the fence.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut rows: Vec<Row> = Vec::new();
        for row in file.rows {
            let name = row.name;
            let requirement = REQUIREMENTS.into_iter().find(|r| r.slug() == row.requirement);
            let Some(requirement) = requirement else {
                return Err(format!("`{name}`: no requirement `{}`", row.requirement));
            };
            let calls: Vec<Wanted> = row
                .calls
                .into_iter()
                .map(|FileCall { tool, arguments, id }| Wanted {
                    call: Call { tool, arguments },
                    id,
                })
                .collect();
            let fence = calls.iter().any(|one| one.call.equals(&file.fence.call));
            if fence || rows.iter().any(|other| other.name == name) || row.send.is_empty() {
                return Err(format!(
                    "`{name}`: it is present twice, sends nothing, or makes the call of the fence"
                ));
            }
            rows.push(Row {
                name,
                title: row.title,
                requirement,
                send: row
                    .send
                    .into_iter()
                    .map(|control| match control {
                        Value::String(text) => text,
                        other => other.to_string(),
                    })
                    .collect(),
                calls,
                reply: row.reply,
            });
        }
        Ok(Self { level: file.level, fence: file.fence, rows })
    }
}

impl Fence {
    /// The good control with a request id.
    pub fn control(&self, request_id: &str) -> String {
        let mut control = self.send.clone();
        control.insert("request_id".into(), request_id.into());
        Value::Object(control).to_string()
    }
}
