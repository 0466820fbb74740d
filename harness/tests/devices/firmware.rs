//! `mcp-hil firmware`: the script of the source tree builds, and flash images are written.

use crate::program::{Program, pattern};
use crate::support::Place;

#[test]
fn the_script_of_the_tree_builds_and_its_paths_are_printed() {
    let place = Place::new();
    place.write("ci/firmware.sh", "for image; do echo \"$PWD/$image.elf\"; done\n");
    let done = place.hil(["firmware", "build", "virt", "esp32c3"]).end().exits(0);
    let folder = place.path("").canonicalize().unwrap();
    let expected: String = ["virt", "esp32c3"]
        .map(|name| format!("{}\n", folder.join(format!("{name}.elf")).display()))
        .concat();
    assert_eq!(done.stdout, expected, "{done}");
}

#[test]
fn the_flash_memory_for_espressifs_qemu_comes_with_its_build() {
    let place = Place::new();
    place.write("c3.elf", Program::for_c3().elf());
    place.write(
        "ci/firmware.sh",
        "for image; do case $image in *-qemu) echo \"$PWD/c3.elf\";; *) echo other.elf;; esac; done\n",
    );
    std::fs::create_dir_all(place.path("target/firmware")).unwrap();
    let done = place
        .hil(["firmware", "build"])
        .env("CARGO_TARGET_DIR", place.path("target"))
        .end()
        .exits(0);
    let last = done.stdout.lines().last().unwrap_or_default();
    assert!(last.ends_with("target/firmware/mcp-hil-esp32c3.bin"), "{done}");
    assert_eq!(done.stdout.lines().count(), 5, "{done}");
    let memory = std::fs::read(last).unwrap();
    assert_eq!(memory.len(), 4 * 1024 * 1024);
    assert_eq!((memory[0], memory[0x1_0000]), (0xe9, 0xe9));
}

#[test]
fn a_build_that_fails_is_trouble_of_the_bench() {
    let place = Place::new();
    place.write("ci/firmware.sh", "echo why >&2; exit 1\n");
    place.hil(["firmware", "build"]).end().exits(3).says(&[
        "why",
        "`bash ci/firmware.sh virt esp32c3 esp32c6 esp32c3-qemu` ended with",
        "hint: ",
    ]);
}

/// Whoever chooses such a chip is told that nobody has compiled its image yet.
#[test]
fn an_image_for_an_xtensa_chip_is_refused_with_the_reason() {
    let place = Place::new();
    place
        .hil(["firmware", "build", "esp32s3"])
        .end()
        .exits(2)
        .says(&["never been compiled", "`ci/README.md`"]);
}

/// The script of this tree, not a stand-in: it knows what it does not know.
#[test]
fn an_image_that_nobody_knows_is_refused() {
    let place = Place::new();
    place
        .hil(["firmware", "build", "pdp11"])
        .end()
        .exits(2)
        .says(&["`pdp11`", "does not know such an image"]);
}

#[test]
fn a_flash_image_is_written_and_its_parts_are_told() {
    let place = Place::new();
    let program = Program::for_c3().elf();
    place.write("app.elf", program);
    place.write("nvs.bin", pattern(0x6000));
    let parts = ["--chip", "esp32c3", "--elf", "app.elf", "--nvs", "nvs.bin"];
    let rest = ["--size", "2MB", "--output", "out.bin"];
    let done = place
        .hil(["firmware", "image"].into_iter().chain(parts).chain(rest))
        .end()
        .exits(0)
        .prints(&["0x00000000", "bootloader", "0x00008000", "partition table"])
        .prints(&["0x00009000     24576 bytes  settings", "0x00010000", "program"]);
    assert!(done.stdout.ends_with("2097152 bytes  out.bin\n"), "{done}");
    let memory = std::fs::read(place.path("out.bin")).unwrap();
    assert_eq!(memory.len(), 2 * 1024 * 1024);
    assert_eq!((memory[0], memory[0x8000], memory[0x1_0000]), (0xe9, 0xaa, 0xe9));
    assert_eq!(&memory[0x9000..0xf000], &pattern(0x6000)[..]);
}

#[test]
fn what_is_wrong_is_named_with_its_file_and_nothing_is_written() {
    let place = Place::new();
    place.write("app.elf", Program::for_c3().elf());
    place.write("text.elf", "no program");
    place.write("short.bin", [0xff; 100]);
    let refused = |args: &[&str], texts: &[&str]| {
        let done = place.hil(["firmware", "image", "--output", "out.bin"].iter().chain(args)).end();
        done.exits(2).says(texts);
        assert!(!place.path("out.bin").exists(), "{args:?}");
    };
    let c3 = ["--chip", "esp32c3"];
    let with = |rest: &[&'static str]| [&c3[..], rest].concat();
    refused(&with(&["--elf", "gone.elf"]), &["cannot read `gone.elf`", "hint: check `--elf`"]);
    refused(&with(&["--elf", "text.elf"]), &["`text.elf`: the program is not an ELF file"]);
    refused(
        &with(&["--elf", "app.elf", "--nvs", "short.bin"]),
        &["`short.bin`: the settings do not fit", "got 100"],
    );
    refused(
        &["--chip", "esp32c6", "--elf", "app.elf"],
        &["`app.elf`: the program does not run on esp32c6", "(`--chip`)"],
    );
    refused(&["--chip", "esp8266", "--elf", "app.elf"], &["expected one of esp32, "]);
    refused(&with(&["--elf", "app.elf", "--size", "3MB"]), &["2MB, 4MB, 8MB, 16MB"]);
}
