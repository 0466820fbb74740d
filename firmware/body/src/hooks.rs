//! What a defect gets to see and what it can do: the arguments of the hooks in [`crate::defect`].

use crate::prelude::*;

use reference_device::{Device, Tool, Transport};
use serde_json::Value;

use crate::console::Reset;
use crate::platform::Frame;

/// Whether a message goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It goes on, perhaps changed.
    Pass,
    /// It ends here.
    Drop,
}

/// A text frame on its way to the device.
#[derive(Debug)]
pub(crate) struct Inbound {
    /// As it came, or as an earlier hand left it.
    pub(crate) text: String,
    /// It came in more than one WebSocket frame; only told to a defect that watches for it.
    pub(crate) fragmented: bool,
}

/// A text frame on its way to the server.
#[derive(Debug)]
pub(crate) struct Outbound<'a> {
    /// As the device wrote it, or as an earlier hand left it.
    pub(crate) text: String,
    /// What caused it, before any change by the defect. `None` for what the device sends by itself.
    pub(crate) cause: Option<&'a Request>,
}

/// The MCP payload that arrived, whatever it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    payload: Value,
}

impl Request {
    /// Reads a text frame; everything that holds no MCP payload gives an empty request.
    pub(crate) fn read(text: &str) -> Request {
        let mut envelope: Value = serde_json::from_str(text).unwrap_or_default();
        Request { payload: envelope.get_mut("payload").map(Value::take).unwrap_or_default() }
    }

    /// Member `id`, null when there is none.
    pub(crate) fn id(&self) -> &Value {
        &self.payload["id"]
    }

    /// The length of the longest name of a member, at any depth.
    pub(crate) fn longest_name(&self) -> usize {
        fn of(value: &Value) -> usize {
            match value {
                Value::Array(items) => items.iter().map(of).max().unwrap_or(0),
                Value::Object(members) => {
                    let each = members.iter().map(|(name, value)| name.len().max(of(value)));
                    each.max().unwrap_or(0)
                }
                _ => 0,
            }
        }
        of(&self.payload)
    }

    /// The method, empty when there is none.
    pub(crate) fn method(&self) -> &str {
        self.payload["method"].as_str().unwrap_or_default()
    }

    /// Member `params`, null when there are none.
    pub(crate) fn params(&self) -> &Value {
        &self.payload["params"]
    }

    /// The tool that `tools/call` names, empty for other requests.
    pub(crate) fn tool(&self) -> &str {
        if self.method() == "tools/call" {
            self.params()["name"].as_str().unwrap_or_default()
        } else {
            ""
        }
    }

    /// The argument `name` of a tool call, null when there is none.
    pub(crate) fn argument(&self, name: &str) -> &Value {
        &self.params()["arguments"][name]
    }

    /// The cursor of `tools/list`, empty when there is none.
    pub(crate) fn cursor(&self) -> &str {
        self.params()["cursor"].as_str().unwrap_or_default()
    }
}

/// Something that a defect does on its own.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends a frame. It passes no hook.
    Send(Frame),
    /// Prints a console line.
    Print(String),
    /// Ends the connection without a word.
    Disconnect,
    /// Crashes: panic text, restart, new connection.
    Panic,
    /// Restarts without any text but the ROM's.
    Restart,
    /// Prints lines, and restarts for a reason of its own.
    Reset(&'static [&'static str], Reset),
    /// Hears and says nothing more on this connection.
    Hang,
    /// Does nothing at all for so many milliseconds, whatever comes.
    Pause(u64),
    /// Switches off.
    Exit,
    /// Calls [`crate::defect::Defect::wake`].
    Wake,
}

/// The hands of a defect.
#[derive(Debug)]
pub(crate) struct Hands<'a> {
    /// The device behind the defect.
    pub(crate) device: &'a mut Device,
    acts: Vec<(u64, Act)>,
}

impl<'a> Hands<'a> {
    pub(crate) fn new(device: &'a mut Device) -> Self {
        Hands { device, acts: Vec::new() }
    }

    /// What was asked for: acts with their delay in milliseconds.
    pub(crate) fn into_acts(self) -> Vec<(u64, Act)> {
        self.acts
    }

    /// Sends text.
    pub(crate) fn send(&mut self, text: impl Into<String>) {
        self.send_later(0, text);
    }

    /// Sends text after some milliseconds.
    pub(crate) fn send_later(&mut self, delay_ms: u64, text: impl Into<String>) {
        self.act_later(delay_ms, Act::Send(Frame::Text(text.into())));
    }

    /// Sends an MCP payload in the current session.
    pub(crate) fn send_payload(&mut self, payload: &Value) {
        let text = self.envelope(payload);
        self.send(text);
    }

    /// An MCP message of the current session.
    pub(crate) fn envelope(&self, payload: &Value) -> String {
        let session = self.device.session_json();
        format!(r#"{{"session_id":{session},"type":"mcp","payload":{payload}}}"#)
    }

    /// Whether the messages travel over MQTT.
    pub(crate) fn over_mqtt(&self) -> bool {
        self.device.identity().transport == Transport::Mqtt
    }

    /// Does something at once.
    pub(crate) fn act(&mut self, act: Act) {
        self.act_later(0, act);
    }

    /// Does something after some milliseconds.
    pub(crate) fn act_later(&mut self, delay_ms: u64, act: Act) {
        self.acts.push((delay_ms, act));
    }

    /// The tool that a call names, if the device has it.
    pub(crate) fn tool_of(&self, params: &Value) -> Option<Tool> {
        self.device.registry().find(params["name"].as_str()?).copied()
    }
}
