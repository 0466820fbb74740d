//! A board at a pseudo terminal, whose cable, power and chip a trial has in its hands.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use nix::unistd::Pid;
use serialport::{SerialPort, TTYPort};

use crate::support::held::{Held, Obeys};
use crate::support::{Place, native};

/// What stock firmware says until it could be made to dial.
const BOOT: [&str; 4] = [
    "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)",
    "I (612) wifi:mode : sta (f4:12:fa:00:11:22)",
    "I (900) esp_netif_handlers: sta ip: 192.168.1.20, mask: 255.255.255.0",
    "I (950) StateMachine: State: activating -> idle",
];

/// The board's side of its port, while it is plugged in, and the other side held open: a master without one cannot be
/// used.
type Port = Arc<Mutex<Option<(TTYPort, File)>>>;

struct Chip {
    port: Port,
    path: PathBuf,
    ota_url: String,
    device: Option<Child>,
    boot: Vec<String>,
    /// Whether it dials when it has booted, and whether it ever dials.
    dials: (bool, bool),
    has_power: bool,
    mutant: Vec<String>,
}

/// A board, and who carries out the orders of its file's commands.
pub(crate) struct Played {
    chip: Arc<Mutex<Chip>>,
    path: PathBuf,
    _held: Held<Ordered>,
}

struct Ordered(Arc<Mutex<Chip>>);

impl Obeys for Ordered {
    fn obey(&mut self, order: &str) {
        let mut chip = self.0.lock().unwrap();
        match order.split_once(' ') {
            Some(("power", url)) => {
                url.clone_into(&mut chip.ota_url);
                chip.end();
                chip.boots(None);
            }
            Some(("press", url)) => {
                url.clone_into(&mut chip.ota_url);
                chip.dial();
            }
            _ => {}
        }
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        let mut chip = self.0.lock().unwrap();
        chip.has_power = false;
        chip.end();
    }
}

impl Chip {
    fn say(&self, line: &str) {
        if let Some((port, _)) = self.port.lock().unwrap().as_mut() {
            let _ = port.write_all(format!("{line}\r\n").as_bytes());
        }
    }

    /// Boots, with the ROM's line for the cause in the place of that of the power.
    fn boots(&mut self, cause: Option<&str>) {
        if !self.has_power {
            return;
        }
        for (at, line) in self.boot.iter().enumerate() {
            self.say(cause.filter(|_| at == 0).unwrap_or(line));
        }
        if self.dials.0 {
            self.dial();
        }
    }

    fn dial(&mut self) {
        let is_there = self.device.as_mut().is_some_and(|it| it.try_wait().unwrap().is_none());
        if is_there || !self.has_power || !self.dials.1 || self.ota_url.is_empty() {
            return;
        }
        let mut device = Command::new(native())
            .args(&self.mutant)
            .args(["--delay-ms", "10"])
            .env("MCP_HIL_OTA_URL", &self.ota_url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let console = BufReader::new(device.stdout.take().unwrap());
        let port = self.port.clone();
        std::thread::spawn(move || {
            // The chip has told already why it boots.
            let is_own = |line: &String| !line.starts_with("rst:0x");
            for line in console.lines().map_while(Result::ok).filter(is_own) {
                if let Some((port, _)) = port.lock().unwrap().as_mut() {
                    let _ = port.write_all(format!("{line}\r\n").as_bytes());
                }
            }
        });
        self.device = Some(device);
    }

    fn end(&mut self) {
        if let Some(mut device) = self.device.take() {
            let _ = device.kill();
            let _ = device.wait();
        }
    }

    fn plug_in(&mut self) {
        let (board, host) = TTYPort::pair().unwrap();
        // Copies, for no program that is started meanwhile gets those.
        let board = board.try_clone_native().unwrap();
        let name = host.name().unwrap();
        let held =
            File::options().read(true).custom_flags(nix::libc::O_NOCTTY).open(&name).unwrap();
        std::os::unix::fs::symlink(name, &self.path).unwrap();
        *self.port.lock().unwrap() = Some((board, held));
        self.has_power = true;
    }
}

impl Played {
    /// Plugs one in, and writes the file of it. Its relay is the script `relay`.
    pub(crate) fn attach(place: &Place, over: &str, mutant: &[String]) -> Self {
        let path = place.path("port");
        let mut chip = Chip {
            port: Port::default(),
            path: path.clone(),
            ota_url: String::new(),
            device: None,
            boot: BOOT.map(str::to_owned).to_vec(),
            dials: (over == "mqtt", true),
            has_power: true,
            mutant: mutant.to_vec(),
        };
        chip.plug_in();
        place.program("relay", "echo \"power $MCP_HIL_OTA_URL\" > orders");
        let file = format!(
            "name = \"desk\"\ntarget = \"board\"\n[board]\nport = \"{}\"\n[board.power]\n\
             cycle = './relay'\n[board.trigger]\nkind = \"command\"\n\
             command = 'echo \"press $MCP_HIL_OTA_URL\" > orders'\n",
            path.display()
        );
        place.write("desk.toml", file);
        let chip = Arc::new(Mutex::new(chip));
        let held = Held::new(place, Ordered(chip.clone()));
        Self { chip, path, _held: held }
    }

    /// The process that is its firmware.
    pub(crate) fn device(&self) -> Option<Pid> {
        let chip = self.chip.lock().unwrap();
        chip.device.as_ref().map(|it| Pid::from_raw(i32::try_from(it.id()).unwrap()))
    }

    /// Says a line.
    pub(crate) fn say(&self, line: &str) {
        self.chip.lock().unwrap().say(line);
    }

    /// Writes bytes that are no text, in which nothing but line ends is like a console.
    pub(crate) fn garble(&self) {
        let mut state = 0x2545_f491_u32;
        for _ in 0..64 {
            let mut bytes = Vec::new();
            for _ in 0..40 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                bytes.push((state >> 24) as u8 | 0x80);
            }
            bytes.push(b'\n');
            if let Some((port, _)) = self.chip.lock().unwrap().port.lock().unwrap().as_mut() {
                let _ = port.write_all(&bytes);
            }
        }
    }

    /// Its cable is pulled, and with it its power.
    pub(crate) fn unplug(&self) {
        let mut chip = self.chip.lock().unwrap();
        chip.has_power = false;
        let _ = std::fs::remove_file(&self.path);
        chip.port.lock().unwrap().take();
        chip.end();
    }

    /// Its cable is put back.
    pub(crate) fn plug_in(&self) {
        let mut chip = self.chip.lock().unwrap();
        chip.plug_in();
        chip.boots(None);
    }

    /// The chip is reset, and its ROM tells why.
    pub(crate) fn resets(&self, cause: &str) {
        let mut chip = self.chip.lock().unwrap();
        chip.end();
        chip.boots(Some(cause));
    }

    /// What it says from now on when it boots; it never dials again.
    pub(crate) fn boots_only(&self, lines: &str) {
        let mut chip = self.chip.lock().unwrap();
        chip.boot = lines.split('|').map(str::to_owned).collect();
        chip.dials = (false, false);
    }
}
