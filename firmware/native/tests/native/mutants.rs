//! Every mutant of the newer areas does something that the conforming device does not.
//!
//! One conversation touches all of it: configuration, connection, hello, audio, MCP, camera,
//! goodbye, and a second connection. What the device does is written down, and a mutant must leave
//! other notes than the device without.

use std::collections::VecDeque;
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rumqttc::mqttbytes::QoS;
use rumqttc::mqttbytes::v4::{Packet, Publish};
use serde_json::{Value, json};

use crate::broker::{Session, server_hello};
use crate::program::{PATIENCE, PROGRAM, Program};
use crate::server::Bench;
use crate::web::{Posted, Web};

/// Note of a message that did not come.
const NOTHING: &str = "<no message>";
/// How long a mutant may hesitate where the device does not.
const HESITATION: Duration = Duration::from_millis(700);
/// Keep-alive interval of the conversation.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Devices that run at a time; they wait most of the time.
const CROWD: usize = 32;

/// Areas that this conversation covers.
const AREAS: [&str; 6] = ["bootstrap", "channel", "mqtt", "session", "transport", "vision"];
/// Mutants of these areas that this conversation over MQTT cannot show; the harness' table of
/// mutants does.
const SHOWN_ELSEWHERE: [&str; 15] = [
    "bootstrap-other-device",
    "channel-hello-key-panics",
    "channel-hello-without-udp-panics",
    "session-answers-old-request",
    "session-hello-repeated-answered",
    "session-hello-repeated-deaf",
    "session-hello-repeated-loses-id",
    "session-id-missing-in-listen",
    "session-id-stale-in-listen",
    "session-stale-answer-after-first",
    "transport-long-name-code",
    "vision-answer-first-chunk",
    "vision-answer-first-piece",
    "vision-token-first",
    "vision-url-255",
];

struct Conversation {
    session: Session,
    notes: Vec<String>,
}

impl Conversation {
    fn note(&mut self, what: impl std::fmt::Debug) {
        self.notes.push(format!("{what:?}"));
    }

    /// Notes the next message; its JSON, null when there is none.
    fn message(&mut self) -> Value {
        let Some(message) = self.session.message(HESITATION) else {
            self.note((NOTHING, self.session.malformed));
            return Value::Null;
        };
        let text = String::from_utf8_lossy(&message.payload).into_owned();
        // A mutant that reads a message and writes it again may write it in another order.
        let (read, shown) = match serde_json::from_str::<Value>(&text) {
            Ok(read) => (read.clone(), read.to_string()),
            Err(_) => (Value::Null, text),
        };
        self.note((message.topic, message.qos, message.retain, shown));
        read
    }

    /// Sends a request and notes what comes back first.
    fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        let payload = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = json!({"type": "mcp", "payload": payload});
        self.session.push(request.to_string());
        self.message()
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.request(id, "tools/call", &params);
    }
}

/// Answers all HTTP requests of a device; what it asked is kept.
fn serve(config: String) -> (Arc<Mutex<Vec<Posted>>>, String) {
    let web = Web::start();
    let url = web.url("");
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    std::thread::spawn(move || {
        let choose = |posted: &Posted| match posted.line.contains("/explain") {
            true => (200, "a cat on a mat".to_string()),
            false => (200, config.clone()),
        };
        while let Some(posted) = web.serve(choose) {
            kept.lock().expect("not poisoned").push(posted);
        }
    });
    (requests, url)
}

