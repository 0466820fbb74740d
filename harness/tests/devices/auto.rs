//! `--dut auto`: what is chosen, and what is told of what was not.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use crate::support::{Hil, Place};

/// A PATH with a shell and nothing else, but for the named programs, which end at once.
fn bin(place: &Place, programs: &[&str]) -> PathBuf {
    for name in programs {
        let program = place.write(&format!("bin/{name}"), "#!/bin/sh\necho 'a stand-in'\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(program, executable).unwrap();
    }
    std::fs::create_dir_all(place.path("bin")).unwrap();
    if !place.path("bin/sh").exists() {
        symlink("/bin/sh", place.path("bin/sh")).unwrap();
    }
    place.path("bin")
}

/// A run that chooses, on a machine that has these programs and nothing built but the native device.
fn auto(place: &Place, programs: &[&str], more: &[&str]) -> Hil {
    let mut run = vec!["run", "--only", "ids/zero"];
    run.extend(more);
    place
        .hil(run)
        .without_env("MCP_HIL_PREFER")
        .without_env("MCP_HIL_QEMU")
        .without_env("MCP_HIL_QEMU_IMAGE")
        .without_env("MCP_HIL_QEMU_ESP")
        .without_env("MCP_HIL_ESP_EMU")
        .without_env("MCP_HIL_WOKWI_CLI")
        .without_env("MCP_HIL_WOKWIGW")
        .env("PATH", bin(place, programs))
        .env("CARGO_TARGET_DIR", place.path("built"))
        // Whatever boards this machine has.
        .env("MCP_HIL_USB_ROOT", place.path("usb"))
}

#[test]
fn with_nothing_installed_it_is_the_native_device_and_what_was_passed_over_is_told() {
    let place = Place::new();
    let done = auto(&place, &[], &[]).end().exits(0).says(&[
        "auto: skipped qemu-esp: Espressif's QEMU is not installed; to get it: `mcp-hil setup qemu-esp`",
        "auto: skipped qemu: `qemu-system-riscv32` is not installed; to get it: `",
        "auto: skipped wokwi: `wokwi-cli` is not installed; to get it: `curl ",
        " qemu",
    ]);
    assert!(done.stdout.contains(": native over websocket"), "{done}");
}

#[test]
fn a_variable_that_names_a_wrong_program_is_told_as_that() {
    let place = Place::new();
    let stock = place.path("bin/qemu-system-riscv32");
    let none = place.path("nowhere");
    for (named, what) in
        [(&stock, "which lists no ESP32 with `-M help`"), (&none, "which does not exist")]
    {
        let says =
            format!("skipped qemu-esp: `MCP_HIL_QEMU_ESP` names `{}`, {what}", named.display());
        auto(&place, &["qemu-system-riscv32"], &[])
            .env("MCP_HIL_QEMU_ESP", named)
            .end()
            .exits(0)
            .says(&[&says]);
    }
}

#[test]
fn an_emulator_without_an_image_is_passed_over_with_the_command_that_builds_one() {
    let place = Place::new();
    let done = auto(&place, &["qemu-system-riscv32"], &[])
        .end()
        .exits(0)
        .says(&["skipped qemu: its image is not built; to get it: `ci/firmware.sh virt`"]);
    assert!(done.stdout.contains(": native over websocket"), "{done}");
    assert!(!place.path("built").exists(), "nothing is built for the choice");
}

#[test]
fn an_emulator_with_an_image_comes_before_the_native_device() {
    let place = Place::new();
    let image = place.write("image.elf", "mcp-hil-image=virt 0.1.0+0;");
    let with = |more: &[&str]| {
        auto(&place, &["qemu-system-riscv32"], more).env("MCP_HIL_QEMU_IMAGE", &image).end()
    };
    // The stand-in ends at once: trouble of the bench, and no reason to judge another device.
    let done = with(&[]).exits(3);
    assert!(done.stdout.contains(": qemu over websocket"), "{done}");
    std::fs::remove_dir_all(place.path("bin")).unwrap();
    let done = with(&["--prefer", "native,qemu"]).exits(0);
    assert!(done.stdout.contains(": native over websocket"), "{done}");
}

#[test]
fn an_image_for_a_chip_is_booted_by_what_has_that_chip() {
    let place = Place::new();
    let mut image = vec![0xff; 0x9000];
    image[0] = 0xe9;
    image[3] = 0x2f;
    image[12..14].copy_from_slice(&[0x0d, 0]);
    image[0x8000..0x8002].copy_from_slice(&[0xaa, 0x50]);
    place.write("merged.bin", image);
    let more = ["--firmware", "merged.bin", "--prefer", "qemu-esp,qemu,wokwi,esp-emu"];
    let script = "case $2 in help) echo 'esp32c3'; esac";
    let no_c6 = place.write("qemu-esp", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&no_c6, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = auto(&place, &["esp-emu"], &more).env("MCP_HIL_QEMU_ESP", no_c6);
    let done = run.end().exits(3).says(&[
        "auto: skipped qemu-esp: it has no esp32c6",
        "auto: skipped qemu: it cannot boot the image of `--firmware`",
        "auto: skipped wokwi: `wokwi-cli` is not installed; to get it: `curl ",
    ]);
    assert!(done.stdout.contains(": esp-emu over websocket"), "{done}");
}

#[test]
fn the_order_comes_from_the_environment_too() {
    let place = Place::new();
    let image = place.write("image.elf", "mcp-hil-image=virt 0.1.0+0;");
    let done = auto(&place, &["qemu-system-riscv32"], &[])
        .env("MCP_HIL_QEMU_IMAGE", &image)
        .env("MCP_HIL_PREFER", "native")
        .end()
        .exits(0);
    assert!(done.stdout.contains(": native over websocket"), "{done}");
    assert_eq!(done.stderr, "", "nothing was skipped\n{done}");
}

#[test]
fn what_is_not_preferred_is_not_taken() {
    let place = Place::new();
    auto(&place, &[], &["--prefer", "qemu"]).end().exits(3).says(&[
        "skipped qemu",
        "`--dut auto` found no device: tried qemu",
        "hint: ",
    ]);
}

#[test]
fn a_mistake_in_what_is_asked_ends_the_search() {
    let place = Place::new();
    auto(&place, &[], &["--mutant", "id-as-strin"])
        .end()
        .exits(2)
        .says(&["no mutant `id-as-strin`", "did you mean `id-as-string`?"]);
    let place = Place::new();
    auto(&place, &[], &["--prefer", "quemu"]).end().exits(2).says(&["quemu", "qemu"]);
}

/// A system with one board on USB, as it would tell of it.
fn usb(place: &Place, serial: &str) -> PathBuf {
    let device = "usb/sys/devices/usb1/1-2";
    for (name, value) in [
        ("idVendor", "303a"),
        ("idProduct", "1001"),
        ("serial", serial),
        ("1-2:1.0/bInterfaceNumber", "00"),
    ] {
        place.write(&format!("{device}/{name}"), format!("{value}\n"));
    }
    let terminal = place.path("usb/sys/class/tty/ttyACM0");
    std::fs::create_dir_all(&terminal).unwrap();
    symlink(place.path(&format!("{device}/1-2:1.0")), terminal.join("device")).unwrap();
    place.path("usb")
}

#[test]
fn an_attached_board_is_taken_by_its_file_and_without_one_that_is_said() {
    let place = Place::new();
    let root = usb(&place, "F4:12:FA:00:11:22");
    let run = |more: &[&str]| {
        auto(&place, &[], &[&["--prefer", "board,native"], more].concat())
            .env("MCP_HIL_USB_ROOT", &root)
            .env("MCP_HIL_LOCKS", place.path("locks"))
            .end()
    };
    run(&[]).exits(0).says(&[
        "skipped board: no file in `ci/duts` describes the board at ",
        "to get it: `mcp-hil duts --write ci/duts/NAME.toml`",
    ]);
    let file = |serial: &str| {
        format!("name = \"desk\"\ntarget = \"board\"\n[board]\nserial = \"{serial}\"\n")
    };
    place.write("ci/duts/a-broken.toml", "name = ");
    place.write("ci/duts/b-other.toml", file("F4:12:FA:00:11:23"));
    place.write("ci/duts/c-this.toml", file("f4:12:fa:00:11:22"));
    run(&["--listen", "127.0.0.1:0"])
        .exits(2)
        .says(&["a board cannot connect to `127.0.0.1`", "hint: leave it out"]);
    // It is chosen, and then it has no port that could be opened.
    let done = run(&[]).exits(3);
    if done.stderr.contains("a board cannot connect to this host") {
        // A machine without a network.
        return;
    }
    let chosen = ["listening on ", "listening on all interfaces for the board"];
    let told = chosen.iter().any(|text| done.stderr.contains(text));
    assert!(told && !done.stderr.contains("127.0.0.1"), "{done}");
    assert!(done.stdout.contains(": desk over websocket"), "{done}");
    assert!(format!("{done}").contains("cannot open the serial port"), "{done}");
}
