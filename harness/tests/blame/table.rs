//! The table of faults: a row for each fault, and a trial for each moment, transport and device of a row.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a fault is a fault of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Bench,
    Device,
    File,
    Harness,
}

/// Who is told as the culprit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Blamed {
    /// Nobody: the run conforms in spite of the fault.
    Nobody,
    /// The bench: errors, and no failure.
    Bench,
    /// The device: failures, and no error.
    Device,
    /// Nobody yet: something was not shown, and the run does not conform.
    Unclear,
    /// A failure of the device that was there before the bench failed, too.
    Both,
    /// A file or an argument: nothing has started.
    File,
    /// This program: its process has ended without a verdict, and with no report.
    Harness,
    /// Whoever has stopped it.
    User,
}

/// When a fault is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Moment {
    /// Before the run starts.
    Before,
    /// While the device is got to know.
    BringUp,
    /// In a case that is written down.
    Case,
    /// When the settings are read before generated inputs.
    Generated,
    /// Among these inputs.
    Inputs,
    /// When the last case is over, and the device's settings are put back.
    Close,
}

/// What the device runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum On {
    /// The reference device, started by its name.
    Native,
    /// A program that the run starts.
    Exec,
    /// The same under a shell that stays.
    Shell,
    /// A board at a pseudo terminal.
    Board,
    /// What stands in for Espressif's QEMU.
    Emulator,
    /// A device that somebody else has started.
    Wait,
    /// The same behind an ordinary broker.
    Broker,
}

/// A row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// What happens, for people.
    pub(crate) what: String,
    /// What is done at the moment, an order each.
    #[serde(default)]
    pub(crate) inject: Vec<String>,
    pub(crate) on: Vec<On>,
    pub(crate) over: Vec<String>,
    pub(crate) at: Vec<Moment>,
    /// Whether it takes a minute or more: then no slice of the table has it.
    #[serde(default)]
    pub(crate) is_slow: bool,
    /// More arguments of the run.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Files that are there when it starts.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The exit code; none where a signal ends it.
    pub(crate) exit: Option<i32>,
    pub(crate) blames: Blamed,
    /// What the reports, or the talk where there are none, must show.
    #[serde(default)]
    pub(crate) evidence: Vec<String>,
}

#[derive(Deserialize)]
struct Table {
    fault: Vec<Fault>,
}

/// A fault at one moment, over one transport, on one device.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) fault: Fault,
    pub(crate) on: On,
    pub(crate) over: String,
    pub(crate) at: Moment,
}

impl Trial {
    /// Its name, which no other trial has.
    pub(crate) fn name(&self) -> String {
        let word = |value: String| value.to_lowercase();
        let (on, at) = (word(format!("{:?}", self.on)), word(format!("{:?}", self.at)));
        format!("{} {on}/{} {at}", self.fault.id, self.over)
    }
}

/// All trials, in the order of the table.
pub(crate) fn trials() -> Vec<Trial> {
    let table: Table = toml::from_str(include_str!("faults.toml")).expect("the table of faults");
    let mut all = Vec::new();
    for fault in table.fault {
        for on in &fault.on {
            for over in &fault.over {
                for at in &fault.at {
                    let (fault, over) = (fault.clone(), over.clone());
                    all.push(Trial { fault, on: *on, over, at: *at });
                }
            }
        }
    }
    all
}
