//! What depends on how a device lives: when it says hello, what it asks for at its boot, what it needs to be
//! told, and how it takes its leave.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::Place;
use mcp_hil_core::transcript::{Entry, Mark, What, read_jsonl};
use serde_json::Value;

/// A case of the last run.
fn case<'a>(report: &'a Value, id: &str) -> &'a Value {
    let cases = report["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["case"] == id);
    case.unwrap_or_else(|| panic!("no `{id}` in {report:#}"))
}

/// The requirements that a case found broken.
fn broken(case: &Value) -> Vec<&str> {
    let findings = case["findings"].as_array().expect("findings");
    let slugs = findings.iter().map(|one| one["requirement"].as_str());
    slugs.map(|slug| slug.expect("a requirement")).collect()
}

/// What a case of the last run left behind.
fn transcript(place: &Place, case: &str) -> Vec<Entry> {
    let file = format!("transcripts/{}.jsonl", case.replace('/', "."));
    let text = std::fs::read_to_string(place.latest().join(file)).expect("a transcript");
    read_jsonl(&text).expect("it reads")
}

/// The `Protocol-Version` of the connections of a case.
fn versions(entries: &[Entry]) -> Vec<&str> {
    let ups = entries.iter().filter_map(|entry| match &entry.what {
        What::LinkUp { headers, .. } => headers.get("protocol-version").map(String::as_str),
        _ => None,
    });
    ups.collect()
}

#[test]
fn a_channel_that_is_opened_once_is_closed_before_anything_else_ends_the_connection() {
    let place = Place::new();
    let run = ["run", "--transport", "mqtt", "--variant", "audio-channel-once"];
    let only = ["--only", "channel/", "--only", "session/", "--only", "robustness/batch"];
    place.hil(run.iter().chain(&only)).end().exits(0);
    let report = place.report();
    assert_eq!(case(&report, "channel/goodbye")["verdict"], "pass");
    assert_eq!(case(&report, "session/reconnect")["verdict"], "pass");
}

#[test]
fn each_version_of_the_framing_is_offered_and_the_usual_one_in_the_end() {
    let place = Place::new();
    let only = ["run", "--only", "robustness/binary"];
    place.hil(only).end().exits(0);
    let report = place.report();
    for id in ["robustness/binary", "robustness/binary-v2", "robustness/binary-v3"] {
        assert_eq!(case(&report, id)["verdict"], "pass", "{id}");
    }
    assert_eq!(versions(&transcript(&place, "robustness/binary-v2")), ["2"]);
    assert_eq!(versions(&transcript(&place, "robustness/binary-v3")), ["3", "1"]);
    // The same from the files alone.
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(0);
}

