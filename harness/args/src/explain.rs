//! Arguments of `explain`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Id of a requirement (`ids.echo`) or of a case (`ids/large`)
    pub id: String,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,
}
