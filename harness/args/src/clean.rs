//! Arguments of `clean`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// How many of the newest runs stay
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub keep: usize,

    /// Where the folders of runs are
    #[arg(long, value_name = "FOLDER", default_value = "target/mcp-hil")]
    pub out: PathBuf,

    /// Say what would be deleted, and delete nothing
    #[arg(long)]
    pub dry_run: bool,
}
