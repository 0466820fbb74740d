//! USB devices that ESP32 boards have.

use std::fmt;

/// Ids of a USB device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsbId {
    /// Its vendor.
    pub vendor: u16,
    /// The vendor's number for it.
    pub product: u16,
}

impl UsbId {
    /// An id.
    pub const fn new(vendor: u16, product: u16) -> Self {
        Self { vendor, product }
    }

    /// What a board with it has, if it may be a board at all. Whatever Espressif made may be one.
    pub fn known(self) -> Option<&'static KnownUsb> {
        let exact = KNOWN.iter().find(|known| known.id == self);
        exact.or_else(|| (self.vendor == ESPRESSIF).then_some(&OTHER_ESPRESSIF))
    }
}

impl fmt::Display for UsbId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.product)
    }
}

/// What carries a board's console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsbKind {
    /// A converter beside the chip; its lines DTR and RTS go to GPIO0 and EN.
    Converter,
    /// The device USB-Serial-JTAG in the chip. It tells the chip's MAC as its serial number, and goes
    /// away and comes back with resets.
    SerialJtag,
    /// The device that the chip's program makes of its USB controller (ESP32-S2, ESP32-S3).
    Program,
}

/// A USB device that boards have.
#[derive(Debug)]
pub struct KnownUsb {
    /// Its ids.
    pub id: UsbId,
    /// What it is called.
    pub name: &'static str,
    /// Whether it is a converter, or the chip's own USB.
    pub kind: UsbKind,
    /// Which of its interfaces goes to the chip, where it has several ports; else the first.
    pub interface: u8,
    /// Whether `espflash` was made for it. The others are used by boards, too.
    pub proven: bool,
}

const ESPRESSIF: u16 = 0x303a;

const fn known(vendor: u16, product: u16, name: &'static str, kind: UsbKind) -> KnownUsb {
    KnownUsb { id: UsbId::new(vendor, product), name, kind, interface: 0, proven: false }
}

const fn proven(known: KnownUsb) -> KnownUsb {
    KnownUsb { proven: true, ..known }
}

/// Of two ports the second goes to the chip, the first to its JTAG pins: Espressif's own boards.
const fn second_port(known: KnownUsb) -> KnownUsb {
    KnownUsb { interface: 1, ..known }
}

use UsbKind::{Converter, Program, SerialJtag};

/// The devices.
pub const KNOWN: &[KnownUsb] = &[
    proven(known(ESPRESSIF, 0x1001, "USB-Serial-JTAG", SerialJtag)),
    proven(known(ESPRESSIF, 0x1002, "ESP-USB-Bridge", Converter)),
    known(ESPRESSIF, 0x0002, "ESP32-S2 USB", Program),
    proven(known(0x10c4, 0xea60, "CP210x", Converter)),
    known(0x10c4, 0xea70, "CP2105", Converter),
    known(0x10c4, 0xea71, "CP2108", Converter),
    proven(known(0x1a86, 0x7523, "CH340", Converter)),
    known(0x1a86, 0x55d3, "CH343", Converter),
    known(0x1a86, 0x55d4, "CH9102", Converter),
    known(0x0403, 0x6001, "FT232R", Converter),
    second_port(known(0x0403, 0x6010, "FT2232H", Converter)),
    known(0x0403, 0x6011, "FT4232H", Converter),
    known(0x0403, 0x6014, "FT232H", Converter),
    known(0x0403, 0x6015, "FT231X", Converter),
    known(0x067b, 0x2303, "PL2303", Converter),
];

const OTHER_ESPRESSIF: KnownUsb = known(ESPRESSIF, 0, "Espressif USB", Program);
