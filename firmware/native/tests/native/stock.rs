//! The life of a stock device: when it dials, and what ends its connections.

use std::time::Duration;

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::broker::Broker;
use crate::program::PATIENCE;
use crate::server::Bench;

/// How long a device is watched that is not to dial. Whoever dials by itself does so at once.
const WATCHED: Duration = Duration::from_millis(700);

const IDLE: &str = "State: activating -> idle";

#[test]
fn over_websocket_it_dials_at_the_button_and_never_by_itself() {
    let mut bench = Bench::start(&["--stock"]);
    assert!(bench.device.console_has(IDLE));
    assert!(bench.accept(WATCHED).is_none(), "it waits for its button");
    bench.device.say("button");
    let mut link = bench.accept(PATIENCE).expect("it dials");
    link.greet("s");
    link.request(1, "ping", &json!({}));
    drop(link);
    assert!(bench.device.console_has("Websocket disconnected"));
    assert!(bench.accept(WATCHED).is_none(), "it does not dial again");
    bench.device.say("button");
    assert!(bench.accept(PATIENCE).is_some(), "it dials again");
}

#[test]
fn while_it_listens_it_sends_sound_until_the_button_ends_it_without_a_close_frame() {
    let mut bench = Bench::start(&["--stock"]);
    assert!(bench.device.console_has(IDLE));
    bench.device.say("button");
    let mut link = bench.accept(PATIENCE).expect("it dials");
    link.greet("s");
    link.send(Message::text(r#"{"type":"tts","state":"stop"}"#));
    let sound = loop {
        match link.read(PATIENCE).expect("a connection") {
            Some(Message::Binary(frame)) => break frame,
            Some(_) => {}
            None => panic!("no sound"),
        }
    };
    assert!(!sound.is_empty());
    bench.device.say("button");
    loop {
        match link.read(PATIENCE) {
            Ok(Some(Message::Close(frame))) => panic!("a Close frame: {frame:?}"),
            Ok(Some(_)) => {}
            Ok(None) => panic!("it goes on"),
            // The socket is gone.
            Err(()) => break,
        }
    }
}

#[test]
fn it_reboots_on_command_and_then_waits_for_its_button() {
    let mut bench = Bench::start(&["--stock"]);
    assert!(bench.device.console_has(IDLE));
    bench.device.say("button");
    let mut link = bench.accept(PATIENCE).expect("it dials");
    link.greet("s");
    link.send(Message::text(r#"{"type":"system","command":"reboot"}"#));
    assert!(bench.device.console_has("Application: Rebooting..."));
    assert!(bench.device.console_has("rst:0xc (RTC_SW_CPU_RST)"));
    assert!(bench.accept(WATCHED).is_none(), "it waits for its button");
    bench.device.say("button");
    assert!(bench.accept(PATIENCE).is_some(), "it dials again");
}

#[test]
fn a_button_that_is_pressed_too_early_sets_the_network_up() {
    let mut bench = Bench::start(&["--stock"]);
    assert!(bench.device.console_has("ESP-ROM:"));
    bench.device.say("button");
    assert!(bench.device.console_has("Enter WiFi configuration mode"));
    bench.device.say("button");
    assert!(bench.accept(WATCHED).is_none(), "it is not in the network");
}

#[test]
fn over_mqtt_it_dials_at_boot_and_opens_no_channel() {
    let broker = Broker::start(&["--stock"]);
    let mut session = broker.accept();
    let answer = session.request(1, "tools/list", &json!({}));
    assert!(answer["payload"]["result"].is_object(), "{answer}");
}

#[test]
fn somebody_may_press_the_button_by_itself() {
    let bench = Bench::start(&["--stock", "--button-after-ms", "1"]);
    for _ in 0..2 {
        let mut link = bench.accept(PATIENCE).expect("it dials");
        link.greet("s");
    }
}
