//! `mcp-hil bridge`: the process between a run and a board's serial port. Runs start it; people do not.

use std::io::{BufReader, stdin, stdout};

use mcp_hil_rig::board::bridge;

use crate::exit;
use crate::plan::Refusal;

/// Is the bridge, to the end of standard input.
///
/// # Errors
///
/// There is no job on standard input, or nobody reads standard output any more.
pub fn run() -> Result<u8, Refusal> {
    let ended = bridge::run(BufReader::new(stdin()), stdout().lock());
    ended.map(|()| exit::CONFORMING).map_err(|error| {
        Refusal::bench(
            format!("the bridge ends: {error}"),
            "`mcp-hil run --dut <file of a board>` starts it, and tells it what to do",
        )
    })
}
