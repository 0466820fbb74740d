//! Lines of a console that a program of its own may look at.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mcp_hil_boards::board::trigger::is_banner;
use regex::Regex;

/// Most lines that are kept: the latest ones.
const KEPT: usize = 20_000;

/// How long the first line of a boot is waited for: what a board has said before is still on its way when it
/// is reset.
const BOOTS: Duration = Duration::from_secs(2);

/// Lines that an error shows.
const SHOWN: usize = 8;

/// The latest lines of a console, without secrets, and how far they were looked at.
#[derive(Debug, Default)]
pub(super) struct ConsoleLog {
    lines: VecDeque<String>,
    /// How many of them were looked at.
    looked: usize,
    /// Until when lines are held to be of the life before, unless a boot begins.
    held: Option<Instant>,
}

impl ConsoleLog {
    /// Adds a line.
    pub(super) fn push(&mut self, line: String) {
        if self.lines.len() == KEPT {
            self.lines.pop_front();
            self.looked = self.looked.saturating_sub(1);
        }
        self.lines.push_back(line);
    }

    /// The first line that matches, of those after the last one that did.
    pub(super) fn find(&mut self, pattern: &Regex) -> Option<String> {
        if let Some(until) = self.held {
            let mut ahead = self.lines.iter().skip(self.looked);
            match ahead.position(|line| is_banner(line)) {
                Some(boot) => self.looked += boot,
                None if Instant::now() < until => return None,
                // It boots without one.
                None => {}
            }
            self.held = None;
        }
        let mut ahead = self.lines.iter().skip(self.looked);
        let at = ahead.position(|line| pattern.is_match(line))?;
        self.looked += at + 1;
        self.lines.get(self.looked - 1).cloned()
    }

    /// Until when nothing is found, whatever comes.
    pub(super) fn held(&self) -> Option<Instant> {
        self.held
    }

    /// Passes over all that was said until now.
    pub(super) fn pass_over(&mut self) {
        self.looked = self.lines.len();
        self.held = None;
    }

    /// Passes over all that was said until now, and what of it is still on its way.
    pub(super) fn pass_over_to_boot(&mut self) {
        self.pass_over();
        self.held = Some(Instant::now() + BOOTS);
    }

    /// All lines that are kept.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// The last few lines.
    pub(super) fn tail(&self) -> Vec<String> {
        let skipped = self.lines.len().saturating_sub(SHOWN);
        self.lines.iter().skip(skipped).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> ConsoleLog {
        let mut log = ConsoleLog::default();
        lines.iter().for_each(|line| log.push((*line).to_owned()));
        log
    }

    #[test]
    fn each_line_is_found_once_and_in_order() {
        let mut log = log(&["boot 1", "up", "boot 2"]);
        let boot = Regex::new("boot").unwrap();
        assert_eq!(log.find(&boot).as_deref(), Some("boot 1"));
        assert_eq!(log.find(&boot).as_deref(), Some("boot 2"));
        assert_eq!(log.find(&boot), None);
        // What a search passed over is not found any more.
        assert_eq!(log.find(&Regex::new("up").unwrap()), None);
        log.push("boot 3".into());
        log.pass_over();
        assert_eq!(log.find(&boot), None);
        assert_eq!(log.lines().len(), 4);
    }

    #[test]
    fn after_a_reset_nothing_is_found_that_was_still_on_its_way() {
        let mut log = log(&["State: activating -> idle"]);
        let idle = Regex::new(r"(\w+) -> idle").unwrap();
        log.pass_over_to_boot();
        log.push("State: listening -> idle".into());
        assert_eq!(log.find(&idle), None);
        log.push("rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)".into());
        assert_eq!(log.find(&idle), None);
        log.push("State: activating -> idle".into());
        assert!(log.find(&idle).unwrap().contains("activating"));
        // One that boots in silence is not waited for in vain.
        log.pass_over_to_boot();
        log.held = Some(Instant::now());
        log.push("State: starting -> idle".into());
        assert!(log.find(&idle).unwrap().contains("starting"));
    }

    #[test]
    fn the_oldest_lines_go_and_nothing_is_looked_at_twice() {
        let mut log = log(&["first"]);
        assert!(log.find(&Regex::new("first").unwrap()).is_some());
        (0..KEPT).for_each(|n| log.push(n.to_string()));
        assert_eq!(log.lines().len(), KEPT);
        assert_eq!(log.find(&Regex::new("^0$").unwrap()).as_deref(), Some("0"));
        assert_eq!(log.tail().len(), SHOWN);
        assert_eq!(log.tail().last().map(String::as_str), Some(&*(KEPT - 1).to_string()));
    }
}
