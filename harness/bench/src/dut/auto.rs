//! `--dut auto`: of the devices that can be had here and now, the one closest to a chip.
//!
//! Nothing is installed for it, and nothing built for the first time: what is passed over is told with
//! the command that would bring it, and the next one is tried. A board that has a file is not passed over
//! for being absent: that is trouble of the bench (`declared`).

use std::path::Path;

use clap::ValueEnum;

use mcp_hil_boards::board::attached;

use super::declared::{self, Choice};
use super::files::Files;
use super::{Asked, Dut, emulated, qemu};
use mcp_hil_args::{DUTS, Kind};
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;

/// The variable that sets another order.
const VARIABLE: &str = "MCP_HIL_PREFER";

/// The order in which they are tried unless told otherwise.
const ORDER: [Kind; 5] = [Kind::Board, Kind::QemuEsp, Kind::Qemu, Kind::Wokwi, Kind::Native];

/// Why a kind is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    /// What is in the way.
    pub(super) why: String,
    /// The command that clears it, where there is one.
    pub(super) command: Option<String>,
}

impl Passed {
    pub(super) fn new(why: impl Into<String>, command: &str) -> Self {
        Self { why: why.into(), command: Some(command.to_owned()) }
    }
}

/// Whether it can be had without building or installing anything, as far as that shows from
/// outside.
fn at_hand(kind: Kind, asked: &Asked<'_>) -> Result<(), Failed> {
    match kind {
        Kind::QemuEsp | Kind::Wokwi | Kind::EspEmu => emulated::at_hand(kind.name(), asked),
        Kind::Qemu | Kind::Native if asked.firmware.is_some() => Err(Failed::Passed(Passed {
            why: "it cannot boot the image of `--firmware`".to_owned(),
            command: None,
        })),
        Kind::Qemu => qemu::at_hand().map_err(Failed::Passed),
        Kind::Board | Kind::Native => Ok(()),
    }
}

