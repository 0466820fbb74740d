//! The normal form of a run: what a second run with the same seed on the same device repeats, byte for byte.
//!
//! Left out is what clocks, the system and chance decide: times, numbers of entries, names of folders, session ids and
//! other random ids, ports, keys of handshakes. What was sent, what was received and the rest of a case are compared
//! each by itself, for they share no order. What comes by a clock of its own falls into one case or into the next:
//! audio, MQTT's pings and the console are left out, and which cases exercised the rules of audio and pings. So are what
//! depends on how busy a machine is: the least free memory, and whether a setting had the time to arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;
use mcp_hil_record::read::{check_transcripts, read_single};
use mcp_hil_record::text::clean;

/// Characters of a line that people are shown.
const LONGEST_TEXT: usize = 400;

/// How many of its characters are shown before what differs, at most.
const BEFORE: usize = 120;

/// Parts that differ and are shown; the others are counted.
const MOST_PARTS: usize = 10;

/// What differs from run to run in any text, and what stands for it.
static TEXTS: LazyLock<[(Regex, &str); 8]> = LazyLock::new(|| {
    let id = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    let client = "@@@[0-9a-f]{8}@@@";
    let address = r"(127\.0\.0\.1|localhost|\[::1\]):[0-9]+";
    // In findings, a log's line has its level and the milliseconds since the device's start.
    let clock = r"\b([EWIDV]) \([0-9]+\) ";
    // In a message within a transcript, quotes are escaped.
    let port = r#"(\\?"port\\?":)[0-9]+"#;
    // How many messages waited at a time, and where, decides how much memory was ever left.
    let memory = r#"(minimum_free_heap_size\\?":\\?"?)[0-9]+"#;
    let time = r#"\b(time|timestamp)="[^"]*""#;
    [
        (id, "[id]"),
        (client, "@@@[id]@@@"),
        (address, "$1:[port]"),
        (port, "$1[port]"),
        (clock, "$1 ([ms]) "),
        (r"\bseq [0-9]+", "seq [n]"),
        (memory, "$1[bytes]"),
        (time, "$1=\"[time]\""),
    ]
    .map(|(pattern, stands)| (Regex::new(pattern).expect("a pattern of its own"), stands))
});

/// Members of JSON objects that hold a time, the place of an entry among those of other threads, or how many frames came
/// in a time.
const TIMES: [&str; 8] =
    ["at_us", "seq", "took_us", "started", "timing", "unanswered", "memory", "masks"];

/// Headers of a handshake that are random.
const RANDOM: [&str; 1] = ["sec-websocket-key"];

/// Requirements that are exercised by what comes by a clock of its own, or where enough time has passed: whether a
/// setting is still on its way after a call is told by that.
const BY_CLOCK: [&str; 5] =
    ["channel.header", "channel.sequence", "mqtt.keep-alive", "session.mask-fresh", "status.kept"];

/// A part of a run that is compared by itself: its name, and its lines.
type Parts = BTreeMap<String, Vec<String>>;

/// Compares the normal forms of two runs: the text to print, and the exit code.
///
/// # Errors
///
/// A folder that is not one of a run, or is damaged; the file is named.
pub(super) fn compare(first: &Path, second: &Path) -> Result<(String, u8), UserError> {
    let (one, other) = (parts(first)?, parts(second)?);
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let different: Vec<_> =
        names.iter().filter(|name| one.get(**name) != other.get(**name)).collect();
    let mut text = String::new();
    for name in different.iter().take(MOST_PARTS) {
        show(&mut text, name, one.get(**name), other.get(**name));
    }
    if different.len() > MOST_PARTS {
        let _ = writeln!(text, "and {} more parts differ", different.len() - MOST_PARTS);
    }
    if different.is_empty() {
        let _ = writeln!(text, "equal in their normal form: {} parts", names.len());
        return Ok((text, exit::CONFORMING));
    }
    let _ =
        writeln!(text, "{} of {} parts differ in their normal form", different.len(), names.len());
    Ok((text, exit::NOT_CONFORMING))
}

/// The first line of a part that differs.
fn show(text: &mut String, name: &str, one: Option<&Vec<String>>, other: Option<&Vec<String>>) {
    let empty = Vec::new();
    let (one, other) = (one.unwrap_or(&empty), other.unwrap_or(&empty));
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let pair = one.get(at).zip(other.get(at));
    let same = pair.map_or(0, |(one, other)| {
        one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
    });
    let line = |lines: &[String]| match lines.get(at) {
        Some(line) => from_difference(line, same),
        None => format!("ends after {} lines", lines.len()),
    };
    let _ = writeln!(text, "{name}, line {}", at + 1);
    let _ = writeln!(text, "    first   {}", line(one));
    let _ = writeln!(text, "    second  {}", line(other));
}

