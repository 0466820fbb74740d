//! The network of a chip that runs the reference device.
//!
//! Where there is no operating system, this is what stands between [`reference_body::Body`] and a
//! network card: [`smoltcp`] for TCP/IP, and on it the protocols that the device speaks. The chip
//! brings a [`Machine`] and a [`smoltcp::phy::Device`]; [`Networked`] makes a
//! [`reference_body::Platform`] of both. The protocols know no sockets, and are tested on the host.
//! So is [`open_eth`], the network card of Espressif's emulator.
#![no_std]

extern crate alloc;

mod http;
mod link;
mod mqtt;
mod networked;
pub mod open_eth;
mod stack;
mod url;
mod websocket;

pub use networked::Networked;
pub use stack::Machine;
