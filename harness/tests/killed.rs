//! A run whose process is killed at any moment leaves nothing behind that lives or is held, no half report, and a folder
//! from which `replay` judges what was done until then. `ci/kill.sh` tries a hundred moments.

#![cfg(not(feature = "hil"))]

#[path = "blame/board.rs"]
mod board;
#[path = "blame/emulator.rs"]
mod emulator;
mod support;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use board::Played;
use mcp_hil_boards::board::{BoardLock, Holder};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;
use support::{Done, Hil, Place, native};

/// The variable by which everything is known that a run has started, whoever its parent is by now.
const MARK: &str = "TEST_KILLED_RUN";

/// How long what a killed run has left may live.
const SOON: Duration = Duration::from_secs(5);

/// What the runs are runs of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The reference device over both transports.
    Native,
    /// A defect, of which a small input and a repro command are sought.
    Mutant,
    /// A shell script with children of its own.
    Shell,
    /// A board, by a bridge.
    Board,
    /// What stands in for an emulator.
    Emulator,
    /// Two devices at once.
    Rack,
}

const KINDS: [Of; 6] = [Of::Native, Of::Board, Of::Mutant, Of::Emulator, Of::Shell, Of::Rack];

/// When a run is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So long after its start.
    After(Duration),
    /// When it has told so many events.
    Event(usize),
    /// When it has told its end, and writes its reports.
    Finished,
}

/// What a hundred kills come to.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    /// The run had ended before.
    too_late: usize,
    /// It had told of nothing yet.
    too_early: usize,
    /// It was killed between its first event and its last report.
    amid: usize,
    /// Cases that a replay judged again.
    judged_again: usize,
    /// Files of reports that were whole.
    whole: usize,
}

