//! `mcp-hil bridge`: the process between a run and a board's serial port. Runs start it; people do not.

use std::io::{BufReader, stdin, stdout};

use mcp_hil_boards::board::{bridge, protocol};

use mcp_hil_args::BridgeArgs;
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;

/// Who this bridge is. Runs are for bridges of the same name only: the two share a protocol that changes.
pub fn identity() -> String {
    format!("{}, bridge {}", mcp_hil_record::TOOL, protocol::edition())
}

/// Is the bridge, to the end of standard input.
///
/// # Errors
///
/// There is no job on standard input, or nobody reads standard output any more.
pub fn run(args: &BridgeArgs) -> Result<u8, UserError> {
    if args.identify {
        println!("{}", identity());
        return Ok(exit::CONFORMING);
    }
    let ended = bridge::run(BufReader::new(stdin()), stdout().lock());
    ended.map(|()| exit::CONFORMING).map_err(|error| {
        UserError::bench(
            format!("the bridge ends: {error}"),
            "`mcp-hil run --dut <file of a board>` starts it and controls it",
        )
    })
}
