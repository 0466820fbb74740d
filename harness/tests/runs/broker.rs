//! Devices behind an ordinary MQTT broker: Mosquitto, as Linux distributions package it.
//!
//! Where it is not installed the tests fail, unless `MCP_HIL_LEAVE_OUT` names `mosquitto`.

use std::time::Duration;

use crate::support::Place;
use crate::support::broker::{Mosquitto, device, file};
use crate::support::missing::MOSQUITTO;

#[test]
fn a_device_that_subscribes_is_judged_through_mosquitto() {
    let place = Place::new();
    let Some(broker) = Mosquitto::start(&place) else {
        MOSQUITTO.is_missing("an ordinary broker is tried with it");
        return;
    };
    device(broker.port);
    place.write("shelf.toml", file(broker.port));
    place
        .hil(["run", "--dut", "shelf.toml", "--deadline", "5"])
        .end()
        .exits(0)
        .prints(&["shelf over mqtt", "behind-a-broker 1.0.0, 1 tool"]);
    let report = place.report();
    assert_eq!(report["summary"]["failed"], 0);
    assert!(report["summary"]["passed"].as_u64().unwrap() > 40);
}

#[test]
fn a_broker_that_is_not_there_is_trouble_of_the_bench() {
    // A port that was free a moment ago, and where nobody listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let place = Place::new();
    let arguments = ["run", "--dut", "wait", "--transport", "mqtt", "--mqtt-broker"];
    let done = place.hil(arguments.into_iter().chain([&*address])).end();
    done.exits(3).prints(&[&address, "hint"]);
}

/// What waits for what: the device is found however late it subscribes, within this time.
#[test]
fn a_device_that_comes_late_is_found() {
    let place = Place::new();
    let Some(broker) = Mosquitto::start(&place) else {
        MOSQUITTO.is_missing("an ordinary broker is tried with it");
        return;
    };
    let address = format!("127.0.0.1:{}", broker.port);
    let file = "name = \"late\"\ntarget = \"wait\"\ntransports = [\"mqtt\"]\n[mqtt]\n\
                publish_topic = \"from/device\"\nsubscribe_topic = \"to/device\"\n";
    place.write("late.toml", file);
    let arguments = ["run", "--dut", "late.toml", "--only", "initialize/full"];
    let mut live = place.hil(arguments.into_iter().chain(["--mqtt-broker", &*address])).start();
    live.err("waiting up to");
    let port = broker.port;
    std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(1500));
        device(port);
    });
    live.end().exits(0);
}

/// The device is not to blame for what that spoils, and the run goes on once both are back.
#[test]
fn a_broker_that_goes_away_and_comes_back_ends_no_run() {
    let place = Place::new();
    let Some(broker) = Mosquitto::start(&place) else {
        MOSQUITTO.is_missing("an ordinary broker is tried with it");
        return;
    };
    let port = broker.port;
    device(port);
    place.write("shelf.toml", file(broker.port));
    let mut live = place.hil(["run", "--dut", "shelf.toml", "--format", "json"]).start();
    live.out("case-started");
    drop(broker);
    let broker = Mosquitto::start_at(&place, port).expect("the port is free again");
    let done = live.end();
    drop(broker);
    let done = done.exits(3);
    let report = place.report();
    assert!(report["summary"]["bench_error"].is_null(), "the run went on: {done}");
    let cases = report["cases"].as_array().unwrap();
    let of = |verdict: &str| cases.iter().filter(|case| case["verdict"] == verdict).count();
    assert_eq!(of("fail") + of("inconclusive"), 0, "{report}");
    assert!(of("pass") > 30, "{report}");
    let spoilt = cases.iter().filter(|case| case["verdict"] == "error");
    let reasons: Vec<&str> = spoilt.map(|case| case["reason"].as_str().unwrap()).collect();
    assert!(reasons.iter().all(|reason| reason.contains("MQTT broker")), "{reasons:?}");
}
