//! The device: boot, connection, session, and the messages of the voice channel that carries MCP.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use serde_json::{Map, Value};

use crate::board::Board;
use crate::console::{self, Level};
use crate::json;
use crate::mcp::{self, Outcome, Vision};
use crate::registry::Registry;
use crate::rpc::{self, Id, Incoming, RpcError};
use crate::state::State;
use crate::tools::{self, Effects};

/// Time between two audio frames, as the hello announces it.
const AUDIO_FRAME_MS: u64 = 60;
/// Time between two `SystemInfo` lines.
const HEARTBEAT_MS: u64 = 10_000;
/// How long the device waits for the server's hello (WebSocket document).
const HELLO_TIMEOUT_MS: u64 = 10_000;
/// From the answer of `self.reboot` to the restart: enough to get the answer out.
const REBOOT_DELAY_MS: u64 = 100;

/// Who the device is and where it dials.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Board name, `serverInfo.name`.
    pub board: String,
    /// Firmware version, `serverInfo.version`.
    pub version: String,
    /// MAC address in lower case with colons, header `Device-Id`.
    pub mac: String,
    /// UUID, header `Client-Id`.
    pub client_id: String,
    /// Where it dials; shown on the console.
    pub url: String,
    /// Bearer token; empty for none. Never shown.
    pub token: String,
}

impl Default for Identity {
    fn default() -> Self {
        Identity {
            board: "mcp-hil-reference".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            mac: "02:00:00:4d:43:50".to_string(),
            client_id: "6d63702d-6869-4c00-8000-000000000001".to_string(),
            url: String::new(),
            token: String::new(),
        }
    }
}

/// What the body has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a text frame.
    Text(String),
    /// Send a binary frame.
    Binary(Vec<u8>),
    /// Print a console line.
    Log(String),
    /// Close the connection, then call [`Device::disconnected`].
    Disconnect,
    /// Restart: close the connection without a word, then call [`Device::boot`].
    Reboot,
}

/// The device. Times are milliseconds of any clock that does not go back.
#[derive(Debug)]
pub struct Device {
    identity: Identity,
    registry: Registry,
    board: Board,
    vision: Option<Vision>,
    state: State,
    /// The session id as a JSON string, quotes included: it goes into every message.
    session: String,
    greeted: bool,
    now: u64,
    booted_at: u64,
    timers: Timers,
    audio_frames: u8,
    outputs: VecDeque<Output>,
}

/// When something has to happen by itself.
#[derive(Debug, Default)]
struct Timers {
    audio: Option<u64>,
    heartbeat: Option<u64>,
    hello: Option<u64>,
    reboot: Option<u64>,
}

