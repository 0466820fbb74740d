//! The bridge: the process that touches a board's serial port, so that one that hangs hangs nothing else.
//!
//! It holds the port for its life: console, resets and the button go over one descriptor, and no line of
//! a boot is lost. It reads a [`Job`] and then [`Request`]s, and tells [`Event`]s; the end of its input
//! ends it.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use serde_json::from_str;

use super::port::{Finder, Found, OfJob, Port, Trouble, TroubleKind, Unflashed, Written};
use super::protocol::{Act, Event, Job, Request};
use crate::lines::{Lines, RawLine};
use crate::reset::{self, Circuit};
use crate::signals::{SignalError, Signals};

/// How much of the console is read at once.
const CHUNK: usize = 4096;

/// How often a port that went away is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How long what a chip said before it was held in reset may take to be read; one that still runs goes on.
const RESIDUE: Duration = Duration::from_millis(200);

/// How long the port may take what is written to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(2);

/// What is said of a board that was not flashed and was reset after that.
const REVIVED: &str = "; the board was reset, and is out of its bootloader";

/// Reads the job, and does it.
///
/// # Errors
/// There is no job, or nobody listens any more. Trouble with the board is told, and no error.
pub fn run(mut input: impl BufRead + Send + 'static, output: impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let job: Job = from_str(&line)?;
    serve(&job, &mut OfJob::new(&job), input, output)
}

/// Does a job with ports that `finder` finds.
///
/// # Errors
/// Nobody listens any more.
pub fn serve<F: Finder>(
    job: &Job,
    finder: &mut F,
    input: impl BufRead + Send + 'static,
    output: impl Write,
) -> io::Result<()> {
    let (wants, wanted) = channel();
    std::thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            // What is no request is none of this version: it stays unanswered, and its parent gives up.
            let sent = from_str::<Request>(&line).map(|request| wants.send(request));
            if matches!(sent, Ok(Err(_))) {
                break;
            }
        }
    });
    let mut bridge = Bridge { job, output, wanted, is_off: false };
    bridge.serve(finder)
}

struct Bridge<'a, W> {
    job: &'a Job,
    output: W,
    wanted: Receiver<Request>,
    /// Whether its power was taken away on purpose.
    is_off: bool,
}

/// Why a port is not read any longer.
enum Ended {
    Asked,
    Lost(String),
}

