//! Everything that a device is to meet is opened before it starts.

use std::net::SocketAddr;

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

/// Opens the endpoints and the transcript of a session; the device is not started yet.
pub(super) async fn open(
    plan: &Plan,
    transport: Transport,
    interrupt: watch::Receiver<bool>,
) -> Result<Session, RunError> {
    if let Some(text) = &plan.dut.absent {
        return Err(RunError::NoConnection(text.clone()));
    }
    let folder = plan.folder_of(transport);
    let recorder = Recorder::new(&folder, plan.secrets())?;
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
    let mut random = Random::new(plan.seed.rotate_left(7));
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
    let target = start::target(plan, transport, &endpoint.url(), &http.ota_url())?;
    let told_variables = vec![
        ("vision.url", plan.dut.seen(&http.vision_url())),
        ("vision.token", token.clone()),
        ("vision.other_token", other_token.clone()),
        ("vision.reply", VISION_REPLY.to_owned()),
    ];
    let ports = Ports { endpoint, http, audio };
    let mut session =
        Session::new(transport, target, ports, random, recorder, plan.deadline, interrupt);
    session.terms.variables = told_variables;
    session.terms.linger = plan.linger;
    session.flights = Flights::new(plan.in_flight);
    session.terms.exposed = listening.exposed;
    session.device.silicon = plan.dut.fidelity().may_be_silicon();
    Ok(session)
}

/// The time that devices are told. Their local time is UTC: nothing depends on it.
pub fn clock() -> ServerTime {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    ServerTime {
        timestamp_ms: now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
        timezone_offset: 0,
    }
}
