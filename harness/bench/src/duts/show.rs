//! How boards are shown.

use mcp_hil_boards::board::lock::Use;
use mcp_hil_boards::board::{Attached, KNOWN, UsbBoard};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Asked, Files, Known};
use crate::dut::DutFile;
use mcp_hil_args::DutsArgs;
use mcp_hil_record::error::UserError;
use mcp_hil_record::text::layout::{count, wrap};

/// Columns of a page, and of the parts of a line.
const WIDTH: usize = 80;
const PORT: usize = 15;
const USB: usize = 11;
const AT: usize = 10;
const LABEL: usize = 10;

/// The boards for people.
pub(super) fn text(known: &[Known], found: &Attached, files: &Files, args: &DutsArgs) -> String {
    if known.is_empty() {
        let (what, hint) = nothing(found);
        return broken(files) + &format!("{}\n\n{}\n", wrapped(&what), wrapped(&hint));
    }
    let mut text = format!("{:PORT$}{:USB$}{:AT$}{}\n", "PORT", "USB", "LOCATION", "SERIAL NUMBER");
    for board in known {
        text.push_str(&table_row(&board.board));
        for (label, value) in details(board) {
            let mut label = label;
            for part in wrap(&value, WIDTH - LABEL) {
                text.push_str(&format!("  {label:width$}{part}\n", width = LABEL - 2));
                label = "";
            }
        }
    }
    text.push('\n');
    text.push_str(&broken(files));
    text.push_str(&portless(found));
    text.push_str(&format!("{}.", count(known.len(), "board")));
    let without: Vec<&Known> = known.iter().filter(|k| k.files.is_empty()).collect();
    if let Some(first) = without.first() {
        let which = match (known.len(), &first.board.location) {
            (1, _) | (_, None) => String::new(),
            (_, Some(location)) => format!(" --board {location}"),
        };
        text.push_str(&format!(
            " No file describes {}; this creates one:\n  mcp-hil duts{which} --write {}",
            match (without.len(), known.len()) {
                (1, 1) => "it".to_owned(),
                (number, _) => number.to_string(),
            },
            args.folder.join("NAME.toml").display()
        ));
    }
    if !args.probe_chips {
        text.push_str(
            "\nChips, sizes of flash memory and MAC addresses; this resets the boards:\n  \
             mcp-hil duts --probe-chips",
        );
    }
    text.push('\n');
    text
}

fn table_row(board: &UsbBoard) -> String {
    let columns = [
        (PORT, board.port.display().to_string()),
        (USB, board.usb.to_string()),
        (AT, board.location.clone().unwrap_or_else(|| "-".into())),
        (0, board.serial.clone().unwrap_or_else(|| "-".into())),
    ];
    let mut line = String::new();
    for (width, value) in columns {
        // One that is too long for its column keeps a space before the next.
        let room = width.max(value.chars().count() + 1);
        line.push_str(&format!("{value:room$}"));
    }
    line.trim_end().to_owned() + "\n"
}

fn details(known: &Known) -> Vec<(&'static str, String)> {
    let board = &known.board;
    let mut details = vec![("is", board.name().to_owned())];
    if board.serial.is_some() && board.own_serial().is_none() {
        let text = "many boards report this serial number: use `location` to distinguish them";
        details.push(("note", text.to_owned()));
    }
    if !board.port.exists() {
        details.push((
            "note",
            "the kernel has this port, but it is missing here: pass it to the container".to_owned(),
        ));
    }
    match &known.chip {
        Some(Asked::Chip(chip)) => {
            let revision = chip.revision.map(|(major, minor)| format!(" revision {major}.{minor}"));
            let mac = chip.mac.as_ref().map(|mac| format!(", MAC {mac}"));
            details.push((
                "chip",
                format!(
                    "{}{}, {} of flash{}",
                    chip.chip,
                    revision.unwrap_or_default(),
                    flash_size(chip.flash_size),
                    mac.unwrap_or_default()
                ),
            ));
        }
        Some(Asked::Failed(why)) => {
            details.push(("chip", format!("unknown: {}", why.replace("\n\n", "; "))));
        }
        None => {
            if let Some(mac) = board.mac {
                details.push(("chip", format!("MAC {mac}")));
            }
        }
    }
    for (path, name) in &known.files {
        details.push(("file", format!("{} ({name})", path.display())));
    }
    match &known.usage {
        Use::Free => {}
        Use::Held(None) => details.push(("in use", "by another process".to_owned())),
        Use::Held(Some(holder)) => details.push(("in use", format!("by {holder}"))),
    }
    details
}

