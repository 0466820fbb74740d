//! A board that this machine is attached to: from its file to a target, and what keeps it from dialing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_hil_boards::board::protocol::{Job, Place};
use mcp_hil_boards::board::trigger::is_banner;
use mcp_hil_boards::flash::FlashJob;
use mcp_hil_boards::flash::worker::SILENCE;
use mcp_hil_boards::reset::Circuit;
use mcp_hil_boards::{BoardSetup, Trigger};
use mcp_hil_core::transport::Transport;
use serde_json::json;

use super::emulated::PROMPT;
use super::{Asked, BoardFile, ConsoleFile, DutFile, PowerFile, TriggerKind};
use crate::flash;
use mcp_hil_args::{FlashArgs, ImageSize, Part, SettingsArgs};
use mcp_hil_record::error::UserError;

/// How long a board may take until it dials: Wi-Fi and activation take most of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a port that went away may take to come back: a chip's own USB port goes with each reset, and
/// systems take seconds to name it again.
const RETURNS: Duration = Duration::from_secs(10);

/// An address as long as those that boards are told.
const SOME_URL: &str = "http://192.168.100.100:8003/xiaozhi/ota/";

/// Serial ports that drivers make, by the beginnings of their names: what is behind them is no program.
const OF_DRIVERS: [&str; 7] = ["ttyUSB", "ttyACM", "ttyAMA", "ttyS", "ttyTHS", "cu.", "tty."];

/// The argument that makes this program the bridge.
const BRIDGE: &str = "bridge";

/// A board, and what is to be on it.
#[derive(Debug, Clone)]
pub struct BoardDut {
    /// What its file says.
    pub file: BoardFile,
    /// The program or the image that it is to run; none where it has one, or gets parts.
    pub firmware: Option<PathBuf>,
}

/// Checks what a board cannot do.
pub(super) fn find(file: &DutFile, asked: &Asked<'_>) -> Result<Box<BoardDut>, UserError> {
    let board = file.board.clone().unwrap_or_default();
    if let Some(difference) = asked.difference {
        let kind = difference.kind();
        return Err(UserError::usage(
            format!(
                "`--{kind}` with a board: only the reference devices on this host have {kind}s"
            ),
            "leave one of them out",
        ));
    }
    let is_blind = board.console == Some(ConsoleFile::None);
    if is_blind && board.trigger.kind != TriggerKind::None {
        return Err(UserError::usage(
            format!(
                "`board.trigger` with `console = \"none\"` in `{}`: expected a console, which \
                 shows when the trigger may be used",
                file.path
            ),
            "pressing the button at the wrong time starts Wi-Fi configuration; use MQTT, which \
             needs no trigger",
        ));
    }
    // What is wrong with it is told before anything starts; the address comes with the run.
    board.flash(asked.firmware, SOME_URL)?;
    Ok(Box::new(BoardDut { firmware: asked.firmware.map(Path::to_owned), file: board }))
}

impl BoardFile {
    /// Whether it may be a program on this host, which dials the loopback as well: its port is named by
    /// a path, and is none that a driver has made.
    pub fn is_on_this_host(&self) -> bool {
        let Some(port) = &self.port else { return false };
        // Links are followed by hand: where they lead need not be there.
        let target = std::fs::canonicalize(port).or_else(|_| std::fs::read_link(port));
        let target = target.as_ref().unwrap_or(port);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        !OF_DRIVERS.iter().any(|start| name.starts_with(start))
    }

