//! `mcp-hil doctor`: what is here, what is missing, and the command that brings it.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Done, Place};
use crate::usb::System;
use serde_json::Value;

/// Puts a script into the folder that is the PATH.
fn program(place: &Place, name: &str, script: &str) {
    let path = place.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Looks around where nothing is but what the test has put there.
fn doctor(place: &Place, args: &[&str], token: Option<&str>) -> Done {
    let mut hil = place.hil(["doctor"].iter().chain(args));
    hil.0
        .env("PATH", place.path("bin"))
        .env("MCP_HIL_CACHE", place.path("cache"))
        .env("MCP_HIL_USB_ROOT", place.path("usb"));
    for name in ["MCP_HIL_QEMU", "MCP_HIL_QEMU_ESP", "MCP_HIL_QEMU_IMAGE", "WOKWI_CLI_TOKEN"] {
        hil.0.env_remove(name);
    }
    hil.0.env("CARGO_TARGET_DIR", place.path("built"));
    if let Some(token) = token {
        hil.0.env("WOKWI_CLI_TOKEN", token);
    }
    hil.end()
}

fn item(done: &Done, name: &str) -> Value {
    let told: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}\n{done}"));
    let items = told["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["name"] == name);
    found.unwrap_or_else(|| panic!("no `{name}`\n{done}")).clone()
}

#[test]
fn what_is_missing_is_told_with_the_command_that_brings_it() {
    let place = Place::new();
    let done = doctor(&place, &[], None).exits(0).prints(&[
        "missing   rust target",
        "rustup target add riscv32imac-unknown-none-elf\n",
        "missing   image for qemu",
        "mcp-hil firmware build virt\n",
        "missing   qemu ",
        "apt-get install qemu-system-misc\n",
        "optional  qemu-esp",
        "mcp-hil setup qemu-esp\n",
        "optional  wokwi-cli",
        "WOKWI_CLI_TOKEN is not set",
    ]);
    let wide = done.stdout.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{done}");
    doctor(&place, &["--strict"], None).exits(3);
}

#[test]
fn what_is_here_is_told_and_no_token_is_shown() {
    let place = Place::new();
    program(&place, "qemu-system-riscv32", "echo QEMU emulator version 9.1; echo more");
    program(&place, "wokwi-cli", "echo 0.18.3");
    program(&place, "mosquitto", "exit 0");
    let libraries = place.path("libraries");
    place.write("libraries/libcore-1.rlib", "");
    program(&place, "rustc", &format!("echo {}", libraries.display()));
    place.write("built/firmware/riscv32imac-unknown-none-elf/release/mcp-hil-virt", "");
    let secret = "wok_k3nn3d4sg3h31mn1s";
    let done = doctor(&place, &["--format", "json", "--strict"], Some(secret));
    for name in ["rust target", "image for qemu", "qemu", "wokwi-cli", "wokwi token", "mosquitto"] {
        assert_eq!(item(&done, name)["state"], "ok", "{name}\n{done}");
    }
    assert_eq!(item(&done, "qemu")["what"], "QEMU emulator version 9.1");
    // This one has none of the chips.
    assert_eq!(item(&done, "qemu-esp")["state"], "optional", "{done}");
    let human = doctor(&place, &[], Some(secret)).exits(0);
    assert!(!format!("{done}{human}").contains(secret), "{done}{human}");
}

#[test]
fn espressifs_emulator_is_known_by_its_machines_wherever_it_is() {
    let place = Place::new();
    program(&place, "qemu-system-riscv32", "echo 'esp32c3   Espressif ESP32C3 machine'");
    let done = doctor(&place, &["--format", "json"], None);
    assert_eq!(item(&done, "qemu-esp")["state"], "ok", "{done}");

    let place = Place::new();
    program(&place, "nothing", "");
    let cached = "cache/qemu-esp/qemu/bin/qemu-system-riscv32";
    place.write(cached, "#!/bin/sh\necho esp32c3\n");
    std::fs::set_permissions(place.path(cached), std::fs::Permissions::from_mode(0o755)).unwrap();
    let done = doctor(&place, &["--format", "json"], None);
    assert_eq!(item(&done, "qemu-esp")["state"], "ok", "{done}");
    assert_eq!(item(&done, "qemu")["state"], "missing", "{done}");
}

#[test]
fn a_program_that_fails_is_not_taken_for_one_that_works() {
    let place = Place::new();
    program(&place, "qemu-system-riscv32", "echo libslirp.so.0 is missing >&2; exit 127");
    let done = doctor(&place, &["--format", "json"], None);
    assert_eq!(item(&done, "qemu")["state"], "missing", "{done}");
    let what = item(&done, "qemu")["what"].to_string();
    assert!(what.contains("does not report its version"), "{what}");
}

#[test]
fn boards_are_told_and_what_is_in_their_way() {
    let place = Place::new();
    let system = System::new("doctor");
    system.usb("1-2", "303a:1001", &[]);
    system.port("1-2", 0, "ttyACM0");
    let look = || {
        let hil = place.hil(["doctor", "--format", "json"]);
        hil.env("MCP_HIL_USB_ROOT", &system.0).end()
    };
    // As in a container that was not given it.
    let done = look();
    assert_eq!(item(&done, "boards")["state"], "missing", "{done}");
    std::fs::create_dir_all(system.0.join("dev")).unwrap();
    std::fs::write(system.0.join("dev/ttyACM0"), "").unwrap();
    let done = look();
    assert_eq!(item(&done, "boards")["state"], "ok", "{done}");
    system.usb("1-3", "10c4:ea60", &[]);
    let done = look();
    assert_eq!(item(&done, "board, no port")["state"], "missing", "{done}");
}
