//! The process over MQTT.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rumqttc::mqttbytes::QoS;
use rumqttc::mqttbytes::v4::{Packet, PubAck, Publish};
use serde_json::json;

use crate::broker::{Broker, Session};
use crate::program::PATIENCE;

/// What must not come is awaited this long.
const SILENCE: Duration = Duration::from_millis(250);

fn audio_socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().expect("an address").port()
}

/// Shakes hands and reads until the device listens.
fn shake_hands(session: &mut Session, name: &str, port: u16) {
    let hello = session.json();
    assert_eq!(hello["type"], "hello");
    session.greet(name, port);
    let listen = session.json();
    assert_eq!((&listen["type"], &listen["session_id"]), (&json!("listen"), &json!(name)));
    assert_eq!(session.json()["payload"]["params"]["newState"], "listening");
}

#[test]
fn the_connection_is_as_configured() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    let connect = session.connect.clone();
    assert_eq!(connect.client_id, "bench@@@01");
    assert_eq!((connect.keep_alive, connect.clean_session), (240, true));
    assert!(connect.last_will.is_none());
    let login = connect.login.expect("credentials");
    assert_eq!((&*login.username, &*login.password), ("user", "p4ssw0rd"));

    let hello = session.message(PATIENCE).expect("the hello");
    assert_eq!(hello.topic, "device-server");
    assert_eq!((hello.qos, hello.retain), (QoS::AtMostOnce, false));
    let hello: serde_json::Value = serde_json::from_slice(&hello.payload).expect("JSON");
    assert_eq!(hello["version"], 3);
    assert_eq!(hello["transport"], "udp");
    assert_eq!(hello["features"]["mcp"], true);
    assert_eq!(hello["audio_params"]["frame_duration"], 60);
    assert!(session.others.is_empty(), "{:?}", session.others);
    let console = broker.device.console();
    assert!(!console.iter().any(|line| line.contains("p4ssw0rd")));
}

#[test]
fn mcp_is_answered_before_any_hello() {
    let broker = Broker::start(&["--no-hello"]);
    let mut session = broker.accept();
    let answer = session.request(1, "initialize", &json!({"capabilities": {}}));
    assert_eq!(answer["session_id"], "");
    assert_eq!(answer["payload"]["result"]["protocolVersion"], "2024-11-05");
    assert!(session.message(SILENCE).is_none(), "nobody pressed the button");
}

#[test]
fn the_audio_channel_opens_and_closes() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    let audio = audio_socket();
    shake_hands(&mut session, "first", port(&audio));
    let mut datagram = [0; 128];
    for sequence in 1..=3u32 {
        let length = audio.recv(&mut datagram).expect("audio");
        assert_eq!(length, 16 + 40);
        assert_eq!(datagram[..8], [1, 5, 0, 40, 0xaa, 0xbb, 0xcc, 0xdd]);
        assert_eq!(datagram[12..16], sequence.to_be_bytes());
    }

    session.push(r#"{"type":"goodbye","session_id":"another"}"#);
    assert!(audio.recv(&mut datagram).is_ok(), "a foreign goodbye");
    session.push(r#"{"type":"goodbye","session_id":"first"}"#);
    assert!(broker.device.console_has("Closing audio channel, send_goodbye: 0"));
    assert!(broker.device.console_has("State: listening -> idle"));
    audio.set_read_timeout(Some(SILENCE)).expect("a timeout");
    while audio.recv(&mut datagram).is_ok() {}
    assert!(session.message(SILENCE).is_none(), "goodbye is not answered");
    let answer = session.request(2, "ping", &json!({}));
    assert_eq!(answer["session_id"], "first");
}

#[test]
fn a_malformed_hello_is_logged_and_messages_go_on() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    assert_eq!(session.json()["type"], "hello");
    for (hello, line) in [
        (json!({"type": "hello"}), "E MQTT: Unsupported or missing transport"),
        (json!({"type": "hello", "transport": "udp"}), "E MQTT: UDP is not specified"),
        (
            json!({"type": "hello", "transport": "udp", "udp":
                {"server": "h", "port": 1, "key": "00", "nonce": "01"}}),
            "E MQTT: Invalid AES key or nonce length",
        ),
    ] {
        session.push(hello.to_string());
        let (level, text) = line.split_at(2);
        assert!(broker.device.console_has(text), "{level}{text}");
    }
    assert!(session.message(SILENCE).is_none());
    assert_eq!(session.request(1, "ping", &json!({}))["session_id"], "");
}

