//! ESP32 chips in Espressif's esp-emulator, with their Wi-Fi. As its documentation says; it was never
//! at hand here.

use std::io;
use std::path::{Path, PathBuf};

use mcp_hil_boards::Command;

use super::auto::Passed;
use super::emulated::{PROMPT, program};
use super::image::FlashImage;
use mcp_hil_record::error::UserError;

/// The name of this target.
pub(super) const KIND: &str = "esp-emu";

/// The program, and the variable that names another one.
const PROGRAM: &str = "esp-emu";
const VARIABLE: &str = "MCP_HIL_ESP_EMU";

/// The chips that it has, of those that images are known of.
const CHIPS: [&str; 6] = ["esp32c3", "esp32c5", "esp32c6", "esp32h2", "esp32p4", "esp32s3"];

/// What of this host's loopback is seen in its network.
pub(super) const HOST: &str = "192.168.4.1";

/// The command that brings it.
const INSTALL: &str =
    "curl -fsSL https://raw.githubusercontent.com/espressif/esp-emulator/main/install.sh | sh";

/// Espressif's esp-emulator.
#[derive(Debug, Clone)]
pub struct EspEmu {
    program: PathBuf,
}

/// Whether it has a chip.
pub(super) fn has_chip(chip: &str) -> bool {
    CHIPS.contains(&chip)
}

/// Whether it is installed, or else what is in the way.
pub(super) fn at_hand() -> Result<(), Passed> {
    match program(VARIABLE, PROGRAM) {
        Some(_) => Ok(()),
        None => Err(Passed::new(format!("`{PROGRAM}` is not installed"), INSTALL)),
    }
}

impl EspEmu {
    /// Finds the program.
    pub(super) fn find(image: &FlashImage) -> Result<Self, UserError> {
        if !has_chip(image.chip) {
            return Err(UserError::usage(
                format!(
                    "`--dut {KIND}` with an image for `{}`: expected one of {}",
                    image.chip,
                    CHIPS.join(", ")
                ),
                "this emulator supports no other chips; `--dut qemu-esp` or `--dut wokwi` may have it",
            ));
        }
        let program = program(VARIABLE, PROGRAM).ok_or_else(|| {
            UserError::bench(
                format!("the emulator `{PROGRAM}` is not installed: expected it on the PATH"),
                &format!("install it with `{INSTALL}`; {VARIABLE} names a program elsewhere"),
            )
        })?;
        Ok(Self { program })
    }

    /// The command that boots a copy of the image. The emulator writes the flash nowhere: a restart
    /// begins with the image again.
    pub(super) fn boot(
        &self,
        image: &FlashImage,
        config: &str,
        folder: &Path,
        arguments: &[String],
    ) -> io::Result<Command> {
        let flash = folder.join("flash.bin");
        image.copy_to(&flash, &[])?;
        let flash = flash.to_string_lossy();
        // It turns `\n` into the end of the line by itself.
        let line = format!("{config}\\n");
        Ok([
            "--chip",
            image.chip,
            "--firmware",
            &flash,
            "--net",
            "user",
            "--inject",
            &line,
            "--inject-on",
            PROMPT,
        ]
        .into_iter()
        .fold(Command::direct(&self.program), Command::arg)
        .args(arguments))
    }
}
