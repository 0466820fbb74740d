//! Arguments of `list`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List the requirements instead of the cases
    #[arg(long)]
    pub requirements: bool,

    /// Only ids that begin with this
    #[arg(value_name = "PREFIX", default_value = "")]
    pub prefix: String,

    /// Rule set in force (repeatable) [default: xiaozhi and jsonrpc-2.0]
    #[arg(long, value_name = "NAME")]
    pub rules: Vec<String>,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,
}
