//! Arguments of `init`.

use clap::Args;

/// Arguments of `init`: none, because it asks nothing.
#[derive(Debug, Args)]
pub struct InitArgs {}
