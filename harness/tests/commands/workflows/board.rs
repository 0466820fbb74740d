//! A board with stock firmware, at a pseudo terminal: it lives as unmodified firmware does, and somebody presses
//! its button whenever it is idle.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serialport::{SerialPort, TTYPort};

use crate::support::held::{Held, Obeys};
use crate::support::{LATEST, Place, native};

/// How long it is idle before its button is pressed.
const BUTTON_AFTER_MS: &str = "100";

/// A board that is plugged in until the test ends.
pub(crate) struct StockBoard {
    port: PathBuf,
    orders: PathBuf,
    _life: Held<Life>,
}

impl StockBoard {
    /// Plugs it in.
    pub(crate) fn attach(place: &Place) -> Self {
        let (board, host) = TTYPort::pair().unwrap();
        // Copies, for no program that is started meanwhile gets those. The other end is held open: a master
        // without one cannot be used.
        let [mut board, host] = [board, host].map(|end| end.try_clone_native().unwrap());
        // What nobody reads yet waits, as long as a busy machine may take.
        board.set_timeout(LATEST).unwrap();
        let port = place.path("port");
        std::os::unix::fs::symlink(host.name().unwrap(), &port).unwrap();
        let life = Life { console: Arc::new(Mutex::new((board, host))), device: None };
        Self { port, orders: place.path("orders"), _life: Held::new(place, life) }
    }

    /// The file of it.
    pub(crate) fn file(&self, name: &str) -> String {
        format!(
            "name = \"{name}\"\ntarget = \"board\"\n[board]\nport = \"{}\"\n\
             [board.power]\ncycle = 'echo \"$MCP_HIL_OTA_URL\" > {}'\n",
            self.port.display(),
            self.orders.display()
        )
    }
}

/// What runs on it.
struct Life {
    console: Arc<Mutex<(TTYPort, TTYPort)>>,
    device: Option<Child>,
}

impl Obeys for Life {
    fn obey(&mut self, url: &str) {
        self.end();
        let mut device = Command::new(native())
            .args(["--stock", "--button-after-ms", BUTTON_AFTER_MS])
            .env("MCP_HIL_OTA_URL", url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(device.stdout.take().unwrap());
        let console = self.console.clone();
        std::thread::spawn(move || {
            for line in says.lines().map_while(Result::ok) {
                let board = &mut console.lock().unwrap().0;
                board.write_all(format!("{line}\r\n").as_bytes()).unwrap();
            }
        });
        self.device = Some(device);
    }
}

impl Life {
    fn end(&mut self) {
        if let Some(mut device) = self.device.take() {
            let _ = device.kill();
            let _ = device.wait();
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.end();
    }
}
