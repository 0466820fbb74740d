//! The vectors of `firmware/vectors/session.json` with every body of the reference device: what it answers
//! and prints is the same byte for byte, whether it is a process or an image in an emulator. The
//! device's own tests read the same file.
//!
//! Where an emulator is not installed its tests fail, unless `MCP_HIL_LEAVE_OUT` names it (`qemu`, `qemu-esp`).

use crate::support::{Place, chip_image, qemu, virt_image};
use mcp_hil_core::transcript::{Entry, Role, What, read_jsonl};
use rstest::rstest;
use serde_json::Value;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/vectors/session.json");
    let text = std::fs::read_to_string(path).expect("the vectors");
    serde_json::from_str(&text).expect("JSON")
}

/// The vectors as a scenario, which any device can be given.
fn scenario(vectors: &Value) -> String {
    let steps = vectors["vectors"].as_array().unwrap().iter();
    let steps = steps.map(|vector| match vector["restarts"] == true {
        true => "  - reboot: {}\n".to_owned(),
        // JSON text is YAML text.
        false => format!("  - text: {}\n", vector["send"]),
    });
    format!("title: The vectors\nsteps:\n{}", steps.collect::<String>())
}

/// A message, and what came back for it.
struct Exchange {
    sent: String,
    received: Vec<String>,
}

/// What the device said over one transport.
struct Said {
    /// Before the first message.
    opening: Vec<String>,
    exchanges: Vec<Exchange>,
    /// Its console, without times.
    console: Vec<String>,
}

