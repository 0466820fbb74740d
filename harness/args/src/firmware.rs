//! Arguments of `firmware`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcp_hil_boards::flash::Chip;

use super::SettingsArgs;
use super::flash::bytes;
use super::image_size::ImageSize;

/// What to do with firmware.
#[derive(Debug, Subcommand)]
pub enum FirmwareCommand {
    /// Build images of the reference device from the source tree, and print where they are
    Build(BuildArgs),
    /// Build a checkout of xiaozhi firmware as a program of this host, unmodified, and print where it is
    Host(HostArgs),
    /// Create a flash image of a program: bootloader, partition table, program, settings
    Image(ImageArgs),
    /// Create an image of the settings partition, for stock firmware
    Nvs(Box<NvsArgs>),
}

/// Arguments of `firmware build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Which images: `virt` (QEMU's RISC-V board), `esp32c3`, `esp32c6` or `esp32c3-qemu` [default: all]
    ///
    /// Images for Xtensa chips (ESP32, ESP32-S2, ESP32-S3) are not among them: they need Espressif's compiler,
    /// and have never been compiled (ci/README.md, "Images").
    #[arg(value_name = "CHIP")]
    pub chips: Vec<String>,
}

/// Arguments of `firmware host`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// The checkout of the firmware, version 2.0 or later
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub source: PathBuf,

    /// The board: `plain`, `lamp`, `display` or `camera`, or one of the firmware's own, a folder below `main/boards`
    /// [default: plain]
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,

    /// A folder with components of the firmware, such as `esp-ml307` and `cjson`, beside `managed_components` and
    /// `components` of the checkout (repeatable)
    #[arg(long, value_name = "FOLDER")]
    pub components: Vec<PathBuf>,

    /// A folder with headers, and sources, that a board of the firmware's own needs beyond the kit's (repeatable)
    #[arg(long, value_name = "FOLDER")]
    pub stubs: Vec<PathBuf>,

    /// Build with sanitizers: wrong use of memory ends the program with a report, and undefined behaviour is told
    #[arg(long)]
    pub sanitize: bool,
}

/// Arguments of `firmware image`.
#[derive(Debug, Args)]
pub struct ImageArgs {
    /// The chip: esp32, esp32s2, esp32s3, esp32c3, esp32c5, esp32c6 or esp32p4
    #[arg(long, value_name = "CHIP")]
    pub chip: Chip,

    /// The program, an ELF file as the linker wrote it
    #[arg(long, value_name = "FILE")]
    pub elf: PathBuf,

    /// Content of the settings partition [default: none; it is erased]
    #[arg(long, value_name = "FILE")]
    pub nvs: Option<PathBuf>,

    /// A partition table, `.csv` or `.bin` [default: settings at 0x9000, the program at 0x10000]
    #[arg(long, value_name = "FILE")]
    pub partitions: Option<PathBuf>,

    /// Size of the flash memory
    #[arg(long, value_enum, value_name = "SIZE", default_value_t = ImageSize::Four)]
    pub size: ImageSize,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `firmware nvs`.
#[derive(Debug, Args)]
pub struct NvsArgs {
    /// Size of the partition in bytes, as in the partition table
    #[arg(long, value_name = "BYTES", default_value = "0x4000", value_parser = bytes)]
    pub size: u32,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields say it")]
    pub settings: SettingsArgs,
}
