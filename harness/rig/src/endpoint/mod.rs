//! Where the harness listens: the device dials out, so the address exists before it boots.

pub mod websocket;
