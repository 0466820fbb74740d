//! Arguments of `soak`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::RunArgs;
use super::values::duration;

/// Arguments of `soak`.
#[derive(Debug, Clone, Args)]
pub struct SoakArgs {
    /// How long, such as `8h`; the round that runs then is finished
    #[arg(long = "for", value_name = "TIME", default_value = "8h", value_parser = duration, help_heading = "Soak")]
    pub time: Duration,

    /// How often the reports in the folder of the soak are written meanwhile
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration, help_heading = "Soak")]
    pub report_every: Duration,

    /// How many rounds are kept that found nothing; those that show what is in the report are kept in any case
    #[arg(long, value_name = "NUMBER", default_value_t = 10, help_heading = "Soak")]
    pub keep: usize,

    /// Go on with a soak that was stopped; the other arguments must be those that it was begun with
    #[arg(long, value_name = "FOLDER", help_heading = "Soak")]
    pub resume: Option<PathBuf>,

    /// What is repeated.
    #[command(flatten)]
    pub run: RunArgs,
}
