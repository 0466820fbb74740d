//! The one line at the bottom of a terminal that tells what is going on, how fast, and for how long.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use mcp_hil_record::text::layout::{DIM, columns};

/// Cases that must have ended before a rate means something.
const FOR_A_RATE: usize = 3;

/// How often the line is drawn anew while nothing happens.
const TICK: Duration = Duration::from_secs(1);

/// The line, and whatever it is drawn on.
#[derive(Debug)]
pub struct Progress(Arc<Mutex<Line>>);

struct Line {
    out: Box<dyn Write + Send>,
    /// Time since any fixed moment.
    clock: Box<dyn Fn() -> Duration + Send>,
    width: usize,
    colour: bool,
    /// Whether it stands on the terminal.
    in_place: bool,
    /// What is going on, and since when.
    what: String,
    since: Duration,
    /// When the first case began.
    began: Option<Duration>,
    done: usize,
    planned: usize,
}

impl Progress {
    /// A line on a terminal of a width in columns, which is drawn every second, so that one sees that
    /// the program lives.
    pub fn new(out: impl Write + Send + 'static, width: usize, colour: bool) -> Self {
        let start = Instant::now();
        let progress = Self::with_clock(out, width, colour, move || start.elapsed());
        let line = Arc::downgrade(&progress.0);
        std::thread::spawn(move || tick(&line));
        progress
    }

    /// The same with the time that a clock tells, drawn when something happens.
    pub fn with_clock(
        out: impl Write + Send + 'static,
        width: usize,
        colour: bool,
        clock: impl Fn() -> Duration + Send + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(Line {
            out: Box::new(out),
            clock: Box::new(clock),
            width,
            colour,
            in_place: false,
            what: String::new(),
            since: Duration::ZERO,
            began: None,
            done: 0,
            planned: 0,
        })))
    }

    /// Tells what is going on, in text that is fit to be shown, until the next line of the report.
    pub(super) fn show(&self, what: &str, of_a_case: bool, done: usize, planned: usize) {
        self.with(|line| {
            let now = (line.clock)();
            if of_a_case {
                line.began.get_or_insert(now);
            }
            (line.what, line.since) = (what.to_owned(), now);
            (line.done, line.planned) = (done, planned);
            line.in_place = true;
            line.draw();
        });
    }

    /// Makes room for a line of the report.
    pub(super) fn erase(&self) {
        self.with(|line| {
            if std::mem::take(&mut line.in_place) {
                line.put("");
            }
        });
    }

    fn with(&self, work: impl FnOnce(&mut Line)) {
        // A line is never left half changed.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Line {
    fn draw(&mut self) {
        let (head, tail) = (self.head(), self.tail());
        // A line that reaches the last column would wrap, and could not be erased. A long name is cut
        // before the figures are.
        let room = self.width.saturating_sub(1);
        let for_name = room.saturating_sub(columns(&head) + columns(&tail));
        let name = fitting(&self.what, for_name);
        let mut fits = fitting(&format!("{head}{name}{tail}"), room);
        if self.colour && !fits.is_empty() {
            fits = format!("\u{1b}[{DIM}m{fits}\u{1b}[0m");
        }
        self.put(&fits);
    }

    /// Puts a text in the place of the line; a terminal that is gone is no trouble of the run.
    fn put(&mut self, text: &str) {
        let _ = write!(self.out, "\r\u{1b}[2K{text}");
        let _ = self.out.flush();
    }

    /// ` Running [  12/105 ] `, which the name of the case follows.
    fn head(&self) -> String {
        let number = (self.done + 1).min(self.planned);
        format!(" Running [{number:>4}/{:<4}] ", self.planned)
    }

    /// `  4 s  8.1/s, about 11 s left`: for how long the case has been running, and the run will be.
    fn tail(&self) -> String {
        let now = (self.clock)();
        let mut text = String::new();
        let waited = now.saturating_sub(self.since).as_secs();
        if waited > 0 {
            text += &format!("  {}", span(waited));
        }
        let elapsed = self.began.map(|began| now.saturating_sub(began));
        let elapsed = elapsed.map_or(0.0, |elapsed| elapsed.as_secs_f64());
        if elapsed > 0.0 && self.done >= FOR_A_RATE {
            let left = self.planned.saturating_sub(self.done);
            // Counts of cases are far below what a float holds exactly.
            #[allow(clippy::cast_precision_loss)]
            let (done, left) = (self.done as f64, left as f64);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let seconds = (left * elapsed / done).ceil() as u64;
            text += &format!("  {:.1}/s, about {} left", done / elapsed, span(seconds));
        }
        text
    }
}

/// As much of a text as so many columns hold.
fn fitting(text: &str, room: usize) -> String {
    let mut fits = String::new();
    for character in text.chars() {
        fits.push(character);
        if columns(&fits) > room {
            fits.pop();
            break;
        }
    }
    fits
}

/// A time for people: `48 s`, `3 min`, `2 h`.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Draws the line until nobody has it any more.
fn tick(line: &Weak<Mutex<Line>>) {
    loop {
        std::thread::sleep(TICK);
        let Some(line) = line.upgrade() else { return };
        let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.in_place {
            line.draw();
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("what", &self.what).finish_non_exhaustive()
    }
}
