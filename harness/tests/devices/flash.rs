//! `mcp-hil flash`: a child process flashes a stand-in for a board, and is ended when the board hangs.

use std::time::{Duration, Instant};

use crate::mock::Mock;
use crate::program::Program;
use crate::support::Place;

const WIFI: [&str; 6] = [
    "--wifi",
    "Bench",
    "--wifi-password-env",
    "BENCH_PASSWORD",
    "--ota-url",
    "http://192.168.1.10:8003/xiaozhi/ota/",
];

fn place() -> Place {
    let place = Place::new();
    place.write("c3.elf", Program::for_c3().elf());
    place
}

#[test]
fn a_board_is_flashed_with_settings_and_the_second_time_not_at_all() {
    let Some(mock) = Mock::start("cli", "esp32c3") else {
        return;
    };
    let place = place();
    let port = mock.port.to_string_lossy().into_owned();
    let flash = || {
        let what = ["flash", "--port", &port, "--chip", "esp32c3", "--firmware", "c3.elf"];
        place
            .hil(what.into_iter().chain(WIFI))
            .env("BENCH_PASSWORD", "correct horse")
            .end()
            .exits(0)
    };
    let done = flash();
    assert!(done.stdout.starts_with("esp32c3 "), "{done}");
    assert!(done.stdout.contains("4 MB, "), "{done}");
    assert!(done.stdout.contains("bytes written and verified"), "{done}");
    assert!(!done.stdout.contains("horse") && !done.stderr.contains("horse"), "{done}");
    // A bar is for terminals.
    assert_eq!(done.stderr, "");

    // What lies there is what `firmware` makes of the same.
    let nvs = ["firmware", "nvs", "--size", "0x6000", "-o", "nvs.bin"];
    let made = place
        .hil(nvs.into_iter().chain(WIFI))
        .env("BENCH_PASSWORD", "correct horse")
        .end()
        .exits(0);
    assert_eq!(made.stdout, "4 settings in 24576 bytes  nvs.bin\n");
    let image = ["firmware", "image", "--chip", "esp32c3", "--elf", "c3.elf"];
    let rest = ["--nvs", "nvs.bin", "-o", "flash.bin"];
    place.hil(image.into_iter().chain(rest)).end().exits(0);
    let expected = std::fs::read(place.path("flash.bin")).unwrap();
    assert!(mock.memory() == expected, "the flash memory is the image");

    let done = flash();
    assert!(done.stdout.contains("nothing written: all "), "{done}");
}

#[test]
fn a_port_that_another_program_reads_is_told_at_once_with_its_name() {
    let Some(mock) = Mock::start("cli-read", "esp32c3") else {
        return;
    };
    let place = place();
    let port = mock.port.to_string_lossy().into_owned();
    let mut cat = std::process::Command::new("cat")
        .stdin(std::fs::File::open(&port).unwrap())
        .spawn()
        .unwrap();
    let what = ["flash", "--port", &port, "--chip", "esp32c3", "--firmware", "c3.elf"];
    let done = place.hil(what).end();
    cat.kill().unwrap();
    cat.wait().unwrap();
    let who = format!("`cat` (process {}) has it open", cat.id());
    done.exits(3).says(&[&who]);
}

#[test]
fn a_merged_image_and_parts_are_flashed_with_settings_of_a_file() {
    let Some(mock) = Mock::start("cli-merged", "esp32c3") else {
        return;
    };
    let place = place();
    let port = mock.port.to_string_lossy().into_owned();
    let image = ["firmware", "image", "--chip", "esp32c3", "--elf", "c3.elf", "-o", "flash.bin"];
    place.hil(image).end().exits(0);
    let nvs = ["firmware", "nvs", "--uuid", "one", "--size", "0x6000", "-o", "nvs.bin"];
    place.hil(nvs).end().exits(0);
    let merged = ["flash", "--port", &port, "--firmware", "flash.bin", "--nvs", "nvs.bin"];
    place.hil(merged).end().exits(0);
    let mut expected = std::fs::read(place.path("flash.bin")).unwrap();
    let nvs = std::fs::read(place.path("nvs.bin")).unwrap();
    expected[0x9000..0xf000].copy_from_slice(&nvs);
    assert!(mock.memory() == expected, "the flash memory is the image");

    place.write("part.bin", [0x5a; 5000]);
    let part = ["flash", "--port", &port, "--part", "0x200000=part.bin"];
    place.hil(part).end().exits(0);
    expected[0x20_0000..0x20_0000 + 5000].fill(0x5a);
    assert!(mock.memory() == expected, "and the part in its place");
}

