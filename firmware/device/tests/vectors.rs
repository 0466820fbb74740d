//! The vectors of `firmware/vectors/session.json` with no body at all. The harness reads the same file, and
//! holds every body to it.

use reference_device::{Device, Identity, Output, Transport};
use rstest::rstest;
use serde_json::{Value, json};

/// Milliseconds within which a device restarts that was told to.
const RESTARTS_WITHIN: u64 = 2_000;

/// A device, its clock, and what it said.
struct Talk {
    device: Device,
    transport: Transport,
    now: u64,
    session: String,
    texts: Vec<String>,
    console: Vec<String>,
    restarted: bool,
}

impl Talk {
    /// Boots, connects and gets the server's hello. What it prints meanwhile is nobody's vector.
    fn start(&mut self, session: &str) {
        self.session = session.into();
        self.device.boot(self.now);
        self.device.dialling(self.now);
        self.device.connected(self.now);
        let mut hello =
            json!({"type": "hello", "transport": self.wire_name(), "session_id": session});
        if self.transport == Transport::Mqtt {
            let key = "00112233445566778899aabbccddeeff";
            hello["udp"] = json!({"server": "10.0.2.2", "port": 9, "encryption": "aes-128-ctr",
                "key": key, "nonce": key});
        }
        self.send(&hello.to_string());
        self.console.clear();
    }

    fn wire_name(&self) -> &'static str {
        match self.transport {
            Transport::Websocket => "websocket",
            Transport::Mqtt => "udp",
        }
    }

    fn send(&mut self, text: &str) {
        self.now += 1;
        self.device.on_text(text, self.now);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.device.next_output() {
            match output {
                Output::Text(text) => {
                    let text = text.replace(&self.session, "${session}");
                    let version = env!("CARGO_PKG_VERSION");
                    let text = text
                        .replace(&format!(r#""version":"{version}""#), r#""version":"${version}""#);
                    self.texts.push(text);
                }
                Output::Log(line) => {
                    let line = line.replace(&self.session, "${session}");
                    self.console.push(without_time(&line));
                }
                Output::Reboot => self.restarted = true,
                // Sound.
                Output::Binary(_) | Output::Datagram { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Lets time pass until it restarts.
    fn wait_for_restart(&mut self) {
        let limit = self.now + RESTARTS_WITHIN;
        while !self.restarted {
            let due = self.device.next_deadline().expect("it wants to restart");
            self.now = due.max(self.now + 1);
            assert!(self.now < limit, "it does not restart");
            self.device.tick(self.now);
            self.drain();
        }
    }
}

/// A console line with `T` in the place of its time.
fn without_time(line: &str) -> String {
    match (line.split_once(" ("), line.split_once(") ")) {
        (Some((level, _)), Some((_, rest))) => format!("{level} (T) {rest}"),
        _ => line.into(),
    }
}

/// A list that may be another one for each transport.
fn list<'a>(value: &'a Value, transport: &str) -> Vec<&'a str> {
    let list = value.get(transport).unwrap_or(value);
    let list = list.as_array().expect("a list");
    list.iter().map(|one| one.as_str().expect("text")).collect()
}

#[rstest]
#[case(Transport::Websocket, "websocket")]
#[case(Transport::Mqtt, "mqtt")]
fn the_device_alone_answers_as_the_vectors_say(#[case] transport: Transport, #[case] name: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/session.json");
    let text = std::fs::read_to_string(path).expect("the vectors");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let mut talk = Talk {
        device: Device::new(Identity { transport, ..Identity::default() }),
        transport,
        now: 0,
        session: String::new(),
        texts: Vec::new(),
        console: Vec::new(),
        restarted: false,
    };
    let mut opening = vec![file["hello"][name].as_str().expect("text")];
    opening.extend(list(&file["greeting"], name));

    talk.start("6d63702d-0001");
    assert_eq!(std::mem::take(&mut talk.texts), opening);
    for vector in file["vectors"].as_array().expect("vectors") {
        let text = vector["send"].as_str().expect("text");
        talk.send(&text.replace("${session}", &talk.session));
        if vector["restarts"] == true {
            talk.wait_for_restart();
        }
        assert!(!talk.restarted || vector["restarts"] == true, "{vector:#}");
        let texts = std::mem::take(&mut talk.texts);
        assert_eq!(texts, list(&vector["answers"], name), "{vector:#}");
        let console = std::mem::take(&mut talk.console);
        assert_eq!(console, list(&vector["console"], name), "{vector:#}");
        if std::mem::take(&mut talk.restarted) {
            talk.start("6d63702d-0002");
            assert_eq!(std::mem::take(&mut talk.texts), opening);
        }
    }
}
