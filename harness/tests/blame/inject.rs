//! What is done to a run, to its device and to its bench: an order of the table is a verb and its operands.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use mcp_hil_boards::board::{BoardLock, Holder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::rig::{Rig, wait_until};
use crate::support::{Hil, Live, missing};

/// Whether this machine lets users make networks of their own, for faults that need one.
pub(crate) fn has_what_it_needs(orders: &[String]) -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    let may = || {
        let line = ["--map-root-user", "--net", "ip", "link", "set", "lo", "up"];
        let done = Command::new("unshare").args(line).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    let needs = orders.iter().any(|order| order.starts_with("network "));
    if needs && !*MAY.get_or_init(may) {
        missing::UNSHARE.is_missing("the network of a run goes down there");
        return false;
    }
    true
}

/// Whether the order needs the run started in a special way; if so, how.
pub(crate) fn prepared(orders: &[String], hil: Hil) -> Hil {
    let has = |verb: &str| orders.iter().any(|order| order.split(' ').next() == Some(verb));
    if has("limit") {
        // Who writes beyond the limit is told so, as by a full disk, and not killed.
        return under(hil, "trap '' XFSZ; exec \"$0\" \"$@\"");
    }
    if has("network") {
        let inner = "ip link set lo up && exec \"$0\" \"$@\"";
        return under(
            hil,
            &format!("exec unshare --map-root-user --net sh -c '{inner}' \"$0\" \"$@\""),
        );
    }
    if has("clock") || has("hang-open") {
        return hil.env("LD_PRELOAD", shim()).env("TEST_CLOCK", "clock").env("TEST_HANGS", "port");
    }
    hil
}

/// The same program, started by a line of the shell that replaces itself with it.
fn under(hil: Hil, line: &str) -> Hil {
    let inner = hil.0;
    let mut command = Command::new("sh");
    command.args(["-c", line]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(inner.get_current_dir().unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Hil(command)
}

/// `faults.c`, built.
fn shim() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blame/faults.c");
        let built = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("faults-{}.so", std::process::id()));
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&built, &source])
            .args(["-ldl"])
            .status();
        assert!(done.is_ok_and(|status| status.success()), "`cc` failed");
        built
    })
}

/// Carries out an order; `live` is there once the run has started.
pub(crate) fn inject(rig: &mut Rig, live: Option<&Live>, order: &str) {
    let (verb, rest) = order.split_once(' ').unwrap_or((order, ""));
    let words: Vec<&str> = rest.split(' ').collect();
    match (verb, &words[..]) {
        // Told to the device when it starts.
        ("mutant", _) => {}
        ("signal", [who, name]) => signal(rig, live, who, name),
        ("stop", [who, seconds]) => {
            signal(rig, live, who, "STOP");
            std::thread::sleep(seconds_of(seconds));
            signal(rig, live, who, "CONT");
        }
        ("pause", [seconds]) => std::thread::sleep(seconds_of(seconds)),
        ("limit", [what, value]) => limit(live, what, value),
        ("network", [state]) => network(live, state),
        ("clock", [seconds]) => drop(rig.place.write("clock", seconds)),
        ("hang-open", _) => drop(rig.place.write("hangs", "")),
        ("remove", [what]) => remove(rig, what),
        ("write", [name, ..]) => {
            let text = rest[name.len()..].trim_start();
            match text.strip_prefix("script ") {
                Some(script) => drop(rig.place.program(name, script)),
                None => drop(rig.place.write(name, text)),
            }
        }
        ("visit", _) => visit(rig, live),
        ("occupy", [port]) => {
            let address = if *port == "listen" { &rig.listen } else { &rig.http };
            let held = TcpListener::bind(address).unwrap();
            rig.kept.push(Box::new(held));
        }
        ("broker", [what]) => broker(rig, what),
        _ => board(rig, verb, rest),
    }
}

fn seconds_of(text: &str) -> Duration {
    Duration::from_secs_f64(text.parse().unwrap())
}

/// Sends a signal to who plays a part in the run.
fn signal(rig: &Rig, live: Option<&Live>, who: &str, name: &str) {
    let signal: Signal = format!("SIG{name}").parse().unwrap();
    let run = || live.expect("the run has started").pid;
    let pids = match who {
        "device" => {
            wait_until("the device runs", || rig.device().is_some());
            vec![rig.device().unwrap()]
        }
        "harness" => vec![run()],
        "bridge" => children(run(), "\0bridge"),
        "leader" => children(run(), "mcp-hil-group"),
        "broker" => {
            let broker = rig.broker.as_ref().unwrap();
            vec![Pid::from_raw(i32::try_from(broker.child.id()).unwrap())]
        }
        _ => panic!("nobody is called `{who}`"),
    };
    assert!(!pids.is_empty(), "there is no `{who}`");
    for pid in pids {
        kill(pid, signal).unwrap();
        if matches!(signal, Signal::SIGSEGV | Signal::SIGBUS) {
            // Programs in Rust look at the first one, and go on where no guard page was touched.
            wait_until("it crashes", || {
                let _ = kill(pid, signal);
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.map_or(true, |stat| stat.contains(") Z"))
            });
        }
    }
}

