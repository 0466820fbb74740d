//! The settings that a chip keeps, in the non-volatile storage and under the names of stock firmware.
//!
//! [`Nvs`] reads a partition page by page, as ESP-IDF's `components/nvs_flash` writes it, and never
//! writes: what the device changes while it is tested is gone with the next boot.
#![no_std]

extern crate alloc;

mod nvs;
mod settings;

pub use nvs::{Nvs, PAGE};
pub use settings::{Network, apply, networks};