/// Chooses the first of what is preferred, or of the usual order, that can be had. `say` is told what was
/// passed over, a line each. Where boards have files and none of them is attached, it is the first of
/// these, which the run then misses, or what may stand in for it.
///
/// # Errors
///
/// None can be had, or what is asked of the device is wrong for any of them.
pub fn choose(
    choice: &Choice<'_>,
    asked: &Asked<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Dut, UserError> {
    let order = order(choice.prefer)?;
    let files = Files::read(Path::new(DUTS));
    if !order.contains(&Kind::Board) {
        let why = |_: &_| "boards are not among the kinds to try".to_owned();
        declared::passed_over(&files, None, &why, say);
    }
    for kind in &order {
        let tried = match kind {
            Kind::Board => boards(&files, choice, asked, say),
            kind => attempt(*kind, asked),
        };
        match tried {
            Ok(dut) => return Ok(dut),
            Err(Failed::Passed(passed)) => {
                say(&format!("auto: skipped {}: {}", kind.name(), told(&passed)))
            }
            Err(Failed::Refused(refusal)) => return Err(refusal),
        }
    }
    let names: Vec<&str> = order.iter().map(|kind| kind.name()).collect();
    Err(UserError::bench(
        format!("`--dut auto` found no device: tried {}", names.join(", ")),
        "resolve what is reported above, name others with `--prefer`, or name the device with `--dut`",
    ))
}

/// The first board that has a file and is attached.
fn boards(
    files: &Files,
    choice: &Choice<'_>,
    asked: &Asked<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Dut, Failed> {
    let passed = |why: String, command: Option<&str>| {
        let command = command.map(str::to_owned);
        Err(Failed::Passed(Passed { why, command }))
    };
    if let Some(difference) = asked.difference {
        return passed(format!("no board has {}s", difference.kind()), None);
    }
    let Some(first) = files.boards.first() else {
        // What is wrong with a file must not end in the verdict on another device.
        if let Some(refusal) = files.broken.first() {
            return Err(Failed::Refused(refusal.clone()));
        }
        return match attached().boards.first() {
            None => passed(format!("none is attached, and no file in `{DUTS}` declares one"), None),
            Some(board) => passed(
                format!("no file in `{DUTS}` describes the board at `{}`", board.port.display()),
                Some("mcp-hil duts --write ci/duts/NAME.toml"),
            ),
        };
    };
    match declared::all_absent(files.boards.iter()) {
        Err((here, absent)) => {
            let why = |file: &super::DutFile| {
                let its = absent.iter().find(|absent| absent.path() == file.path);
                its.map_or_else(
                    || "another attached board comes first".to_owned(),
                    |absent| format!("it is not attached: {}", absent.why()),
                )
            };
            declared::passed_over(files, Some(Path::new(&here.path)), &why, say);
            Dut::find(&here.path, asked).map_err(Failed::Refused)
        }
        Ok(absent) => {
            let board = Dut::find(&first.path, asked).map_err(Failed::Refused)?;
            declared::without(&absent, board, choice, asked, say).map_err(Failed::Refused)
        }
    }
}

/// Why a kind was passed over, and what would bring it.
pub(super) fn told(passed: &Passed) -> String {
    let how = match &passed.command {
        Some(command) => format!("; to get it: `{command}`"),
        None => String::new(),
    };
    format!("{}{how}", passed.why)
}

/// The kinds to try: those that are preferred, else those of the environment, else the usual ones.
pub(super) fn order(prefer: &[Kind]) -> Result<Vec<Kind>, UserError> {
    match prefer {
        [] => from_environment(&std::env::var(VARIABLE).unwrap_or_default()),
        prefer => Ok(prefer.to_vec()),
    }
}

/// The first kind that [`choose`] would take, without making sure of it: nothing is built or started.
/// Boards are no matter of a kind: each has a file.
///
/// # Errors
///
/// An unknown kind in MCP_HIL_PREFER, an image that cannot be used, or no kind that is available.
pub fn first_at_hand(
    prefer: &[Kind],
    firmware: Option<&Path>,
    say: &mut dyn FnMut(&str),
) -> Result<Kind, UserError> {
    let asked = Asked { firmware, ..Asked::default() };
    let mut names = Vec::new();
    for kind in order(prefer)? {
        names.push(kind.name());
        if kind == Kind::Board {
            say(&format!("skipped board: no file in `{DUTS}` declares one"));
            continue;
        }
        match at_hand(kind, &asked) {
            Ok(()) => return Ok(kind),
            Err(Failed::Passed(passed)) => {
                say(&format!("passed over {}: {}", kind.name(), passed.why));
            }
            Err(Failed::Refused(refusal)) => return Err(refusal),
        }
    }
    Err(UserError::bench(
        format!("nothing to test: found no device, tried {}", names.join(", ")),
        "attach a board that has a file in `ci/duts`, or name a device in MCP_HIL_DUT",
    ))
}

/// The order that the environment sets, else the usual one. A variable without a value is none: CI
/// systems set such.
fn from_environment(value: &str) -> Result<Vec<Kind>, UserError> {
    let words: Vec<&str> = value.split(',').map(str::trim).collect();
    if words.iter().all(|word| word.is_empty()) {
        return Ok(ORDER.to_vec());
    }
    let read = |word: &&str| {
        Kind::from_str(word, false).map_err(|_| {
            let kinds = Kind::value_variants().iter().map(|kind| kind.name());
            let kinds: Vec<&str> = kinds.collect();
            UserError::usage(
                format!("`{VARIABLE}`: expected one or more of {}, got `{word}`", kinds.join(", ")),
                "for example `MCP_HIL_PREFER=qemu,native`",
            )
        })
    };
    words.iter().map(read).collect()
}

/// Why an attempt gave no device.
#[derive(Debug)]
pub(super) enum Failed {
    /// Another kind may do.
    Passed(Passed),
    /// No other kind would.
    Refused(UserError),
}

/// The device of a kind that is no board.
pub(super) fn attempt(kind: Kind, asked: &Asked<'_>) -> Result<Dut, Failed> {
    at_hand(kind, asked)?;
    match Dut::find(kind.name(), asked) {
        Ok(dut) => Ok(dut),
        Err(refusal) if refusal.exit == exit::BENCH => {
            Err(Failed::Passed(Passed { why: refusal.what, command: None }))
        }
        Err(refusal) => Err(Failed::Refused(refusal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_from_the_environment() {
        assert_eq!(from_environment("").unwrap(), ORDER);
        let order = from_environment("native, qemu-esp").unwrap();
        assert_eq!(order, [Kind::Native, Kind::QemuEsp]);
        let refusal = from_environment("native,quemu").unwrap_err();
        assert!(refusal.what.contains("got `quemu`"), "{refusal}");
        for kind in Kind::value_variants() {
            assert_eq!(from_environment(kind.name()).unwrap(), [*kind]);
        }
    }
}
