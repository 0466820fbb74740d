//! What the bridge and its parent say to each other: one JSON object a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::port::Trouble;
use crate::flash::{FlashJob, FlashStep};
use crate::reset::Circuit;

/// The sources that decide what a bridge does, and how it is spoken to.
const SOURCES: &[&[u8]] = &[
    include_bytes!("bridge.rs"),
    include_bytes!("ladder.rs"),
    include_bytes!("lock.rs"),
    include_bytes!("port.rs"),
    include_bytes!("protocol.rs"),
    include_bytes!("../reset.rs"),
    include_bytes!("select.rs"),
    include_bytes!("../signals.rs"),
    include_bytes!("../flash/job.rs"),
    include_bytes!("../flash/worker.rs"),
    include_bytes!("../flash/write.rs"),
];

/// What tells one edition of the bridge from another, where both have the same version number: both ends have
/// to be of one edition.
pub fn edition() -> String {
    // FNV-1a: no secret is kept by it.
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = SOURCES.iter().flat_map(|source| source.iter());
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}

/// What the bridge is for; the first line that it reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Where the board is.
    pub place: Place,
    /// What its lines reach; none where its USB device tells.
    #[serde(default)]
    pub circuit: Option<Circuit>,
    /// What runs, for others who want the board.
    pub command: String,
    /// Where that leaves its results.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// What stands in the console line that asks for `input`.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What is written to the console then, with its end of line.
    #[serde(default)]
    pub input: String,
    /// What is to be flashed before anything else.
    #[serde(default)]
    pub flash: Option<FlashJob>,
    /// How long a port that went away may take to come back, in milliseconds.
    pub return_ms: u64,
}

/// How a board is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// By the path of its port.
    Port(PathBuf),
    /// By what its USB device tells. All that is given has to hold.
    Usb {
        /// Its serial number.
        serial: Option<String>,
        /// The address of its chip.
        mac: Option<String>,
        /// Where it is plugged in.
        location: Option<String>,
    },
}

/// What the parent wants; each is answered by [`Event::Done`] or [`Event::NotDone`] with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Number of the request, unique on this bridge.
    pub id: u64,
    /// What is to be done.
    #[serde(flatten)]
    pub act: Act,
}

/// Something that is done to a board through its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Act {
    /// The chip is reset.
    Reset,
    /// The button at GPIO0 is pressed.
    Press {
        /// For so long.
        ms: u64,
    },
    /// Nothing; but its power is about to be taken away, or was given back. Without power the port may stay
    /// away for as long as it likes.
    Power {
        /// Whether it is there.
        on: bool,
    },
}

/// What the bridge tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The port is open.
    Opened {
        /// The name of the port, such as `/dev/ttyUSB0`.
        port: String,
        /// Whether it has the lines DTR and RTS.
        signals: bool,
    },
    /// Flashing goes on.
    Flashing {
        /// How far it is.
        step: FlashStep,
    },
    /// What was to be flashed is there.
    Flashed {
        /// What was written, and what of it was there before, in words.
        what: String,
        /// Whether the board was reset after it, and boots.
        boots: bool,
    },
    /// A line of the console, cleaned.
    Line {
        /// The line.
        text: String,
    },
    /// The port went away.
    Lost {
        /// How the loss was noticed, in words.
        why: String,
        /// Whether a reset of the chip alone looks the same.
        by_reset: bool,
    },
    /// The port is back.
    Back {
        /// Its name now.
        port: String,
        /// How long it was away, in milliseconds.
        after_ms: u64,
    },
    /// A request was carried out.
    Done {
        /// The number of the request.
        id: u64,
    },
    /// A request was not carried out.
    NotDone {
        /// The number of the request.
        id: u64,
        /// Why it was not carried out, in words.
        why: String,
    },
    /// The bridge cannot go on, and ends.
    Failed(Trouble),
}
