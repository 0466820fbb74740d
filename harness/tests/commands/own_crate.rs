//! A crate of somebody else that has `mcp-hil` among its development dependencies, by path: its tests share a
//! board, as threads of one program and as programs of their own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::held::{Held, Obeys};
use crate::support::{Place, cargo, native};
use mcp_hil_boards::board::port::identity;
use mcp_hil_boards::board::protocol::Place as Port;
use mcp_hil_boards::board::{Holder, queue};
use serde_json::Value;
use serialport::{SerialPort, TTYPort};

/// What somebody tests.
const TESTS: &str = r#"
use std::time::Duration;

use mcp_hil_testing::{Device, device};
use rstest::rstest;
use serde_json::json;

const LONG: Duration = Duration::from_secs(60);

#[rstest]
fn the_volume_is_kept_when_the_connection_is_lost(mut device: Device) {
    device
        .call("self.audio_speaker.set_volume", json!({"volume": 40}))
        .expect_result();
    device.disconnect().unwrap();
    let status = device.call("self.get_device_status", json!({}));
    assert_eq!(status.expect_json()["audio_speaker"]["volume"], 40);
}

#[rstest]
fn the_board_comes_back(mut device: Device) {
    device.power_cycle().unwrap();
    let idle = device.console().expect(r"State: (?<before>\w+) -> idle", LONG);
    assert_eq!(idle.named("before"), "activating");
    device.request("ping", None).expect_result();
    device.power_off().unwrap();
    assert!(device.request("ping", None).result().is_err());
    device.power_on().unwrap();
    device.request("ping", None).expect_result();
}
"#;

/// The tests' names.
const NAMES: [&str; 2] = ["the_volume_is_kept_when_the_connection_is_lost", "the_board_comes_back"];

/// The folder into which cargo has built this test, and builds that crate: what both use is built once.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// Writes a file unless it is so already: cargo builds anew what is newer.
fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Writes the crate. Dependencies are those of this project, and are built as here.
fn own_crate() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-crate");
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = [
        "mcp-hil-args",
        "mcp-hil-bench",
        "mcp-hil-boards",
        "mcp-hil-core",
        "mcp-hil-endpoint",
        "mcp-hil-generate",
        "mcp-hil-judge",
        "mcp-hil-record",
        "mcp-hil-report",
        "mcp-hil-runner",
        "mcp-hil-scenario",
        "mcp-hil-scenarios",
        "mcp-hil-testing",
    ];
    // Libraries are built as here, so that most are built already; this project's own packages soon.
    let workspace = std::fs::read_to_string(harness.join("../Cargo.toml")).unwrap();
    let profile = workspace.find("[profile.dev]").expect("how tests are built");
    let libraries = workspace[profile..].lines().filter(|line| !line.starts_with("mcp-hil-"));
    let own = packages.iter().map(|name| format!("{name} = {{ opt-level = 0, debug = false }}"));
    let profile: Vec<String> = libraries.map(str::to_owned).chain(own).collect();
    let manifest = format!(
        "[package]\nname = \"own-crate\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dev-dependencies]\nmcp-hil-testing = {{ path = \"{}/testing\" }}\n\
         rstest = {{ version = \"0.28\", default-features = false }}\nserde_json = \"1\"\n\n\
         [workspace]\n\n{}\n",
        harness.display(),
        profile.join("\n")
    );
    write(&place.join("Cargo.toml"), &manifest);
    write(&place.join("src/lib.rs"), "");
    write(&place.join("tests/volume.rs"), TESTS);
    let lock = std::fs::read_to_string(harness.join("../Cargo.lock")).unwrap();
    let known = place.join("known.lock");
    if std::fs::read_to_string(&known).is_ok_and(|old| old == lock) {
        return place;
    }
    // The same versions of everything: others would have to be fetched.
    std::fs::write(place.join("Cargo.lock"), &lock).unwrap();
    std::fs::write(known, lock).unwrap();
    place
}

/// A board that lives as stock firmware does, at a pseudo terminal. It takes orders from a named pipe.
struct Board {
    port: Arc<Mutex<TTYPort>>,
    _host: TTYPort,
    device: Option<Child>,
}

