//! Whatever breaks, the run ends in time, and who is told as the culprit is the culprit: the bench, the device, a file or
//! nobody. `blame/faults.toml` is the table of faults; `ci/blame.sh` tries all of them.

#![cfg(not(feature = "hil"))]

#[path = "blame/board.rs"]
mod board;
#[path = "blame/emulator.rs"]
mod emulator;
#[path = "blame/inject.rs"]
mod inject;
#[path = "blame/rig.rs"]
mod rig;
mod support;
#[path = "blame/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rig::Rig;
use serde_json::Value;
use support::{Done, Place};
use table::{Blamed, Kind, Moment, Trial, trials};

/// The longest that a run with a fault may take: that of a command which switches power, and what comes after it.
const LONGEST: Duration = Duration::from_secs(150);

/// Every so many trials are made without `ci/blame.sh`.
const SLICE: usize = 12;

/// Which trials: all, every so many of them, or those whose name holds a text.
const WHICH: &str = "MCP_HIL_FAULTS";

/// How many of a hundred must be right.
const RIGHT: f64 = 97.0;

/// What became of a trial.
struct Tried {
    trial: Trial,
    /// What was wrong, where something was.
    wrong: Option<String>,
    /// Whether a fault that is not the device's was blamed on it.
    accused: bool,
    took: Duration,
}

#[test]
fn every_fault_is_blamed_on_its_culprit() {
    let which = std::env::var(WHICH).unwrap_or_else(|_| SLICE.to_string());
    let all = trials();
    assert!(all.len() >= 200, "{} faults", all.len());
    let names: std::collections::BTreeSet<String> = all.iter().map(Trial::name).collect();
    assert_eq!(names.len(), all.len(), "two trials have one name");
    let chosen: Vec<Trial> = match (which.as_str(), which.parse::<usize>()) {
        ("all", _) => all,
        (_, Ok(every)) => {
            all.into_iter().filter(|trial| !trial.fault.is_slow).step_by(every).collect()
        }
        (text, Err(_)) => all.into_iter().filter(|trial| trial.name().contains(text)).collect(),
    };
    let tried = try_all(chosen);
    let wrong: Vec<&Tried> = tried.iter().filter(|one| one.wrong.is_some()).collect();
    let mut of_kind: BTreeMap<Kind, (usize, usize)> = BTreeMap::new();
    for one in &tried {
        let (right, of) = of_kind.entry(one.trial.fault.kind).or_default();
        *right += usize::from(one.wrong.is_none());
        *of += 1;
    }
    for (kind, (right, of)) in of_kind {
        println!("{:8} {right} of {of} right", format!("{kind:?}").to_lowercase());
    }
    let slowest = tried.iter().max_by_key(|one| one.took);
    if let Some(slowest) = slowest {
        println!("the slowest took {:.1} s: {}", slowest.took.as_secs_f64(), slowest.trial.name());
    }
    let accused: Vec<String> =
        tried.iter().filter(|one| one.accused).map(|one| one.trial.name()).collect();
    let right = (tried.len() - wrong.len()) as f64 * 100.0 / tried.len().max(1) as f64;
    println!(
        "{} of {} faults blamed rightly, {right:.1} %",
        tried.len() - wrong.len(),
        tried.len()
    );
    println!("{} faults that are not the device's were blamed on it", accused.len());
    assert!(accused.is_empty(), "{accused:?}");
    assert!(!tried.is_empty() && right >= RIGHT, "{right:.1} % right");
}

/// Makes the trials, several at a time: they wait more than they work.
fn try_all(trials: Vec<Trial>) -> Vec<Tried> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from) * 4;
    let (queue, tried) = (Mutex::new(trials.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(trial) = next else { return };
                    let began = Instant::now();
                    let ended = catch_unwind(AssertUnwindSafe(|| try_one(&trial)));
                    let wrong = match ended {
                        Ok(wrong) => wrong,
                        Err(panic) => Some((format!("no verdict: {}", text_of(&*panic)), false)),
                    };
                    let (wrong, accused) = match wrong {
                        Some((wrong, accused)) => (Some(wrong), accused),
                        None => (None, false),
                    };
                    let took = began.elapsed();
                    if let Some(wrong) = &wrong {
                        let wrong = wrong.replace('\n', "\n      ");
                        println!("WRONG {} ({})\n      {wrong}", trial.name(), trial.fault.what);
                    }
                    tried.lock().unwrap().push(Tried { trial, wrong, accused, took });
                }
            });
        }
    });
    tried.into_inner().unwrap()
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

/// Makes a trial. Gives what was wrong, and whether the device was blamed for what is not its fault.
fn try_one(trial: &Trial) -> Option<(String, bool)> {
    if !inject::has_what_it_needs(&trial.fault.inject) {
        return None;
    }
    let Some(mut rig) = Rig::new(trial) else {
        support::missing::MOSQUITTO.is_missing("the broker of a fault");
        return None;
    };
    if trial.at == Moment::Before {
        for order in &trial.fault.inject {
            inject::inject(&mut rig, None, order);
        }
    }
    let told = rig.told(trial);
    let hil = rig::prepared(trial, rig.run(trial));
    let mut live = hil.start().within(LONGEST);
    if trial.at != Moment::Before || trial.on == table::On::Wait {
        rig.reach(trial, &mut live, told);
    }
    if trial.at != Moment::Before {
        for order in &trial.fault.inject {
            inject::inject(&mut rig, Some(&live), order);
        }
    }
    let done = live.end();
    judge(trial, &rig.place, &done)
}

