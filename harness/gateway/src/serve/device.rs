//! The conversation with one device: it is greeted, asked what it is, answered, and shown.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::limits::MAX_PAGES;
use mcp_hil_core::transcript::MqttNote;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, Inbound, Payload, id_key, outbound};
use mcp_hil_endpoint::{AudioSink, Handshake, Incoming, Link, LinkLost};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::TICK;
use super::command::Command;
use super::message::{Answered, Said, next_cursor, said, said_of_note, tools};
use super::show::{Counted, Show, Way};
use mcp_hil_runner::random::Random;

/// How long a device that came over MQTT may take for a hello before MCP begins without it
/// (device-protocol 3.2).
const HELLO_OVER_MQTT: Duration = Duration::from_millis(300);

/// How long an answer is waited for before a line says that it stays away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most requests without an answer that are remembered; the oldest are forgotten first.
const MAX_OPEN: usize = 1000;

/// Most tools that one table shows.
const MAX_TOOLS: usize = 1000;

/// What all devices are told.
#[derive(Debug)]
pub(super) struct Backend {
    /// URL and token of pictures.
    pub vision: (String, String),
    /// Where audio is taken.
    pub ip: IpAddr,
    /// Whether devices are asked for nothing by themselves.
    pub quiet: bool,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Open {
    method: String,
    sent: Instant,
    /// In which order it was sent.
    turn: u64,
    missed: bool,
}

/// How far the device is known.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was asked yet.
    New,
    /// `initialize` was sent under this id.
    Initializing(u64),
    /// A page of the tools was asked for under this id.
    Listing(u64),
    /// All was asked.
    Known,
}

/// One connected device.
pub(super) struct Device {
    name: String,
    transport: Transport,
    link: Link,
    show: Arc<Show>,
    backend: Arc<Backend>,
    commands: mpsc::Receiver<Command>,
    session_id: String,
    stage: Stage,
    last_id: u64,
    open: BTreeMap<String, Open>,
    /// The tools of the pages that have come.
    listed: Vec<(String, String)>,
    cursors: Vec<String>,
    audio: Audio,
}

/// What has come of audio.
#[derive(Debug, Default)]
struct Audio {
    /// Where a device that came over MQTT sends it.
    sink: Option<AudioSink>,
    /// The key of the sink's channel.
    key: String,
    packets: u64,
    bytes: u64,
    /// What of both was told.
    told: (u64, u64),
    /// Whether the first bad packet was told.
    bad_told: bool,
}

impl Device {
    pub(super) fn new(
        transport: Transport,
        link: Link,
        show: Arc<Show>,
        backend: Arc<Backend>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        Self {
            name: name(link.handshake()),
            transport,
            link,
            show,
            stage: if backend.quiet { Stage::Known } else { Stage::New },
            backend,
            commands,
            session_id: String::new(),
            last_id: 0,
            open: BTreeMap::new(),
            listed: Vec::new(),
            cursors: Vec::new(),
            audio: Audio::default(),
        }
    }

    /// Talks with the device until its connection ends.
    pub(super) async fn converse(mut self) {
        self.welcome();
        let lost = match self.talk().await {
            Ok(never) => match never {},
            Err(lost) => lost,
        };
        self.tell_of_audio();
        self.show.forget(&self.audio.key);
        let gone = Said::new("gone").with(lost.to_string());
        self.show.line(&self.name, Way::Beside, &gone, None);
    }

    fn welcome(&self) {
        self.show.count(Counted::Connection, 1);
        let handshake = self.link.handshake();
        let peer = handshake.peer;
        let said = match &handshake.mqtt {
            None => Said::new("connected by WebSocket").with(format!("{peer} {}", handshake.path)),
            Some(connect) => Said::new("connected by MQTT").with(format!(
                "{peer} {}, keep-alive {} s",
                connect.client_id, connect.keep_alive_s
            )),
        };
        self.show.line(&self.name, Way::Beside, &said, None);
    }

