//! Tests that want one board, one after the other: those of this program, and those of others.

use std::io::{self, Write};
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use mcp_hil_boards::board::port;
use mcp_hil_boards::board::queue::{self, Turn};
use mcp_hil_boards::board::{Holder, LockError};

use super::error::StartError;
use mcp_hil_bench::dut::How;
use mcp_hil_runner::plan::Plan;

/// The boards that tests of this program have, and who.
static TAKEN: Mutex<Vec<Taken>> = Mutex::new(Vec::new());

struct Taken {
    board: String,
    by: ThreadId,
    at: &'static Location<'static>,
}

/// The board of a test, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    board: String,
    by: ThreadId,
    _turn: Turn,
}

/// Waits until the board of a plan is free, for so long at most; a device that is no board is many.
pub(super) fn wait(
    plan: &Plan,
    command: &str,
    patience: Duration,
    at: &'static Location<'static>,
) -> Result<Option<Place>, StartError> {
    let How::Board(board) = &plan.dut.how else {
        return Ok(None);
    };
    // One that is not there is told by the start, with its file, or something stands in for it.
    let Ok(board) = port::identity(&board.file.place()) else {
        return Ok(None);
    };
    let by = thread::current().id();
    let own = |taken: &&Taken| taken.by == by && taken.board == board;
    if let Some(taken) = taken().iter().find(own) {
        // It would wait for itself.
        return Err(StartError::Twice { board: plan.dut.name.clone(), at: taken.at });
    }
    let holder = Holder::this_process(command, Some(&plan.folder));
    let notice = |held: &LockError| {
        let seconds = patience.as_secs();
        // Test frameworks keep what is printed, and show it when all is over.
        let _ = writeln!(io::stderr(), "mcp-hil: waiting up to {seconds} s: {held}");
    };
    let turn = queue::wait(&board, &holder, patience, notice).map_err(|error| match error {
        held @ LockError::Held { .. } => {
            StartError::Busy { waited: patience, held: Box::new(held) }
        }
        other => StartError::Lock(Box::new(other)),
    })?;
    taken().push(Taken { board: board.clone(), by, at });
    Ok(Some(Place { board, by, _turn: turn }))
}

fn taken() -> std::sync::MutexGuard<'static, Vec<Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Place {
    fn drop(&mut self) {
        taken().retain(|taken| !(taken.by == self.by && taken.board == self.board));
    }
}
