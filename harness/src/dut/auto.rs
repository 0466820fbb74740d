//! `--dut auto`: of the devices that can be had here and now, the one closest to a chip.
//!
//! Nothing is installed for it, and nothing built for the first time: what is passed over is told with
//! the command that would bring it, and the next one is tried.

use std::fs;
use std::path::Path;

use clap::ValueEnum;

use super::{Asked, Dut, emulated, qemu};
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
        return match serial_devices(Path::new(SYSFS)).first() {
            None => Ok(None),
            Some(name) => Err(Failed::Passed(Passed {
                why: format!(
                    "`/dev/{name}` may be a board, and boards are not run by this program yet; \
                     `--dut wait` tests one that is flashed already"
                ),
                command: None,
            })),
        };
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

/// Where Linux tells of terminals; elsewhere boards are not looked for.
const SYSFS: &str = "/sys/class/tty";

/// USB vendors of ESP32 boards and of the serial converters on them: Espressif, Silicon Labs, QinHeng
/// (CH34x), FTDI, Prolific.
const VENDORS: [&str; 5] = ["303a", "10c4", "1a86", "0403", "067b"];

/// How far above its terminal a USB device stands in sysfs, at most.
const LEVELS: usize = 4;

/// The serial terminals that USB devices of these vendors have.
fn serial_devices(sysfs: &Path) -> Vec<String> {
    let is_likely = |terminal: &Path| {
        let device = fs::canonicalize(terminal.join("device")).unwrap_or_default();
        let mut vendors = device
            .ancestors()
            .take(LEVELS)
            .filter_map(|folder| fs::read_to_string(folder.join("idVendor")).ok());
        vendors.any(|vendor| VENDORS.contains(&vendor.trim()))
    };
    let mut names: Vec<String> = fs::read_dir(sysfs)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_likely(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
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

    #[test]
    fn boards_are_told_from_other_terminals_by_the_vendor_of_their_usb_device() {
        let place = std::env::temp_dir().join(format!("mcp-hil-sysfs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        for (name, path, vendor) in [
            ("ttyACM0", "usb1/1-2/1-2:1.0", "303a"),
            ("ttyUSB0", "usb1/1-3/1-3:1.0/ttyUSB0", "10c4"),
            ("ttyACM1", "usb1/1-4/1-4:1.0", "046d"),
            ("ttyS0", "serial/00:01", "303a"),
        ] {
            let device = place.join("devices").join(path);
            fs::create_dir_all(&device).unwrap();
            if path.starts_with("usb") {
                let usb: std::path::PathBuf = path.split('/').take(2).collect();
                let file = place.join("devices").join(usb).join("idVendor");
                fs::write(file, format!("{vendor}\n")).unwrap();
            }
            let terminal = place.join("tty").join(name);
            fs::create_dir_all(&terminal).unwrap();
            std::os::unix::fs::symlink(&device, terminal.join("device")).unwrap();
        }
        // What is no device at all has no link.
        fs::create_dir_all(place.join("tty/console")).unwrap();
        assert_eq!(serial_devices(&place.join("tty")), ["ttyACM0", "ttyUSB0"]);
        assert!(serial_devices(&place.join("nothing")).is_empty());
        fs::remove_dir_all(&place).unwrap();
    }
}
