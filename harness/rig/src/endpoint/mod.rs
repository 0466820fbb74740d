//! Where the harness listens: the device dials out, so the address exists before it boots.

mod address;
pub mod audio;
mod headers;
pub mod http;
pub mod websocket;
