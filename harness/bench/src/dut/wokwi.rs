//! ESP32 chips in Wokwi's simulator, which runs in its cloud: `wokwi-cli` uploads the image and brings
//! the console, `wokwigw` lets the simulated chip reach this host. As their documentation says; they
//! were never at hand here.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use mcp_hil_boards::Command;
use serde_json::json;

use super::auto::Passed;
use super::emulated::{PROMPT, program};
use super::image::FlashImage;
use mcp_hil_record::error::UserError;

/// The name of this target.
pub(super) const KIND: &str = "wokwi";

/// The programs, and the variables that name others.
const CLI: &str = "wokwi-cli";
const CLI_VARIABLE: &str = "MCP_HIL_WOKWI_CLI";
const GATEWAY: &str = "wokwigw";
const GATEWAY_VARIABLE: &str = "MCP_HIL_WOKWIGW";

/// The variable that holds the token. The child inherits it; it stands in no file, no command line and
/// no log.
pub const TOKEN_VARIABLE: &str = "WOKWI_CLI_TOKEN";

/// The commands that bring the programs.
const INSTALL_CLI: &str = "curl -L https://wokwi.com/ci/install.sh | sh";
const INSTALL_GATEWAY: &str = "go install github.com/wokwi/wokwigw/cmd/wokwigw@latest";

/// What of this host's loopback is seen behind the gateway (`host.wokwi.internal`).
pub(super) const HOST: &str = "10.13.37.254";

/// The boards, by their chips. All have their UART on pins `TX` and `RX`.
const BOARDS: [(&str, &str); 8] = [
    ("esp32", "board-esp32-devkit-c-v4"),
    ("esp32s2", "board-esp32-s2-devkitm-1"),
    ("esp32s3", "board-esp32-s3-devkitc-1"),
    ("esp32c3", "board-esp32-c3-devkitm-1"),
    ("esp32c5", "board-esp32-c5-devkitc-1"),
    ("esp32c6", "board-esp32-c6-devkitc-1"),
    ("esp32c61", "board-esp32-c61-devkitc-1"),
    ("esp32h2", "board-esp32-h2-devkitm-1"),
];

/// Starts the gateway in the background and becomes the simulator: `$1` is the gateway, `$2` its port.
/// Both are in one process group, and end together.
const BOTH: &str = r#""$1" --listenPort "$2" & shift 2; exec "$@""#;

/// Wokwi's programs.
#[derive(Debug, Clone)]
pub struct Wokwi {
    cli: PathBuf,
    gateway: PathBuf,
    board: &'static str,
}

/// Whether it has a chip.
pub(super) fn has_chip(chip: &str) -> bool {
    BOARDS.iter().any(|(known, _)| *known == chip)
}

/// Whether it can be used, or else what is in the way.
pub(super) fn at_hand() -> Result<(), Passed> {
    if program(CLI_VARIABLE, CLI).is_none() {
        return Err(Passed::new(format!("`{CLI}` is not installed"), INSTALL_CLI));
    }
    if program(GATEWAY_VARIABLE, GATEWAY).is_none() {
        let why = format!("`{GATEWAY}` is not installed");
        return Err(Passed::new(why, INSTALL_GATEWAY));
    }
    if !has_token() {
        return Err(Passed::new(
            format!("{TOKEN_VARIABLE} is not set"),
            "export WOKWI_CLI_TOKEN=<token of https://wokwi.com/dashboard/ci>",
        ));
    }
    Ok(())
}

fn has_token() -> bool {
    std::env::var_os(TOKEN_VARIABLE).is_some_and(|token| !token.is_empty())
}