impl Board {
    /// Plugs one in. Gives the file of it.
    fn attach(place: &Place) -> (Held<Self>, PathBuf) {
        let (board, host) = TTYPort::pair().unwrap();
        // Copies, for no program that is started meanwhile gets those.
        let [board, host] = [board, host].map(|end| end.try_clone_native().unwrap());
        let path = place.path("port");
        std::os::unix::fs::symlink(host.name().unwrap(), &path).unwrap();
        let orders = place.path("orders");
        let file = format!(
            "name = \"desk\"\ntarget = \"board\"\n[board]\nport = \"{}\"\n\
             [board.power]\ncycle = 'echo \"power $MCP_HIL_OTA_URL\" > {orders}'\n\
             off = 'echo off > {orders}'\non = 'echo \"power $MCP_HIL_OTA_URL\" > {orders}'\n\
             [board.trigger]\nkind = \"command\"\ncommand = 'echo press > {orders}'\n",
            path.display(),
            orders = orders.display(),
        );
        let board = Self {
            port: Arc::new(Mutex::new(board)),
            // A master without the other side cannot be used.
            _host: host,
            device: None,
        };
        (Held::new(place, board), place.write("desk.toml", file))
    }

    fn boot(&mut self, url: &str) {
        self.end();
        let mut device = Command::new(native())
            .arg("--stock")
            .env("MCP_HIL_OTA_URL", url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let console = BufReader::new(device.stdout.take().unwrap());
        let port = self.port.clone();
        std::thread::spawn(move || {
            for line in console.lines().map_while(Result::ok) {
                let line = format!("{line}\r\n");
                port.lock().unwrap().write_all(line.as_bytes()).unwrap();
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
        match order.split_once(' ') {
            Some(("power", url)) => self.boot(url),
            None if order == "off" => self.end(),
            _ => {
                let button = self.device.as_mut().and_then(|it| it.stdin.as_mut());
                writeln!(button.unwrap(), "button").unwrap();
            }
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.end();
    }
}

/// A command with the board in its environment.
fn with_board(mut command: Command, place: &Place, file: &Path) -> Command {
    command
        .env("MCP_HIL_DUT", file)
        .env("MCP_HIL_LOCKS", place.path("locks"))
        .env("MCP_HIL_OUT", place.path("runs"))
        .env_remove("MCP_HIL")
        .stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{out}\n{err}", output.status)
}

#[test]
fn tests_of_another_crate_share_a_board() {
    let place = Place::new();
    let (_board, file) = Board::attach(&place);
    let mut cargo = cargo();
    cargo
        .current_dir(own_crate())
        .args(["test", "--offline", "--test", "volume"])
        .args(["--message-format", "json", "--target-dir"])
        .arg(target())
        .args((!cfg!(debug_assertions)).then_some("--release"))
        .args(["--", "--test-threads", "2"]);
    let done = with_board(cargo, &place, &file).output().unwrap();
    let told = text(&done);
    assert!(done.status.success(), "{told}");
    assert!(told.contains("2 passed"), "{told}");
    // Both talked to the board, one after the other.
    let runs = std::fs::read_dir(place.path("runs")).unwrap();
    let runs: Vec<PathBuf> = runs
        .map(|run| run.unwrap().path())
        .filter(|run| !run.is_symlink() && run.join("report.json").is_file())
        .collect();
    assert_eq!(runs.len(), 2, "{runs:?}");

    let message = |line: &str| serde_json::from_str::<Value>(line).ok();
    let out = String::from_utf8_lossy(&done.stdout);
    let program = out
        .lines()
        .filter_map(message)
        .filter_map(|message| Some(message.get("executable")?.as_str()?.to_owned()))
        .next_back()
        .expect("cargo names the test program");
    let test = |name: &str| {
        let mut command = Command::new(&program);
        command.args(["--exact", name]);
        with_board(command, &place, &file)
    };

    // Each in a process of its own, as `cargo nextest` has it.
    let both = NAMES.map(|name| {
        let mut command = test(name);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    for child in both {
        let done = child.wait_with_output().unwrap();
        let told = text(&done);
        assert!(done.status.success() && told.contains("1 passed"), "{told}");
    }

    // Somebody else has it, and keeps it.
    let board = identity(&Port::Port(place.path("port"))).unwrap();
    let holder = Holder::this_process("mcp-hil run --dut desk.toml", None);
    let locks = place.path("locks");
    let turn = queue::wait_in(&locks, &board, &holder, Duration::from_secs(60), |_| {}).unwrap();
    let late = test(NAMES[0]).env("MCP_HIL_WAIT_FOR_BOARD", "1").output().unwrap();
    drop(turn);
    let told = text(&late);
    assert!(!late.status.success(), "{told}");
    for part in [
        "waited 1 s for the board",
        "`mcp-hil run --dut desk.toml`",
        &format!("process {} of", std::process::id()),
        // The place is the test's.
        "panicked at tests/volume.rs:",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
