//! An ordinary MQTT broker, and a device behind it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use serde_json::{Value, json};

use super::Place;

/// Where the packages put it, which need not be on a user's PATH.
const PROGRAMS: [&str; 3] = ["mosquitto", "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"];

/// A broker of this test's own, which ends with this value.
pub(crate) struct Mosquitto {
    pub(crate) child: Child,
    /// Where it listens.
    pub(crate) port: u16,
}

impl Mosquitto {
    /// Starts one on a free port; `None` where there is none to start.
    pub(crate) fn start(place: &Place) -> Option<Self> {
        let free = || {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        // It takes no port 0: another program may take the port first, so it is tried again.
        (0..5).find_map(|_| Self::start_at(place, free()))
    }

    /// Starts one on this port; `None` where there is none to start, or the port is taken.
    pub(crate) fn start_at(place: &Place, port: u16) -> Option<Self> {
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
pub(crate) fn device(port: u16) {
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

/// The file of that device.
pub(crate) fn file(port: u16) -> String {
    format!(
        "name = \"shelf\"\ntarget = \"wait\"\ntransports = [\"mqtt\"]\n\
         [mqtt]\nbroker = \"127.0.0.1:{port}\"\npublish_topic = \"from/device\"\n\
         subscribe_topic = \"to/device\"\n",
    )
}
