//! The parts of the board `virt` that the device uses, at the addresses of QEMU's `hw/riscv/virt.c`:
//! UART, timer, interrupt controller, clock and test finisher.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::ptr;

use reference_device::Memory;
use reference_net::Machine;
use riscv::register::mie;

use crate::{HEAP, stack};

const FINISHER: usize = 0x0010_0000;
const REAL_TIME_CLOCK: usize = 0x0010_1000;
const TIMER_COMPARE: usize = 0x0200_4000;
const TIMER: usize = 0x0200_bff8;
const INTERRUPTS: usize = 0x0c00_0000;
const INTERRUPTS_ENABLE: usize = INTERRUPTS + 0x2000;
const INTERRUPTS_CLAIM: usize = INTERRUPTS + 0x20_0004;
const UART: usize = 0x1000_0000;
const UART_LINE_STATUS: usize = UART + 5;

/// Ticks of the timer in a millisecond.
const TICKS_PER_MS: u64 = 10_000;
/// The interrupts of the eight places for virtio cards.
const CARD_INTERRUPTS: core::ops::RangeInclusive<usize> = 1..=8;
/// Longest line that is read, in bytes.
const LONGEST_LINE: usize = 64 << 10;

const DATA_READY: u8 = 0x01;
const CAN_TRANSMIT: u8 = 0x20;

/// Ends the emulator with code 0, or with the code in the upper half.
const FINISH_PASS: u32 = 0x5555;
const FINISH_FAIL: u32 = 0x3333;

/// The board. There is one, and it has no state of its own.
#[derive(Debug)]
pub(crate) struct Board(());

impl Board {
    pub(crate) fn new() -> Self {
        for interrupt in CARD_INTERRUPTS {
            write(INTERRUPTS + 4 * interrupt, 1_u32);
        }
        let enabled = CARD_INTERRUPTS.fold(0_u32, |bits, interrupt| bits | 1 << interrupt);
        write(INTERRUPTS_ENABLE, enabled);
        // SAFETY: interrupts are never taken, as `mstatus.mie` stays off; these only end a `wfi`.
        unsafe {
            mie::set_mtimer();
            mie::set_mext();
        }
        Board(())
    }

    /// The next line of the console. What goes beyond the longest is cut off.
    pub(crate) fn read_line(&mut self) -> String {
        let mut line = Vec::new();
        loop {
            while read::<u8>(UART_LINE_STATUS) & DATA_READY == 0 {
                core::hint::spin_loop();
            }
            match read::<u8>(UART) {
                b'\n' => return String::from_utf8_lossy(&line).trim().into(),
                byte if line.len() < LONGEST_LINE => line.push(byte),
                _ => {}
            }
        }
    }

    /// Prints without memory.
    pub(crate) fn print_args(&mut self, line: fmt::Arguments<'_>) {
        // Writing to the UART cannot fail.
        let _ = self.write_fmt(line);
        let _ = self.write_str("\n");
    }

    /// Ends the emulator.
    pub(crate) fn finish(&mut self, code: u8) -> ! {
        let value = match code {
            0 => FINISH_PASS,
            code => u32::from(code) << 16 | FINISH_FAIL,
        };
        write(FINISHER, value);
        loop {
            riscv::asm::wfi();
        }
    }

    fn ticks() -> u64 {
        loop {
            let high = read::<u32>(TIMER + 4);
            let low = read::<u32>(TIMER);
            if read::<u32>(TIMER + 4) == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }
}

impl Write for Board {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while read::<u8>(UART_LINE_STATUS) & CAN_TRANSMIT == 0 {
                core::hint::spin_loop();
            }
            write(UART, byte);
        }
        Ok(())
    }
}

impl Machine for Board {
    fn now_ms(&mut self) -> u64 {
        Self::ticks() / TICKS_PER_MS
    }

    fn seed(&mut self) -> u64 {
        // Nanoseconds of the host's clock; reading the lower half latches the upper one.
        let low = read::<u32>(REAL_TIME_CLOCK);
        let high = read::<u32>(REAL_TIME_CLOCK + 4);
        (u64::from(high) << 32 | u64::from(low)) ^ Self::ticks().rotate_left(40)
    }

    fn idle(&mut self, ms: u64) {
        let due = Self::ticks().saturating_add(ms.saturating_mul(TICKS_PER_MS));
        // In this order no value between lies in the past.
        write(TIMER_COMPARE + 4, u32::MAX);
        write(TIMER_COMPARE, due as u32);
        write(TIMER_COMPARE + 4, (due >> 32) as u32);
        riscv::asm::wfi();
        let claimed = read::<u32>(INTERRUPTS_CLAIM);
        if claimed != 0 {
            write(INTERRUPTS_CLAIM, claimed);
        }
    }

    fn memory(&mut self) -> Option<Memory> {
        let (free, lowest) = HEAP.left()?;
        let stack = stack::unused();
        // Below it lies memory that nothing uses, so an overflow would go unnoticed.
        assert!(stack > 0, "the stack has overflowed");
        Some(Memory { free, lowest, stack: Some(stack) })
    }

    fn print(&mut self, line: &str) {
        self.print_args(format_args!("{line}"));
    }

    fn end(&mut self, code: u8) -> ! {
        self.finish(code)
    }
}

fn read<T: Copy>(address: usize) -> T {
    // SAFETY: only called with the addresses above, which are registers of this board, aligned, of
    // this width, and harmless to read.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance(address)) }
}

fn write<T: Copy>(address: usize, value: T) {
    // SAFETY: as for `read`; no register above reaches memory.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(address), value) }
}
