//! Checks on the device's console: panic, reset, brown-out, watchdog (device-protocol 6.3), free memory.

mod reset;

use std::sync::LazyLock;

use regex::Regex;

use super::memory::Memory;
use super::sink::{Sink, evidence};
use crate::verdict::{Evidence, Judgement, Outcome};

use reset::Cause;

/// By how many milliseconds the clock of the log goes back at least, when a device has started again.
/// Lines of two tasks may come in the wrong order, and a starving task prints late.
const CLOCK_BACK_MS: u64 = 1000;

/// After so many milliseconds the application has started, whether the console has shown it or not.
const LONGEST_BOOT_MS: u64 = 10_000;

/// What the console has shown.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    attached: bool,
    /// Boots that are expected: one for each start by the harness.
    boots_due: u32,
    /// A boot has shown itself, and the application has not started since.
    booting: bool,
    /// The device said that it reboots on purpose, or was told to.
    announced: bool,
    /// The supply broke down, and the device has not connected since.
    powerless: bool,
    /// The same, in the running case.
    browned_out: bool,
    crashed: bool,
    /// Time of the latest log line, in milliseconds since the boot.
    clock_ms: Option<u64>,
    memory: Memory,
}

/// How a boot shows itself, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// The ROM's line with the cause of the reset.
    Rom(Cause),
    /// The clock of the log begins anew. What came before it was lost.
    Clock,
    /// The application starts.
    App,
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
     |^(Load|Store|Instruction) access fault|Stack protection fault|Stack smashing protect failure\
     |CORRUPT HEAP:|panic'ed"
);
pattern!(BROWN_OUT, "Brownout detector was triggered");
pattern!(WATCHDOG, "task_wdt: Task watchdog got triggered");
pattern!(APP_MAIN, r"main_task: Calling app_main\(\)");
pattern!(ON_PURPOSE, "Application: Rebooting\\.\\.\\.");
pattern!(LOG_LINE, r"^[EWIDV] \((\d{1,12})\) (\S+): ");
// These quote what the harness has sent, and that may be anything.
pattern!(QUOTES, r"^[EWIDV] \(\d+\) (MCP|WS|MQTT|Application): ");

// What a panic tells of places in the program: calls, registers of either architecture, the stack.
pattern!(
    PLACES,
    r"^Backtrace: ?0x|abort\(\) was called at PC 0x|^(MEPC|PC) +: 0x|^ESP_ERROR_CHECK failed.* at 0x\
     |^Detected in task .* at 0x|^[0-9a-f]{8}: (0x[0-9a-f]{8} ?){2,8}$|^0x4[0-9a-f]{7}$|^ELF file SHA256: "
);

/// Whether a line tells at what places of its program a device was when it broke down.
pub(crate) fn names_places(line: &str) -> bool {
    PLACES.is_match(line)
}

/// Whether a line tells of a panic.
pub(crate) fn is_panic(line: &str) -> bool {
    PANIC.is_match(line) && !QUOTES.is_match(line)
}

/// Whether a line comes after all that a panic tells.
pub(crate) fn ends_panic(line: &str) -> bool {
    line.trim_end() == "Rebooting..." || is_boot(line)
}

/// Whether a line shows that the device boots: its tools are listed anew after it.
pub(crate) fn is_boot(line: &str) -> bool {
    Cause::of(line).is_some() || APP_MAIN.is_match(line)
}

impl Watch {
    pub(crate) fn begin_case(&mut self) {
        self.crashed = false;
        self.browned_out = false;
    }

    /// The harness started the target.
    pub(crate) fn restarted(&mut self) {
        self.boots_due = 1;
        self.booting = false;
        self.announced = false;
        self.memory.restarted();
    }

    /// The harness told the device to restart: the next boot is on demand, whether it says so or not.
    pub(crate) fn demanded(&mut self) {
        self.announced = true;
    }

    /// The device has connected.
    pub(crate) fn connected(&mut self) {
        self.powerless = false;
    }

    /// Whether the supply broke down since the device has connected: what it lost by that is not its
    /// own affair.
    pub(crate) fn is_powerless(&self) -> bool {
        self.powerless
    }

