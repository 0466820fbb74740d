//! What the chip itself prints: ROM banner and panic.

/// Why the chip starts, as its ROM prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// Power came on.
    PowerOn,
    /// The software asked for it, by reboot or after a panic.
    Software,
    /// A hardware watchdog.
    Watchdog,
    /// The supply broke down.
    BrownOut,
    /// For a reason that nobody gets to see: what the ROM prints is lost.
    Unseen,
}

/// What the ROM of an ESP32-S3 prints before any software runs.
pub(crate) fn rom_banner(reset: Reset) -> [&'static str; 6] {
    [
        "ESP-ROM:esp32s3-20210327",
        "Build:Mar 27 2021",
        match reset {
            Reset::PowerOn => "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)",
            Reset::Software => "rst:0xc (RTC_SW_CPU_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)",
            Reset::Watchdog => "rst:0x8 (TG1WDT_SYS_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)",
            Reset::BrownOut => "rst:0xf (RTCWDT_BROWN_OUT_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)",
            Reset::Unseen => "",
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

/// What ESP-IDF prints when a task has used up its stack.
pub(crate) const STACK_OVERFLOW: [&str; 6] = [
    "***ERROR*** A stack overflow in task tcp_receive has been detected.",
    "",
    "Backtrace: 0x40375b26:0x3fcebd10 0x4037a3d9:0x3fcebd30 0x4037b0a5:0x3fcebd50",
    "",
    "ELF file SHA256: 6d63702d68696c00",
    "Rebooting...",
];

/// The same on a RISC-V chip, whose hardware watches the stack.
pub(crate) const STACK_PROTECTION: [&str; 12] = [
    "Guru Meditation Error: Core  0 panic'ed (Stack protection fault). ",
    "",
    "Detected in task \"tcp_receive\" at 0x42009c1e",
    "Stack pointer: 0x3fc9a1e0",
    "Stack bounds: 0x3fc9a210 - 0x3fc9b200",
    "Core  0 register dump:",
    "MEPC    : 0x42009c1e  RA      : 0x42009d02  SP      : 0x3fc9a1e0  GP      : 0x3fc93400",
    "Stack memory:",
    "3fc9a1e0: 0x00000000 0x3fc9b200 0x42012a3c 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000",
    "",
    "ELF file SHA256: 6d63702d68696c00",
    "Rebooting...",
];

/// What ESP-IDF prints when a check of it fails.
pub(crate) const ERROR_CHECK: [&str; 9] = [
    "ESP_ERROR_CHECK failed: esp_err_t 0x1105 (ESP_ERR_NVS_NOT_ENOUGH_SPACE) at 0x42012a3c",
    "file: \"./main/settings.cc\" line 42",
    "func: void Settings::SetInt(const string&, int32_t)",
    "expression: nvs_set_i32(nvs_handle_, key.c_str(), value)",
    "",
    "abort() was called at PC 0x40380f2b on core 0",
    "",
    "Backtrace: 0x42012a39:0x3fcebd10 0x4201b6f1:0x3fcebd40",
    "Rebooting...",
];

/// What ESP-IDF prints when interrupts were off for too long.
pub(crate) const INTERRUPT_WATCHDOG: [&str; 5] = [
    "Guru Meditation Error: Core  0 panic'ed (Interrupt wdt timeout on CPU0). ",
    "",
    "Core  0 register dump:",
    "Backtrace: 0x40375b26:0x3fcebd10 0x4037a3d9:0x3fcebd30",
    "Rebooting...",
];

/// What ESP-IDF prints when the supply breaks down.
pub(crate) const BROWN_OUT: [&str; 2] = ["", "Brownout detector was triggered"];
