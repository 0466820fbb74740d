//! The watchdog: a child process does the flashing, and is ended when it tells nothing for long.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use mcp_hil_boards::flash::FlashStep;
use mcp_hil_boards::flash::worker::{WorkerEvent, WorkerJob};

use mcp_hil_record::error::UserError;

/// The hidden command of the child.
const WORKER: &str = "flash-worker";

/// How long a child that was ended may take to be gone. One that waits in the kernel for a broken USB
/// device can take for ever; nobody waits for that.
const END: Duration = Duration::from_secs(2);

/// Whether a bar shows how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// On standard error, which is a terminal.
    Shown,
    /// Standard error is a file, or belongs to a CI job.
    Hidden,
}

/// Has a child flash a board, and gives its last word.
///
/// # Errors
///
/// The child does not start, ends without a word, or tells nothing for `silence`.
pub fn watched(job: &WorkerJob, silence: Duration, bar: Bar) -> Result<WorkerEvent, UserError> {
    let program = std::env::current_exe();
    let child = program.and_then(|program| {
        Command::new(program).arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    });
    let mut child = Ended(child.map_err(|error| {
        UserError::bench(
            format!("the process that flashes does not start: {error}"),
            "is the machine out of memory or processes?",
        )
    })?);
    let (Some(mut input), Some(output)) = (child.0.stdin.take(), child.0.stdout.take()) else {
        return Err(fallen("its standard streams are missing"));
    };
    let mut line = serde_json::to_string(job).map_err(|error| fallen(&error.to_string()))?;
    line.push('\n');
    // Its own thread: a child that does not read must not hold us up.
    let sender = std::thread::spawn(move || {
        // A child that is gone is noticed by its output.
        let _ = input.write_all(line.as_bytes());
    });
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(event) = serde_json::from_str::<WorkerEvent>(&line) else {
                continue;
            };
            if tell.send(event).is_err() {
                break;
            }
        }
    });
    let mut last = "connecting".to_owned();
    let done = loop {
        match told.recv_timeout(silence) {
            Ok(WorkerEvent::Step { step }) => last = show(&step, bar),
            Ok(event) => break Ok(event),
            Err(RecvTimeoutError::Timeout) => {
                break Err(UserError::bench(
                    format!(
                        "the board {} hangs: expected progress within {} s, got none while \
                         {last}",
                        job.place,
                        silence.as_secs()
                    ),
                    "power-cycle it, and check cable and hub; a lower `--baud` can also help",
                ));
            }
            Err(RecvTimeoutError::Disconnected) => break Err(fallen(&last)),
        }
    };
    clear(bar);
    drop(child);
    drop(sender);
    done
}

fn fallen(last: &str) -> UserError {
    UserError::bench(
        format!("the process that flashes ended without a result, while {last}"),
        "its messages are above; flash again",
    )
}

/// Shows how far it is, and says it in words.
fn show(step: &FlashStep, bar: Bar) -> String {
    let (words, done) = match step {
        FlashStep::Attached(attached) => (format!("comparing the {}", attached.chip), None),
        FlashStep::Written { name, done, total } => {
            let percent = done * 100 / (*total).max(1);
            (format!("writing the {name}"), Some(percent))
        }
        FlashStep::Verifying(name) => (format!("verifying the {name}"), None),
        FlashStep::Reset => ("resetting the board".to_owned(), None),
    };
    if let (Bar::Shown, Some(percent)) = (bar, done) {
        let filled = "#".repeat(percent as usize * 30 / 100);
        // A terminal that went away changes nothing.
        let _ = write!(std::io::stderr(), "\r\x1b[K[{filled:<30}] {percent:>3} %  {words}");
    }
    words
}

fn clear(bar: Bar) {
    if bar == Bar::Shown {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// A child that does not outlive its use.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let began = Instant::now();
        let _ = self.0.kill();
        while matches!(self.0.try_wait(), Ok(None)) && began.elapsed() < END {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
