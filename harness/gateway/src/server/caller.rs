//! The callers' side of the gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_hil_core::transcript::MqttNote;
use mcp_hil_core::wire::Frame;
use mcp_hil_endpoint::Accepted;
use mcp_hil_endpoint::Endpoint;
use mcp_hil_endpoint::MqttTerms;
use mcp_hil_endpoint::{Incoming, Link};
use tokio::sync::mpsc;

use super::{GatewaySetup, Lines};
use crate::mqtt::{self, Mqtt, Server};
use mcp_hil_record::error::UserError;
use mcp_hil_runner::plan::listen::refused;

/// Most callers that are connected at a time; further ones are turned away.
const MAX_CALLERS: usize = 256;

/// Answers that wait for a caller that does not read; more are lost to it.
const WAITING: usize = 256;

/// How long an attempt to join the broker may take.
const JOIN: Duration = Duration::from_secs(10);

/// How long is waited between two attempts to join the broker again.
const PAUSE: Duration = Duration::from_secs(1);

/// The caller's number when a broker stands between: who it was is not known.
const BROKER: u64 = 0;

/// What came from the callers.
#[derive(Debug)]
pub enum FromCaller {
    /// A control.
    Control {
        /// Who sent it.
        caller: u64,
        /// Its text.
        text: String,
    },
    /// A caller went away.
    Gone {
        /// Who it was.
        caller: u64,
    },
}

/// The callers.
#[derive(Debug)]
pub struct Callers {
    own: Option<Own>,
    broker: Option<Broker>,
    lines: Lines,
}

/// Callers on the gateway's own port.
#[derive(Debug)]
struct Own {
    endpoint: Endpoint,
    topic: String,
    last: u64,
    callers: BTreeMap<u64, mpsc::Sender<String>>,
    came: mpsc::Receiver<FromCaller>,
    coming: mpsc::Sender<FromCaller>,
}

/// Callers through a broker.
#[derive(Debug)]
struct Broker {
    server: Server,
    control_topic: String,
    reply_topic: String,
    client: Option<Mqtt>,
}

impl Callers {
    /// Opens the port, or joins the broker.
    ///
    /// # Errors
    ///
    /// The port cannot be had; the broker does not answer.
    pub async fn open(setup: &GatewaySetup, lines: Lines) -> Result<Self, UserError> {
        let own = match setup.control_listen {
            None => None,
            Some(address) => {
                let terms = MqttTerms {
                    publish_topic: Some(setup.control_topic.clone()),
                    push_topic: Some(setup.reply_topic.clone()),
                    ..MqttTerms::default()
                };
                let endpoint = Endpoint::mqtt(address, terms).await;
                let endpoint = endpoint.map_err(|error| refused(&error, "--listen"))?;
                lines.say(&format!("callers   mqtt://{}", endpoint.address()));
                let (coming, came) = mpsc::channel(WAITING);
                Some(Own {
                    endpoint,
                    topic: setup.control_topic.clone(),
                    last: BROKER,
                    callers: BTreeMap::new(),
                    came,
                    coming,
                })
            }
        };
        let broker = match &setup.broker {
            None => None,
            Some(server) => {
                let mut broker = Broker {
                    server: server.clone(),
                    control_topic: setup.control_topic.clone(),
                    reply_topic: setup.reply_topic.clone(),
                    client: None,
                };
                broker.join().await.map_err(|why| {
                    UserError::bench(
                        format!("cannot connect to the broker {why}"),
                        "is it running, and does it accept us (`--broker-user`)?",
                    )
                })?;
                lines.say(&format!("callers   through the broker {server}"));
                Some(broker)
            }
        };
        lines.say(&format!(
            "topics    control messages on {}, answers on {}",
            setup.control_topic, setup.reply_topic
        ));
        Ok(Self { own, broker, lines })
    }

    /// What comes next. Cancel-safe.
    pub async fn next(&mut self) -> FromCaller {
        let lines = self.lines;
        tokio::select! {
            from = next_own(&mut self.own, lines) => from,
            from = next_through(&mut self.broker, lines) => from,
        }
    }

    /// A caller's name on a line.
    pub fn name(&self, caller: u64) -> String {
        if caller == BROKER { "broker".into() } else { format!("caller {caller}") }
    }

