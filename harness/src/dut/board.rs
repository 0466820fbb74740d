//! A board that this machine is attached to: from its file to a target, and what keeps it from dialing.

use std::path::PathBuf;
use std::time::Duration;

use mcp_hil_core::transcript::Transport;
use mcp_hil_rig::board::protocol::{Job, Place};
use mcp_hil_rig::board::reset::Circuit;
use mcp_hil_rig::{BoardSetup, Trigger};
use serde_json::json;

use super::emulated::PROMPT;
use super::{Asked, BoardFile, ConsoleFile, DutFile, TriggerKind};
use crate::plan::Refusal;

/// How long a board may take until it dials: Wi-Fi and activation take most of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a port that went away may take to come back: a chip's own USB port goes with each reset, and
/// systems take seconds to name it again.
const RETURNS: Duration = Duration::from_secs(10);

/// The argument that makes this program the bridge.
const BRIDGE: &str = "bridge";

/// Checks what a board cannot do.
pub(super) fn find(file: &DutFile, asked: &Asked<'_>) -> Result<Box<BoardFile>, Refusal> {
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
    Ok(Box::new(board))
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
        ota_url: &str,
        env: Vec<(String, String)>,
    ) -> BoardSetup {
        BoardSetup {
            bridge,
            arguments: vec![BRIDGE.to_owned()],
            job: Job {
                place: self.place(),
                circuit: match self.console {
                    Some(ConsoleFile::UsbSerialJtag) => Circuit::UsbSerialJtag,
                    _ => Circuit::Uart,
                },
                prompt: Some(PROMPT.to_owned()),
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

    fn place(&self) -> Place {
        Place::Port(self.port.clone().unwrap_or_default())
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
