//! Where the stack of this image ends.

use core::ptr::addr_of;

#[path = "../../stack.rs"]
mod shared;

pub(crate) use shared::{paint, unused};

unsafe extern "C" {
    static _stack_start: u8;
    static _hart_stack_size: u8;
}

/// The lowest address of the stack.
fn bottom() -> usize {
    addr_of!(_stack_start) as usize - addr_of!(_hart_stack_size) as usize
}
