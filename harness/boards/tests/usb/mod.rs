//! What a system tells of its USB devices, made up in a folder.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A system with nothing on USB; removed in the end.
pub(crate) struct System(pub(crate) PathBuf);

impl System {
    pub(crate) fn new(name: &str) -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("usb-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("sys/class/tty")).unwrap();
        fs::create_dir_all(place.join("sys/bus/usb/devices")).unwrap();
        Self(place)
    }

    /// Plugs a device in; what it tells is name and value.
    pub(crate) fn usb(&self, location: &str, id: &str, told: &[(&str, &str)]) {
        let folder = self.0.join("sys/devices/usb1").join(location);
        fs::create_dir_all(&folder).unwrap();
        let (vendor, product) = id.split_once(':').unwrap();
        for (name, value) in [("idVendor", vendor), ("idProduct", product)].iter().chain(told) {
            fs::write(folder.join(name), format!("{value}\n")).unwrap();
        }
        symlink(&folder, self.0.join("sys/bus/usb/devices").join(location)).unwrap();
    }

    /// Gives a device a serial port, as the driver of a converter does or as that of a modem does.
    pub(crate) fn port(&self, location: &str, interface: u8, name: &str) {
        let folder = format!("sys/devices/usb1/{location}/{location}:1.{interface}");
        let interface_folder = self.0.join(folder);
        let device = match name.starts_with("ttyUSB") {
            true => interface_folder.join(name),
            false => interface_folder.clone(),
        };
        fs::create_dir_all(&device).unwrap();
        let number = format!("{interface:02}\n");
        fs::write(interface_folder.join("bInterfaceNumber"), number).unwrap();
        self.terminal(name, Some(&device));
    }

    pub(crate) fn terminal(&self, name: &str, device: Option<&Path>) {
        let terminal = self.0.join("sys/class/tty").join(name);
        fs::create_dir_all(&terminal).unwrap();
        if let Some(device) = device {
            symlink(device, terminal.join("device")).unwrap();
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
