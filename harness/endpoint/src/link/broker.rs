//! A link to a device through an ordinary MQTT broker.

use mcp_hil_core::wire::Frame;
use rumqttc::{AsyncClient, QoS};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use super::{LinkLost, SEND_DEADLINE};

/// The ids of the requests that a device is probed with: the last of those that the harness keeps for
/// itself, which it never counts up to.
pub(crate) const PROBE_IDS: std::ops::Range<u32> = 899_900..900_000;

/// The harness' end of the two topics.
#[derive(Debug)]
pub(crate) struct BrokerLink {
    client: AsyncClient,
    topic: String,
    messages: mpsc::Receiver<Frame>,
    first: Option<Frame>,
    _pump: Pump,
}

impl BrokerLink {
    pub(crate) fn new(
        client: AsyncClient,
        topic: String,
        messages: mpsc::Receiver<Frame>,
        pump: Pump,
        first: Option<Frame>,
    ) -> Self {
        Self { client, topic, messages, first, _pump: pump }
    }

    /// Publishes where the device listens.
    pub(crate) async fn publish(&mut self, payload: &[u8]) -> Result<(), LinkLost> {
        let sent = self.client.publish(self.topic.as_str(), QoS::AtMostOnce, false, payload);
        match timeout(SEND_DEADLINE, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(LinkLost::Broker(error.to_string())),
            Err(_) => Err(LinkLost::Broker("it accepts no more messages".to_owned())),
        }
    }

    /// The next message of the device. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> Result<Frame, LinkLost> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        loop {
            match self.messages.recv().await {
                // An answer to a probe that came late is no answer to a request of the harness.
                Some(frame) if answers_probe(&frame) => {}
                Some(frame) => return Ok(frame),
                None => return Err(LinkLost::Broker("the connection ended".to_owned())),
            }
        }
    }
}

/// A task that ends with its owner.
#[derive(Debug)]
pub(crate) struct Pump(JoinHandle<()>);

impl Pump {
    /// Of a task that brings what the broker has.
    pub(crate) fn new(task: JoinHandle<()>) -> Self {
        Self(task)
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a message answers a probe.
pub(crate) fn answers_probe(frame: &Frame) -> bool {
    let Frame::Text(text) = frame else {
        return false;
    };
    serde_json::from_str::<serde_json::Value>(text)
        .ok()
        .and_then(|message| message.pointer("/payload/id")?.as_u64())
        .is_some_and(|id| u32::try_from(id).is_ok_and(|id| PROBE_IDS.contains(&id)))
}
