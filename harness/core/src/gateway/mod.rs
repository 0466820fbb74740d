//! The volume gateway without its sockets: `device_control` messages in, `tools/call` requests for
//! the device out, the device's answers back to the callers.
//!
//! A control is one of two JSON objects (xiaozhi volume workflow):
//!
//! ```json
//! {"type":"device_control","action":"set_volume","volume":50,"request_id":"req_17","timestamp":1}
//! {"type":"function_call","function_call":{"name":"self_set_volume","arguments":{"volume":50}}}
//! ```
//!
//! `command` is another name of `action`, `value` of `volume` and of `step`, `args` of `arguments`.
//! A caller gets one answer for each call, and one for a call that could not be made:
//!
//! ```json
//! {"type":"device_control_result","request_id":"req_17","action":"set_volume","timestamp":1,
//!  "success":true,"result":{"content":[{"type":"text","text":"true"}],"isError":false}}
//! {"type":"device_control_result","request_id":"req_18","action":"get_volume","timestamp":2,
//!  "success":true,"result":{...},"volume":50}
//! {"type":"device_control_result","request_id":"req_19","function":"self.x","timestamp":3,
//!  "success":false,"error":{"code":-32602,"message":"Unknown tool: self.x"}}
//! ```
//!
//! `request_id` comes back as it was given; where none was given it is `req_` and the time in
//! milliseconds. Time is an argument; nothing here waits.

mod convert;
mod ids;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::capability::STATUS_TOOL;
use crate::wire::{as_integer, outbound};

use convert::{Control, Dropped};
use ids::Ids;

pub use ids::{CALLERS_BELOW, DEVICE_IDS_BELOW};

/// Most calls that wait for their answers at a time; further controls are refused.
pub const MAX_PENDING: usize = 1_024;

/// Longest control that is read, in bytes. The longest sensible one has some hundred.
pub const MAX_CONTROL_BYTES: usize = 64 * 1_024;

/// The device has no connection: error code of the answer to the caller.
pub const DEVICE_AWAY: i64 = -32_001;
/// The device did not answer in time: error code of the answer to the caller.
pub const NO_ANSWER: i64 = -32_002;
/// Too many calls wait: error code of the answer to the caller.
pub const BUSY: i64 = -32_003;
/// The control cannot be made a call: error code of the answer to the caller.
pub const INVALID: i64 = -32_602;

/// How a gateway is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Take numbers out of request ids as they are, also those that no 32-bit device can answer.
    pub wide_ids: bool,
    /// How long the device may take for an answer, in milliseconds.
    pub deadline_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { wide_ids: false, deadline_ms: 10_000 }
    }
}

/// Something that the gateway is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send a JSON-RPC request to the device.
    SendToDevice {
        /// The request.
        payload: Value,
    },
    /// Send an answer to a caller.
    Reply(Reply),
    /// Tell the person at the gateway.
    Log {
        /// The severity.
        level: LogLevel,
        /// The message, one line.
        text: String,
    },
}

/// An answer to a caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The caller, by the number with which its control message was passed in.
    pub caller: u64,
    /// The answer, in the form of `device_control_result`.
    pub json: Value,
}

/// How bad a remark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// It is done all the same.
    Warning,
    /// It is not done.
    Error,
}

/// A call that waits for its answer.
#[derive(Debug, Clone)]
struct Pending {
    caller: u64,
    answer: Map<String, Value>,
    status: bool,
    due_ms: u64,
}

/// The gateway: ids, and who waits for what.
#[derive(Debug)]
pub struct Gateway {
    settings: Settings,
    ids: Ids,
    pending: BTreeMap<u64, Pending>,
}

