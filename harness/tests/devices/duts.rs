//! `mcp-hil duts`: the boards that are attached, as a system tells of them that was made up in a folder.

use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use crate::mock::Mock;
use crate::support::{Done, Hil, Place};
use crate::usb::System;
use mcp_hil_bench::dut::DutFile;
use mcp_hil_boards::board::{BoardLock, Holder, KNOWN};
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use serde_json::Value;
use serialport::{SerialPort, TTYPort};

const CP210X: &str = "10c4:ea60";

/// The command, on a system of a test, with locks of its own.
fn duts(place: &Place, system: &System, args: &[&str]) -> Hil {
    let hil = place.hil(["duts"].iter().chain(args));
    hil.env("MCP_HIL_USB_ROOT", &system.0).env("MCP_HIL_LOCKS", place.path("locks"))
}

/// A system with two clones and a board that tells its MAC.
fn desk(name: &str) -> System {
    let system = System::new(name);
    for (location, port) in [("1-2.1", "ttyUSB0"), ("1-2.2", "ttyUSB1")] {
        system.usb(
            location,
            CP210X,
            &[("serial", "0001"), ("product", "CP2102 USB to UART Bridge")],
        );
        system.port(location, 0, port);
    }
    system.usb("1-3", "303a:1001", &[("serial", "F4:12:FA:00:11:22")]);
    system.port("1-3", 0, "ttyACM0");
    system
}

/// Puts something else where a board's port is.
fn connect(system: &System, name: &str, to: &Path) {
    std::fs::create_dir_all(system.0.join("dev")).unwrap();
    symlink(to, system.0.join("dev").join(name)).unwrap();
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}\n{done}"))
}

#[test]
fn boards_are_listed_with_what_tells_them_apart() {
    let (place, system) = (Place::new(), desk("listed"));
    place.write(
        "ci/duts/left.toml",
        "name = \"left\"\ntarget = \"board\"\n[board]\nserial = \"0001\"\nlocation = \"1-2.1\"\n",
    );
    place.write("ci/duts/other.toml", "name = \"other\"\ntarget = \"wait\"\n");
    place.write("ci/duts/broken.toml", "name = \"broken\"\ntarget = \"board\"\n");
    let done = duts(&place, &system, &[]).end().exits(0).prints(&[
        "LOCATION  SERIAL NUMBER",
        "10c4:ea60  1-2.1     0001",
        "many boards report this serial number",
        "file    ci/duts/left.toml (left)",
        "303a:1001  1-3       F4:12:FA:00:11:22",
        "chip    MAC f4:12:fa:00:11:22",
        "3 boards. No file describes 2",
        "mcp-hil duts --board 1-2.2 --write ci/duts/NAME.toml",
        "mcp-hil duts --probe-chips",
        // A file that cannot be read may be the one that is missed.
        "ci/duts/broken.toml:2: `target = \"board\"`",
    ]);
    let told = json(&duts(&place, &system, &["--format", "json"]).end().exits(0));
    let boards = told["boards"].as_array().unwrap();
    assert_eq!(boards.len(), 3, "{told}");
    assert_eq!(boards[0]["files"][0]["name"], "left", "{told}");
    assert_eq!(boards[0]["serial_is_its_own"], false, "{told}");
    assert_eq!(boards[2]["identity"], "mac-f4:12:fa:00:11:22", "{told}");
    assert_eq!(boards[2]["in_use"], Value::Null, "{done}");
}

#[test]
fn without_a_board_what_was_looked_for_is_told() {
    let (place, system) = (Place::new(), System::new("bare"));
    let done = duts(&place, &system, &[]).end().exits(0).prints(&[
        "no board is attached",
        "serial ports on USB of 303a:1001",
        "1a86:7523 (CH340)",
        "some cables carry no data",
        "--device /dev/ttyUSB0",
    ]);
    let wide = done.stdout.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{done}");
    duts(&place, &system, &["--probe-chips"]).end().exits(3);
    duts(&place, &system, &["--write", "a.toml"]).end().exits(3);
    assert!(!place.path("a.toml").exists());
    // A converter whose port something has taken.
    system.usb("1-4", "1a86:7523", &[]);
    duts(&place, &system, &[]).end().exits(0).prints(&["; 1a86:7523 at 1-4 is", "`brltty`"]);
    // A system that tells nothing.
    let place = Place::new();
    let hil = place.hil(["duts"]).env("MCP_HIL_USB_ROOT", "/nothing/there");
    hil.end().exits(0).prints(&["cannot look for boards"]);
}

