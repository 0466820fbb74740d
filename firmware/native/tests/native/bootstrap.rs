//! The process that asks where to dial.

use std::net::TcpListener;
use std::time::Duration;

use rumqttc::mqttbytes::v4::Packet;
use serde_json::json;

use crate::broker::Broker;
use crate::program::{PATIENCE, Program};
use crate::server::Bench;
use crate::web::{Posted, Web};

fn start(web: &Web) -> Program {
    // The direct variables must not matter.
    let foreign = [
        ("MCP_HIL_OTA_URL", &*web.url("/ota/")),
        ("MCP_HIL_TRANSPORT", "websocket"),
        ("MCP_HIL_WS_URL", "ws://127.0.0.1:1/"),
    ];
    Program::start(&[], &foreign)
}

fn check_request(posted: &Posted) {
    assert_eq!(posted.line, "POST /ota/ HTTP/1.1");
    assert_eq!(posted.header("content-type"), "application/json");
    assert_eq!(posted.header("activation-version"), "1");
    assert_eq!(posted.header("accept-language"), "en-US");
    assert!(posted.header("user-agent").starts_with("mcp-hil-reference/"));
    let body = posted.json();
    assert_eq!(body["mac_address"], posted.header("device-id"));
    assert_eq!(body["uuid"], posted.header("client-id"));
}

#[test]
fn an_mqtt_device_is_configured_at_every_boot() {
    let (web, listener) = (Web::start(), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let endpoint = listener.local_addr().expect("an address").to_string();
    let broker = Broker::adopt(listener, start(&web));
    let answer = json!({
        "mqtt": {"endpoint": endpoint, "client_id": "c1", "username": "u", "password": "pw",
            "publish_topic": "up", "keepalive": 2, "subscribe_topic": "null"},
        "websocket": {"url": "ws://127.0.0.1:1/"},
        "server_time": {"timestamp": 1_700_000_000_000_u64, "timezone_offset": 60},
    });
    check_request(&web.answer(200, &answer.to_string()));
    let mut session = broker.accept();
    assert_eq!(session.connect.client_id, "c1");
    assert_eq!(session.connect.keep_alive, 2);
    assert_eq!(session.message(PATIENCE).expect("the hello").topic, "up");

    // It shows life well before the interval is over.
    assert!(session.message(Duration::from_millis(1800)).is_none());
    assert!(!session.others.is_empty());

    session.request(1, "tools/call", &json!({"name": "self.reboot"}));
    check_request(&web.answer(200, &answer.to_string()));
    assert_eq!(broker.accept().connect.client_id, "c1");
}

/// A server on a busy computer answers late, and a device waits longer than until its next sign of life.
#[test]
fn a_server_that_is_late_with_its_answer_to_a_ping_is_not_left() {
    let (web, listener) = (Web::start(), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let endpoint = listener.local_addr().expect("an address").to_string();
    let broker = Broker::adopt(listener, start(&web));
    let answer = json!({"mqtt": {"endpoint": endpoint, "client_id": "c1", "username": "u",
        "password": "pw", "publish_topic": "up", "keepalive": 1}});
    web.answer(200, &answer.to_string());
    let mut session = broker.accept();
    let mut pings = 0;
    while pings < 4 {
        let packet = session.packet(PATIENCE).expect("the device stays");
        pings += u32::from(matches!(packet, Packet::PingReq));
    }
    let answer = session.request(1, "ping", &json!({}));
    assert_eq!(answer["payload"]["result"], json!({}));
}

#[test]
fn a_websocket_device_takes_url_token_and_version() {
    let web = Web::start();
    let bench = Bench::adopt(start(&web));
    let answer = json!({"websocket": {"url": bench.url(), "token": "t0k", "version": 3}});
    let posted = web.answer(200, &answer.to_string());
    check_request(&posted);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    let header = |name: &str| {
        let mut found = link.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.clone()).unwrap_or_default()
    };
    assert_eq!(header("authorization"), "Bearer t0k");
    assert_eq!(header("protocol-version"), "3");
    assert_eq!(header("device-id"), posted.header("device-id"));
    let hello = link.json();
    assert_eq!((&hello["version"], &hello["transport"]), (&json!(3), &json!("websocket")));
    link.greet("s");
    let initialized = link.request(1, "initialize", &json!({}));
    assert_eq!(
        initialized["result"]["serverInfo"]["version"],
        posted.json()["application"]["version"]
    );
}

#[test]
fn a_failed_request_is_repeated() {
    let web = Web::start();
    let bench = Bench::adopt(start(&web));
    web.answer(500, "");
    web.answer(200, "no JSON");
    web.answer(200, &json!({"websocket": {"url": bench.url()}}).to_string());
    assert!(bench.accept(PATIENCE).is_some());
    for line in [
        "E (",
        "Ota: Failed to check version, status code: 500",
        "Application: Check new version failed, retry in 0.2 seconds (1/10)",
        "Ota: Failed to parse JSON response",
        "Ota: No mqtt section found !",
        "Application: Activation done",
    ] {
        assert!(bench.device.console_has(line), "{line}");
    }
}

#[test]
fn without_an_answer_it_gives_up() {
    let web = Web::start();
    let device = start(&web);
    drop(web);
    assert_eq!(device.exit_code(), Some(1));
}

#[test]
fn activation_comes_before_the_protocol() {
    let web = Web::start();
    let bench = Bench::adopt(start(&web));
    let websocket = json!({"url": bench.url()});
    let locked = json!({"websocket": websocket, "activation": {"code": "123456"}});
    web.answer(200, &locked.to_string());
    for status in [202, 200] {
        let posted = web.answer(status, "");
        assert_eq!(posted.line, "POST /ota/activate HTTP/1.1");
        assert!(!bench.device.console().iter().any(|line| line.contains("WS:")));
    }
    check_request(&web.answer(200, &json!({ "websocket": websocket }).to_string()));
    assert!(bench.accept(PATIENCE).is_some());
    assert!(bench.device.console_has("Application: Activating... 2/10"));
}

#[test]
fn a_long_name_crashes_it_at_every_boot() {
    let web = Web::start();
    let device = start(&web);
    for _ in 0..2 {
        let posted = web.answer(200, r#"{"mqtt":{"sixteen_letters_":"x"}}"#);
        check_request(&posted);
    }
    assert!(device.console_has("ESP_ERROR_CHECK failed: esp_err_t 0x1109"));
    assert!(device.console_has("rst:0xc (RTC_SW_CPU_RST)"));
    assert!(!device.console().iter().any(|line| line.contains("Activation done")));
}
