//! A real browser, driven by its own protocol: Chromium without a window.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// No answer may take longer, on the slowest machine.
const LATEST: Duration = Duration::from_secs(120);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: String,
    next: u64,
    /// What it told without being asked.
    events: Vec<Value>,
}

impl Browser {
    /// Starts it with its files in a folder. There is none on a machine without Chromium.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        let mut command = Command::new("chromium");
        command
            // A sandbox cannot be had in containers, and the pages are our own.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                crate::support::missing::CHROMIUM
                    .is_missing(&format!("`chromium` does not start: {error}"));
                return None;
            }
        };
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("listening on ")?.1.trim().to_owned()))
            .expect("it says where it listens");
        // Nobody reads the rest, but it must be able to write.
        std::thread::spawn(move || lines.map_while(Result::ok).count());
        let address = url.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(LATEST)).unwrap();
        let (socket, _) = tungstenite::client(&url, stream).expect("it speaks WebSocket");
        let mut browser =
            Self { child, socket, session: String::new(), next: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = target["targetId"].clone();
        let attach = json!({"targetId": target, "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        browser.call("Page.enable", json!({}));
        browser.call("Network.enable", json!({}));
        Some(browser)
    }

    /// Asks it to do something; its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).expect("it takes commands");
        loop {
            let message = self.read();
            if message["id"] == self.next {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn read(&mut self) -> Value {
        let message = self.socket.read().expect("it answers");
        serde_json::from_str(message.to_text().unwrap_or_default()).unwrap_or_default()
    }

    /// Opens an address and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str) {
        self.events.clear();
        // From another page, or a new fragment would load nothing.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.wait_for("Page.loadEventFired");
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        self.wait_for("Page.loadEventFired");
    }

    fn wait_for(&mut self, event: &str) {
        let until = Instant::now() + LATEST;
        while !self.events.iter().any(|known| known["method"] == event) {
            assert!(Instant::now() < until, "no {event}");
            let message = self.read();
            self.events.push(message);
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true,
            "userGesture": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression has a value.
    pub(crate) fn until(&mut self, expression: &str, value: &Value) {
        let until = Instant::now() + LATEST;
        loop {
            let got = self.eval(expression);
            if got == *value {
                return;
            }
            assert!(Instant::now() < until, "{expression}: {got}, not {value}");
            self.eval("new Promise(requestAnimationFrame)");
        }
    }

    /// Presses a key, which writes a text where it writes one.
    pub(crate) fn press(&mut self, key: &str, text: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", up);
    }

    /// Shows pages as on a screen of this size, light or dark.
    pub(crate) fn screen(&mut self, width: u32, height: u32, scheme: &str) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": scheme}));
    }

    /// The addresses that the last page asked for.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        // What it asks for in the course of drawing has been asked for now.
        self.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
        let asked = self.events.iter();
        asked
            .filter(|event| event["method"] == "Network.requestWillBeSent")
            .map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