/// Compares what a run told with what the table says.
fn judge(trial: &Trial, place: &Place, done: &Done) -> Option<(String, bool)> {
    let fault = &trial.fault;
    let report = std::fs::read_to_string(place.path("target/mcp-hil/latest/report.json")).ok();
    let junit = std::fs::read_to_string(place.path("target/mcp-hil/latest/junit.xml")).ok();
    let record = report.as_deref().map(|text| serde_json::from_str(text).unwrap());
    // Where no report could be written, the talk is what people have.
    let record: Option<Value> = record.or_else(|| talked(done));
    let blamed = blamed(done, record.as_ref());
    let mut wrong = Vec::new();
    if done.code != fault.exit {
        wrong.push(format!("exit code {:?}, expected {:?}", done.code, fault.exit));
    }
    if blamed != fault.blames {
        wrong.push(format!("blamed: {blamed:?}, expected {:?}", fault.blames));
    }
    let in_junit = |tag: &str| junit.as_deref().is_some_and(|text| text.contains(tag));
    let shows = junit.is_some().then(|| (in_junit("<failure"), in_junit("<error")));
    let untried = record.as_ref().map(|record| &record["summary"]["inconclusive"]);
    let inconclusive = untried.and_then(Value::as_u64).is_some_and(|number| number > 0);
    let expected = match fault.blames {
        Blamed::Nobody | Blamed::File | Blamed::Harness => Some((false, false)),
        Blamed::Bench | Blamed::Unclear => Some((false, true)),
        // Cases that could not be tried are errors to readers of JUnit.
        Blamed::Device => Some((true, inconclusive)),
        Blamed::Both => Some((true, true)),
        // What was found before it was stopped is there.
        Blamed::User => None,
    };
    if expected.zip(shows).is_some_and(|(expected, shows)| expected != shows) {
        wrong.push(format!("junit.xml has failures, errors: {shows:?}, expected {expected:?}"));
    }
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let all = squeezed(&format!("{}{done}", report.as_deref().unwrap_or_default()));
    for evidence in &fault.evidence {
        if !all.contains(&squeezed(evidence)) {
            wrong.push(format!("no evidence `{evidence}`"));
        }
    }
    if done.stderr.contains("panicked") && fault.kind != Kind::Harness {
        wrong.push("the program panicked".to_owned());
    }
    if wrong.is_empty() {
        return None;
    }
    // A red run that names no culprit is taken for the device's, too.
    let red = matches!(blamed, Blamed::Device | Blamed::Both | Blamed::Unclear);
    let accused = fault.kind != Kind::Device && red;
    wrong.push(told(done, record.as_ref()));
    if let Ok(run) = place.latest().canonicalize() {
        let name = format!("blame-{}", trial.name().replace([' ', '/'], "-"));
        let kept = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&kept);
        if std::fs::rename(run, &kept).is_ok() {
            wrong.push(format!("its folder: {}", kept.display()));
        }
    }
    Some((wrong.join("\n"), accused))
}

/// The record of a run that came to its end, from what it said on standard output.
fn talked(done: &Done) -> Option<Value> {
    let events = done.stdout.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
    let mut cases = Vec::new();
    for event in events {
        match event["event"].as_str() {
            Some("case-finished") => cases.push(event),
            Some("run-finished") => {
                return Some(serde_json::json!({"cases": cases, "summary": event}));
            }
            _ => {}
        }
    }
    None
}

/// Who is told as the culprit.
fn blamed(done: &Done, record: Option<&Value>) -> Blamed {
    let Some(record) = record else {
        return if matches!(done.code, Some(2 | 4)) { Blamed::File } else { Blamed::Harness };
    };
    let summary = &record["summary"];
    let count = |name: &str| summary[name].as_u64().unwrap_or_default();
    let bench = count("errors") > 0 || !summary["bench_error"].is_null();
    let device = count("failed") > 0;
    match (device, bench) {
        _ if summary["interrupted"] == true => Blamed::User,
        (true, true) => Blamed::Both,
        (true, false) => Blamed::Device,
        (false, true) => Blamed::Bench,
        (false, false) if count("inconclusive") > 0 => Blamed::Unclear,
        (false, false) => Blamed::Nobody,
    }
}

/// What a run told, shortly.
fn told(done: &Done, record: Option<&Value>) -> String {
    let Some(record) = record else {
        return format!(
            "no report; {}",
            done.stderr.lines().take(6).collect::<Vec<_>>().join(" | ")
        );
    };
    let mut lines = vec![format!("bench error: {}", record["summary"]["bench_error"])];
    for case in record["cases"].as_array().unwrap() {
        if !["pass", "not-applicable"].contains(&case["verdict"].as_str().unwrap()) {
            let slugs = case["findings"].as_array().unwrap().iter();
            let slugs = slugs.map(|it| format!("{} {}", it["requirement"], it["received"]));
            let (verdict, id, reason) = (&case["verdict"], &case["case"], &case["reason"]);
            lines.push(format!("{verdict} {id} {reason} {:?}", slugs.collect::<Vec<_>>()));
        }
    }
    lines.truncate(5);
    let cut = |line: String| line.chars().take(500).collect::<String>();
    lines.into_iter().map(cut).collect::<Vec<_>>().join("\n")
}
