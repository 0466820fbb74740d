//! Waiting for a board that somebody else uses.
//!
//! The lock of a board belongs to the bridge, which comes late: the harness listens before the board boots.
//! Those who want to wait stand in a queue before that, so that none of them takes a port which the board
//! knows while another still talks to it. The queue is a lock of its own, held by the process that waits, or
//! runs; it ends with that process.

use std::path::Path;
use std::time::{Duration, Instant};

use super::lock::{self, BoardLock, Holder, LockError, Use};

/// How often is looked whether a board is free that is not used by somebody of the queue.
const LOOK: Duration = Duration::from_millis(50);

/// How long is waited at least: one who only looks at a board has it for a moment, and so does one who ends.
const LEAST: Duration = Duration::from_millis(300);

/// The turn at a board. Others of the queue wait until this is dropped.
#[derive(Debug)]
pub struct Turn {
    _lock: BoardLock,
}

/// Waits for the turn at the board of an [identity](super::UsbBoard::identity), and until nobody uses it.
/// `told` hears who has it, each time that is somebody else.
///
/// # Errors
///
/// It was not free within `patience`, or locks cannot be made.
pub fn wait(
    identity: &str,
    holder: &Holder,
    patience: Duration,
    told: impl FnMut(&LockError),
) -> Result<Turn, LockError> {
    wait_in(&lock::folder(), identity, holder, patience, told)
}

/// Waits as [`wait`] does, with the given folder of locks instead of the usual one.
///
/// # Errors
///
/// Those of [`wait`].
pub fn wait_in(
    folder: &Path,
    identity: &str,
    holder: &Holder,
    patience: Duration,
    mut told: impl FnMut(&LockError),
) -> Result<Turn, LockError> {
    let until = Instant::now() + patience.max(LEAST);
    let mut last = None;
    let queue = format!("{identity}.queue");
    let turn = loop {
        match BoardLock::take_in(folder, &queue, holder) {
            Ok(lock) => break Turn { _lock: lock },
            Err(LockError::Held { holder, .. }) => {
                held(identity, holder, until, &mut last, &mut told)?;
            }
            Err(LockError::Io { path, reason, .. }) => {
                let board = identity.to_owned();
                return Err(LockError::Io { board, path, reason });
            }
        }
    };
    // Whoever runs without a queue, or flashes.
    while let Use::Held(holder) = lock::usage_in(folder, identity) {
        held(identity, holder, until, &mut last, &mut told)?;
        std::thread::sleep(LOOK);
    }
    Ok(turn)
}

/// Tells of a holder who was not told of yet, and gives up when it is time.
fn held(
    identity: &str,
    holder: Option<Holder>,
    until: Instant,
    last: &mut Option<Option<Holder>>,
    told: &mut impl FnMut(&LockError),
) -> Result<(), LockError> {
    let error = LockError::Held { board: identity.to_owned(), holder: holder.clone() };
    if Instant::now() >= until {
        return Err(error);
    }
    if last.as_ref() != Some(&holder) {
        told(&error);
        *last = Some(holder);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::channel;

    use super::*;

    /// A folder for locks that is not there yet.
    fn place(name: &str) -> PathBuf {
        let place =
            std::env::temp_dir().join(format!("mcp-hil-queue-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        place
    }

    fn holder(command: &str) -> Holder {
        Holder::this_process(command, None)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn one_waits_for_the_other_and_hears_who_that_is() {
        let place = place("turns");
        let first = wait_in(&place, "a", &holder("one"), LONG, |_| {}).unwrap();
        let (say, heard) = channel();
        let second = {
            let place = place.clone();
            std::thread::spawn(move || {
                wait_in(&place, "a", &holder("two"), LONG, |held| {
                    say.send(held.to_string()).unwrap();
                })
                .unwrap()
            })
        };
        let told = heard.recv_timeout(LONG).unwrap();
        assert!(told.contains("the board `a`") && told.contains("`one`"), "{told}");
        // Another board is another matter.
        wait_in(&place, "b", &holder("three"), Duration::ZERO, |_| {}).unwrap();
        drop(first);
        drop(second.join().unwrap());
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn who_uses_a_board_without_the_queue_is_waited_for() {
        let place = place("outside");
        let lock = BoardLock::take_in(&place, "a", &holder("mcp-hil flash")).unwrap();
        let (say, heard) = channel();
        let waits = {
            let place = place.clone();
            std::thread::spawn(move || {
                wait_in(&place, "a", &holder("two"), LONG, |held| {
                    say.send(held.to_string()).unwrap();
                })
                .map(drop)
            })
        };
        let told = heard.recv_timeout(LONG).unwrap();
        assert!(told.contains("mcp-hil flash"), "{told}");
        drop(lock);
        waits.join().unwrap().unwrap();
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn nobody_waits_longer_than_wanted() {
        let place = place("patience");
        let _first = wait_in(&place, "a", &holder("one"), LONG, |_| {}).unwrap();
        let late = wait_in(&place, "a", &holder("two"), Duration::ZERO, |_| {}).unwrap_err();
        let text = late.to_string();
        assert!(text.contains("the board `a` is in use") && text.contains("`one`"), "{text}");
        // It is this process, which nobody should be told to kill.
        assert!(!text.contains("kill"), "{text}");
        std::fs::remove_dir_all(&place).unwrap();
    }
}
