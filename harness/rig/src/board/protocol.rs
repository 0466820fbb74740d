//! What the bridge and its parent say to each other: one JSON object a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::port::Trouble;
use super::reset::Circuit;
use crate::flash::{FlashJob, FlashStep};

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
    /// Its number.
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
}

/// What the bridge tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The port is open.
    Opened {
        /// Its name.
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
        /// How that showed.
        why: String,
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
        /// Its number.
        id: u64,
    },
    /// A request was not carried out.
    NotDone {
        /// Its number.
        id: u64,
        /// Why.
        why: String,
    },
    /// The bridge cannot go on, and ends.
    Failed(Trouble),
}
