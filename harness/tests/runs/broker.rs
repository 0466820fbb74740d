//! Devices behind an ordinary MQTT broker: Mosquitto, as Linux distributions package it.
//!
//! Where it is not installed the tests fail, unless `MCP_HIL_LEAVE_OUT` names `mosquitto`.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use serde_json::{Value, json};

use crate::support::Place;
use crate::support::missing::MOSQUITTO;

/// Where the packages put it, which need not be on a user's PATH.
const PROGRAMS: [&str; 3] = ["mosquitto", "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"];

/// A broker of this test's own, which ends with this value.
struct Mosquitto {
    child: Child,
    port: u16,
}

impl Mosquitto {
    /// Starts one on a free port; `None` where there is none to start.
    fn start(place: &Place) -> Option<Self> {
        let free = || {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        // It takes no port 0: another program may take the port first, so it is tried again.
        (0..5).find_map(|_| Self::start_at(place, free()))
    }

    /// Starts one on this port; `None` where there is none to start, or the port is taken.
    fn start_at(place: &Place, port: u16) -> Option<Self> {
        let program = PROGRAMS.into_iter().find(|program| {
            let help = Command::new(program).arg("-h").output();
            help.is_ok()
        })?;
        let settings =
            format!("listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n");
        let file = place.write("mosquitto.conf", settings);
        let child = Command::new(program)
            .arg("-c")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut broker = Self { child, port };
        broker.is_ready().then_some(broker)
    }
}

impl Mosquitto {
    /// Waits until it takes connections; false when it has ended instead.
    fn is_ready(&mut self) -> bool {
        while matches!(self.child.try_wait(), Ok(None)) {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A device that subscribes to its topic, as ordinary brokers need it. It ends with the test.
fn device(port: u16) {
    let mut options = MqttOptions::new("device", "127.0.0.1", port);
    options.set_max_packet_size(1 << 22, 1 << 22);
    let (client, mut connection) = Client::new(options, 64);
    std::thread::spawn(move || {
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::ConnAck(_))) => {
                    client.try_subscribe("to/device", QoS::AtMostOnce).unwrap();
                }
                Ok(Event::Incoming(Packet::Publish(publish))) => {
                    if let Some(answer) = answer(&publish.payload) {
                        let _ = client.try_publish("from/device", QoS::AtMostOnce, false, answer);
                    }
                }
                Ok(_) => {}
                // The broker may come back.
                Err(_) => std::thread::park_timeout(Duration::from_millis(100)),
            }
        }
    });
}

/// A small good device: one tool that tells its state.
fn answer(payload: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(payload).ok()?;
    let request = message.get("payload")?.as_object()?;
    let params = request.get("params").cloned().unwrap_or(json!({}));
    let legal = message["type"] == "mcp"
        && request.get("jsonrpc") == Some(&"2.0".into())
        && request.get("id")?.is_i64()
        && params.is_object();
    let method = request.get("method")?.as_str().filter(|_| legal)?;
    let tool = json!({
        "name": "self.get_device_status",
        "description": "The state of the device.",
        "inputSchema": {"type": "object", "properties": {}}
    });
    let info = json!({
        "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
        "serverInfo": {"name": "behind-a-broker", "version": "1.0.0"}
    });
    let first = params.get("cursor").is_none_or(|cursor| cursor == "");
    let said = json!([{"type": "text", "text": "{\"audio_speaker\":{\"volume\":50}}"}]);
    let (name, body) = match method {
        "initialize" => ("result", info),
        "ping" => ("result", json!({})),
        "tools/list" if first => ("result", json!({"tools": [tool]})),
        "tools/call" if params["name"] == tool["name"] => {
            ("result", json!({"content": said, "isError": false}))
        }
        "tools/list" | "tools/call" => {
            ("error", json!({"code": -32602, "message": "no such tool or page"}))
        }
        _ => ("error", json!({"code": -32601, "message": "no such method"})),
    };
    let payload = json!({"jsonrpc": "2.0", "id": request["id"], (name): body});
    Some(json!({"session_id": "", "type": "mcp", "payload": payload}).to_string())
}

#[test]
fn a_device_that_subscribes_is_judged_through_mosquitto() {
    let place = Place::new();
    let Some(broker) = Mosquitto::start(&place) else {
        MOSQUITTO.is_missing("an ordinary broker is tried with it");
        return;
    };
    device(broker.port);
    let file = format!(
        "name = \"shelf\"\ntarget = \"wait\"\ntransports = [\"mqtt\"]\n\
         [mqtt]\nbroker = \"127.0.0.1:{}\"\npublish_topic = \"from/device\"\n\
         subscribe_topic = \"to/device\"\n",
        broker.port
    );
    place.write("shelf.toml", file);
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

/// The device is not to blame, and the run goes on once both are back.
#[test]
fn a_broker_that_goes_away_and_comes_back_ends_no_run() {
    let place = Place::new();
    let Some(broker) = Mosquitto::start(&place) else {
        MOSQUITTO.is_missing("an ordinary broker is tried with it");
        return;
    };
    let port = broker.port;
    device(port);
    let file = format!(
        "name = \"shelf\"\ntarget = \"wait\"\ntransports = [\"mqtt\"]\n\
         [mqtt]\nbroker = \"127.0.0.1:{port}\"\npublish_topic = \"from/device\"\n\
         subscribe_topic = \"to/device\"\n",
    );
    place.write("shelf.toml", file);
    let mut live = place.hil(["run", "--dut", "shelf.toml", "--format", "json"]).start();
    live.out("case-started");
    drop(broker);
    let broker = Mosquitto::start_at(&place, port).expect("the port is free again");
    let done = live.end();
    drop(broker);
    assert!(matches!(done.code, Some(0 | 1)), "no bench error and no crash: {done:?}");
    let report = place.report();
    let cases = report["cases"].as_array().unwrap();
    let of = |verdict: &str| cases.iter().filter(|case| case["verdict"] == verdict).count();
    assert_eq!(of("fail"), 0, "{report}");
    assert!(of("pass") > 30, "{report}");
}
