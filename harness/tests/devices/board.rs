//! Boards, played by programs at pseudo terminals: a run with one, and what breaks at each seam of the
//! bench. Power and button are commands here; the lines DTR and RTS are tried in the package `boards`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::held::{Held, Obeys};
use crate::support::{Place, free_port, native};
use mcp_hil_boards::board::{BoardLock, Holder};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use serialport::{SerialPort, TTYPort};

/// What stock firmware says until it could be made to dial.
const WIFI: &str = "I (612) wifi:mode : sta (f4:12:fa:00:11:22)";
const IP: &str = "I (900) esp_netif_handlers: sta ip: 192.168.1.20, mask: 255.255.255.0";
const IDLE: &str = "I (950) StateMachine: State: activating -> idle";

/// What a board does.
#[derive(Debug, Clone, Copy, Default)]
struct Manner {
    /// Whether it lives as stock firmware does, to the last connection: then it says and does the rest
    /// of this by itself.
    is_stock: bool,
    /// What its console says at a boot.
    boot: &'static [&'static str],
    /// Whether it dials when it has booted, and when its button is pressed.
    dials: (bool, bool),
    /// The console line with which it ends, and how.
    ends_at: Option<(&'static str, End)>,
    /// How often it boots; after that it is dead.
    lives: usize,
    /// Whether nothing takes its power away and gives it back.
    is_always_on: bool,
}

/// How a board ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    /// It dies where it is.
    #[default]
    Dies,
    /// Its cable is pulled, and with it its power.
    Unplugged,
    /// The same, once, and the cable is put back.
    Replugged,
    /// The same after a crash.
    CrashesAndIsReplugged,
    /// It lives on without its cable until it has dialed once more, and is then unplugged and put back like
    /// the others.
    DialsAndIsReplugged,
}

const STOCK: Manner = Manner {
    is_stock: false,
    boot: &[WIFI, IP, IDLE],
    dials: (false, true),
    ends_at: None,
    lives: usize::MAX,
    is_always_on: false,
};

/// How a crash begins.
const PANIC: &str = "Guru Meditation Error: Core  0 panic'ed (LoadProhibited)";

/// What the ROM says when the power comes on.
const POWER_ON: &str = "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)";

/// The board's side of its port, while it is plugged in. The other side is held open: a master without
/// one cannot be used.
type Port = Arc<Mutex<Option<(TTYPort, File)>>>;

/// A board that takes orders from a named pipe: `power <url>`, and `press <url>`.
struct Board {
    manner: Manner,
    path: PathBuf,
    port: Port,
    ota_url: String,
    device: Option<Child>,
    /// Whether its cable was pulled.
    was_pulled: Arc<AtomicBool>,
}

/// A board while it is at hand, and its port.
struct Attached {
    _board: Held<Board>,
    path: PathBuf,
}

impl Board {
    /// Plugs one in, and writes the file of it.
    fn attach(place: &Place, manner: Manner) -> Attached {
        // Another terminal may get the name of one that is gone.
        let path = place.path("port");
        let port = Port::default();
        plug_in(&port, &path);
        let board = Self {
            manner,
            path: path.clone(),
            port,
            ota_url: String::new(),
            device: None,
            was_pulled: Arc::default(),
        };
        let power = match manner.is_always_on {
            true => {
                board.boot();
                ""
            }
            false => "[board.power]\ncycle = 'echo \"power $MCP_HIL_OTA_URL\" > orders'\n",
        };
        let file = format!(
            "name = \"desk\"\ntarget = \"board\"\n[board]\nport = \"{}\"\n\
             {power}[board.trigger]\nkind = \"command\"\n\
             command = 'echo \"press $MCP_HIL_OTA_URL\" > orders'\n",
            path.display()
        );
        place.write("desk.toml", file);
        Attached { _board: Held::new(place, board), path }
    }

    fn boot(&self) {
        for line in self.manner.boot {
            say(&self.port, line);
        }
    }

