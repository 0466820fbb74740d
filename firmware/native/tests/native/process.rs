//! The process as the harness sees it: environment in, frames and console out.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::json;

use crate::program::{PATIENCE, PROGRAM};
use crate::server::Bench;

#[test]
fn a_session_from_the_handshake_to_the_next_one() {
    let bench = Bench::start(&[]);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    let header = |name: &str| {
        link.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    };
    assert_eq!(header("authorization"), "Bearer t0ken-0123456789");
    assert_eq!(header("protocol-version"), "1");
    assert_eq!(header("device-id").split(':').count(), 6);
    assert_eq!(header("client-id").len(), 36);

    let hello = link.json();
    assert_eq!(hello["type"], "hello");
    assert_eq!(hello["features"]["mcp"], true);
    link.greet("first");
    let listen = link.json();
    assert_eq!((&listen["type"], &listen["session_id"]), (&json!("listen"), &json!("first")));

    let answer = link.request(1, "initialize", &json!({"capabilities": {}}));
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");

    let mut names = BTreeSet::new();
    let mut cursor = json!("");
    let mut pages = 0;
    while !cursor.is_null() {
        pages += 1;
        let answer = link.request(100 + pages, "tools/list", &json!({"cursor": cursor}));
        for tool in answer["result"]["tools"].as_array().expect("tools") {
            assert!(names.insert(tool["name"].as_str().expect("a name").to_string()), "{tool}");
        }
        cursor = answer["result"]["nextCursor"].clone();
    }
    assert!(pages >= 3 && names.len() >= 30, "{} tools on {pages} pages", names.len());
    for name in &names {
        assert!(bench.device.console_has(&format!("MCP: Add tool: {name}")));
    }

    let call = json!({"name": "self.audio_speaker.set_volume", "arguments": {"volume": 41}});
    assert_eq!(link.request(2, "tools/call", &call)["result"]["isError"], false);
    assert!(bench.device.console_has("AudioCodec: Set output volume to 41"));

    // The connection is dropped without a word; the device comes back and keeps its settings.
    drop(link);
    let mut link = bench.accept(PATIENCE).expect("the device dials again");
    assert_eq!(link.json()["type"], "hello");
    link.greet("second");
    assert_eq!(link.json()["session_id"], "second");
    let status = link.request(3, "tools/call", &json!({"name": "self.get_device_status"}));
    let text = status["result"]["content"][0]["text"].as_str().expect("text").to_string();
    assert!(text.contains(r#""volume":41"#), "{text}");
    assert!(!bench.device.console().iter().any(|line| line.contains("t0ken")));
}

/// As a machine that is suspended does it to its programs, and a debugger.
#[test]
fn a_program_that_was_stopped_and_goes_on_keeps_its_connection() {
    let bench = Bench::start(&[]);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    link.greet("s");
    for id in 1..=20 {
        assert!(link.request(id, "ping", &json!({})).get("result").is_some(), "{id}");
        // It waits for the next message, as a rule, when the signal arrives.
        bench.device.signal("STOP");
        bench.device.signal("CONT");
    }
}

#[test]
fn reboot_answers_prints_the_banner_and_comes_back() {
    let bench = Bench::start(&[]);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    link.greet("s");
    assert!(link.request(1, "tools/call", &json!({"name": "self.reboot"})).get("result").is_some());
    assert!(bench.accept(PATIENCE).is_some(), "it dials again");
    assert!(bench.device.console_has("Application: Rebooting..."));
    assert!(bench.device.console_has("rst:0xc (RTC_SW_CPU_RST)"));
}

#[test]
fn it_gives_up_when_nobody_listens() {
    assert_eq!(Bench::start(&[]).abandon(), Some(1));
}

#[test]
fn late_answers_are_late() {
    let bench = Bench::start(&["--delay-ms", "80"]);
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    link.greet("s");
    let begin = std::time::Instant::now();
    link.request(1, "ping", &json!({}));
    assert!(begin.elapsed().as_millis() >= 80);
}

#[test]
fn the_mutants_are_listed_by_area() {
    let output = Command::new(PROGRAM).arg("--list-mutants").output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert!(rows.len() >= 110, "{} mutants", rows.len());
    let names: BTreeSet<_> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names.len(), rows.len(), "a name is taken twice");
    for row in &rows {
        assert_eq!(row.len(), 3, "{row:?}");
        assert!(
            row[0]
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c)),
            "{row:?}"
        );
        assert!(row[2].ends_with('.'), "{row:?}");
    }
    assert!(rows.is_sorted_by_key(|row| row[1]));
}

#[test]
fn a_mistyped_mutant_is_a_usage_error_with_a_hint() {
    let output =
        Command::new(PROGRAM).args(["--mutant", "id-int32-saturate"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(text.contains("hint: did you mean `id-int32-saturated`?"), "{text}");
}

#[test]
fn without_an_address_it_is_not_run() {
    let output = Command::new(PROGRAM).env_remove("MCP_HIL_WS_URL").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}
