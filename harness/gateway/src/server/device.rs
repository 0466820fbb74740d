//! The device's side of the gateway: one device at a time, the latest that connected.

use std::net::SocketAddr;
use std::path::Path;

use mcp_hil_boards::{Process, Target, TargetOutput};
use mcp_hil_core::gateway::Gateway;
use mcp_hil_core::transcript::{HttpEndpoint, HttpExchange};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, Inbound, Payload, outbound};
use mcp_hil_endpoint::{
    Accepted, Configuration, Endpoint, EndpointError, HttpServer, Incoming, Link, MqttTerms,
};
use serde_json::{Value, json};

use super::{GatewaySetup, Lines};
use mcp_hil_bench::dut::How;
use mcp_hil_record::error::UserError;
use mcp_hil_runner::plan::USUAL_BINARY_VERSION;
use mcp_hil_runner::plan::listen::refused;
use mcp_hil_runner::random::Random;
use mcp_hil_runner::run::clock;

/// Where MQTT devices publish.
const PUBLISH_TOPIC: &str = "device-server";

/// The keep-alive that MQTT devices are told, in seconds.
const KEEP_ALIVE_S: u16 = 60;

/// The name under which MQTT devices log in.
const USER: &str = "mcp-hil";

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
    /// Where devices ask for their configuration.
    http: HttpServer,
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
    Accepted(Accepted),
    /// The device sent a message.
    Frame(Frame),
    /// Its connection ended, in words.
    Lost(String),
    /// A device asked for something over HTTP, and got it.
    Asked(Box<HttpExchange>),
    /// Its process printed something, or ended.
    Output(TargetOutput),
}

