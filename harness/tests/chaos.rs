//! Whatever peers do by a seed, over raw sockets and on a console, a run ends in time, with a verdict and readable reports,
//! and leaves nothing behind.

#![cfg(not(feature = "hil"))]

#[path = "chaos/console.rs"]
mod console;
#[path = "chaos/dice.rs"]
mod dice;
#[path = "chaos/http.rs"]
mod http;
#[path = "devices/hostile/packets.rs"]
mod packets;
#[path = "chaos/peer.rs"]
mod peer;
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use peer::{Addresses, Wire};
use rstest::rstest;
use support::{LATEST, Place, ended};

/// How long all that is generated may take, and a run of so few cases with a peer that never does what it should; and how
/// much memory that run may hold.
const GENERATED: &str = "15s";
const LONGEST: Duration = Duration::from_secs(60);
const MOST_KIB: u64 = 256 * 1024;

/// What became of a run with a peer that misbehaves.
struct Survived {
    code: i32,
    took: Duration,
    most_kib: u64,
}

/// Ends a peer with the run that it is for.
struct UntilOver(Arc<AtomicBool>);

impl Drop for UntilOver {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A run with the peer of a seed: every other one is a program with a console, and knows where HTTP is.
fn with_chaos(seed: u64, wire: Wire) -> Survived {
    let place = Place::new();
    let began = Instant::now();
    let over = UntilOver(Arc::new(AtomicBool::new(false)));
    let (urls, told) = place.lines("urls");
    let pipe = place.path("console");
    let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
    nix::unistd::mkfifo(&pipe, mode).unwrap();
    // It may be started again: the addresses stay, and are told once.
    let dut = format!(
        "exec:if mkdir '{}'; then echo \"$MCP_HIL_OTA_URL $MCP_HIL_WS_URL$MCP_HIL_MQTT_ENDPOINT\" > '{}'; fi; exec cat '{}'",
        place.path("told").display(),
        urls.display(),
        pipe.display()
    );
    let has_console = seed % 2 == 1;
    let dut = if has_console { &*dut } else { "wait" };
    let over_wire = if wire == Wire::Mqtt { "mqtt" } else { "websocket" };
    let listens =
        ["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--token", "opensesame"];
    let waits = ["--redial-deadline", "1", "--deadline", "0.2", "--connect-deadline", "3"];
    let few = ["--inputs", "5", "--max-time", GENERATED, "--no-confirm"];
    let some = ["--only", "list/pages", "--only", "ids/integers", "--only", "properties/json"];
    let what = ["run", "--dut", dut, "--transport", over_wire];
    let args = [&what[..], &listens, &waits, &few, &some].concat();
    let mut run = place.hil(args).start().within(LONGEST);
    let pid = run.pid;
    let most = std::thread::spawn(move || most_kib(pid.as_raw()));
    let at = if has_console {
        console::chatter(seed, &pipe, over.0.clone());
        let urls = told.recv_timeout(LATEST).unwrap();
        let (ota, wire) = urls.split_once(' ').unwrap();
        Addresses { wire: host(wire), http: Some(host(ota)) }
    } else {
        let told = run.err("for a device to connect to ");
        let (_, rest) = told.split_once("to connect to ").unwrap();
        Addresses { wire: host(rest.split_whitespace().next().unwrap()), http: None }
    };
    peer::play(seed, wire, at, over.0.clone());
    let done = run.end();
    let report = ended(&place, &done, &[0, 1, 3]);
    assert!(!report["cases"].as_array().unwrap().is_empty(), "seed {seed}: {done}");
    if has_console {
        let reads = console::reader(&pipe).is_ok();
        assert!(!reads, "seed {seed}: the program that was tested still runs: {done}");
    }
    Survived { code: done.code.unwrap(), took: began.elapsed(), most_kib: most.join().unwrap() }
}

/// `host:port` of a URL, or of itself.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ',']).next().unwrap().to_owned()
}

/// The most memory that a process ever holds, as the kernel counts it, until it ends.
fn most_kib(pid: i32) -> u64 {
    let mut most = 0;
    while let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) else { break };
        most = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    most
}

#[rstest]
#[case::websocket(Wire::WebSocket)]
#[case::mqtt(Wire::Mqtt)]
fn whatever_a_peer_does_a_run_ends(#[case] wire: Wire) {
    let seeds: u64 = std::env::var("MCP_HIL_CHAOS").map_or(3, |seeds| seeds.parse().unwrap());
    let mut codes = BTreeMap::<i32, usize>::new();
    let (mut slowest, mut largest) = (Duration::ZERO, 0);
    for seed in 0..seeds {
        let survived = with_chaos(seed, wire);
        *codes.entry(survived.code).or_default() += 1;
        slowest = slowest.max(survived.took);
        largest = largest.max(survived.most_kib);
        assert!(survived.most_kib < MOST_KIB, "seed {seed}: {} KiB", survived.most_kib);
    }
    let slowest = slowest.as_secs_f64();
    println!("{wire:?}: {seeds} seeds, exits {codes:?}, at most {slowest:.1} s and {largest} KiB");
}
