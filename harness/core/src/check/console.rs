//! Checks on the device's console: panic, reset, brown-out, watchdog (device-protocol 6.3), free memory.

use std::sync::LazyLock;

use regex::Regex;

use super::memory::Memory;
use super::sink::{Sink, evidence};

/// What the console has shown.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    attached: bool,
    /// Boot banners that are expected: one for each start by the harness.
    boots_due: u32,
    /// The ROM's reset line of a boot was seen, and the application has not started since.
    reset_seen: bool,
    /// The device said that it reboots on purpose.
    announced: bool,
    crashed: bool,
    memory: Memory,
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a constant pattern"));
    };
}

pattern!(
    PANIC,
    "Guru Meditation Error|abort\\(\\) was called at PC|\\*\\*\\*ERROR\\*\\*\\* A stack overflow\
     |Stack canary watchpoint triggered|ESP_ERROR_CHECK failed|assert failed:|terminate called\
     |^(Load|Store) access fault|Stack protection fault|panic'ed"
);
pattern!(BROWN_OUT, "Brownout detector was triggered");
pattern!(WATCHDOG, "task_wdt: Task watchdog got triggered");
pattern!(RESET, r"\brst:0x[0-9a-fA-F]+ \(");
pattern!(APP_MAIN, r"main_task: Calling app_main\(\)");
pattern!(ON_PURPOSE, "Application: Rebooting\\.\\.\\.");

/// Whether a line tells of a panic.
pub(crate) fn is_panic(line: &str) -> bool {
    PANIC.is_match(line)
}

impl Watch {
    pub(crate) fn begin_case(&mut self) {
        self.crashed = false;
    }

    /// The harness started the target.
    pub(crate) fn restarted(&mut self) {
        self.boots_due = 1;
        self.reset_seen = false;
        self.announced = false;
        self.memory.restarted();
    }

    /// The harness told the device to restart: the next boot is on demand, whether it says so or not.
    pub(crate) fn demanded(&mut self) {
        self.announced = true;
    }

    /// Whether the console has told enough of the device's free memory to judge it.
    pub(crate) fn watches_memory(&self) -> bool {
        self.memory.is_watched()
    }

    /// Judges a line; returns whether it tells of a panic or a reset.
    pub(crate) fn line(&mut self, seq: u64, line: &str, sink: &mut Sink) -> bool {
        self.attached = true;
        self.memory.line(seq, line, sink);
        // Most lines are plain log: one look each for the words that all patterns need.
        if PANIC.is_match(line) {
            self.crashed = true;
            sink.test("liveness.no-panic", false, || {
                evidence("no panic", line, seq)
            });
        }
        if BROWN_OUT.is_match(line) {
            sink.test("liveness.no-brownout", false, || {
                evidence("a stable supply", line, seq)
            });
        }
        if WATCHDOG.is_match(line) {
            sink.test("liveness.no-watchdog", false, || {
                evidence("no starving task", line, seq)
            });
        }
        if ON_PURPOSE.is_match(line) {
            self.announced = true;
        }
        // A boot shows as the ROM's reset line, the start of the application, or both.
        if RESET.is_match(line) {
            if self.boots_due == 0 || self.reset_seen {
                self.unexpected(seq, line, sink);
                self.boots_due = 1;
            }
            self.reset_seen = true;
        }
        if APP_MAIN.is_match(line) {
            if self.boots_due > 0 {
                self.boots_due -= 1;
            } else {
                self.unexpected(seq, line, sink);
            }
            self.reset_seen = false;
        }
        self.crashed
    }

    /// The target's process ended by itself.
    pub(crate) fn exited(&mut self, seq: u64, how: &str, sink: &mut Sink) {
        self.attached = true;
        self.crashed = true;
        sink.test("liveness.no-reset", false, || {
            evidence(
                "the device goes on running",
                format!("its process {how}"),
                seq,
            )
        });
    }

    pub(crate) fn end_case(&mut self, sink: &mut Sink) {
        if self.attached {
            for requirement in [
                "liveness.no-panic",
                "liveness.no-reset",
                "liveness.no-brownout",
                "liveness.no-watchdog",
            ] {
                sink.held(requirement);
            }
        }
        self.memory.end_case(sink);
        sink.held("liveness.no-flood");
    }

    fn unexpected(&mut self, seq: u64, line: &str, sink: &mut Sink) {
        self.memory.restarted();
        let announced = std::mem::take(&mut self.announced);
        self.crashed |= !announced;
        sink.test("liveness.no-reset", announced, || {
            evidence("no reboot but on demand", line, seq)
        });
    }
}
