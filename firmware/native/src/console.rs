//! The device's console: stdout, a line at a time, as a serial port would deliver it.

use std::io::{self, Write};

/// Prints a line and pushes it out. A reader who went away does not stop a device.
pub(crate) fn print(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Why the chip starts, as its ROM prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// Power came on.
    PowerOn,
    /// The software asked for it, by reboot or after a panic.
    Software,
}

/// What the ROM of an ESP32-S3 prints before any software runs.
pub(crate) fn print_rom_banner(reset: Reset) {
    print("ESP-ROM:esp32s3-20210327");
    print("Build:Mar 27 2021");
    print(match reset {
        Reset::PowerOn => "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)",
        Reset::Software => "rst:0xc (RTC_SW_CPU_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)",
    });
    print("SPIWP:0xee");
    print("mode:DIO, clock div:1");
    print("entry 0x403c8918");
}

/// What ESP-IDF prints when a null pointer is read.
pub(crate) fn print_panic() {
    print("Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.");
    print("");
    print("Core  0 register dump:");
    print("PC      : 0x42012a3c  PS      : 0x00060930  A0      : 0x8201b6f4  A1      : 0x3fcebd10");
    print("EXCVADDR: 0x00000000  LBEG    : 0x40056f5c  LEND    : 0x40056f72  LCOUNT  : 0x00000000");
    print("");
    print("Backtrace: 0x42012a39:0x3fcebd10 0x4201b6f1:0x3fcebd40 0x42009c1e:0x3fcebd70");
    print("");
    print("ELF file SHA256: 6d63702d68696c00");
    print("");
    print("Rebooting...");
}
