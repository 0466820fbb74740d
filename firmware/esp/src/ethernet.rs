//! The network in Espressif's emulator: the OpenCores Ethernet card that it puts beside the chip.
//!
//! Nothing here uses interrupts: they are not reliable there.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ptr;

use esp_hal::time::{Duration, Instant};
use reference_net::open_eth::{BUFFER, BUFFERS, Card, OpenEth};
use reference_nvs::Network;

/// Where the emulator puts the card (`hw/riscv/esp32c3.c`, `hw/xtensa/esp32.c` of its source).
#[cfg(not(feature = "esp32"))]
const CARD: usize = 0x600c_d000;
#[cfg(feature = "esp32")]
const CARD: usize = 0x3ff6_9000;

/// The heap. On QEMU's board, which has the same, some 120 KiB of it are in use at the most: 64 KiB for the
/// largest message, and the rest for tools, sockets and answers. It is also about what the image with a
/// radio has left, so that both fail alike; and of the 313 KiB of an ESP32-C3 some 100 stay for the stack, of
/// which a device without a defect uses 14, for it reads JSON without recursion.
const MEMORY_SIZE: usize = 180 << 10;

/// The longest time between two looks at the card, in milliseconds.
const LOOK_MS: u64 = 1;

/// What the network takes of the chip.
pub(crate) struct Parts {}

/// What keeps the network up: nothing.
pub(crate) struct Link(());

/// Memory, and a clock that runs.
pub(crate) fn prepare() {
    #[cfg(feature = "esp32c3")]
    {
        // After a reset the emulated system timer stands still; on silicon it runs.
        const SYSTEM_TIMER: usize = 0x6002_3000;
        const CLOCK_AND_UNIT_0: u32 = 1 << 31 | 1 << 30;
        write(SYSTEM_TIMER, read(SYSTEM_TIMER) | CLOCK_AND_UNIT_0);
    }
    esp_alloc::heap_allocator!(size: MEMORY_SIZE);
}

/// Starts the card.
pub(crate) fn start(
    Parts {}: Parts,
    _networks: Vec<Network>,
    mac: [u8; 6],
) -> Result<(OpenEth<Ethernet>, Link), String> {
    Ok((OpenEth::new(Ethernet(()), mac), Link(())))
}

impl Link {
    /// Nobody looks at the card any more, which is all it takes.
    pub(crate) fn off(&mut self) {}

    /// Waits a moment: the card tells nobody that something came.
    pub(crate) fn idle(&mut self, ms: u64) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(ms.min(LOOK_MS)) {
            core::hint::spin_loop();
        }
    }
}

/// The card. There is one.
pub(crate) struct Ethernet(());

/// The memory that the card reads and writes.
struct Buffers(UnsafeCell<[[u8; BUFFER]; BUFFERS]>);

// SAFETY: only the one `Ethernet` touches it, and the card when its descriptors say so.
unsafe impl Sync for Buffers {}

static MEMORY: Buffers = Buffers(UnsafeCell::new([[0; BUFFER]; BUFFERS]));

impl Ethernet {
    fn buffer(&self, buffer: usize) -> *mut u8 {
        assert!(buffer < BUFFERS, "the card has {BUFFERS} buffers");
        MEMORY.0.get().cast::<u8>().wrapping_add(buffer * BUFFER)
    }
}

impl Card for Ethernet {
    fn read(&mut self, offset: usize) -> u32 {
        read(CARD + offset)
    }

    fn write(&mut self, offset: usize, value: u32) {
        write(CARD + offset, value);
    }

    fn address(&self, buffer: usize) -> u32 {
        self.buffer(buffer).expose_provenance() as u32
    }

    fn load(&mut self, buffer: usize, frame: &mut [u8]) {
        assert!(frame.len() <= BUFFER, "a frame fits its buffer");
        // SAFETY: the buffer is that long, and the card has let go of it.
        unsafe { ptr::copy_nonoverlapping(self.buffer(buffer), frame.as_mut_ptr(), frame.len()) };
    }

    fn store(&mut self, buffer: usize, frame: &[u8]) {
        assert!(frame.len() <= BUFFER, "a frame fits its buffer");
        // SAFETY: the buffer is that long, and the card has let go of it.
        unsafe { ptr::copy_nonoverlapping(frame.as_ptr(), self.buffer(buffer), frame.len()) };
    }
}

fn read(address: usize) -> u32 {
    // SAFETY: only called with addresses of registers, aligned and harmless to read.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance(address)) }
}

fn write(address: usize, value: u32) {
    // SAFETY: as for `read`; of what they say to the card, only `address` reaches memory, and that is
    // `MEMORY`, whose address was exposed.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(address), value) }
}
