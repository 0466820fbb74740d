//! The reference device as an image for QEMU's RISC-V board `virt`: the same device as on the host,
//! on a bare machine with a network card, a console and a timer.
//!
//! What it is to be comes as one line on the console right after the boot: `config {...}`; see
//! [`Config`].
#![no_std]
#![no_main]

extern crate alloc;

mod board;
mod card;
mod image;

use core::panic::PanicInfo;
use core::ptr::addr_of_mut;

use embedded_alloc::TlsfHeap;
use reference_body::{Body, Config};
use reference_device::Identity;
use reference_net::Networked;
use riscv_rt::entry;

use crate::board::Board;
use crate::card::Card;

#[global_allocator]
static HEAP: TlsfHeap = TlsfHeap::empty();

/// Exit codes of the emulator.
const EXIT_NO_SERVER: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_PANIC: u8 = 3;

unsafe extern "C" {
    static mut _heap_begin: u8;
    static mut _heap_length: u8;
}

#[entry]
fn main() -> ! {
    // SAFETY: `memory.x` gives both symbols; nothing else uses that memory, and this is done once.
    unsafe {
        HEAP.init(
            addr_of_mut!(_heap_begin) as usize,
            addr_of_mut!(_heap_length) as usize,
        );
    }
    let mut board = Board::new();
    board.print_args(format_args!("mcp-hil-virt {}", image::VERSION));
    board.print_args(format_args!("Waiting for a line `config {{...}}`"));
    let line = board.read_line();
    let mut config = Config::new(Identity {
        version: image::VERSION.into(),
        ..Identity::default()
    });
    if let Err(message) = config.read(&line) {
        board.print_args(format_args!("E (0) config: {message}"));
        board.finish(EXIT_USAGE);
    }
    let mac = image::MAC;
    let Some(card) = Card::find() else {
        board.print_args(format_args!("E (0) virtio: no network card"));
        board.finish(EXIT_USAGE);
    };
    let mut network = Networked::new(card, board, mac);
    network.bring_up();
    let mut body = Body::new(network, config.identity, config.defect, config.delay_ms);
    body.run();
    Board::new().finish(EXIT_NO_SERVER)
}

/// A mistake in this image, which is none of the device's defects.
#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let mut board = Board::new();
    board.print_args(format_args!("Guru Meditation Error: {info}"));
    board.finish(EXIT_PANIC)
}
