//! A board that this machine is attached to: from its file to a target, and what keeps it from dialing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_hil_core::transcript::Transport;
use mcp_hil_rig::board::UsbBoard;
use mcp_hil_rig::board::protocol::{Job, Place};
use mcp_hil_rig::board::reset::Circuit;
use mcp_hil_rig::flash::FlashJob;
use mcp_hil_rig::flash::worker::SILENCE;
use mcp_hil_rig::{BoardSetup, Trigger};
use serde_json::json;

use super::auto::{Failed, Passed};
use super::emulated::PROMPT;
use super::{Asked, BoardFile, ConsoleFile, Dut, DutFile, TriggerKind};
use crate::cli::{FlashArgs, ImageSize, Part, SettingsArgs};
use crate::duts::Files;
use crate::flash;
use crate::plan::Refusal;

/// How long a board may take until it dials: Wi-Fi and activation take most of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a port that went away may take to come back: a chip's own USB port goes with each reset, and
/// systems take seconds to name it again.
const RETURNS: Duration = Duration::from_secs(10);

/// An address as long as those that boards are told.
const SOME_URL: &str = "http://192.168.100.100:8003/xiaozhi/ota/";

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
pub(super) fn find(file: &DutFile, asked: &Asked<'_>) -> Result<Box<BoardDut>, Refusal> {
    let board = file.board.clone().unwrap_or_default();
    if let Some(difference) = asked.difference {
        let kind = difference.kind();
        return Err(Refusal::usage(
            format!(
                "`--{kind}` with a board: only the reference devices of this host have {kind}s"
            ),
            "leave one of them out",
        ));
    }
    let is_blind = board.console == Some(ConsoleFile::None);
    if is_blind && board.trigger.kind != TriggerKind::None {
        return Err(Refusal::usage(
            format!(
                "`board.trigger` with `console = \"none\"` in `{}`: expected a console, which tells when \
                 the board may be made to dial",
                file.path
            ),
            "a click at the wrong moment leads into Wi-Fi configuration; let it dial over MQTT, which \
             needs no trigger",
        ));
    }
    // What is wrong with it is told before anything starts; the address comes with the run.
    board.flash(asked.firmware, SOME_URL)?;
    Ok(Box::new(BoardDut {
        firmware: asked.firmware.map(Path::to_owned),
        file: board,
    }))
}

impl BoardFile {
    /// Whether it is at a port of this host that is named by a path: it may be a program here, too.
    pub(crate) fn is_at_path(&self) -> bool {
        self.port.is_some()
    }

    /// What the rig needs to run it. `env` goes to the commands of the file.
    pub(super) fn setup(
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
            env,
        }
    }

    /// What is to be flashed for a harness at this address; nothing where the file names nothing.
    pub(super) fn flash(
        &self,
        firmware: Option<&Path>,
        ota_url: &str,
    ) -> Result<Option<FlashJob>, Refusal> {
        if firmware.is_none() && self.parts.is_empty() {
            return match self.wifi {
                None => Ok(None),
                Some(_) => Err(Refusal::usage(
                    "`[board.wifi]` without `firmware` and `[[board.parts]]`: expected an image, whose \
                     partition table says where settings are",
                    "name what is on the board, which is flashed only where it differs; or leave the \
                     section out, if the board knows its network",
                )),
            };
        }
        let wifi = self.wifi.as_ref();
        let part = |part: &super::PartFile| Part {
            offset: part.offset,
            file: part.file.clone(),
        };
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

    fn place(&self) -> Place {
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
            return "its port is silent: is the board powered, is its firmware flashed, and does its \
                    console come out of this port (`console` in its file) at 115200 baud?";
        }
        if told(&["waiting for download"]) {
            return "the chip waits for its flash to be written: GPIO0 was low at the reset; let the \
                    button go, or take off what pulls it down";
        }
        if told(&["Brownout detector"]) {
            return "its supply breaks down: use a shorter cable, a port with more power, or a hub with \
                    a supply of its own";
        }
        if !told(&["sta ip", "Got IP", "got ip"]) && told(WIFI) {
            return "its Wi-Fi never came up: check the network's name and password in the section \
                    `[board.wifi]`, that it is a 2.4 GHz network, and that it is in reach";
        }
        if told(&["Failed to check version", "Check new version failed"]) {
            return "it is on the network and does not get its configuration: does `--listen` name an \
                    address that it reaches, and does no firewall stand before it?";
        }
        let pulled = self.trigger.kind != TriggerKind::None && transport == Transport::WebSocket;
        if pulled && !told(&[self.wait_for()]) {
            return "it was not made to dial, because its console never showed what `wait_for` in its \
                    file says";
        }
        if pulled {
            return "it was made to dial and did not: is it the right button (`trigger` in its file), and \
                    does no firewall stand before the harness?";
        }
        match transport {
            Transport::WebSocket => {
                "the console tells how far it came; stock firmware dials over WebSocket only when it is \
                 made to: set `trigger` in its file, or use `--transport mqtt`"
            }
            Transport::Mqtt => {
                "the console tells how far it came; is the address of the harness one that it reaches, \
                 and does no firewall stand before it?"
            }
        }
    }
}

