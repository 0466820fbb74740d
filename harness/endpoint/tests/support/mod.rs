//! What the tests of the endpoints and of their links share.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::time::Duration;

use mcp_hil_core::wire::Frame;
use mcp_hil_endpoint::{Accepted, Endpoint, Incoming, Link, LinkLost};
use tokio::time::timeout;

/// Tests fail by this, and never hang.
pub(crate) const LATEST: Duration = Duration::from_secs(20);

pub(crate) async fn endpoint() -> Endpoint {
    Endpoint::websocket("127.0.0.1:0".parse().unwrap()).await.unwrap()
}

pub(crate) async fn accept(endpoint: &mut Endpoint) -> Link {
    match timeout(LATEST, endpoint.accept()).await.expect("a link") {
        Accepted::Link(link) => *link,
        Accepted::Refused { why, .. } => panic!("refused: {why}"),
    }
}

pub(crate) async fn recv(link: &mut Link) -> Result<Frame, LinkLost> {
    match timeout(LATEST, link.recv()).await.expect("an end")? {
        Incoming::Frame(frame) => Ok(frame),
        Incoming::Note(note) => panic!("no message: {note:?}"),
    }
}
