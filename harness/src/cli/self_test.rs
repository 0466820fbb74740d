//! Arguments of `self-test`.

use clap::Args;

use super::Format;

/// Arguments of `self-test`.
#[derive(Debug, Args)]
pub struct SelfTestArgs {
    /// Only mutants and variations whose name begins so; `good` is the device without either
    /// (repeatable)
    #[arg(long, value_name = "PREFIX")]
    pub only: Vec<String>,

    /// Try each mutant with the cases alone that are known to kill it, and variations over WebSocket
    /// alone
    #[arg(long)]
    pub quick: bool,

    /// Try no mutants, only the device itself and its variations
    #[arg(long)]
    pub harmless: bool,

    /// Try mutants with generated inputs alone, once: which ones need no script, and what shrinking
    /// costs
    #[arg(long, conflicts_with = "quick")]
    pub generated: bool,

    /// Generated inputs for each property, in every run [default: as many as `run` has]
    #[arg(long, value_name = "NUMBER")]
    pub cases: Option<u32>,

    /// How many runs at a time [default: twice the number of processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Seed of all runs
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// What to print: tables for people, or events as JSON, one a line
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Take a mutant for a variation, or the other way round, to see that it is noticed
    /// (repeatable)
    #[arg(long, value_name = "NAME", hide = true)]
    pub mistake: Vec<String>,
}
