//! The tools that the console shows while a device boots.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::console;

/// The tools that the console shows while a device boots: a list of its own (device-protocol 6.1).
#[derive(Debug, Default)]
pub(super) struct BootLog {
    /// Each tool by its name: where its line stands, and whether it is for users only.
    pub(super) tools: BTreeMap<String, (u64, bool)>,
    /// The console has shown how the boot began, so that no line before it is missing.
    pub(super) from_start: bool,
    /// It has shown how the boot went on: the list is complete.
    pub(super) complete: bool,
    /// It was complete once.
    pub(super) ever_complete: bool,
    /// A line of it cannot be read, such as one that two tasks wrote at once.
    pub(super) garbled: bool,
}

impl BootLog {
    /// Takes a line of the console.
    pub(super) fn line(&mut self, seq: u64, line: &str) {
        static ADDED: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\bMCP: Add tool: (\S+)( \[user\])?\s*$").expect("a constant pattern")
        });
        // `State: starting -> activating`, before 2.1 `STATE: activating`: all tools are there by then.
        static READY: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r": (State: \w+ -> |STATE: )(activating|idle|connecting|listening)\s*$")
                .expect("a constant pattern")
        });
        if console::is_boot(line) {
            if !(self.from_start && self.tools.is_empty()) {
                self.tools.clear();
                self.from_start = true;
                self.complete = false;
                self.garbled = false;
            }
        } else if let Some(added) = ADDED.captures(line) {
            let name = added[1].to_owned();
            self.tools.insert(name, (seq, added.get(2).is_some()));
        } else if line.contains("Add tool") {
            self.garbled = true;
        } else if self.from_start && !self.tools.is_empty() && READY.is_match(line) {
            self.complete = true;
            self.ever_complete = true;
        }
    }
}
