//! Arguments of `explain`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Slug of a requirement (`ids.echo`) or id of a case (`ids/numbers`)
    pub id: String,

    /// More scenarios, YAML files in a folder
    #[arg(long, value_name = "FOLDER")]
    pub scenarios: Option<PathBuf>,
}
