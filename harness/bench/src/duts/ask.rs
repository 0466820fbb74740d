//! Asking chips what they are, each in a process of its own: a wedged board hangs that one.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use mcp_hil_boards::board::{BoardLock, Holder, UsbBoard, attached, port};
use mcp_hil_boards::flash::{self, Attached, Resets, worker};
use serde::{Deserialize, Serialize};

use mcp_hil_args::AskChipArgs;
use mcp_hil_record::error::{UserError, whole};
use mcp_hil_record::exit;

/// The command of the process that asks.
const COMMAND: &str = "ask-chip";

/// How long a chip may take: connecting is tried seven times, 2 s each.
const PATIENCE: Duration = Duration::from_secs(40);

/// Names another patience, in seconds.
const PATIENCE_VARIABLE: &str = "MCP_HIL_CHIP_PATIENCE";

/// The result of asking a board for its chip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// It is this.
    Chip(Attached),
    /// It could not be asked, and why.
    Failed(String),
}

/// Asks the chips of all these boards, at the same time.
pub fn chips(boards: &[UsbBoard]) -> Vec<Asked> {
    std::thread::scope(|scope| {
        let all: Vec<_> = boards.iter().map(|board| scope.spawn(|| chip(&board.port))).collect();
        let died = || Asked::Failed("the process that asked it failed".to_owned());
        all.into_iter().map(|asked| asked.join().unwrap_or_else(|_| died())).collect()
    })
}

fn chip(port: &Path) -> Asked {
    match in_child(port) {
        Ok(text) => serde_json::from_str(&text).unwrap_or_else(|_| {
            Asked::Failed(format!(
                "the process that asked it said `{}`",
                text.chars().take(200).collect::<String>()
            ))
        }),
        Err(failed) => Asked::Failed(failed),
    }
}

fn in_child(port: &Path) -> Result<String, String> {
    let patience = std::env::var(PATIENCE_VARIABLE).ok();
    let patience =
        patience.and_then(|text| text.parse().ok()).map_or(PATIENCE, Duration::from_secs);
    let failed = |error: std::io::Error| format!("cannot start a process for it: {error}");
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .arg(COMMAND)
        .arg(port)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    // Its end tells the child that nobody wants to know any more.
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let (say, heard) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.map(|mut stdout| stdout.read_to_string(&mut text));
        let _ = say.send(match read {
            Some(Ok(_)) => text,
            _ => String::new(),
        });
    });
    let said = heard.recv_timeout(patience);
    if said.is_err() {
        let _ = child.kill();
    }
    drop(stdin);
    let _ = child.wait();
    said.map_err(|_| {
        format!(
            "the board did not answer within {} s, and the process that asked it was ended",
            patience.as_secs()
        )
    })
}

/// The process that asks: tells on standard output what the chip at a port is.
///
/// # Errors
///
/// Nobody listens. Trouble with the board is told, and no error.
pub fn ask_chip(args: &AskChipArgs) -> Result<u8, UserError> {
    std::thread::spawn(|| {
        // Ends with the parent: nobody else would end a process that hangs in a port.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(exit::INTERRUPTED.into());
    });
    let asked = ask(&args.port).map_or_else(Asked::Failed, Asked::Chip);
    let told = serde_json::to_string(&asked).map(|text| {
        let mut stdout = std::io::stdout();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    match told {
        Ok(Ok(())) => Ok(exit::CONFORMING),
        _ => Err(UserError::bench(
            "cannot tell what the chip is",
            "this command is for `mcp-hil duts --probe-chips`",
        )),
    }
}

fn ask(path: &Path) -> Result<Attached, String> {
    let found = attached().boards.into_iter();
    let board = found.into_iter().find(|board| board.port == path);
    let board =
        board.ok_or_else(|| format!("there is no board at `{}` any more", path.display()))?;
    let holder = Holder::this_process("mcp-hil duts --probe-chips", None);
    let lock = BoardLock::take(&board.identity(), &holder).map_err(|error| whole(&error))?;
    let opened = port::open(path).map_err(|trouble| whole(&trouble))?;
    let resets = match worker::is_pseudo_terminal(path) {
        true => Resets::None,
        false => Resets::Lines,
    };
    let asked = flash::identify(opened, board.port_info(), resets);
    let told = match asked {
        Ok((_, attached)) => Ok(attached),
        Err(mut error) => {
            worker::leave_bootloader(&mut error, &board.port_info());
            Err(whole(&error))
        }
    };
    drop(lock);
    told
}
