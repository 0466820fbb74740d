//! What `mcp-hil` touches: programs and boards, ports, connections and consoles.
//!
//! Nothing here judges. A device's misdeed comes out as data (a [`Frame`](mcp_hil_core::wire::Frame),
//! a [`LinkLost`], a [`TargetOutput`]); an `Err(`[`RigError`]`)` is trouble of the bench. Time
//! stamps are the caller's.
//!
//! * [`target`]: how the device under test is run;
//! * [`endpoint`]: where the harness listens;
//! * [`link`]: one live connection;
//! * [`board`]: which boards are attached, who uses them, and the bridge to them;
//! * [`flash`]: what goes into the flash memory of a chip.

pub mod board;
pub mod endpoint;
mod error;
pub mod flash;
pub mod link;
#[cfg(feature = "jtag")]
pub mod probe;
pub mod target;

pub use endpoint::audio::AudioSink;
pub use endpoint::broker::Broker;
pub use endpoint::http::{Configuration, HttpServer, ServerTime};
pub use endpoint::mqtt::MqttTerms;
pub use endpoint::{Endpoint, Knock};
pub use error::RigError;
pub use link::{Handshake, Incoming, Link, LinkLost};
pub use target::{
    Board, BoardSetup, CONSOLE_PORT, Command, LONGEST_INPUT, Process, Target, TargetOutput, Trigger,
};
