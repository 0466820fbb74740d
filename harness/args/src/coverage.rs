//! Arguments of `coverage`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Arguments of `coverage`.
#[derive(Debug, Args)]
pub struct CoverageArgs {
    /// Folders of runs
    #[arg(value_name = "RUN", default_value = "target/mcp-hil/latest")]
    pub runs: Vec<PathBuf>,

    /// List all cases, and print the full text of the requirements
    #[arg(long, short)]
    pub verbose: bool,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,

    /// What to print: text for people, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
}
