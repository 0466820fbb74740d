//! Where the harness listens: the device dials out, so the address exists before it boots.

use std::net::SocketAddr;
use std::time::Instant;

use crate::accepted::Accepted;
use crate::address;
use crate::broker::{Broker, BrokerEndpoint};
use crate::error::EndpointError;
use crate::guard::{Guard, Told};
use crate::mqtt::{MqttEndpoint, MqttTerms};
use crate::websocket::WebSocketEndpoint;

/// A place where the harness plays the backend.
#[derive(Debug)]
pub enum Endpoint {
    /// Over WebSocket.
    WebSocket(WebSocketEndpoint),
    /// Over MQTT, the harness being the broker.
    Mqtt(MqttEndpoint),
    /// Over MQTT, an ordinary broker standing between.
    Broker(BrokerEndpoint),
}

impl Endpoint {
    /// Listens for WebSocket devices; port 0 takes any free one. Must be called inside a tokio
    /// runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub async fn websocket(address: SocketAddr) -> Result<Self, EndpointError> {
        let endpoint = WebSocketEndpoint::bind(address, Guard::default()).await?;
        Ok(Self::WebSocket(endpoint))
    }

    /// Listens for WebSocket devices that present `token`; others are refused with HTTP 401.
    ///
    /// # Errors
    /// As [`websocket`](Self::websocket).
    pub async fn guarded_websocket(
        address: SocketAddr,
        token: &str,
    ) -> Result<Self, EndpointError> {
        let endpoint = WebSocketEndpoint::bind(address, Guard::token(token)).await?;
        Ok(Self::WebSocket(endpoint))
    }

    /// Listens for WebSocket devices where strangers may accepted, too: who presents `token` is let in, and
    /// so is who was `told` its configuration here. One that was told and does not present the token is
    /// the device, and its handshake is to be judged; anybody else is refused with HTTP 401.
    ///
    /// # Errors
    /// As [`websocket`](Self::websocket).
    pub async fn exposed_websocket(
        address: SocketAddr,
        token: &str,
        told: Told,
    ) -> Result<Self, EndpointError> {
        let endpoint = WebSocketEndpoint::bind(address, Guard::token(token).or_told(told)).await?;
        Ok(Self::WebSocket(endpoint))
    }

    /// Listens for MQTT devices.
    ///
    /// # Errors
    /// As [`websocket`](Self::websocket).
    pub async fn mqtt(address: SocketAddr, terms: MqttTerms) -> Result<Self, EndpointError> {
        MqttEndpoint::bind(address, terms).await.map(Self::Mqtt)
    }

    /// Reaches devices through an ordinary broker.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn broker(broker: Broker) -> Result<Self, EndpointError> {
        BrokerEndpoint::join(broker).await.map(Self::Broker)
    }

    /// Where it listens, with the real port; the broker's address where one stands between.
    pub fn address(&self) -> SocketAddr {
        match self {
            Self::WebSocket(endpoint) => endpoint.address(),
            Self::Mqtt(endpoint) => endpoint.address(),
            Self::Broker(endpoint) => endpoint.address(),
        }
    }

    /// What a device is told to dial: a URL, or `host:port` over MQTT. When the endpoint listens
    /// on all interfaces, it names the address of the one that leads out of this machine.
    pub fn url(&self) -> String {
        match self {
            Self::WebSocket(endpoint) => endpoint.url(),
            Self::Mqtt(endpoint) => endpoint.dial(),
            Self::Broker(endpoint) => endpoint.address().to_string(),
        }
    }

    /// The next device that connects, in order of completion.
    ///
    /// Cancel-safe: no connection is lost when the future is dropped.
    pub async fn accept(&mut self) -> Accepted {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().accept().await,
            Self::Mqtt(endpoint) => endpoint.acceptor().accept().await,
            Self::Broker(endpoint) => endpoint.accept().await,
        }
    }

    /// Over WebSocket, sends a ping in one piece with the response to the next handshake.
    pub fn ping_next(&self) {
        match self {
            Self::WebSocket(endpoint) => endpoint.ping_next(),
            Self::Mqtt(_) | Self::Broker(_) => {}
        }
    }

    /// Completed connections that were not accepted yet.
    pub fn waiting(&mut self) -> usize {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().waiting(),
            Self::Mqtt(endpoint) => endpoint.acceptor().waiting(),
            Self::Broker(_) => 0,
        }
    }

    /// Waits until the device of this name (`Device-Id`) has said hello on a connection that was not accepted yet. Gives
    /// when it did. Over MQTT a broker ends the earlier connection of a client by itself: nothing is waited for there.
    /// Cancel-safe.
    pub async fn hello_again(&mut self, device: &str) -> Instant {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().hello_again(device).await,
            Self::Mqtt(_) | Self::Broker(_) => std::future::pending().await,
        }
    }

    /// Makes the connection on which the device of this name has said hello the next to be accepted.
    pub fn prefer_latest(&mut self, device: &str) {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().prefer_latest(device),
            Self::Mqtt(_) | Self::Broker(_) => {}
        }
    }

    /// Gives up the connections that were not accepted yet: what dialed before a device was started again
    /// is not that device any more.
    pub async fn forget_waiting(&mut self) {
        while self.waiting() > 0 {
            self.accept().await;
        }
    }

    /// The connections refused since the last call: who it was, and why.
    pub fn take_refused(&mut self) -> Vec<String> {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().take_refused(),
            Self::Mqtt(endpoint) => endpoint.acceptor().take_refused(),
            Self::Broker(endpoint) => endpoint.take_refused(),
        }
    }

    /// What is wrong with the bench, so that no device could connect here, or say anything: the network of this host, or
    /// the broker. `None` where nothing is known to be.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::WebSocket(_) | Self::Mqtt(_) => address::lost(self.address().ip()),
            Self::Broker(endpoint) => endpoint.trouble(),
        }
    }

    /// Stops listening, and closes all connections that were not accepted. When this returns, the port
    /// is free; a value that is only dropped gives it back a little later.
    pub async fn close(self) {
        match self {
            Self::WebSocket(endpoint) => endpoint.close().await,
            Self::Mqtt(endpoint) => endpoint.close().await,
            // It listens nowhere, and what it holds of the broker ends with it.
            Self::Broker(_) => {}
        }
    }
}
