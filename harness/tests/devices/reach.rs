//! Addresses that a board can dial: which one is chosen, what is said of it, and who is let in there.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::{Done, Place, native};
use rstest::rstest;
use serde_json::Value;
use serialport::{SerialPort, TTYPort};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// A board at a pseudo terminal: the native device, started whenever its power is cycled.
struct Board {
    device: Arc<Mutex<Option<Child>>>,
    _host: TTYPort,
}

impl Drop for Board {
    fn drop(&mut self) {
        end(&self.device);
    }
}

fn end(device: &Mutex<Option<Child>>) {
    if let Some(mut device) = device.lock().unwrap().take() {
        let _ = device.kill();
        let _ = device.wait();
    }
}

/// What happens at a boot, before the device dials: it is told the URL that the device asks.
type AtBoot = Box<dyn FnMut(&str) + Send>;

/// Plugs a board in, and writes `desk.toml` with these lines above its sections.
fn board(place: &Place, lines: &str, arguments: &'static [&str], mut at_boot: AtBoot) -> Board {
    let (board, host) = TTYPort::pair().unwrap();
    // Copies, for no program that is started meanwhile gets those.
    let [mut board, host] = [board, host].map(|end| end.try_clone_native().unwrap());
    symlink(host.name().unwrap(), place.path("port")).unwrap();
    let boots = place.path("boots");
    let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
    nix::unistd::mkfifo(&boots, mode).unwrap();
    place.write(
        "desk.toml",
        format!(
            "name = \"desk\"\ntarget = \"board\"\n{lines}\n[board]\nport = \"port\"\n\
             [board.power]\ncycle = 'echo \"$MCP_HIL_OTA_URL\" > boots'\n"
        ),
    );
    let device = Arc::new(Mutex::new(None));
    let of_thread = device.clone();
    std::thread::spawn(move || {
        while let Ok(file) = File::open(&boots) {
            for url in BufReader::new(file).lines().map_while(Result::ok) {
                end(&of_thread);
                at_boot(&url);
                let mut child = Command::new(native())
                    .args(arguments)
                    .env("MCP_HIL_OTA_URL", &url)
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap();
                let console = BufReader::new(child.stdout.take().unwrap());
                let mut board = board.try_clone_native().unwrap();
                std::thread::spawn(move || {
                    for line in console.lines().map_while(Result::ok) {
                        // The run may be over.
                        let _ = board.write_all(format!("{line}\r\n").as_bytes());
                    }
                });
                *of_thread.lock().unwrap() = Some(child);
            }
        }
        let _ = board.flush();
    });
    Board { device, _host: host }
}

fn nothing() -> AtBoot {
    Box::new(|_| {})
}

fn run(place: &Place, more: &[&str]) -> Done {
    let args = ["run", "--dut", "desk.toml", "--cases", "0"];
    place.hil(args.iter().chain(more)).env("MCP_HIL_LOCKS", place.path("locks")).end()
}

/// The lines of a run in the order in which they came, however the terminal wraps them.
fn words(done: &Done) -> String {
    let all = format!("{}{}", done.stderr, done.stdout);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_board_that_may_be_a_program_here_dials_the_loopback_and_that_is_said() {
    let place = Place::new();
    let _board = board(&place, "", &[], nothing());
    run(&place, &["--only", "ids/zero"]).exits(0).says(&[
        "listening on 127.0.0.1 for the board: `port` is not the port of a USB device",
        "set another with `listen` in `desk.toml` or `--listen`",
    ]);
    let notices = &place.both_reports()["notices"];
    assert!(notices.to_string().contains("listening on 127.0.0.1"), "{notices}");
}

#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
fn the_file_says_where_to_listen_and_the_command_line_wins(#[case] transport: &str) {
    let place = Place::new();
    let _board = board(&place, "listen = \"0.0.0.0:0\"", &[], nothing());
    let more = ["--only", "ids/zero", "--transport", transport];
    run(&place, &more).exits(0).says(&[
        "listening on 0.0.0.0 for the board, which is given ",
        "as `listen` in `desk.toml` says",
    ]);
    let more = [&more[..], &["--listen", "127.0.0.1:0"]].concat();
    run(&place, &more).exits(0).says(&["listening on 127.0.0.1 for the board, as `--listen` says"]);
}

/// Whoever reaches an address can dial it. One that was told nothing is turned away, and the device is not
/// charged with it.
#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
fn a_stranger_is_neither_taken_for_the_board_nor_held_against_it(#[case] transport: &'static str) {
    let place = Place::new();
    let (say, heard) = std::sync::mpsc::channel();
    let mut connected_once = false;
    let at_boot = move |url: &str| {
        if !std::mem::replace(&mut connected_once, true) {
            say.send(accepted(url, transport)).unwrap();
        }
    };
    let _board = board(&place, "listen = \"0.0.0.0:0\"", &[], Box::new(at_boot));
    let more = ["--only", "ids/zero", "--transport", transport];
    run(&place, &more).exits(0);
    let answer = heard.recv().unwrap();
    match transport {
        "websocket" => assert!(answer.starts_with(b"HTTP/1.1 401"), "{answer:?}"),
        // CONNACK: bad user name or password.
        _ => assert_eq!(answer, [0x20, 2, 0, 4]),
    }
    let report = place.both_reports();
    let cases = report["cases"].as_array().unwrap();
    let found = cases.iter().flat_map(|case| case["findings"].as_array().unwrap());
    let failed: Vec<&Value> = found.filter(|finding| finding["verdict"] == "fail").collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Dials as somebody who was told nothing, from another address than the device, and gives the answer.
fn accepted(ota_url: &str, transport: &str) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let port = |address: &str| -> u16 {
            let authority = address.split("://").last().unwrap();
            let authority = authority.split('/').next().unwrap();
            authority.rsplit_once(':').unwrap().1.parse().unwrap()
        };
        // Where to dial is asked for from an address of its own, which is not the one that dials.
        let ask = "POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\nDevice-Id: 02:00:00:00:00:09\r\n\
                   Client-Id: 6f1b0f4e-3c7a-4d8e-9a51-0c2d5e7f9b13\r\nContent-Length: 2\r\n\r\n{}";
        let told = say("127.0.0.3", port(ota_url), ask.as_bytes()).await;
        let told = String::from_utf8(told).unwrap();
        let (_, body) = told.split_once("\r\n\r\n").unwrap();
        let told: Value = serde_json::from_str(body).unwrap();
        let (dial, hello) = match transport {
            "websocket" => (
                &told["websocket"]["url"],
                &b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"[..],
            ),
            // CONNECT with the client id `a` and neither user name nor password.
            _ => (
                &told["mqtt"]["endpoint"],
                &b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a"[..],
            ),
        };
        say("127.0.0.2", port(dial.as_str().unwrap()), hello).await
    })
}