impl Gateway {
    /// A gateway that nobody has asked anything yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ids: Ids::new(settings.wide_ids), pending: BTreeMap::new() }
    }

    /// Takes a control of a caller at a time in milliseconds since 1970.
    pub fn control(&mut self, caller: u64, text: &str, now_ms: u64) -> Vec<Step> {
        let log = |level, text| Step::Log { level, text };
        let control = match Control::read(text, now_ms) {
            Ok(control) => control,
            Err(Dropped { why, answer }) => {
                let mut steps = vec![log(LogLevel::Error, why.clone())];
                if let Some(answer) = answer {
                    steps.push(failure(caller, answer, INVALID, &why));
                }
                return steps;
            }
        };
        let mut steps = Vec::new();
        if let Some(warning) = control.warning {
            steps.push(log(LogLevel::Warning, warning));
        }
        if self.pending.len() >= MAX_PENDING {
            let why = format!("{MAX_PENDING} calls are waiting for the device");
            steps.push(log(LogLevel::Error, why.clone()));
            steps.push(failure(caller, control.answer, BUSY, &why));
            return steps;
        }
        let id = self.ids.take(control.wanted_id);
        let params = json!({"name": control.tool, "arguments": control.arguments});
        let pending = Pending {
            caller,
            answer: control.answer,
            status: control.tool == STATUS_TOOL,
            due_ms: now_ms.saturating_add(self.settings.deadline_ms),
        };
        self.pending.insert(id, pending);
        steps.push(Step::SendToDevice {
            payload: outbound::request(&id.into(), "tools/call", Some(&params)),
        });
        steps
    }

    /// An id for a request of the gateway's own, such as `initialize`.
    pub fn own_id(&mut self) -> u64 {
        self.ids.take(None)
    }

    /// Takes a JSON-RPC answer of the device. `None` when nobody waits for it (any longer).
    pub fn answer(&mut self, payload: &Value) -> Option<Reply> {
        let id = u64::try_from(as_integer(payload.get("id")?)?).ok()?;
        if payload.get("method").is_some() {
            return None;
        }
        let Pending { caller, answer, status, .. } = self.pending.remove(&id)?;
        if let Some(error) = payload.get("error") {
            return Some(Reply { caller, json: failed(answer, error.clone()) });
        }
        let result = payload.get("result").cloned().unwrap_or_default();
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        if result.get("isError") == Some(&Value::Bool(true)) {
            let message = text.unwrap_or("the tool failed").to_owned();
            return Some(Reply { caller, json: failed(answer, json!({"message": message})) });
        }
        let mut json = answer;
        let level = text
            .filter(|_| status)
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .and_then(|status| as_integer(status.pointer("/audio_speaker/volume")?));
        json.insert("success".into(), true.into());
        json.insert("result".into(), result);
        if let Some(level) = level {
            json.insert("volume".into(), level.into());
        }
        let json = Value::Object(json);
        Some(Reply { caller, json })
    }

    /// A call could not be sent: the answer for its caller.
    pub fn undelivered(&mut self, payload: &Value) -> Option<Reply> {
        let id = payload.get("id")?.as_u64()?;
        let pending = self.pending.remove(&id)?;
        Some(away(pending))
    }

    /// The device's connection ended: the answers for all who wait.
    pub fn device_gone(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.pending).into_values().map(away).collect()
    }

    /// The answers for those who have waited too long.
    pub fn expire(&mut self, now_ms: u64) -> Vec<Reply> {
        let seconds = self.settings.deadline_ms as f64 / 1000.0;
        let message = format!("the device did not answer within {seconds} s");
        self.pending
            .extract_if(.., |_, pending| pending.due_ms <= now_ms)
            .map(|(_, pending)| Reply {
                caller: pending.caller,
                json: failed(pending.answer, json!({"code": NO_ANSWER, "message": message})),
            })
            .collect()
    }

    /// When the next call has waited too long, if one waits.
    pub fn next_due(&self) -> Option<u64> {
        self.pending.values().map(|pending| pending.due_ms).min()
    }

    /// Forgets a caller that went away: nobody is there for its answers.
    pub fn caller_gone(&mut self, caller: u64) {
        self.pending.retain(|_, pending| pending.caller != caller);
    }
}

fn away(pending: Pending) -> Reply {
    Reply {
        caller: pending.caller,
        json: failed(
            pending.answer,
            json!({"code": DEVICE_AWAY, "message": "the device is not connected"}),
        ),
    }
}

fn failure(caller: u64, answer: Map<String, Value>, code: i64, why: &str) -> Step {
    Step::Reply(Reply { caller, json: failed(answer, json!({"code": code, "message": why})) })
}

fn failed(mut answer: Map<String, Value>, error: Value) -> Value {
    answer.insert("success".into(), false.into());
    answer.insert("error".into(), error);
    Value::Object(answer)
}

#[cfg(test)]
mod tests;
