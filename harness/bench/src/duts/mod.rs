//! `mcp-hil duts`: the boards that are attached, what they are, whose file means them, and who uses them.
//!
//! Nothing is opened unless chips are to be asked: opening a serial port can reset the board behind it.

mod ask;
mod show;
mod write;

use std::path::PathBuf;

use mcp_hil_boards::board::lock::{Use, usage};
use mcp_hil_boards::board::{Attached, UsbBoard, attached};

use crate::dut::Files;
use mcp_hil_args::{DutsArgs, Format};
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;

pub use ask::{Asked, ask_chip, chips};
pub use write::describe;

/// What is known of an attached board.
#[derive(Debug, Clone)]
pub struct Known {
    /// What USB tells.
    pub board: UsbBoard,
    /// What its chip told, if it was asked.
    pub chip: Option<Asked>,
    /// The files that mean it, with the names of the devices in them.
    pub files: Vec<(PathBuf, String)>,
    /// Whether it is in use.
    pub usage: Use,
}

/// Lists the boards: the text to print, and the exit code.
///
/// # Errors
///
/// The board that is asked for is not there or not the only one, or its file cannot be written.
pub fn duts(args: &DutsArgs) -> Result<(String, u8), UserError> {
    let mut found = attached();
    let files = Files::read(&args.folder);
    if let Some(asked) = &args.board {
        found.boards = named(&found, asked)?;
    }
    if found.boards.is_empty() && (args.probe_chips || args.write.is_some()) {
        let (what, hint) = show::nothing(&found);
        return Err(UserError::bench(what, &hint));
    }
    let known = know(&found.boards, args.probe_chips, &files);
    if let Some(path) = &args.write {
        let text = write::write(path, &known)?;
        return Ok((text, exit::CONFORMING));
    }
    let text = match args.format {
        Format::Human => show::text(&known, &found, &files, args),
        Format::Json => show::json(&known, &found, &files)?,
    };
    Ok((text, exit::CONFORMING))
}

fn know(boards: &[UsbBoard], probe: bool, files: &Files) -> Vec<Known> {
    let usage: Vec<Use> = boards.iter().map(|board| usage(&board.identity())).collect();
    let free: Vec<UsbBoard> = boards
        .iter()
        .zip(&usage)
        .filter(|(_, usage)| probe && **usage == Use::Free)
        .map(|(board, _)| board.clone())
        .collect();
    let mut chips = ask::chips(&free).into_iter();
    let mut known = Vec::new();
    for (board, usage) in boards.iter().zip(usage) {
        let chip = (probe && usage == Use::Free).then(|| chips.next()).flatten();
        let mut told = board.clone();
        if let Some(Asked::Chip(attached)) = &chip {
            let mac = attached.mac.as_deref();
            told.mac = told.mac.or_else(|| mac?.parse().ok());
        }
        let files = files.of(&told);
        known.push(Known {
            files: files.map(|file| (PathBuf::from(&file.path), file.name.clone())).collect(),
            board: told,
            chip,
            usage,
        });
    }
    known
}

/// The boards of a serial number, a place or a port.
fn named(found: &Attached, asked: &str) -> Result<Vec<UsbBoard>, UserError> {
    let is_asked = |board: &&UsbBoard| {
        let serial = board.serial.as_deref().unwrap_or_default();
        serial.eq_ignore_ascii_case(asked)
            || board.location.as_deref() == Some(asked)
            || board.port.as_os_str() == asked
            || board.mac.is_some_and(|mac| asked.parse() == Ok(mac))
    };
    let boards: Vec<UsbBoard> = found.boards.iter().filter(is_asked).cloned().collect();
    if boards.is_empty() && !found.boards.is_empty() {
        let all: Vec<String> = found.boards.iter().map(ToString::to_string).collect();
        return Err(UserError::bench(
            format!("no board `{asked}` is attached: there is {}", all.join(", ")),
            "identify it by its serial number, its location or its port",
        ));
    }
    Ok(boards)
}
