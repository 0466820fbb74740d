//! Looking for boards on USB.
//!
//! On Linux sysfs is read, nothing is opened: opening a serial port resets the board behind it. The
//! `serialport` crate would read the same files, but it knows no places and panics where there are none.

use std::fs;
use std::path::{Path, PathBuf};

use super::known::{KnownUsb, UsbId, UsbKind};
use super::mac::Mac;

/// Names a folder that is looked into instead of `/`: in a container the folder where the host's is, in
/// tests one that was made up.
pub const ROOT: &str = "MCP_HIL_USB_ROOT";

/// How far above its terminal a USB device stands in sysfs, at most.
const LEVELS: usize = 4;

/// Serial numbers that are those of many: what converters tell whose maker gave them none.
const OF_MANY: [&str; 4] = ["123456", "12345678", "0123456789", "0123456789abcdef"];

/// A number of the maker is not shorter than this.
const SHORTEST_SERIAL: usize = 5;

/// A USB device with a serial port, which may be a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbBoard {
    /// Its serial port.
    pub port: PathBuf,
    /// Its ids.
    pub usb: UsbId,
    /// The serial number that it tells.
    pub serial: Option<String>,
    /// What it calls itself.
    pub product: Option<String>,
    /// Who made it, in its own words.
    pub manufacturer: Option<String>,
    /// Where it is plugged in, such as `1-2.3`; only Linux tells.
    pub location: Option<String>,
    /// The interface of the port, where the device has several.
    pub interface: Option<u8>,
    /// The chip's address, where it is known without asking the chip.
    pub mac: Option<Mac>,
}

impl UsbBoard {
    /// What is known of such devices; `None` of those that no board has.
    pub fn known(&self) -> Option<&'static KnownUsb> {
        self.usb.known()
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        let product = self.product.as_deref().filter(|text| !text.is_empty());
        product.unwrap_or_else(|| self.known().map_or("serial port", |known| known.name))
    }

    /// What it tells of itself, as `serialport` and `espflash` want it.
    pub fn port_info(&self) -> serialport::UsbPortInfo {
        serialport::UsbPortInfo {
            vid: self.usb.vendor,
            pid: self.usb.product,
            serial_number: self.serial.clone(),
            manufacturer: self.manufacturer.clone(),
            product: self.product.clone(),
            interface: self.interface,
        }
    }

    /// Its serial number, if it can be taken for its own.
    pub fn own_serial(&self) -> Option<&str> {
        let serial = self.serial.as_deref()?;
        let first = serial.chars().next()?;
        let of_many = serial.len() < SHORTEST_SERIAL
            || serial.chars().all(|c| c == first)
            || OF_MANY.contains(&serial.to_ascii_lowercase().as_str());
        (!of_many).then_some(serial)
    }

    /// What names this board for as long as it stays the same board: its chip, else its converter,
    /// else the place where it is plugged in. Never its port.
    pub fn identity(&self) -> String {
        match (self.mac, self.own_serial(), &self.location) {
            (Some(mac), _, _) => format!("mac-{mac}"),
            (None, Some(serial), _) => format!("usb-{}-{serial}", self.usb),
            (None, None, Some(location)) => format!("at-{location}"),
            (None, None, None) => format!("port-{}", self.port.display()),
        }
    }

    /// With the addresses that some USB devices tell as their serial number.
    fn with_mac(mut self) -> Self {
        if self.known().map(|known| known.kind) == Some(UsbKind::SerialJtag) {
            let serial = self.serial.as_deref().unwrap_or_default();
            self.mac = serial.parse().ok();
        }
        self
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attached {
    /// What may be boards, a port each.
    pub boards: Vec<UsbBoard>,
    /// Other serial ports on USB.
    pub others: Vec<UsbBoard>,
    /// Devices that boards have, without a serial port, and where they are plugged in: their driver is
    /// missing, or something has taken the port away.
    pub portless: Vec<(UsbId, String)>,
    /// Whether this system tells at all.
    pub told: bool,
}

/// Looks for boards.
pub fn attached() -> Attached {
    match std::env::var_os(ROOT) {
        Some(root) if !root.is_empty() => attached_under(Path::new(&root)),
        _ if cfg!(target_os = "linux") => attached_under(Path::new("/")),
        _ => told_by_serialport(),
    }
}

/// Looks for boards in the folders `sys` and `dev` of another one.
pub fn attached_under(root: &Path) -> Attached {
    let terminals = root.join("sys/class/tty");
    let Ok(entries) = fs::read_dir(&terminals) else {
        return Attached::default();
    };
    let ports: Vec<UsbBoard> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            read_port(&entry.path().join("device"), root.join("dev").join(name))
        })
        .collect();
    let mut attached = sorted(ports);
    attached.portless = portless(&root.join("sys/bus/usb/devices"), &attached);
    attached
}