impl<W: Write> Bridge<'_, W> {
    fn serve<F: Finder>(&mut self, finder: &mut F) -> io::Result<()> {
        let mut found = match finder.open() {
            Ok(found) => found,
            Err(trouble) => return self.tell(&Event::Failed(trouble)),
        };
        let mut heard = Ok(());
        let flashed = finder.flash(found, &mut |step| {
            if heard.is_ok() {
                heard = self.tell(&Event::Flashing { step });
            }
        });
        heard?;
        let written = match flashed {
            Ok((port, written)) => {
                found = port;
                written
            }
            Err(Unflashed { mut trouble, found }) => {
                // It must not wait in its bootloader for what does not come.
                if let Some(mut found) = found
                    && reset::reset(&mut found.port, found.circuit).is_ok()
                {
                    trouble.hint.push_str(REVIVED);
                }
                return self.tell(&Event::Failed(trouble));
            }
        };
        if let Some(Written { what, boots }) = written {
            self.tell(&Event::Flashed { what, boots })?;
        }
        let signals = reset::release(&mut found.port).is_ok();
        self.tell(&Event::Opened { port: found.name.clone(), signals })?;
        loop {
            // A port that goes with its power is no news to who switches that off.
            let told = match self.attend(&mut found)? {
                Ended::Asked => return Ok(()),
                Ended::Lost(_) if self.is_off => false,
                Ended::Lost(why) => {
                    let by_reset = found.circuit == Circuit::UsbSerialJtag;
                    self.tell(&Event::Lost { why, by_reset })?;
                    true
                }
            };
            // Who comes back may get the same name only when nobody holds it.
            let Found { port, name, .. } = found;
            drop(port);
            match self.look_for(finder, &name, told)? {
                Some(back) => found = back,
                None => return Ok(()),
            }
        }
    }

    /// Reads the console and does what is wanted, to the end of either.
    fn attend<P: Port>(&mut self, found: &mut Found<P>) -> io::Result<Ended> {
        let Found { port, circuit, .. } = found;
        let mut lines = Lines::default();
        let mut chunk = [0; CHUNK];
        let ended = loop {
            match self.wanted.try_recv() {
                Ok(request) => {
                    self.carry_out(port, &mut lines, *circuit, request)?;
                    continue;
                }
                Err(TryRecvError::Disconnected) => break Ended::Asked,
                Err(TryRecvError::Empty) => {}
            }
            match port.read(&mut chunk) {
                Ok(0) => break Ended::Lost("it ended".to_owned()),
                Ok(length) => self.take(port, &mut lines, &chunk[..length])?,
                Err(error) if is_patience(&error) => {}
                Err(error) => break Ended::Lost(error.to_string()),
            }
        };
        self.last(&mut lines)?;
        Ok(ended)
    }

    /// Tells a line that did not end, and will not.
    fn last(&mut self, lines: &mut Lines) -> io::Result<()> {
        let mut last = None;
        lines.finish(|line| last = Some(line.clean()));
        last.map_or(Ok(()), |text| self.tell(&Event::Line { text }))
    }

    /// Takes in bytes of the console, and answers where it asks for something.
    fn take(&mut self, port: &mut impl Write, lines: &mut Lines, bytes: &[u8]) -> io::Result<()> {
        let (mut texts, mut asked) = (Vec::new(), false);
        lines.push(bytes, |line: RawLine<'_>| {
            let prompt = self.job.prompt.as_deref();
            asked |= prompt.is_some_and(|prompt| line.holds(prompt));
            texts.push(line.clean());
        });
        for text in texts {
            self.tell(&Event::Line { text })?;
        }
        if asked {
            // A port that does not take it is lost: the next reading shows that.
            let _ = write(port, self.job.input.as_bytes());
        }
        Ok(())
    }

    fn carry_out<P: Port>(
        &mut self,
        port: &mut P,
        lines: &mut Lines,
        circuit: Circuit,
        request: Request,
    ) -> io::Result<()> {
        let done = match request.act {
            Act::Reset => {
                let mut heard = Listening { port: &mut *port, bytes: Vec::new() };
                let done = reset::reset(&mut heard, circuit);
                let bytes = heard.bytes;
                self.take(port, lines, &bytes)?;
                if done.is_ok() {
                    self.last(lines)?;
                }
                done
            }
            Act::Press { ms } => reset::press(port, Duration::from_millis(ms)),
            Act::Power { on } => {
                self.is_off = !on;
                Ok(())
            }
        };
        let id = request.id;
        let why = match done {
            Ok(()) => return self.tell(&Event::Done { id }),
            Err(SignalError::Absent) => "the port has no lines DTR and RTS".to_owned(),
            Err(SignalError::Lost(error)) => format!("the port no longer works: {error}"),
        };
        self.tell(&Event::NotDone { id, why })
    }

    /// Waits for a port that went away, which was told or not. `None` when that is over.
    fn look_for<F: Finder>(
        &mut self,
        finder: &mut F,
        name: &str,
        told: bool,
    ) -> io::Result<Option<Found<F::Port>>> {
        let mut began = Instant::now();
        let patience = Duration::from_millis(self.job.return_ms);
        loop {
            let trouble = match finder.open() {
                Ok(mut found) => {
                    let _ = reset::release(&mut found.port);
                    if told {
                        self.tell(&Event::Back {
                            port: found.name.clone(),
                            after_ms: millis(began.elapsed()),
                        })?;
                    }
                    return Ok(Some(found));
                }
                Err(trouble) => trouble,
            };
            if !self.is_off && began.elapsed() >= patience {
                // Another one's fault where it is there again and not to be had.
                let trouble = match trouble.kind {
                    TroubleKind::Absent | TroubleKind::Other => gone(name, patience),
                    _ => trouble,
                };
                self.tell(&Event::Failed(trouble))?;
                return Ok(None);
            }
            match self.wanted.recv_timeout(LOOK) {
                Ok(Request { id, act: Act::Power { on } }) => {
                    (self.is_off, began) = (!on, Instant::now());
                    self.tell(&Event::Done { id })?;
                }
                Ok(Request { id, .. }) => {
                    let why = "the port is gone".to_owned();
                    self.tell(&Event::NotDone { id, why })?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn tell(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_string(event)?;
        line.push('\n');
        self.output.write_all(line.as_bytes())?;
        self.output.flush()
    }
}

/// A port that is read whenever time passes: what the chip said until it was held in reset is told before the
/// reset is, and never taken for a line of the boot that follows.
struct Listening<'a, P> {
    port: &'a mut P,
    bytes: Vec<u8>,
}

impl<P: Port> Signals for Listening<'_, P> {
    fn dtr(&mut self, asserted: bool) -> Result<(), SignalError> {
        self.port.dtr(asserted)
    }

    fn rts(&mut self, asserted: bool) -> Result<(), SignalError> {
        self.port.rts(asserted)
    }

    fn pause(&mut self, time: Duration) {
        self.port.pause(time);
        let (until, mut chunk) = (Instant::now() + RESIDUE, [0; CHUNK]);
        while Instant::now() < until {
            match self.port.read(&mut chunk) {
                Ok(length) if length > 0 => self.bytes.extend_from_slice(&chunk[..length]),
                // A port that was lost shows it when it is read next.
                _ => break,
            }
        }
    }
}

fn gone(name: &str, patience: Duration) -> Trouble {
    Trouble {
        kind: TroubleKind::Gone,
        what: format!(
            "the serial port `{name}` of the board disappeared: expected it back within {} s, got \
             nothing",
            patience.as_secs_f64()
        ),
        hint:
            "was the board unplugged, or is its power or its cable failing? `dmesg` shows when it \
               disappeared"
                .to_owned(),
    }
}

/// Whether nothing came for a while, and nothing is wrong.
fn is_patience(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock | Interrupted)
}

/// Writes all of it, or gives up.
fn write(port: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + WRITE_PATIENCE;
    while !bytes.is_empty() {
        match port.write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if is_patience(&error) && Instant::now() < until => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
