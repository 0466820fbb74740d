//! Boards on USB, as a system tells of them that was made up in a folder.

mod usb;

use miette::Diagnostic as _;
use std::fs;
use std::path::Path;

use mcp_hil_boards::board::{Attached, SelectError, Selector, UsbBoard, attached_under};
use rstest::rstest;
use usb::System;

fn look(system: &System) -> Attached {
    attached_under(&system.0)
}

fn ports(boards: &[UsbBoard]) -> Vec<&str> {
    boards.iter().map(|board| board.port.file_name().unwrap().to_str().unwrap()).collect()
}

const JTAG: &str = "303a:1001";
const CP210X: &str = "10c4:ea60";
const MAC: &str = "F4:12:FA:00:11:22";

#[test]
fn a_board_is_told_with_all_that_its_usb_device_says() {
    let system = System::new("whole");
    system.usb(
        "1-2.3",
        JTAG,
        &[
            ("serial", MAC),
            ("product", "USB JTAG/serial debug unit"),
            ("manufacturer", "Espressif"),
        ],
    );
    system.port("1-2.3", 0, "ttyACM0");
    let found = look(&system);
    let [board] = &found.boards[..] else { panic!("{found:?}") };
    assert_eq!(board.port, system.0.join("dev/ttyACM0"));
    assert_eq!(board.usb.to_string(), JTAG);
    assert_eq!(board.location.as_deref(), Some("1-2.3"));
    assert_eq!(board.mac.unwrap().to_string(), "f4:12:fa:00:11:22");
    assert_eq!(board.identity(), "mac-f4:12:fa:00:11:22");
    let info = board.port_info();
    assert_eq!((info.vid, info.pid), (0x303a, 0x1001));
    assert_eq!(info.serial_number.as_deref(), Some(MAC));
    assert_eq!(info.manufacturer.as_deref(), Some("Espressif"));
    assert!(found.told && found.portless.is_empty());
}

#[test]
fn what_is_no_board_is_not_taken_for_one() {
    let system = System::new("others");
    system.usb("1-4", "2341:0043", &[("product", "Arduino")]);
    system.port("1-4", 0, "ttyACM1");
    // A port of the mainboard, and what is no device at all.
    let serial = system.0.join("sys/devices/pnp0/00:01");
    fs::create_dir_all(&serial).unwrap();
    system.terminal("ttyS0", Some(&serial));
    system.terminal("console", None);
    // A device that says that it is a board, but not in numbers.
    system.usb("1-5", "wxyz:1001", &[]);
    system.port("1-5", 0, "ttyACM2");
    let found = look(&system);
    assert_eq!(ports(&found.boards), [""; 0]);
    assert_eq!(ports(&found.others), ["ttyACM1"]);
}

#[test]
fn a_system_that_tells_nothing_is_no_trouble() {
    let found = attached_under(Path::new("/nothing/there"));
    assert_eq!(found, Attached::default());
    assert!(!found.told);
    assert!(look(&System::new("nothing")).told);
}

#[test]
fn boards_come_in_the_order_of_their_places_and_one_port_each() {
    let system = System::new("order");
    for (location, name) in [("1-2.10", "ttyUSB0"), ("1-2.9", "ttyUSB1"), ("1-1", "ttyUSB2")] {
        system.usb(location, CP210X, &[("serial", "0001")]);
        system.port(location, 0, name);
    }
    // The first port of this one goes to the chip's JTAG pins.
    system.usb("1-3", "0403:6010", &[]);
    system.port("1-3", 0, "ttyUSB3");
    system.port("1-3", 1, "ttyUSB4");
    // And of this one the first port is the one.
    system.usb("1-4", "10c4:ea70", &[("serial", "01AB23CD")]);
    system.port("1-4", 1, "ttyUSB6");
    system.port("1-4", 0, "ttyUSB5");
    assert_eq!(
        ports(&look(&system).boards),
        ["ttyUSB2", "ttyUSB1", "ttyUSB0", "ttyUSB4", "ttyUSB5"]
    );
}

#[test]
fn a_board_without_a_serial_port_is_noticed() {
    let system = System::new("portless");
    system.usb("1-2", "1a86:7523", &[]);
    // Firmware may use the chip's USB for something else.
    system.usb("1-3", "303a:4001", &[]);
    system.usb("1-4", "2341:0043", &[]);
    let found = look(&system);
    let portless: Vec<String> =
        found.portless.iter().map(|(id, location)| format!("{id} {location}")).collect();
    assert_eq!(portless, ["1a86:7523 1-2"]);
}

