//! A board with a USB converter and the usual two transistors: the lines DTR and RTS of its port are joined to the
//! pins GPIO0 and EN of its chip, on which stock firmware lives. Nothing else gets at it; where it asks for its
//! configuration stands in its flash.
//!
//! A pseudo terminal has no lines: `lines.c` plays them, in the program that opens it.

use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use serialport::{SerialPort, TTYPort};

use crate::support::{Place, native};

/// Levels of the pins of a chip: EN, which holds it in reset while it is low, and GPIO0, the boot button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pins {
    pub(crate) en: bool,
    pub(crate) gpio0: bool,
}

/// What the transistors make of DTR and RTS (true is asserted): both together do nothing, so that a terminal
/// program, which asserts both, leaves the chip alone.
pub(crate) const TRANSISTORS: [((bool, bool), Pins); 4] = [
    ((false, false), IDLE),
    ((true, true), IDLE),
    ((true, false), Pins { en: true, gpio0: false }),
    ((false, true), Pins { en: false, gpio0: true }),
];

/// The pins of a chip that is left alone.
const IDLE: Pins = Pins { en: true, gpio0: true };

/// What firmware takes for a click (device-protocol 2.3: debounced for 10 ms, a long press from 1.5 s on).
const CLICK: std::ops::Range<Duration> = Duration::from_millis(10)..Duration::from_millis(1500);

/// How the lines of a board are joined to its chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wiring {
    /// By two transistors.
    Transistors,
    /// Not at all.
    Apart,
    /// By two transistors, and something holds GPIO0 low.
    Gpio0Held,
}

/// What happened to a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    /// It began to run what is in its flash.
    Booted,
    /// It began to wait for its flash to be written.
    Bootloader,
    /// It was held in reset.
    Reset,
    /// Its button was clicked while the firmware ran.
    Clicked,
}

/// A board that is plugged in, and runs, until this is dropped.
pub(crate) struct LineBoard {
    port: PathBuf,
    lines: String,
    ota: std::net::SocketAddr,
    chip: Arc<Mutex<Chip>>,
}

impl LineBoard {
    /// Plugs one in that asks at `ota` for its configuration.
    pub(crate) fn attach(place: &Place, ota: &str, wiring: Wiring) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let (board, host) = TTYPort::pair().unwrap();
        // Copies, for no program that is started meanwhile gets those.
        let [board, host] = [board, host].map(|end| end.try_clone_native().unwrap());
        let port = place.path("port");
        std::os::unix::fs::symlink(host.name().unwrap(), &port).unwrap();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let lines = format!("mcp-hil-test-lines-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(&lines).unwrap();
        let orders = UnixDatagram::bind_addr(&address).unwrap();
        let mut chip = Chip {
            console: Arc::new(Console {
                ends: Mutex::new((board, host)),
                is_open: AtomicBool::new(false),
            }),
            ota_url: format!("http://{ota}/xiaozhi/ota/"),
            pins: IDLE,
            low_since: None,
            device: None,
            story: Vec::new(),
        };
        // Its power comes with its cable.
        chip.come_up();
        let chip = Arc::new(Mutex::new(chip));
        let moved = Arc::clone(&chip);
        std::thread::spawn(move || {
            let mut text = [0; 64];
            while let Ok((length, who)) = orders.recv_from(&mut text) {
                let text = std::str::from_utf8(&text[..length]).unwrap();
                let mut words = text.split(' ').map(|word| word.parse::<u64>().unwrap());
                let mut next = || words.next().expect("three numbers");
                let (dtr, rts, at) = (next() == 1, next() == 1, Duration::from_nanos(next()));
                let mut chip = moved.lock().unwrap();
                chip.console.is_open.store(true, Ordering::Relaxed);
                if wiring == Wiring::Apart {
                    // It goes on with what it logs now and then, whatever the lines do.
                    chip.console.say(HEAP);
                } else {
                    let row = TRANSISTORS.iter().find(|(lines, _)| *lines == (dtr, rts));
                    let mut pins = row.expect("the table is whole").1;
                    pins.gpio0 &= wiring != Wiring::Gpio0Held;
                    chip.moves(pins, at);
                }
                // Who gave the order may have ended.
                let _ = orders.send_to_addr(b"done", &who);
            }
        });
        Self { port, lines, ota: ota.parse().unwrap(), chip }
    }

