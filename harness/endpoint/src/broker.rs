//! The endpoint behind an ordinary MQTT broker, for devices that do subscribe.

use std::{net::SocketAddr, time::Duration};

use mcp_hil_core::wire::Frame;
use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, QoS};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};

use crate::accepted::Accepted;
use crate::error::EndpointError;
use crate::link::broker::{BrokerLink, PROBE_IDS, Pump, answers_probe};
use crate::link::mqtt::MAX_PACKET_BYTES;
use crate::link::{Handshake, Link, Wire};

/// How long the broker may take to answer.
const BROKER_DEADLINE: Duration = Duration::from_secs(5);

/// How often a device that has said nothing yet is probed: what is published before it
/// subscribes is lost.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Most messages that wait to be taken in.
const MAX_WAITING: usize = 1024;

/// An ordinary broker, and the topics by which a device is reached through it.
#[derive(Debug, Clone)]
pub struct Broker {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User name and password for it, when it wants them.
    pub credentials: Option<(String, String)>,
    /// Where the device publishes.
    pub publish_topic: String,
    /// Where the device listens.
    pub subscribe_topic: String,
    /// Client id of the harness.
    pub client_id: String,
}

/// The harness as a client of an ordinary broker.
#[derive(Debug)]
pub struct BrokerEndpoint {
    broker: Broker,
    address: SocketAddr,
    /// The id of the next probe.
    next_id: u32,
    /// Why the broker could not be reached the last time, if it could not.
    unreached: Option<String>,
}

impl BrokerEndpoint {
    /// Looks whether the broker is there.
    ///
    /// # Errors
    /// No such host, nobody listens, or it takes neither the protocol nor the credentials.
    pub async fn join(broker: Broker) -> Result<Self, EndpointError> {
        let name = format!("{}:{}", broker.host, broker.port);
        let failed = |what: String| EndpointError::Broker { address: name.clone(), what };
        let address = tokio::net::lookup_host((broker.host.as_str(), broker.port))
            .await
            .map_err(|error| failed(error.to_string()))?
            .next()
            .ok_or_else(|| failed("the host has no address".to_owned()))?;
        let (_, mut events) = connect(&broker);
        connected(&mut events).await.map_err(failed)?;
        Ok(Self { broker, address, next_id: PROBE_IDS.start, unreached: None })
    }

    /// Where the broker listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Probes until the device says something. Its first message is the first of the link, unless
    /// it answers a probe.
    pub(super) async fn accept(&mut self) -> Accepted {
        loop {
            match self.find().await {
                Some(link) => return Accepted::Link(Box::new(link)),
                // The broker is gone, perhaps for a moment: the caller has the deadline.
                None => tokio::time::sleep(PROBE_INTERVAL).await,
            }
        }
    }

    pub(super) fn take_refused(&mut self) -> Vec<String> {
        vec![format!(
            "nothing was received on the topic `{}`, and nothing answered on `{}`",
            self.broker.publish_topic, self.broker.subscribe_topic
        )]
    }

    /// Why no device can be reached, if it is the broker that is not.
    pub(super) fn trouble(&self) -> Option<String> {
        let why = self.unreached.as_ref()?;
        Some(format!("the MQTT broker at {} cannot be reached any more: {why}", self.address))
    }

    async fn find(&mut self) -> Option<Link> {
        let (client, mut events) = connect(&self.broker);
        self.unreached = connected(&mut events).await.err();
        if self.unreached.is_some() {
            return None;
        }
        client.subscribe(&self.broker.publish_topic, QoS::AtMostOnce).await.ok()?;
        let (sender, mut messages) = mpsc::channel(MAX_WAITING);
        let pump = Pump::new(tokio::spawn(pump(events, sender)));
        let mut next = Instant::now();
        loop {
            tokio::select! {
                message = messages.recv() => {
                    let first = message?;
                    let link = BrokerLink::new(
                        client,
                        self.broker.subscribe_topic.clone(),
                        messages,
                        pump,
                        (!answers_probe(&first)).then_some(first),
                    );
                    let handshake = Handshake {
                        path: String::new(),
                        headers: Default::default(),
                        mqtt: None,
                        peer: self.address,
                    };
                    return Some(Link::new(Wire::Broker(Box::new(link)), handshake));
                }
                () = sleep_until(next) => {
                    next = Instant::now() + PROBE_INTERVAL;
                    self.probe(&client).await?;
                }
            }
        }
    }

    /// Sends a valid request, as a backend does on its own connection.
    async fn probe(&mut self, client: &AsyncClient) -> Option<()> {
        let id = self.next_id;
        self.next_id = if id + 1 < PROBE_IDS.end { id + 1 } else { PROBE_IDS.start };
        let text = format!(
            "{{\"type\":\"mcp\",\"payload\":{{\"jsonrpc\":\"2.0\",\"id\":{id},\
             \"method\":\"tools/list\",\"params\":{{}}}}}}"
        );
        let topic = self.broker.subscribe_topic.as_str();
        client.publish(topic, QoS::AtMostOnce, false, text).await.ok()
    }
}

fn connect(broker: &Broker) -> (AsyncClient, EventLoop) {
    let mut options = MqttOptions::new(&broker.client_id, &broker.host, broker.port);
    options
        .set_max_packet_size(MAX_PACKET_BYTES, MAX_PACKET_BYTES)
        .set_keep_alive(Duration::from_secs(30));
    if let Some((user, password)) = &broker.credentials {
        options.set_credentials(user, password);
    }
    AsyncClient::new(options, MAX_WAITING)
}

/// Waits for CONNACK.
async fn connected(events: &mut EventLoop) -> Result<(), String> {
    let answered = timeout(BROKER_DEADLINE, async {
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(_))) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    });
    answered
        .await
        .unwrap_or_else(|_| Err(format!("no CONNACK within {} s", BROKER_DEADLINE.as_secs())))
}

/// Passes on what the broker brings, until it is gone.
async fn pump(mut events: EventLoop, sender: mpsc::Sender<Frame>) {
    while let Ok(event) = events.poll().await {
        let Event::Incoming(Packet::Publish(publish)) = event else {
            continue;
        };
        let frame = match std::str::from_utf8(&publish.payload) {
            Ok(text) => Frame::Text(text.to_owned()),
            Err(_) => Frame::NotUtf8(publish.payload.to_vec()),
        };
        if sender.send(frame).await.is_err() {
            return;
        }
    }
}