#[test]
fn a_file_is_made_for_a_board_and_means_it() {
    let (place, system) = (Place::new(), desk("written"));
    let write = |path: &str, board: &str| {
        let args = ["--write", path, "--board", board];
        duts(&place, &system, &args).end()
    };
    write("ci/duts/native.toml", "F4:12:FA:00:11:22").exits(0);
    write("ci/duts/clone.toml", "1-2.2").exits(0);
    let read = |name: &str| DutFile::read(&place.path(name)).unwrap().board.unwrap();
    let native = read("ci/duts/native.toml");
    assert_eq!(native.serial.as_deref(), Some("F4:12:FA:00:11:22"));
    assert_eq!((native.mac.is_some(), native.location), (true, None));
    let clone = read("ci/duts/clone.toml");
    assert_eq!((clone.serial, clone.location.as_deref()), (None, Some("1-2.2")));
    let told = json(&duts(&place, &system, &["--format", "json"]).end());
    let files: Vec<&Value> = (0..3).map(|n| &told["boards"][n]["files"]).collect();
    assert_eq!(files[0].as_array().map(Vec::len), Some(0), "{told}");
    assert_eq!(files[1][0]["name"], "clone", "{told}");
    assert_eq!(files[2][0]["name"], "native", "{told}");
    // What somebody may have changed by hand stays.
    let before = place.read("ci/duts/clone.toml");
    let done = write("ci/duts/clone.toml", "1-2.1").exits(2);
    assert!(done.stderr.contains("already exists"), "{done}");
    assert_eq!(place.read("ci/duts/clone.toml"), before);
    // Which one is never guessed.
    for args in [&["--write", "b.toml"][..], &["--write", "b.toml", "--board", "0001"]] {
        let done = duts(&place, &system, args).end().exits(2);
        assert!(done.stderr.contains("`--board`"), "{done}");
    }
    let done = write("b.toml", "1-9").exits(3);
    assert!(done.stderr.contains("no board `1-9`"), "{done}");
    assert!(!place.path("b.toml").exists());
}

#[test]
fn a_chip_tells_what_it_is() {
    let Some(mock) = Mock::start("duts", "esp32c3") else {
        return;
    };
    let (place, system) = (Place::new(), System::new("chip"));
    system.usb("1-2", CP210X, &[("serial", "0001")]);
    system.port("1-2", 0, "ttyUSB0");
    connect(&system, "ttyUSB0", &mock.port);
    let path = "ci/duts/desk.toml";
    let done = duts(&place, &system, &["--probe-chips", "--write", path]).end();
    done.exits(0);
    let board = DutFile::read(&place.path(path)).unwrap().board.unwrap();
    assert_eq!(board.chip.unwrap().name(), "esp32c3");
    assert_eq!(board.flash_size.unwrap().to_string(), "4MB");
    assert!(board.mac.is_some());
    // That chip is the one that the file means.
    let args = ["--probe-chips", "--format", "json"];
    let told = json(&duts(&place, &system, &args).end().exits(0));
    let board = &told["boards"][0];
    assert_eq!(board["chip"]["name"], "esp32c3", "{told}");
    assert_eq!(board["chip"]["flash_bytes"], 4 * 1024 * 1024, "{told}");
    assert_eq!(board["files"][0]["name"], "desk", "{told}");
    assert_eq!(board["in_use"], Value::Null, "{told}");
}

#[test]
fn a_board_in_use_is_told_with_its_user_and_left_alone() {
    let (place, system) = (Place::new(), System::new("used"));
    system.usb("1-2", CP210X, &[("serial", "02A7F1C9")]);
    system.port("1-2", 0, "ttyUSB0");
    let holder = Holder::this_process("mcp-hil run", Some(Path::new("target/mcp-hil/9")));
    let lock = BoardLock::take_in(&place.path("locks"), "usb-10c4:ea60-02A7F1C9", &holder);
    let lock = lock.unwrap();
    let pid = std::process::id();
    duts(&place, &system, &["--probe-chips"])
        .end()
        .exits(0)
        .prints(&[&format!("in use  by process {pid} of user"), "`mcp-hil run`"]);
    let args = ["--probe-chips", "--format", "json"];
    let told = json(&duts(&place, &system, &args).end().exits(0));
    let board = &told["boards"][0];
    assert_eq!(board["in_use"]["pid"], pid, "{told}");
    assert_eq!(board["in_use"]["folder"], "target/mcp-hil/9", "{told}");
    assert_eq!(board["chip"], Value::Null, "nobody asked it: {told}");
    drop(lock);
    let told = json(&duts(&place, &system, &["--format", "json"]).end());
    assert_eq!(told["boards"][0]["in_use"], Value::Null, "{told}");
}