impl Device {
    /// A device that has never been switched on.
    pub fn new(identity: Identity) -> Self {
        Device {
            identity,
            registry: tools::registry(),
            board: Board::default(),
            vision: None,
            state: State::Unknown,
            session: "\"\"".to_string(),
            greeted: false,
            now: 0,
            booted_at: 0,
            timers: Timers::default(),
            audio_frames: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Its parts.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Its parts, for a body that has real ones and reads them.
    pub fn board_mut(&mut self) -> &mut Board {
        &mut self.board
    }

    /// What the server said about the explanation of pictures.
    pub fn vision(&self) -> Option<&Vision> {
        self.vision.as_ref()
    }

    /// The id of the session as a JSON string, quotes included; `""` before the server's hello.
    pub fn session_json(&self) -> &str {
        &self.session
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        self.state
    }

    /// Headers of the WebSocket handshake (WebSocket document; no `Authorization` without token).
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if !self.identity.token.is_empty() {
            headers.push(("Authorization", format!("Bearer {}", self.identity.token)));
        }
        headers.push(("Protocol-Version", "1".to_string()));
        headers.push(("Device-Id", self.identity.mac.clone()));
        headers.push(("Client-Id", self.identity.client_id.clone()));
        headers
    }

    /// The next thing to do, if any.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Device::tick`] has something to do again.
    pub fn next_deadline(&self) -> Option<u64> {
        let Timers {
            audio,
            heartbeat,
            hello,
            reboot,
        } = self.timers;
        [audio, heartbeat, hello, reboot]
            .into_iter()
            .flatten()
            .min()
    }

    /// Power on, or restart. Settings survive, the session does not.
    pub fn boot(&mut self, now: u64) {
        self.now = now;
        self.booted_at = now;
        self.vision = None;
        self.greeted = false;
        self.session = "\"\"".to_string();
        self.state = State::Unknown;
        self.outputs.clear();
        self.timers = Timers {
            heartbeat: Some(now + HEARTBEAT_MS),
            ..Timers::default()
        };

        self.log(Level::Info, "cpu_start", "Multicore app");
        self.log(Level::Info, "app_init", "Application information:");
        self.log(Level::Info, "app_init", "Project name:     xiaozhi");
        let version = format!("App version:      {}", self.identity.version);
        self.log(Level::Info, "app_init", &version);
        self.log(Level::Info, "main_task", "Started on CPU0");
        self.log(Level::Info, "main_task", "Calling app_main()");
        let board = format!(
            "UUID={} SKU={}",
            self.identity.client_id, self.identity.board
        );
        self.log(Level::Info, "Board", &board);
        self.change_state(State::Starting);
        let lines: Vec<_> = self
            .registry
            .tools()
            .map(|tool| {
                format!(
                    "Add tool: {}{}",
                    tool.name,
                    if tool.user_only { " [user]" } else { "" }
                )
            })
            .collect();
        for line in lines {
            self.log(Level::Info, "MCP", &line);
        }
        self.change_state(State::Activating);
        self.log(Level::Info, "Application", "Activation done");
        self.change_state(State::Idle);
    }

    /// The body begins to dial.
    pub fn dialling(&mut self, now: u64) {
        self.now = now;
        self.change_state(State::Connecting);
        let line = format!(
            "Connecting to websocket server: {} with version: 1",
            self.identity.url
        );
        self.log(Level::Info, "WS", &line);
    }

    /// Dialling did not succeed; `code` is the system's error number.
    pub fn dial_failed(&mut self, code: i32, now: u64) {
        self.now = now;
        self.log(
            Level::Error,
            "WS",
            &format!("Failed to connect to websocket server, code={code}"),
        );
        self.change_state(State::Idle);
    }

    /// The connection stands: says hello.
    pub fn connected(&mut self, now: u64) {
        self.now = now;
        self.greeted = false;
        self.session = "\"\"".to_string();
        self.timers.hello = Some(now + HELLO_TIMEOUT_MS);
        self.change_state(State::Connecting);
        self.outputs.push_back(Output::Text(HELLO.to_string()));
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now: u64) {
        self.now = now;
        self.greeted = false;
        self.timers.hello = None;
        self.timers.audio = None;
        self.log(Level::Info, "WS", "Websocket disconnected");
        self.change_state(State::Idle);
    }

    /// Does what is due. To be called at [`Device::next_deadline`] or later.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        if self.timers.hello.is_some_and(|due| due <= now) {
            self.timers.hello = None;
            self.log(Level::Error, "WS", "Failed to receive server hello");
            self.outputs.push_back(Output::Disconnect);
        }
        if self.timers.heartbeat.is_some_and(|due| due <= now) {
            self.timers.heartbeat = Some(now + HEARTBEAT_MS);
            self.log(
                Level::Info,
                "SystemInfo",
                "free sram: 142331 minimal sram: 121004",
            );
        }
        if let Some(due) = self.timers.audio.filter(|due| *due <= now) {
            // A late body sends one frame, not all that it missed.
            self.timers.audio = Some((due + AUDIO_FRAME_MS).max(now + 1));
            let frame = self.audio_frame();
            self.outputs.push_back(Output::Binary(frame));
        }
        if self.timers.reboot.is_some_and(|due| due <= now) {
            self.timers.reboot = None;
            self.log(Level::Info, "Application", "Rebooting...");
            self.outputs.push_back(Output::Reboot);
        }
    }

    /// A binary frame: sound to play, which this board swallows whatever it is.
    pub fn on_binary(&mut self, _frame: &[u8]) {}

    /// A text frame.
    pub fn on_text(&mut self, text: &str, now: u64) {
        self.now = now;
        let message = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(message)) => message,
            _ => {
                self.log(
                    Level::Error,
                    "WS",
                    &format!("Missing message type, data: {}", console::quote(text)),
                );
                return;
            }
        };
        let Some(kind) = message.get("type").and_then(Value::as_str) else {
            self.log(
                Level::Error,
                "WS",
                &format!("Missing message type, data: {}", console::quote(text)),
            );
            return;
        };
        match kind {
            "mcp" => self.on_mcp(message.get("payload")),
            "hello" => self.on_hello(&message),
            "tts" => self.on_speech(&message),
            "system" => self.on_system(&message),
            "stt" | "llm" | "alert" | "custom" => {
                self.log(Level::Info, "Application", &format!("Received {kind}"));
            }
            other => {
                let line = format!("Unknown message type: {}", console::quote(other));
                self.log(Level::Warning, "Application", &line);
            }
        }
    }

    fn on_hello(&mut self, message: &Map<String, Value>) {
        let transport = message.get("transport").and_then(Value::as_str);
        if transport != Some("websocket") {
            let line = format!(
                "Unsupported transport: {}",
                console::quote(transport.unwrap_or("(null)"))
            );
            self.log(Level::Error, "WS", &line);
            return;
        }
        if let Some(session) = message.get("session_id").and_then(Value::as_str) {
            self.session = json::string(session);
            self.log(
                Level::Info,
                "WS",
                &format!("Session ID: {}", console::quote(session)),
            );
        }
        if self.greeted {
            return;
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
        if !self.greeted {
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
                self.answer(Some(id), &outcome);
                if effects.reboot {
                    self.timers.reboot = Some(self.now + REBOOT_DELAY_MS);
                }
            }
        }
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

    fn push_envelope_head(&self, out: &mut String) {
        out.push_str("{\"session_id\":");
        out.push_str(&self.session);
        out.push_str(",\"type\":\"mcp\",\"payload\":");
    }

    fn change_state(&mut self, new: State) {
        let old = self.state;
        if old == new {
            return;
        }
        self.state = new;
        self.log(
            Level::Info,
            "StateMachine",
            &format!("State: {} -> {}", old.name(), new.name()),
        );
        self.timers.audio = (new == State::Listening).then_some(self.now + AUDIO_FRAME_MS);
        if self.greeted {
            let mut out = String::with_capacity(192);
            self.push_envelope_head(&mut out);
            let _ = write!(
                out,
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/state_changed\",\
                 \"params\":{{\"newState\":\"{}\",\"oldState\":\"{}\"}}}}}}",
                new.name(),
                old.name()
            );
            self.outputs.push_back(Output::Text(out));
        }
    }

    /// A frame that looks like 60 ms of wide-band Opus: a table-of-contents byte, then noise.
    fn audio_frame(&mut self) -> Vec<u8> {
        const OPUS_SILK_WIDEBAND_60_MS: u8 = 0x58;
        self.audio_frames = self.audio_frames.wrapping_add(1);
        let seed = self.audio_frames;
        let noise =
            (0..39u8).map(|index| index.wrapping_mul(37).wrapping_add(seed.wrapping_mul(11)));
        core::iter::once(OPUS_SILK_WIDEBAND_60_MS)
            .chain(noise)
            .collect()
    }

    fn log(&mut self, level: Level, tag: &str, text: &str) {
        let uptime = self.now.saturating_sub(self.booted_at);
        self.outputs
            .push_back(Output::Log(console::line(level, uptime, tag, text)));
    }
}

/// The device's hello (WebSocket document). It never carries a session id: the server gives it.
const HELLO: &str = concat!(
    r#"{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","#,
    r#""audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}"#,
);