    /// Sends an answer. A caller that is gone, or reads nothing, does not get it.
    pub async fn reply(&mut self, caller: u64, text: String) {
        let sent = match (&self.own, &self.broker) {
            (_, Some(broker)) if caller == BROKER => match &broker.client {
                Some(client) => client.publish(&broker.reply_topic, &text, true).await.is_ok(),
                None => false,
            },
            (Some(own), _) => {
                own.callers.get(&caller).is_some_and(|sender| sender.try_send(text).is_ok())
            }
            _ => false,
        };
        if !sent {
            let name = self.name(caller);
            self.lines.say(&format!("lost      {name} is gone or does not read"));
        }
    }
}

async fn next_own(own: &mut Option<Own>, lines: Lines) -> FromCaller {
    let Some(own) = own else {
        return std::future::pending().await;
    };
    loop {
        tokio::select! {
            accepted = own.endpoint.accept() => own.accept(accepted, lines),
            Some(from) = own.came.recv() => {
                if let FromCaller::Gone { caller } = &from {
                    own.callers.remove(caller);
                    lines.say(&format!("left      caller {caller}"));
                }
                return from;
            }
        }
    }
}

impl Own {
    fn accept(&mut self, accepted: Accepted, lines: Lines) {
        let Accepted::Link(link) = accepted else {
            return;
        };
        if self.callers.len() >= MAX_CALLERS {
            lines.say(&format!("refused   {MAX_CALLERS} callers are connected"));
            return;
        }
        self.last += 1;
        let caller = self.last;
        let peer = link.handshake().peer;
        lines.say(&format!("came      caller {caller} from {peer}"));
        let (sender, answers) = mpsc::channel(WAITING);
        self.callers.insert(caller, sender);
        tokio::spawn(serve(caller, *link, self.topic.clone(), self.coming.clone(), answers));
    }
}

/// Serves one caller until it goes.
async fn serve(
    caller: u64,
    mut link: Link,
    topic: String,
    coming: mpsc::Sender<FromCaller>,
    mut answers: mpsc::Receiver<String>,
) {
    // What comes to another topic is announced before it comes.
    let mut elsewhere = false;
    loop {
        tokio::select! {
            came = link.recv() => match came {
                Ok(Incoming::Note(MqttNote::Topic { topic: other })) => elsewhere = other != topic,
                Ok(Incoming::Note(_)) => {}
                Ok(Incoming::Frame(frame)) => {
                    let text = match frame {
                        Frame::Text(text) => text,
                        Frame::NotUtf8(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                        _ => continue,
                    };
                    if std::mem::take(&mut elsewhere) {
                        continue;
                    }
                    if coming.send(FromCaller::Control { caller, text }).await.is_err() {
                        return;
                    }
                }
                Err(_) => break,
            },
            answer = answers.recv() => {
                let Some(text) = answer else { return };
                if link.send(&Frame::Text(text)).await.is_err() {
                    break;
                }
            }
        }
    }
    let _ = coming.send(FromCaller::Gone { caller }).await;
}

async fn next_through(broker: &mut Option<Broker>, lines: Lines) -> FromCaller {
    let Some(broker) = broker else {
        return std::future::pending().await;
    };
    loop {
        let Some(client) = &mut broker.client else {
            tokio::time::sleep(PAUSE).await;
            if broker.join().await.is_ok() {
                lines.say("joined    connected to the broker again");
            }
            continue;
        };
        match client.next().await {
            mqtt::Incoming::Message { topic, payload } if topic == broker.control_topic => {
                return FromCaller::Control {
                    caller: BROKER,
                    text: String::from_utf8_lossy(&payload).into_owned(),
                };
            }
            mqtt::Incoming::Message { .. } => {}
            mqtt::Incoming::Gone(why) => {
                lines.say(&format!("broker    connection lost: {why}"));
                broker.client = None;
            }
        }
    }
}

impl Broker {
    async fn join(&mut self) -> Result<(), String> {
        let id = format!("mcp-hil-gateway-{}", std::process::id());
        let topics = [self.control_topic.as_str()];
        self.client = Some(Mqtt::connect(&self.server, &id, &topics, JOIN).await?);
        Ok(())
    }
}
