//! Boards, played by programs at pseudo terminals: a run with one, and what breaks at each seam of the
//! bench. Power and button are commands here; the lines DTR and RTS are tried in the rig.

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serialport::{SerialPort, TTYPort};
use support::{Place, native};

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
    /// The console line with which it ends, and whether it is unplugged then.
    ends_at: Option<(&'static str, bool)>,
    /// How often it boots; after that it is dead.
    lives: usize,
}

const STOCK: Manner = Manner {
    is_stock: false,
    boot: &[WIFI, IP, IDLE],
    dials: (false, true),
    ends_at: None,
    lives: usize::MAX,
};

/// The board's side of its port, while it is plugged in. The other side is held open: a master without
/// one cannot be used.
type Port = Arc<Mutex<Option<(TTYPort, TTYPort)>>>;

/// A board that takes orders from a named pipe: `power <url>`, and `press`.
struct Board {
    manner: Manner,
    path: PathBuf,
    port: Port,
    ota_url: String,
    device: Option<Child>,
}

impl Board {
    /// Plugs one in, and writes the file of it.
    fn attach(place: &Place, manner: Manner) -> PathBuf {
        let (board, host) = TTYPort::pair().unwrap();
        // Copies, for no program that is started meanwhile gets those.
        let [board, host] = [board, host].map(|end| end.try_clone_native().unwrap());
        // Another terminal may get the name of one that is gone.
        let path = place.path("port");
        std::os::unix::fs::symlink(host.name().unwrap(), &path).unwrap();
        let orders = place.path("orders");
        let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
        nix::unistd::mkfifo(&orders, mode).unwrap();
        let mut board = Self {
            manner,
            path: path.clone(),
            port: Arc::new(Mutex::new(Some((board, host)))),
            ota_url: String::new(),
            device: None,
        };
        std::thread::spawn(move || {
            // Each command opens the pipe for itself.
            while let Ok(file) = File::open(&orders) {
                for order in BufReader::new(file).lines().map_while(Result::ok) {
                    board.obey(&order);
                }
            }
        });
        let file = format!(
            "name = \"desk\"\ntarget = \"board\"\n[board]\nport = \"{}\"\n\
             [board.power]\ncycle = 'echo \"power $MCP_HIL_OTA_URL\" > orders'\n\
             [board.trigger]\nkind = \"command\"\ncommand = 'echo press > orders'\n",
            path.display()
        );
        place.write("desk.toml", file);
        path
    }

    fn obey(&mut self, order: &str) {
        let dials = match order.split_once(' ') {
            Some(("power", url)) => {
                self.end();
                if self.manner.lives == 0 {
                    return;
                }
                self.manner.lives -= 1;
                url.clone_into(&mut self.ota_url);
                for line in self.manner.boot {
                    say(&self.port, line);
                }
                self.manner.dials.0 || self.manner.is_stock
            }
            _ => self.manner.dials.1,
        };
        if let Some(button) = self
            .device
            .as_mut()
            .and_then(|device| device.stdin.as_mut())
        {
            writeln!(button, "button").unwrap();
        }
        if dials && self.device.is_none() {
            self.dial();
        }
    }