/// A line, so cut that it shows what comes after so many characters.
fn from_difference(line: &str, same: usize) -> String {
    let skipped = same.saturating_sub(BEFORE);
    match line.char_indices().nth(skipped) {
        Some((start, _)) if start > 0 => {
            format!("... {}", clean::line(&line[start..], LONGEST_TEXT))
        }
        _ => clean::line(line, LONGEST_TEXT),
    }
}

/// All parts of a run.
fn parts(run: &Path) -> Result<Parts, UserError> {
    let record = read_single(run)?;
    check_transcripts(&record, run)?;
    let mut parts = Parts::new();
    let mut report: Value = parsed(&read(run, "report.json")?, "report.json")?;
    let folder = report.pointer("/run/run").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (of, member) in [("run", "run"), ("summary", "folder")] {
        if let Some(members) = report[of].as_object_mut() {
            members.remove(member);
        }
    }
    for case in report["cases"].as_array_mut().into_iter().flatten() {
        if let Some(exercised) = case["exercised"].as_array_mut() {
            exercised.retain(|slug| BY_CLOCK.iter().all(|timed| slug != timed));
        }
    }
    without_times(&mut report);
    let pretty = serde_json::to_string_pretty(&report).unwrap_or_default();
    parts.insert("report.json".into(), lines(&pretty, &folder));
    if run.join("junit.xml").exists() {
        parts.insert("junit.xml".into(), lines(&read(run, "junit.xml")?, &folder));
    }
    let transcripts: BTreeSet<_> =
        record.cases.iter().filter_map(|it| it.transcript.as_ref()).collect();
    for name in transcripts {
        for line in read(run, name)?.lines() {
            entry(&mut parts, name, parsed(line, name)?);
        }
    }
    Ok(parts)
}

/// Puts an entry of a transcript where it belongs.
fn entry(parts: &mut Parts, file: &str, mut entry: Value) {
    let text_frame = entry["frame"].get("text").is_some();
    let of_case = |part| format!("{file}, {part}");
    let part = match entry["kind"].as_str().unwrap_or_default() {
        "sent" | "received" if !text_frame => return,
        "audio" | "console" => return,
        "mqtt" if entry["note"] == "ping" => return,
        "sent" | "control" => of_case("sent"),
        "received" | "reply" => of_case("received"),
        // A device that boots asks for its configuration while the next input is begun.
        "http" => of_case("HTTP"),
        "mark" => of_case("marks"),
        _ => of_case("link"),
    };
    without_times(&mut entry);
    parts.entry(part).or_default().push(normal(&entry.to_string()));
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in TIMES {
                members.shift_remove(name);
            }
            for (name, value) in members.iter_mut() {
                match RANDOM.contains(&name.as_str()) {
                    true => *value = "[random]".into(),
                    false => without_times(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

fn lines(text: &str, folder: &str) -> Vec<String> {
    text.lines().map(|line| normal(&line.replace(folder, "[run]"))).collect()
}

fn normal(text: &str) -> String {
    let replace = |text: String, (pattern, stands): &(Regex, &str)| {
        pattern.replace_all(&text, *stands).into_owned()
    };
    TEXTS.iter().fold(text.to_owned(), replace)
}

fn read(run: &Path, name: &str) -> Result<String, UserError> {
    let path = run.join(name);
    std::fs::read_to_string(&path).map_err(|error| {
        UserError::usage(
            format!("cannot read `{}`: {error}", path.display()),
            "the run's folder is damaged",
        )
    })
}

fn parsed(text: &str, name: &str) -> Result<Value, UserError> {
    serde_json::from_str(text)
        .map_err(|error| UserError::usage(format!("`{name}`: {error}"), "the file is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_free_memory_is_told_by_a_clock() {
        let bare = r#"{"minimum_free_heap_size":648340,"flash_size":1}"#;
        assert_eq!(normal(bare), r#"{"minimum_free_heap_size":[bytes],"flash_size":1}"#);
        let within = r#"{"text":"{\"minimum_free_heap_size\":\"648340\"}"}"#;
        assert_eq!(normal(within), r#"{"text":"{\"minimum_free_heap_size\":\"[bytes]\"}"}"#);
    }

    #[test]
    fn of_a_long_line_what_differs_is_shown() {
        let long = format!("{}é1{}", "a".repeat(2_000), "b".repeat(2_000));
        let shown = from_difference(&long, 2_001);
        assert!(shown.starts_with("... aaa") && shown.contains("é1bbb"), "{shown}");
        assert!(shown.chars().count() < 500, "{shown}");
        assert_eq!(from_difference("short", 4), "short");
    }
}