    /// The file of it: nothing in it switches power, and its button is at the line DTR.
    pub(crate) fn file(&self, name: &str) -> String {
        format!(
            "name = \"{name}\"\ntarget = \"board\"\nhttp_listen = \"{}\"\n[board]\nport = \"{}\"\n\
             [board.trigger]\nkind = \"button\"\n",
            self.ota,
            self.port.display()
        )
    }

    /// What has to be in the environment of programs that use its port.
    pub(crate) fn environment(&self) -> [(&'static str, String); 3] {
        [
            ("LD_PRELOAD", shim().display().to_string()),
            ("TEST_BOARD_PORT", self.port.display().to_string()),
            ("TEST_BOARD_LINES", self.lines.clone()),
        ]
    }

    /// What happened to its chip until now.
    pub(crate) fn story(&self) -> Vec<Happened> {
        self.chip.lock().unwrap().story.clone()
    }
}

impl Drop for LineBoard {
    fn drop(&mut self) {
        self.chip.lock().unwrap().end();
    }
}

/// The program that plays the lines, for the dynamic linker.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let made = folder.join(format!("lines-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/workflows/lines.c");
        // The linker of Rust programs is the C compiler, too.
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&made, &source])
            .arg("-ldl")
            .status();
        assert!(done.is_ok_and(|status| status.success()), "`cc` failed");
        let shim = folder.join("lines.so");
        std::fs::rename(made, &shim).unwrap();
        shim
    })
}

/// What stock firmware logs every ten seconds.
const HEAP: &str = "I (60950) SystemInfo: free sram: 102400 minimal sram: 98304";

/// The board's side of its port, and the other, which is held open: a master without one cannot be used.
struct Console {
    ends: Mutex<(TTYPort, TTYPort)>,
    /// Whether a program has the port open, or had. What a converter gets before that is lost.
    is_open: AtomicBool,
}

impl Console {
    fn say(&self, line: &str) {
        if self.is_open.load(Ordering::Relaxed) {
            let board = &mut self.ends.lock().unwrap().0;
            // Nobody may read.
            let _ = board.write_all(format!("{line}\r\n").as_bytes());
        }
    }
}

struct Chip {
    console: Arc<Console>,
    ota_url: String,
    pins: Pins,
    /// Since when GPIO0 is low.
    low_since: Option<Duration>,
    device: Option<(Child, JoinHandle<()>)>,
    story: Vec<Happened>,
}

impl Chip {
    /// Its pins have these levels from now on.
    fn moves(&mut self, pins: Pins, at: Duration) {
        let before = std::mem::replace(&mut self.pins, pins);
        match (before.en, pins.en) {
            (true, false) => {
                self.end();
                self.story.push(Happened::Reset);
            }
            (false, true) => self.come_up(),
            _ => {}
        }
        if before.gpio0 && !pins.gpio0 {
            self.low_since = Some(at);
        }
        if !before.gpio0 && pins.gpio0 {
            let held = self.low_since.take().map(|since| at - since);
            if held.is_some_and(|held| CLICK.contains(&held)) {
                self.click();
            }
        }
    }

    /// EN got high: GPIO0 decides what runs.
    fn come_up(&mut self) {
        if !self.pins.gpio0 {
            self.console.say("rst:0x1 (POWERON),boot:0x3 (DOWNLOAD(UART0/1))");
            self.console.say("waiting for download");
            self.story.push(Happened::Bootloader);
            return;
        }
        let mut device = Command::new(native())
            .arg("--stock")
            .env("MCP_HIL_OTA_URL", &self.ota_url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(device.stdout.take().unwrap());
        let console = Arc::clone(&self.console);
        let listener = std::thread::spawn(move || {
            for line in says.lines().map_while(Result::ok) {
                console.say(&line);
            }
        });
        self.device = Some((device, listener));
        self.story.push(Happened::Booted);
    }

    fn click(&mut self) {
        if let Some((device, _)) = &mut self.device {
            let button = device.stdin.as_mut().expect("it was asked for");
            // It may have ended.
            let _ = writeln!(button, "button");
            self.story.push(Happened::Clicked);
        }
    }

    /// What runs ends, and says no more.
    fn end(&mut self) {
        if let Some((mut device, listener)) = self.device.take() {
            let _ = device.kill();
            let _ = device.wait();
            let _ = listener.join();
        }
    }
}
