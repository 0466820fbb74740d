//! `serve`: keeps the backend's side up for devices on the bench and shows the traffic. It judges
//! nothing and keeps no record.
//!
//! `device` is the conversation with one device; `message` says a message in a line; `show` prints;
//! `command` reads what is typed.

mod command;
mod device;
mod message;
mod show;

use std::future::Future;
use std::io::BufRead;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_hil_core::identity::Identity;
use mcp_hil_core::transcript::{HttpEndpoint, HttpExchange};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::to_hex;
use mcp_hil_endpoint::{Accepted, Configuration, Endpoint, HttpServer, Link, MqttTerms};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::command::Command;
use self::device::{Backend, Device};
use self::message::Said;
use self::show::{Counted, Show, Way};
use mcp_hil_args::{DUTS, ServeArgs, Served};
use mcp_hil_bench::dut::DutFile;
use mcp_hil_bench::dut::Files;
use mcp_hil_bench::dut::SHORTEST_TOKEN;
use mcp_hil_record::error::UserError;
use mcp_hil_runner::plan::USUAL_BINARY_VERSION;
use mcp_hil_runner::plan::listen::{refused, to_serve};
use mcp_hil_runner::random::Random;

/// User name and publish topic of MQTT devices; the token is the password.
const USER_NAME: &str = "mcp-hil";
const PUBLISH_TOPIC: &str = "device-server";

/// The keep-alive that MQTT devices are told, in seconds: a device that lost its power is noticed
/// after one and a half of it.
const KEEP_ALIVE_S: u16 = 60;

/// The port that stock firmware takes for TLS, whatever stands behind it (device-protocol 3.1).
const TLS_PORT: u16 = 8883;

/// Most devices at the same time; further ones are dropped.
const MAX_DEVICES: usize = 64;

/// Most typed lines that wait for a device.
const MAX_TYPED: usize = 16;

/// How often what comes in streams is told of.
const TICK: Duration = Duration::from_secs(1);

/// What is said about a picture.
const VISION_REPLY: &str = "mcp-hil has seen the picture";

/// Keeps the endpoints up until `stop` ends or nobody reads standard output any more.
///
/// # Errors
///
/// A bad token or port, or one that is in use.
pub async fn serve(args: &ServeArgs, stop: impl Future<Output = ()>) -> Result<(), UserError> {
    let mut bench = Bench::open(args).await?;
    bench.announce(args);
    let typed = read_lines();
    tokio::select! {
        () = bench.run(typed) => {}
        () = stop => {}
    }
    bench.show.summary();
    Ok(())
}

/// The open ports and the devices on them.
struct Bench {
    http: HttpServer,
    websocket: Option<Endpoint>,
    mqtt: Option<Endpoint>,
    show: Arc<Show>,
    backend: Arc<Backend>,
    token: String,
    /// What people are told of the address.
    where_and_why: Option<String>,
    devices: JoinSet<()>,
    /// Where typed lines go: the devices, the last one last.
    typists: Vec<mpsc::Sender<Command>>,
}

impl Bench {
    async fn open(args: &ServeArgs) -> Result<Self, UserError> {
        let token = match &args.token {
            None => secret()?,
            Some(token) if token.len() >= SHORTEST_TOKEN && is_plain(token) => token.clone(),
            Some(_) => {
                return Err(UserError::usage(
                    format!(
                        "`--token`: expected at least {SHORTEST_TOKEN} printable ASCII characters \
                         without spaces"
                    ),
                    "it is sent in an HTTP header, and removed from everything that is shown",
                ));
            }
        };
        if args.mqtt_port == TLS_PORT && args.transport != Served::Websocket {
            return Err(UserError::usage(
                format!("`--mqtt-port {TLS_PORT}`: expected a port for plain TCP"),
                "stock firmware uses TLS on that port, which mcp-hil does not support",
            ));
        }
        let (ip, where_and_why) = address(args)?;
        let at = |port| SocketAddr::new(ip, port);
        let http = HttpServer::bind(at(args.http_port)).await;
        let http = http.map_err(|error| refused(&error, "--http-port"))?;
        let websocket = match args.transport {
            Served::Mqtt => None,
            _ => {
                let endpoint = Endpoint::guarded_websocket(at(args.ws_port), &token).await;
                Some(endpoint.map_err(|error| refused(&error, "--ws-port"))?)
            }
        };
        let mqtt = match args.transport {
            Served::Websocket => None,
            _ => {
                let terms = MqttTerms {
                    credentials: Some((USER_NAME.to_owned(), token.clone())),
                    publish_topic: Some(PUBLISH_TOPIC.to_owned()),
                    ..MqttTerms::default()
                };
                let endpoint = Endpoint::mqtt(at(args.mqtt_port), terms).await;
                Some(endpoint.map_err(|error| refused(&error, "--mqtt-port"))?)
            }
        };
        let vision_token = secret()?;
        let show = Arc::new(Show::new(args.verbose));
        show.hide(&token, "${MCP_HIL_TOKEN}");
        show.hide(&vision_token, "${MCP_HIL_VISION_TOKEN}");
        http.set_clock(mcp_hil_runner::run::clock);
        http.set_vision(&[&vision_token], VISION_REPLY);
        if let Some(configuration) = configuration(websocket.as_ref(), mqtt.as_ref(), &token) {
            http.set_bootstrap(configuration);
        }
        Ok(Self {
            backend: Arc::new(Backend {
                vision: (http.vision_url(), vision_token),
                ip,
                quiet: args.quiet,
            }),
            http,
            websocket,
            mqtt,
            show,
            token,
            where_and_why,
            devices: JoinSet::new(),
            typists: Vec::new(),
        })
    }

