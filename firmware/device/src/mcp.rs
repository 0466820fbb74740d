//! The MCP server: four methods, each a pure step from parameters to a result.

use alloc::format;
use alloc::string::{String, ToString};

use crate::arguments::Arguments;
use crate::board::Board;
use crate::console::{self, Level};
use crate::effects::Effects;
use crate::json::{self, Object, Value};
use crate::limits::{LONGEST_ECHO, LONGEST_SETTING};
use crate::registry::{Registry, ToolFailure};
use crate::rpc::RpcError;

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
pub(crate) type Params<'a> = Option<Object<'a>>;

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
        .and_then(|params| params.object("capabilities"))
        .and_then(|all| all.object("vision"));
    if let Some([url, token]) = asked.map(|asked| asked.pick(["url", "token"]))
        && let Some(url) = url.and_then(Value::as_text)
    {
        let token = token.and_then(Value::as_text);
        let token = token.map_or(Some(String::new()), |token| token.copy(LONGEST_SETTING));
        let url = url.copy(LONGEST_SETTING);
        // A service whose address cannot be kept is none.
        *vision = url.zip(token).map(|(url, token)| Vision { url, token });
    }
    let (name, version) = (json::string(name), json::string(version));
    Ok(format!(
        "{{\"protocolVersion\":\"{PROTOCOL_VERSION}\",\"capabilities\":{{\"tools\":{{}}}},\
         \"serverInfo\":{{\"name\":{name},\"version\":{version}}}}}"
    ))
}

/// `tools/list`, one page.
pub(crate) fn list(params: Params, registry: &Registry) -> Outcome {
    let names = ["cursor", "withUserTools"];
    let [cursor, with_user_tools] = params.map_or([None; 2], |params| params.pick(names));
    let cursor = match cursor.map(Value::as_text) {
        None => String::new(),
        // No tool has a name as long as that.
        Some(Some(cursor)) => cursor.shortened(LONGEST_ECHO),
        Some(None) => return Err(RpcError::invalid_params("cursor must be a string")),
    };
    let with_user_tools = match with_user_tools.map(Value::as_bool) {
        None => false,
        Some(Some(flag)) => flag,
        Some(None) => return Err(RpcError::invalid_params("withUserTools must be a boolean")),
    };
    registry.page(&cursor, with_user_tools)
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
        effects.log(Level::Error, "MCP", format!("tools/call: {}", console::quote(&message)));
        Err(RpcError::invalid_params(message))
    };
    let Some(params) = params else {
        return refuse(effects, "Missing params".to_string());
    };
    let [name, sent] = params.pick(["name", "arguments"]);
    let Some(name) = name.and_then(Value::as_text) else {
        return refuse(effects, "Missing name".to_string());
    };
    let sent = match sent.map(Value::as_object) {
        None => None,
        Some(Some(sent)) => Some(sent),
        Some(None) => return refuse(effects, "Invalid arguments: expected object".to_string()),
    };
    let name = name.shortened(LONGEST_ECHO);
    let Some(tool) = registry.find(&name) else {
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
