//! Arguments of `replay`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The run's folder, such as `target/mcp-hil/latest`
    pub run: PathBuf,

    /// Treat warnings (violated SHOULDs) as failures
    #[arg(long)]
    pub strict: bool,

    /// File of known failures, TOML
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,

    /// How to report.
    #[command(flatten)]
    pub output: OutputArgs,
}
