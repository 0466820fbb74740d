//! An MQTT broker that is just enough for the device: it takes one connection at a time and pushes
//! without being asked to.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rumqttc::mqttbytes::v4::{ConnAck, Connect, ConnectReturnCode, Packet, Publish};
use rumqttc::mqttbytes::{Error, QoS};
use serde_json::{Value, json};

use crate::program::{PATIENCE, Program};

/// Largest packet of a test.
const PACKET_LIMIT: usize = 64 << 20;

/// The port, and the device that dials it.
pub(crate) struct Broker {
    listener: TcpListener,
    pub(crate) device: Program,
}

/// One connection of the device, after CONNACK.
pub(crate) struct Session {
    stream: TcpStream,
    buffer: bytes::BytesMut,
    /// How it introduced itself.
    pub(crate) connect: Connect,
    /// Packets since then that were no PUBLISH.
    pub(crate) others: Vec<Packet>,
    /// Something came that is no packet; nothing after it can be read.
    pub(crate) malformed: bool,
}

impl Broker {
    pub(crate) fn start(arguments: &[&str]) -> Broker {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = listener.local_addr().expect("an address").to_string();
        let device = Program::start(
            arguments,
            &[
                ("MCP_HIL_TRANSPORT", "mqtt"),
                ("MCP_HIL_MQTT_ENDPOINT", &endpoint),
                ("MCP_HIL_MQTT_CLIENT_ID", "bench@@@01"),
                ("MCP_HIL_MQTT_USERNAME", "user"),
                ("MCP_HIL_MQTT_PASSWORD", "p4ssw0rd"),
                ("MCP_HIL_MQTT_PUBLISH_TOPIC", "device-server"),
            ],
        );
        Broker { listener, device }
    }

    /// A broker for a device that was told about it some other way.
    pub(crate) fn adopt(listener: TcpListener, device: Program) -> Broker {
        Broker { listener, device }
    }

    /// Accepts the device.
    pub(crate) fn accept(&self) -> Session {
        Session::accept(&self.listener).expect("the device connects")
    }

    /// Nobody listens any more; the exit code of the device.
    pub(crate) fn abandon(self) -> Option<i32> {
        drop(self.listener);
        self.device.exit_code()
    }
}

/// The next connection, if it comes in time.
pub(crate) fn accept(listener: &TcpListener, patience: Duration) -> Option<TcpStream> {
    listener.set_nonblocking(true).expect("non-blocking");
    let begin = Instant::now();
    while begin.elapsed() < patience {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).expect("blocking");
                stream.set_nodelay(true).expect("no delay");
                return Some(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(_) => return None,
        }
    }
    None
}

impl Session {
    /// Accepts the device, if it comes in time.
    pub(crate) fn accept(listener: &TcpListener) -> Option<Session> {
        Session::accept_within(listener, PATIENCE)
    }

    /// Accepts the device, if it comes within `patience`.
    pub(crate) fn accept_within(listener: &TcpListener, patience: Duration) -> Option<Session> {
        let mut session = Session {
            stream: accept(listener, patience)?,
            buffer: bytes::BytesMut::new(),
            connect: Connect::new(""),
            others: Vec::new(),
            malformed: false,
        };
        // A client that begins with anything else is not taken (MQTT 3.1.1, 3.1.0-1).
        let Packet::Connect(connect) = session.packet(PATIENCE)? else {
            return None;
        };
        session.connect = connect;
        let consent = ConnAck::new(ConnectReturnCode::Success, false);
        session.write(&Packet::ConnAck(consent));
        Some(session)
    }

    /// The next packet; `None` when none comes in time or the connection is gone.
    pub(crate) fn packet(&mut self, patience: Duration) -> Option<Packet> {
        let begin = Instant::now();
        while !self.malformed {
            match Packet::read(&mut self.buffer, PACKET_LIMIT) {
                Ok(packet) => return Some(packet),
                Err(Error::InsufficientBytes(_)) => {}
                Err(_) => {
                    self.malformed = true;
                    break;
                }
            }
            let left = patience.checked_sub(begin.elapsed())?;
            let left = left.max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left)).expect("a timeout");
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => return None,
            }
        }
        None
    }

    pub(crate) fn write(&mut self, packet: &Packet) {
        let mut bytes = bytes::BytesMut::new();
        packet.write(&mut bytes, PACKET_LIMIT).expect("a packet");
        // A device that went away is noticed when it does not answer.
        let _ = self.stream.write_all(&bytes);
    }

    /// Pushes a message under a topic that nobody subscribed to.
    pub(crate) fn push(&mut self, payload: impl Into<Vec<u8>>) {
        let publish = Publish::new("devices/p2p/x", QoS::AtMostOnce, payload);
        self.write(&Packet::Publish(publish));
    }

    /// The next message of the device.
    pub(crate) fn message(&mut self, patience: Duration) -> Option<Publish> {
        let begin = Instant::now();
        loop {
            match self.packet(patience.checked_sub(begin.elapsed())?)? {
                Packet::Publish(publish) => return Some(publish),
                Packet::PingReq => {
                    self.others.push(Packet::PingReq);
                    self.write(&Packet::PingResp);
                }
                other => self.others.push(other),
            }
        }
    }

    /// The next message of the device, as JSON.
    pub(crate) fn json(&mut self) -> Value {
        let message = self.message(PATIENCE).expect("a message in time");
        serde_json::from_slice(&message.payload).expect("JSON")
    }

    /// Answers the hello, with the audio going to `port`.
    pub(crate) fn greet(&mut self, session: &str, port: u16) {
        self.push(server_hello(session, port).to_string());
    }

    /// Sends a request and gives back the envelope of its answer.
    pub(crate) fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        let payload = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.push(json!({"type": "mcp", "payload": payload}).to_string());
        loop {
            let message = self.json();
            if message["payload"]["id"] == id {
                return message;
            }
        }
    }
}

/// Key of the audio channel in [`server_hello`].
pub(crate) const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
/// Header of the audio channel in [`server_hello`].
pub(crate) const NONCE: &str = "01050000aabbccdd0000000000000000";

/// The server's hello.
pub(crate) fn server_hello(session: &str, port: u16) -> Value {
    json!({
        "type": "hello", "transport": "udp", "session_id": session,
        "audio_params": {"sample_rate": 24000, "frame_duration": 60},
        "udp": {"server": "127.0.0.1", "port": port, "key": KEY, "nonce": NONCE},
    })
}
