//! Arguments of `merge`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folders of the runs: all shards of each device, for any number of devices and transports
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,

    /// A new folder for the reports of the joined run and copies of the runs
    #[arg(long, short, value_name = "FOLDER")]
    pub out: PathBuf,

    /// How to report.
    #[command(flatten)]
    pub output: OutputArgs,
}