/// Says something to a port of this host, as from one of its addresses; the answer, to its end.
async fn say(from: &str, port: u16, text: &[u8]) -> Vec<u8> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let to = format!("127.0.0.1:{port}").parse().unwrap();
    let mut stream: TcpStream = socket.connect(to).await.unwrap();
    stream.write_all(text).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// The device was told the token, so that what it presents is its own doing.
#[rstest]
#[case::websocket("websocket", "header-authorization-cut", "hello.header-authorization")]
#[case::mqtt("mqtt", "mqtt-password-cut", "mqtt.credentials")]
fn a_board_that_was_told_the_token_and_presents_another_is_judged(
    #[case] transport: &str,
    #[case] mutant: &'static str,
    #[case] requirement: &str,
) {
    let place = Place::new();
    let arguments: &'static [&str] = match mutant {
        "mqtt-password-cut" => &["--mutant", "mqtt-password-cut"],
        _ => &["--mutant", "header-authorization-cut"],
    };
    let _board = board(&place, "listen = \"0.0.0.0:0\"", arguments, nothing());
    let done = run(&place, &["--only", "hello/connect", "--transport", transport]).exits(1);
    assert!(words(&done).contains(requirement), "{done}");
}

#[test]
fn a_loopback_is_refused_only_where_somebody_named_it_for_a_board_on_usb() {
    let place = Place::new();
    let file = |lines: &str| {
        let text = format!(
            "name = \"desk\"\ntarget = \"board\"\n{lines}\n[board]\nserial = \"F412FA001122\"\n"
        );
        place.write("desk.toml", text);
    };
    file("listen = \"127.0.0.1:8765\"");
    run(&place, &[]).exits(2).says(&[
        "a board cannot connect to `127.0.0.1`, which `listen` in `desk.toml` gives",
        "hint: leave it out",
    ]);
    file("");
    run(&place, &["--http-listen", "127.0.0.1:0"]).exits(2).says(&["which `--http-listen` gives"]);
    // Nobody named one: what is missing is the board, or a network.
    let told = words(&run(&place, &["--only", "ids/zero"]).exits(3));
    let missed = told.contains("the board `desk` of `desk.toml` is not attached");
    assert!(missed || told.contains("a board cannot connect to this host"), "{told}");
}

/// The command in a network of its own without any interface but a loopback; `None` where the system does
/// not let anybody make one.
fn without_network(place: &Place) -> Option<PathBuf> {
    let probe = Command::new("unshare").args(["-rn", "true"]).output();
    if !probe.is_ok_and(|done| done.status.success()) {
        crate::support::missing::UNSHARE.is_missing("a host without a network is tried there");
        return None;
    }
    let program = env!("CARGO_BIN_EXE_mcp-hil");
    let script =
        place.write("offline", format!("#!/bin/sh\nexec unshare -rn '{program}' \"$@\"\n"));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    Some(script)
}

#[test]
fn a_host_without_a_network_is_trouble_of_the_bench_that_says_what_to_do() {
    let place = Place::new();
    let Some(offline) = without_network(&place) else {
        return;
    };
    let text = "name = \"desk\"\ntarget = \"board\"\n[board]\nserial = \"F412FA001122\"\n";
    place.write("desk.toml", text);
    for command in ["run", "serve"] {
        let mut hil = place.hil::<&str>([]);
        let mut child = Command::new(&offline);
        child
            .args([command, "--dut", "desk.toml"])
            .current_dir(place.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        hil.0 = child;
        hil.end().exits(3).says(&[
            "a board cannot connect to this host: it has only a loopback address",
            "hint: connect to the board's network",
        ]);
    }
}
