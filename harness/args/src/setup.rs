//! Arguments of `setup`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What to install.
#[derive(Debug, Subcommand)]
pub enum SetupCommand {
    /// Espressif's QEMU, which emulates the chips: a pinned release, verified, into a cache folder
    QemuEsp(SetupArgs),
}

/// The cores of chips, for each of which Espressif's QEMU has a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cores {
    /// ESP32-C3
    Riscv,
    /// ESP32 and ESP32-S3
    Xtensa,
}

impl Cores {
    /// What QEMU calls them.
    pub fn family(self) -> &'static str {
        match self {
            Self::Riscv => "riscv32",
            Self::Xtensa => "xtensa",
        }
    }

    /// The name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Riscv => "qemu-system-riscv32",
            Self::Xtensa => "qemu-system-xtensa",
        }
    }
}

/// Arguments of `setup qemu-esp`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Which cores to emulate
    #[arg(long, value_enum, value_name = "CORES", default_value_t = Cores::Riscv)]
    pub cores: Cores,

    /// Where to download the archive (`.tar.xz`) [default: the pinned release on GitHub]
    #[arg(long, value_name = "URL", env = "MCP_HIL_QEMU_ESP_URL")]
    pub url: Option<String>,

    /// Required SHA-256 of the archive [default: that of the pinned release for this computer]
    #[arg(long, value_name = "HEX", env = "MCP_HIL_QEMU_ESP_SHA256")]
    pub sha256: Option<String>,

    /// The cache folder [default: `mcp-hil` in the user's cache folder, such as `~/.cache/mcp-hil`]
    #[arg(long, value_name = "FOLDER", env = "MCP_HIL_CACHE")]
    pub cache: Option<PathBuf>,

    /// Download again even if it is already there
    #[arg(long)]
    pub force: bool,
}