/// A serial port, if it is one on USB.
fn read_port(device: &Path, port: PathBuf) -> Option<UsbBoard> {
    let device = fs::canonicalize(device).ok()?;
    let mut folders = device.ancestors().take(LEVELS);
    let usb = folders.find(|folder| folder.join("idVendor").is_file())?;
    let interface =
        device.ancestors().take(LEVELS).find_map(|folder| text(&folder.join("bInterfaceNumber")));
    let location = usb.file_name()?.to_string_lossy().into_owned();
    let board = UsbBoard {
        port,
        usb: read_id(usb)?,
        serial: text(&usb.join("serial")),
        product: text(&usb.join("product")),
        manufacturer: text(&usb.join("manufacturer")),
        location: Some(location),
        interface: interface.and_then(|text| u8::from_str_radix(&text, 16).ok()),
        mac: None,
    };
    Some(board.with_mac())
}

fn read_id(folder: &Path) -> Option<UsbId> {
    let number = |name| u16::from_str_radix(&text(&folder.join(name))?, 16).ok();
    Some(UsbId::new(number("idVendor")?, number("idProduct")?))
}

/// What a file of sysfs says; nothing is the same as no file. Devices tell what they like: bytes that
/// are no text are shown as such.
fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text: String = String::from_utf8_lossy(&bytes)
        .trim()
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    (!text.is_empty()).then_some(text)
}

fn portless(devices: &Path, attached: &Attached) -> Vec<(UsbId, String)> {
    let folders = fs::read_dir(devices).into_iter().flatten().flatten();
    let mut found: Vec<(UsbId, String)> = folders
        .filter_map(|folder| {
            let id = read_id(&folder.path())?;
            let location = folder.file_name().to_string_lossy().into_owned();
            let known = id.known()?;
            let has_port =
                attached.boards.iter().any(|board| board.location.as_ref() == Some(&location));
            // What a program makes of its chip's USB controller may be a microphone.
            (known.kind != UsbKind::Program && !has_port).then_some((id, location))
        })
        .collect();
    found.sort();
    found
}

/// Boards and others, each in the order of their places. Of a device with several ports only the one
/// that goes to the chip is a board.
fn sorted(ports: Vec<UsbBoard>) -> Attached {
    let (mut boards, mut others): (Vec<UsbBoard>, Vec<UsbBoard>) =
        ports.into_iter().partition(|port| port.known().is_some());
    let order = |board: &UsbBoard| {
        (place(board.location.as_deref().unwrap_or_default()), board.interface, board.port.clone())
    };
    boards.sort_by_key(order);
    others.sort_by_key(order);
    let all = boards.clone();
    boards.retain(|board| {
        let same = |other: &&UsbBoard| other.location == board.location;
        let wanted = board.known().map(|known| known.interface);
        let siblings: Vec<&UsbBoard> = all.iter().filter(same).collect();
        let chosen =
            siblings.iter().find(|sibling| sibling.interface == wanted).or(siblings.first());
        board.location.is_none() || chosen.is_some_and(|chosen| chosen.port == board.port)
    });
    Attached { boards, others, portless: Vec::new(), told: true }
}

/// A place as numbers, so that port 10 comes after port 9.
fn place(location: &str) -> Vec<u32> {
    location.split(['-', '.']).map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// Systems other than Linux, where the crate does not panic.
fn told_by_serialport() -> Attached {
    let Ok(ports) = serialport::available_ports() else {
        return Attached::default();
    };
    let usb = |port: serialport::SerialPortInfo| match port.port_type {
        serialport::SerialPortType::UsbPort(info) => Some(
            UsbBoard {
                port: port.port_name.into(),
                usb: UsbId::new(info.vid, info.pid),
                serial: info.serial_number,
                product: info.product,
                manufacturer: info.manufacturer,
                location: None,
                interface: info.interface,
                mac: None,
            }
            .with_mac(),
        ),
        _ => None,
    };
    sorted(ports.into_iter().filter_map(usb).collect())
}