/// What firmware says when it looks for a network, or has given up and opened its own.
const WIFI: &[&str] = &[" wifi:", "Wifi", "WiFi", "Xiaozhi-"];

/// Of the boards that are attached the first that has a file in `folder`; `None` where none is attached.
pub(super) fn attached_with_file(
    folder: &Path,
    boards: &[UsbBoard],
    asked: &Asked<'_>,
) -> Result<Option<Dut>, Failed> {
    let Some(first) = boards.first() else {
        return Ok(None);
    };
    let passed = |why: String, command: Option<&str>| {
        let command = command.map(str::to_owned);
        Err(Failed::Passed(Passed { why, command }))
    };
    if let Some(difference) = asked.difference {
        return passed(format!("no board has {}s", difference.kind()), None);
    }
    // What is wrong with a file is told where it is named: it is none of this choice.
    let files = Files::read(folder);
    let mut named = boards.iter().filter(|board| board.known().is_some());
    if let Some(file) = named.find_map(|board| files.of(board).find(|file| !is_at_path(file))) {
        let found = Dut::find(&file.path, asked);
        return found.map(Some).map_err(Failed::Refused);
    }
    let why = format!(
        "no file in `{}` names the board at `{}`",
        folder.display(),
        first.port.display()
    );
    passed(why, Some("mcp-hil duts --write ci/duts/NAME.toml"))
}

fn is_at_path(file: &DutFile) -> bool {
    file.board.as_ref().is_some_and(BoardFile::is_at_path)
}

/// Refuses addresses that no board can dial.
pub(crate) fn check_reachable(
    file: &BoardFile,
    listen: std::net::SocketAddr,
) -> Result<(), Refusal> {
    if file.is_at_path() || !listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Refusal::usage(
        format!(
            "a board cannot dial `{}`: expected an address of this host in the board's network",
            listen.ip()
        ),
        "`--listen 0.0.0.0:8765` takes the address that leads out of this host, and lets others in this \
         network in; `ip -brief address` shows all, and `--listen <address>:8765` takes one",
    ))
}

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
            (
                &plain,
                &[boot, wifi, ip, refused],
                "does not get its configuration",
            ),
            (&plain, &[boot, wifi, ip, idle], "only when it is made to"),
            (&button, &[boot, wifi, ip], "`wait_for`"),
            (&button, &[boot, wifi, ip, idle], "right button"),
        ] {
            let told = board.how_to_connect(Transport::WebSocket, lines);
            assert!(told.contains(says), "{lines:?}: {told}");
        }
    }

    #[test]
    fn a_board_on_usb_is_not_pointed_at_the_loopback() {
        let loopback = "127.0.0.1:8765".parse().unwrap();
        let usb = file("serial = \"F412FA001122\"");
        let refusal = check_reachable(&usb, loopback).unwrap_err();
        assert!(
            refusal.text.contains("`--listen 0.0.0.0:8765`"),
            "{refusal}"
        );
        assert!(check_reachable(&usb, "192.168.1.5:8765".parse().unwrap()).is_ok());
        assert!(check_reachable(&file("port = \"/dev/pts/1\""), loopback).is_ok());
    }
}
