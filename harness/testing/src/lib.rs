//! Own cases in Rust: a test starts a device, converses with it, and says what it expects.
//!
//! ```no_run
//! use mcp_hil_testing::{Device, device};
//! use rstest::rstest;
//! use serde_json::json;
//!
//! #[rstest]
//! fn the_volume_is_kept(mut device: Device) {
//!     device.call("self.audio_speaker.set_volume", json!({"volume": 40})).expect_result();
//!     let status = device.call("self.get_device_status", json!({}));
//!     assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
//!     device.snapshot("status", &status);
//! }
//! ```
//!
//! The device is the one that MCP_HIL_DUT names, in the words of `mcp-hil run --dut`; without it a board that
//! has a file in `ci/duts`, below the folder of the package, and where there is none, what is at hand. A board
//! that is not attached is an error, unless [`Setup::fallback`] or its file lets another device stand in.
//! Everything that was
//! said is judged by the checks of a run, also what the test does not look at: when the [`Device`] goes
//! away, the test fails with what was found. [`Device::finish`] gives that as a value.
//!
//! Calls wait: no test has to know of threads or runtimes. However long a test takes between two calls, the
//! device is served meanwhile: its pings are answered, its console is read. The transcript, the console and the
//! reports are in the folder of a run, below `target/mcp-hil` or MCP_HIL_OUT.
//!
//! A test has the bench in its hands, too:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use mcp_hil_testing::Device;
//!
//! let mut device = Device::setup().dut("ci/duts/desk.toml").start().unwrap();
//! device.reset().unwrap();
//! let boot = device
//!     .console()
//!     .expect(r"rst:0x\w+ \((?<cause>\w+)\)", Duration::from_secs(5));
//! assert_eq!(boot.named("cause"), "POWERON");
//! device.disconnect().unwrap();
//! device.request("ping", None).expect_result();
//! ```
//!
//! Tests that want one board wait for each other, whether they are threads of one program or programs of their
//! own, as with `cargo nextest`. The serial port of a board is touched by a process of `mcp-hil` alone. It is the
//! program that MCP_HIL names, or one that lies beside the test program or on PATH; where there is none of the
//! same edition, cargo builds it once, from the source of this library, which takes minutes.

mod answer;
mod broken;
mod console;
mod error;
mod handle;
pub mod hil;
mod queue;
mod setup;
mod snapshot;
mod undone;

pub use answer::{Answer, Got, Unexpected};
pub use broken::Broken;
pub use console::{Console, Matched, NotSeen};
pub use error::StartError;
pub use handle::{Device, Done};
pub use setup::Setup;
pub use snapshot::{Outcome, SnapshotError};
pub use undone::ControlError;

/// The device that MCP_HIL_DUT names, else the one that is at hand, for tests of `rstest`.
///
/// # Panics
///
/// It cannot be started.
#[track_caller]
pub fn device() -> Device {
    match Device::setup().start() {
        Ok(device) => device,
        Err(error) => panic!("{error}"),
    }
}

/// The fixture of that name. `rstest` finds fixtures as types with these functions; its own macro would write
/// them so that a panic points here, and not at the test.
#[doc(hidden)]
#[expect(non_camel_case_types, reason = "the fixture has the name of the function")]
#[derive(Debug)]
pub struct device {}

impl device {
    #[doc(hidden)]
    #[track_caller]
    pub fn get() -> Device {
        device()
    }

    #[doc(hidden)]
    #[expect(
        clippy::should_implement_trait,
        reason = "`rstest` requires this name, and the function returns another type"
    )]
    #[track_caller]
    pub fn default() -> Device {
        device()
    }
}