    /// Tells the person at the bench where devices go, and the token when it was made up.
    fn announce(&self, args: &ServeArgs) {
        let told = if self.mqtt.is_some() { "MQTT" } else { "WebSocket" };
        if let Some(text) = &self.where_and_why {
            mcp_hil_core::notice!("{text}");
        }
        mcp_hil_core::notice!("OTA        {}, configures {told}", self.http.ota_url());
        if let Some(endpoint) = &self.websocket {
            mcp_hil_core::notice!("WebSocket  {}", endpoint.url());
        }
        if let Some(endpoint) = &self.mqtt {
            let url = endpoint.url();
            mcp_hil_core::notice!("MQTT       {url}, user name {USER_NAME}, topic {PUBLISH_TOPIC}");
        }
        if args.token.is_none() {
            // The one place where it is shown: whoever configures a device by hand must know it.
            mcp_hil_core::notice!("token      {}", self.token);
        }
        if !self.backend.ip.is_loopback() {
            mcp_hil_core::notice!(
                "anyone who can reach the OTA address gets the token: mind who is in this network"
            );
        }
        mcp_hil_core::notice!(
            "times are UTC; Ctrl-C ends; `mcp-hil serve --help` shows what can be typed"
        );
    }

    async fn run(&mut self, mut typed: mpsc::Receiver<String>) {
        let show = self.show.clone();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = show.nobody_reads() => return,
                accepted = accept(&mut self.websocket) => self.accepted_link(Transport::WebSocket, accepted),
                accepted = accept(&mut self.mqtt) => self.accepted_link(Transport::Mqtt, accepted),
                exchange = self.http.next() => self.requested(&exchange),
                line = line_of(&mut typed) => self.typed(&line),
                _ = tick.tick() => self.tell_of_refused(),
            }
            while self.devices.try_join_next().is_some() {}
        }
    }

    fn accepted_link(&mut self, transport: Transport, accepted: Accepted) {
        match accepted {
            Accepted::Link(link) => self.connected(transport, *link),
            // Who it was stands in the list.
            Accepted::Refused { .. } => self.tell_of_refused(),
        }
    }

    fn connected(&mut self, transport: Transport, link: Link) {
        self.typists.retain(|typist| !typist.is_closed());
        if self.devices.len() >= MAX_DEVICES {
            let peer = link.handshake().peer;
            let said = Said::new(format!(
                "connection from {peer} closed: MAX_DEVICES ({MAX_DEVICES}) are connected"
            ));
            self.show.line("", Way::Beside, &said, None);
            return;
        }
        let (typist, commands) = mpsc::channel(MAX_TYPED);
        self.typists.push(typist);
        let device =
            Device::new(transport, link, self.show.clone(), self.backend.clone(), commands);
        self.devices.spawn(device.converse());
    }

    fn tell_of_refused(&mut self) {
        let endpoints = [&mut self.websocket, &mut self.mqtt];
        let mut refused: Vec<String> =
            endpoints.into_iter().flatten().flat_map(Endpoint::take_refused).collect();
        self.show.count(Counted::Refused, refused.len());
        refused.extend(self.http.take_refused());
        for text in refused {
            self.show.line("", Way::Beside, &Said::new(text), None);
        }
    }

    fn requested(&self, exchange: &HttpExchange) {
        let device = exchange.header("device-id").unwrap_or_default();
        let said = said_of_request(exchange, self.mqtt.is_some());
        self.show.count(
            match exchange.endpoint {
                HttpEndpoint::Bootstrap => Counted::Configuration,
                HttpEndpoint::Vision => Counted::Picture,
                HttpEndpoint::Activate | HttpEndpoint::Other => Counted::OtherRequest,
            },
            1,
        );
        let body = exchange.body.as_ref().map(|body| body.display());
        self.show.line(device, Way::FromDevice, &said, body.as_deref());
        if let Some(identity) = identity(exchange) {
            self.show.more(&identity);
        }
    }

    fn typed(&mut self, line: &str) {
        let command = match Command::read(line) {
            Ok(None) => return,
            Ok(Some(command)) => command,
            Err(why) => {
                mcp_hil_core::notice!("{why}");
                return;
            }
        };
        self.typists.retain(|typist| !typist.is_closed());
        match self.typists.last().map(|last| last.try_send(command)) {
            None => mcp_hil_core::notice!("no device is connected"),
            Some(Err(_)) => {
                mcp_hil_core::notice!("the device accepts no more: what was typed is discarded")
            }
            Some(Ok(())) => {}
        }
    }
}

