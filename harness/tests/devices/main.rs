//! What is judged, and how it is reached: boards, emulators, programs, and devices that behave badly.

#![cfg(not(feature = "hil"))]

mod absent;
mod auto;
mod bench;
mod board;
mod board_flash;
mod bodies;
mod duts;
mod emulators;
mod firmware;
mod flash;
mod host;
mod hostile;
mod hostile_mqtt;
#[path = "../../boards/tests/mock/mod.rs"]
mod mock;
mod native;
#[path = "../../boards/tests/program/mod.rs"]
mod program;
mod qemu;
mod rack;
mod reach;
mod serve;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../boards/tests/usb/mod.rs"]
mod usb;

use support::missing;
