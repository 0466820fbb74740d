//! Everything that a device is to meet is opened before it starts.

use std::net::SocketAddr;

use mcp_hil_boards::Target;
use mcp_hil_boards::board::queue::Turn;
use mcp_hil_core::transport::Transport;
use mcp_hil_endpoint::{AudioSink, Endpoint, HttpServer, ServerTime};
use tokio::sync::watch;

use super::RunError;
use super::flights::Flights;
use super::recorder::Recorder;
use super::session::Session;
use super::start;
use super::state::Ports;
use crate::plan::Plan;
use crate::random::Random;

/// What the harness says about a picture.
const VISION_REPLY: &str = "mcp-hil has seen the picture: caf\u{e9}, \u{732b}, \u{1f600}";

/// A device that lives on from one run to the next, and the ports that it knows.
pub(super) struct Living {
    target: Target,
    ports: Ports,
}

/// What is kept of a device between two runs of it.
#[derive(Default)]
pub struct Kept {
    pub(super) living: Option<Living>,
    pub(super) turn: Option<Turn>,
}

impl Kept {
    /// Ends the device, and gives its ports back.
    pub async fn end(self) {
        if let Some(living) = self.living {
            let Living { mut target, ports } = living;
            target.stop().await;
            ports.close().await;
        }
    }
}

impl Session {
    /// Ends the session, but not the device: another session takes it over. Gives what kept the recorder from writing, if
    /// anything did.
    pub(super) fn leave(mut self) -> (Living, Option<RunError>) {
        drop(self.connection.link.take());
        self.transcript.recorder.flush();
        let trouble = self.transcript.recorder.take_failure();
        (Living { target: self.target, ports: self.ports }, trouble)
    }
}

/// Opens the transcript of a session, and the endpoints unless the device knows some already. One that is not living yet
/// is not started.
pub(super) async fn open(
    plan: &Plan,
    transport: Transport,
    interrupt: watch::Receiver<bool>,
    living: Option<Living>,
) -> Result<Session, RunError> {
    if let Some(text) = &plan.dut.absent {
        return Err(RunError::NoConnection(text.clone()));
    }
    let recorder = Recorder::new(&plan.folder_of(transport), plan.secrets())?;
    let mut random = Random::new(plan.seed.rotate_left(7));
    let lives_on = living.is_some();
    let Living { target, ports } = match living {
        Some(living) => living,
        None => {
            let ports = bind(plan, transport, &mut random).await?;
            let (url, ota_url) = (ports.endpoint.url(), ports.http.ota_url());
            Living { target: start::target(plan, transport, &url, &ota_url)?, ports }
        }
    };
    let [token, other_token] = &plan.vision_tokens;
    let told_variables = vec![
        ("vision.url", plan.dut.seen(&ports.http.vision_url())),
        ("vision.token", token.clone()),
        ("vision.other_token", other_token.clone()),
        ("vision.reply", VISION_REPLY.to_owned()),
    ];
    let mut session =
        Session::new(transport, target, ports, random, recorder, plan.deadline, interrupt);
    session.terms.variables = told_variables;
    session.terms.linger = plan.linger;
    session.flights = Flights::new(plan.in_flight);
    session.terms.exposed = plan.listening.exposed;
    session.terms.lives_on = lives_on;
    session.terms.generates = !plan.generation.properties.is_empty();
    session.device.silicon = plan.dut.fidelity().may_be_silicon();
    Ok(session)
}

/// Listens wherever the device is to connect, and says there what it is to be told.
async fn bind(plan: &Plan, transport: Transport, random: &mut Random) -> Result<Ports, RunError> {
    let listening = &plan.listening;
    let http = match HttpServer::bind(listening.http).await {
        Err(_) if !listening.http_asked => {
            let any_port = SocketAddr::new(listening.http.ip(), 0);
            HttpServer::bind(any_port).await
        }
        bound => bound,
    };
    let http = http.map_err(RunError::Http)?;
    let dial = listening.dial;
    let endpoint = match (transport, &plan.mqtt.broker) {
        (Transport::WebSocket, _) => match plan.token.as_deref().filter(|_| listening.exposed) {
            Some(token) => Endpoint::exposed_websocket(dial, token, http.told()).await?,
            None => Endpoint::websocket(dial).await?,
        },
        (Transport::Mqtt, None) => Endpoint::mqtt(dial, plan.mqtt.terms()).await?,
        (Transport::Mqtt, Some(broker)) => Endpoint::broker(broker.clone()).await?,
    };
    let audio = match transport {
        Transport::WebSocket => None,
        Transport::Mqtt => {
            let mut audio = AudioSink::bind(dial.ip(), random.bytes()).await?;
            let host = audio.address().ip().to_string();
            audio.show_as(plan.dut.seen(&host));
            Some(audio)
        }
    };
    let dial = plan.dut.seen(&endpoint.url());
    http.set_bootstrap(plan.configuration(transport, &dial));
    http.set_clock(clock);
    let [token, other_token] = &plan.vision_tokens;
    http.set_vision(&[token, other_token], VISION_REPLY);
    Ok(Ports { endpoint, http, audio })
}

/// The time that devices are told. Their local time is UTC: nothing depends on it.
pub fn clock() -> ServerTime {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    ServerTime {
        timestamp_ms: now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
        timezone_offset: 0,
    }
}
