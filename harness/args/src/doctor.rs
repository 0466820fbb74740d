//! Arguments of `doctor`.

use clap::Args;

use super::Format;

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Exit with 3 if something is missing that is not optional
    #[arg(long)]
    pub strict: bool,

    /// What to print: text for people, or everything as one JSON object
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
}