#[test]
fn whenever_a_run_is_killed_nothing_lives_on_and_nothing_is_half() {
    let kills: u64 = std::env::var("MCP_HIL_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let mut tally = Tally::default();
    for seed in 0..kills {
        kill(seed, &mut tally);
    }
    let Tally { kills, too_late, too_early, amid, judged_again, whole } = tally;
    println!(
        "{kills} kills ({too_early} before the first event, {amid} amid, {too_late} after the end): no process lived \
         on, no lock was held, {whole} reports were there and whole, {judged_again} cases judged again"
    );
    assert!(amid > 0);
}

/// Numbers that a seed gives.
struct Seeded(u64);

impl Seeded {
    /// A number below the limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Kills a run at the moment of a seed, and looks at what is left.
fn kill(seed: u64, tally: &mut Tally) {
    let mut seeded = Seeded(seed + 1);
    seeded.below(2);
    let of = KINDS[usize::try_from(seed).unwrap() % KINDS.len()];
    let moment = match seeded.below(10) {
        0..2 => Moment::After(Duration::from_millis(seeded.below(300))),
        2..4 => Moment::After(Duration::from_millis(seeded.below(4000))),
        4..8 => Moment::Event(1 + usize::try_from(seeded.below(40)).unwrap()),
        _ => Moment::Finished,
    };
    let place = Place::new();
    let mark = format!("{}-{seed}", std::process::id());
    let board = (of == Of::Board).then(|| Played::attach(&place, "websocket", &[]));
    let mut hil = run(&place, of).env(MARK, &mark);
    // The leader of a group of its own, as a job of a CI server is.
    hil.0.process_group(0);
    let mut live = hil.start();
    match moment {
        Moment::After(time) => std::thread::sleep(time),
        Moment::Event(number) => {
            let mut told = 0;
            while told < number && live.out("\"event\":").contains("\"event\"") {
                told += 1;
                if live.has_said("\"event\":\"run-finished\"") {
                    break;
                }
            }
        }
        Moment::Finished => drop(live.out("\"event\":\"run-finished\"")),
    }
    // It may have ended by itself.
    let _ = nix::sys::signal::kill(live.pid, Signal::SIGKILL);
    let done = live.end();
    let what = format!("seed {seed}, {of:?}, {moment:?}");
    tally.kills += 1;
    let left = until_none(&mark);
    assert!(left.is_empty(), "{what}: what the run has started lives on: {left:?}");
    if board.is_some() {
        lock_is_free(&place, &what);
    }
    drop(board);
    let latest = place.latest();
    match (done.code, latest.exists()) {
        (Some(_), _) => tally.too_late += 1,
        (None, false) => tally.too_early += 1,
        (None, true) => tally.amid += 1,
    }
    if latest.exists() {
        for folder in folders(&latest.canonicalize().unwrap()) {
            tally.whole += reports_are_whole(&folder, &what);
            tally.judged_again += replays(&place, &folder, &what);
        }
    }
}

/// The run of a kind.
fn run(place: &Place, of: Of) -> Hil {
    let some = ["run", "--format", "json", "--seed", "7", "--inputs", "20", "--deadline", "2"];
    let cases = ["--only", "ids/", "--only", "volume/", "--only", "properties/ids"];
    let slow = format!("'{}' --delay-ms 2", native().display());
    let mut env = None;
    let more: Vec<String> = match of {
        Of::Native => ["--dut", "native", "--transport", "both"].map(str::to_owned).to_vec(),
        Of::Mutant => ["--mutant", "id-int32-saturated"].map(str::to_owned).to_vec(),
        Of::Shell => {
            let script = format!("sleep 1000 & (sleep 1000; true) & {slow}; exit 3");
            let script = place.program("device", &script);
            ["--dut".to_owned(), format!("exec:{}", script.display())].to_vec()
        }
        Of::Board => ["--dut", "desk.toml"].map(str::to_owned).to_vec(),
        Of::Emulator => {
            let emulator = emulator::stand_in(place, &format!("{slow} >&3 2>&3"));
            env = Some(emulator);
            ["--dut", "qemu-esp", "--firmware", "merged.bin"].map(str::to_owned).to_vec()
        }
        Of::Rack => {
            for name in ["left", "right"] {
                let text = format!("name = \"{name}\"\ntarget = \"native\"\n");
                place.write(&format!("duts/{name}.toml"), text);
            }
            ["--dut", "duts"].map(str::to_owned).to_vec()
        }
    };
    let all = some.iter().chain(&cases).map(|&word| word.to_owned()).chain(more);
    let hil = place.hil(all).env("MCP_HIL_LOCKS", place.path("locks"));
    match env {
        Some(emulator) => hil.env("MCP_HIL_QEMU_ESP", emulator),
        None => hil,
    }
}

/// The processes that a run has started and that live, once none does or the time is over.
fn until_none(mark: &str) -> Vec<String> {
    let until = Instant::now() + SOON;
    loop {
        let left = marked(mark);
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let all = std::fs::read_dir("/proc").unwrap();
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let told = |pid: i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let has = environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        has.then(|| format!("{} {}", Pid::from_raw(pid), String::from_utf8_lossy(&line)))
    };
    pids.filter_map(told).collect()
}

/// The locks of the board can be taken, as the next run does it.
fn lock_is_free(place: &Place, what: &str) {
    let real = place.path("port").canonicalize().unwrap();
    let holder = Holder::this_process("mcp-hil flash", None);
    for name in ["", ".queue"].map(|end| format!("port-{}{end}", real.display())) {
        let lock = BoardLock::take_in(&place.path("locks"), &name, &holder);
        assert!(lock.is_ok(), "{what}: {lock:?}");
    }
}

/// The folder of a run, and those of the devices that it had at once.
fn folders(run: &Path) -> Vec<PathBuf> {
    let parts = std::fs::read_dir(run.join("runs")).into_iter().flatten();
    let parts = parts.map(|entry| entry.unwrap().path());
    std::iter::once(run.to_owned()).chain(parts).collect()
}

/// Each report in a folder is whole, or not there. Gives how many are.
fn reports_are_whole(folder: &Path, what: &str) -> usize {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let (json, xml, page) = (read("report.json"), read("junit.xml"), read("report.html"));
    if let Some(text) = &json {
        let record: Value = serde_json::from_str(text).unwrap_or_else(|error| {
            panic!("{what}: {error}: {}", folder.join("report.json").display())
        });
        assert!(record["summary"]["exit"].is_u64(), "{what}");
    }
    if let Some(text) = &xml {
        assert!(text.trim_end().ends_with("</testsuites>"), "{what}: {text}");
    }
    if let Some(text) = &page {
        assert!(text.trim_end().ends_with("</html>"), "{what}");
    }
    [json, xml, page].iter().flatten().count()
}

/// The verdicts of cases, by transport and case.
type Verdicts = BTreeMap<(String, String), String>;

fn verdicts<'a>(events: impl Iterator<Item = &'a Value>) -> Verdicts {
    let judged = events
        .filter(|event| matches!(event["event"].as_str(), Some("case-finished" | "case-revised")));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    judged.map(|it| ((text(&it["transport"]), text(&it["case"])), text(&it["verdict"]))).collect()
}

/// A replay judges what was judged, as it was, and says what is missing. Gives how many cases that were.
fn replays(place: &Place, folder: &Path, what: &str) -> usize {
    let replay =
        place.hil(["replay".as_ref(), folder.as_os_str(), "--format".as_ref(), "json".as_ref()]);
    let replay: Done = replay.end();
    let has = |name: &str| folder.join(name).exists();
    if folder.join("runs").exists() {
        // What several devices did at once is in their own folders.
        assert_eq!(replay.code, Some(2), "{what}: {replay}");
        return 0;
    }
    if !has("report.json") && !has("unfinished.jsonl") {
        assert_eq!(replay.code, Some(2), "{what}: {replay}");
        assert!(replay.stderr.contains("report.json"), "{what}: {replay}");
        return 0;
    }
    if replay.stderr.contains("has no whole line") {
        assert_eq!(replay.code, Some(2), "{what}: {replay}");
        return 0;
    }
    let events = replay.events();
    let summary = events.last().unwrap();
    if has("report.json") {
        let report = std::fs::read_to_string(folder.join("report.json")).unwrap();
        let record: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(summary["exit"], record["summary"]["exit"], "{what}: {replay}");
        return 0;
    }
    assert_eq!(replay.code, Some(3), "{what}: {replay}");
    let told = summary["bench_error"].as_str().unwrap_or_default();
    assert!(told.contains("the run has no end") && told.contains("missing"), "{what}: {told}");
    let journal = std::fs::read_to_string(folder.join("unfinished.jsonl")).unwrap();
    // The last line may have no end.
    let lines = journal.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let (was, is) = (verdicts(lines.iter()), verdicts(events.iter()));
    assert_eq!(was, is, "{what}");
    is.len()
}