#[test]
fn a_device_that_dies_of_a_version_gets_the_usual_one_back() {
    let place = Place::new();
    let run = ["run", "--mutant", "framing-2-huge-panics"];
    let only = ["--only", "robustness/binary-v2", "--only", "session/server-close"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.report();
    let case = case(&report, "robustness/binary-v2");
    assert!(broken(case).contains(&"liveness.no-panic"), "{case:#}");
    let entries = transcript(&place, "robustness/binary-v2");
    assert_eq!(versions(&entries).last(), Some(&"1"));
}

#[test]
fn a_device_that_may_not_be_restarted_is_offered_no_other_version() {
    let place = Place::new();
    place.write(
        "quiet.toml",
        "name = \"quiet\"\ntarget = \"native\"\n[tools]\ndeny = [\"self.reboot\"]\n",
    );
    let run = ["run", "--dut", "quiet.toml", "--only", "robustness/binary"];
    place.hil(run).end().exits(0);
    let report = place.report();
    let case = case(&report, "robustness/binary-v2");
    assert_eq!(case["verdict"], "not-applicable");
    assert_eq!(case["reason"], "the device's file denies restarts");
}

#[test]
fn a_close_frame_that_nobody_answers_is_found_and_the_device_comes_back() {
    let place = Place::new();
    let run = ["run", "--mutant", "close-ignored"];
    let only = ["--only", "session/server-close", "--only", "robustness/binary-v2"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.report();
    assert_eq!(broken(case(&report, "session/server-close")), ["session.close-answered"]);
    assert_eq!(case(&report, "robustness/binary-v2")["verdict"], "pass");
    let ends = transcript(&place, "session/server-close");
    let closed = ends.iter().find_map(|entry| match &entry.what {
        What::Mark { mark: Mark::Closed { answered, how, .. } } => Some((*answered, how.clone())),
        _ => None,
    });
    let (answered, how) = closed.expect("how it was closed");
    assert!(!answered && how.starts_with("no Close frame within"), "{how}");
}

#[test]
fn a_device_that_insists_on_vision_is_told_so_and_tested_with_it() {
    for mutant in ["initialize-needs-vision", "initialize-needs-vision-silent"] {
        let place = Place::new();
        let run = ["run", "--mutant", mutant, "--deadline", "2"];
        let only = ["--only", "initialize/", "--only", "session/list-first"];
        let done = place.hil(run.iter().chain(&only)).end().exits(1);
        done.prints(&["initialize.vision-optional", "capabilities.vision"]);
        let report = place.report();
        let opened = broken(case(&report, "session/bring-up"));
        assert!(opened.contains(&"initialize.vision-optional"), "{opened:?}");
        // All others are asked with what it needs, and are no failures of their own.
        for id in [
            "initialize/minimal",
            "initialize/full",
            "initialize/version",
            "initialize/repeat",
            "initialize/capabilities",
            "session/list-first",
        ] {
            assert_eq!(case(&report, id)["verdict"], "pass", "{mutant} {id}");
        }
    }
}

/// Who has forgotten its session lives, and is not started again for it.
#[test]
fn a_device_that_answers_nothing_until_a_complete_initialize_is_alive() {
    let place = Place::new();
    let run = ["run", "--mutant", "initialize-incomplete-forgets", "--deadline", "2"];
    let only = ["--only", "initialize/minimal", "--only", "list/first-page"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.report();
    let found = broken(case(&report, "initialize/minimal"));
    assert!(found.contains(&"initialize.minimal"), "{found:?}");
    assert!(found.contains(&"jsonrpc.answer-required"), "{found:?}");
    assert!(!found.contains(&"liveness.answers"), "{found:?}");
    assert_eq!(case(&report, "list/first-page")["verdict"], "pass");
    let again = |entry: &Entry| matches!(&entry.what, What::Mark { mark: Mark::SecondAttempt });
    assert!(!transcript(&place, "initialize/minimal").iter().any(again));
}

/// Asks for a configuration as a device does; what comes back.
fn ask(url: &str) -> Value {
    let rest = url.strip_prefix("http://").expect("a URL");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("somebody listens");
    let body = r#"{"application":{"name":"mine","version":"1.2.3"}}"#;
    let length = body.len();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nDevice-Id: aa:bb:cc:dd:ee:ff\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn a_gateway_tells_devices_to_dial_it_and_nobody_else() {
    for (transport, section, member) in
        [("websocket", "websocket", "url"), ("mqtt", "mqtt", "endpoint")]
    {
        let place = Place::new();
        let run = ["gateway", "--transport", transport, "--token", "hush-hush-hush"];
        let ports = [
            "--listen",
            "127.0.0.1:0",
            "--control-listen",
            "127.0.0.1:0",
            "--http-listen",
            "127.0.0.1:0",
        ];
        let mut live = place.hil(run.iter().chain(&ports)).start();
        let last = |line: String| line.split_whitespace().last().unwrap().to_owned();
        let config = last(live.out("] config "));
        let device = last(live.out("] device "));
        let told = ask(&config);
        let address = told[section][member].as_str().expect("an address");
        assert_eq!(address, device.trim_start_matches("mqtt://"), "{told}");
        assert!(told["server_time"]["timestamp"].is_u64(), "{told}");
        let own = serde_json::json!({"version": "1.2.3", "url": ""});
        assert_eq!(told["firmware"], own, "no device is led into an update: {told}");
        live.out("given to aa:bb:cc:dd:ee:ff");
        live.signal(nix::sys::signal::Signal::SIGINT);
        let done = live.end().exits(0);
        assert!(!done.stdout.contains("hush-hush"), "{done}");
    }
}

#[test]
fn a_gateway_that_cannot_tell_devices_their_configuration_does_not_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let place = Place::new();
    let ports = ["--listen", "127.0.0.1:0", "--control-listen", "127.0.0.1:0"];
    let run = ["gateway", "--http-listen", &address];
    let done = place.hil(run.iter().chain(&ports)).end().exits(3);
    done.says(&["cannot serve configurations to devices", "hint: ", "--http-listen"]);
}

/// The volume is told late: what was read before a message is on its way to what an earlier call had set. The
/// message is tried again from there, and the case goes on from where it was.
#[test]
fn a_case_goes_on_from_what_it_had_set_when_a_message_was_tried_again() {
    let place = Place::new();
    let round = "  - call: {tool: self.audio_speaker.set_volume, arguments: {volume: 50}}
  - status: {}
    expect: {requirement: volume.set, json: {audio_speaker: {volume: 50}}}
  - call: {tool: self.audio_speaker.set_volume, arguments: {volume: 35}}
  - payload:
      jsonrpc: \"2.0\"
      method: tools/call
      params: {name: self.audio_speaker.set_volume, arguments: {volume: 65}}
    unchanged: notifications.id-less-no-effect
  - status: {}
    expect: {requirement: volume.set, json: {audio_speaker: {volume: 35}}}
";
    let steps = format!(
        "title: What is set twice within the limit is heard late\nneeds: [status, volume]\nsteps:\n{}",
        round.repeat(5)
    );
    let file = place.write("late.yaml", steps);
    let run = ["run", "--dut", "native", "--variant", "stock-life"];
    let rules = ["--strict", "--rules", "xiaozhi", "--rules", "volume-workflow"];
    let only = ["--scenario", file.to_str().unwrap()];
    place.hil([&run[..], &rules, &only].concat()).end().exits(0);
}