    fn dial(&mut self) {
        let (life, button) = match self.manner.is_stock {
            true => (Some("--stock"), Stdio::piped()),
            false => (None, Stdio::null()),
        };
        // One that was unplugged while the last case ran would have spoilt nothing but that.
        let delay_ms = if self.manner.ends_at.is_some() { "5" } else { "0" };
        let mut device = Command::new(native())
            .args(life)
            .args(["--delay-ms", delay_ms])
            .env("MCP_HIL_OTA_URL", &self.ota_url)
            .stdin(button)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let console = BufReader::new(device.stdout.take().unwrap());
        let (port, was_pulled) = (self.port.clone(), self.was_pulled.clone());
        let Manner { ends_at, boot, is_always_on, .. } = self.manner;
        let path = self.path.clone();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(device.id()).unwrap());
        std::thread::spawn(move || {
            let mut console = console.lines().map_while(Result::ok);
            while let Some(line) = console.next() {
                say(&port, &line);
                let Some((_, end)) = ends_at.filter(|(text, _)| line.contains(text)) else {
                    continue;
                };
                let comes_back = !matches!(end, End::Dies | End::Unplugged);
                if comes_back && was_pulled.swap(true, Ordering::Relaxed) {
                    continue;
                }
                let signal = |signal| nix::sys::signal::kill(pid, signal).unwrap();
                if end == End::CrashesAndIsReplugged {
                    // It answers nothing more, and its connection stays as long as nothing resets it.
                    signal(Signal::SIGSTOP);
                    say(&port, PANIC);
                    wait_until_read(&port);
                }
                if end != End::Dies {
                    // Its power comes by the same cable.
                    let _ = std::fs::remove_file(&path);
                    port.lock().unwrap().take();
                }
                if end == End::DialsAndIsReplugged {
                    // It asks for its configuration, and then it connects.
                    console.find(|line| line.contains("Connecting to websocket server"));
                }
                signal(Signal::SIGKILL);
                if comes_back {
                    // A press of the button must find it dead, not dying.
                    let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
                    plug_in(&port, &path);
                    if !is_always_on {
                        // The other kind is told by the program, which a press of the button starts.
                        say(&port, POWER_ON);
                    }
                    boot.iter().for_each(|line| say(&port, line));
                    // The rest of what the dead one said is no console of this life.
                    return;
                }
            }
        });
        self.device = Some(device);
    }

    fn end(&mut self) {
        if let Some(mut device) = self.device.take() {
            let _ = device.kill();
            let _ = device.wait();
        }
    }
}

impl Obeys for Board {
    fn obey(&mut self, order: &str) {
        let dials = match order.split_once(' ') {
            Some(("power", url)) => {
                self.end();
                if self.manner.lives == 0 {
                    return;
                }
                self.manner.lives -= 1;
                url.clone_into(&mut self.ota_url);
                self.boot();
                self.manner.dials.0 || self.manner.is_stock
            }
            Some((_, url)) => {
                url.clone_into(&mut self.ota_url);
                self.manner.dials.1
            }
            None => false,
        };
        if self.device.as_mut().is_some_and(|device| device.try_wait().unwrap().is_some()) {
            // It went with its power.
            self.device = None;
        }
        if let Some(button) = self.device.as_mut().and_then(|device| device.stdin.as_mut()) {
            writeln!(button, "button").unwrap();
        }
        if dials && self.device.is_none() {
            self.dial();
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.end();
    }
}

/// Plugs a board in: the other side of its port has a new name behind the same path.
fn plug_in(port: &Port, path: &Path) {
    let (board, host) = TTYPort::pair().unwrap();
    // Copies, for no program that is started meanwhile gets those.
    let board = board.try_clone_native().unwrap();
    let name = host.name().unwrap();
    let held = File::options().read(true).custom_flags(nix::libc::O_NOCTTY).open(&name).unwrap();
    std::os::unix::fs::symlink(name, path).unwrap();
    *port.lock().unwrap() = Some((board, held));
}

/// Waits until the host has read all that the board said: a cable that is pulled takes the rest with it.
fn wait_until_read(port: &Port) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd as _;

