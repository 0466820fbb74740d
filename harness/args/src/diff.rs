//! Arguments of `diff`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The folder of the first run, such as `target/mcp-hil/2026-11-21T121220Z-native`
    #[arg(value_name = "RUN-A")]
    pub first: PathBuf,

    /// The folder of the second run
    #[arg(value_name = "RUN-B")]
    pub second: PathBuf,

    /// What to print: text for people, or everything as one JSON object
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Compare byte for byte, for two runs with the same seed on the same device: reports, JUnit and
    /// transcripts without times, ports, random ids and audio
    #[arg(long, conflicts_with_all = ["format", "verbose"])]
    pub normalised: bool,

    /// Show all latencies, and each difference in the wording of messages
    #[arg(long, short)]
    pub verbose: bool,
}
