//! The messages of the voice channel that carries MCP.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use serde_json::{Map, Value};

use super::{Device, Output, REBOOT_DELAY_MS};
use crate::channel::Channel;
use crate::console::{self, Level};
use crate::http::HttpOutcome;
use crate::identity::Transport;
use crate::json;
use crate::mcp::{self, Outcome};
use crate::registry::ToolFailure;
use crate::rpc::{self, Id, Incoming, RpcError};
use crate::state::State;
use crate::tools::{Effects, PHOTO};
use crate::vision;

/// Version in the hello over MQTT.
const MQTT_VERSION: u8 = 3;

/// An audio frame as the versions of the WebSocket protocol send it.
pub(super) fn framed(version: u8, frame: Vec<u8>) -> Vec<u8> {
    let mut out = match version {
        // Version u16, type u16, reserved u32, timestamp u32, size u32.
        2 => {
            let mut out = alloc::vec![0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            out.extend_from_slice(&u32::try_from(frame.len()).unwrap_or(u32::MAX).to_be_bytes());
            out
        }
        // Type u8, reserved u8, size u16.
        3 => {
            let mut out = alloc::vec![0, 0];
            out.extend_from_slice(&u16::try_from(frame.len()).unwrap_or(u16::MAX).to_be_bytes());
            out
        }
        _ => return frame,
    };
    out.extend_from_slice(&frame);
    out
}

impl Device {
    /// A binary frame: sound to play, which this board swallows whatever it is.
    pub fn on_binary(&mut self, _frame: &[u8]) {}

    /// A message whose bytes need not be text.
    pub fn on_bytes(&mut self, bytes: &[u8], now: u64) {
        match core::str::from_utf8(bytes) {
            Ok(text) => self.on_text(text, now),
            Err(_) => {
                self.now = now;
                self.log_unreadable(&String::from_utf8_lossy(bytes));
            }
        }
    }

    /// A text frame, or a message over MQTT.
    pub fn on_text(&mut self, text: &str, now: u64) {
        self.now = now;
        let message = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(message)) => message,
            Ok(_) if self.identity.transport == Transport::Mqtt => {
                self.log(Level::Error, "MQTT", "Message type is invalid");
                return;
            }
            _ => {
                self.log_unreadable(text);
                return;
            }
        };
        let Some(kind) = message.get("type").and_then(Value::as_str) else {
            match self.identity.transport {
                Transport::Websocket => self.log_unreadable(text),
                Transport::Mqtt => self.log(Level::Error, "MQTT", "Message type is invalid"),
            }
            return;
        };
        match kind {
            "mcp" => self.on_mcp(message.get("payload")),
            "hello" => self.on_hello(&message),
            "tts" => self.on_speech(&message),
            "system" => self.on_system(&message),
            "goodbye" if self.identity.transport == Transport::Mqtt => self.on_goodbye(&message),
            "stt" | "llm" | "alert" | "custom" => {
                self.log(Level::Info, "Application", &format!("Received {kind}"));
            }
            other => {
                let line = format!("Unknown message type: {}", console::quote(other));
                self.log(Level::Warning, "Application", &line);
            }
        }
    }

    fn log_unreadable(&mut self, text: &str) {
        let text = console::quote(text);
        let line = match self.identity.transport {
            Transport::Websocket => format!("Missing message type, data: {text}"),
            Transport::Mqtt => format!("Failed to parse json message {text}"),
        };
        self.log(Level::Error, self.identity.transport.tag(), &line);
    }

    fn on_hello(&mut self, message: &Map<String, Value>) {
        let tag = self.identity.transport.tag();
        let transport = message.get("transport").and_then(Value::as_str);
        if transport != Some(self.transport_name()) {
            let line = match self.identity.transport {
                Transport::Websocket => format!(
                    "Unsupported transport: {}",
                    console::quote(transport.unwrap_or("(null)"))
                ),
                Transport::Mqtt => "Unsupported or missing transport".to_string(),
            };
            self.log(Level::Error, tag, &line);
            return;
        }
        if let Some(session) = message.get("session_id").and_then(Value::as_str) {
            self.session = json::string(session);
            let line = format!("Session ID: {}", console::quote(session));
            self.log(Level::Info, tag, &line);
        }
        if self.greeted {
            return;
        }
        if self.identity.transport == Transport::Mqtt {
            match Channel::from_hello(message) {
                // A hello that nobody asked for opens no channel.
                Ok(_) if self.timers.hello.is_none() => return,
                Ok(channel) => self.channel = Some(channel),
                Err(line) => {
                    self.log(Level::Error, tag, line);
                    return;
                }
            }
        }
        self.greeted = true;
        self.timers.hello = None;
        let listen = format!(
            "{{\"session_id\":{},\"type\":\"listen\",\"state\":\"start\",\"mode\":\"auto\"}}",
            self.session
        );
        self.outputs.push_back(Output::Text(listen));
        self.change_state(State::Listening);
    }

    /// The server closes the audio channel. Only the current session can be meant.
    fn on_goodbye(&mut self, message: &Map<String, Value>) {
        let session = message.get("session_id").and_then(Value::as_str);
        let shown = console::quote(session.unwrap_or("null"));
        let line = format!("Received goodbye message, session_id: {shown}");
        self.log(Level::Info, "MQTT", &line);
        if self.greeted && session.map(json::string).as_deref() == Some(&*self.session) {
            self.log(
                Level::Info,
                "MQTT",
                "Closing audio channel, send_goodbye: 0",
            );
            self.close_channel();
        }
    }

    /// The device itself closes the audio channel of the MQTT transport, if there is one.
    pub(super) fn leave_channel(&mut self) {
        if self.identity.transport != Transport::Mqtt || !self.greeted {
            return;
        }
        self.log(
            Level::Info,
            "MQTT",
            "Closing audio channel, send_goodbye: 1",
        );
        let goodbye = format!("{{\"session_id\":{},\"type\":\"goodbye\"}}", self.session);
        self.outputs.push_back(Output::Text(goodbye));
        self.close_channel();
    }

    fn close_channel(&mut self) {
        self.channel = None;
        // From here on there is no conversation whose state could be told.
        self.greeted = false;
        self.change_state(State::Idle);
    }

    /// What the member `transport` says in the hellos of both sides.
    fn transport_name(&self) -> &'static str {
        match self.identity.transport {
            Transport::Websocket => "websocket",
            Transport::Mqtt => "udp",
        }
    }

    /// The device's hello. It never carries a session id: the server gives it.
    pub(super) fn hello(&self) -> String {
        let version = match self.identity.transport {
            Transport::Websocket => self.identity.websocket_version,
            Transport::Mqtt => MQTT_VERSION,
        };
        format!(
            concat!(
                r#"{{"type":"hello","version":{},"features":{{"mcp":true}},"transport":"{}","#,
                r#""audio_params":{{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}}}"#,
            ),
            version,
            self.transport_name(),
        )
    }

    fn on_speech(&mut self, message: &Map<String, Value>) {
        match message.get("state").and_then(Value::as_str) {
            Some("start") if self.greeted => self.change_state(State::Speaking),
            Some("stop") if self.greeted => self.change_state(State::Listening),
            _ => {}
        }
    }

    fn on_system(&mut self, message: &Map<String, Value>) {
        let command = message
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or_default();
        self.log(
            Level::Info,
            "Application",
            &format!("System command: {}", console::quote(command)),
        );
        if command == "reboot" {
            self.timers.reboot = Some(self.now + REBOOT_DELAY_MS);
        }
    }

    fn on_mcp(&mut self, payload: Option<&Value>) {
        if self.identity.transport == Transport::Websocket && !self.greeted {
            // There is no session yet that an answer could name.
            self.log(
                Level::Warning,
                "MCP",
                "Message before the server's hello ignored",
            );
            return;
        }
        match payload {
            Some(Value::Object(payload)) => self.on_payload(payload),
            Some(Value::Array(_)) => {
                self.log(Level::Error, "MCP", "Batches are not supported");
                let error = RpcError::invalid_request("batches are not supported");
                self.answer(None, &Err(error));
            }
            _ => self.log(Level::Error, "MCP", "Invalid payload"),
        }
    }

    fn on_payload(&mut self, payload: &Map<String, Value>) {
        match rpc::read(payload) {
            Incoming::Dropped { log } => {
                if let Some(line) = log {
                    self.log(Level::Error, "MCP", &line);
                }
            }
            Incoming::Refused { id, error, log } => {
                self.log(Level::Error, "MCP", &log);
                self.answer(Some(id), &Err(error));
            }
            Incoming::Request { id, method, params } => {
                let mut effects = Effects::default();
                let outcome = self.execute(method, params, &mut effects);
                for (level, tag, text) in effects.lines {
                    self.log(level, tag, &text);
                }
                match effects.question {
                    Some(question) => self.take_photo(id, &question),
                    None => self.answer(Some(id), &outcome),
                }
                if effects.reboot {
                    self.timers.reboot = Some(self.now + REBOOT_DELAY_MS);
                }
            }
        }
    }

    /// Has a picture explained. The answer waits for the service, unless it cannot be asked.
    fn take_photo(&mut self, id: Id, question: &str) {
        match vision::request(self.vision.as_ref(), question, &self.identity) {
            Ok(request) => {
                let line = format!(
                    "Explain image size={}, question={}",
                    PHOTO.len(),
                    console::quote(question)
                );
                self.log(Level::Info, "Camera", &line);
                self.photos.push_back(id);
                self.outputs.push_back(Output::Http(request));
            }
            Err(reason) => self.answer_photo(id, Err(reason)),
        }
    }

    /// The service has spoken, or cannot be reached.
    pub(super) fn on_explanation(&mut self, outcome: HttpOutcome) {
        if let Some(id) = self.photos.pop_front() {
            self.answer_photo(id, vision::explanation(outcome));
        }
    }

    fn answer_photo(&mut self, id: Id, explained: Result<String, String>) {
        if let Err(reason) = &explained {
            self.log(Level::Error, "Camera", &console::quote(reason));
        }
        let result = mcp::text_result(explained.map_err(ToolFailure));
        self.answer(Some(id), &Ok(result));
    }

    fn execute(&mut self, method: &str, params: mcp::Params, effects: &mut Effects) -> Outcome {
        match method {
            "initialize" => mcp::initialize(
                params,
                &self.identity.board,
                &self.identity.version,
                &mut self.vision,
            ),
            "ping" => Ok("{}".to_string()),
            "tools/list" => mcp::list(params, &self.registry),
            "tools/call" => mcp::call(params, &self.registry, &mut self.board, effects),
            unknown => {
                let line = format!("Method not implemented: {}", console::quote(unknown));
                effects.log(Level::Error, "MCP", line);
                Err(RpcError::unknown_method(unknown))
            }
        }
    }

    /// Sends an answer; without id for a message whose id cannot be told (JSON-RPC 2.0 section 5).
    fn answer(&mut self, id: Option<Id>, outcome: &Outcome) {
        let length = outcome.as_ref().map_or(128, String::len) + self.session.len() + 96;
        let mut out = String::with_capacity(length);
        self.push_envelope_head(&mut out);
        out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        // Writing to a `String` cannot fail.
        let _ = match id {
            Some(id) => write!(out, "{id},"),
            None => out.write_str("null,"),
        };
        match outcome {
            Ok(result) => {
                out.push_str("\"result\":");
                out.push_str(result);
            }
            Err(error) => error.push_member(&mut out),
        }
        out.push_str("}}");
        self.outputs.push_back(Output::Text(out));
    }

    pub(super) fn push_envelope_head(&self, out: &mut String) {
        out.push_str("{\"session_id\":");
        out.push_str(&self.session);
        out.push_str(",\"type\":\"mcp\",\"payload\":");
    }
}