    let held = port.lock().unwrap();
    let (_, host) = held.as_ref().unwrap();
    // A poll looks behind the buffers of the terminal, too, which the count of its bytes does not.
    loop {
        let mut unread = [PollFd::new(host.as_fd(), PollFlags::POLLIN)];
        if poll(&mut unread, PollTimeout::ZERO).unwrap() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn say(port: &Port, line: &str) {
    if let Some((board, _)) = port.lock().unwrap().as_mut() {
        board.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }
}

fn run(place: &Place, more: &[&str]) -> crate::support::Hil {
    let mut args = vec!["run", "--dut", "desk.toml", "--cases", "0"];
    args.extend(more);
    place.hil(args).env("MCP_HIL_LOCKS", place.path("locks"))
}

#[test]
fn a_stock_board_is_made_to_dial_when_it_has_come_up() {
    let place = Place::new();
    let _board = Board::attach(&place, STOCK);
    run(&place, &["--only", "ids/", "--only", "hello/"])
        .end()
        .exits(0)
        .prints(&["a board on a serial port of this host"]);
    let report = place.both_reports();
    let dut = &report["run"]["duts"][0];
    assert_eq!((&dut["target"], &dut["level"]), (&"board".into(), &"board".into()));
    let log = place.read("target/mcp-hil/latest/console.log");
    let (up, talks) = (log.find(IDLE), log.find("MCP: Add tool:"));
    assert!(up.is_some() && up < talks, "{log}");
    let transcript = place.read("target/mcp-hil/latest/transcripts/session.bring-up.jsonl");
    for told in ["power cycled", "trigger: its trigger command was run"] {
        assert!(transcript.contains(told), "{told}: {transcript}");
    }
}

/// It never dials by itself, also not after the cases that drop its connection.
#[test]
fn the_suite_gets_stock_firmware_to_dial_whenever_it_takes_a_press() {
    let place = Place::new();
    let _board =
        Board::attach(&place, Manner { is_stock: true, boot: &[], dials: (false, false), ..STOCK });
    run(&place, &["--strict"]).end().exits(0);
    let report = place.both_reports();
    assert!(report["summary"]["passed"].as_u64().unwrap() > 100);
    let log = place.read("target/mcp-hil/latest/console.log");
    let presses = log.matches("idle -> connecting").count();
    assert!(presses > 2, "{presses} presses: {log}");
}

#[test]
fn over_mqtt_a_board_dials_by_itself() {
    let place = Place::new();
    let _board = Board::attach(&place, Manner { dials: (true, false), ..STOCK });
    run(&place, &["--only", "ids/", "--transport", "mqtt"]).end().exits(0);
    let transcript = place.read("target/mcp-hil/latest/transcripts/session.bring-up.jsonl");
    assert!(!transcript.contains("trigger:"), "{transcript}");
}

#[test]
fn a_board_that_does_not_dial_is_trouble_of_the_bench_and_its_console_says_which() {
    let silent = Manner { boot: &[], dials: (false, false), ..STOCK };
    for (boot, says) in [
        (&[][..], "its port is silent"),
        (&[WIFI], "its Wi-Fi never came up"),
        (&[WIFI, IP], "`wait_for`"),
        (&[WIFI, IP, IDLE], "it was triggered but did not connect"),
    ] {
        let place = Place::new();
        let _board = Board::attach(&place, Manner { boot, ..silent });
        let done = run(&place, &["--only", "ids/", "--connect-deadline", "2"]).end().exits(3);
        let told = format!("{}{}", done.stdout, done.stderr);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(says), "{says}: {told}");
        if let Some(last) = boot.last() {
            assert!(told.contains(last), "{last}: {told}");
        }
        assert_eq!(place.both_reports()["summary"]["failed"], 0);
    }
}

#[test]
fn a_port_that_another_program_uses_ends_the_run_before_it_begins() {
    let place = Place::new();
    let board = Board::attach(&place, STOCK);
    let theirs = serialport::new(board.path.to_string_lossy(), 115_200).open_native().unwrap();
    let done = run(&place, &["--only", "ids/"]).end().exits(3);
    let told = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("another program uses it"), "{done}");
    drop(theirs);
}

