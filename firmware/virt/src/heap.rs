//! The memory of the image: as much as a chip has, though the board has more.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use embedded_alloc::{LlffHeap, TlsfHeap};

/// What the image for an ESP32-C3 gives to the device and its network.
const CHIP: usize = 180 << 10;

/// What the network card takes beside that: 32 KiB for 16 frames that come, 16 KiB for two queues in pages of
/// their own, and frames on their way out. On a chip such buffers are no part of this heap.
const CARD: usize = 52 << 10;

unsafe extern "C" {
    static mut _heap_begin: u8;
    static _heap_length: u8;
    static mut _spare_begin: u8;
    static _spare_length: u8;
}

/// The allocator: memory of the size of a chip's, given out as `esp-alloc` does it on a chip (the first hole
/// that fits); for a device with a defect also the rest of the board's.
pub(crate) struct Heap {
    chip: LlffHeap,
    spare: TlsfHeap,
    has_spare: AtomicBool,
    /// The most bytes that ever were in use.
    most: AtomicUsize,
}

impl Heap {
    pub(crate) const fn empty() -> Self {
        Heap {
            chip: LlffHeap::empty(),
            spare: TlsfHeap::empty(),
            has_spare: AtomicBool::new(false),
            most: AtomicUsize::new(0),
        }
    }

    /// To be called once, before anything is allocated.
    pub(crate) fn init(&self) {
        assert!(addr_of!(_heap_length) as usize >= CHIP + CARD);
        // SAFETY: `memory.x` gives the symbol; nothing else uses that memory, and this is done once.
        unsafe { self.chip.init(addr_of_mut!(_heap_begin) as usize, CHIP + CARD) };
    }

    /// From now on there is memory without end. Defects and variations are layers that no real device has:
    /// they keep messages as trees of values, several times, and what they take is not the device's.
    pub(crate) fn open_spare(&self) {
        if !self.has_spare.swap(true, Ordering::Relaxed) {
            // SAFETY: as above.
            unsafe {
                self.spare
                    .init(addr_of_mut!(_spare_begin) as usize, addr_of!(_spare_length) as usize);
            }
        }
    }

    /// Bytes that are free, and the fewest that ever were; `None` where there is memory without end.
    pub(crate) fn left(&self) -> Option<(usize, usize)> {
        let most = self.most.load(Ordering::Relaxed);
        (!self.has_spare.load(Ordering::Relaxed)).then(|| (self.chip.free(), CHIP + CARD - most))
    }

    fn is_in_spare(address: *mut u8) -> bool {
        address.addr() >= addr_of!(_spare_begin) as usize
    }
}

// SAFETY: both parts are allocators, and a block goes back to the one that it came from.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.has_spare.load(Ordering::Relaxed) {
            // SAFETY: the caller keeps the contract.
            return unsafe { self.spare.alloc(layout) };
        }
        // SAFETY: the caller keeps the contract.
        let block = unsafe { self.chip.alloc(layout) };
        if !block.is_null() {
            self.most.fetch_max(self.chip.used(), Ordering::Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if Heap::is_in_spare(block) {
            // SAFETY: it lies in the memory of this part.
            return unsafe { self.spare.dealloc(block, layout) };
        }
        // SAFETY: it lies in the memory of this part.
        unsafe { self.chip.dealloc(block, layout) };
    }
}
