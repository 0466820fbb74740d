//! The messages of the voice channel that carries MCP.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use super::{Device, Output, REBOOT_DELAY_MS};
use crate::channel::Channel;
use crate::console::{self, Level};
use crate::effects::Effects;
use crate::http::HttpOutcome;
use crate::identity::Transport;
use crate::json::{self, Object, Text, Value};
use crate::limits::{LARGEST_MESSAGE, LONGEST_SESSION};
use crate::mcp::{self, Outcome};
use crate::registry::ToolFailure;
use crate::rpc::{self, Id, Incoming, RpcError};
use crate::state::State;
use crate::tools::PHOTO;
use crate::vision;

/// The types of messages that mean something, or are at least known.
const KINDS: [&str; 9] =
    ["mcp", "hello", "tts", "system", "goodbye", "stt", "llm", "alert", "custom"];

/// The methods that the device has.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

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

/// What a frame of the server holds behind its header; `None` where the header is cut, or tells a size that
/// the frame has not got.
fn unframed(version: u8, frame: &[u8]) -> Option<&[u8]> {
    match version {
        2 => {
            let (header, rest) = frame.split_at_checked(16)?;
            let size = u32::from_be_bytes(header[12..16].try_into().ok()?);
            rest.get(..usize::try_from(size).ok()?)
        }
        3 => {
            let (header, rest) = frame.split_at_checked(4)?;
            let size = u16::from_be_bytes(header[2..4].try_into().ok()?);
            rest.get(..usize::from(size))
        }
        _ => Some(frame),
    }
}

impl Device {
    /// A binary frame: sound to play, which this board swallows. One whose header does not fit it, by the
    /// version of the protocol in use, is dropped with a word.
    pub fn on_binary(&mut self, frame: &[u8]) {
        if unframed(self.identity.websocket_version, frame).is_none() {
            let line = format!("Invalid binary frame of {} bytes", frame.len());
            self.log(Level::Error, "WS", &line);
        }
    }

    /// A message whose bytes need not be text.
    pub fn on_bytes(&mut self, bytes: &[u8], now: u64) {
        match core::str::from_utf8(bytes) {
            Ok(text) => self.on_text(text, now),
            Err(_) => {
                self.now = now;
                // More of it would not be printed.
                let shown = &bytes[..bytes.len().min(console::LONGEST_QUOTE + 1)];
                self.log_unreadable(&String::from_utf8_lossy(shown));
            }
        }
    }

    /// A text frame, or a message over MQTT.
    pub fn on_text(&mut self, text: &str, now: u64) {
        self.now = now;
        let value = Value::read(text);
        let message = value.and_then(Value::as_object);
        let Some((message, kind)) =
            message.and_then(|message| Some((message, message.text("type")?)))
        else {
            match self.identity.transport {
                Transport::Mqtt if value.is_some() => {
                    self.log(Level::Error, "MQTT", "Message type is invalid");
                }
                _ => self.log_unreadable(text),
            }
            return;
        };
        let known = KINDS.into_iter().find(|known| kind == **known);
        match known {
            Some("mcp") => self.on_mcp(message.get("payload")),
            Some("hello") => self.on_hello(message),
            Some("tts") => self.on_speech(message),
            Some("system") => self.on_system(message),
            Some("goodbye") if self.identity.transport == Transport::Mqtt => {
                self.on_goodbye(message);
            }
            Some(other) if other != "goodbye" => {
                self.log(Level::Info, "Application", &format!("Received {other}"));
            }
            _ => {
                let kind = console::quote_chars(kind.chars());
                let line = format!("Unknown message type: {kind}");
                self.log(Level::Warning, "Application", &line);
            }
        }
    }

    /// The body did not take a message of so many bytes, and closes the connection.
    pub fn refused(&mut self, bytes: u64, now: u64) {
        self.now = now;
        let line = if bytes > LARGEST_MESSAGE as u64 {
            format!("Message of {bytes} bytes refused, at most {LARGEST_MESSAGE} are taken")
        } else {
            format!("Message of {bytes} bytes refused, out of memory")
        };
        self.log(Level::Error, self.identity.transport.tag(), &line);
    }

    fn log_unreadable(&mut self, text: &str) {
        let text = console::quote(text);
        let line = match self.identity.transport {
            Transport::Websocket => format!("Missing message type, data: {text}"),
            Transport::Mqtt => format!("Failed to parse json message {text}"),
        };
        self.log(Level::Error, self.identity.transport.tag(), &line);
    }