#[test]
fn a_board_that_hangs_is_trouble_of_the_bench_and_over_within_a_bound() {
    let Some(mock) = Mock::with("cli-mute", "esp32c3", "mute", 22, &[]) else {
        return;
    };
    let place = place();
    let port = mock.port.to_string_lossy().into_owned();
    let began = Instant::now();
    let what = ["flash", "--port", &port, "--chip", "esp32c3", "--firmware", "c3.elf"];
    place.hil(what.into_iter().chain(["--silence", "2"])).end().exits(3).says(&[
        "hangs: expected progress within 2 s, got none while writing the bootloader",
        "hint: power-cycle it",
    ]);
    // espflash alone waits longer for a block, and would try again.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn trouble_of_the_bench_says_what_it_is() {
    let place = place();
    let flash = |rest: &[&str]| {
        let what = ["flash", "--chip", "esp32c3", "--firmware", "c3.elf"];
        place.hil(what.iter().chain(rest)).end()
    };
    flash(&["--port", "/dev/mcp-hil-no-such-port"]).exits(3).says(&[
        "cannot flash the board at `/dev/mcp-hil-no-such-port`",
        "cannot be opened",
        "hint: ",
    ]);
    if let Some(mock) = Mock::start("cli-chip", "esp32s3") {
        let port = mock.port.to_string_lossy().into_owned();
        flash(&["--port", &port]).exits(3).says(&["expected esp32c3, got esp32s3", "hint: "]);
    }
    if cfg!(not(feature = "jtag")) {
        flash(&["--probe"]).exits(3).says(&["--features jtag"]);
    }
}

#[test]
fn what_cannot_be_flashed_is_refused_before_any_port_is_touched() {
    let place = place();
    place.write("text.bin", "no image");
    let port = "/dev/mcp-hil-no-such-port";
    let refused = |rest: &[&str], says: &[&str]| {
        let what = ["flash", "--port", port];
        place.hil(what.iter().chain(rest)).end().exits(2).says(says);
    };
    refused(&["--firmware", "none.bin"], &["cannot read `none.bin`", "check `--firmware`"]);
    refused(&["--firmware", "text.bin"], &["`text.bin`: this is not a merged flash image"]);
    refused(&["--firmware", "c3.elf"], &["expected `--chip` with a program"]);
    refused(
        &["--firmware", "c3.elf", "--chip", "esp32s3"],
        &["does not run on esp32s3", "(`--chip`)"],
    );
    refused(&["--part", "0x10=c3.elf"], &["`c3.elf` cannot be at 0x10"]);
    refused(&["--part", "app.bin"], &["expected an offset and a file"]);
    refused(&["--part", "0x10000=c3.elf", "--uuid", "one"], &["nothing says where settings go"]);
    let open = ["--firmware", "c3.elf", "--chip", "esp32c3", "--wifi", "Bench"];
    let with = |variable| open.into_iter().chain(["--wifi-password-env", variable]);
    let unset: Vec<&str> = with("MCP_HIL_NOT_SET").collect();
    refused(&unset, &["`MCP_HIL_NOT_SET` holds no password", "hint: "]);
    // A password is checked by its length, and never shown.
    let what = ["flash", "--port", port].into_iter().chain(with("SHORT_PASSWORD"));
    let done = place.hil(what).env("SHORT_PASSWORD", "s3cret").end().exits(2);
    done.says(&["8 to 64 bytes, got 6 bytes"]);
}
