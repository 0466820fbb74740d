//! A server that is just enough for the device: it listens, starts the device, and talks to it.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::program::{PATIENCE, Program};

/// A running device and the port that it dials. The process ends with this value.
pub(crate) struct Bench {
    listener: TcpListener,
    pub(crate) device: Program,
}

/// One connection of the device.
pub(crate) struct Connection {
    socket: WebSocket<TcpStream>,
    /// Names and values of its handshake, sorted.
    pub(crate) headers: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn start(arguments: &[&str]) -> Bench {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let device = Program::start(
            arguments,
            &[
                ("MCP_HIL_TRANSPORT", "websocket"),
                ("MCP_HIL_WS_URL", &url(&listener)),
                ("MCP_HIL_WS_TOKEN", "t0ken-0123456789"),
            ],
        );
        Bench { listener, device }
    }

    /// A server for a device that is told about it some other way.
    pub(crate) fn adopt(device: Program) -> Bench {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Bench { listener, device }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        url(&self.listener)
    }

    /// Accepts the device; `None` when it does not come in time.
    pub(crate) fn accept(&self, patience: Duration) -> Option<Connection> {
        self.listener.set_nonblocking(true).expect("non-blocking");
        let begin = Instant::now();
        let stream = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && begin.elapsed() < patience =>
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(_) => return None,
            }
        };
        stream.set_nonblocking(false).expect("blocking");
        stream.set_nodelay(true).expect("no delay");
        let mut headers = Vec::new();
        #[expect(clippy::result_large_err, reason = "the library's callback type")]
        let callback = |request: &Request, response: Response| {
            for (name, value) in request.headers() {
                headers.push((name.to_string(), value.to_str().unwrap_or_default().to_string()));
            }
            Ok(response)
        };
        let socket = tungstenite::accept_hdr(stream, callback).ok()?;
        headers.sort();
        Some(Connection { socket, headers })
    }

    /// Nobody listens any more; the exit code of the device.
    pub(crate) fn abandon(self) -> Option<i32> {
        drop(self.listener);
        self.device.exit_code()
    }
}

fn url(listener: &TcpListener) -> String {
    let address = listener.local_addr().expect("an address");
    format!("ws://{address}/xiaozhi/v1/")
}

impl Connection {
    pub(crate) fn send(&mut self, message: Message) -> bool {
        self.socket.send(message).is_ok()
    }

    /// The next frame; `Ok(None)` when none comes in time, `Err` when the connection is gone.
    pub(crate) fn read(&mut self, patience: Duration) -> Result<Option<Message>, ()> {
        self.socket
            .get_ref()
            .set_read_timeout(Some(patience.max(Duration::from_millis(1))))
            .map_err(drop)?;
        match self.socket.read() {
            Ok(message) => Ok(Some(message)),
            Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok(None)
            }
            Err(_) => Err(()),
        }
    }

    /// The next text frame, as JSON.
    pub(crate) fn json(&mut self) -> Value {
        loop {
            match self.read(PATIENCE).expect("a connection").expect("a frame in time") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                _ => continue,
            }
        }
    }

    /// Says hello and stops the microphone.
    pub(crate) fn greet(&mut self, session: &str) {
        self.send(Message::text(
            json!({"type": "hello", "transport": "websocket", "session_id": session}).to_string(),
        ));
        self.send(Message::text(r#"{"type":"tts","state":"start"}"#));
    }

    /// Sends a request and gives back the payload of its answer.
    pub(crate) fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        let payload = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(Message::text(json!({"type": "mcp", "payload": payload}).to_string()));
        loop {
            let message = self.json();
            if message["payload"]["id"] == id {
                return message["payload"].clone();
            }
        }
    }
}
