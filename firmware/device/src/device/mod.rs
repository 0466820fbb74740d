//! The device: boot, connection, session, and the messages of the voice channel that carries MCP.

mod session;
mod startup;

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use crate::board::Board;
use crate::channel::Channel;
use crate::console::{self, Level};
use crate::http::HttpRequest;
use crate::identity::{Identity, Transport};
use crate::mcp::Vision;
use crate::memory::Memory;
use crate::registry::Registry;
use crate::rpc::Id;
use crate::state::State;
use crate::tools;

use startup::Configuration;

/// Time between two audio frames, as the hello announces it.
const AUDIO_FRAME_MS: u64 = 60;
/// Time between two `SystemInfo` lines.
const HEARTBEAT_MS: u64 = 10_000;
/// How long the device waits for the server's hello (WebSocket document).
const HELLO_TIMEOUT_MS: u64 = 10_000;
/// From the answer of `self.reboot` to the restart: enough to get the answer out.
const REBOOT_DELAY_MS: u64 = 100;

/// What the body has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a text frame; over MQTT, publish it.
    Text(String),
    /// Send a binary frame.
    Binary(Vec<u8>),
    /// Send a UDP datagram.
    Datagram {
        /// Name or address of the host.
        server: String,
        /// Its port.
        port: u16,
        /// Content.
        bytes: Vec<u8>,
    },
    /// Make an HTTP request, then call [`Device::http_done`].
    Http(HttpRequest),
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
    /// Calls whose pictures are being explained, in the order of the requests.
    photos: VecDeque<Id>,
    state: State,
    /// The session id as a JSON string, quotes included: it goes into every message.
    session: String,
    /// The server has answered the hello: there is an audio channel.
    greeted: bool,
    connected: bool,
    configuration: Configuration,
    channel: Option<Channel>,
    /// Local time minus the body's clock, in milliseconds, once a server has told it.
    clock_offset_ms: Option<i64>,
    now: u64,
    booted_at: u64,
    timers: Timers,
    audio_frames: u8,
    memory: Option<Memory>,
    outputs: VecDeque<Output>,
}

/// When something has to happen by itself.
#[derive(Debug, Default)]
struct Timers {
    audio: Option<u64>,
    heartbeat: Option<u64>,
    hello: Option<u64>,
    reboot: Option<u64>,
    bootstrap: Option<u64>,
}