    /// A case in which the supply broke down counts against nobody but the bench.
    pub(crate) fn blame(&self, sink: &mut Sink) {
        let case = sink.case.clone();
        let of_case = |judgement: &&mut Judgement| self.browned_out && judgement.case == case;
        for judgement in sink.found.iter_mut().filter(of_case) {
            if let Outcome::Broken(evidence) = &mut judgement.outcome {
                let mut evidence = std::mem::take(evidence);
                evidence.received.push_str(" (the supply broke down)");
                judgement.outcome = Outcome::Bench(evidence);
            }
        }
    }

    /// Whether the console has told enough of the device's free memory to judge it.
    pub(crate) fn watches_memory(&self) -> bool {
        self.memory.is_watched()
    }

    /// Judges a line; returns whether it tells of a panic or a reset.
    pub(crate) fn line(&mut self, seq: u64, line: &str, sink: &mut Sink) -> bool {
        self.attached = true;
        self.memory.line(seq, line, sink);
        if is_panic(line) {
            self.crashed = true;
            sink.test("liveness.no-panic", false, || {
                evidence("no panic", line, seq)
            });
        }
        if BROWN_OUT.is_match(line) && !QUOTES.is_match(line) {
            self.brown_out(seq, line, sink);
        }
        if WATCHDOG.is_match(line) {
            sink.test("liveness.no-watchdog", false, || {
                evidence("no starving task", line, seq)
            });
        }
        if ON_PURPOSE.is_match(line) {
            self.announced = true;
        }
        if let Some(cause) = Cause::of(line).filter(|_| !QUOTES.is_match(line)) {
            if cause == Cause::BrownOut {
                self.brown_out(seq, line, sink);
            }
            self.boot(Sign::Rom(cause), seq, line, sink);
        }
        if let Some(now) = LOG_LINE.captures(line).and_then(|it| it[1].parse().ok()) {
            let before = self.clock_ms.replace(now).unwrap_or(0);
            self.booting &= now < LONGEST_BOOT_MS;
            if before >= now.saturating_add(CLOCK_BACK_MS) && before / 2 > now {
                self.boot(Sign::Clock, seq, line, sink);
            }
        }
        if APP_MAIN.is_match(line) {
            self.boot(Sign::App, seq, line, sink);
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

    /// The supply broke down. That is a fault of the bench: cable, port, hub.
    fn brown_out(&mut self, seq: u64, line: &str, sink: &mut Sink) {
        self.powerless = true;
        self.browned_out = true;
        sink.exercised.insert("liveness.no-brownout");
        let (case, step) = (sink.case.clone(), sink.step.clone());
        let outcome = Outcome::Bench(Box::new(Evidence {
            received: format!(
                "{line} (a fault of the bench; hint: a shorter cable, a hub with its own supply, \
                 fewer boards at one port)"
            ),
            ..evidence("a stable supply", "", seq)
        }));
        sink.add("liveness.no-brownout", case, step, outcome);
    }

    /// A boot shows itself by one sign or by more.
    fn boot(&mut self, sign: Sign, seq: u64, line: &str, sink: &mut Sink) {
        let goes_on = self.booting && !matches!(sign, Sign::Rom(_));
        self.booting = sign != Sign::App;
        if matches!(sign, Sign::Rom(_)) {
            self.clock_ms = None;
        }
        if goes_on {
            return;
        }
        if std::mem::take(&mut self.boots_due) == 0 {
            self.unexpected(sign, seq, line, sink);
        }
    }

    fn unexpected(&mut self, sign: Sign, seq: u64, line: &str, sink: &mut Sink) {
        self.memory.restarted();
        let announced = std::mem::take(&mut self.announced);
        self.crashed |= !announced;
        let announced = announced || self.powerless;
        sink.test("liveness.no-reset", announced, || {
            let received = match sign {
                Sign::Rom(cause) => format!("{line} ({})", cause.words()),
                Sign::Clock => format!("{line} (the clock of the log has begun anew)"),
                Sign::App => line.to_owned(),
            };
            evidence("no reboot but on demand", received, seq)
        });
    }
}
