//! The MCP server: four methods, each a pure step from parameters to a result.

use alloc::format;
use alloc::string::{String, ToString};

use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::board::Board;
use crate::console::{self, Level};
use crate::json;
use crate::registry::{Registry, ToolFailure};
use crate::rpc::RpcError;
use crate::tools::Effects;

/// The one protocol revision that the device speaks; it is offered whatever the client asks for.
const PROTOCOL_VERSION: &str = "2024-11-05";

/// Where pictures are to be sent for explanation, as the server last said in `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vision {
    /// Address of the service.
    pub url: String,
    /// Its bearer token; empty when none is needed.
    pub token: String,
}

/// Parameters of a request.
pub(crate) type Params<'a> = Option<&'a Map<String, Value>>;

/// JSON text of a result, or the error to answer.
pub(crate) type Outcome = Result<String, RpcError>;

/// `initialize` (MCP 2024-11-05, lifecycle). It may be repeated and need not be the first request.
pub(crate) fn initialize(
    params: Params,
    name: &str,
    version: &str,
    vision: &mut Option<Vision>,
) -> Outcome {
    let asked = params
        .and_then(|params| params.get("capabilities"))
        .and_then(|all| all.get("vision"));
    if let Some(url) = asked
        .and_then(|vision| vision.get("url"))
        .and_then(Value::as_str)
    {
        let token = asked
            .and_then(|vision| vision.get("token"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        *vision = Some(Vision {
            url: url.to_string(),
            token: token.to_string(),
        });
    }
    let (name, version) = (json::string(name), json::string(version));
    Ok(format!(
        "{{\"protocolVersion\":\"{PROTOCOL_VERSION}\",\"capabilities\":{{\"tools\":{{}}}},\
         \"serverInfo\":{{\"name\":{name},\"version\":{version}}}}}"
    ))
}

/// `tools/list`, one page.
pub(crate) fn list(params: Params, registry: &Registry) -> Outcome {
    let cursor = match params.and_then(|params| params.get("cursor")) {
        None => "",
        Some(Value::String(cursor)) => cursor,
        Some(_) => return Err(RpcError::invalid_params("cursor must be a string")),
    };
    let with_user_tools = match params.and_then(|params| params.get("withUserTools")) {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => return Err(RpcError::invalid_params("withUserTools must be a boolean")),
    };
    registry.page(cursor, with_user_tools)
}

/// `tools/call`. What is wrong with the call is an error answer; what goes wrong in the tool is a
/// result with `isError` true (MCP 2024-11-05, tools, "Error Handling").
pub(crate) fn call(
    params: Params,
    registry: &Registry,
    board: &mut Board,
    effects: &mut Effects,
) -> Outcome {
    let refuse = |effects: &mut Effects, message: String| {
        effects.log(
            Level::Error,
            "MCP",
            format!("tools/call: {}", console::quote(&message)),
        );
        Err(RpcError::invalid_params(message))
    };
    let Some(params) = params else {
        return refuse(effects, "Missing params".to_string());
    };
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return refuse(effects, "Missing name".to_string());
    };
    let sent = match params.get("arguments") {
        None => None,
        Some(Value::Object(sent)) => Some(sent),
        Some(_) => return refuse(effects, "Invalid arguments: expected object".to_string()),
    };
    let Some(tool) = registry.find(name) else {
        return refuse(effects, format!("Unknown tool: {name}"));
    };
    let arguments = match Arguments::check(tool.properties, sent) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(effects, error.to_string()),
    };
    Ok(text_result((tool.handler)(board, &arguments, effects)))
}

/// The result of a tool: a text, or with `isError` true what went wrong.
pub(crate) fn text_result(outcome: Result<String, ToolFailure>) -> String {
    let (text, is_error) = match outcome {
        Ok(text) => (text, false),
        Err(ToolFailure(text)) => (text, true),
    };
    let text = json::string(&text);
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"isError\":{is_error}}}")
}