impl Wokwi {
    /// Finds the programs, and a board for the image's chip.
    pub(super) fn find(image: &FlashImage) -> Result<Self, UserError> {
        let Some((_, board)) = BOARDS.iter().find(|(chip, _)| *chip == image.chip) else {
            let chips: Vec<&str> = BOARDS.iter().map(|(chip, _)| *chip).collect();
            return Err(UserError::usage(
                format!(
                    "`--dut {KIND}` with an image for `{}`: expected one of {}",
                    image.chip,
                    chips.join(", ")
                ),
                "no Wokwi board with this chip is known",
            ));
        };
        let missing = |program: &str, install: &str, variable: &str| {
            UserError::bench(
                format!("`{program}` is not installed: expected it on the PATH"),
                &format!("install it with `{install}`; {variable} names a program elsewhere"),
            )
        };
        let cli = program(CLI_VARIABLE, CLI);
        let gateway = program(GATEWAY_VARIABLE, GATEWAY);
        let found = Self {
            cli: cli.ok_or_else(|| missing(CLI, INSTALL_CLI, CLI_VARIABLE))?,
            gateway: gateway.ok_or_else(|| missing(GATEWAY, INSTALL_GATEWAY, GATEWAY_VARIABLE))?,
            board,
        };
        if !has_token() {
            return Err(UserError::bench(
                format!("{TOKEN_VARIABLE} is not set: expected the token of a Wokwi account"),
                "create one at https://wokwi.com/dashboard/ci and export it; it is passed on to \
                 `wokwi-cli` and written nowhere",
            ));
        }
        Ok(found)
    }

    /// The command that simulates a copy of the image, in a project that is left in the folder.
    pub(super) fn boot(
        &self,
        image: &FlashImage,
        config: &str,
        folder: &Path,
        arguments: &[String],
    ) -> io::Result<Command> {
        let project = folder.join(KIND);
        std::fs::create_dir_all(&project)?;
        image.copy_to(&project.join("flash.bin"), &[])?;
        // Nobody can say on which port the gateway is to listen but by taking one and giving it back.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        drop(listener);
        std::fs::write(project.join("wokwi.toml"), project_file(port))?;
        std::fs::write(project.join("diagram.json"), self.diagram())?;
        std::fs::write(project.join("config.test.yaml"), scenario(config))?;
        let command = Command::shell(BOTH)
            .arg(self.gateway.to_string_lossy())
            .arg(port.to_string())
            .arg(self.cli.to_string_lossy());
        Ok(["--timeout", "0", "--scenario", "config.test.yaml"]
            .into_iter()
            .fold(command, Command::arg)
            .args(arguments)
            .arg(project.to_string_lossy()))
    }

    /// The board, with its UART as the console.
    fn diagram(&self) -> String {
        let diagram = json!({
            "version": 1,
            "author": "mcp-hil",
            "editor": "wokwi",
            "parts": [{ "type": self.board, "id": "esp", "attrs": {} }],
            "connections": [
                ["esp:TX", "$serialMonitor:RX", ""],
                ["esp:RX", "$serialMonitor:TX", ""],
            ],
        });
        format!("{diagram:#}\n")
    }
}

fn project_file(port: u16) -> String {
    format!(
        "[wokwi]\nversion = 1\nfirmware = 'flash.bin'\n\n\
         # The loopback of the host is 10.13.37.254 behind this.\n\
         [net]\ngateway = 'ws://localhost:{port}'\n"
    )
}

/// How many boots in one simulation are answered.
const BOOTS: usize = 100;

/// Answers a device that asks for its configuration on the console, after each reset anew, and then
/// does nothing for longer than any run: a simulation ends with its scenario.
fn scenario(config: &str) -> String {
    let answer =
        [json!({ "wait-serial": PROMPT }), json!({ "write-serial": format!("{config}\n") })];
    let mut steps: Vec<_> = answer.iter().cycle().take(2 * BOOTS).cloned().collect();
    steps.push(json!({ "delay": "86400s" }));
    let scenario = json!({ "name": "mcp-hil", "version": 1, "steps": steps });
    // JSON is YAML.
    format!("{scenario:#}\n")
}