/// Where to listen, and what people are told of it.
fn address(args: &ServeArgs) -> Result<(IpAddr, Option<String>), UserError> {
    let file = args.dut.as_deref().map(DutFile::read).transpose()?;
    let declared = Files::read(Path::new(DUTS)).boards;
    let boards = mcp_hil_boards::board::attached().boards;
    let attached = boards.iter().any(|board| board.known().is_some());
    to_serve(args.bind, file.as_ref(), &declared, attached)
}

/// What devices are told that ask. With both ports open it is MQTT, as stock firmware prefers.
fn configuration(
    websocket: Option<&Endpoint>,
    mqtt: Option<&Endpoint>,
    token: &str,
) -> Option<Configuration> {
    match (mqtt, websocket) {
        (Some(mqtt), _) => Some(Configuration::Mqtt {
            endpoint: mqtt.url(),
            client_id: None,
            username: USER_NAME.to_owned(),
            password: token.to_owned(),
            publish_topic: PUBLISH_TOPIC.to_owned(),
            subscribe_topic: "null".to_owned(),
            keepalive: KEEP_ALIVE_S,
        }),
        (None, Some(websocket)) => Some(Configuration::WebSocket {
            url: websocket.url(),
            token: token.to_owned(),
            version: USUAL_BINARY_VERSION,
        }),
        (None, None) => None,
    }
}

/// What an HTTP request was, and what it got.
fn said_of_request(exchange: &HttpExchange, tells_mqtt: bool) -> Said {
    let status = match exchange.status {
        Some(status) => status.to_string(),
        None => "no answer".to_owned(),
    };
    let what = match exchange.endpoint {
        HttpEndpoint::Bootstrap => "configuration",
        HttpEndpoint::Activate => "activation",
        HttpEndpoint::Vision => "picture",
        HttpEndpoint::Other => "HTTP",
    };
    if let Some(problem) = &exchange.problem {
        return Said::new(format!("{what} {status}")).with(problem.as_str());
    }
    match exchange.endpoint {
        HttpEndpoint::Bootstrap if exchange.status == Some(200) => {
            let told = if tells_mqtt { "MQTT" } else { "WebSocket" };
            Said::new(format!("{what} {status} {told}")).with(match identity(exchange) {
                Some(_) => "",
                None => "it does not identify itself",
            })
        }
        HttpEndpoint::Vision => {
            let upload = exchange.upload.clone().unwrap_or_default();
            let bytes = upload.file_bytes.unwrap_or_default();
            let question = upload.question.unwrap_or_default();
            Said::new(format!("{what} {status}")).with(format!("{bytes} bytes, {question}"))
        }
        _ => Said::new(format!("{what} {status}"))
            .with(format!("{} {}", exchange.method, exchange.path)),
    }
}

/// What a configuration request tells of the device, in one line.
fn identity(exchange: &HttpExchange) -> Option<String> {
    let told = Identity::of_exchange(exchange)?.to_string();
    (!told.is_empty()).then_some(told)
}

/// The next who accepted at a port; never, when it is not open.
async fn accept(endpoint: &mut Option<Endpoint>) -> Accepted {
    match endpoint {
        Some(endpoint) => endpoint.accept().await,
        None => std::future::pending().await,
    }
}

/// The next line typed; never, when no more come.
async fn line_of(typed: &mut mpsc::Receiver<String>) -> String {
    match typed.recv().await {
        Some(line) => line,
        None => std::future::pending().await,
    }
}

/// Reads standard input on a thread of its own, which ends with the program.
fn read_lines() -> mpsc::Receiver<String> {
    let (say, typed) = mpsc::channel(MAX_TYPED);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if say.blocking_send(line).is_err() {
                return;
            }
        }
    });
    typed
}

/// A token that nobody can guess.
fn secret() -> Result<String, UserError> {
    let bytes = Random::secret::<16>().map_err(|error| {
        UserError::bench(
            format!("cannot generate a token: {error}"),
            "give one with `--token`, and check why /dev/urandom cannot be read",
        )
    })?;
    Ok(to_hex(&bytes))
}

/// Whether a text can stand in a header as it is.
fn is_plain(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_graphic())
}
