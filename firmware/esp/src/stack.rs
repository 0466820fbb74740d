//! Where the stack of this image ends.

use core::ptr::addr_of;

#[path = "../../stack.rs"]
mod shared;

pub(crate) use shared::{paint, unused};

unsafe extern "C" {
    static __stack_chk_guard: u32;
}

/// The lowest address of the stack above the word with which `esp-hal` guards its end.
fn bottom() -> usize {
    addr_of!(__stack_chk_guard) as usize + size_of::<u32>()
}