#[test]
fn a_board_that_is_unplugged_in_the_middle_is_no_failure_of_the_device() {
    let place = Place::new();
    let _board = Board::attach(
        &place,
        Manner { ends_at: Some(("Set output volume to 42", End::Unplugged)), ..STOCK },
    );
    run(&place, &["--only", "volume/", "--deadline", "2"]).end().exits(3);
    let report = place.both_reports();
    assert_eq!(report["summary"]["failed"], 0, "{report}");
    let cases = report["cases"].as_array().unwrap();
    let spoilt = |case: &&serde_json::Value| case["verdict"] == "error";
    let reasons: Vec<&str> =
        cases.iter().filter(spoilt).map(|case| case["reason"].as_str().unwrap()).collect();
    assert!(!reasons.is_empty(), "{report}");
    for reason in &reasons {
        assert!(reason.contains("disappeared"), "{reasons:?}");
    }
}

/// A run with a board whose cable is pulled and put back. Gives the record, once a replay has seen the same.
fn replugged(place: &Place, manner: Manner, exit: i32) -> serde_json::Value {
    let _board = Board::attach(place, manner);
    run(place, &["--only", "volume/", "--deadline", "2"]).end().exits(exit);
    let transcripts = crate::support::files(&place.latest().canonicalize().unwrap());
    let told = |text: &str| {
        let holds =
            |file: &PathBuf| std::fs::read_to_string(file).is_ok_and(|all| all.contains(text));
        assert!(transcripts.iter().any(holds), "{text}");
    };
    told("the port disappeared");
    told("the port is back");
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(exit);
    place.both_reports()
}

#[test]
fn a_cable_that_is_pulled_and_put_back_spoils_one_case_and_the_rest_runs_on_a_fresh_board() {
    let ends = [End::Replugged, End::DialsAndIsReplugged];
    for (is_always_on, end) in [false, true].into_iter().flat_map(|on| ends.map(|end| (on, end))) {
        let place = Place::new();
        let manner =
            Manner { ends_at: Some(("Set output volume to 42", end)), is_always_on, ..STOCK };
        let report = replugged(&place, manner, 3);
        let summary = &report["summary"];
        let counts = (&summary["failed"], &summary["inconclusive"], &summary["errors"]);
        assert_eq!(counts, (&0.into(), &0.into(), &1.into()), "{report}");
        let cases = report["cases"].as_array().unwrap();
        let at = cases.iter().position(|case| case["verdict"] == "error").unwrap();
        let reason = cases[at]["reason"].as_str().unwrap();
        assert!(reason.contains("the port disappeared"), "{reason}");
        let after = cases[at + 1..].iter();
        let passed = after.filter(|case| case["verdict"] == "pass").count();
        assert!(passed > 1, "{report}");
    }
}

#[test]
fn a_board_that_crashed_before_its_cable_was_pulled_has_failed() {
    let place = Place::new();
    let manner =
        Manner { ends_at: Some(("Set output volume to 42", End::CrashesAndIsReplugged)), ..STOCK };
    let report = replugged(&place, manner, 1);
    let cases = report["cases"].as_array().unwrap();
    let failed = cases.iter().find(|case| case["verdict"] == "fail").unwrap();
    let findings = failed["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{failed}");
    assert_eq!(findings[0]["requirement"], "liveness.no-panic");
    assert!(failed["reason"].as_str().unwrap().contains("the port disappeared"), "{failed}");
}

#[test]
fn both_transports_share_a_fixed_port_with_a_board() {
    let place = Place::new();
    let _board = Board::attach(&place, Manner { dials: (true, false), ..STOCK });
    let (listen, http) = (free_port(), free_port());
    let at = ["--listen", &listen, "--http-listen", &http];
    let more = ["--only", "ids/", "--transport", "both"];
    run(&place, &[&more[..], &at].concat()).end().exits(0);
    assert_eq!(place.both_reports()["run"]["duts"].as_array().unwrap().len(), 2);
}

