//! Arguments of `firmware`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use mcp_hil_rig::flash::{Chip, FlashSize};

use super::SettingsArgs;
use super::flash::bytes;

/// What to do with firmware.
#[derive(Debug, Subcommand)]
pub enum FirmwareCommand {
    /// Build images of the reference device from the source tree, and print where they are
    Build(BuildArgs),
    /// Make a flash image of a program: bootloader, partition table, program, settings
    Image(ImageArgs),
    /// Make an image of the partition that keeps settings, for stock firmware
    Nvs(Box<NvsArgs>),
}

/// Arguments of `firmware build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// For what: `virt` (QEMU's RISC-V board), `esp32c3`, `esp32c6` or `esp32c3-qemu` [default: all]
    #[arg(value_name = "CHIP")]
    pub chips: Vec<String>,
}

/// Arguments of `firmware image`.
#[derive(Debug, Args)]
pub struct ImageArgs {
    /// The chip: esp32, esp32s2, esp32s3, esp32c3, esp32c5, esp32c6 or esp32p4
    #[arg(long, value_name = "CHIP")]
    pub chip: Chip,

    /// The program, an ELF file as the linker left it
    #[arg(long, value_name = "FILE")]
    pub elf: PathBuf,

    /// What is to stand in the partition of settings [default: nothing; it is erased]
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

/// Sizes of flash memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageSize {
    /// 2 MiB
    #[value(name = "2MB")]
    Two,
    /// 4 MiB
    #[value(name = "4MB")]
    Four,
    /// 8 MiB
    #[value(name = "8MB")]
    Eight,
    /// 16 MiB
    #[value(name = "16MB")]
    Sixteen,
}

impl From<ImageSize> for FlashSize {
    fn from(size: ImageSize) -> Self {
        match size {
            ImageSize::Two => Self::Two,
            ImageSize::Four => Self::Four,
            ImageSize::Eight => Self::Eight,
            ImageSize::Sixteen => Self::Sixteen,
        }
    }
}

/// Arguments of `firmware nvs`.
#[derive(Debug, Args)]
pub struct NvsArgs {
    /// Size of the partition in bytes, as the partition table has it
    #[arg(long, value_name = "BYTES", default_value = "0x4000", value_parser = bytes)]
    pub size: u32,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields say it")]
    pub settings: SettingsArgs,
}

impl From<FlashSize> for ImageSize {
    fn from(size: FlashSize) -> Self {
        match size {
            FlashSize::Two => Self::Two,
            FlashSize::Four => Self::Four,
            FlashSize::Eight => Self::Eight,
            FlashSize::Sixteen => Self::Sixteen,
        }
    }
}
