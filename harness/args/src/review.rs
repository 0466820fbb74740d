//! Arguments of `review`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The folder in which to look for answers that wait for review
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,

    /// Only files whose path contains this (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub only: Vec<String>,

    /// Accept all of them, without a question
    #[arg(long, group = "decision")]
    pub accept: bool,

    /// Reject all of them, without a question
    #[arg(long, group = "decision")]
    pub reject: bool,

    /// Show all of them with what differs, and change nothing; exit with 1 if there is one
    #[arg(long, group = "decision")]
    pub list: bool,
}
