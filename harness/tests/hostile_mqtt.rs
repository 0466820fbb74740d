//! Whatever a device does over MQTT and HTTP, a run ends with a verdict and a written report.

#![cfg(not(feature = "hil"))]

#[path = "hostile/chaos.rs"]
mod chaos;
#[path = "hostile/mqtt.rs"]
mod mqtt;
#[path = "hostile/packets.rs"]
mod packets;
mod support;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use chaos::Wire;
use mqtt::{Way, play};
use nix::sys::stat::Mode;
use rstest::rstest;
use serde_json::Value;
use support::{Done, Live, Place, native};

/// Waits for MQTT devices of one token, and not for long.
const WAIT: [&str; 13] = [
    "run",
    "--dut",
    "wait",
    "--transport",
    "mqtt",
    "--listen",
    "127.0.0.1:0",
    "--http-listen",
    "127.0.0.1:0",
    "--token",
    "opensesame",
    "--redial-deadline",
    "1",
];

/// A part of the suite that gets far enough for each misdeed.
const SOME: [&str; 6] =
    ["--only", "list/pages", "--only", "ids/integers", "--only", "robustness/long-string"];

/// What must hold of every run, whatever the device did. Gives the record.
#[track_caller]
fn ended(place: &Place, done: &Done, codes: &[i32]) -> Value {
    let code = done.code.unwrap_or(-1);
    assert!(codes.contains(&code), "expected {codes:?}\n{done}");
    assert!(done.stdout.contains("Summary"), "no verdict\n{done}");
    assert!(!done.stderr.contains("panicked"), "{done}");
    let report = place.both_reports();
    assert_eq!(report["summary"]["exit"], code, "{done}");
    // What the run saw, a replay sees.
    if report["summary"]["bench_error"].is_null() {
        let replay = place.hil(["replay", "target/mcp-hil/latest"]).end();
        assert_eq!(replay.code, done.code, "the replay: {replay}\nthe run: {done}");
    }
    report
}

/// Waits until the run says where a device must connect.
fn address(run: &mut Live) -> String {
    let notice = run.err("for a device to connect to ");
    let (_, rest) = notice.split_once("to connect to ").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

#[rstest]
#[case::good(Way::Good, &[0, 1], "PASS")]
#[case::odd(Way::Odd, &[0, 1], "PASS")]
#[case::slow(Way::Slow, &[0, 1], "PASS")]
#[case::dies(Way::Dies, &[1], "liveness.link-kept-mqtt")]
#[case::never_answers(Way::NeverAnswers, &[1], "answers neither")]
#[case::no_mqtt(Way::NoMqtt, &[1], "mqtt.packets")]
#[case::huge_packet(Way::HugePacket, &[1], "MAX_MESSAGE_BYTES")]
#[case::huge_message(Way::HugeMessage, &[1], "MAX_MESSAGE_BYTES")]
#[case::connect_twice(Way::ConnectTwice, &[1], "mqtt.one-connect")]
#[case::half_answer(Way::HalfAnswer, &[1], "in the middle of a packet")]
#[case::not_json(Way::NotJson, &[1], "JSON")]
#[case::not_utf8(Way::NotUtf8, &[1], "UTF-8")]
#[case::floods(Way::Floods, &[1], "MAX_UNASKED_FRAMES_PER_CASE")]
#[case::pings(Way::Pings, &[1], "MAX_UNASKED_FRAMES_PER_CASE")]
#[case::stops_reading(Way::StopsReading, &[1], "no answer within")]
#[case::twice(Way::Twice, &[1], "liveness.link-kept-mqtt")]
#[case::wrong_password(Way::WrongPassword, &[1], "mqtt.credentials")]
#[case::level_5(Way::Level5, &[1], "MQTT protocol level 5: expected 4")]
fn a_bad_device_gets_a_verdict(#[case] way: Way, #[case] codes: &[i32], #[case] named: &str) {
    let place = Place::new();
    let more = ["--strict", "--deadline", "0.5", "--connect-deadline", "3"];
    let mut run = place.hil(WAIT.iter().chain(&more).chain(&SOME)).start();
    let _device = play(way, &address(&mut run));
    let done = run.end();
    let report = ended(&place, &done, codes);
    assert!(done.stdout.contains(named), "no `{named}`\n{done}");
    let cases = report["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    if way == Way::WrongPassword {
        let found = &cases[0];
        assert_eq!(found["case"], "session/bring-up");
        assert_eq!(found["findings"][0]["requirement"], "mqtt.credentials");
        assert!(done.stdout.contains("a password other than"), "{done}");
    }
    assert!(!done.stdout.contains("opensesame"), "{done}");
}

#[test]
fn who_speaks_another_protocol_is_named_when_nobody_connects() {
    let place = Place::new();
    let more = ["--connect-deadline", "1"];
    let mut run = place.hil(WAIT.iter().chain(&more)).start();
    let _device = play(Way::Tls, &address(&mut run));
    let report = ended(&place, &run.end(), &[3]);
    let told = report["summary"]["bench_error"].as_str().unwrap();
    assert!(told.contains("it uses TLS"), "{told}");
}

/// Sends bytes to the HTTP port and reads the answer to its end.
fn say(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that does not want more may close before all is written.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

#[test]
fn a_flood_of_configuration_requests_is_cut_and_found() {
    let large = post("/xiaozhi/ota/", "", &" ".repeat(1 << 20));
    let requests: Vec<_> = (0..80).map(|_| (large.clone(), "HTTP/1.1 200 ")).collect();
    let (done, report) = after_requests(&requests);
    assert_eq!(report["summary"]["exit"], 1, "{done}");
    assert!(done.stdout.contains("below MAX_BYTES_PER_CASE"), "{done}");
}

/// Runs the native device, after these requests to the HTTP port. Gives the end and the record.
fn after_requests(requests: &[(Vec<u8>, &str)]) -> (Done, Value) {
    let place = Place::new();
    for name in ["url", "go"] {
        nix::unistd::mkfifo(&place.path(name), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    }
    let dut = format!(
        "exec:echo \"$MCP_HIL_OTA_URL\" > '{}'; read go < '{}'; exec '{}'",
        place.path("url").display(),
        place.path("go").display(),
        native().display()
    );
    // Nobody opens the pipes a second time: what is found is not tried again.
    let args = ["run", "--strict", "--no-confirm", "--transport", "mqtt", "--dut", &dut];
    let run = place.hil(args.iter().chain(&SOME)).start();
    // Opening waits for the device's shell.
    let url = std::fs::read_to_string(place.path("url")).unwrap();
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    for (request, status) in requests {
        let answer = say(address, request);
        assert!(answer.starts_with(status), "{status}: {answer}");
    }
    std::fs::write(place.path("go"), "go\n").unwrap();
    let done = run.end();
    let report = ended(&place, &done, &[0, 1]);
    (done, report)
}

#[rstest]
#[case::not_json(
    post("/xiaozhi/ota/", "Device-Id: a\r\n", "board=x"),
    "HTTP/1.1 200 ",
    "bootstrap.body"
)]
#[case::deep(post("/xiaozhi/ota/", "", &"[".repeat(1 << 19)), "HTTP/1.1 200 ", "bootstrap.body")]
#[case::too_large(post("/xiaozhi/ota/", "", &" ".repeat(2 << 20)), "HTTP/1.1 413 ", "bootstrap.")]
fn a_bad_configuration_request_is_found(
    #[case] request: Vec<u8>,
    #[case] status: &str,
    #[case] named: &str,
) {
    let (done, report) = after_requests(&[(request, status)]);
    assert_eq!(report["summary"]["exit"], 1, "{done}");
    assert!(done.stdout.contains(named), "no `{named}`\n{done}");
}

#[test]
fn whatever_knocks_at_the_http_port_does_not_stop_the_run() {
    let no_length =
        b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{".to_vec();
    let (done, report) = after_requests(&[
        (b"\x16\x03\x01 no HTTP".to_vec(), ""),
        (b"GET /half-way HT".to_vec(), ""),
        (no_length, ""),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "HTTP/1.1 404 "),
        (post("/mcp/vision/explain", "Content-Type: text/plain\r\n", "cat"), "HTTP/1.1 400 "),
        (format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)).into_bytes(), ""),
    ]);
    assert!(done.stdout.contains("PASS"), "{done}");
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.len() >= 5, "{done}");
}

