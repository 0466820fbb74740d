//! Checks on the device's console: panic, reset, brown-out, watchdog (device-protocol 6.3), free memory.

mod reset;

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::obligation::Duty;
use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::Regex;

use super::memory::Memory;
use super::sink::{Sink, evidence};
use mcp_hil_core::verdict::{Evidence, Judgement, Outcome};

use reset::Cause;

/// By how many milliseconds the clock of the log goes back at least, when a device has started again.
/// Lines of two tasks may come in the wrong order, and a starving task prints late.
const CLOCK_BACK_MS: u64 = 1000;

/// So many log lines are looked at, before the clock went back and after it, to tell a start from a second clock.
const LINES_OF_A_CLOCK: usize = 3;

/// After so many milliseconds the application has started, whether the console has shown it or not.
const LONGEST_BOOT_MS: u64 = 10_000;

/// In how many cases the boot after a cable was put back may show: that of the connection, and the next.
const CASES_OF_A_LATE_BOOT: u8 = 2;

/// For how many cases after the connection the console may lag behind with what it shows of the start.
const CASES_OF_A_LATE_START: u32 = 20;

/// What the console has shown.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    attached: bool,
    /// Boots that are expected: one for each start by the harness.
    boots_due: u32,
    /// How many cases began since the device connected.
    cases_since: u32,
    /// A boot has shown itself, and the application has not started since.
    booting: bool,
    /// The same, and it was one on demand, of which only the clock has told.
    known_by_clock: bool,
    /// A boot had begun when the harness started the device: its application may show late, and is none of the start.
    interrupted: bool,
    /// The device said that it reboots on purpose, or was told to.
    announced: bool,
    /// The supply broke down, and the device has not connected since.
    powerless: bool,
    /// The bench took the device away, and it was neither started nor has it connected since.
    taken: bool,
    /// Whether the device has shown no boot since the bench took it away.
    boot_owed: bool,
    /// For how many cases, the present one included, the boot that a cable has caused may still show.
    late_boot: u8,
    /// The same, where a reset of its own looks alike, and has shown no boot since.
    doubtful: bool,
    /// It turned out to be one.
    own_reset: bool,
    /// The harness started it, and it has not connected since.
    starting: bool,
    /// The same, in the running case.
    browned_out: bool,
    crashed: bool,
    /// Times of the latest log lines, in milliseconds since the boot.
    clock_ms: VecDeque<u64>,
    /// Where the clock went back, if a few lines ago.
    back: Option<Back>,
    memory: Memory,
}

/// A log line of an earlier time than the lines before it: of a device that has started again, or of another
/// clock (a second chip that writes to the same console). The next lines tell.
#[derive(Debug)]
struct Back {
    /// The time of the line before it.
    from_ms: u64,
    /// Its own time.
    at_ms: u64,
    line: String,
    /// How many lines have come with it, none of them of the clock of before.
    since: usize,
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
     |CORRUPT HEAP:|panic'ed|^==\\d+==ERROR: \\w+Sanitizer:\
     |^\\S+:\\d+:\\d+: runtime error: |^panic: |^thread '[^']*' (\\(\\d+\\) )?panicked at "
);
pattern!(BROWN_OUT, "Brownout detector was triggered");
pattern!(WATCHDOG, "task_wdt: Task watchdog got triggered");
pattern!(APP_MAIN, r"main_task: Calling app_main\(\)");
pattern!(ON_PURPOSE, "Application: Rebooting\\.\\.\\.");
pattern!(LOG_LINE, r"^[EWIDV] \((\d{1,12})\) (\S+): ");
// These quote what the harness has sent, and that may be anything.
pattern!(QUOTES, r"^[EWIDV] \(\d+\) (MCP|WS|MQTT|Application): ");

// A log line that tells of an earlier life.
pattern!(RECALLS, r"(?i)^[EWIDV] \(\d+\) \S+ .*\b(last|previous|prior|saved|stored|earlier)\b");

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
    PANIC.is_match(line) && !QUOTES.is_match(line) && !RECALLS.is_match(line)
}

