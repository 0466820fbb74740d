//! The bridge to a board, on pseudo terminals and on ports that record what is done to them.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use mcp_hil_boards::board::bridge;
use mcp_hil_boards::board::port::{
    Finder, Flashing, Found, Trouble, TroubleKind, Unflashed, open, trouble,
};
use mcp_hil_boards::board::protocol::{Act, Event, Job, Place, Request};
use mcp_hil_boards::flash::FlashStep;
use mcp_hil_boards::reset::{Circuit, press, release, reset};
use mcp_hil_boards::signals::{SignalError, Signals};
use serialport::{ErrorKind, SerialPort, TTYPort};

/// What is done to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Dtr(bool),
    Rts(bool),
    Pause(u64),
}

use Done::{Dtr, Pause, Rts};

/// A port that records, and takes no time. After `works` signals it is gone.
#[derive(Debug, Clone)]
struct Recorder {
    done: Arc<Mutex<Vec<Done>>>,
    works: usize,
    /// What the chip has said by the time that it is held in reset, and nobody has read.
    unread: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    fn new() -> Self {
        Self { done: Arc::default(), works: usize::MAX, unread: Arc::default() }
    }

    fn all(&self) -> Vec<Done> {
        self.done.lock().unwrap().clone()
    }

    fn signal(&self, signal: Done) -> Result<(), SignalError> {
        let mut done = self.done.lock().unwrap();
        if done.len() >= self.works {
            return Err(SignalError::Lost(io::ErrorKind::BrokenPipe.into()));
        }
        done.push(signal);
        Ok(())
    }
}

impl Signals for Recorder {
    fn dtr(&mut self, asserted: bool) -> Result<(), SignalError> {
        self.signal(Dtr(asserted))
    }

    fn rts(&mut self, asserted: bool) -> Result<(), SignalError> {
        self.signal(Rts(asserted))
    }

    fn pause(&mut self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap();
        self.done.lock().unwrap().push(Pause(ms));
    }
}

impl Read for Recorder {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let is_held = self.all().contains(&Rts(true));
        let unread = std::mem::take(&mut *self.unread.lock().unwrap());
        if is_held && !unread.is_empty() {
            bytes[..unread.len()].copy_from_slice(&unread);
            return Ok(unread.len());
        }
        *self.unread.lock().unwrap() = unread;
        // As a port does that has nothing to tell.
        std::thread::yield_now();
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Recorded(Recorder, Circuit);

impl Finder for Recorded {
    type Port = Recorder;

    fn open(&mut self) -> Result<Found<Recorder>, Trouble> {
        Ok(Found { port: self.0.clone(), name: "recorder".into(), circuit: self.1 })
    }
}

/// A bridge in a thread.
struct Bridge {
    input: Option<PipeWriter>,
    events: BufReader<PipeReader>,
    thread: JoinHandle<io::Result<()>>,
    next: u64,
}

impl Bridge {
    fn start<F: Finder + Send + 'static>(job: Job, mut finder: F) -> Self {
        Self::with(move |input, output| bridge::serve(&job, &mut finder, input, output))
    }

    /// As the program runs it.
    fn run(job: &Job) -> Self {
        let mut bridge = Self::with(bridge::run);
        bridge.send(&serde_json::to_string(job).unwrap());
        bridge
    }