#[test]
fn a_port_that_another_program_reads_is_told_with_its_name_at_once() {
    let place = Place::new();
    let board = Board::attach(&place, STOCK);
    let mut cat = Command::new("cat").stdin(File::open(&board.path).unwrap()).spawn().unwrap();
    let done = run(&place, &["--only", "ids/"]).end();
    cat.kill().unwrap();
    cat.wait().unwrap();
    let done = done.exits(3);
    let told = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("`cat` (process {})", cat.id())), "{done}");
}

#[test]
fn a_board_that_stays_dead_is_told_as_dead_and_what_comes_after_it_is_no_failure() {
    let place = Place::new();
    let _board = Board::attach(
        &place,
        Manner { ends_at: Some(("Set output volume to 42", End::Dies)), lives: 1, ..STOCK },
    );
    let more = ["--only", "volume/", "--connect-deadline", "5"];
    run(&place, &more).end().exits(3);
    let report = place.both_reports();
    let cases = report["cases"].as_array().unwrap();
    let dead = |case: &&serde_json::Value| {
        let reason = case["reason"].as_str().unwrap_or_default();
        case["verdict"] == "error" && reason.contains("the board stays dead: it was power cycled")
    };
    let count = cases.iter().filter(dead).count();
    assert!(count > 1, "{report}");
    // It died in the middle of one case, and nobody knows of what.
    let failed = report["summary"]["failed"].as_u64().unwrap();
    assert!(failed <= 1, "{report}");
}

/// Somebody uses a board, as another run does.
fn in_use(place: &Place) -> BoardLock {
    let board = place.path("port").canonicalize().unwrap();
    BoardLock::take_in(
        &place.path("locks"),
        &format!("port-{}", board.display()),
        &Holder::this_process("mcp-hil flash", None),
    )
    .unwrap()
}

#[test]
fn a_board_in_use_is_waited_for_and_its_user_named() {
    let place = Place::new();
    let _board = Board::attach(&place, STOCK);
    let theirs = in_use(&place);
    let args = ["--only", "ids/", "--wait-for-board", "10m"];
    let mut waits = run(&place, &args).start();
    let told = waits.err("is in use by");
    let who = format!("process {} of user", std::process::id());
    for part in [&*who, "`mcp-hil flash`", "waiting up to 10 min"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    drop(theirs);
    waits.end().exits(0);
    place.both_reports();
}

#[test]
fn a_board_that_stays_in_use_ends_the_run_and_its_user_is_named() {
    let place = Place::new();
    let _board = Board::attach(&place, STOCK);
    let pid = std::process::id();
    for (more, says) in [
        (&[][..], "`--wait-for-board 30m` waits for it"),
        (&["--wait-for-board", "300ms"], "and was so for all of 300 ms"),
    ] {
        let _theirs = in_use(&place);
        let done = run(&place, &["--only", "ids/"]);
        let done = more.iter().fold(done, crate::support::Hil::arg).end().exits(3);
        let told = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let who = format!("is in use by process {pid} of user");
        for part in [&*who, "`mcp-hil flash`", says] {
            assert!(told.contains(part), "{part}: {done}");
        }
        assert_eq!(place.both_reports()["summary"]["failed"], 0);
    }
}

/// Ctrl-C ends a run that waits, with its reports.
#[test]
fn a_run_that_waits_for_a_board_can_be_stopped() {
    let place = Place::new();
    let _board = Board::attach(&place, STOCK);
    let _theirs = in_use(&place);
    let mut waits = run(&place, &["--only", "ids/", "--wait-for-board", "10m"]).start();
    waits.err("is in use by");
    waits.signal(nix::sys::signal::Signal::SIGINT);
    waits.end().exits(130);
    place.both_reports();
}