impl DeviceSide {
    /// Opens the endpoint and starts the device where that is asked for.
    ///
    /// # Errors
    ///
    /// The port cannot be had; the device does not start.
    pub async fn open(setup: &GatewaySetup, lines: Lines) -> Result<Self, UserError> {
        let mut random = Random::new(Random::seed());
        let endpoint = bind(setup).await.map_err(|error| refused(&error, "--listen"))?;
        let url = endpoint.url();
        let http = serve_configuration(setup, &url).await?;
        let mut target = target(setup, &url, &http.ota_url(), &random.uuid())?;
        lines.say(&format!("config    devices get it at {}", http.ota_url()));
        let scheme = if url.contains("://") { "" } else { "mqtt://" };
        lines.say(&match setup.dut.how {
            How::Wait => format!("device    waiting for one at {scheme}{url}"),
            _ => format!("device    {} connects to {scheme}{url}", setup.dut.name),
        });
        target
            .start()
            .await
            .map_err(|error| UserError::from_below(mcp_hil_record::exit::BENCH, &error))?;
        Ok(Self {
            endpoint,
            http,
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
            accepted = self.endpoint.accept() => Came::Accepted(accepted),
            came = receive(&mut self.link) => came,
            exchange = self.http.next() => Came::Asked(Box::new(exchange)),
            output = self.target.next() => Came::Output(output),
        }
    }

    /// Does what is to be done about it, and tells what callers may wait for.
    pub async fn take(&mut self, came: Came, gateway: &mut Gateway) -> Option<FromDevice> {
        match came {
            Came::Accepted(accepted) => {
                let replaced = self.accept(accepted, gateway).await;
                replaced.then_some(FromDevice::Gone)
            }
            Came::Asked(exchange) => {
                self.asked(&exchange);
                None
            }
            Came::Frame(frame) => self.frame(&frame, gateway).await.map(FromDevice::Answer),
            Came::Lost(why) => {
                self.lines.say(&format!("gone      the device: {why}"));
                self.forget();
                Some(FromDevice::Gone)
            }
            Came::Output(
                TargetOutput::Line(line) | TargetOutput::Bench(line) | TargetOutput::Back(line),
            ) => {
                self.lines.say(&format!("console   {line}"));
                None
            }
            Came::Output(TargetOutput::Trouble(what) | TargetOutput::Lost { why: what, .. }) => {
                self.lines.say(&format!("bench     {what}"));
                None
            }
            Came::Output(TargetOutput::Exited(how)) => {
                self.lines.say(&format!("ended     the device's process {how}"));
                None
            }
        }
    }

    /// Ends the connection, and the device where it was started here.
    pub async fn close(&mut self) {
        self.forget();
        self.target.stop().await;
    }

    /// Tells of a device that asked for its configuration.
    fn asked(&self, exchange: &HttpExchange) {
        if exchange.endpoint != HttpEndpoint::Bootstrap {
            return;
        }
        let who = exchange.header("device-id").unwrap_or("a client without a Device-Id");
        self.lines.say(&match exchange.status {
            Some(200) => format!("config    given to {who}"),
            Some(status) => format!("config    not given to {who}: status {status}"),
            None => format!("config    not given to {who}: incomplete request"),
        });
    }

    fn forget(&mut self) {
        self.link = None;
        self.ready = false;
        self.initialize = None;
    }

    /// Takes a device in. Returns whether it replaced another.
    async fn accept(&mut self, accepted: Accepted, gateway: &mut Gateway) -> bool {
        let link = match accepted {
            Accepted::Link(link) => *link,
            Accepted::Refused { why, .. } => {
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
                self.lines.say(&format!("refused   {peer} presents no token, or a wrong one"));
                return false;
            }
        }
        self.lines.say(&format!("device    connected from {}", handshake.peer));
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
        let params = outbound::initialize_params("mcp-hil gateway", &json!({}));
        let request = outbound::request(&id.into(), "initialize", Some(&params));
        self.initialize = Some(id);
        self.ready = self.send(&request.to_string()).await;
    }

    /// Takes a message; returns an answer that callers may wait for.
    async fn frame(&mut self, frame: &Frame, gateway: &mut Gateway) -> Option<Value> {
        let inbound = Inbound::read(frame);
        if let Inbound::NotJson { id: Some(id), .. } = &inbound {
            // Stock firmware does not escape its error messages.
            let message = format!("an answer that is not JSON: {}", frame.display());
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
            let server = payload.get("result").and_then(|result| result.get("serverInfo"));
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

/// Opens the endpoint that the device connects to.
async fn bind(setup: &GatewaySetup) -> Result<Endpoint, EndpointError> {
    match setup.transport {
        Transport::WebSocket => Endpoint::websocket(setup.listen).await,
        Transport::Mqtt => {
            let terms = MqttTerms {
                credentials: setup.token.clone().map(|token| (USER.to_owned(), token)),
                ..MqttTerms::default()
            };
            Endpoint::mqtt(setup.listen, terms).await
        }
    }
}

/// Opens the server where devices ask for their configuration, and are told to connect to this gateway.
async fn serve_configuration(setup: &GatewaySetup, url: &str) -> Result<HttpServer, UserError> {
    let http = match HttpServer::bind(setup.http_listen).await {
        Err(_) if !setup.http_listen_asked => {
            HttpServer::bind(SocketAddr::new(setup.http_listen.ip(), 0)).await
        }
        bound => bound,
    };
    let http = http.map_err(|error| {
        // A stock device without a configuration asks its maker's server, and dials what that says.
        UserError::bench(
            format!("cannot serve configurations to devices: {error}"),
            "choose another port with `--http-listen`",
        )
    })?;
    let token = setup.token.clone().unwrap_or_default();
    http.set_clock(clock);
    http.set_bootstrap(match setup.transport {
        Transport::WebSocket => {
            Configuration::WebSocket { url: url.to_owned(), token, version: USUAL_BINARY_VERSION }
        }
        Transport::Mqtt => Configuration::Mqtt {
            endpoint: url.to_owned(),
            client_id: None,
            username: USER.to_owned(),
            password: token,
            publish_topic: PUBLISH_TOPIC.to_owned(),
            subscribe_topic: "null".to_owned(),
            keepalive: KEEP_ALIVE_S,
        },
    });
    Ok(http)
}

/// The device, where it is started here: what to start, with the addresses in its environment.
fn target(setup: &GatewaySetup, url: &str, ota_url: &str, id: &str) -> Result<Target, UserError> {
    // No device of a gateway needs anything left in a folder.
    let command = setup.dut.command(ota_url, Path::new("")).map_err(|error| {
        UserError::bench(format!("cannot start the device: {error}"), "use `--dut native`")
    })?;
    let Some(command) = command else {
        return Ok(Target::Wait);
    };
    let command =
        command.env("MCP_HIL_TRANSPORT", setup.transport.name()).env("MCP_HIL_OTA_URL", ota_url);
    let token = setup.token.as_deref().unwrap_or_default();
    let command = match setup.transport {
        Transport::WebSocket => command.env("MCP_HIL_WS_URL", url).env("MCP_HIL_WS_TOKEN", token),
        Transport::Mqtt => command
            .env("MCP_HIL_MQTT_ENDPOINT", url)
            .env("MCP_HIL_MQTT_CLIENT_ID", format!("mcp-hil@@@{}@@@{id}", &id[..8]))
            .env("MCP_HIL_MQTT_USERNAME", USER)
            .env("MCP_HIL_MQTT_PASSWORD", token)
            .env("MCP_HIL_MQTT_PUBLISH_TOPIC", PUBLISH_TOPIC),
    };
    Ok(Target::Process(Process::new(command)))
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
