//! Messages that are too large, and the largest that are taken: the process has a chip's memory.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};

use crate::broker::Broker;
use crate::program::{PATIENCE, Program};
use crate::server::{Bench, Connection};
use crate::web::Web;

/// The largest message that the device takes (`reference_device::LARGEST_MESSAGE`).
const LARGEST: usize = 65_535;

/// A message of so many bytes of a type that nobody knows.
fn stranger(bytes: usize) -> String {
    let [head, tail] = [r#"{"type":"mcp-hil","text":""#, r#""}"#];
    format!("{head}{}{tail}", "x".repeat(bytes - head.len() - tail.len()))
}

/// The reason with which the device closes the connection.
fn farewell(link: &mut Connection) -> (CloseCode, String) {
    loop {
        match link.read(PATIENCE).expect("a reason").expect("in time") {
            Message::Close(Some(frame)) => return (frame.code, frame.reason.to_string()),
            Message::Close(None) => panic!("no reason"),
            _ => {}
        }
    }
}

#[test]
fn over_websocket_the_largest_message_is_read_and_a_larger_one_refused() {
    let bench = Bench::start(&[]);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    link.greet("first");
    link.send(Message::text(stranger(LARGEST)));
    let answer = link.request(1, "ping", &json!({}));
    assert_eq!(answer["result"], json!({}));
    assert!(bench.device.console_has("Unknown message type: mcp-hil"));

    let whole = stranger(LARGEST + 1);
    let (one, other) = whole.split_at(30_000);
    let fragment = |text: &str, kind, is_last| {
        Message::Frame(Frame::message(text.to_string(), OpCode::Data(kind), is_last))
    };
    let too_large = [
        vec![Message::text(&*whole)],
        vec![Message::text("x".repeat(10 << 20))],
        vec![Message::binary(vec![0; 1 << 20])],
        vec![fragment(one, Data::Text, false), fragment(other, Data::Continue, true)],
    ];
    for messages in too_large {
        for message in messages {
            // The device need not wait for the end of it.
            link.send(message);
        }
        let (code, reason) = farewell(&mut link);
        assert_eq!(code, CloseCode::Size);
        assert_eq!(reason, "at most 65535 bytes");
        link = bench.accept(PATIENCE).expect("the device dials again");
        link.greet("again");
        let answer = link.request(2, "ping", &json!({}));
        assert_eq!(answer["result"], json!({}));
    }
    let told = "WS: Message of 65536 bytes refused, at most 65535 are taken";
    assert!(bench.device.console_has(told));
}

#[test]
fn over_mqtt_the_largest_message_is_read_and_a_larger_one_refused() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    session.push(stranger(LARGEST));
    let answer = session.request(1, "ping", &json!({}));
    assert_eq!(answer["payload"]["result"], json!({}));
    assert!(broker.device.console_has("Unknown message type: mcp-hil"));

    for bytes in [LARGEST + 1, 10 << 20] {
        session.push(stranger(bytes));
        while session.packet(PATIENCE).is_some() {}
        session = broker.accept();
        let answer = session.request(2, "ping", &json!({}));
        assert_eq!(answer["payload"]["result"], json!({}));
    }
    let told = "MQTT: Message of 65536 bytes refused, at most 65535 are taken";
    assert!(broker.device.console_has(told));
}

/// A broker that does not wait for the device is refused before its messages fill the memory.
#[test]
fn a_flood_is_refused_or_read_and_the_device_lives() {
    let broker = Broker::start(&[]);
    let mut session = broker.accept();
    for _ in 0..200 {
        session.push(stranger(LARGEST));
    }
    session.push(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"method":"ping"}}"#);
    while let Some(message) = session.message(PATIENCE) {
        let message: serde_json::Value = serde_json::from_slice(&message.payload).expect("JSON");
        if message["payload"]["id"] == 7 {
            return;
        }
    }
    let answer = broker.accept().request(8, "ping", &json!({}));
    assert_eq!(answer["payload"]["result"], json!({}));
}

#[test]
fn over_http_a_body_that_is_too_large_is_refused_and_asked_for_again() {
    let web = Web::start();
    let device = Program::start(&[], &[("MCP_HIL_OTA_URL", &web.url("/ota/"))]);
    let bench = Bench::adopt(device);
    let body = |bytes: usize| {
        let config = json!({"websocket": {"url": bench.url(), "token": "t"}, "more": ""});
        let config = config.to_string();
        let (head, tail) = config.split_at(config.len() - 2);
        format!("{head}{}{tail}", "x".repeat(bytes - config.len()))
    };
    web.answer(200, &body(LARGEST + 1));
    web.answer(200, &body(LARGEST));
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    link.greet("first");
    assert_eq!(link.request(1, "ping", &json!({}))["result"], json!({}));
    let told = "HttpClient: Body refused, at most 65535 bytes are taken";
    assert!(bench.device.console_has(told));
}

#[test]
fn the_process_has_the_memory_of_a_chip_and_says_what_is_left() {
    let free = |device: &Program| {
        assert!(device.console_has("App version"));
        let lines = device.console();
        let line = lines.iter().find_map(|line| line.split_once("SystemInfo: free sram: "));
        line.map(|(_, rest)| rest.split(' ').next().expect("a number").parse().expect("bytes"))
    };
    let bench = Bench::start(&[]);
    assert!(bench.device.console_has("SystemInfo: free sram: "));
    let left: usize = free(&bench.device).expect("a number");
    assert!((100_000..400_000).contains(&left), "{left}");
    // A defect is a layer that needs memory of its own, and nothing is said about that.
    let mutant = Bench::start(&["--mutant", "id-as-string"]);
    assert!(mutant.device.console_has("Add tool"));
    assert_eq!(free(&mutant.device), None);
}
