//! The device's side of the gateway: one device at a time, the latest that connected.

use std::path::Path;

use mcp_hil_core::gateway::Gateway;
use mcp_hil_core::transcript::Transport;
use mcp_hil_core::wire::{Frame, Inbound, Payload, outbound};
use mcp_hil_rig::endpoint::Knock;
use mcp_hil_rig::endpoint::mqtt::MqttTerms;
use mcp_hil_rig::link::{Incoming, Link};
use mcp_hil_rig::{Endpoint, Process, Target, TargetOutput};
use serde_json::{Value, json};

use super::{GatewaySetup, Lines};
use crate::dut::How;
use crate::plan::Refusal;
use crate::random::Random;

/// What came from the device.
#[derive(Debug)]
pub enum FromDevice {
    /// A JSON-RPC answer, or as much of one as could be read.
    Answer(Value),
    /// Its connection ended.
    Gone,
}

/// The device's side.
#[derive(Debug)]
pub struct DeviceSide {
    endpoint: Endpoint,
    transport: Transport,
    token: Option<String>,
    target: Target,
    link: Option<Link>,
    session_id: String,
    /// Whether it may be called: it was greeted.
    ready: bool,
    /// Id of the `initialize` that waits for its answer.
    initialize: Option<u64>,
    random: Random,
    lines: Lines,
}

/// What happened on the device's side.
#[derive(Debug)]
pub enum Came {
    /// A device connected.
    Knock(Knock),
    /// The device sent a message.
    Frame(Frame),
    /// Its connection ended, in words.
    Lost(String),
    /// Its process printed something, or ended.
    Output(TargetOutput),
}

impl DeviceSide {
    /// Opens the endpoint and starts the device where that is asked for.
    ///
    /// # Errors
    ///
    /// The port cannot be had; the device does not start.
    pub async fn open(setup: &GatewaySetup, lines: Lines) -> Result<Self, Refusal> {
        let bench = |error: mcp_hil_rig::RigError| Refusal {
            text: error.to_string(),
            exit: crate::exit::BENCH,
        };
        let mut random = Random::new(Random::seed());
        let user = "mcp-hil".to_owned();
        let endpoint = match setup.transport {
            Transport::WebSocket => Endpoint::websocket(setup.listen).await,
            Transport::Mqtt => {
                let terms = MqttTerms {
                    credentials: setup.token.clone().map(|token| (user.clone(), token)),
                    ..MqttTerms::default()
                };
                Endpoint::mqtt(setup.listen, terms).await
            }
        };
        let endpoint = endpoint.map_err(bench)?;
        let url = endpoint.url();
        let token = setup.token.clone().unwrap_or_default();
        let id = random.uuid();
        let environment = match setup.transport {
            Transport::WebSocket => {
                vec![("MCP_HIL_WS_URL", url.clone()), ("MCP_HIL_WS_TOKEN", token)]
            }
            Transport::Mqtt => vec![
                ("MCP_HIL_MQTT_ENDPOINT", url.clone()),
                (
                    "MCP_HIL_MQTT_CLIENT_ID",
                    format!("mcp-hil@@@{}@@@{id}", &id[..8]),
                ),
                ("MCP_HIL_MQTT_USERNAME", user),
                ("MCP_HIL_MQTT_PASSWORD", token),
                ("MCP_HIL_MQTT_PUBLISH_TOPIC", "device-server".to_owned()),
            ],
        };
        // No device of a gateway needs anything left in a folder.
        let command = setup.dut.command("", Path::new(""));
        let command = command.map_err(|error| {
            Refusal::bench(
                format!("cannot start the device: {error}"),
                "use `--dut native`",
            )
        })?;
        let mut target = match command {
            None => Target::Wait,
            Some(command) => {
                let command = command.env("MCP_HIL_TRANSPORT", setup.transport.name());
                let command = environment
                    .into_iter()
                    .fold(command, |command, (name, value)| command.env(name, value));
                Target::Process(Process::new(command))
            }
        };
        let scheme = if url.contains("://") { "" } else { "mqtt://" };
        lines.say(&match setup.dut.how {
            How::Wait => format!("device    waiting for one at {scheme}{url}"),
            _ => format!("device    {} dials {scheme}{url}", setup.dut.name),
        });
        target.start().await.map_err(bench)?;
        Ok(Self {
            endpoint,
            transport: setup.transport,
            token: setup.token.clone(),
            target,
            link: None,
            session_id: String::new(),
            ready: false,
            initialize: None,
            random,
            lines,
        })
    }

    /// Sends a call. Returns false when no device is there for it.
    pub async fn call(&mut self, payload: &Value) -> bool {
        self.ready && self.send(&payload.to_string()).await
    }

    /// What comes next, for [`take`](Self::take). Cancel-safe.
    pub async fn next(&mut self) -> Came {
        tokio::select! {
            knock = self.endpoint.accept() => Came::Knock(knock),
            came = receive(&mut self.link) => came,
            output = self.target.next() => Came::Output(output),
        }
    }