fn conversation(mutant: Option<&str>) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let audio = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let endpoint = listener.local_addr().expect("an address").to_string();
    let config = json!({"mqtt": {"endpoint": endpoint, "client_id": "c@1", "username": "user",
        "password": "pass", "publish_topic": "up", "keepalive": KEEP_ALIVE.as_secs()}});
    let (requests, url) = serve(config.to_string());
    let arguments: Vec<&str> = mutant.into_iter().flat_map(|name| ["--mutant", name]).collect();
    let device = Program::start(&arguments, &[("MCP_HIL_OTA_URL", &format!("{url}/ota/"))]);

    let Some(session) = Session::accept(&listener) else {
        return vec!["it never connects".to_string()];
    };
    let mut talk = Conversation { session, notes: vec![] };
    talk.note(talk.session.connect.clone());
    talk.message();
    let port = audio.local_addr().expect("an address").port();
    talk.session.push(server_hello("first", port).to_string());
    talk.message();
    talk.message();
    audio.set_read_timeout(Some(HESITATION)).expect("a timeout");
    let mut datagram = [0; 256];
    for _ in 0..3 {
        let length = audio.recv(&mut datagram).unwrap_or(0);
        talk.note(&datagram[..length]);
    }

    talk.request(50, "tools/list", &json!({}));
    talk.call(1, "self.camera.take_photo", &json!({"question": "what is it"}));
    for (id, url) in [(2, "ws://127.0.0.1:1/".to_string()), (4, format!("{url}/explain"))] {
        let vision = json!({"url": url, "token": "v1s10n"});
        talk.request(id, "initialize", &json!({"capabilities": {"vision": vision}}));
        talk.call(id + 1, "self.camera.take_photo", &json!({"question": "what is it"}));
    }
    // All pages, or as many as there should be.
    let mut cursor = json!("");
    for id in 10..14 {
        let page = talk.request(id, "tools/list", &json!({"cursor": cursor}));
        cursor = page["payload"]["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    talk.call(20, "no such tool", &json!({}));
    talk.call(21, "self.audio_speaker.set_volume", &json!({"volume": 40}));
    talk.call(22, "self.get_device_status", &json!({}));

    let mut publish = Publish::new("t", QoS::AtLeastOnce, r#"{"type":"custom"}"#);
    publish.pkid = 7;
    talk.session.write(&Packet::Publish(publish));
    let begin = Instant::now();
    while begin.elapsed() < KEEP_ALIVE + KEEP_ALIVE / 4
        && talk.session.message(KEEP_ALIVE / 4).is_none()
    {}
    let pings = talk.session.others.contains(&Packet::PingReq);
    talk.session.others.retain(|packet| *packet != Packet::PingReq);
    talk.note((pings, talk.session.others.clone()));

    // With QoS 1 a request is a request.
    let ping = r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":29,"method":"ping"}}"#;
    let mut publish = Publish::new("t", QoS::AtLeastOnce, ping);
    publish.pkid = 8;
    talk.session.write(&Packet::Publish(publish));
    talk.message();

    for name in ["another", "first"] {
        talk.session.push(json!({"type": "goodbye", "session_id": name}).to_string());
        talk.request(30, "ping", &json!({}));
        // Whether sound comes after all that was on its way.
        audio.set_nonblocking(true).expect("non-blocking");
        while audio.recv(&mut datagram).is_ok() {}
        audio.set_nonblocking(false).expect("blocking");
        talk.note(audio.recv(&mut datagram).is_ok());
    }

    let Conversation { session, notes } = talk;
    drop(session);
    let Some(session) = Session::accept_within(&listener, 2 * HESITATION) else {
        return notes;
    };
    let mut talk = Conversation { session, notes };
    talk.note(talk.session.connect.clone());
    talk.message();
    talk.request(40, "tools/list", &json!({}));
    talk.call(42, "self.get_device_status", &json!({}));
    talk.session.push(server_hello("second", port).to_string());
    talk.message();
    talk.message();
    talk.request(41, "ping", &json!({}));
    talk.call(43, "no such tool", &json!({}));
    drop(device);

    let mut notes = talk.notes;
    for mut posted in requests.lock().expect("not poisoned").clone() {
        posted.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
        posted.headers.sort();
        let body = String::from_utf8_lossy(&posted.body);
        notes.push(format!("{} {:?} {body}", posted.line, posted.headers));
    }
    let port = format!("127.0.0.1:{}", url.rsplit(':').next().unwrap_or_default());
    notes.iter().map(|note| note.replace(&port, "HERE")).collect()
}

fn names() -> VecDeque<String> {
    let output = Command::new(PROGRAM).arg("--list-mutants").output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rows = text.lines().map(|row| row.split('\t').collect::<Vec<_>>());
    rows.filter(|row| AREAS.contains(&row[1]) && !SHOWN_ELSEWHERE.contains(&row[0]))
        .map(|row| row[0].to_string())
        .collect()
}

#[test]
fn every_newer_mutant_behaves_otherwise() {
    let healthy = conversation(None);
    assert!(healthy.len() >= 30, "{} notes: {healthy:#?}", healthy.len());
    assert!(!healthy.iter().any(|note| note.contains(NOTHING)), "{healthy:#?}");
    // The same again: only a mutant makes a difference.
    assert_eq!(conversation(None), healthy);

    let names = Mutex::new(names());
    let alike = Mutex::new(Vec::new());
    let next = || names.lock().expect("not poisoned").pop_front();
    assert!(names.lock().expect("not poisoned").len() >= 100);
    std::thread::scope(|scope| {
        for _ in 0..CROWD {
            scope.spawn(|| {
                while let Some(name) = next() {
                    if conversation(Some(&name)) == healthy {
                        alike.lock().expect("not poisoned").push(name);
                    }
                }
            });
        }
    });
    assert_eq!(alike.into_inner().expect("not poisoned"), Vec::<String>::new());
}

#[test]
fn the_websocket_tells_another_device() {
    let web = Web::start();
    let url = web.url("/ota/");
    let device =
        Program::start(&["--mutant", "bootstrap-other-device"], &[("MCP_HIL_OTA_URL", &url)]);
    let bench = Bench::adopt(device);
    let config = json!({"websocket": {"url": bench.url()}});
    let posted = web.answer(200, &config.to_string());
    let link = bench.accept(PATIENCE).expect("the device dials");
    let told = link.headers.iter().find(|(name, _)| name == "device-id");
    let (_, told) = told.expect("a header");
    assert_ne!(told, posted.header("device-id"));
}