#[rstest]
#[case::a_makers_number("A50285BI", "usb-10c4:ea60-A50285BI")]
#[case::a_clones_number("0001", "at-1-2")]
#[case::nothing_but_zeros("00000000", "at-1-2")]
#[case::a_number_of_many("0123456789ABCDEF", "at-1-2")]
#[case::none("", "at-1-2")]
fn a_board_is_the_same_one_by_what_is_its_own(#[case] serial: &str, #[case] identity: &str) {
    let system = System::new(&format!("identity-{serial}"));
    system.usb("1-2", CP210X, &[("serial", serial)]);
    system.port("1-2", 0, "ttyUSB0");
    assert_eq!(look(&system).boards[0].identity(), identity);
}

#[test]
fn a_board_stays_the_same_when_its_port_has_another_name() {
    let system = System::new("renamed");
    system.usb("1-2", JTAG, &[("serial", MAC)]);
    system.port("1-2", 0, "ttyACM0");
    let before = look(&system).boards[0].identity();
    fs::remove_dir_all(system.0.join("sys/class/tty/ttyACM0")).unwrap();
    system.port("1-2", 0, "ttyACM7");
    let found = look(&system);
    assert_eq!(ports(&found.boards), ["ttyACM7"]);
    assert_eq!(found.boards[0].identity(), before);
}

/// Two clones, a converter with a number of its own, and a chip with USB of its own.
fn desk(name: &str) -> System {
    let system = System::new(name);
    for (location, id, serial, port) in [
        ("1-1", CP210X, "0001", "ttyUSB0"),
        ("1-2", CP210X, "0001", "ttyUSB1"),
        ("1-3", CP210X, "02A7F1C9", "ttyUSB2"),
        ("1-4", JTAG, MAC, "ttyACM0"),
    ] {
        system.usb(location, id, &[("serial", serial)]);
        system.port(location, 0, port);
    }
    system
}

fn selector(serial: &str, mac: &str, location: &str) -> Selector {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Selector {
        serial: given(serial),
        mac: given(mac).map(|mac| mac.parse().unwrap()),
        location: given(location),
    }
}

#[rstest]
#[case::by_serial("02a7f1c9", "", "", "ttyUSB2")]
#[case::clones_by_place("0001", "", "1-2", "ttyUSB1")]
#[case::by_place_alone("", "", "1-1", "ttyUSB0")]
#[case::by_address("", "f4:12:fa:00:11:22", "", "ttyACM0")]
#[case::an_address_that_the_converter_does_not_tell("02A7F1C9", "f4:12:fa:aa:bb:cc", "", "ttyUSB2")]
fn a_board_is_selected(
    #[case] serial: &str,
    #[case] mac: &str,
    #[case] location: &str,
    #[case] port: &str,
) {
    let system = desk(&format!("select-{port}-{serial}-{location}"));
    let found = look(&system);
    let chosen = selector(serial, mac, location).select(&found.boards);
    assert_eq!(chosen.unwrap().port, system.0.join("dev").join(port));
}

#[test]
fn two_boards_of_a_kind_are_not_confused() {
    let system = desk("clones");
    let found = look(&system);
    let error = selector("0001", "", "").select(&found.boards).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("2 boards have the serial number `0001`"), "{text}");
    assert!(text.contains("ttyUSB0") && text.contains("ttyUSB1"), "{text}");
    let hint = error.help().unwrap().to_string();
    assert!(hint.contains("`location = \"1-1\"`"), "{hint}");
    let [first, second, ..] = &found.boards[..] else { panic!() };
    assert_ne!(first.identity(), second.identity());
}

#[rstest]
#[case::another_serial("77", "", "", "1-4", "name one of these")]
#[case::moved("02A7F1C9", "", "1-9", "ttyUSB2", "is now at 1-3")]
#[case::another_chip_there("", "f4:12:fa:aa:bb:cc", "1-4", "1-4", "name one of these")]
#[case::nobody_tells("", "f4:12:fa:aa:bb:cc", "", "ttyUSB1", "--probe-chips")]
fn a_board_that_is_not_there_is_told_with_those_that_are(
    #[case] serial: &str,
    #[case] mac: &str,
    #[case] location: &str,
    #[case] lists: &str,
    #[case] hint: &str,
) {
    let system = desk(&format!("none-{serial}-{mac}-{location}"));
    let found = look(&system);
    let error = selector(serial, mac, location).select(&found.boards).unwrap_err();
    let told = error.help().unwrap().to_string();
    assert!(error.to_string().contains(lists), "{error}");
    assert!(told.contains(hint), "{told}");
}

#[test]
fn without_any_board_the_cable_is_asked_about() {
    let error = selector("1", "", "").select(&[]).unwrap_err();
    assert!(matches!(error, SelectError::None { .. }));
    assert!(error.help().unwrap().to_string().contains("data lines"), "{error:?}");
}
