//! Trouble of the bench: never the fault of the device.

use std::{io, net::SocketAddr};

use crate::board::port::Trouble;

/// Why the rig could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// The address to listen on is not to be had.
    #[error(
        "cannot listen on `{address}`: expected a free port on an address of this machine, \
         got: {reason}\n\nhint: {}",
        listen_hint(reason)
    )]
    Listen {
        /// Where the harness was to listen.
        address: SocketAddr,
        /// What the system said.
        reason: io::Error,
    },
    /// The program that is the device does not start.
    #[error(
        "cannot start the device `{command}`: expected a program that runs, got: {reason}\
         \n\nhint: {}",
        start_hint(reason)
    )]
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        reason: io::Error,
    },
    /// The ordinary broker does not do its part.
    #[error(
        "cannot reach devices through the MQTT broker `{address}`: expected CONNACK, got: {what}\
         \n\nhint: check `--mqtt-broker`, that the broker runs, and what it asks for; leave the \
         option out, and the harness is the broker itself"
    )]
    Broker {
        /// The broker's address.
        address: String,
        /// What came instead.
        what: String,
    },
    /// A board, or its port, is not to be had.
    #[error(transparent)]
    Board(#[from] Trouble),
    /// A restart was wanted of a device that the harness did not start.
    #[error(
        "cannot restart the device: expected one that the harness started, got one that \
         somebody else starts\n\nhint: restart it by hand, or let the harness start it with \
         `--dut exec:'<command>'`"
    )]
    NotOurs,
}

fn listen_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there, perhaps another run; stop it, or choose another \
             port with `--listen` (port 0 takes any free one)"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need special rights; choose a higher one with `--listen`"
        }
        io::ErrorKind::AddrNotAvailable => {
            "no network interface of this machine has that address; `0.0.0.0` takes them all"
        }
        _ => "choose another address with `--listen`",
    }
}

fn start_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => {
            "check the path; a name without `/` is looked for in the folders of PATH"
        }
        io::ErrorKind::PermissionDenied => {
            "it must be a file that may be executed (`chmod +x`), on a file system that allows it"
        }
        io::ErrorKind::ArgumentListTooLong => "shorten the command line or the environment",
        _ => "run the command by hand, and see whether it starts",
    }
}