#[test]
fn what_is_no_message_is_dropped_with_a_line() {
    let broker = Broker::start(&["--no-hello"]);
    let mut session = broker.accept();
    session.push("{");
    session.push(b"{\"type\":\"mcp\xff\"}".to_vec());
    session.push(r#"{"type":5}"#);
    assert_eq!(session.request(1, "ping", &json!({}))["payload"]["result"], json!({}));
    // The last of the three lines; the console is read by another thread.
    assert!(broker.device.console_has("MQTT: Message type is invalid"));
    let console = broker.device.console();
    let count = |part: &str| console.iter().filter(|line| line.contains(part)).count();
    assert_eq!(count("MQTT: Failed to parse json message"), 2);
    assert_eq!(count("MQTT: Message type is invalid"), 1);
}

/// What the peer made up is not echoed without end.
#[test]
fn a_name_without_end_is_answered_with_its_beginning() {
    let broker = Broker::start(&["--no-hello"]);
    let mut session = broker.accept();
    let method = "x".repeat(60_000);
    let answer = session.request(1, &method, &json!({}));
    let message = answer["payload"]["error"]["message"].as_str();
    let expected = format!("Method not implemented: {}...", &method[..1024]);
    assert_eq!(message, Some(&*expected));
}

#[test]
fn a_lost_connection_is_followed_by_the_next() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    let audio = audio_socket();
    shake_hands(&mut session, "first", port(&audio));
    drop(session);
    let mut session = broker.accept();
    assert_eq!(session.json()["type"], "hello");
    assert_eq!(session.request(1, "ping", &json!({}))["session_id"], "");
    session.greet("second", port(&audio));
    assert_eq!(session.json()["session_id"], "second");
    drop(session);
    assert_eq!(broker.abandon(), Some(1));
}

#[test]
fn a_reboot_says_goodbye_first() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    let audio = audio_socket();
    shake_hands(&mut session, "s", port(&audio));
    session.push(r#"{"type":"system","command":"reboot"}"#);
    assert_eq!(session.json(), json!({"session_id": "s", "type": "goodbye"}));
    assert!(session.message(PATIENCE).is_none(), "the connection ends");
    assert_eq!(broker.accept().json()["type"], "hello");
    assert!(broker.device.console_has("rst:0xc (RTC_SW_CPU_RST)"));
}

#[test]
fn a_message_with_qos_1_is_acknowledged() {
    let broker = Broker::start(&["--no-hello"]);
    let mut session = broker.accept();
    let request = r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
    let mut publish = Publish::new("any/topic", QoS::AtLeastOnce, request);
    publish.pkid = 77;
    session.write(&Packet::Publish(publish));
    assert_eq!(session.json()["payload"]["id"], 1);
    assert_eq!(session.others, [Packet::PubAck(PubAck::new(77))]);
}

#[test]
fn the_echo_gives_back_what_came() {
    let broker = Broker::start(&["--echo"]);
    let mut session = broker.accept();
    let begin = Instant::now();
    for round in 0..100u32 {
        session.push(round.to_be_bytes());
        let message = session.message(PATIENCE).expect("an echo");
        assert_eq!(message.payload[..], round.to_be_bytes());
        assert_eq!(message.topic, "device-server");
    }
    assert!(begin.elapsed() < PATIENCE);
}