    fn on_hello(&mut self, message: Object<'_>) {
        let tag = self.identity.transport.tag();
        let transport = message.text("transport");
        if transport.is_none_or(|transport| transport != *self.transport_name()) {
            let line = match self.identity.transport {
                Transport::Websocket => {
                    let shown = transport.map(|shown| console::quote_chars(shown.chars()));
                    let shown = shown.as_deref().unwrap_or("(null)");
                    format!("Unsupported transport: {shown}")
                }
                Transport::Mqtt => "Unsupported or missing transport".to_string(),
            };
            self.log(Level::Error, tag, &line);
            return;
        }
        if let Some(session) = message.text("session_id") {
            let Some(session) = session.copy(LONGEST_SESSION) else {
                self.log(Level::Error, tag, "Session ID is too long");
                return;
            };
            self.session = json::string(&session);
            let line = format!("Session ID: {}", console::quote(&session));
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
    fn on_goodbye(&mut self, message: Object<'_>) {
        let session = message.text("session_id");
        let shown = session.map(|session| console::quote_chars(session.chars()));
        let shown = shown.as_deref().unwrap_or("null");
        let line = format!("Received goodbye message, session_id: {shown}");
        self.log(Level::Info, "MQTT", &line);
        let session = session.and_then(|session| session.copy(LONGEST_SESSION));
        if self.greeted && session.is_some_and(|session| json::string(&session) == self.session) {
            self.log(Level::Info, "MQTT", "Closing audio channel, send_goodbye: 0");
            self.close_channel();
        }
    }

    /// The device itself closes the audio channel of the MQTT transport, if there is one.
    pub(super) fn leave_channel(&mut self) {
        if self.identity.transport != Transport::Mqtt || !self.greeted {
            return;
        }
        self.log(Level::Info, "MQTT", "Closing audio channel, send_goodbye: 1");
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

    fn on_speech(&mut self, message: Object<'_>) {
        match message.text("state") {
            Some(state) if self.greeted && state == *"start" => self.change_state(State::Speaking),
            Some(state) if self.greeted && state == *"stop" => self.change_state(State::Listening),
            _ => {}
        }
    }

    fn on_system(&mut self, message: Object<'_>) {
        let command = message.text("command");
        let shown = command.map(|command| console::quote_chars(command.chars()));
        let line = format!("System command: {}", shown.unwrap_or_default());
        self.log(Level::Info, "Application", &line);
        if command.is_some_and(|command| command == *"reboot") {
            self.timers.reboot = Some(self.now + REBOOT_DELAY_MS);
        }
    }

    fn on_mcp(&mut self, payload: Option<Value<'_>>) {
        if self.identity.transport == Transport::Websocket && !self.greeted {
            // There is no session yet that an answer could name.
            self.log(Level::Warning, "MCP", "Message before the server's hello ignored");
            return;
        }
        match payload.map(|payload| (payload.as_object(), payload)) {
            Some((Some(payload), _)) => self.on_payload(payload),
            Some((None, payload)) if payload.is_array() => {
                self.log(Level::Error, "MCP", "Batches are not supported");
                let error = RpcError::invalid_request("batches are not supported");
                self.answer(None, &Err(error));
            }
            _ => self.log(Level::Error, "MCP", "Invalid payload"),
        }
    }

    fn on_payload(&mut self, payload: Object<'_>) {
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

    fn execute(
        &mut self,
        method: Text<'_>,
        params: mcp::Params<'_>,
        effects: &mut Effects,
    ) -> Outcome {
        match METHODS.into_iter().find(|known| method == **known) {
            Some("initialize") => mcp::initialize(
                params,
                &self.identity.board,
                &self.identity.version,
                &mut self.vision,
            ),
            Some("ping") => Ok("{}".to_string()),
            Some("tools/list") => mcp::list(params, &self.registry),
            Some("tools/call") => mcp::call(params, &self.registry, &mut self.board, effects),
            _ => {
                let shown = console::quote_chars(method.chars());
                let line = format!("Method not implemented: {shown}");
                effects.log(Level::Error, "MCP", line);
                Err(RpcError::unknown_method(method))
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::raw(1, &[], Some(0))]
    #[case::raw_noise(1, &[0, 0, 255, 255], Some(4))]
    #[case::cut(2, &[0; 15], None)]
    #[case::empty(2, &[0; 16], Some(0))]
    #[case::whole(2, &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 7, 7], Some(2))]
    #[case::more(2, &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7, 7], Some(1))]
    #[case::lies(2, &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 7], None)]
    #[case::cut_3(3, &[0, 0, 0], None)]
    #[case::empty_3(3, &[0; 4], Some(0))]
    #[case::lies_3(3, &[0, 0, 0, 2, 7], None)]
    #[case::whole_3(3, &[0, 0, 0, 1, 7], Some(1))]
    fn a_frame_is_read_as_far_as_it_goes(
        #[case] version: u8,
        #[case] frame: &[u8],
        #[case] holds: Option<usize>,
    ) {
        assert_eq!(unframed(version, frame).map(<[u8]>::len), holds);
        // What it sends itself, it can read.
        let own = framed(version, alloc::vec![9; 40]);
        assert_eq!(unframed(version, &own).map(<[u8]>::len), Some(40));
    }
}
