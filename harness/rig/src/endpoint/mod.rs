//! Where the harness listens: the device dials out, so the address exists before it boots.

pub(crate) mod acceptor;
mod address;
pub mod audio;
pub mod broker;
mod headers;
pub mod http;
pub mod mqtt;
pub mod websocket;

use std::net::SocketAddr;

use crate::{error::RigError, link::Link};
pub use acceptor::{HANDSHAKE_DEADLINE, MAX_HANDSHAKES, MAX_WAITING};
use broker::{Broker, BrokerEndpoint};
use mqtt::{MqttEndpoint, MqttTerms};
use websocket::WebSocketEndpoint;

/// Who knocks at an endpoint.
#[derive(Debug)]
pub enum Knock {
    /// A device; its handshake is complete.
    Link(Box<Link>),
    /// A device that was turned away for its token, or its user name or password.
    Refused {
        /// What it presented, in words; never the token or password.
        why: String,
    },
}

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
    pub async fn websocket(address: SocketAddr) -> Result<Self, RigError> {
        let endpoint = WebSocketEndpoint::bind(address, None).await?;
        Ok(Self::WebSocket(endpoint))
    }

    /// Listens for WebSocket devices that present `token`; others are refused with HTTP 401.
    ///
    /// # Errors
    /// As [`websocket`](Self::websocket).
    pub async fn guarded_websocket(address: SocketAddr, token: &str) -> Result<Self, RigError> {
        let endpoint = WebSocketEndpoint::bind(address, Some(token)).await?;
        Ok(Self::WebSocket(endpoint))
    }

    /// Listens for MQTT devices.
    ///
    /// # Errors
    /// As [`websocket`](Self::websocket).
    pub async fn mqtt(address: SocketAddr, terms: MqttTerms) -> Result<Self, RigError> {
        MqttEndpoint::bind(address, terms).await.map(Self::Mqtt)
    }

    /// Reaches devices through an ordinary broker.
    ///
    /// # Errors
    /// The broker does not answer.
    pub async fn broker(broker: Broker) -> Result<Self, RigError> {
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
    pub async fn accept(&mut self) -> Knock {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().accept().await,
            Self::Mqtt(endpoint) => endpoint.acceptor().accept().await,
            Self::Broker(endpoint) => endpoint.accept().await,
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

    /// The connections refused since the last call: who it was, and why.
    pub fn take_refused(&mut self) -> Vec<String> {
        match self {
            Self::WebSocket(endpoint) => endpoint.acceptor().take_refused(),
            Self::Mqtt(endpoint) => endpoint.acceptor().take_refused(),
            Self::Broker(endpoint) => endpoint.take_refused(),
        }
    }
}