impl Device {
    /// A device that has never been switched on.
    pub fn new(identity: Identity) -> Self {
        Device {
            identity,
            registry: tools::registry(),
            board: Board::default(),
            vision: None,
            photos: VecDeque::new(),
            state: State::Unknown,
            session: "\"\"".to_string(),
            greeted: false,
            connected: false,
            configuration: Configuration::default(),
            channel: None,
            clock_offset_ms: None,
            now: 0,
            booted_at: 0,
            timers: Timers::default(),
            audio_frames: 0,
            memory: None,
            outputs: VecDeque::new(),
        }
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The same, for a body that knows more of it; to be changed before the device boots.
    pub fn identity_mut(&mut self) -> &mut Identity {
        &mut self.identity
    }

    /// Its tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Its tools, for a board with fewer parts or more; to be changed before the device boots.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
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

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Whether it knows where to dial, which takes a server's answer when there is an `ota_url`.
    pub fn is_configured(&self) -> bool {
        self.configuration.is_done()
    }

    /// Local time in milliseconds of the Unix epoch, once a server has told it.
    pub fn local_time_ms(&self, now: u64) -> Option<i64> {
        self.clock_offset_ms?.checked_add_unsigned(now)
    }

    /// What its machine has left; to be told before [`Device::boot`] and [`Device::tick`], by a machine
    /// that knows.
    pub fn set_memory(&mut self, memory: Memory) {
        self.memory = Some(memory);
    }

    /// Milliseconds since it was switched on, as its console lines tell them.
    pub fn uptime_ms(&self) -> u64 {
        self.now.saturating_sub(self.booted_at)
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
        let version = self.identity.websocket_version.to_string();
        headers.push(("Protocol-Version", version));
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
        let Timers { audio, heartbeat, hello, reboot, bootstrap } = self.timers;
        [audio, heartbeat, hello, reboot, bootstrap].into_iter().flatten().min()
    }

    /// Power on, or restart. Settings survive, the session does not.
    pub fn boot(&mut self, now: u64) {
        self.now = now;
        self.booted_at = now;
        self.vision = None;
        self.photos.clear();
        self.greeted = false;
        self.connected = false;
        self.channel = None;
        self.session = "\"\"".to_string();
        self.state = State::Unknown;
        self.outputs.clear();
        self.timers = Timers { heartbeat: Some(now + HEARTBEAT_MS), ..Timers::default() };

        self.log(Level::Info, "cpu_start", "Multicore app");
        self.log(Level::Info, "app_init", "Application information:");
        self.log(Level::Info, "app_init", "Project name:     xiaozhi");
        let version = format!("App version:      {}", self.identity.version);
        self.log(Level::Info, "app_init", &version);
        self.log(Level::Info, "main_task", "Started on CPU0");
        self.log(Level::Info, "main_task", "Calling app_main()");
        let board = format!("UUID={} SKU={}", self.identity.client_id, self.identity.board);
        self.log(Level::Info, "Board", &board);
        self.log_memory();
        self.change_state(State::Starting);
        let lines: Vec<_> = self
            .registry
            .tools()
            .map(|tool| {
                format!("Add tool: {}{}", tool.name, if tool.user_only { " [user]" } else { "" })
            })
            .collect();
        for line in lines {
            self.log(Level::Info, "MCP", &line);
        }
        self.change_state(State::Activating);
        self.start_configuration();
    }

    /// The body begins to dial.
    pub fn dialling(&mut self, now: u64) {
        self.now = now;
        match self.identity.transport {
            Transport::Websocket => {
                self.change_state(State::Connecting);
                let line = format!(
                    "Connecting to websocket server: {} with version: {}",
                    self.identity.url, self.identity.websocket_version
                );
                self.log(Level::Info, "WS", &line);
            }
            Transport::Mqtt if self.identity.mqtt.endpoint.is_empty() => {
                self.log(Level::Warning, "MQTT", "MQTT endpoint is not specified");
            }
            Transport::Mqtt => {
                let line = format!("Connecting to endpoint {}", self.identity.mqtt.endpoint);
                self.log(Level::Info, "MQTT", &line);
            }
        }
    }

    /// Dialling did not succeed; `code` is the system's error number.
    pub fn dial_failed(&mut self, code: i32, now: u64) {
        self.now = now;
        let peer = match self.identity.transport {
            Transport::Websocket => "websocket server",
            Transport::Mqtt => "endpoint",
        };
        let line = format!("Failed to connect to {peer}, code={code}");
        self.log(Level::Error, self.identity.transport.tag(), &line);
        self.change_state(State::Idle);
    }

    /// The connection stands, over MQTT with the broker's consent: says hello.
    pub fn connected(&mut self, now: u64) {
        self.now = now;
        self.connected = true;
        self.greeted = false;
        self.session = "\"\"".to_string();
        if self.identity.transport == Transport::Mqtt {
            self.log(Level::Info, "MQTT", "Connected to endpoint");
            if !self.identity.opens_channel {
                return;
            }
        }
        self.timers.hello = Some(now + HELLO_TIMEOUT_MS);
        self.change_state(State::Connecting);
        let hello = self.hello();
        self.outputs.push_back(Output::Text(hello));
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now: u64) {
        self.now = now;
        self.connected = false;
        self.greeted = false;
        self.channel = None;
        self.photos.clear();
        self.timers.hello = None;
        self.timers.audio = None;
        let line = match self.identity.transport {
            Transport::Websocket => "Websocket disconnected",
            Transport::Mqtt => "MQTT disconnected, schedule reconnect",
        };
        self.log(Level::Info, self.identity.transport.tag(), line);
        self.change_state(State::Idle);
    }

    /// Does what is due. To be called at [`Device::next_deadline`] or later.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        if self.timers.hello.is_some_and(|due| due <= now) {
            self.timers.hello = None;
            let tag = self.identity.transport.tag();
            self.log(Level::Error, tag, "Failed to receive server hello");
            match self.identity.transport {
                Transport::Websocket => self.outputs.push_back(Output::Disconnect),
                // Only the audio channel is missing; messages go on.
                Transport::Mqtt => self.change_state(State::Idle),
            }
        }
        if self.timers.heartbeat.is_some_and(|due| due <= now) {
            self.timers.heartbeat = Some(now + HEARTBEAT_MS);
            self.log_memory();
        }
        if let Some(due) = self.timers.audio.filter(|due| *due <= now) {
            // A late body sends one frame, not all that it missed.
            self.timers.audio = Some((due + AUDIO_FRAME_MS).max(now + 1));
            self.send_audio();
        }
        if self.timers.bootstrap.is_some_and(|due| due <= now) {
            self.timers.bootstrap = None;
            self.continue_configuration();
        }
        if self.timers.reboot.is_some_and(|due| due <= now) {
            self.timers.reboot = None;
            self.leave_channel();
            self.log(Level::Info, "Application", "Rebooting...");
            self.outputs.push_back(Output::Reboot);
        }
    }

    fn change_state(&mut self, new: State) {
        let old = self.state;
        if old == new {
            return;
        }
        self.state = new;
        self.log(Level::Info, "StateMachine", &format!("State: {} -> {}", old.name(), new.name()));
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

    /// Sends the next audio frame the way that the transport wants it.
    fn send_audio(&mut self) {
        let frame = self.audio_frame();
        let output = match (self.identity.transport, &mut self.channel) {
            (Transport::Websocket, _) => {
                Output::Binary(session::framed(self.identity.websocket_version, frame))
            }
            (Transport::Mqtt, Some(channel)) => Output::Datagram {
                server: channel.server.clone(),
                port: channel.port,
                bytes: channel.datagram(&frame, AUDIO_FRAME_MS),
            },
            (Transport::Mqtt, None) => return,
        };
        self.outputs.push_back(output);
    }

    /// A frame that looks like 60 ms of wide-band Opus: a table-of-contents byte, then noise.
    fn audio_frame(&mut self) -> Vec<u8> {
        const OPUS_SILK_WIDEBAND_60_MS: u8 = 0x58;
        self.audio_frames = self.audio_frames.wrapping_add(1);
        let seed = self.audio_frames;
        let noise =
            (0..39u8).map(|index| index.wrapping_mul(37).wrapping_add(seed.wrapping_mul(11)));
        core::iter::once(OPUS_SILK_WIDEBAND_60_MS).chain(noise).collect()
    }

    /// A machine that does not know what it has left does not say so.
    fn log_memory(&mut self) {
        if let Some(memory) = self.memory {
            self.log(Level::Info, "SystemInfo", &memory.to_string());
        }
    }

    fn log(&mut self, level: Level, tag: &str, text: &str) {
        let line = console::line(level, self.uptime_ms(), tag, text);
        self.outputs.push_back(Output::Log(line));
    }
}
