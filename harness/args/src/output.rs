//! How commands report.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

/// How to report.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reports")]
pub struct OutputArgs {
    /// Also write JUnit to this file
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub junit: Option<PathBuf>,

    /// Also write the HTML page to this file
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub html: Option<PathBuf>,

    /// The folder of the run with which the page compares this one [default: the newest earlier run of
    /// the same device in the same place]
    #[arg(long, value_name = "RUN")]
    pub compare: Option<PathBuf>,

    /// Write the summary in Markdown to this file; on GitHub it is also added to the job summary
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub summary: Option<PathBuf>,

    /// What to print on standard output: text for people, or events as JSON, one per line
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Print only what failed or was inconclusive, and the summary; on a terminal this is the default
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Print every case, also those that do not apply, and each warning
    #[arg(long, short)]
    pub verbose: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

/// The path of a file. What other programs take for standard output would make a file named `-`.
fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        true => Err(
            "expected a file; standard output, which has the report for people, is `/dev/stdout`",
        ),
        false => Ok(path),
    })
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Human,
    /// JSON, one object per line
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
