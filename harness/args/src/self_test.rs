//! Arguments of `self-test`.

use clap::Args;

use super::Format;

/// Arguments of `self-test`.
#[derive(Debug, Args)]
pub struct SelfTestArgs {
    /// Only mutants and variations whose name begins with this; `good` is the device without either
    /// (repeatable, or with commas between)
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Try each mutant only with the cases that are known to kill it, and variations only over
    /// WebSocket
    #[arg(long)]
    pub quick: bool,

    /// Try no mutants, only the device itself and its variations
    #[arg(long)]
    pub harmless: bool,

    /// Try mutants only with generated inputs, once: shows which ones need no script, and what
    /// shrinking costs
    #[arg(long, conflicts_with = "quick")]
    pub generated: bool,

    /// Generated inputs for each property, in every run [default: the same as for `run`]
    #[arg(long, value_name = "NUMBER", alias = "cases")]
    pub inputs: Option<u32>,

    /// How many runs at a time [default: twice the number of processors]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,

    /// Seed of all runs; with `--seeds`, the first one
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        env = "MCP_HIL_SEED",
        hide_env_values = true
    )]
    pub seed: u64,

    /// Try the device itself and each variation with this many seeds, and report those whose verdicts
    /// differ from one seed to another
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: u32,

    /// What to print: tables for people, or events as JSON, one per line
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Take a mutant for a variation, or the other way round, to see that it is noticed
    /// (repeatable)
    #[arg(long, value_name = "NAME", hide = true)]
    pub mistake: Vec<String>,
}
