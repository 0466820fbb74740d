//! Arguments of `baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcp_hil_core::baseline::{FirmwareRange, is_date};

/// What to do with a baseline.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Create a baseline that lists the failures in runs
    New(BaselineArgs),
    /// Remove from a baseline what no longer fails in runs, and add new failures
    Update(BaselineArgs),
}

/// Arguments of `baseline new` and `baseline update`.
#[derive(Debug, Args)]
pub struct BaselineArgs {
    /// Folders of runs, such as `target/mcp-hil/latest`; several runs with different seeds show what
    /// fails only sometimes
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,

    /// The baseline, such as `ci/baselines/desk-s3.toml`
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Firmware versions for which new entries are valid, such as `>=2.4.0, <2.5` [default: all]
    #[arg(long, value_name = "RANGE", value_parser = range)]
    pub firmware: Option<FirmwareRange>,

    /// The last day on which new entries are valid [default: they do not expire]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub expires: Option<String>,
}

fn day(text: &str) -> Result<String, String> {
    match is_date(text) {
        true => Ok(text.to_owned()),
        false => Err("expected a day of the form YYYY-MM-DD".to_owned()),
    }
}

fn range(text: &str) -> Result<FirmwareRange, String> {
    FirmwareRange::try_from(text.to_owned())
}
