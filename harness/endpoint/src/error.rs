//! Trouble of the bench: never the fault of the device.

use std::{io, net::SocketAddr};

/// Why devices cannot be listened for.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address to listen on is not to be had.
    #[error(
        "cannot listen on `{address}`: expected a free port on an address of this machine, got: \
         {reason}"
    )]
    Listen {
        /// Where the harness was to listen.
        address: SocketAddr,
        /// What the system said.
        reason: io::Error,
    },
    /// The ordinary broker does not do its part.
    #[error(
        "cannot reach devices through the MQTT broker `{address}`: expected CONNACK, got: {what}"
    )]
    Broker {
        /// The broker's address.
        address: String,
        /// What came instead.
        what: String,
    },
}
