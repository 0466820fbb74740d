//! The reference device as an image for chips of the ESP32 family: the same device as on the host, with
//! Wi-Fi (feature `wifi`), or in Espressif's emulator with the Ethernet card there (feature `qemu`).
//!
//! What it is to be comes from the NVS partition, where stock firmware has its settings, and from one
//! line on the console right after the boot: `config {...}`; see [`Config`].
#![no_std]
#![no_main]

extern crate alloc;

mod board;
mod console;
mod image;
mod stack;
mod stored;

#[cfg_attr(feature = "wifi", path = "wifi.rs")]
#[cfg_attr(not(feature = "wifi"), path = "ethernet.rs")]
mod network;

#[cfg(any(all(feature = "wifi", feature = "qemu"), not(any(feature = "wifi", feature = "qemu"))))]
compile_error!("an image has one network: expected just one of the features `wifi` and `qemu`");

use alloc::{format, vec};
use core::panic::PanicInfo;

use esp_hal::main;
use esp_hal::time::Duration;
use esp_println::println;
use reference_body::{Body, Config};
use reference_device::Identity;
use reference_net::Networked;
use reference_nvs::Network;

use crate::board::Board;

/// How long a chip that knows where to dial waits for a line that may say something else.
const SECOND_THOUGHTS: Duration = Duration::from_millis(1_000);

#[main]
fn main() -> ! {
    let hal = esp_hal::Config::default().with_cpu_clock(esp_hal::clock::CpuClock::max());
    let chip = esp_hal::init(hal);
    stack::paint();
    network::prepare();
    println!("mcp-hil-{} {}", image::NAME, image::VERSION);

    let nvs = stored::read(chip.FLASH);
    let mac = board::mac();
    let [a, b, c, d, e, f] = mac;
    let mut config = Config::new(Identity {
        version: image::VERSION.into(),
        mac: format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
        client_id: format!("6d63702d-6869-4c00-8000-{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{f:02x}"),
        ..Identity::default()
    });
    reference_nvs::apply(&nvs, &mut config.identity);
    println!("Waiting for a line `config {{...}}`");
    loop {
        let patience = config.is_sufficient().then_some(SECOND_THOUGHTS);
        let Some(line) = console::read_line(patience) else {
            break;
        };
        match config.read(&line) {
            Ok(()) if config.is_sufficient() => break,
            Ok(()) => println!("E (0) config: expected `ota_url` or `url`"),
            Err(message) => {
                println!("E (0) config: {message}");
                // Other noise on a serial line is passed over; half of a line must not hold.
                if line.starts_with("config ") {
                    board::restart();
                }
            }
        }
    }

    let networks = match config.wifi {
        Some((ssid, password)) => vec![Network { ssid, password }],
        None => reference_nvs::networks(&nvs),
    };
    let parts = network::Parts {
        #[cfg(feature = "wifi")]
        timers: chip.TIMG0,
        #[cfg(feature = "wifi")]
        interrupt: chip.FROM_CPU_INTR0,
        #[cfg(feature = "wifi")]
        radio: chip.WIFI,
    };
    let (card, link) = match network::start(parts, networks, mac) {
        Ok(started) => started,
        Err(message) => {
            println!("E (0) wifi: {message}");
            board::restart();
        }
    };
    let mut network = Networked::new(card, Board::new(link), mac);
    network.bring_up();
    let mut body = Body::new(network, config.identity, config.defect, config.delay_ms);
    body.run();
    board::restart()
}

/// A mistake in this image, which is none of the device's defects.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("Guru Meditation Error: {info}");
    board::restart()
}