/// A board that reads and never answers; the program talks to it in a process of its own, which holds
/// the lock. Kill -9 for the program, and neither is left.
#[test]
fn a_silent_board_hangs_nobody_and_its_lock_ends_with_who_asked() {
    use std::io::Read;

    let (place, system) = (Place::new(), System::new("silent"));
    system.usb("1-2", CP210X, &[("serial", "02A7F1C9")]);
    system.port("1-2", 0, "ttyUSB0");
    let (mut board, mut port) = TTYPort::pair().unwrap();
    connect(&system, "ttyUSB0", Path::new(&port.name().unwrap()));
    // Somebody has to have it open, or the board would see the end of the line; and without a lock.
    port.set_exclusive(false).unwrap();
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags(OFlag::O_NOCTTY.bits());
    let _line = options.open(port.name().unwrap()).unwrap();
    drop(port);
    let asking = duts(&place, &system, &["--probe-chips"]).start();
    board.set_timeout(crate::support::LATEST).unwrap();
    // The lock was taken before the first byte.
    if let Err(error) = board.read_exact(&mut [0]) {
        panic!("{error}\n{}", asking.end());
    }
    let usage = || json(&duts(&place, &system, &["--format", "json"]).end());
    let told = usage();
    let user = &told["boards"][0]["in_use"];
    assert_eq!(user["command"], "mcp-hil duts --probe-chips", "{told}");
    assert_ne!(user["pid"], std::process::id(), "{told}");
    asking.signal(Signal::SIGKILL);
    asking.end();
    let begun = std::time::Instant::now();
    while usage()["boards"][0]["in_use"] != Value::Null {
        assert!(begun.elapsed() < crate::support::LATEST, "the lock stays");
    }
    // And one that is not killed gives up.
    let hil = duts(&place, &system, &["--probe-chips"]).env("MCP_HIL_CHIP_PATIENCE", "1");
    hil.end().exits(0).prints(&["chip    unknown: the board did not answer within 1 s"]);
}

#[test]
fn every_example_is_one_that_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/duts/examples");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let file = DutFile::read(&path).unwrap_or_else(|refusal| panic!("{refusal}"));
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(file.name, stem, "{}", path.display());
        assert!(file.board.is_some(), "{}", path.display());
        names.push(stem);
    }
    names.sort();
    assert_eq!(names, ["generic-c3", "generic-s3", "stock-mqtt", "stock-websocket"]);
}

#[test]
fn the_udev_rules_know_the_same_boards() {
    let rules = include_str!("../../../ci/60-mcp-hil.rules");
    for known in KNOWN {
        let id = known.id.to_string();
        let (vendor, product) = id.split_once(':').unwrap();
        let vendor = format!("ATTRS{{idVendor}}==\"{vendor}\"");
        let mut marks = rules.lines().filter(|line| line.contains("ENV{MCP_HIL}=\"1\""));
        let line = marks.find(|line| line.starts_with(&vendor));
        let line = line.unwrap_or_else(|| panic!("no rule for {id}"));
        // All of Espressif's are taken.
        let whole = vendor.contains("303a") && !line.contains("idProduct");
        assert!(whole || line.contains(product), "{id}: {line}");
    }
}

#[test]
fn examples_mean_no_board_on_the_bench() {
    let (place, system) = (Place::new(), desk("examples"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/duts");
    let folder = folder.to_string_lossy().into_owned();
    let args = ["--format", "json", "--folder", &folder];
    let told = json(&duts(&place, &system, &args).end().exits(0));
    for board in told["boards"].as_array().unwrap() {
        assert_eq!(board["files"].as_array().map(Vec::len), Some(0), "{told}");
    }
    assert_eq!(told["broken_files"].as_array().map(Vec::len), Some(0), "{told}");
}

#[test]
fn files_of_boards_are_told_as_a_matrix_of_jobs_takes_them_attached_or_not() {
    let (place, system) = (Place::new(), desk("declared"));
    for (name, board) in [
        ("here", "mac = \"f4:12:fa:00:11:22\""),
        ("gone", "serial = \"F4:12:FA:00:33:44\"\nrunner = \"rack-1\""),
    ] {
        let text = format!("name = \"{name}\"\ntarget = \"board\"\n[board]\n{board}\n");
        place.write(&format!("ci/duts/{name}.toml"), text);
    }
    place.write("ci/duts/other.toml", "name = \"other\"\ntarget = \"wait\"\n");
    let told = json(&duts(&place, &system, &["--format", "json"]).end().exits(0));
    assert_eq!(
        told["declared"],
        serde_json::json!([
            {
                "file": "ci/duts/gone.toml",
                "name": "gone",
                "runner": ["self-hosted", "rack-1"],
                "port": null,
            },
            {
                "file": "ci/duts/here.toml",
                "name": "here",
                "runner": ["self-hosted", "here"],
                "port": told["boards"][2]["port"],
            },
        ])
    );
}