/// The children of a process whose command line holds a text.
fn children(parent: Pid, text: &str) -> Vec<Pid> {
    let of = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        fields.split_whitespace().nth(1) == Some(&parent.to_string())
            && String::from_utf8_lossy(&line).contains(text)
    };
    let all = std::fs::read_dir("/proc").unwrap();
    let all = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    all.filter(of).map(Pid::from_raw).collect()
}

/// Limits what the run may use from now on.
fn limit(live: Option<&Live>, what: &str, value: &str) {
    let Some(live) = live else { panic!("a limit before the start") };
    let done = Command::new("prlimit")
        .args(["--pid", &live.pid.to_string(), &format!("--{what}={value}")])
        .status();
    assert!(done.is_ok_and(|status| status.success()), "`prlimit` failed");
}

/// The network of the run goes, or comes back.
fn network(live: Option<&Live>, state: &str) {
    let pid = live.expect("the run has started").pid.to_string();
    let done = Command::new("nsenter")
        .args(["--target", &pid, "--user", "--preserve-credentials", "--net"])
        .args(["ip", "link", "set", "lo", state])
        .status();
    assert!(done.is_ok_and(|status| status.success()), "`nsenter` failed");
}

fn remove(rig: &Rig, what: &str) {
    let path = match what {
        "run" => rig.place.latest().canonicalize().unwrap(),
        name => rig.place.path(name),
    };
    match path.is_dir() {
        true => std::fs::remove_dir_all(path).unwrap(),
        false => std::fs::remove_file(path).unwrap(),
    }
}

/// Somebody who is no device connects to all that listens for the run.
fn visit(rig: &Rig, live: Option<&Live>) {
    let pid = live.expect("the run has started").pid;
    let mut told = String::new();
    File::open(format!("/proc/{pid}/net/tcp")).unwrap().read_to_string(&mut told).unwrap();
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .map(|path| path.display().to_string())
        .collect();
    let mut visited = 0;
    for line in told.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // What listens, and is this process's.
        if fields[3] == "0A" && own.contains(&format!("socket:[{}]", fields[9])) {
            let port = fields[1].rsplit_once(':').unwrap().1;
            let port = u16::from_str_radix(port, 16).unwrap();
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: scanner\r\n\r\n").unwrap();
            let _ = stream.shutdown(std::net::Shutdown::Both);
            visited += 1;
        }
    }
    assert!(visited > 0, "nothing listens in {}", rig.place.path("").display());
}

fn broker(rig: &mut Rig, what: &str) {
    use crate::support::broker::Mosquitto;
    let port = rig.port;
    match what {
        "goes" => drop(rig.broker.take()),
        "restarts" => {
            drop(rig.broker.take());
            rig.broker = Some(Mosquitto::start_at(&rig.place, port).expect("the port is free"));
        }
        _ => panic!("no broker does `{what}`"),
    }
}

fn board(rig: &mut Rig, verb: &str, rest: &str) {
    let path = rig.place.path("port");
    let board = rig.board.as_ref().unwrap_or_else(|| panic!("`{verb} {rest}`: no board"));
    match verb {
        "unplug" => board.unplug(),
        "plug-in" => board.plug_in(),
        "garble" => board.garble(),
        "say" => rest.split('|').for_each(|line| board.say(line)),
        "resets" => board.resets(rest),
        "boots-only" => board.boots_only(rest),
        "read-port" => {
            let port = File::open(path).unwrap();
            let cat = Command::new("cat").stdin(port).stdout(Stdio::null()).spawn().unwrap();
            rig.helpers.push(cat);
        }
        "hold-port" => {
            let theirs = serialport::new(path.to_string_lossy(), 115_200).open_native().unwrap();
            rig.kept.push(Box::new(theirs));
        }
        "lock" => {
            let real = path.canonicalize().unwrap();
            let holder = Holder::this_process("mcp-hil flash", None);
            let name = format!("port-{}", real.display());
            let lock = BoardLock::take_in(&rig.place.path("locks"), &name, &holder).unwrap();
            rig.kept.push(Box::new(lock));
        }
        _ => panic!("no order is called `{verb}`"),
    }
}
