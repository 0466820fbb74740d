//! Who connects to an endpoint.

use std::net::SocketAddr;

use crate::link::Link;

/// Who accepted at an endpoint.
#[derive(Debug)]
pub enum Accepted {
    /// A device; its handshake is complete.
    Link(Box<Link>),
    /// A device that was turned away for its token, or its user name or password.
    Refused {
        /// What it presented, in words; never the token or password.
        why: String,
        /// From where it came.
        peer: SocketAddr,
    },
}
