//! The console of a device that a test talks to.

use std::fmt;
use std::time::Duration;

use regex::{Captures, Regex};

use super::handle::Device;
use super::undone::{self, ended};
use mcp_hil_runner::run::{Order, Undone};

/// The console of a device: its log on the serial port, or what its process prints.
#[derive(Debug)]
pub struct Console<'a> {
    device: &'a mut Device,
}

/// A line of a console that was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    line: String,
    groups: Vec<Option<String>>,
    names: Vec<Option<String>>,
}

/// A line did not come. Says what was on the console last.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}\n\nhint: {hint}", undone::shown(console))]
pub struct NotSeen {
    /// What was expected and what came.
    pub what: String,
    /// What was on the console last.
    pub console: Vec<String>,
    hint: String,
}

impl fmt::Debug for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Device {
    /// Its console: what it has printed, and what it prints next.
    pub fn console(&mut self) -> Console<'_> {
        Console::new(self)
    }
}

impl<'a> Console<'a> {
    pub(super) fn new(device: &'a mut Device) -> Self {
        Self { device }
    }

    /// Waits until a line matches a regular expression (syntax of the crate `regex`), for so long at most.
    ///
    /// Each line is looked at once, from the first line of the boot on, also those that came before this was
    /// called. Lines from before a reset or a power cycle by the test are passed over. Colours and control
    /// characters are taken out of lines, and secrets of the run are, too.
    ///
    /// # Errors
    ///
    /// No line matches in time, the device has ended, or the pattern is no regular expression.
    pub fn wait_for(&mut self, pattern: &str, patience: Duration) -> Result<Matched, NotSeen> {
        let pattern = Regex::new(pattern).map_err(|error| NotSeen {
            what: format!("cannot search the console: {error}"),
            console: Vec::new(),
            hint: "use `regex::escape` for literal text".to_owned(),
        })?;
        let looked = pattern.clone();
        let line = self
            .device
            .order(|done| Order::Await(looked, patience, done))
            .unwrap_or_else(|| Err(ended()));
        match line {
            Ok(line) => Ok(Matched::of(&pattern, line)),
            Err(Undone { what, hint, console }) => Err(NotSeen { what, console, hint }),
        }
    }

    /// As [`Console::wait_for`].
    ///
    /// # Panics
    ///
    /// Where that is an error.
    #[track_caller]
    pub fn expect(&mut self, pattern: &str, patience: Duration) -> Matched {
        match self.wait_for(pattern, patience) {
            Ok(matched) => matched,
            Err(error) => panic!("{error}"),
        }
    }

    /// All lines until now, the latest 20,000 of them.
    pub fn lines(&mut self) -> Vec<String> {
        self.device.order(Order::Tell).unwrap_or_default()
    }
}

impl Matched {
    fn of(pattern: &Regex, line: String) -> Self {
        let captures = pattern.captures(&line);
        let owned = |captures: Captures<'_>| -> Vec<Option<String>> {
            let groups = captures.iter();
            groups.map(|group| group.map(|group| group.as_str().to_owned())).collect()
        };
        let groups = captures.map(owned).unwrap_or_default();
        let names = pattern.capture_names();
        Self { groups, names: names.map(|name| name.map(str::to_owned)).collect(), line }
    }

    /// The whole line.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// A group of the pattern by its number; 0 is all that matched.
    ///
    /// # Panics
    ///
    /// The pattern has no such group, or it took no part in the match.
    #[track_caller]
    pub fn group(&self, number: usize) -> &str {
        match self.groups.get(number) {
            Some(Some(text)) => text,
            _ => panic!("the match has no group {number}\n\n  line {}", self.line),
        }
    }

    /// A group by its name, `(?<name>...)`.
    ///
    /// # Panics
    ///
    /// The pattern has no such group, or it took no part in the match.
    #[track_caller]
    pub fn named(&self, name: &str) -> &str {
        let mut names = self.names.iter();
        let number = names.position(|known| known.as_deref() == Some(name));
        match number.and_then(|number| self.groups.get(number)) {
            Some(Some(text)) => text,
            _ => panic!("the match has no group `{name}`\n\n  line {}", self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_got_by_number_and_name() {
        let pattern = Regex::new(r"sta ip: (?<ip>[0-9.]+), mask: (\S+?),( gw)?").unwrap();
        let line = "I (2100) sta ip: 192.168.1.20, mask: 255.255.255.0, x";
        let matched = Matched::of(&pattern, line.to_owned());
        assert_eq!(matched.line(), line);
        assert_eq!(matched.named("ip"), "192.168.1.20");
        assert_eq!(matched.group(2), "255.255.255.0");
        assert!(matched.group(0).starts_with("sta ip"));
        assert!(std::panic::catch_unwind(|| matched.group(3).to_owned()).is_err());
        assert!(std::panic::catch_unwind(|| matched.named("gw").to_owned()).is_err());
    }
}