/// That there is nothing, what was looked for, and what it may be.
pub(super) fn nothing(found: &Attached) -> (String, String) {
    let ids: Vec<String> =
        KNOWN.iter().map(|known| format!("{} ({})", known.id, known.name)).collect();
    let mut what = match found.told {
        true => {
            format!("no board is attached: looked for serial ports on USB of {}", ids.join(", "))
        }
        false => "cannot look for boards: this system lists no serial ports (no `/sys/class/tty`)"
            .to_owned(),
    };
    for (id, location) in &found.portless {
        what.push_str(&format!("; {id} at {location} is a board without a serial port"));
    }
    for other in &found.others {
        what.push_str(&format!("; {other} does not belong to a board"));
    }
    let hint = match (found.told, found.portless.is_empty()) {
        (false, _) => "in a container, mount the host's /sys and pass it the device: `--device \
                       /dev/ttyUSB0`"
            .to_owned(),
        (true, false) => {
            "its driver is missing (cp210x, ch341, ftdi_sio, cdc_acm), or `brltty` has taken the \
                          port: remove that package and reconnect the board"
                .to_owned()
        }
        (true, true) => {
            "some cables carry no data: try another one, and check whether `dmesg` shows a new USB \
                         device; in a container, pass it the device (`--device /dev/ttyUSB0`); \
                         `mcp-hil doctor` checks permissions"
                .to_owned()
        }
    };
    (what, hint)
}

fn portless(found: &Attached) -> String {
    let mut text = String::new();
    for (id, location) in &found.portless {
        let line = format!(
            "{id} at {location} has no serial port: its driver is missing, or `brltty` has taken it."
        );
        text.push_str(&(wrapped(&line) + "\n"));
    }
    text
}

fn broken(files: &Files) -> String {
    let mut text = String::new();
    for refusal in &files.broken {
        text.push_str(&format!("{}\n\n", refusal));
    }
    text
}

fn wrapped(text: &str) -> String {
    wrap(text, WIDTH).join("\n")
}

/// Bytes as people say them of flash memory: `4MB`.
pub(super) fn flash_size(bytes: u32) -> String {
    match bytes / 1024 {
        kib if kib % 1024 == 0 => format!("{}MB", kib / 1024),
        kib => format!("{kib}KB"),
    }
}

/// The boards as one line of JSON.
pub(super) fn json(known: &[Known], found: &Attached, files: &Files) -> Result<String, UserError> {
    #[derive(Serialize)]
    struct Told {
        boards: Vec<Value>,
        others: Vec<Value>,
        without_port: Vec<Value>,
        declared: Vec<Value>,
        broken_files: Vec<String>,
    }
    let told = Told {
        boards: known.iter().map(board_json).collect(),
        others: found.others.iter().map(usb_json).collect(),
        without_port: found
            .portless
            .iter()
            .map(|(id, location)| json!({"usb": id.to_string(), "location": location}))
            .collect(),
        declared: files.boards.iter().map(|file| declared_json(file, known)).collect(),
        broken_files: files.broken.iter().map(ToString::to_string).collect(),
    };
    let text = serde_json::to_string(&told).map_err(|error| {
        UserError::bench(format!("cannot write this as JSON: {error}"), "leave out `--format json`")
    })?;
    Ok(text + "\n")
}

/// A file of a board, as a matrix of CI jobs takes it.
fn declared_json(file: &DutFile, known: &[Known]) -> Value {
    let means = |known: &&Known| known.files.iter().any(|(path, _)| *path == *file.path);
    let own = file.board.as_ref().and_then(|board| board.runner.as_ref());
    json!({
        "file": file.path,
        "name": file.name,
        "runner": ["self-hosted", own.unwrap_or(&file.name)],
        "port": known.iter().find(means).map(|known| known.board.port.to_string_lossy()),
    })
}

fn usb_json(board: &UsbBoard) -> Value {
    json!({
        "port": board.port.to_string_lossy(),
        "usb": board.usb.to_string(),
        "product": board.product,
        "manufacturer": board.manufacturer,
        "serial": board.serial,
        "location": board.location,
    })
}

fn board_json(known: &Known) -> Value {
    let mut value = usb_json(&known.board);
    value["identity"] = json!(known.board.identity());
    value["serial_is_its_own"] = json!(known.board.own_serial().is_some());
    value["mac"] = json!(known.board.mac.map(|mac| mac.to_string()));
    value["chip"] = match &known.chip {
        Some(Asked::Chip(chip)) => json!({
            "name": chip.chip,
            "revision": chip.revision.map(|(major, minor)| format!("{major}.{minor}")),
            "flash_bytes": chip.flash_size,
            "mac": chip.mac,
        }),
        Some(Asked::Failed(why)) => json!({"error": why}),
        None => Value::Null,
    };
    value["files"] = known
        .files
        .iter()
        .map(|(path, name)| json!({"path": path.to_string_lossy(), "name": name}))
        .collect();
    value["in_use"] = match &known.usage {
        Use::Free => Value::Null,
        Use::Held(None) => json!({}),
        Use::Held(Some(holder)) => json!({
            "pid": holder.pid,
            "user": holder.user,
            "command": holder.command,
            "folder": holder.folder.as_ref().map(|folder| folder.to_string_lossy()),
            "since": holder.since,
        }),
    };
    value
}
