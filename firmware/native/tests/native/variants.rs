//! Every variation does something that the device without it does not.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::broker::Session;
use crate::program::{PATIENCE, PROGRAM, Program};
use crate::server::Bench;

/// After such a pause nothing more comes.
const QUIET: Duration = Duration::from_millis(700);
/// Devices that run at a time; they wait most of the time.
const CROWD: usize = 16;
/// How late the answers of the slow one come.
const LATE: Duration = Duration::from_millis(15);
/// Requests to measure that with; the fastest of them counts.
const MEASURED: u64 = 20;

/// Variations that only spell JSON in another way.
const SPELLINGS: [&str; 4] = ["members-ascending", "members-descending", "white-space", "escapes"];
/// The variation of another transport, which has a test of its own.
const OVER_MQTT: &str = "no-audio-channel";
/// Another one, which shows on a second connection to the broker.
const ONCE_OVER_MQTT: &str = "audio-channel-once";

/// Payloads that show every variation, all sent at once; one of them is cut off.
const PAYLOADS: [&str; 27] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":null}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"withUserTools":true}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"no such tool"}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"self.camera.take_photo"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"tools/list","params":"x"}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"no such tool"}}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"self.audio_speaker.set_volume"}}"#,
    r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":50.0}}}"#,
    r#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":41,"x":1}}}"#,
    r#"{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"self.battery.get_level","arguments":null}}"#,
    r#"{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":"self.system.set_language","arguments":{"language":"xx"}}}"#,
    r#"{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":"self.get_device_status"}}"#,
    r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":18,"method":"no such method"}"#,
    r#"{"jsonrpc":"2.0","id":"7","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    r#"{"jsonrpc":"1.0","id":19,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":13}}}"#,
    r#"{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"self.get_device_status"}}"#,
    r#"{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"self.battery.get_level"}}"#,
    r#"{"jsonrpc":"2.0","id":22,"method"#,
    r#"{"jsonrpc":"2.0","id":22,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":23,"method":"ping"}"#,
];

/// What a device said to all that.
#[derive(Debug, PartialEq)]
struct Said {
    /// What it sent, in its order; objects are equal in any order of their members.
    messages: Vec<Value>,
    /// What it printed, without times and ports.
    console: Vec<String>,
    /// Its answers come late.
    is_slow: bool,
}

/// Talks to a device; what it said, and the same as it was spelled.
fn conversation(arguments: &[&str]) -> (Said, Vec<String>) {
    let bench = Bench::start(arguments);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    let (mut messages, mut texts) = (Vec::new(), Vec::new());
    let hello = link.read(PATIENCE).expect("a connection").expect("a hello");
    texts.push(hello.to_text().expect("text").to_string());
    link.greet("s");
    for payload in PAYLOADS {
        let text = format!(r#"{{"session_id":"s","type":"mcp","payload":{payload}}}"#);
        assert!(link.send(Message::text(text)));
    }
    while let Some(message) = link.read(QUIET).expect("a connection") {
        match message {
            Message::Text(text) => texts.push(text.to_string()),
            Message::Binary(_) => messages.push(json!("sound")),
            _ => {}
        }
    }
    let read = |text: &String| serde_json::from_str::<Value>(text).expect("JSON");
    messages.extend(texts.iter().map(read));
    let fastest = (0..MEASURED).map(|number| {
        let began = Instant::now();
        link.request(100 + number, "tools/list", &json!({"cursor": ""}));
        began.elapsed()
    });
    let is_slow = fastest.min().is_some_and(|fastest| fastest >= LATE);
    let port = bench.url();
    let plain = |line: &String| {
        // `I (1234) TAG: text`
        let line = line.replace(&port, "HERE");
        match (line.find('('), line.find(')')) {
            (Some(open), Some(close)) if open < close => {
                format!("{}{}", &line[..open], &line[close + 1..])
            }
            _ => line,
        }
    };
    let console = bench.device.console().iter().map(plain).collect();
    let said = Said { messages, console, is_slow };
    (said, texts)
}

#[test]
fn every_variation_says_something_else() {
    let (good, spelled) = conversation(&[]);
    assert!(good.messages.len() >= 25, "{good:#?}");
    assert!(!good.is_slow, "{good:#?}");

    let output = Command::new(PROGRAM).arg("--list-variants").output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let names: VecDeque<&str> = text
        .lines()
        .filter_map(|row| row.split('\t').next())
        .filter(|name| ![OVER_MQTT, ONCE_OVER_MQTT].contains(name))
        .collect();
    assert!(names.len() >= 50, "{names:?}");
    let (names, alike) = (Mutex::new(names), Mutex::new(Vec::new()));
    let next = || names.lock().expect("not poisoned").pop_front();
    std::thread::scope(|scope| {
        for _ in 0..CROWD {
            scope.spawn(|| {
                while let Some(name) = next() {
                    let (said, texts) = conversation(&["--variant", name]);
                    let same = match SPELLINGS.contains(&name) {
                        true => texts == spelled,
                        false => said == good,
                    };
                    if same {
                        alike.lock().expect("not poisoned").push(name);
                    }
                }
            });
        }
    });
    let alike = alike.into_inner().expect("not poisoned");
    assert!(alike.is_empty(), "like the good device: {alike:?}");
}

#[test]
fn a_device_whose_button_nobody_presses_says_no_hello() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = listener.local_addr().expect("an address").to_string();
    let environment = [
        ("MCP_HIL_TRANSPORT", "mqtt"),
        ("MCP_HIL_MQTT_ENDPOINT", endpoint.as_str()),
        ("MCP_HIL_MQTT_PUBLISH_TOPIC", "up"),
    ];
    let _device = Program::start(&["--variant", OVER_MQTT], &environment);
    let mut session = Session::accept(&listener).expect("it connects");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    session.push(json!({"type": "mcp", "payload": request}).to_string());
    let first = session.message(PATIENCE).expect("an answer");
    let first: Value = serde_json::from_slice(&first.payload).expect("JSON");
    assert_eq!(first["payload"]["id"], 1);
}

#[test]
fn a_variation_is_named_like_a_mutant() {
    let run = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = run(&["--variant", "white-spaces"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("there is no variant `white-spaces`; `--list-variants` shows them all")
            && text.contains("hint: did you mean `white-space`?"),
        "{text}"
    );
    let (code, text) = run(&["--variant", "slow", "--mutant", "id-as-string"]);
    assert_eq!(code, Some(2), "{text}");
}
