//! ESP32 chips in Espressif's QEMU: ROM, bootloader and firmware from an image of the whole flash, and
//! an Ethernet card in the place of the radio.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mcp_hil_boards::{CONSOLE_PORT, Command};

use super::auto::Passed;
use super::emulated::{PROMPT, on_path};
use super::image::FlashImage;
use crate::environment::given;
use crate::setup;
use mcp_hil_record::error::UserError;

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

/// What `idf.py qemu` passes for a chip (`tools/idf_py_actions/qemu_ext.py` of ESP-IDF).
struct Board {
    /// The size of its memory, where that is not the machine's own: with it comes external RAM.
    memory: Option<&'static str>,
    /// Whether there are boards whose external RAM is of the octal kind.
    may_be_octal: bool,
    /// How many bytes of eFuses it has.
    fuses: usize,
    /// Which of them say something: its revision, without which a bootloader refuses images for later ones.
    burnt: &'static [(usize, u8)],
}

/// Revision 3.
const ESP32: Board =
    Board { memory: Some("4M"), may_be_octal: false, fuses: 124, burnt: &[(13, 0x80), (22, 0x10)] };

/// Revision 0.3.
const ESP32C3: Board =
    Board { memory: None, may_be_octal: false, fuses: 1024, burnt: &[(38, 0x0c)] };

/// Revision 0.3.
const ESP32S3: Board =
    Board { memory: Some("32M"), may_be_octal: true, fuses: 1024, burnt: &[(38, 0x0c)] };

/// What stands in an application whose external RAM is of the octal kind: the name under which its driver
/// logs (`esp_psram_impl_octal.c` of ESP-IDF). The emulator has to be told of that kind.
const OCTAL_RAM: &[u8] = b"octal_psram\0";

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
        return Ok(());
    }
    match given(VARIABLE).map(PathBuf::from) {
        None => Err(Passed::new("Espressif's QEMU is not installed", SETUP)),
        Some(named) => {
            let what = match named.is_file() {
                true => "which lists no ESP32 with `-M help` (it may be stock QEMU)",
                false => "which does not exist",
            };
            let why = format!("`{VARIABLE}` names `{}`, {what}", named.display());
            Err(Passed { why, command: None })
        }
    }
}

impl QemuEsp {
    /// Finds the program for the chip of an image.
    pub(super) fn find(image: &FlashImage) -> Result<Self, UserError> {
        let chip = image.chip;
        let Some((_, name)) = CHIPS.iter().find(|(known, _)| *known == chip) else {
            return Err(UserError::usage(
                format!(
                    "`--dut {KIND}` with an image for `{chip}`: expected one for esp32c3, esp32 or esp32s3"
                ),
                "this emulator supports no other chips; `--dut esp-emu` or `--dut wokwi` may have it",
            ));
        };
        if image.flash > FLASHES[FLASHES.len() - 1] {
            return Err(UserError::usage(
                format!(
                    "`--dut {KIND}` with an image for {} MiB of flash: expected 16 MiB at most",
                    image.flash >> 20
                ),
                "build the firmware for a smaller flash",
            ));
        }
        let program = candidates(name).into_iter().find(|program| knows(program, chip));
        let program = program.ok_or_else(|| {
            let what = match given(VARIABLE) {
                Some(named) => format!(
                    "`{VARIABLE}`: `{}` does not list the machine `{chip}` with `-M help`",
                    PathBuf::from(named).display()
                ),
                None => format!(
                    "Espressif's QEMU is not installed: expected a `{name}` on the PATH that lists \
                     the machine `{chip}` with `-M help` (stock QEMU does not)"
                ),
            };
            UserError::bench(
                what,
                "`mcp-hil setup qemu-esp` downloads it; MCP_HIL_QEMU_ESP names a program elsewhere, and \
                 MCP_HIL_QEMU_ESP_BIOS the folder of its ROMs",
            )
        })?;
        Ok(Self { program, roms: given(ROM_VARIABLE).map(PathBuf::from) })
    }

    /// The command that boots a copy of the image: what the device writes to its flash stays over a
    /// restart, and the user's file as it is. `arguments` come last, and so override what is before them.
    pub(super) fn boot(
        &self,
        image: &FlashImage,
        config: &str,
        folder: &Path,
        arguments: &[String],
    ) -> io::Result<Command> {
        let (chip, board) = (image.chip, board(image.chip));
        let flash = folder.join("flash.bin");
        image.copy_to(&flash, &FLASHES)?;
        let fuses = folder.join("efuse.bin");
        std::fs::write(&fuses, board.efuses())?;
        let mut command = Command::direct(&self.program).arg("-M").arg(chip);
        if let Some(memory) = board.memory {
            command = command.arg("-m").arg(memory);
        }
        if let Some(roms) = &self.roms {
            command = command.arg("-L").arg(roms.to_string_lossy());
        }
        // A comma in the value of an option is written twice.
        let value = |path: &Path| path.to_string_lossy().replace(',', ",,");
        command = [
            "-no-user-config",
            "-drive",
            &format!("file={},if=mtd,format=raw", value(&flash)),
            "-drive",
            &format!("file={},if=none,format=raw,id=efuse", value(&fuses)),
            "-global",
            &format!("driver=nvram.{chip}.efuse,property=drive,value=efuse"),
            // They count the time of this host, and would bite a chip that waits for a busy one.
            "-global",
            &format!("driver=timer.{chip}.timg,property=wdt_disable,value=true"),
        ]
        .into_iter()
        .fold(command, Command::arg);
        if board.may_be_octal && image.holds(OCTAL_RAM)? {
            let octal = "driver=ssi_psram,property=is_octal,value=true";
            command = command.arg("-global").arg(octal);
        }
        if !arguments.iter().any(|argument| argument == "-nic") {
            command = command.arg("-nic").arg("user,model=open_eth");
        }
        let serial = format!("tcp:127.0.0.1:{CONSOLE_PORT},server=off,nodelay=on");
        Ok(["-display", "none", "-monitor", "none", "-serial", &serial]
            .into_iter()
            .fold(command, Command::arg)
            .args(arguments)
            .input(format!("{config}\n"))
            .dials_console(PROMPT))
    }
}

impl Board {
    /// Its eFuses, as the emulator reads them.
    fn efuses(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.fuses];
        for (at, byte) in self.burnt {
            bytes[*at] = *byte;
        }
        bytes
    }
}

fn board(chip: &str) -> Board {
    match chip {
        "esp32" => ESP32,
        "esp32s3" => ESP32S3,
        _ => ESP32C3,
    }
}

/// The programs that may be the one of this name: named by the variable (or beside that, as releases
/// have both), else brought in by `mcp-hil setup`, else on the PATH.
fn candidates(name: &str) -> Vec<PathBuf> {
    match given(VARIABLE).map(PathBuf::from) {
        Some(named) => {
            let beside = named.with_file_name(name);
            vec![named, beside]
        }
        None => setup::installed(name).into_iter().chain(on_path(name)).collect(),
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
    text.lines().any(|line| line.split_whitespace().next() == Some(machine))
}