    fn with(
        serve: impl FnOnce(BufReader<PipeReader>, PipeWriter) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let (read, input) = io::pipe().unwrap();
        let (events, write) = io::pipe().unwrap();
        Self {
            input: Some(input),
            events: BufReader::new(events),
            thread: std::thread::spawn(move || serve(BufReader::new(read), write)),
            next: 0,
        }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn ask(&mut self, act: Act) -> u64 {
        self.next += 1;
        let request = Request { id: self.next, act };
        self.send(&serde_json::to_string(&request).unwrap());
        self.next
    }

    fn event(&mut self) -> Event {
        let mut line = String::new();
        self.events.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn line(&mut self) -> String {
        match self.event() {
            Event::Line { text } => text,
            other => panic!("{other:?}"),
        }
    }

    /// Ends it by the end of its input.
    fn end(mut self) {
        drop(self.input.take());
        self.thread.join().unwrap().unwrap();
    }
}

fn job(place: &Path) -> Job {
    Job {
        place: Place::Port(place.to_owned()),
        circuit: None,
        command: "test".into(),
        folder: None,
        prompt: None,
        input: String::new(),
        return_ms: 20_000,
        flash: None,
    }
}

/// A pseudo terminal: the side of the board, and the path of the other one. The other end is held open
/// until the bridge has it, as a master without one cannot be used.
fn terminal() -> (TTYPort, TTYPort, PathBuf) {
    let (board, host) = TTYPort::pair().unwrap();
    let path = host.name().unwrap().into();
    (board, host, path)
}

fn opened(event: Event) -> bool {
    match event {
        Event::Opened { signals, .. } => signals,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chip_behind_a_converter_is_reset_with_its_boot_pin_released() {
    let mut port = Recorder::new();
    reset(&mut port, Circuit::Uart).unwrap();
    assert_eq!(port.all(), [Dtr(false), Rts(true), Pause(100), Rts(false)]);
}

#[test]
fn a_chip_with_its_own_usb_port_is_reset_by_its_sequence() {
    let mut port = Recorder::new();
    reset(&mut port, Circuit::UsbSerialJtag).unwrap();
    let sequence =
        [Dtr(false), Pause(100), Rts(true), Dtr(false), Rts(true), Pause(100), Rts(false)];
    assert_eq!(port.all(), sequence);
}

#[test]
fn a_usb_port_that_goes_with_the_reset_has_done_it_and_a_converter_has_not() {
    for (circuit, works, is_done) in [
        (Circuit::UsbSerialJtag, 6, true),
        (Circuit::UsbSerialJtag, 2, false),
        (Circuit::Uart, 3, false),
    ] {
        let mut port = Recorder { works, ..Recorder::new() };
        let done = reset(&mut port, circuit).is_ok();
        assert_eq!(done, is_done, "{circuit:?} after {works}");
    }
}

#[test]
fn a_press_pulls_the_boot_pin_for_its_time_and_never_resets() {
    let mut port = Recorder::new();
    press(&mut port, Duration::from_millis(100)).unwrap();
    let pressed = [Rts(false), Dtr(true), Pause(100), Dtr(false)];
    assert_eq!(port.all(), pressed);
}

#[test]
fn an_opened_port_lets_go_of_reset_before_the_boot_pin() {
    let mut port = Recorder::new();
    release(&mut port).unwrap();
    assert_eq!(port.all(), [Rts(false), Dtr(false)]);
}

#[test]
fn requests_become_signals_of_the_circuit_that_was_found() {
    let recorder = Recorder::new();
    let finder = Recorded(recorder.clone(), Circuit::UsbSerialJtag);
    let mut bridge = Bridge::start(job(Path::new("")), finder);
    assert!(opened(bridge.event()));
    let id = bridge.ask(Act::Press { ms: 100 });
    assert_eq!(bridge.event(), Event::Done { id });
    let id = bridge.ask(Act::Reset);
    assert_eq!(bridge.event(), Event::Done { id });
    bridge.end();
    // The port was released when it was opened.
    let after = recorder.all().split_off(2);
    assert_eq!(after[..4], [Rts(false), Dtr(true), Pause(100), Dtr(false)]);
    assert_eq!(after[4..].len(), 7, "{after:?}");
}

/// A board that is idle already must not be taken for one that has come up again.
#[test]
fn what_a_chip_said_before_its_reset_is_told_before_it() {
    let recorder = Recorder::new();
    *recorder.unread.lock().unwrap() = b"State: activating -> idle\nlast wor".to_vec();
    let mut bridge = Bridge::start(job(Path::new("")), Recorded(recorder, Circuit::Uart));
    assert!(opened(bridge.event()));
    let id = bridge.ask(Act::Reset);
    assert_eq!(bridge.line(), "State: activating -> idle");
    assert_eq!(bridge.line(), "last wor");
    assert_eq!(bridge.event(), Event::Done { id });
    bridge.end();
}

/// A board that is not what was to be flashed.
struct Refusing(Recorder);

impl Finder for Refusing {
    type Port = Recorder;

    fn open(&mut self) -> Result<Found<Recorder>, Trouble> {
        Recorded(self.0.clone(), Circuit::Uart).open()
    }

    fn flash(
        &mut self,
        found: Found<Recorder>,
        _: &mut dyn FnMut(FlashStep),
    ) -> Flashing<Recorder> {
        let trouble = Trouble {
            kind: TroubleKind::Flash,
            what: "the board has a different chip".into(),
            hint: "use the image for this board".into(),
        };
        let found = Some(found);
        Err(Unflashed { trouble, found })
    }
}

#[test]
fn a_board_that_was_not_flashed_does_not_stay_in_its_bootloader() {
    let recorder = Recorder::new();
    let mut bridge = Bridge::start(job(Path::new("")), Refusing(recorder.clone()));
    let Event::Failed(trouble) = bridge.event() else {
        panic!("it was flashed");
    };
    assert!(trouble.hint.contains("the board was reset"), "{trouble}");
    bridge.end();
    let reset = [Dtr(false), Rts(true), Pause(100), Rts(false)];
    assert_eq!(recorder.all(), reset);
}

#[test]
fn a_console_is_forwarded_in_clean_lines_and_answered_where_it_asks() {
    let (mut board, host, path) = terminal();
    let mut bridge = Bridge::run(&Job {
        prompt: Some("Waiting for a line `config".into()),
        input: "config {}\n".into(),
        ..job(&path)
    });
    assert!(!opened(bridge.event()), "a pseudo terminal has no signals");
    drop(host);
    board.write_all(b"\x1b[0;32mI (1) boot: hi\x1b[0m\r\nbad \xff byte\nWai").unwrap();
    assert_eq!(bridge.line(), "I (1) boot: hi");
    assert_eq!(bridge.line(), "bad \u{fffd} byte");
    board.write_all(b"ting for a line `config {...}`\n").unwrap();
    assert_eq!(bridge.line(), "Waiting for a line `config {...}`");
    board.set_timeout(Duration::from_secs(30)).unwrap();
    let mut answer = [0; 10];
    board.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"config {}\n");
    let id = bridge.ask(Act::Reset);
    let Event::NotDone { id: of, why } = bridge.event() else {
        panic!("a pseudo terminal was reset");
    };
    assert_eq!((of, &*why), (id, "the port has no lines DTR and RTS"));
    bridge.end();
}

#[test]
fn a_port_that_comes_back_under_its_name_is_taken_again() {
    let place = std::env::temp_dir().join(format!("mcp-hil-link-{}", std::process::id()));
    let _ = std::fs::remove_file(&place);
    let (mut board, host, path) = terminal();
    symlink(path, &place).unwrap();
    let mut bridge = Bridge::run(&job(&place));
    opened(bridge.event());
    drop(host);
    board.write_all(b"before\n\nlast words").unwrap();
    assert_eq!(bridge.line(), "before");
    assert_eq!(bridge.line(), "");
    std::fs::remove_file(&place).unwrap();
    drop(board);
    let mut told = bridge.event();
    if let Event::Line { text } = &told {
        // The hang-up may overtake what the terminal still held.
        assert_eq!(text, "last words");
        told = bridge.event();
    }
    assert!(matches!(told, Event::Lost { .. }), "{told:?}");
    let id = bridge.ask(Act::Reset);
    let refused = Event::NotDone { id, why: "the port is gone".into() };
    assert_eq!(bridge.event(), refused);
    let (mut board, host, path) = terminal();
    symlink(path, &place).unwrap();
    let back = bridge.event();
    assert!(matches!(back, Event::Back { .. }), "{back:?}");
    drop(host);
    board.write_all(b"after\n").unwrap();
    assert_eq!(bridge.line(), "after");
    bridge.end();
    std::fs::remove_file(&place).unwrap();
}

/// The trouble that a bridge ends with before its port was open.
fn refused(job: &Job) -> Trouble {
    let mut bridge = Bridge::run(job);
    match bridge.event() {
        Event::Failed(trouble) => trouble,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_port_that_stays_away_ends_the_bridge() {
    // By a name of its own: a terminal's number goes to the next test that asks for one.
    let place = std::env::temp_dir().join(format!("mcp-hil-away-{}", std::process::id()));
    let _ = std::fs::remove_file(&place);
    let (board, host, path) = terminal();
    symlink(path, &place).unwrap();
    let mut bridge = Bridge::run(&Job { return_ms: 0, ..job(&place) });
    opened(bridge.event());
    std::fs::remove_file(&place).unwrap();
    drop((host, board));
    assert!(matches!(bridge.event(), Event::Lost { .. }));
    let Event::Failed(trouble) = bridge.event() else {
        panic!("it goes on");
    };
    assert_eq!(trouble.kind, TroubleKind::Gone);
    assert!(trouble.hint.contains("unplugged"), "{trouble}");
    bridge.thread.join().unwrap().unwrap();
}

#[test]
fn a_port_that_goes_with_its_power_is_no_trouble_until_that_is_back() {
    let place = std::env::temp_dir().join(format!("mcp-hil-off-{}", std::process::id()));
    let _ = std::fs::remove_file(&place);
    let (board, host, path) = terminal();
    symlink(path, &place).unwrap();
    let mut bridge = Bridge::run(&Job { return_ms: 0, ..job(&place) });
    opened(bridge.event());
    let id = bridge.ask(Act::Power { on: false });
    assert_eq!(bridge.event(), Event::Done { id });
    std::fs::remove_file(&place).unwrap();
    drop((host, board));
    // It is away when that is the answer; what is no longer there may still be read for a moment.
    loop {
        let id = bridge.ask(Act::Press { ms: 1 });
        match bridge.event() {
            Event::NotDone { id: of, why } if of == id && why == "the port is gone" => break,
            Event::NotDone { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    let (mut board, host, path) = terminal();
    symlink(path, &place).unwrap();
    board.write_all(b"boots\n").unwrap();
    assert_eq!(bridge.line(), "boots");
    drop(host);
    let id = bridge.ask(Act::Power { on: true });
    assert_eq!(bridge.event(), Event::Done { id });
    // From now on it has to stay.
    std::fs::remove_file(&place).unwrap();
    drop(board);
    assert!(matches!(bridge.event(), Event::Lost { .. }));
    assert!(matches!(bridge.event(), Event::Failed(_)));
    bridge.thread.join().unwrap().unwrap();
}

#[test]
fn a_port_that_another_program_uses_is_told_apart_from_one_that_is_not_there() {
    let (_board, host, path) = terminal();
    drop(host);
    let _theirs = open(&path).unwrap();
    let trouble = refused(&job(&path));
    assert_eq!(trouble.kind, TroubleKind::Held, "{trouble}");
    assert!(trouble.what.contains("another program uses it"), "{trouble}");
    let trouble = refused(&job(Path::new("/dev/mcp-hil-no-such-port")));
    assert_eq!(trouble.kind, TroubleKind::Absent, "{trouble}");
}

#[test]
fn two_bridges_do_not_share_a_board_and_the_second_one_names_the_first() {
    let (_board, host, path) = terminal();
    let mut first = Bridge::run(&job(&path));
    opened(first.event());
    drop(host);
    let trouble = refused(&job(&path));
    assert_eq!(trouble.kind, TroubleKind::Held, "{trouble}");
    let pid = std::process::id().to_string();
    assert!(trouble.what.contains(&pid), "{trouble}");
    first.end();
}

#[test]
fn a_port_without_permission_leads_to_the_udev_rules() {
    let denied =
        serialport::Error::new(ErrorKind::Io(io::ErrorKind::PermissionDenied), "Permission denied");
    let trouble = trouble(Path::new("/dev/ttyUSB0"), &denied);
    assert_eq!(trouble.kind, TroubleKind::Denied);
    assert!(trouble.hint.contains("udev"), "{trouble}");
    assert!(trouble.what.contains("permission denied"), "{trouble}");
}