/// How long a run of so few cases may take with a peer that never does what it should, and how much memory.
const CHAOS_S: u64 = 60;
const CHAOS_KIB: u64 = 256 * 1024;

/// What became of a run with a peer that misbehaves.
struct Survived {
    code: i32,
    took: Duration,
    most_kib: u64,
}

/// A run with the peer of a seed.
fn with_chaos(seed: u64, wire: Wire) -> Survived {
    let place = Place::new();
    let began = Instant::now();
    let over = match wire {
        Wire::Mqtt => "mqtt",
        Wire::WebSocket => "websocket",
    };
    let args = WAIT.iter().map(|&word| if word == "mqtt" { over } else { word });
    let waits = ["--deadline", "0.2", "--connect-deadline", "3", "--inputs", "5", "--no-confirm"];
    let some = ["--only", "list/pages", "--only", "ids/integers", "--only", "properties/json"];
    let run = place.hil(args.chain(waits).chain(some)).start();
    let mut run = run.within(Duration::from_secs(CHAOS_S));
    let pid = run.pid;
    let most = std::thread::spawn(move || most_kib(pid.as_raw()));
    let at = match wire {
        Wire::Mqtt => address(&mut run),
        Wire::WebSocket => {
            let url = run.url();
            url.trim_start_matches("ws://").split('/').next().unwrap().to_owned()
        }
    };
    let _peer = chaos::play(seed, wire, &at);
    let done = run.end();
    let report = ended(&place, &done, &[0, 1, 3]);
    assert!(!report["cases"].as_array().unwrap().is_empty(), "seed {seed}: {done}");
    Survived { code: done.code.unwrap(), took: began.elapsed(), most_kib: most.join().unwrap() }
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
        assert!(survived.most_kib < CHAOS_KIB, "seed {seed}: {} KiB", survived.most_kib);
    }
    let slowest = slowest.as_secs_f64();
    println!("{wire:?}: {seeds} seeds, exits {codes:?}, at most {slowest:.1} s and {largest} KiB");
}
