//! Who connects to an endpoint.

use std::net::SocketAddr;

use mcp_hil_core::transcript::Fault;

use crate::link::Link;

/// Who accepted at an endpoint.
#[derive(Debug)]
pub enum Accepted {
    /// A device; its handshake is complete.
    Link(Box<Link>),
    /// A device that was turned away.
    Refused {
        /// What it presented, in words; never the token or password.
        why: String,
        /// For what.
        fault: Fault,
        /// From where it came.
        peer: SocketAddr,
    },
}