/// Reads transcripts, in order. What varies is replaced by its name; what the harness asks for itself
/// is left out.
fn read(entries: &[Entry], version: &str) -> Said {
    let mut said = Said { opening: Vec::new(), exchanges: Vec::new(), console: Vec::new() };
    let mut session = String::from("no session yet");
    let mut own = Vec::new();
    let version = format!(r#""version":"{version}""#);
    for entry in entries {
        match &entry.what {
            What::LinkUp { session_id, .. } => session.clone_from(session_id),
            What::Console { line } => {
                said.console.push(without_time(&line.replace(&session, "${session}")))
            }
            What::Sent { role, frame } => {
                let sent = String::from_utf8_lossy(frame.bytes()).into_owned();
                let id = id(&sent);
                let is_vector = *role == Role::Stimulus && entry.case.starts_with("scenario/");
                if is_vector {
                    said.exchanges.push(Exchange {
                        sent: sent.replace(&session, "${session}"),
                        received: Vec::new(),
                    });
                } else {
                    own.extend(id);
                }
            }
            What::Received { frame } => {
                let Ok(text) = std::str::from_utf8(frame.bytes()) else {
                    continue;
                };
                let is_own = id(text).is_some_and(|id| own.contains(&id));
                // Sound comes in frames of its own.
                if is_own || !text.starts_with('{') {
                    continue;
                }
                let text = text.replace(&session, "${session}");
                let text = text.replace(&version, r#""version":"${version}""#);
                match said.exchanges.last_mut() {
                    Some(exchange) => exchange.received.push(text),
                    None => said.opening.push(text),
                }
            }
            _ => {}
        }
    }
    said
}

/// The id of the request or the answer that a message brings.
fn id(message: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(message).ok()?;
    let id = message["payload"].get("id")?;
    (!id.is_null()).then(|| id.clone())
}

/// A console line with `T` in the place of its time.
fn without_time(line: &str) -> String {
    match (line.split_once(" ("), line.split_once(") ")) {
        (Some((level, _)), Some((_, rest))) if level.len() == 1 => format!("{level} (T) {rest}"),
        _ => line.into(),
    }
}

/// A list that may be another one for each transport.
fn list(value: &Value, transport: &str) -> Vec<String> {
    let list = value.get(transport).unwrap_or(value).as_array().unwrap();
    let text = |one: &Value| one.as_str().unwrap().to_owned();
    list.iter().map(text).collect()
}

/// Carries the vectors out on a body, and compares.
fn hold_to_the_vectors(dut: &[&str], transport: &str) {
    let vectors = vectors();
    let place = Place::new();
    let scenario = place.write("vectors.yaml", scenario(&vectors));
    place
        .hil(["run", "--transport", transport, "--dut"].iter().chain(dut))
        .arg("--scenario")
        .arg(scenario)
        .end()
        .exits(0);
    let mut entries = Vec::new();
    for name in ["session.bring-up", "scenario.vectors"] {
        let text = place.read(&format!("target/mcp-hil/latest/transcripts/{name}.jsonl"));
        entries.extend(read_jsonl(&text).expect("a transcript"));
    }
    let version = entries.iter().find_map(|entry| match &entry.what {
        What::Console { line } => Some(line.split_once("App version:")?.1.trim()),
        _ => None,
    });
    let said = read(&entries, version.expect("the console tells the version"));

    let hello = vectors["hello"][transport].as_str().unwrap().to_owned();
    let mut opening = vec![hello];
    opening.extend(list(&vectors["greeting"], transport));
    let wanted = vectors["vectors"].as_array().unwrap();
    assert_eq!(said.exchanges.len(), wanted.len());
    assert_eq!(said.opening, opening);
    let mut lines = Vec::new();
    let mut after = Vec::new();
    for (vector, exchange) in wanted.iter().zip(&said.exchanges) {
        let name = &vector["name"];
        assert_eq!(exchange.sent, vector["send"].as_str().unwrap(), "{name}");
        let mut answers = std::mem::take(&mut after);
        answers.extend(list(&vector["answers"], transport));
        if vector["restarts"] == true {
            // The new session begins before the next message, and its greeting comes with the answer to
            // that.
            answers.push(opening[0].clone());
            after = opening[1..].to_vec();
        }
        assert_eq!(exchange.received, answers, "{name}");
        if !lines.iter().any(|line: &String| line.ends_with("Rebooting...")) {
            lines.extend(list(&vector["console"], transport));
        }
    }
    let shown = said.console.windows(lines.len()).any(|part| part == lines);
    assert!(
        shown,
        "expected these lines, and none between them: {lines:#?}\ngot: {:#?}",
        said.console
    );
}

#[rstest]
fn a_process(#[values("websocket", "mqtt")] transport: &str) {
    hold_to_the_vectors(&["native"], transport);
}

#[rstest]
fn an_image_in_stock_qemu(#[values("websocket", "mqtt")] transport: &str) {
    if qemu() {
        // Building it may take longer than any run.
        virt_image();
        hold_to_the_vectors(&["qemu"], transport);
    }
}

#[rstest]
fn an_image_for_a_chip_in_espressifs_qemu(#[values("websocket", "mqtt")] transport: &str) {
    if let Some(image) = chip_image() {
        hold_to_the_vectors(&["qemu-esp", "--firmware", &image], transport);
    }
}

/// Sends the largest message that the device takes (`reference_device::LARGEST_MESSAGE`) and one that is
/// larger by a byte: that is refused with a reason, and the device lives on without a restart. All this
/// in the memory of a chip.
fn hold_to_the_largest_message(dut: &[&str], transport: &str) {
    const LARGEST: usize = 65_535;
    const MEMORY_OF_A_CHIP: u64 = 400 << 10;
    let text = |bytes: usize| {
        let around = r#"{"type":"mcp-hil","text":""}"#.len();
        let text = format!(r#"{{"type":"mcp-hil","text":"${{repeat:x:{}}}"}}"#, bytes - around);
        format!(
            "  - text: '{text}'\n    expect: {{requirement: robustness.long-string, alive: true}}\n"
        )
    };
    let place = Place::new();
    let [largest, larger] = [text(LARGEST), text(LARGEST + 1)];
    let scenarios = [
        place.write(
            "1-largest.yaml",
            format!("title: The largest message, and a larger one\nsteps:\n{largest}{larger}"),
        ),
        place.write(
            "2-after.yaml",
            "title: It lives\nsteps:\n  - request: {method: ping, params: {}}\n    expect: {requirement: robustness.long-string, answer: result}\n",
        ),
    ];
    let mut run = place.hil(["run", "--transport", transport, "--dut"].iter().chain(dut));
    for scenario in &scenarios {
        run = run.arg("--scenario").arg(scenario);
    }
    let done = run.end();

    let report = place.report();
    let verdicts = report["cases"].as_array().unwrap().iter();
    let verdicts: Vec<_> = verdicts
        .map(|case| (case["case"].as_str().unwrap(), case["verdict"].as_str().unwrap()))
        .collect();
    assert!(verdicts.contains(&("scenario/2-after", "pass")), "{verdicts:?}");
    let text = place.read("target/mcp-hil/latest/transcripts/scenario.1-largest.jsonl");
    let entries = read_jsonl(&text).expect("a transcript");
    let answered = entries.iter().filter(|entry| matches!(entry.what, What::Received { .. }));
    assert!(answered.count() > 0, "the largest message silences it");
    let ends: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::LinkDown { why, .. } => Some(why.as_str()),
            _ => None,
        })
        .collect();
    if transport == "websocket" {
        let reason =
            "the device sent a Close frame with code 1009 and reason `at most 65535 bytes`";
        assert_eq!(ends, [reason]);
    } else {
        assert_eq!(ends.len(), 1, "{ends:?}");
    }
    // To close is a lawful refusal: over MQTT in any way, for there are no codes.
    assert!(verdicts.contains(&("scenario/1-largest", "pass")), "{verdicts:?}, {ends:?}");
    done.exits(0);

    let console = place.read("target/mcp-hil/latest/console.log");
    assert!(console.contains("Message of 65536 bytes refused, at most 65535 are taken"));
    assert_eq!(console.matches("rst:0x").count(), 1, "{console}");
    let free = console.lines().find_map(|line| {
        let (_, rest) = line.split_once("SystemInfo: free sram: ")?;
        rest.split(' ').next()?.parse().ok()
    });
    let free: u64 = free.expect("the console tells what is free");
    assert!(free < MEMORY_OF_A_CHIP, "{free}");
}

#[rstest]
fn a_process_has_a_largest_message(#[values("websocket", "mqtt")] transport: &str) {
    hold_to_the_largest_message(&["native"], transport);
}

#[rstest]
fn an_image_in_stock_qemu_has_a_largest_message(#[values("websocket", "mqtt")] transport: &str) {
    if qemu() {
        virt_image();
        hold_to_the_largest_message(&["qemu"], transport);
    }
}

#[rstest]
fn an_image_for_a_chip_has_a_largest_message(#[values("websocket", "mqtt")] transport: &str) {
    if let Some(image) = chip_image() {
        hold_to_the_largest_message(&["qemu-esp", "--firmware", &image], transport);
    }
}

/// A comparison that sees no difference would show nothing.
#[test]
#[should_panic(expected = "a cursor that is no tool")]
fn another_wording_is_noticed() {
    let dut = ["native", "--variant", "error-messages-alike"];
    hold_to_the_vectors(&dut, "websocket");
}
