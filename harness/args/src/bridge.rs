//! Arguments of `mcp-hil bridge`.

use clap::Args;

/// Arguments of the process between a run and a serial port.
#[derive(Debug, Args)]
pub struct BridgeArgs {
    /// Print version and edition, and do nothing else
    #[arg(long)]
    pub identify: bool,
}
