//! The reference device in the place of `mcp-hil`, as far as the tests of this package need that: its command
//! `native`.

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use reference_native::Arguments;

fn main() -> ExitCode {
    let command = clap::Command::new("reference")
        .subcommand_required(true)
        .subcommand(Arguments::command().name("native"));
    let matches = command.get_matches();
    let device = matches.subcommand().map(|(_, arguments)| Arguments::from_arg_matches(arguments));
    match device {
        Some(Ok(device)) => device.run(),
        Some(Err(error)) => error.exit(),
        None => ExitCode::FAILURE,
    }
}
