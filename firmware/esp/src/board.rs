//! The chip under the network: clock, random numbers, console, reset.

use esp_hal::efuse::{self, InterfaceMacAddress};
use esp_hal::rng::Rng;
use esp_hal::time::{Duration, Instant};
use esp_println::println;
use reference_device::Memory;
use reference_net::Machine;

use crate::network::Link;
use crate::stack;

/// How long the last words on the console may take before a reset.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// The address of a chip without one, as emulated ones are.
const MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x4d, 0x43, 0x50];

/// The chip, and what keeps its network up.
pub(crate) struct Board(Link);

impl Board {
    pub(crate) fn new(link: Link) -> Self {
        Board(link)
    }
}

impl Machine for Board {
    // Every chip has one, and Espressif's emulator runs a copy.
    const HAS_ROM: bool = true;

    fn now_ms(&mut self) -> u64 {
        Instant::now().duration_since_epoch().as_millis()
    }

    fn seed(&mut self) -> u64 {
        let rng = Rng::new();
        let ticks = Instant::now().duration_since_epoch().as_micros();
        (u64::from(rng.random()) << 32 | u64::from(rng.random())) ^ ticks
    }

    fn idle(&mut self, ms: u64) {
        self.0.idle(ms);
    }

    fn memory(&mut self) -> Option<Memory> {
        let stats = esp_alloc::HEAP.stats();
        Some(Memory {
            free: stats.size.saturating_sub(stats.current_usage),
            lowest: stats.size.saturating_sub(stats.max_usage),
            stack: Some(stack::unused()),
        })
    }

    fn print(&mut self, line: &str) {
        println!("{line}");
    }

    /// Switched off is a chip that does nothing any more and cannot be reached.
    fn end(&mut self, _: u8) -> ! {
        self.0.off();
        loop {
            core::hint::spin_loop();
        }
    }
}

/// The address of the chip's network, which is also the device's `Device-Id`.
pub(crate) fn mac() -> [u8; 6] {
    let address = efuse::interface_mac_address(InterfaceMacAddress::Station);
    match address.as_bytes().try_into() {
        Ok(mac) if mac != [0; 6] => mac,
        _ => MAC,
    }
}

/// Starts the chip anew, once what was printed is out.
pub(crate) fn restart() -> ! {
    let begin = Instant::now();
    while begin.elapsed() < LAST_WORDS {
        core::hint::spin_loop();
    }
    esp_hal::system::software_reset()
}
