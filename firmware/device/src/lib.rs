//! The reference device: a xiaozhi-family MCP server that keeps every promise of the documents.
//!
//! It is a state machine without input and output of its own: a *body* (a process on the host, an
//! image for a chip) feeds it text frames and the time, and drains [`Output`]s: frames to send,
//! requests to make, console lines to print, a restart to perform. It needs `alloc` and nothing else, so that the
//! same code answers on a desk and on a board.
//!
//! ```
//! use reference_device::{Device, Identity, Output};
//!
//! let mut device = Device::new(Identity::default());
//! device.boot(0);
//! device.connected(10);
//! device.on_text(r#"{"type":"hello","transport":"websocket","session_id":"s1"}"#, 20);
//! device.on_text(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#, 30);
//! let mut last = String::new();
//! while let Some(output) = device.next_output() {
//!     if let Output::Text(text) = output {
//!         last = text;
//!     }
//! }
//! assert_eq!(last, r#"{"session_id":"s1","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":{}}}"#);
//! ```
#![no_std]

extern crate alloc;

mod arguments;
mod board;
mod bootstrap;
mod channel;
mod console;
mod device;
mod effects;
mod http;
mod identity;
mod json;
mod limits;
mod mcp;
mod memory;
mod property;
mod registry;
mod rpc;
mod state;
mod tools;
mod vision;

pub use arguments::{ArgumentError, Arguments};
pub use board::{Board, Light, Motion, Screen, Speaker};
pub use console::Level;
pub use device::{Device, Output};
pub use effects::Effects;
pub use http::{HttpOutcome, HttpRequest, HttpResponse, Purpose};
pub use identity::{Identity, MqttSettings, Transport};
pub use limits::LARGEST_MESSAGE;
pub use mcp::Vision;
pub use memory::Memory;
pub use property::{Property, Range, Value};
pub use registry::{Handler, RegisterError, Registry, Tool, ToolFailure};
pub use rpc::{Id, RpcError};
pub use state::State;
