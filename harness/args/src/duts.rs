//! Arguments of `duts`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Where the files of devices are, unless told otherwise.
pub const DUTS: &str = "ci/duts";

/// Arguments of `duts`.
#[derive(Debug, Args)]
pub struct DutsArgs {
    /// Ask the chips for their type, flash size and MAC address. This resets the boards; those in use
    /// are left alone
    #[arg(long)]
    pub probe_chips: bool,

    /// Create a file for the board, such as ci/duts/desk.toml. An existing file is not overwritten
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,

    /// Only this board, by its serial number, its location such as 1-2.3, or its port
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,

    /// The folder with device files that may describe these boards
    #[arg(long, value_name = "FOLDER", default_value = DUTS)]
    pub folder: PathBuf,

    /// What to print: text for people, or everything as one JSON object
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
}

/// Arguments of the process that talks to a chip.
#[derive(Debug, Args)]
pub struct AskChipArgs {
    /// The serial port
    #[arg(value_name = "PORT")]
    pub port: PathBuf,
}
