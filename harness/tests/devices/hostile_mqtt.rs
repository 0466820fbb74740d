//! Whatever a device does over MQTT and HTTP, a run ends with a verdict and a written report.

#[path = "hostile/mqtt.rs"]
mod mqtt;
#[path = "hostile/packets.rs"]
mod packets;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::{Done, Live, Place, ended, native};
use mqtt::{Way, play};
use nix::sys::stat::Mode;
use rstest::rstest;
use serde_json::Value;

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
fn whatever_connects_to_the_http_port_does_not_stop_the_run() {
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
