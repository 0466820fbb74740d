//! A server that is just enough for the device: it listens, starts the device, and talks to it.

use std::io::{self, BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-hil-native");

/// A running device and the port that it dials. The process ends with this value.
pub(crate) struct Bench {
    listener: TcpListener,
    child: Child,
    console: Arc<Mutex<Vec<String>>>,
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
        let url = format!(
            "ws://{}/xiaozhi/v1/",
            listener.local_addr().expect("an address")
        );
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .env("MCP_HIL_TRANSPORT", "websocket")
            .env("MCP_HIL_WS_URL", url)
            .env("MCP_HIL_WS_TOKEN", "t0ken-0123456789")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the device starts");
        let console = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&console);
        let stdout = child.stdout.take().expect("a pipe");
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                lines.lock().expect("not poisoned").push(line);
            }
        });
        Bench {
            listener,
            child,
            console,
        }
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
                headers.push((
                    name.to_string(),
                    value.to_str().unwrap_or_default().to_string(),
                ));
            }
            Ok(response)
        };
        let socket = tungstenite::accept_hdr(stream, callback).ok()?;
        headers.sort();
        Some(Connection { socket, headers })
    }

    /// The console so far.
    pub(crate) fn console(&self) -> Vec<String> {
        self.console.lock().expect("not poisoned").clone()
    }

    /// Waits for a console line.
    pub(crate) fn console_has(&self, part: &str) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if self.console().iter().any(|line| line.contains(part)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Nobody listens any more; the exit code of the device.
    pub(crate) fn abandon(self) -> Option<i32> {
        let Bench {
            listener,
            mut child,
            ..
        } = self;
        drop(listener);
        child.wait().expect("the device ends").code()
    }
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
            match self
                .read(PATIENCE)
                .expect("a connection")
                .expect("a frame in time")
            {
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
        self.send(Message::text(
            json!({"type": "mcp", "payload": payload}).to_string(),
        ));
        loop {
            let message = self.json();
            if message["payload"]["id"] == id {
                return message["payload"].clone();
            }
        }
    }
}
