//! `serve` with the native device, which knows nothing but the address to ask for its configuration.

use std::io::{PipeWriter, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::support::{Live, Place, native};
use nix::sys::signal::Signal;
use rstest::rstest;

/// A device that ends with the test.
struct Booted(Child);

impl Drop for Booted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Boots the native device.
fn boot(ota_url: &str) -> Booted {
    boot_with(ota_url, &[])
}

fn boot_with(ota_url: &str, args: &[&str]) -> Booted {
    let child = Command::new(native())
        .args(args)
        .env("MCP_HIL_OTA_URL", ota_url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Booted(child.expect("the device starts"))
}

const ANY_PORTS: [&str; 7] = ["serve", "--http-port", "0", "--ws-port", "0", "--mqtt-port", "0"];

/// Starts `serve` on free ports, with a standard input to type on.
fn serve(place: &Place, args: &[&str]) -> (Live, PipeWriter) {
    let (stdin, typed) = std::io::pipe().unwrap();
    let mut hil = place.hil(ANY_PORTS.iter().chain(args));
    hil.0.stdin(stdin);
    (hil.start(), typed)
}

/// The word that follows a label on standard error.
fn told(live: &mut Live, label: &str) -> String {
    let line = live.err(label);
    let word = line.trim_start_matches(label).split_whitespace().next();
    word.unwrap().trim_end_matches(',').to_owned()
}

#[rstest]
#[case::websocket("websocket", "WebSocket")]
#[case::mqtt("mqtt", "MQTT")]
#[case::both("both", "MQTT")]
fn a_device_is_greeted_asked_and_shown(#[case] transport: &str, #[case] name: &str) {
    let place = Place::new();
    let (mut live, mut typed) = serve(&place, &["--transport", transport]);
    let ota_url = told(&mut live, "OTA");
    let token = told(&mut live, "token");
    live.err("Ctrl-C ends");
    let _device = boot(&ota_url);
    let line = live.out(&format!("<- configuration 200 {name}"));
    assert!(line.contains(" 02:00:00:4d:43:50 "), "{line}");
    live.out("  board ");
    live.out(&format!("02:00:00:4d:43:50 -- connected by {name} 127.0.0.1:"));
    live.out("<- hello version=");
    live.out("-> hello transport=");
    live.out("-> initialize #1");
    live.out("<- initialize #1 ");
    live.out("-> notifications/initialized");
    live.out("-> tools/list #2");
    live.out("<- tools/list #2 ");
    live.out("-> tools/list #3 {\"cursor\":");
    live.out("  self.audio_speaker.set_volume   volume: integer 0..100");
    live.out(" packets, ");
    writeln!(typed, r#"call self.audio_speaker.set_volume {{"volume": 50}}"#).unwrap();
    let line = live.out("-> call #");
    assert!(line.contains(r#" self.audio_speaker.set_volume {"volume":50}"#));
    let line = live.out("<- call #");
    assert!(line.ends_with(": true\n"), "{line}");
    writeln!(typed, r#"{{"jsonrpc":"2.0","id":77,"method":"nope"}}"#).unwrap();
    live.out("-> nope #77");
    let line = live.out("<- nope #77 ");
    assert!(line.contains("error -32601"), "{line}");
    writeln!(typed, "volume 50").unwrap();
    live.err("`volume 50`: expected `call <tool>");
    live.signal(Signal::SIGINT);
    let done = live.end().exits(0);
    let last = done.stdout.lines().last().unwrap();
    assert!(last.starts_with("served for ") && last.contains(": 1 connection, "), "{done}");
    assert!(!done.stdout.contains(&token), "{done}");
    assert_eq!(done.stderr.matches(&token).count(), 1, "{done}");
    assert!(!place.path("target").exists(), "nothing was written");
}

#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
fn messages_are_shown_whole_and_without_secrets(#[case] transport: &str) {
    let place = Place::new();
    let args = ["-v", "--token", "hush-hush-hush", "--transport", transport];
    let (mut live, mut typed) = serve(&place, &args);
    let _device = boot(&told(&mut live, "OTA"));
    live.out(r#""vision":{"url":"http://127.0.0.1:"#);
    live.out("  self.audio_speaker.set_volume ");
    // The device gives the name back in its error.
    writeln!(typed, "call self.hush-hush-hush").unwrap();
    live.out("<- call #");
    let line = live.out(r#""error":{"#);
    assert!(line.contains("self.${MCP_HIL_TOKEN}"), "{line}");
    live.signal(Signal::SIGTERM);
    let done = live.end().exits(0).prints(&["${MCP_HIL_VISION_TOKEN}"]);
    assert!(!format!("{done}").contains("hush-hush"), "{done}");
    let keys = done.stdout.matches(r#""key":""#).count();
    let hidden = done.stdout.matches(r#""key":"${MCP_HIL_UDP_KEY}""#).count();
    assert_eq!(keys, hidden, "{done}");
    assert_eq!(hidden, usize::from(transport == "mqtt"), "{done}");
}

#[test]
fn a_quiet_backend_asks_nothing() {
    let place = Place::new();
    let (mut live, mut typed) = serve(&place, &["--quiet"]);
    let _device = boot(&told(&mut live, "OTA"));
    live.out("-> hello ");
    writeln!(typed, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    live.out("<- ping #1 ");
    live.signal(Signal::SIGINT);
    let done = live.end().exits(0);
    assert!(!done.stdout.contains("initialize"), "{done}");
    assert!(!done.stdout.contains("tools/list"), "{done}");
}

#[test]
fn a_device_that_says_no_hello_over_mqtt_is_asked_all_the_same() {
    let place = Place::new();
    let (mut live, _typed) = serve(&place, &["--transport", "mqtt"]);
    let _device = boot_with(&told(&mut live, "OTA"), &["--no-hello"]);
    live.out("<- initialize #1 ");
    live.out("  self.get_device_status ");
    live.signal(Signal::SIGINT);
    let done = live.end().exits(0);
    assert!(!done.stdout.contains("hello"), "{done}");
}

#[test]
fn a_device_that_asks_is_answered_and_one_that_talks_nonsense_is_shown() {
    let place = Place::new();
    let (mut live, _typed) = serve(&place, &["--quiet", "--token", "opensesame"]);
    let mut device = TcpStream::connect(told(&mut live, "MQTT   ")).unwrap();
    let mut connect = b"\x10\0\0\x04MQTT\x04\xc2\0\0\0\x01a\0\x07mcp-hil\0\x0aopensesame".to_vec();
    connect[1] = u8::try_from(connect.len() - 2).unwrap();
    device.write_all(&connect).unwrap();
    let mut say = |text: &str| {
        let mut packet = b"\x30\0\0\x0ddevice-server".to_vec();
        packet.extend(text.as_bytes());
        packet[1] = u8::try_from(packet.len() - 2).unwrap();
        device.write_all(&packet).unwrap();
    };
    live.out(" a                 -- connected by MQTT ");
    say(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":"d-1","method":"ping"}}"#);
    live.out(r#"<- ping #"d-1""#);
    live.out(r#"-> ping #"d-1" <1 ms: {}"#);
    say("\u{1b}[2J{]");
    let line = live.out("<- not JSON ");
    assert!(line.contains("␛[2J{]"), "{line}");
    say(r#"{"type":"listen","state":"start","mode":"auto"}"#);
    live.out("<- listen state=start mode=auto");
    device.write_all(b"\xe0\0").unwrap();
    live.out("-- gone the device sent DISCONNECT");
    live.signal(Signal::SIGINT);
    live.end().exits(0);
}

#[test]
fn several_devices_are_served_at_once() {
    let place = Place::new();
    let (mut live, mut typed) = serve(&place, &["--transport", "websocket"]);
    let ota_url = told(&mut live, "OTA");
    writeln!(typed, "tools").unwrap();
    live.err("no device is connected");
    let devices = [boot(&ota_url), boot(&ota_url)];
    for _ in &devices {
        live.out("  self.get_device_status ");
    }
    drop(devices);
    for _ in 0..2 {
        live.out("-- gone ");
    }
    live.signal(Signal::SIGINT);
    live.end().exits(0).prints(&[": 2 connections, "]);
}

/// Sends bytes to an address and reads what comes.
fn say(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn who_has_not_the_token_is_turned_away() {
    let place = Place::new();
    let (mut live, _typed) = serve(&place, &[]);
    let url = told(&mut live, "WebSocket");
    let mqtt = told(&mut live, "MQTT   ");
    let host = url.trim_start_matches("ws://").split('/').next().unwrap();
    let handshake = format!(
        "GET /xiaozhi/v1/ HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer wrong\r\n\r\n"
    );
    let answer = say(host, handshake.as_bytes());
    assert!(answer.starts_with(b"HTTP/1.1 401 "), "{answer:?}");
    live.out("refused: it presents a token other than the one it was given");

    let connect = b"\x10\x1e\0\x04MQTT\x04\xc2\0\x3c\0\x01a\0\x07mcp-hil\0\x05wrong";
    let mut connect = connect.to_vec();
    connect[1] = u8::try_from(connect.len() - 2).unwrap();
    assert_eq!(say(&mqtt, &connect), b"\x20\x02\0\x04");
    live.out("refused: its CONNECT has a password other than the one it was given");

    assert_eq!(say(&mqtt, b"GET / HTTP/1.1\r\n\r\n"), b"");
    live.out("refused: the first packet is not CONNECT");
    live.signal(Signal::SIGINT);
    live.end().exits(0).prints(&["3 refused connections"]);
}

#[test]
fn it_ends_when_nobody_reads() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut live = place.hil(ANY_PORTS).stdout(writer).start();
    let url = told(&mut live, "OTA");
    live.err("Ctrl-C ends");
    drop(reader);
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    let answer = say(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with(b"HTTP/1.1 404 "), "{answer:?}");
    live.end().exits(0);
}

#[rstest]
#[case::http("--http-port")]
#[case::websocket("--ws-port")]
#[case::mqtt("--mqtt-port")]
fn a_port_in_use_is_the_benchs_trouble(#[case] option: &str) {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut args = ANY_PORTS.to_vec();
    let at = args.iter().position(|arg| *arg == option).unwrap();
    args[at + 1] = &port;
    let done = place.hil(args).end().exits(3);
    done.says(&[
        &format!("cannot listen on `127.0.0.1:{port}`"),
        "hint: another program, perhaps another run, is listening there",
        &format!("choose another port with `{option}`"),
    ]);
}

#[rstest]
#[case::short_token(&["--token", "short"], "at least 8 printable")]
#[case::token_in_two_lines(&["--token", "long enough\nhere"], "printable ASCII")]
#[case::tls(&["--mqtt-port", "8883"], "expected a port for plain TCP")]
#[case::name(&["--bind", "localhost"], "--bind")]
#[case::transport(&["--transport", "udp"], "websocket, mqtt, both")]
fn a_mistake_is_named(#[case] args: &[&str], #[case] why: &str) {
    let place = Place::new();
    let done = place.hil(["serve"].iter().chain(args)).end().exits(2);
    done.says(&[why]);
}
