//! `--dut auto`: of the devices that can be had here and now, the one closest to a chip.
//!
//! Nothing is installed for it, and nothing built for the first time: what is passed over is told with
//! the command that would bring it, and the next one is tried.

use std::path::Path;

use clap::ValueEnum;

use mcp_hil_rig::board::attached;

use super::{Asked, Dut, board, emulated, qemu};
use crate::cli::DUTS;
use crate::exit;
use crate::plan::Refusal;

/// What `--dut` says to let this choose.
pub const AUTO: &str = "auto";

/// A kind of device that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A board on USB
    Board,
    /// A chip in Espressif's QEMU
    QemuEsp,
    /// The reference device on QEMU's RISC-V board
    Qemu,
    /// A chip in Wokwi's simulator
    Wokwi,
    /// A chip in Espressif's esp-emulator; only where it is preferred
    EspEmu,
    /// The reference device as a process on this host
    Native,
}

/// The variable that sets another order.
const VARIABLE: &str = "MCP_HIL_PREFER";

/// The order in which they are tried unless told otherwise.
const ORDER: [Kind; 5] = [
    Kind::Board,
    Kind::QemuEsp,
    Kind::Qemu,
    Kind::Wokwi,
    Kind::Native,
];

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
        Self {
            why: why.into(),
            command: Some(command.to_owned()),
        }
    }
}

impl Kind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::QemuEsp => "qemu-esp",
            Self::Qemu => "qemu",
            Self::Wokwi => "wokwi",
            Self::EspEmu => "esp-emu",
            Self::Native => "native",
        }
    }

    /// Whether it can be had without building or installing anything, as far as that shows from
    /// outside.
    fn at_hand(self, asked: &Asked<'_>) -> Result<(), Failed> {
        match self {
            Self::QemuEsp | Self::Wokwi | Self::EspEmu => emulated::at_hand(self.name(), asked),
            Self::Qemu | Self::Native if asked.firmware.is_some() => Err(Failed::Passed(Passed {
                why: "it boots no image that `--firmware` names".to_owned(),
                command: None,
            })),
            Self::Qemu => qemu::at_hand().map_err(Failed::Passed),
            Self::Board | Self::Native => Ok(()),
        }
    }
}

/// Chooses the first of `prefer`, or of the usual order, that can be had. `say` is told what was
/// passed over, a line each.
///
/// # Errors
///
/// None can be had, or what is asked of the device is wrong for any of them.
pub fn choose(
    prefer: &[Kind],
    asked: &Asked<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Dut, Refusal> {
    let order = match prefer {
        [] => from_environment(&std::env::var(VARIABLE).unwrap_or_default())?,
        prefer => prefer.to_vec(),
    };
    for kind in &order {
        let passed = match attempt(*kind, asked) {
            Ok(Some(dut)) => return Ok(dut),
            Ok(None) => continue,
            Err(Failed::Passed(passed)) => passed,
            Err(Failed::Refused(refusal)) => return Err(refusal),
        };
        let how = match &passed.command {
            Some(command) => format!("; `{command}` brings it"),
            None => String::new(),
        };
        say(&format!(
            "auto: passed over {}: {}{how}",
            kind.name(),
            passed.why
        ));
    }
    let names: Vec<&str> = order.iter().map(|kind| kind.name()).collect();
    Err(Refusal::bench(
        format!("`--dut auto` finds no device: tried {}", names.join(", ")),
        "clear what is told above, let `--prefer` name others, or name the device with `--dut`",
    ))
}

/// The first kind that [`choose`] would take, without making sure of it: nothing is built or started.
/// Boards are no matter of a kind: each has a file.
///
/// # Errors
///
/// As there.
pub fn first_at_hand(
    prefer: &[Kind],
    firmware: Option<&Path>,
    say: &mut dyn FnMut(&str),
) -> Result<Kind, Refusal> {
    let asked = Asked {
        firmware,
        ..Asked::default()
    };
    let order = match prefer {
        [] => from_environment(&std::env::var(VARIABLE).unwrap_or_default())?,
        prefer => prefer.to_vec(),
    };
    let mut names = Vec::new();
    for kind in order {
        names.push(kind.name());
        if kind == Kind::Board {
            continue;
        }
        match kind.at_hand(&asked) {
            Ok(()) => return Ok(kind),
            Err(Failed::Passed(passed)) => {
                say(&format!("passed over {}: {}", kind.name(), passed.why));
            }
            Err(Failed::Refused(refusal)) => return Err(refusal),
        }
    }
    Err(Refusal::bench(
        format!(
            "nothing to test: finds no device, tried {}",
            names.join(", ")
        ),
        "attach a board that has a file in `ci/duts`, or name a device in MCP_HIL_DUT",
    ))
}

/// The order that the environment sets, else the usual one. A variable without a value is none: CI
/// systems set such.
fn from_environment(value: &str) -> Result<Vec<Kind>, Refusal> {
    let words: Vec<&str> = value.split(',').map(str::trim).collect();
    if words.iter().all(|word| word.is_empty()) {
        return Ok(ORDER.to_vec());
    }
    let read = |word: &&str| {
        Kind::from_str(word, false).map_err(|_| {
            let kinds = Kind::value_variants().iter().map(|kind| kind.name());
            let kinds: Vec<&str> = kinds.collect();
            Refusal::usage(
                format!(
                    "`{VARIABLE}`: expected some of {}, got `{word}`",
                    kinds.join(", ")
                ),
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
    Refused(Refusal),
}

/// The device of a kind; `None` when there is nothing to say about its absence.
fn attempt(kind: Kind, asked: &Asked<'_>) -> Result<Option<Dut>, Failed> {
    if kind == Kind::Board {
        return board::attached_with_file(Path::new(DUTS), &attached().boards, asked);
    }
    kind.at_hand(asked)?;
    match Dut::find(kind.name(), asked) {
        Ok(dut) => Ok(Some(dut)),
        Err(refusal) if refusal.exit == exit::BENCH => {
            let what = refusal.text.split("\n\nhint: ").next().unwrap_or_default();
            Err(Failed::Passed(Passed {
                why: what.to_owned(),
                command: None,
            }))
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
        assert!(refusal.text.contains("got `quemu`"), "{}", refusal.text);
        for kind in Kind::value_variants() {
            assert_eq!(from_environment(kind.name()).unwrap(), [*kind]);
        }
    }
}
