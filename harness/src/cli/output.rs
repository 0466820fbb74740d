//! How commands report.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How to report.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write JUnit to this file too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write the page that a browser opens to this file too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// The folder of the run that the page compares this one with [default: the newest earlier run of
    /// the same device in the same place]
    #[arg(long, value_name = "RUN")]
    pub compare: Option<PathBuf>,

    /// Write the summary in Markdown to this file; on GitHub it is added to that of the job by itself
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// What to print on standard output: text for people, or events as JSON, one a line
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Print warnings and cases that do not apply one by one
    #[arg(long, short)]
    pub verbose: bool,

    /// When to colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Human,
    /// JSON, one object a line
    Json,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
