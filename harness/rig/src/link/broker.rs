//! A link to a device through an ordinary MQTT broker.

use mcp_hil_core::wire::Frame;
use rumqttc::{AsyncClient, QoS};
use tokio::{sync::mpsc, time::timeout};

use super::{LinkLost, SEND_DEADLINE};
use crate::endpoint::broker::{Pump, is_knock_answer};

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
        Self {
            client,
            topic,
            messages,
            first,
            _pump: pump,
        }
    }

    /// Publishes where the device listens.
    pub(crate) async fn publish(&mut self, payload: &[u8]) -> Result<(), LinkLost> {
        let sent = self
            .client
            .publish(self.topic.as_str(), QoS::AtMostOnce, false, payload);
        match timeout(SEND_DEADLINE, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(LinkLost::Broker(error.to_string())),
            Err(_) => Err(LinkLost::Broker("it takes no more messages".to_owned())),
        }
    }

    /// The next message of the device. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> Result<Frame, LinkLost> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        loop {
            match self.messages.recv().await {
                // An answer to a knock that came late is no answer to a request of the harness.
                Some(frame) if is_knock_answer(&frame) => {}
                Some(frame) => return Ok(frame),
                None => return Err(LinkLost::Broker("the connection ended".to_owned())),
            }
        }
    }
}
