//! ESP32 chips in Espressif's QEMU: ROM, bootloader and firmware from an image of the whole flash, and
//! an Ethernet card in the place of the radio.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mcp_hil_rig::{CONSOLE_PORT, Command};

use super::auto::Passed;
use super::emulated::{PROMPT, on_path};
use super::image::FlashImage;
use crate::plan::Refusal;
use crate::setup;

/// The name of this target.
pub(super) const KIND: &str = "qemu-esp";

/// The variable that names the program, and the one that names the folder of its ROMs.
const VARIABLE: &str = "MCP_HIL_QEMU_ESP";
const ROM_VARIABLE: &str = "MCP_HIL_QEMU_ESP_BIOS";

/// The programs: one for each family of cores. Stock QEMU has the same names.
const RISCV: &str = "qemu-system-riscv32";
const XTENSA: &str = "qemu-system-xtensa";

/// The chips that it has boards of, and the program for each.
const CHIPS: [(&str, &str); 3] = [("esp32c3", RISCV), ("esp32", XTENSA), ("esp32s3", XTENSA)];

/// The sizes of flash that it takes, in bytes: 2, 4, 8 and 16 MiB.
const FLASHES: [u64; 4] = [2 << 20, 4 << 20, 8 << 20, 16 << 20];

/// What of this host's loopback is seen in its network.
pub(super) const HOST: &str = "10.0.2.2";

/// How long it may take to list its boards.
const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// The command that brings it.
const SETUP: &str = "mcp-hil setup qemu-esp";

/// Espressif's QEMU.
#[derive(Debug, Clone)]
pub struct QemuEsp {
    program: PathBuf,
    /// Where it looks for ROMs, unless where it was installed.
    roms: Option<PathBuf>,
}

/// Whether it has a chip.
pub(super) fn has_chip(chip: &str) -> bool {
    CHIPS.iter().any(|(known, _)| *known == chip)
}

/// Whether it is installed, or else what is in the way.
pub(super) fn at_hand() -> Result<(), Passed> {
    let is_here = CHIPS
        .iter()
        .any(|(chip, name)| candidates(name).iter().any(|program| knows(program, chip)));
    if is_here {
        Ok(())
    } else {
        Err(Passed::new("Espressif's QEMU is not installed", SETUP))
    }
}

impl QemuEsp {
    /// Finds the program for the chip of an image.
    pub(super) fn find(image: &FlashImage) -> Result<Self, Refusal> {
        let chip = image.chip;
        let Some((_, name)) = CHIPS.iter().find(|(known, _)| *known == chip) else {
            return Err(Refusal::usage(
                format!(
                    "`--dut {KIND}` with an image for `{chip}`: expected one for esp32c3, esp32 or esp32s3"
                ),
                "this emulator has no other chips; `--dut esp-emu` or `--dut wokwi` may have it",
            ));
        };
        if image.flash > FLASHES[FLASHES.len() - 1] {
            return Err(Refusal::usage(
                format!(
                    "`--dut {KIND}` with an image for {} MiB of flash: expected 16 MiB at most",
                    image.flash >> 20
                ),
                "build the firmware for a smaller flash",
            ));
        }
        let program = candidates(name)
            .into_iter()
            .find(|program| knows(program, chip));
        let program = program.ok_or_else(|| {
            let what = match std::env::var_os(VARIABLE) {
                Some(named) => format!(
                    "`{VARIABLE}`: `{}` does not list the machine `{chip}` with `-M help`",
                    PathBuf::from(named).display()
                ),
                None => format!(
                    "Espressif's QEMU is not installed: expected on the PATH a `{name}` that lists the \
                     machine `{chip}` with `-M help`, as stock QEMU does not"
                ),
            };
            Refusal::bench(
                what,
                "`mcp-hil setup qemu-esp` downloads it; MCP_HIL_QEMU_ESP names a program elsewhere, and \
                 MCP_HIL_QEMU_ESP_BIOS the folder of its ROMs",
            )
        })?;
        Ok(Self {
            program,
            roms: std::env::var_os(ROM_VARIABLE).map(PathBuf::from),
        })
    }

    /// The command that boots a copy of the image: what the device writes to its flash stays over a
    /// restart, and the user's file as it is.
    pub(super) fn boot(
        &self,
        image: &FlashImage,
        config: &str,
        folder: &Path,
    ) -> io::Result<Command> {
        let flash = folder.join("flash.bin");
        image.copy_to(&flash, &FLASHES)?;
        let mut command = Command::direct(&self.program).arg("-M").arg(image.chip);
        if let Some(roms) = &self.roms {
            command = command.arg("-L").arg(roms.to_string_lossy());
        }
        // A comma in the value of an option is written twice.
        let flash = flash.to_string_lossy().replace(',', ",,");
        let serial = format!("tcp:127.0.0.1:{CONSOLE_PORT},server=off,nodelay=on");
        Ok([
            "-no-user-config",
            "-drive",
            &format!("file={flash},if=mtd,format=raw"),
            "-nic",
            "user,model=open_eth",
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            &serial,
        ]
        .into_iter()
        .fold(command, Command::arg)
        .input(format!("{config}\n"))
        .dials_console(PROMPT))
    }
}

/// The programs that may be the one of this name: named by the variable (or beside that, as releases
/// have both), else brought in by `mcp-hil setup`, else on the PATH.
fn candidates(name: &str) -> Vec<PathBuf> {
    match std::env::var_os(VARIABLE).map(PathBuf::from) {
        Some(named) => {
            let beside = named.with_file_name(name);
            vec![named, beside]
        }
        None => setup::installed(name)
            .into_iter()
            .chain(on_path(name))
            .collect(),
    }
}

/// Whether a program lists a machine. One that does not end is ended.
fn knows(program: &Path, machine: &str) -> bool {
    let child = std::process::Command::new(program)
        .args(["-M", "help"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let Some(stdout) = child.stdout.take() else {
        return false;
    };
    let (say, heard) = channel();
    std::thread::spawn(move || say.send(io::read_to_string(stdout)));
    let text = match heard.recv_timeout(LIST_PATIENCE) {
        Ok(text) => text.unwrap_or_default(),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => String::new(),
    };
    let _ = child.kill();
    let _ = child.wait();
    text.lines()
        .any(|line| line.split_whitespace().next() == Some(machine))
}