    fn dial(&mut self) {
        let (life, button) = match self.manner.is_stock {
            true => (Some("--stock"), Stdio::piped()),
            false => (None, Stdio::null()),
        };
        let mut device = Command::new(native())
            .args(life)
            .env("MCP_HIL_OTA_URL", &self.ota_url)
            .stdin(button)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let console = BufReader::new(device.stdout.take().unwrap());
        let (port, ends_at) = (self.port.clone(), self.manner.ends_at);
        let path = self.path.clone();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(device.id()).unwrap());
        std::thread::spawn(move || {
            for line in console.lines().map_while(Result::ok) {
                say(&port, &line);
                let Some((_, unplugged)) = ends_at.filter(|(text, _)| line.contains(text)) else {
                    continue;
                };
                {
                    if unplugged {
                        // Its power comes by the same cable.
                        let _ = std::fs::remove_file(&path);
                        port.lock().unwrap().take();
                    }
                    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
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

impl Drop for Board {
    fn drop(&mut self) {
        self.end();
    }
}

fn say(port: &Port, line: &str) {
    if let Some((board, _)) = port.lock().unwrap().as_mut() {
        board.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }
}

fn run(place: &Place, more: &[&str]) -> support::Hil {
    let mut args = vec!["run", "--dut", "desk.toml", "--cases", "0"];
    args.extend(more);
    place.hil(args).env("MCP_HIL_LOCKS", place.path("locks"))
}

#[test]
fn a_stock_board_is_made_to_dial_when_it_has_come_up() {
    let place = Place::new();
    Board::attach(&place, STOCK);
    run(&place, &["--only", "ids/", "--only", "hello/"])
        .end()
        .exits(0)
        .prints(&["a board at a serial port of this host"]);
    let report = place.both_reports();
    let dut = &report["run"]["duts"][0];
    assert_eq!(
        (&dut["target"], &dut["level"]),
        (&"board".into(), &"board".into())
    );
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
    Board::attach(
        &place,
        Manner {
            is_stock: true,
            boot: &[],
            dials: (false, false),
            ..STOCK
        },
    );
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
    Board::attach(
        &place,
        Manner {
            dials: (true, false),
            ..STOCK
        },
    );
    run(&place, &["--only", "ids/", "--transport", "mqtt"])
        .end()
        .exits(0);
    let transcript = place.read("target/mcp-hil/latest/transcripts/session.bring-up.jsonl");
    assert!(!transcript.contains("trigger:"), "{transcript}");
}

#[test]
fn a_board_that_does_not_dial_is_trouble_of_the_bench_and_its_console_says_which() {
    let silent = Manner {
        boot: &[],
        dials: (false, false),
        ..STOCK
    };
    for (boot, says) in [
        (&[][..], "its port is silent"),
        (&[WIFI], "its Wi-Fi never came up"),
        (&[WIFI, IP], "`wait_for`"),
        (&[WIFI, IP, IDLE], "it was made to dial and did not"),
    ] {
        let place = Place::new();
        Board::attach(&place, Manner { boot, ..silent });
        let done = run(&place, &["--only", "ids/", "--connect-deadline", "2"])
            .end()
            .exits(3);
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
    let path = Board::attach(&place, STOCK);
    let theirs = serialport::new(path.to_string_lossy(), 115_200)
        .open_native()
        .unwrap();
    let done = run(&place, &["--only", "ids/"]).end().exits(3);
    let told = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("another program uses it"), "{done}");
    drop(theirs);
}

#[test]
fn a_board_that_is_unplugged_in_the_middle_is_no_failure_of_the_device() {
    let place = Place::new();
    Board::attach(
        &place,
        Manner {
            ends_at: Some(("Set output volume to", true)),
            ..STOCK
        },
    );
    run(&place, &["--only", "volume/", "--deadline", "2"])
        .end()
        .exits(3);
    let report = place.both_reports();
    assert_eq!(report["summary"]["failed"], 0, "{report}");
    let cases = report["cases"].as_array().unwrap();
    let spoilt = |case: &&serde_json::Value| case["verdict"] == "error";
    let reasons: Vec<&str> = cases
        .iter()
        .filter(spoilt)
        .map(|case| case["reason"].as_str().unwrap())
        .collect();
    assert!(!reasons.is_empty(), "{report}");
    for reason in &reasons {
        assert!(reason.contains("went away"), "{reasons:?}");
    }
}

#[test]
fn a_board_that_stays_dead_is_told_as_dead_and_what_comes_after_it_is_no_failure() {
    let place = Place::new();
    Board::attach(
        &place,
        Manner {
            ends_at: Some(("Set output volume to", false)),
            lives: 1,
            ..STOCK
        },
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