    /// What it takes to run it. `env` goes to the commands of the file.
    pub fn setup(
        &self,
        bridge: PathBuf,
        folder: &Path,
        ota_url: &str,
        env: Vec<(String, String)>,
        flash: Option<FlashJob>,
    ) -> BoardSetup {
        BoardSetup {
            bridge,
            arguments: vec![BRIDGE.to_owned()],
            job: Job {
                place: self.place(),
                circuit: match self.console {
                    Some(ConsoleFile::UsbSerialJtag) => Some(Circuit::UsbSerialJtag),
                    Some(ConsoleFile::Uart) => Some(Circuit::Uart),
                    Some(ConsoleFile::None) | None => None,
                },
                command: "mcp-hil run".to_owned(),
                folder: Some(folder.to_owned()),
                prompt: Some(PROMPT.to_owned()),
                flash,
                input: format!("config {}\n", json!({ "ota_url": ota_url })),
                return_ms: RETURNS.as_millis() as u64,
            },
            trigger: match self.trigger.kind {
                TriggerKind::None => Trigger::None,
                TriggerKind::Button => Trigger::Button(self.trigger.pulse()),
                TriggerKind::Prompt => Trigger::Prompt,
                TriggerKind::Command => {
                    Trigger::Command(self.trigger.command.clone().unwrap_or_default())
                }
            },
            wait_for: self.wait_for().to_owned(),
            power: self.power.as_ref().map(|power| power.cycle.clone()),
            switch: self.power.as_ref().and_then(PowerFile::switch),
            env,
        }
    }

    /// What is to be flashed for a harness at this address; nothing where the file names nothing.
    pub fn flash(
        &self,
        firmware: Option<&Path>,
        ota_url: &str,
    ) -> Result<Option<FlashJob>, UserError> {
        if firmware.is_none() && self.parts.is_empty() {
            return match self.wifi {
                None => Ok(None),
                Some(_) => Err(UserError::usage(
                    "`[board.wifi]` without `firmware` and `[[board.parts]]`: expected an image \
                     with a partition table, which says where settings are",
                    "give the firmware that is on the board (it is flashed only where it differs), \
                     or leave the section out if the board already has its network settings",
                )),
            };
        }
        let wifi = self.wifi.as_ref();
        let part = |part: &super::PartFile| Part { offset: part.offset, file: part.file.clone() };
        let args = FlashArgs {
            port: None,
            probe: None,
            firmware: firmware.map(Path::to_owned),
            parts: self.parts.iter().map(part).collect(),
            chip: self.chip,
            size: self.flash_size.map(ImageSize::from),
            baud: self.flash_baud.unwrap_or(FlashJob::BAUD),
            nvs: None,
            silence: SILENCE.as_secs(),
            // Without a network to write, those that the board knows are left alone.
            settings: wifi.map_or_else(SettingsArgs::default, |wifi| SettingsArgs {
                wifi: Some(wifi.ssid.clone()),
                wifi_password_env: wifi.password_env.clone(),
                ota_url: Some(ota_url.to_owned()),
                ..SettingsArgs::default()
            }),
        };
        flash::job(&args).map(Some)
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        match &self.port {
            Some(path) => Place::Port(path.clone()),
            None => Place::Usb {
                serial: self.serial.clone(),
                mac: self.mac.map(|mac| mac.to_string()),
                location: self.location.clone(),
            },
        }
    }

