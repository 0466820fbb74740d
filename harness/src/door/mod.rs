//! Own cases in Rust: a test starts a device, converses with it, and says what it expects.
//!
//! ```no_run
//! use mcp_hil::door::{Device, device};
//! use rstest::rstest;
//! use serde_json::json;
//!
//! #[rstest]
//! fn the_volume_is_kept(mut device: Device) {
//!     device
//!         .call("self.audio_speaker.set_volume", json!({"volume": 40}))
//!         .expect_result();
//!     let status = device.call("self.get_device_status", json!({}));
//!     assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
//!     device.snapshot("status", &status);
//! }
//! ```
//!
//! The device is the one that MCP_HIL_DUT names, in the words of `mcp-hil run --dut`. Everything that was
//! said is judged by the checks of a run, also what the test does not look at: when the [`Device`] goes
//! away, the test fails with what was found. [`Device::finish`] gives that as a value.
//!
//! Calls wait: no test has to know of threads or runtimes. The transcript, the console and the reports are
//! in the folder of a run, below `target/mcp-hil` or MCP_HIL_OUT.

mod answer;
mod broken;
mod handle;
mod setup;
mod snapshot;

pub use answer::{Answer, Got, Unexpected};
pub use broken::Broken;
pub use handle::{Device, Done};
pub use setup::{Setup, StartError};
pub use snapshot::{Outcome, SnapshotError};

use rstest::fixture;

/// The device that MCP_HIL_DUT names, else the one that is at hand, for tests of `rstest`.
///
/// # Panics
///
/// It cannot be started.
#[fixture]
pub fn device() -> Device {
    Device::setup()
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
}
