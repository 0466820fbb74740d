//! Emulators of ESP32 chips: what they have in common. Each boots an image of the whole flash and
//! brings the network of the emulated chip to the loopback of this host.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_hil_boards::Command;
use serde_json::{Map, Value};

use super::auto::{Failed, Passed};
use super::image::FlashImage;
use super::{Asked, Difference, address, esp_emu, qemu_esp, wokwi};
use crate::environment::given;
use mcp_hil_record::error::UserError;

/// What the reference device says on its console when it waits for a line `config {...}`. Other firmware
/// never says it, and is never told.
pub(super) const PROMPT: &str = "Waiting for a line `config";

/// One of the emulators.
#[derive(Debug, Clone)]
pub enum Emulator {
    /// Espressif's QEMU.
    QemuEsp(qemu_esp::QemuEsp),
    /// Espressif's esp-emulator.
    EspEmu(esp_emu::EspEmu),
    /// Wokwi's simulator, in its cloud.
    Wokwi(wokwi::Wokwi),
}

/// A chip in an emulator.
#[derive(Debug, Clone)]
pub struct Emulated {
    /// Who emulates it.
    pub emulator: Emulator,
    /// What is in its flash.
    pub image: FlashImage,
    /// What is to be different about the reference device.
    pub difference: Option<Difference>,
    /// Further arguments of the emulator.
    pub arguments: Vec<String>,
}

/// The names of these targets.
pub(super) const KINDS: [&str; 3] = [qemu_esp::KIND, esp_emu::KIND, wokwi::KIND];

/// Whether an emulator is installed and there is something to boot that it has the chip for, or else
/// what is in the way.
pub(super) fn at_hand(kind: &str, asked: &Asked<'_>) -> Result<(), Failed> {
    let image = match asked.firmware.is_some() || super::image::is_built() {
        true => Some(FlashImage::find(kind, asked).map_err(Failed::Refused)?),
        false => None,
    };
    let (installed, has_chip): (_, fn(&str) -> bool) = match kind {
        qemu_esp::KIND => (qemu_esp::at_hand(), qemu_esp::has_chip),
        esp_emu::KIND => (esp_emu::at_hand(), esp_emu::has_chip),
        _ => (wokwi::at_hand(), wokwi::has_chip),
    };
    installed.map_err(Failed::Passed)?;
    let why = match image {
        Some(image) if has_chip(image.chip) => return Ok(()),
        Some(image) => format!("it has no {}", image.chip),
        None => "there is no image to boot; `--firmware FILE.bin` names one".to_owned(),
    };
    Err(Failed::Passed(Passed { why, command: None }))
}

impl Emulated {
    /// Finds the image, and an emulator for its chip.
    pub(super) fn find(kind: &str, asked: &Asked<'_>) -> Result<Self, UserError> {
        let image = FlashImage::find(kind, asked)?;
        if let (Some(difference), None) = (asked.difference, &image.version) {
            let word = difference.kind();
            return Err(UserError::usage(
                format!(
                    "`--{word}` with `{}`: only images of the reference device have {word}s",
                    image.path.display()
                ),
                "leave one of them out",
            ));
        }
        let emulator = match kind {
            qemu_esp::KIND => Emulator::QemuEsp(qemu_esp::QemuEsp::find(&image)?),
            esp_emu::KIND => Emulator::EspEmu(esp_emu::EspEmu::find(&image)?),
            _ => Emulator::Wokwi(wokwi::Wokwi::find(&image)?),
        };
        Ok(Self {
            emulator,
            image,
            difference: asked.difference.cloned(),
            arguments: asked.arguments.to_vec(),
        })
    }

    /// The name of this target.
    pub fn kind(&self) -> &'static str {
        match self.emulator {
            Emulator::QemuEsp(_) => qemu_esp::KIND,
            Emulator::EspEmu(_) => esp_emu::KIND,
            Emulator::Wokwi(_) => wokwi::KIND,
        }
    }

    /// Who emulates it, for people.
    pub fn emulator(&self) -> &'static str {
        match self.emulator {
            Emulator::QemuEsp(_) => "Espressif's QEMU",
            Emulator::EspEmu(_) => "esp-emulator",
            Emulator::Wokwi(_) => "Wokwi",
        }
    }

    /// How long it may take until the device connects: one of them is in a cloud.
    pub fn patience(&self) -> Duration {
        match self.emulator {
            Emulator::QemuEsp(_) | Emulator::EspEmu(_) => Duration::from_secs(30),
            Emulator::Wokwi(_) => Duration::from_secs(90),
        }
    }

    /// How a device that has not connected could.
    pub(super) fn how_to_connect(&self) -> &'static str {
        match self.emulator {
            Emulator::QemuEsp(_) => {
                "the console shows how far the image got; this emulator has no Wi-Fi: the firmware \
                 must be built with its Ethernet (`open_eth`), and know its configuration URL"
            }
            Emulator::EspEmu(_) => {
                "the console shows how far the image got; the emulator's network is `myssid` with \
                 the password `mypassword`"
            }
            Emulator::Wokwi(_) => {
                "the console shows how far the image got; the simulator's network is \
                 `Wokwi-GUEST`, and it reaches this host only through `wokwigw`; without that, \
                 give `--listen` an address of this host that can be reached from the internet"
            }
        }
    }

    /// What no run on it can show.
    pub(super) fn cannot_show(&self) -> &'static [&'static str] {
        match self.emulator {
            Emulator::QemuEsp(_) => {
                &["Wi-Fi", "wear of flash", "power", "timing of a chip", "watchdogs"]
            }
            Emulator::EspEmu(_) | Emulator::Wokwi(_) => {
                &["radio", "wear of flash", "power", "timing of a chip"]
            }
        }
    }

    /// An address of the harness, as the device sees it.
    pub(super) fn seen(&self, text: &str) -> String {
        let host = match self.emulator {
            Emulator::QemuEsp(_) => qemu_esp::HOST,
            Emulator::EspEmu(_) => esp_emu::HOST,
            Emulator::Wokwi(_) => wokwi::HOST,
        };
        address::seen(text, host)
    }

    /// The command that boots the image; what it needs is left in `folder`.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub(super) fn boot(&self, ota_url: &str, folder: &Path) -> io::Result<Command> {
        let mut config = Map::new();
        config.insert("ota_url".into(), self.seen(ota_url).into());
        if let Some(difference) = &self.difference {
            config.insert(difference.kind().into(), difference.name().into());
        }
        let line = format!("config {}", Value::Object(config));
        std::fs::create_dir_all(folder)?;
        // Emulators read from folders of their own, and QEMU's options know no relative ones.
        let folder = folder.canonicalize()?;
        let more = &self.arguments;
        let command = match &self.emulator {
            Emulator::QemuEsp(qemu) => qemu.boot(&self.image, &line, &folder, more),
            Emulator::EspEmu(emulator) => emulator.boot(&self.image, &line, &folder, more),
            Emulator::Wokwi(wokwi) => wokwi.boot(&self.image, &line, &folder, more),
        };
        // A chip has no means to end its emulator.
        command.map(|command| command.emulator(None))
    }
}

/// A program: named by a variable, else found on the PATH.
pub(super) fn program(variable: &str, name: &str) -> Option<PathBuf> {
    given(variable).map(PathBuf::from).or_else(|| on_path(name))
}

/// A program on the PATH.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
