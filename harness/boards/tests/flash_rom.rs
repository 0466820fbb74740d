//! The genuine ROM of an ESP32-C3 is flashed, in Espressif's QEMU, and boots what was flashed. Needs that
//! emulator: `MCP_HIL_QEMU_ESP` names it, as `mcp-hil setup qemu-esp` brings it.

mod missing;
mod program;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mcp_hil_boards::flash::worker::{open, usb};
use mcp_hil_boards::flash::{
    Chip, FlashImage, FlashJob, FlashSize, ImageParts, Provision, Resets, write,
};
use program::Program;

/// GPIO9 low and GPIO8 high at the reset: the ROM waits for its flash to be written.
const DOWNLOAD: [&str; 4] =
    ["-global", "driver=esp32c3.gpio,property=strap_mode,value=0x02", "-icount", "shift=3"];

struct Emulator(Child);

impl Emulator {
    fn start(program: &Path, flash: &Path, serial: &str, more: &[&str]) -> Self {
        let drive = format!("file={},if=mtd,format=raw", flash.display());
        let mut command = Command::new(program);
        if let Some(roms) = std::env::var_os("MCP_HIL_QEMU_ESP_BIOS") {
            command.arg("-L").arg(roms);
        }
        let child = command
            .args(["-M", "esp32c3", "-display", "none", "-monitor", "none"])
            .args(["-drive", &drive, "-serial", serial])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.expect("MCP_HIL_QEMU_ESP names an emulator that starts"))
    }

    /// The first line with a text, on standard output.
    fn line(&mut self, text: &str) -> String {
        let output = BufReader::new(self.0.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let found = lines.find(|line| line.contains(text));
        // What it says later has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        found.unwrap_or_else(|| panic!("the emulator ended without `{text}`"))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_genuine_rom_is_flashed_and_boots_it() {
    let Some(qemu) = std::env::var_os("MCP_HIL_QEMU_ESP").map(PathBuf::from) else {
        missing::QEMU_ESP.is_missing("a genuine ROM runs there alone");
        return;
    };
    let memory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rom.bin");
    std::fs::write(&memory, vec![0xff; FlashSize::Four.bytes()]).unwrap();
    let elf = Program::for_c3().elf();
    let image = FlashImage::new(ImageParts {
        chip: Chip::Esp32c3,
        size: FlashSize::Four,
        elf: &elf,
        nvs: None,
        partitions: None,
    })
    .unwrap();
    let mut job = FlashJob::program(Chip::Esp32c3, &image, Provision::Nothing).unwrap();
    job.resets = Resets::None;

    let mut emulator = Emulator::start(&qemu, &memory, "pty", &DOWNLOAD);
    let line = emulator.line("char device redirected to ");
    let mut words = line.split_whitespace();
    let port = words.find(|word| word.starts_with("/dev/")).unwrap();
    let port = Path::new(port);
    let done = write(open(port).unwrap(), usb(port), &job, &mut |_| {});
    let done = done.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done.attached.chip, "esp32c3");
    assert!(done.verified && done.written > 0);
    drop((done, emulator));
    assert!(std::fs::read(&memory).unwrap() == image.merged());

    let mut emulator = Emulator::start(&qemu, &memory, "stdio", &[]);
    emulator.line("2nd stage bootloader");
}