/// Whether a line tells that the supply broke down, or of a reset by power, pin or port: no firmware does
/// that.
pub(crate) fn tells_of_power(line: &str) -> bool {
    let cause = Cause::of(line).filter(|_| !QUOTES.is_match(line));
    let by_power = matches!(cause, Some(Cause::BrownOut | Cause::Outside));
    by_power || BROWN_OUT.is_match(line) && !QUOTES.is_match(line)
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
        self.late_boot = self.late_boot.saturating_sub(1);
        self.cases_since = self.cases_since.saturating_add(1);
        self.crashed = false;
        self.browned_out = false;
    }

    /// The harness started the target.
    pub(crate) fn restarted(&mut self) {
        (self.boots_due, self.cases_since) = (1, 0);
        if std::mem::take(&mut self.boot_owed) {
            // The cable has caused one more, which a busy host may read after it has started the device.
            self.late_boot = CASES_OF_A_LATE_BOOT;
        }
        self.interrupted = std::mem::take(&mut self.booting);
        self.announced = false;
        self.taken = false;
        self.doubtful = false;
        self.starting = true;
        // The clock of the log begins anew with it.
        self.clock_ms.clear();
        self.back = None;
        self.known_by_clock = false;
        self.memory.restarted();
    }

    /// The bench took the device away; `by_reset` says whether its own reset would look the same.
    pub(crate) fn taken_away(&mut self, by_reset: bool) {
        self.taken = true;
        // A port that goes with each reset is not told apart from a cable so late.
        self.boot_owed = !by_reset;
        self.late_boot = 0;
        self.doubtful = by_reset;
        self.memory.restarted();
    }

    /// Whether a boot or a port that goes is on demand: the harness has started the device, or told it to
    /// restart, and it has not connected since.
    pub(crate) fn is_starting(&self) -> bool {
        self.starting || self.announced
    }

    /// Whether the next restart was told: by the device itself, or to it.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced
    }

    /// Whether the device has reset itself when its port went away. Asked once.
    pub(crate) fn take_own_reset(&mut self) -> bool {
        std::mem::take(&mut self.own_reset)
    }

    /// The harness told the device to restart: the next boot is on demand, whether it says so or not.
    pub(crate) fn demanded(&mut self) {
        self.announced = true;
    }

    /// The device has connected.
    pub(crate) fn connected(&mut self) {
        // What a busy host reads of the console may come after the connection.
        if self.taken && std::mem::take(&mut self.boot_owed) && self.boots_due == 0 {
            self.late_boot = CASES_OF_A_LATE_BOOT;
        }
        if std::mem::take(&mut self.starting) {
            self.cases_since = 0;
        }
        if self.back.take().is_some() && self.expects_boot() {
            // A line or two with a new clock are all that was seen of the boot that was asked for.
            (self.booting, self.known_by_clock) = (true, true);
            (self.boots_due, self.late_boot) = (0, 0);
            self.announced = false;
        }
        self.powerless = false;
        self.taken = false;
        self.doubtful = false;
    }

    /// Whether the supply broke down, or the bench took the device away, since it has connected: what it
    /// lost by that is not its own affair.
    pub(crate) fn is_excused(&self) -> bool {
        self.powerless || self.taken
    }

    /// A case in which the supply broke down counts against nobody but the bench.
    pub(crate) fn blame(&self, sink: &mut Sink) {
        let case = sink.case.clone();
        let of_case = |judgement: &&mut Judgement| self.browned_out && judgement.case == case;
        for judgement in sink.found.iter_mut().filter(of_case) {
            if let Outcome::Broken(evidence) = &mut judgement.outcome {
                let mut evidence = std::mem::take(evidence);
                evidence.received.push_str(" (the supply voltage dropped)");
                judgement.outcome = Outcome::Bench(evidence);
            }
        }
    }

    /// A message goes to the device: what its memory does next may come of it.
    pub(crate) fn asked(&mut self, duty: &Duty) {
        self.memory.asked(duty);
    }

    /// Whether the console has told enough of the device's free memory to judge it.
    pub(crate) fn watches_memory(&self) -> bool {
        self.memory.is_watched()
    }

    /// The free memory that it has told since it started.
    pub(crate) fn free_memory(&self) -> Option<FreeMemory> {
        self.memory.seen()
    }

    /// Judges a line; returns whether it tells of a panic or a reset.
    pub(crate) fn line(&mut self, seq: u64, line: &str, sink: &mut Sink) -> bool {
        self.attached = true;
        self.memory.line(seq, line, sink);
        if is_panic(line) {
            self.crashed = true;
            sink.test(Id::LivenessNoPanic, false, || evidence("no panic", line, seq));
        }
        if BROWN_OUT.is_match(line) && !QUOTES.is_match(line) {
            self.brown_out(seq, line, sink);
        }
        if WATCHDOG.is_match(line) {
            sink.test(Id::LivenessNoWatchdog, false, || evidence("no starved task", line, seq));
        }
        if ON_PURPOSE.is_match(line) {
            self.announced = true;
        }
        if let Some(cause) = Cause::of(line).filter(|_| !QUOTES.is_match(line)) {
            self.back = None;
            if cause == Cause::BrownOut {
                self.brown_out(seq, line, sink);
            }
            self.boot(Sign::Rom(cause), seq, line, sink);
        }
        if let Some(now) = LOG_LINE.captures(line).and_then(|it| it[1].parse().ok()) {
            self.log_line(now, seq, line, sink);
        }
        if APP_MAIN.is_match(line) {
            self.back = None;
            self.boot(Sign::App, seq, line, sink);
        }
        self.crashed
    }

    /// Looks at the time of a log line.
    fn log_line(&mut self, now_ms: u64, seq: u64, line: &str, sink: &mut Sink) {
        self.booting &= now_ms < LONGEST_BOOT_MS;
        match self.back.take() {
            // The clock of before goes on.
            Some(back) if now_ms >= back.from_ms => {}
            // A clock that stands still is none that has begun anew.
            Some(back) if now_ms == back.at_ms => self.back = Some(back),
            Some(back) if back.since + 1 == LINES_OF_A_CLOCK => {
                self.boot(Sign::Clock, seq, &back.line, sink);
            }
            Some(back) => self.back = Some(Back { since: back.since + 1, ..back }),
            None if !self.lies_before_all(now_ms) => {}
            None => {
                let from_ms = self.clock_ms.back().copied().unwrap_or_default();
                self.back = Some(Back { from_ms, at_ms: now_ms, line: line.to_owned(), since: 1 });
            }
        }
        self.clock_ms.push_back(now_ms);
        if self.clock_ms.len() > LINES_OF_A_CLOCK {
            self.clock_ms.pop_front();
        }
    }

    fn lies_before_all(&self, now_ms: u64) -> bool {
        let earliest = self.clock_ms.iter().copied().min().unwrap_or_default();
        earliest >= now_ms.saturating_add(CLOCK_BACK_MS) && earliest / 2 > now_ms
    }

    fn expects_boot(&self) -> bool {
        self.boots_due > 0 || self.announced || self.is_excused() || self.late_boot > 0
    }

    /// The target's process ended by itself.
    pub(crate) fn exited(&mut self, seq: u64, how: &str, sink: &mut Sink) {
        self.attached = true;
        self.crashed = true;
        sink.test(Id::LivenessNoReset, false, || {
            evidence("the device keeps running", format!("its process {how}"), seq)
        });
    }

    pub(crate) fn end_case(&mut self, sink: &mut Sink) {
        if self.attached {
            for requirement in [
                Id::LivenessNoPanic,
                Id::LivenessNoReset,
                Id::LivenessNoBrownout,
                Id::LivenessNoWatchdog,
            ] {
                sink.held(requirement);
            }
        }
        self.memory.end_case(sink);
        sink.held(Id::LivenessNoFlood);
    }

    /// The supply broke down. That is a fault of the bench: cable, port, hub.
    fn brown_out(&mut self, seq: u64, line: &str, sink: &mut Sink) {
        self.powerless = true;
        self.browned_out = true;
        sink.exercised.insert(Id::LivenessNoBrownout);
        let (case, step) = (sink.case.clone(), sink.step.clone());
        let outcome = Outcome::Bench(Box::new(Evidence {
            received: format!(
                "{line} (a fault of the bench; hint: a shorter cable, a powered hub, fewer boards \
                 on one port)"
            ),
            ..evidence("a stable supply", "", seq)
        }));
        sink.add(Id::LivenessNoBrownout, case, step, outcome);
    }

    /// A boot shows itself by one sign or by more.
    fn boot(&mut self, sign: Sign, seq: u64, line: &str, sink: &mut Sink) {
        let was_interrupted = std::mem::take(&mut self.interrupted);
        if was_interrupted && sign == Sign::App {
            return;
        }
        // Some firmware logs before the ROM's line is out, and the last line of the life before may come late:
        // after a start by the harness the clock may tell first.
        let first_by_rom = matches!(sign, Sign::Rom(_)) && !self.known_by_clock;
        let goes_on = self.booting && !first_by_rom;
        self.known_by_clock = sign == Sign::Clock && self.boots_due > 0;
        self.booting = sign != Sign::App;
        if matches!(sign, Sign::Rom(_)) {
            self.clock_ms.clear();
        }
        if goes_on {
            return;
        }
        let by_itself = matches!(sign, Sign::Rom(Cause::Software | Cause::Watchdog));
        // A start that the console did not show excuses no later boot of another kind.
        let is_of_start = self.cases_since < CASES_OF_A_LATE_START || !by_itself;
        if std::mem::take(&mut self.boots_due) > 0 && is_of_start {
            return;
        }
        if std::mem::take(&mut self.late_boot) == 0 || by_itself {
            self.unexpected(sign, seq, line, sink);
        }
    }

    fn unexpected(&mut self, sign: Sign, seq: u64, line: &str, sink: &mut Sink) {
        self.memory.restarted();
        let announced = std::mem::take(&mut self.announced);
        let by_itself = matches!(sign, Sign::Rom(Cause::Software | Cause::Watchdog));
        if std::mem::take(&mut self.doubtful) && by_itself && !announced {
            // The port did not go because somebody pulled it, but with this reset.
            (self.own_reset, self.taken) = (true, false);
        }
        let announced = announced || self.taken;
        self.boot_owed = false;
        self.crashed |= !announced;
        let announced = announced || self.powerless;
        sink.test(Id::LivenessNoReset, announced, || {
            let received = match sign {
                Sign::Rom(cause) => format!("{line} ({})", cause.words()),
                Sign::Clock => format!("{line} (the log's timestamps started again)"),
                Sign::App => line.to_owned(),
            };
            evidence("no reboot unless requested", received, seq)
        });
    }
}