    /// Does what is to be done about it, and tells what callers may wait for.
    pub async fn take(&mut self, came: Came, gateway: &mut Gateway) -> Option<FromDevice> {
        match came {
            Came::Knock(knock) => {
                let replaced = self.accept(knock, gateway).await;
                replaced.then_some(FromDevice::Gone)
            }
            Came::Frame(frame) => self.frame(&frame, gateway).await.map(FromDevice::Answer),
            Came::Lost(why) => {
                self.lines.say(&format!("gone      the device: {why}"));
                self.forget();
                Some(FromDevice::Gone)
            }
            Came::Output(TargetOutput::Line(line) | TargetOutput::Bench(line)) => {
                self.lines.say(&format!("console   {line}"));
                None
            }
            Came::Output(TargetOutput::Trouble(what)) => {
                self.lines.say(&format!("bench     {what}"));
                None
            }
            Came::Output(TargetOutput::Exited(how)) => {
                self.lines
                    .say(&format!("ended     the device's process {how}"));
                None
            }
        }
    }

    /// Ends the connection, and the device where it was started here.
    pub async fn close(&mut self) {
        self.forget();
        self.target.stop().await;
    }

    fn forget(&mut self) {
        self.link = None;
        self.ready = false;
        self.initialize = None;
    }

    /// Takes a device in. Returns whether it replaced another.
    async fn accept(&mut self, knock: Knock, gateway: &mut Gateway) -> bool {
        let link = match knock {
            Knock::Link(link) => *link,
            Knock::Refused { why } => {
                self.lines.say(&format!("refused   a device: {why}"));
                return false;
            }
        };
        let handshake = link.handshake();
        if let (Transport::WebSocket, Some(token)) = (self.transport, &self.token) {
            let given = handshake.headers.get("authorization");
            let right =
                given.is_some_and(|given| given.strip_prefix("Bearer ").unwrap_or(given) == token);
            if !right {
                let peer = handshake.peer;
                self.lines
                    .say(&format!("refused   {peer} presents no token, or another"));
                return false;
            }
        }
        self.lines
            .say(&format!("device    connected from {}", handshake.peer));
        let replaced = self.link.is_some();
        self.forget();
        self.session_id = self.random.uuid();
        self.link = Some(link);
        if self.transport == Transport::Mqtt {
            // Over MQTT a device takes messages without a hello.
            self.greet(gateway).await;
        }
        replaced
    }

    /// Begins the MCP session; from here on the device may be called.
    async fn greet(&mut self, gateway: &mut Gateway) {
        let id = gateway.own_id();
        let params = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "mcp-hil gateway", "version": env!("CARGO_PKG_VERSION")}
        });
        let request = outbound::request(&id.into(), "initialize", Some(&params));
        self.initialize = Some(id);
        self.ready = self.send(&request.to_string()).await;
    }

    /// Takes a message; returns an answer that callers may wait for.
    async fn frame(&mut self, frame: &Frame, gateway: &mut Gateway) -> Option<Value> {
        let inbound = Inbound::read(frame);
        if let Inbound::NotJson { id: Some(id), .. } = &inbound {
            // Stock firmware does not escape its error messages.
            let message = format!("an answer that is no JSON: {}", frame.display());
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": {"message": message}}));
        }
        let message = inbound.message()?;
        if message.kind() == Some("hello") {
            let hello = outbound::server_hello(self.transport, &self.session_id, None);
            let first = !self.ready;
            if let Some(link) = &mut self.link {
                // That it is gone shows when it is read from.
                let _ = link.send(&Frame::Text(hello)).await;
            }
            if first {
                self.greet(gateway).await;
            }
            return None;
        }
        let Some(Payload::Answer(payload)) = inbound.payload() else {
            return None;
        };
        let id = payload.get("id").and_then(Value::as_u64);
        if id.is_some() && id == self.initialize {
            self.initialize = None;
            let server = payload
                .get("result")
                .and_then(|result| result.get("serverInfo"));
            let server = server.map_or("no serverInfo".to_owned(), Value::to_string);
            self.lines.say(&format!("ready     {server}"));
            return None;
        }
        Some(Value::Object(payload.clone()))
    }

    async fn send(&mut self, payload: &str) -> bool {
        let text = outbound::envelope(&self.session_id, payload);
        match &mut self.link {
            Some(link) => link.send(&Frame::Text(text)).await.is_ok(),
            None => false,
        }
    }
}

/// What the device sends. Cancel-safe.
async fn receive(link: &mut Option<Link>) -> Came {
    let Some(link) = link else {
        return std::future::pending().await;
    };
    loop {
        match link.recv().await {
            Ok(Incoming::Frame(frame)) => return Came::Frame(frame),
            Ok(Incoming::Note(_)) => {}
            Err(lost) => return Came::Lost(lost.to_string()),
        }
    }
}
