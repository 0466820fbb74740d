//! One control on its way to a tool call: action map, function map, arguments, request id.

use serde_json::{Map, Value};

use super::MAX_CONTROL_BYTES;

/// Actions, the functions that they mean, and their argument with what it is when it is absent.
const ACTIONS: [(&str, &str, Argument); 6] = [
    ("set_volume", "self_set_volume", Some(("volume", None))),
    ("volume_up", "self_volume_up", Some(("step", Some(10)))),
    ("volume_down", "self_volume_down", Some(("step", Some(10)))),
    ("get_volume", "self_get_volume", None),
    ("mute", "self_mute", None),
    ("unmute", "self_unmute", None),
];

/// Name of an action's argument, and its default.
type Argument = Option<(&'static str, Option<i64>)>;

/// Functions and the tools that they mean.
const FUNCTIONS: [(&str, &str); 6] = [
    ("self_set_volume", "self.audio_speaker.set_volume"),
    ("self_volume_up", "self.audio_speaker.volume_up"),
    ("self_volume_down", "self.audio_speaker.volume_down"),
    ("self_get_volume", "self.get_device_status"),
    ("self_mute", "self.audio_speaker.mute"),
    ("self_unmute", "self.audio_speaker.unmute"),
];

/// A control that becomes a call.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    /// The number in its request id.
    pub(super) wanted_id: Option<u64>,
    /// What its answer begins with.
    pub(super) answer: Map<String, Value>,
    pub(super) warning: Option<String>,
}

/// A control that becomes none.
#[derive(Debug)]
pub(super) struct Dropped {
    pub(super) why: String,
    /// What the answer to the caller begins with, where it gets one.
    pub(super) answer: Option<Map<String, Value>>,
}

impl Dropped {
    fn silent(why: String) -> Self {
        Self { why, answer: None }
    }
}

impl Control {
    /// Reads a control.
    pub(super) fn read(text: &str, now_ms: u64) -> Result<Self, Dropped> {
        if text.len() > MAX_CONTROL_BYTES {
            return Err(Dropped::silent(format!(
                "a control message of {} bytes was discarded: expected at most {MAX_CONTROL_BYTES}",
                text.len()
            )));
        }
        let data = match serde_json::from_str(text) {
            Ok(Value::Object(data)) => data,
            Ok(other) => {
                let why =
                    format!("expected a control message as a JSON object, got {}", short(&other));
                return Err(Dropped::silent(why));
            }
            Err(error) => {
                return Err(Dropped::silent(format!(
                    "a control message that is not JSON was discarded: {error}"
                )));
            }
        };
        let kind = match data.get("type") {
            // Only controls belong on the topic of controls.
            None | Some(Value::Null) if data.contains_key("function_call") => "function_call",
            None | Some(Value::Null) => "device_control",
            Some(kind) => kind.as_str().unwrap_or_default(),
        };
        let given = |name: &str| data.get(name).filter(|value| !value.is_null());
        let request_id =
            given("request_id").cloned().unwrap_or_else(|| format!("req_{now_ms}").into());
        let wanted_id = number_in(&request_id);
        let mut answer = Map::new();
        answer.insert("type".into(), "device_control_result".into());
        answer.insert("request_id".into(), request_id);
        let timestamp = given("timestamp").cloned();
        let close = |mut answer: Map<String, Value>| {
            answer.insert("timestamp".into(), timestamp.unwrap_or_else(|| now_ms.into()));
            answer
        };
        let (function, arguments) = match kind {
            "device_control" => {
                let (action, function, arguments) = action(&data)?;
                answer.insert("action".into(), action.into());
                (function.to_owned(), arguments)
            }
            "function_call" => match function_call(&data) {
                Ok((function, arguments)) => {
                    answer.insert("function".into(), function.into());
                    (function.to_owned(), arguments)
                }
                Err(why) => {
                    return Err(Dropped { why, answer: Some(close(answer)) });
                }
            },
            _ => {
                let kind = data.get("type").map(short).unwrap_or_default();
                return Err(Dropped::silent(format!(
                    "a message of type {kind} was discarded: expected `device_control` or `function_call`"
                )));
            }
        };
        let known = FUNCTIONS.iter().find(|(name, _)| *name == function);
        let (tool, warning) = match known {
            Some((_, tool)) => ((*tool).to_owned(), None),
            None => {
                let shown = short(&function.as_str().into());
                let warning = format!("unknown function {shown}: forwarded under its own name");
                (function, Some(warning))
            }
        };
        Ok(Self { tool, arguments, wanted_id, answer: close(answer), warning })
    }
}

/// The action of a `device_control`, its function, and its argument.
fn action(data: &Map<String, Value>) -> Result<(&str, &'static str, Map<String, Value>), Dropped> {
    let given = |name: &str| data.get(name).filter(|value| !value.is_null());
    let named = given("action").or_else(|| given("command"));
    let known = named
        .and_then(Value::as_str)
        .and_then(|named| ACTIONS.iter().find(|(action, ..)| *action == named));
    let Some((action, function, argument)) = known else {
        return Err(Dropped::silent(match named {
            Some(named) => format!("unknown action {}: discarded", short(named)),
            None => "a device_control without an action was discarded".to_owned(),
        }));
    };
    let mut arguments = Map::new();
    if let Some((name, default)) = argument {
        // A 0 is a value; only what is absent is looked for elsewhere.
        let value = given(name).or_else(|| given("value")).cloned();
        if let Some(value) = value.or_else(|| default.map(Value::from)) {
            arguments.insert((*name).into(), value);
        }
    }
    Ok((action, function, arguments))
}

/// Name and arguments of a `function_call`.
fn function_call(data: &Map<String, Value>) -> Result<(&str, Map<String, Value>), String> {
    let call = match data.get("function_call") {
        Some(Value::Object(call)) => call,
        None => data,
        Some(other) => {
            return Err(format!("expected `function_call` as an object, got {}", short(other)));
        }
    };
    let name = match call.get("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        None => return Err("a function_call without `name`".to_owned()),
        Some(other) => {
            return Err(format!("expected a function's name as text, got {}", short(other)));
        }
    };
    let arguments = call.get("arguments").or_else(|| call.get("args"));
    let wrong = |got: &Value| {
        Err(format!("expected the arguments of `{name}` as an object, got {}", short(got)))
    };
    match arguments {
        None | Some(Value::Null) => Ok((name, Map::new())),
        Some(Value::Object(arguments)) => Ok((name, arguments.clone())),
        // Language models write arguments as a text of JSON.
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Ok((name, arguments)),
            _ => wrong(&text.as_str().into()),
        },
        Some(other) => wrong(other),
    }
}

/// The number in a request id: 17 in `req_17`, in `17` and in the number 17; none in `req_17x`.
fn number_in(request_id: &Value) -> Option<u64> {
    match request_id {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => {
            let digits = text.strip_prefix("req_").unwrap_or(text);
            let only_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            only_digits.then(|| digits.parse().ok()).flatten()
        }
        _ => None,
    }
}

/// A value as a log line shows it.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("`{}...`", &text[..at]),
        None => format!("`{text}`"),
    }
}
