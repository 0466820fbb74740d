//! What devices dial: endpoints, and the links that come of them.
//!
//! Nothing here judges. A device's misdeed comes out as data (a [`Frame`](mcp_hil_core::wire::Frame), a
//! [`LinkLost`]); an `Err(`[`EndpointError`]`)` is trouble of the bench. Time stamps are the caller's.
//!
//! * [`Endpoint`]: where the harness listens for devices, over WebSocket or MQTT;
//! * [`Link`]: one live connection;
//! * [`HttpServer`]: configuration, and pictures;
//! * [`AudioSink`]: audio over UDP.

mod accepted;
mod acceptor;
mod address;
mod audio;
mod broker;
mod endpoint;
mod error;
mod guard;
mod headers;
mod http;
mod link;
mod mqtt;
mod serving;
mod tls;
mod unfinished;
mod websocket;

pub use accepted::Accepted;
pub use acceptor::{HANDSHAKE_DEADLINE, MAX_HANDSHAKES, MAX_WAITING};
pub use address::{Interface, Networks, dialable, networks};
pub use audio::AudioSink;
pub use broker::{Broker, BrokerEndpoint};
pub use endpoint::Endpoint;
pub use error::EndpointError;
pub use guard::Told;
pub use http::{Configuration, HttpServer, ServerTime};
pub use link::{Handshake, Incoming, Link, LinkLost, Masks, SEND_DEADLINE};
pub use mqtt::{MqttEndpoint, MqttTerms};
pub use websocket::WebSocketEndpoint;
