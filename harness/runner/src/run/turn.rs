//! A board has one user: whoever comes second waits for its turn, or is told who has the board.

use std::time::Duration;

use mcp_hil_boards::board::lock::{Holder, LockError};
use mcp_hil_boards::board::port;
use mcp_hil_boards::board::queue::{self, Turn};
use tokio::sync::{mpsc, watch};

use super::RunError;
use crate::plan::Plan;
use mcp_hil_bench::dut::How;
use mcp_hil_record::Reporters;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::Event;
use mcp_hil_record::exit;

/// What came of waiting.
pub(super) enum Waited {
    /// The board is this run's until the turn is dropped.
    Taken(Turn),
    /// The device is no board, or not there: the run itself tells that.
    NotNeeded,
    /// Somebody else has it all the while, or locks cannot be made.
    InVain(RunError),
    /// The run was stopped.
    Interrupted,
}

/// Waits for the board of a plan as long as the plan says, and tells who has it.
pub(super) async fn take(
    plan: &Plan,
    reporters: &mut Reporters<'_>,
    mut interrupt: watch::Receiver<bool>,
) -> Waited {
    let How::Board(board) = &plan.dut.how else {
        return Waited::NotNeeded;
    };
    let Ok(identity) = port::identity(&board.file.place()) else {
        return Waited::NotNeeded;
    };
    let holder = Holder::this_process("mcp-hil run", Some(&plan.folder));
    let patience = plan.wait_for_board;
    let (say, mut heard) = mpsc::unbounded_channel();
    let mut waiting = tokio::task::spawn_blocking(move || {
        queue::wait(&identity, &holder, patience, |held| {
            // Who hears it may have stopped waiting.
            let _ = say.send(held.to_string());
        })
    });
    loop {
        tokio::select! {
            biased;
            Ok(_) = interrupt.wait_for(|stop| *stop) => return Waited::Interrupted,
            Some(held) = heard.recv() => {
                let text = format!("{held}; waiting up to {}", shown(patience));
                reporters.event(&Event::Notice { text });
            }
            done = &mut waiting => return match done {
                Ok(Ok(turn)) => Waited::Taken(turn),
                Ok(Err(error)) => Waited::InVain(RunError::NoConnection(refused(&error, patience))),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
        }
    }
}

/// Why the board is not to be had, and what helps.
fn refused(error: &LockError, patience: Duration) -> String {
    let told = UserError::from_below(exit::BENCH, error);
    let (what, hint) = (&told.what, told.hint.as_deref().unwrap_or_default());
    match error {
        LockError::Held { .. } if patience.is_zero() => {
            format!("{what}\n\nhint: {hint}; `--wait-for-board 30m` waits for it")
        }
        LockError::Held { .. } => {
            format!("{what}, and was so for all of {}\n\nhint: {hint}", shown(patience))
        }
        LockError::Io { .. } => told.to_string(),
    }
}

/// A time as people give it.
fn shown(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
