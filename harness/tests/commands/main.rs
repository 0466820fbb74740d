//! What the program does beside a run of one device: files that it writes and reads, other commands, CI.

#![cfg(not(feature = "hil"))]

mod doctor;
mod gateway_program;
mod init;
mod labgrid;
mod merge;
mod mistakes;
#[path = "../../boards/tests/mock/mod.rs"]
mod mock;
mod outputs;
mod own_crate;
mod program;
mod release;
mod review;
mod reviewed;
mod self_test;
mod setup;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../boards/tests/usb/mod.rs"]
mod usb;
mod workflows;

use support::missing;
