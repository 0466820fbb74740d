//! How much of the stack was ever used: it is painted at the start, and where the paint is gone it was.
//! Each image includes this file beside the function `bottom`, which says where its stack ends.

use core::ptr::{self, addr_of};

use super::bottom;

/// What unused words hold.
const PAINT: usize = 0xdead_57ac;

/// Bytes below a variable of `paint` that are left alone: what it calls lies there.
const MARGIN: usize = 1 << 10;

unsafe extern "C" {
    static _stack_start: u8;
}

/// Paints what is not in use. To be called early.
pub(crate) fn paint() {
    let here = 0_usize;
    let top = addr_of!(here).addr() - MARGIN;
    for address in (bottom()..top).step_by(size_of::<usize>()) {
        // SAFETY: memory of the stack below everything that is in use.
        unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(address), PAINT) };
    }
}

/// Bytes at the end of the stack that were never used.
pub(crate) fn unused() -> usize {
    let words = (bottom()..addr_of!(_stack_start) as usize).step_by(size_of::<usize>());
    // SAFETY: memory of the stack, which is always there.
    let is_painted = |address: &usize| unsafe {
        ptr::read_volatile(ptr::with_exposed_provenance::<usize>(*address)) == PAINT
    };
    words.take_while(is_painted).count() * size_of::<usize>()
}
