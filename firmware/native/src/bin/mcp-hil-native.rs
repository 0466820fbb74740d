//! The reference device as a program of its own, for its tests. `mcp-hil native` is the same device.

use std::process::ExitCode;

use clap::Parser as _;
use reference_native::Arguments;

fn main() -> ExitCode {
    Arguments::parse().run()
}
