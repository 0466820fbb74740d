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
mod heap;
mod image;
mod stack;

use core::panic::PanicInfo;

use reference_body::{Body, Config};
use reference_device::Identity;
use reference_net::Networked;
use riscv_rt::entry;

use crate::board::Board;
use crate::card::Card;
use crate::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap::empty();

/// Exit codes of the emulator.
const EXIT_NO_SERVER: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_PANIC: u8 = 3;

#[entry]
fn main() -> ! {
    stack::paint();
    HEAP.init();
    let mut board = Board::new();
    board.print_args(format_args!("mcp-hil-virt {}", image::VERSION));
    board.print_args(format_args!("Waiting for a line `config {{...}}`"));
    let line = board.read_line();
    let mut config =
        Config::new(Identity { version: image::VERSION.into(), ..Identity::default() });
    if let Err(message) = config.read(&line) {
        board.print_args(format_args!("E (0) config: {message}"));
        board.finish(EXIT_USAGE);
    }
    if config.defect.is_some() {
        HEAP.open_spare();
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
