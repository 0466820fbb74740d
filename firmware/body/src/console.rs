//! What the chip itself prints: ROM banner and panic.

/// Why the chip starts, as its ROM prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// Power came on.
    PowerOn,
    /// The software asked for it, by reboot or after a panic.
    Software,
}

/// What the ROM of an ESP32-S3 prints before any software runs.
pub(crate) fn rom_banner(reset: Reset) -> [&'static str; 6] {
    [
        "ESP-ROM:esp32s3-20210327",
        "Build:Mar 27 2021",
        match reset {
            Reset::PowerOn => "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)",
            Reset::Software => "rst:0xc (RTC_SW_CPU_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)",
        },
        "SPIWP:0xee",
        "mode:DIO, clock div:1",
        "entry 0x403c8918",
    ]
}

/// What ESP-IDF prints when a null pointer is read.
pub(crate) const PANIC: [&str; 11] = [
    "Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.",
    "",
    "Core  0 register dump:",
    "PC      : 0x42012a3c  PS      : 0x00060930  A0      : 0x8201b6f4  A1      : 0x3fcebd10",
    "EXCVADDR: 0x00000000  LBEG    : 0x40056f5c  LEND    : 0x40056f72  LCOUNT  : 0x00000000",
    "",
    "Backtrace: 0x42012a39:0x3fcebd10 0x4201b6f1:0x3fcebd40 0x42009c1e:0x3fcebd70",
    "",
    "ELF file SHA256: 6d63702d68696c00",
    "",
    "Rebooting...",
];