    async fn talk(&mut self) -> Result<std::convert::Infallible, LinkLost> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let without_hello = tokio::time::sleep(HELLO_OVER_MQTT);
        tokio::pin!(without_hello);
        let mut waits_for_hello = self.transport == Transport::Mqtt;
        loop {
            tokio::select! {
                incoming = self.link.recv() => match incoming? {
                    Incoming::Frame(frame) => self.received(&frame).await?,
                    Incoming::Note(note) => self.noted(&note),
                },
                Some(command) = self.commands.recv() => self.carry_out(command).await?,
                () = &mut without_hello, if waits_for_hello => {
                    waits_for_hello = false;
                    self.introduce().await?;
                }
                _ = tick.tick() => {
                    self.tell_of_audio();
                    self.tell_of_missed().await?;
                }
            }
        }
    }

    fn noted(&self, note: &MqttNote) {
        if *note != MqttNote::Ping || self.show.is_verbose() {
            let said = said_of_note(note);
            self.show.line(&self.name, Way::FromDevice, &said, None);
        }
    }

    async fn received(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        let inbound = Inbound::read(frame);
        match frame {
            Frame::Binary(bytes) if inbound == Inbound::NotText => {
                self.audio.packets += 1;
                self.audio.bytes += bytes.len() as u64;
                return Ok(());
            }
            Frame::Ping(_) | Frame::Pong(_) if !self.show.is_verbose() => return Ok(()),
            _ => self.show.count(Counted::Received, 1),
        }
        let answered = match inbound.payload() {
            Some(Payload::Answer(answer)) => self.settle(answer),
            _ => None,
        };
        self.say(Way::FromDevice, frame, answered.as_ref());
        match inbound.payload() {
            Some(Payload::Answer(answer)) => return self.go_on(answer).await,
            Some(Payload::Request(request)) => {
                if let Some(reply) = outbound::reply(request) {
                    let method = request.get("method").and_then(Value::as_str);
                    let answered = Answered {
                        method: method.unwrap_or_default().to_owned(),
                        took: Duration::ZERO,
                    };
                    let text = outbound::envelope(&self.session_id, &reply.to_string());
                    self.send(Frame::Text(text), Some(&answered)).await?;
                }
            }
            _ => {}
        }
        match inbound.message().and_then(|message| message.kind()) {
            Some("hello") => self.greet().await,
            _ => Ok(()),
        }
    }

    /// Answers a hello, with an audio channel for devices that came over MQTT.
    async fn greet(&mut self) -> Result<(), LinkLost> {
        self.session_id = session_id();
        let udp = match self.transport {
            Transport::WebSocket => None,
            Transport::Mqtt => self.open_audio().await,
        };
        let hello = outbound::server_hello(self.transport, &self.session_id, udp.as_ref());
        self.send(Frame::Text(hello), None).await?;
        self.introduce().await
    }

    async fn open_audio(&mut self) -> Option<Value> {
        let opened = match (Random::secret(), &self.audio.sink) {
            (Ok(random), Some(sink)) => {
                sink.renew(random);
                Ok(())
            }
            (Ok(random), None) => AudioSink::bind(self.backend.ip, random)
                .await
                .map(|sink| self.audio.sink = Some(sink))
                .map_err(|error| error.to_string()),
            (Err(error), _) => Err(error.to_string()),
        };
        if let Err(why) = opened {
            let said = Said::new("no audio channel").with(why);
            self.show.line(&self.name, Way::Beside, &said, None);
            return None;
        }
        let section = self.audio.sink.as_ref().map(AudioSink::section)?;
        self.show.forget(&self.audio.key);
        section["key"].as_str()?.clone_into(&mut self.audio.key);
        self.show.hide(&self.audio.key, "${MCP_HIL_UDP_KEY}");
        (self.audio.packets, self.audio.bytes, self.audio.told) = (0, 0, (0, 0));
        self.audio.bad_told = false;
        Some(section)
    }

    /// Asks the device what it is, once in a connection.
    async fn introduce(&mut self) -> Result<(), LinkLost> {
        if self.stage != Stage::New {
            return Ok(());
        }
        let (url, token) = &self.backend.vision;
        let vision = json!({"vision": {"url": url, "token": token}});
        let params = outbound::initialize_params("mcp-hil", &vision);
        self.stage = Stage::Initializing(self.last_id + 1);
        self.ask("initialize", &params).await
    }

    /// Asks for the tools, from the first page on.
    async fn list(&mut self) -> Result<(), LinkLost> {
        self.listed.clear();
        self.cursors.clear();
        self.ask_page(json!({})).await
    }

    async fn ask_page(&mut self, params: Value) -> Result<(), LinkLost> {
        self.stage = Stage::Listing(self.last_id + 1);
        self.ask("tools/list", &params).await
    }

    /// Goes on after an answer: after `initialize` the tools, after a page the next one.
    async fn go_on(&mut self, answer: &Map<String, Value>) -> Result<(), LinkLost> {
        let id = answer.get("id").and_then(Value::as_u64);
        let result = answer.get("result");
        match self.stage {
            Stage::Initializing(wanted) if id == Some(wanted) => {
                if result.is_some() {
                    let note = outbound::notification("notifications/initialized", None);
                    self.send_payload(&note).await?;
                }
                self.list().await
            }
            Stage::Listing(wanted) if id == Some(wanted) => {
                let room = MAX_TOOLS - self.listed.len();
                let clean = result.map(|result| self.show.clean(&result.to_string()));
                let clean = clean.and_then(|text| serde_json::from_str::<Value>(&text).ok());
                let found = clean.as_ref().map(tools).unwrap_or_default();
                self.listed.extend(found.into_iter().take(room));
                match result.and_then(next_cursor) {
                    Some(next) if self.is_new(next) => {
                        self.cursors.push(next.to_owned());
                        self.ask_page(json!({"cursor": next})).await
                    }
                    _ => {
                        self.listed();
                        Ok(())
                    }
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether a page begins there that was not walked yet.
    fn is_new(&self, cursor: &str) -> bool {
        self.cursors.len() < MAX_PAGES && self.cursors.iter().all(|known| known != cursor)
    }

    /// Shows the tools that were listed.
    fn listed(&mut self) {
        self.stage = Stage::Known;
        self.show.table(&std::mem::take(&mut self.listed));
    }

    async fn carry_out(&mut self, command: Command) -> Result<(), LinkLost> {
        match command {
            Command::Call(params) => self.ask("tools/call", &params).await,
            Command::Tools => self.list().await,
            Command::Payload(message) => {
                if let (Some(id), Some(method)) = (message.get("id"), message.get("method")) {
                    let method = method.as_str().unwrap_or_default();
                    self.note_open(id, method);
                }
                self.send_payload(&Value::from(message)).await
            }
            Command::Envelope(mut message) => {
                message.entry("session_id").or_insert_with(|| self.session_id.as_str().into());
                let text = Value::from(message).to_string();
                self.send(Frame::Text(text), None).await
            }
        }
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<(), LinkLost> {
        self.last_id += 1;
        let id = self.last_id.into();
        self.note_open(&id, method);
        self.send_payload(&outbound::request(&id, method, Some(params))).await
    }

    fn note_open(&mut self, id: &Value, method: &str) {
        if self.open.len() >= MAX_OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.turn);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| self.open.remove(&key));
        }
        let turn = self.open.values().map(|open| open.turn + 1).max();
        let open = Open {
            method: method.to_owned(),
            sent: Instant::now(),
            turn: turn.unwrap_or(0),
            missed: false,
        };
        self.open.insert(id_key(id), open);
    }

    fn settle(&mut self, answer: &Map<String, Value>) -> Option<Answered> {
        let open = self.open.remove(&id_key(answer.get("id")?))?;
        Some(Answered { took: open.sent.elapsed(), method: open.method })
    }

    /// Says which answers stay away, each once; what waited for one goes on without it.
    async fn tell_of_missed(&mut self) -> Result<(), LinkLost> {
        let waits_for = match self.stage {
            Stage::Initializing(id) | Stage::Listing(id) => Some(id_key(&id.into())),
            Stage::New | Stage::Known => None,
        };
        let mut stuck = false;
        for (key, open) in &mut self.open {
            if !open.missed && open.sent.elapsed() >= PATIENCE {
                open.missed = true;
                stuck |= waits_for.as_ref() == Some(key);
                let said = Said::new(format!(
                    "no answer to {} #{key} for {} s",
                    open.method,
                    PATIENCE.as_secs()
                ));
                self.show.line(&self.name, Way::Beside, &said, None);
            }
        }
        match self.stage {
            Stage::Initializing(_) if stuck => self.list().await,
            Stage::Listing(_) if stuck => {
                self.listed();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn tell_of_audio(&mut self) {
        let audio = &mut self.audio;
        if let Some(sink) = &audio.sink {
            let seen = sink.seen();
            (audio.packets, audio.bytes) = (seen.packets, seen.bytes);
            if let Some(bad) = seen.first_bad.filter(|_| !audio.bad_told) {
                audio.bad_told = true;
                let said = Said::new("bad audio").with(bad);
                self.show.line(&self.name, Way::FromDevice, &said, None);
            }
        }
        let packets = audio.packets.saturating_sub(audio.told.0);
        let bytes = audio.bytes.saturating_sub(audio.told.1);
        if packets > 0 {
            audio.told = (audio.packets, audio.bytes);
            self.show.count(Counted::Audio, usize::try_from(packets).unwrap_or(0));
            let said = Said::new("audio").with(format!("{packets} packets, {bytes} bytes"));
            self.show.line(&self.name, Way::FromDevice, &said, None);
        }
    }

    async fn send_payload(&mut self, payload: &Value) -> Result<(), LinkLost> {
        let text = outbound::envelope(&self.session_id, &payload.to_string());
        self.send(Frame::Text(text), None).await
    }

    /// Sends a frame, which may answer what the device asked.
    async fn send(&mut self, frame: Frame, answered: Option<&Answered>) -> Result<(), LinkLost> {
        self.show.count(Counted::Sent, 1);
        self.say(Way::ToDevice, &frame, answered);
        match self.link.send(&frame).await {
            // What it sent before it closed is still to be shown: receiving says how it ended.
            Ok(()) | Err(LinkLost::Closed(_) | LinkLost::Goodbye { .. }) => Ok(()),
            Err(lost) => Err(lost),
        }
    }

    fn say(&self, way: Way, frame: &Frame, answered: Option<&Answered>) {
        let clean = match frame {
            // Before anything of it is cut, so that no half of a secret is left.
            Frame::Text(text) => Frame::Text(self.show.clean(text)),
            other => other.clone(),
        };
        let line = said(&clean, &Inbound::read(&clean), answered);
        self.show.line(&self.name, way, &line, Some(&clean.display()));
    }
}

/// What a device is called: by its `Device-Id`, by its client id, or by where it connects from.
fn name(handshake: &Handshake) -> String {
    let given = match &handshake.mqtt {
        None => handshake.headers.get("device-id").cloned(),
        // The part of the published gateway's form that names the device.
        Some(connect) => Some(match connect.client_id.split("@@@").nth(1) {
            Some(mac) => mac.replace('_', ":"),
            None => connect.client_id.clone(),
        }),
    };
    given.filter(|name| !name.is_empty()).unwrap_or_else(|| handshake.peer.to_string())
}

/// An id for a session. It names and guards nothing.
fn session_id() -> String {
    let seed = Random::secret().map_or_else(|_| Random::seed(), u64::from_le_bytes);
    Random::new(seed).uuid()
}