    /// What keeps it from dialing, as far as its console tells.
    pub(super) fn how_to_connect(&self, transport: Transport, lines: &[&str]) -> &'static str {
        let told = |texts: &[&str]| {
            let holds = |line: &&str| texts.iter().any(|text| line.contains(text));
            lines.iter().any(holds)
        };
        if lines.is_empty() {
            return "its port is silent: is the board powered, is its firmware flashed, and is its \
                    console on this port (`console` in its file) at 115200 baud?";
        }
        if told(&["waiting for download"]) {
            return "the chip is in download mode: GPIO0 was low at the reset; release the button, \
                    or remove what pulls the pin low";
        }
        if told(&["Brownout detector"]) {
            return "its supply voltage drops: use a shorter cable, a port with more power, or a \
                    powered hub";
        }
        if !told(&["sta ip", "Got IP", "got ip"]) && told(WIFI) {
            return "its Wi-Fi never came up: check the network's name and password in the section \
                    `[board.wifi]`, that it is a 2.4 GHz network, and that it is in range";
        }
        if told(&["Failed to check version", "Check new version failed"]) {
            return "it is on the network but does not get its configuration: can it reach the \
                    address that the run listens on (see the run's first lines; set another with \
                    `listen` in its file), and does a firewall block it?";
        }
        let pulled = self.trigger.kind != TriggerKind::None && transport == Transport::WebSocket;
        // A board with a button at DTR is reset by RTS before anything is waited for.
        let by_lines = pulled && self.trigger.kind == TriggerKind::Button;
        if by_lines && !lines.iter().any(|line| is_banner(line)) {
            return "its console shows no boot, so it was not reset: are the lines DTR and RTS of \
                    this port connected to the pins EN and GPIO0 of its chip? If not, its file \
                    needs commands: `cycle` in `[board.power]`, and `[board.trigger]` with `kind = \
                    \"command\"`";
        }
        if pulled && !told(&[self.wait_for()]) {
            return "it was not triggered, because its console never showed what `wait_for` in its \
                    file says";
        }
        if pulled {
            return "it was triggered but did not connect: is it the right button (`trigger` in its \
                    file), and does a firewall block the harness?";
        }
        match transport {
            Transport::WebSocket => {
                "the console shows how far it got; stock firmware connects over WebSocket only \
                 when triggered: set `trigger` in its file, or use `--transport mqtt`"
            }
            Transport::Mqtt => {
                "the console shows how far it got; can it reach the address of the harness, and \
                 does a firewall block it?"
            }
        }
    }
}

/// What firmware says when it looks for a network, or has given up and opened its own.
const WIFI: &[&str] = &[" wifi:", "Wifi", "WiFi", "Xiaozhi-"];

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> BoardFile {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_keeps_a_board_from_dialing_is_read_off_its_console() {
        let button = file("port = \"/dev/pts/1\"\ntrigger = { kind = \"button\" }");
        let plain = file("port = \"/dev/pts/1\"");
        let boot = "rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)";
        let wifi = "I (612) wifi:mode : sta (f4:12:fa:00:11:22)";
        let ip = "I (2100) esp_netif_handlers: sta ip: 192.168.1.20, mask: 255.255.255.0";
        let refused = "E (3100) Ota: Failed to check version, status code: 0";
        let idle = "I (3300) StateMachine: State: activating -> idle";
        for (board, lines, says) in [
            (&plain, &[][..], "its port is silent"),
            (&plain, &["waiting for download"], "GPIO0 was low"),
            (&plain, &[boot, "Brownout detector was triggered"], "supply"),
            (&plain, &[boot, wifi], "Wi-Fi never came up"),
            (&plain, &[boot, wifi, ip, refused], "does not get its configuration"),
            (&plain, &[boot, wifi, ip, idle], "only when triggered"),
            (&button, &[wifi, ip, idle], "are the lines DTR and RTS"),
            (&button, &[boot, wifi, ip], "`wait_for`"),
            (&button, &[boot, wifi, ip, idle], "right button"),
        ] {
            let told = board.how_to_connect(Transport::WebSocket, lines);
            assert!(told.contains(says), "{lines:?}: {told}");
        }
    }

    #[test]
    fn a_port_of_a_usb_device_is_a_board_by_whatever_name_and_another_may_be_a_program() {
        let place = std::env::temp_dir().join(format!("mcp-hil-port-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let link = |name: &str, to: &str| {
            let path = place.join(name);
            std::os::unix::fs::symlink(to, &path).unwrap();
            file(&format!("port = \"{}\"", path.display()))
        };
        assert!(!link("F412FA001122", "/dev/ttyACM0").is_on_this_host());
        assert!(!link("by-place", "../ttyUSB3").is_on_this_host());
        assert!(link("pty", "/dev/pts/7").is_on_this_host());
        assert!(file("port = \"/dev/pts/1\"").is_on_this_host());
        assert!(!file("port = \"/dev/ttyS0\"").is_on_this_host());
        assert!(!file("serial = \"F412FA001122\"").is_on_this_host());
        std::fs::remove_dir_all(place).unwrap();
    }
}
