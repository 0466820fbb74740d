//! Boards on USB: whether they are there, may be used, and are left alone by others.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_hil_boards::board::Attached;

use super::ask::can_write;
use super::{Item, State};

/// The file of rules that makes boards usable, by its name in `ci/` and where it is installed.
const RULES: &str = "60-mcp-hil.rules";

/// Where rules are installed.
const RULES_FOLDERS: [&str; 3] = ["etc/udev/rules.d", "usr/lib/udev/rules.d", "run/udev/rules.d"];

/// What installs them.
const INSTALL: &str = "sudo cp ci/60-mcp-hil.rules /etc/udev/rules.d/ && sudo udevadm control --reload \
                       && sudo udevadm trigger";

/// What there is to say of boards. `root` is where files of the system are looked for.
pub(super) fn items(found: &Attached, root: &Path) -> Vec<Item> {
    let mut items = vec![ports(found)];
    items.extend(portless(found));
    items.extend(modem_manager(found, root));
    items
}

fn ports(found: &Attached) -> Item {
    const NAME: &str = "boards";
    if found.boards.is_empty() {
        return Item {
            name: NAME,
            state: State::Optional,
            what: "no board is attached; `mcp-hil duts` shows what was looked for".to_owned(),
            get: None,
        };
    }
    let (here, absent): (Vec<PathBuf>, Vec<PathBuf>) =
        found.boards.iter().map(|board| board.port.clone()).partition(|port| port.exists());
    if let Some(port) = absent.first() {
        let get = format!("docker run --device {} ...", port.display());
        let what = format!(
            "the kernel has {}, but they are missing here: pass them to the container",
            shown(&absent)
        );
        return Item::not(NAME, State::Missing, what, &get);
    }
    let locked: Vec<PathBuf> = here.iter().filter(|port| !can_write(port)).cloned().collect();
    if locked.is_empty() {
        return Item::ok(NAME, shown(&here));
    }
    let what = format!(
        "no permission for {}; this grants it to the user at this computer, and to the group \
         `dialout`, which a user joins by `sudo usermod -aG dialout $USER` and a new login",
        shown(&locked)
    );
    Item::not(NAME, State::Missing, what, INSTALL)
}

fn portless(found: &Attached) -> Option<Item> {
    const NAME: &str = "board, no port";
    if found.portless.is_empty() {
        return None;
    }
    let devices: Vec<String> =
        found.portless.iter().map(|(id, location)| format!("{id} at {location}")).collect();
    let what = format!(
        "{} has no serial port: `brltty` mistakes some converters for braille displays; otherwise \
         a driver (cp210x, ch341, ftdi_sio, cdc_acm) is missing",
        devices.join(", ")
    );
    let get = "sudo apt-get remove brltty";
    Some(Item::not(NAME, State::Missing, what, get))
}

/// It sends modem commands to serial ports that appear, which boards take for console input, and holds
/// them open for seconds.
fn modem_manager(found: &Attached, root: &Path) -> Option<Item> {
    const NAME: &str = "modem manager";
    let processes = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let mut names =
        processes.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    let has_rules = RULES_FOLDERS.iter().any(|folder| root.join(folder).join(RULES).is_file());
    if found.boards.is_empty() || has_rules || !names.any(|name| name.trim() == "ModemManager") {
        return None;
    }
    let what = "ModemManager runs and tries new serial ports; rules keep it away from boards";
    Some(Item::not(NAME, State::Optional, what, INSTALL))
}

fn shown(ports: &[PathBuf]) -> String {
    let names: Vec<String> = ports.iter().map(|port| port.display().to_string()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use mcp_hil_boards::board::{UsbBoard, UsbId};

    use super::*;

    fn board(port: PathBuf) -> Attached {
        Attached {
            boards: vec![UsbBoard {
                port,
                usb: UsbId::new(0x10c4, 0xea60),
                serial: None,
                product: None,
                manufacturer: None,
                location: Some("1-2".to_owned()),
                interface: None,
                mac: None,
            }],
            told: true,
            ..Attached::default()
        }
    }

    fn place(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("mcp-hil-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).unwrap();
        place
    }

    #[test]
    fn boards_are_told_and_so_is_what_is_in_their_way() {
        let place = place("dev");
        assert_eq!(ports(&Attached::default()).state, State::Optional);
        let port = place.join("ttyUSB0");
        let item = ports(&board(port.clone()));
        assert_eq!(item.state, State::Missing);
        assert!(item.what.contains("the container"), "{item:?}");
        fs::write(&port, "").unwrap();
        let item = ports(&board(port.clone()));
        assert_eq!((item.state, item.what), (State::Ok, port.display().to_string()));
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_converter_without_a_port_is_told() {
        assert!(portless(&Attached::default()).is_none());
        let found = Attached {
            portless: vec![(UsbId::new(0x1a86, 0x7523), "1-4".to_owned())],
            ..Attached::default()
        };
        let item = portless(&found).unwrap();
        assert!(item.what.starts_with("1a86:7523 at 1-4"), "{item:?}");
    }

    #[test]
    fn modem_manager_is_told_unless_rules_keep_it_away() {
        let place = place("root");
        let found = board(place.join("ttyUSB0"));
        assert!(modem_manager(&found, &place).is_none());
        fs::create_dir_all(place.join("proc/7")).unwrap();
        fs::write(place.join("proc/7/comm"), "ModemManager\n").unwrap();
        assert!(modem_manager(&found, &place).is_some());
        assert!(modem_manager(&Attached::default(), &place).is_none());
        fs::create_dir_all(place.join("etc/udev/rules.d")).unwrap();
        fs::write(place.join("etc/udev/rules.d/60-mcp-hil.rules"), "").unwrap();
        assert!(modem_manager(&found, &place).is_none());
        fs::remove_dir_all(&place).unwrap();
    }
}
