//! The console: UART 0, and where the chip has one its own USB port. What is printed goes to USB when a
//! host listens there; lines are read from both. The bootloader has set them up.

use alloc::string::String;
use alloc::vec::Vec;

use esp_hal::peripherals::UART0;
#[cfg(usb_console)]
use esp_hal::peripherals::USB_DEVICE;
use esp_hal::time::{Duration, Instant};

/// Longest line that is read, in bytes.
const LONGEST_LINE: usize = 4 << 10;

/// The next line of the console, if it begins within `patience`. What goes beyond the longest is cut
/// off.
pub(crate) fn read_line(patience: Option<Duration>) -> Option<String> {
    let begin = Instant::now();
    let mut line = Vec::new();
    loop {
        match read_byte() {
            Some(b'\n' | b'\r') if line.is_empty() => {}
            Some(b'\n' | b'\r') => return Some(String::from_utf8_lossy(&line).trim().into()),
            Some(byte) if line.len() < LONGEST_LINE => line.push(byte),
            Some(_) => {}
            None if line.is_empty() && patience.is_some_and(|most| begin.elapsed() >= most) => {
                return None;
            }
            None => core::hint::spin_loop(),
        }
    }
}

fn read_byte() -> Option<u8> {
    #[cfg(usb_console)]
    {
        let usb = USB_DEVICE::regs();
        if usb.ep1_conf().read().serial_out_ep_data_avail().bit() {
            return Some(usb.ep1().read().rdwr_byte().bits());
        }
    }
    let uart = UART0::regs();
    (uart.status().read().rxfifo_cnt().bits() > 0)
        .then(|| uart.fifo().read().rxfifo_rd_byte().bits())
}
