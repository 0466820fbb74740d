//! Making the file of a board.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use mcp_hil_boards::board::UsbBoard;
use mcp_hil_boards::flash::Chip;

use super::show::flash_size;
use super::{Asked, Known};
use crate::dut::DutFile;
use mcp_hil_args::Described;
use mcp_hil_record::error::UserError;

/// Makes the file of the only board in `known`; tells what to do with it.
pub(super) fn write(path: &Path, known: &[Known]) -> Result<String, UserError> {
    let [board] = known else {
        let all: Vec<String> = known.iter().map(|known| known.board.to_string()).collect();
        return Err(UserError::usage(
            format!("`--write` for {} boards: expected one, got {}", known.len(), all.join(", ")),
            "choose one with `--board`, by its serial number, its location or its port",
        ));
    };
    if path.extension().is_none_or(|end| end != "toml") {
        return Err(UserError::usage(
            format!("`--write {}`: expected a file `*.toml`", path.display()),
            "for example `--write ci/duts/desk.toml`",
        ));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = describe_at(path, &name, &board.board, board.chip.as_ref());
    // What cannot be read again is not written.
    DutFile::load(&path.display().to_string(), &text)?;
    let trouble = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => UserError::usage(
            format!("`{}` already exists", path.display()),
            "it may have been edited by hand: remove it, or choose another name",
        ),
        _ => UserError::bench(
            format!("cannot write `{}`: {error}", path.display()),
            "choose a folder in which you have write permission",
        ),
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(trouble)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(trouble)?;
    file.write_all(text.as_bytes()).map_err(trouble)?;
    let shown = path.display();
    Ok(format!(
        "{shown} describes the board {}\n\nadd its firmware there, then: mcp-hil run --dut {shown}\n",
        board.board
    ))
}

/// The file at `path` of a board of which only is known what USB tells; its name is `name`.
pub fn describe(path: &Path, name: &str, board: &UsbBoard) -> String {
    describe_at(path, name, board, None)
}

fn describe_at(path: &Path, name: &str, board: &UsbBoard, chip: Option<&Asked>) -> String {
    format!("{}\n{}", Described::Device.first_line(path), text(name, board, chip))
}

fn text(name: &str, board: &UsbBoard, chip: Option<&Asked>) -> String {
    let mut text = format!(
        "# {}, USB {}\nname = {}\ntarget = \"board\"\n# What it is flashed with: a program (ELF), \
         or an image of its whole flash memory. Without it\n# the board is tested as it is.\n# \
         firmware = \"build/merged-binary.bin\"\n# Over WebSocket a stock device connects only \
         when triggered: see [board.trigger].\ntransports = [\"mqtt\"]\n\n[board]\n",
        board.name().replace(char::is_control, "?"),
        board.usb,
        quoted(name)
    );
    let mut member = |name: &str, value: &str| {
        text.push_str(&format!("{name} = {}\n", quoted(value)));
    };
    if let Some(serial) = board.own_serial() {
        member("serial", serial);
    }
    // The place is all that such a board has of its own.
    if let (None, Some(location)) = (board.own_serial(), &board.location) {
        member("location", location);
    }
    if let Some(mac) = board.mac {
        member("mac", &mac.to_string());
    }
    if let Some(Asked::Chip(chip)) = chip {
        if chip.chip.parse::<Chip>().is_ok() {
            member("chip", &chip.chip);
        }
        let size = flash_size(chip.flash_size);
        if ["2MB", "4MB", "8MB", "16MB"].contains(&size.as_str()) {
            member("flash_size", &size);
        }
    }
    text.push_str(
        "\n# [board.wifi]\n# ssid = \"bench\"\n# password_env = \"BENCH_WIFI_PASSWORD\"\n\
         \n# [board.trigger]\n# kind = \"button\"\n\
         \n# [board.power]\n# cycle = \"uhubctl -l 1-2 -p 3 -a cycle\"\n",
    );
    text
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
