//! Whatever a device does, a run ends with a verdict and a written report.

mod device;
use crate::support::{Place, ended, native};
use device::{Way, play};
use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::Value;

/// A part of the suite that gets far enough for each misdeed.
const SOME: [&str; 6] =
    ["--only", "list/pages", "--only", "ids/integers", "--only", "robustness/long-string"];

#[rstest]
#[case::good(Way::Good, &[0, 1], "PASS")]
#[case::dies_before_hello(Way::DiesBeforeHello, &[1], "liveness.link-kept")]
#[case::dies_after_hello(Way::DiesAfterHello, &[1], "liveness.link-kept")]
#[case::never_answers(Way::NeverAnswers, &[1], "answers neither")]
#[case::never_speaks(Way::NeverSpeaks, &[1], "hello")]
#[case::garbage(Way::Garbage, &[1], "JSON")]
#[case::floods(Way::Floods, &[1], "MAX_UNASKED_FRAMES_PER_CASE")]
#[case::huge(Way::Huge, &[1], "MAX_MESSAGE_BYTES")]
#[case::deep(Way::Deep, &[1], "MAX_JSON_DEPTH")]
#[case::endless_pages(Way::EndlessPages, &[1], "MAX_PAGES")]
#[case::same_cursor(Way::SameCursor, &[1], "again")]
#[case::two_connections(Way::Twice, &[0, 1], "PASS")]
#[case::hangs_and_dials_again(Way::Hangs, &[1], "the device opened another connection")]
#[case::hello_twice(Way::HelloTwice, &[1], "hello")]
#[case::closes_after_answers(Way::ClosesAfterAnswers, &[1], "liveness.link-kept")]
#[case::closes_instead(Way::ClosesInstead, &[1], "liveness.link-kept")]
#[case::not_utf8(Way::NotUtf8, &[1], "UTF-8")]
#[case::binary_junk(Way::BinaryJunk, &[1], "no answer within")]
#[case::no_websocket(Way::NoWebSocket, &[1], "WebSocket")]
#[case::stops_reading(Way::StopsReading, &[1], "no answer within")]
#[case::after_strangers(Way::AfterStrangers, &[0, 1], "PASS")]
fn a_bad_device_gets_a_verdict(#[case] way: Way, #[case] codes: &[i32], #[case] named: &str) {
    let place = Place::new();
    let args = ["run", "--strict", "--dut", "wait", "--listen", "127.0.0.1:0", "--deadline", "0.3"];
    let mut run = place.hil(args.iter().chain(&["--connect-deadline", "5"]).chain(&SOME)).start();
    let _device = play(way, &run.url());
    let done = run.end();
    let report = ended(&place, &done, codes);
    assert!(done.stdout.contains(named), "no `{named}`\n{done}");
    assert!(!report["cases"].as_array().unwrap().is_empty());
}

/// What is owed on the connection that hangs is missing; all else is served on the one that took its place.
#[test]
fn a_device_that_dials_anew_beside_a_connection_that_hangs_is_tested_on_the_new_one() {
    let place = Place::new();
    let args = ["run", "--dut", "wait", "--listen", "127.0.0.1:0", "--connect-deadline", "5"];
    let only = ["--only", "list/pages", "--only", "ids/integers", "--only", "ids/large"];
    let mut run = place.hil(args.iter().chain(&only)).start();
    let _device = play(Way::Hangs, &run.url());
    let report = ended(&place, &run.end(), &[1]);
    let cases = report["cases"].as_array().unwrap();
    let failed: Vec<_> = cases.iter().filter(|case| case["verdict"] == "fail").collect();
    assert_eq!(failed.len(), 1, "{cases:#?}");
    let found: Vec<_> = failed[0]["findings"].as_array().unwrap().iter().collect();
    assert!(found.iter().any(|it| it["requirement"] == "liveness.link-kept"), "{found:#?}");
    assert!(found.iter().all(|it| it["requirement"] != "liveness.answers"), "{found:#?}");
    let unclear = |case: &&Value| case["verdict"] == "inconclusive";
    assert_eq!(cases.iter().filter(unclear).count(), 0, "{cases:#?}");
}

/// Somebody ends the device's process whenever it is explored: nobody knows what it has, and no case is told to be none
/// for it.
#[test]
fn a_device_that_could_not_be_explored_is_not_told_to_lack_anything() {
    let place = Place::new();
    // It answers no call: that it is explored takes until it is ended.
    let device = format!(
        "exec:'{}' --mutant calls-silent | while read -r line; do case \"$line\" in \
         *nitialize*|*ession*) kill -KILL $$;; esac; done",
        native().display()
    );
    let args = ["run", "--dut", &device, "--only", "volume/set"];
    let report = ended(&place, &place.hil(args).end(), &[1, 3]);
    let cases = report["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["case"] == "volume/set").expect("it is told");
    assert_eq!(case["verdict"], "inconclusive", "{cases:#?}");
}

/// What a late answer takes back has not ended the run.
#[test]
fn a_late_answer_does_not_stop_a_run_that_stops_for_failures() {
    let place = Place::new();
    let args = ["run", "--dut", "wait", "--listen", "127.0.0.1:0", "--deadline", "0.5"];
    let more = ["--max-fail", "1", "--only", "ids/integers"];
    let mut run = place.hil(args.iter().chain(&more)).start();
    let _device = play(Way::Late, &run.url());
    let done = run.end();
    let report = ended(&place, &done, &[0, 1]);
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.iter().any(|case| case["case"] == "ids/integers"), "{done}");
    assert_eq!(cases[0]["verdict"], "pass", "{done}");
}

/// Cases and requirements of what was found, and how often frames of a role were sent.
fn outcome(way: Way) -> (Vec<(String, String)>, usize) {
    let place = Place::new();
    let args = ["run", "--dut", "wait", "--listen", "127.0.0.1:0", "--deadline", "2"];
    let cases = ["--only", "envelope/", "--only", "list/", "--only", "notifications/"];
    let mut run = place.hil(args.iter().chain(&cases)).start();
    let _device = play(way, &run.url());
    let done = run.end();
    let report = ended(&place, &done, &[0, 1]);
    let cases = report["cases"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<_> = cases
        .iter()
        .flat_map(|case| {
            let findings = case["findings"].as_array().into_iter().flatten();
            findings.map(|finding| (text(&case["case"]), text(&finding["requirement"])))
        })
        .collect();
    found.sort();
    let replies = cases
        .iter()
        .filter_map(|case| case["transcript"].as_str())
        .map(|name| place.read(&format!("target/mcp-hil/latest/{name}")))
        .map(|text| text.matches(r#""role":"reply""#).count())
        .sum();
    (found, replies)
}

#[rstest]
#[case::asks(Way::Asks, 2)]
#[case::talks(Way::Talks, 0)]
fn what_a_device_may_say_by_itself_is_not_held_against_it(
    #[case] way: Way,
    #[case] replies: usize,
) {
    let (quiet, none) = outcome(Way::Good);
    let (found, answered) = outcome(way);
    assert_eq!(found, quiet);
    assert_eq!((none, answered), (0, replies), "answers to requests of the device");
}

#[rstest]
#[case::silent("sleep 1000", &["within 1 s", "its console showed nothing"])]
#[case::talks("echo I am here; exec sleep 1000", &["within 1 s", "I am here"])]
#[case::floods("exec yes", &["within 1 s", "\n  y\n"])]
#[case::ends("echo cannot find wifi; exit 7", &["ended before it connected", "cannot find wifi"])]
#[case::not_there("/nowhere/device --now", &["ended before it connected", "/nowhere/device"])]
fn a_device_that_never_connects_is_the_benchs_trouble(#[case] line: &str, #[case] named: &[&str]) {
    let place = Place::new();
    let dut = format!("exec:{line}");
    let done = place.hil(["run", "--dut", &dut, "--connect-deadline", "1"]).end();
    let report = ended(&place, &done, &[3]);
    let told = report["summary"]["bench_error"].as_str().expect("the reason stands in the record");
    for text in named.iter().chain(&["hint: the device must connect to", "--connect-deadline"]) {
        assert!(told.contains(text), "no `{text}` in: {told}");
    }
    assert!(done.stdout.contains("bench error"), "{done}");
}

#[test]
fn who_waits_in_vain_is_told_where_and_how_long() {
    let place = Place::new();
    let args = ["run", "--dut", "wait", "--listen", "127.0.0.1:0", "--connect-deadline", "0.4"];
    let mut run = place.hil(args).start();
    let url = run.url();
    let done = run.end();
    let report = ended(&place, &done, &[3]);
    let told = report["summary"]["bench_error"].as_str().unwrap();
    assert!(told.contains(&format!("no device connected to `{url}` within 0.4 s\n")), "{told}");
    assert!(done.stderr.contains("waiting up to 0.4 s"), "{done}");
}

#[test]
fn who_connected_in_another_way_is_named_when_nobody_connects() {
    use std::io::{Read as _, Write as _};
    let place = Place::new();
    let args = ["run", "--dut", "wait", "--listen", "127.0.0.1:0", "--connect-deadline", "1"];
    let mut run = place.hil(args).start();
    let url = run.url();
    let address = url.trim_start_matches("ws://").split('/').next().unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    let report = ended(&place, &run.end(), &[3]);
    let told = report["summary"]["bench_error"].as_str().unwrap();
    assert!(told.contains("a plain HTTP request, not a WebSocket handshake"), "{told}");
    assert!(told.contains("it speaks TLS, as for an address that begins with `wss://`"), "{told}");
    assert!(!told.contains("--transport"), "it has not asked for its configuration: {told}");
}

/// Who asks what to dial, and never dials it, may speak the other protocol.
#[rstest]
#[case::websocket("websocket", "a device that speaks MQTT needs `--transport mqtt`")]
#[case::mqtt("mqtt", "a device that speaks WebSocket needs `--transport websocket`")]
fn who_asks_for_its_configuration_and_never_dials_is_told_of_the_other_transport(
    #[case] transport: &str,
    #[case] hint: &str,
) {
    let place = Place::new();
    let ask = r#"address=${MCP_HIL_OTA_URL#http://}
address=${address%%/*}
exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
printf 'POST /xiaozhi/ota/ HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}' >&3
cat <&3
exec sleep 1000
"#;
    place.write("ask.sh", ask);
    let args = ["run", "--dut", "exec:bash ask.sh", "--connect-deadline", "2", "--transport"];
    let report = ended(&place, &place.hil(args.iter().chain(&[transport])).end(), &[3]);
    let told = report["summary"]["bench_error"].as_str().unwrap();
    assert!(told.contains(hint), "{told}");
}

/// A token that is built into a device is wrong, and may be made the right one.
#[test]
fn a_token_of_the_devices_own_is_told_with_the_option_for_it() {
    for (mutant, is_told) in
        [("header-authorization-cut", true), ("header-authorization-missing", false)]
    {
        let place = Place::new();
        let args = [
            "run",
            "--dut",
            "native",
            "--mutant",
            mutant,
            "--only",
            "hello/connect",
            "--inputs",
            "0",
        ];
        let done = place.hil(args).end().exits(1);
        assert!(done.stdout.contains("hello.header-authorization"), "{done}");
        let told = done.stdout.contains("is given with `--token`,");
        assert_eq!(told, is_told, "{mutant}: {done}");
    }
}

#[test]
fn a_console_that_floods_is_cut_and_the_device_is_judged_all_the_same() {
    let place = Place::new();
    let dut = format!("exec:yes & exec '{}'", native().display());
    let done = place.hil(["run", "--dut", &dut, "--only", "ids/", "--only", "list/"]).end();
    ended(&place, &done, &[0, 1]);
    let console = place.read("target/mcp-hil/latest/console.log");
    let named = ["MAX_BACKLOG_LINES", "MAX_CONSOLE_LINES_PER_CASE"];
    let told = [console.as_str(), &done.stdout].concat();
    assert!(named.iter().any(|name| told.contains(name)), "{done}");
    assert!(console.len() < 10_000_000, "{} bytes of console", console.len());
}

/// A device that dials, and never answers a message that is no JSON; it holds the pipe open and
/// does not listen to polite signals.
fn stuck(pipe: &crate::support::Pipe) -> String {
    format!(
        "exec:exec 3>'{}'; trap '' TERM INT HUP; sleep 1000 & '{}' --mutant garbage-hangs; wait",
        pipe.path.display(),
        native().display()
    )
}

#[rstest]
#[case::ctrl_c(Signal::SIGINT)]
#[case::terminate(Signal::SIGTERM)]
#[case::terminal_closed(Signal::SIGHUP)]
fn a_run_that_is_stopped_reports_what_was_done(#[case] signal: Signal) {
    let place = Place::new();
    let pipe = place.pipe("alive");
    let args = ["run", "--deadline", "1000", "--format", "json", "--dut", &stuck(&pipe)];
    let mut run = place
        .hil(args.iter().chain(&["--only", "ids/", "--only", "robustness/garbage-text"]))
        .start();
    pipe.opened();
    run.out(r#""event":"case-started","dut":"exec","transport":"websocket","case":"robustness/"#);
    run.signal(signal);
    let done = run.end().exits(130);
    pipe.closed();
    let events = done.events();
    let last = events.last().unwrap();
    assert_eq!(last["event"], "run-finished");
    assert_eq!(last["interrupted"], true);
    let report = place.both_reports();
    assert_eq!(report["summary"]["exit"], 130);
    let cases: Vec<_> =
        report["cases"].as_array().unwrap().iter().map(|case| &case["case"]).collect();
    assert!(cases.len() >= 5 && cases.contains(&&Value::from("ids/integers")), "{cases:?}");
    let stopped = report["cases"].as_array().unwrap().iter();
    let stopped = stopped.filter(|case| case["case"] == "robustness/garbage-text");
    let verdicts: Vec<_> = stopped.map(|case| &case["verdict"]).collect();
    assert_eq!(verdicts, ["inconclusive"]);
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(130);
}

#[test]
fn a_run_that_is_stopped_puts_the_settings_back() {
    let place = Place::new();
    place.write(
        "mine.yaml",
        "title: t\nsteps:\n\
         \x20 - call: {tool: self.screen.set_theme, arguments: {theme: dark}}\n\
         \x20 - call: {tool: self.screen.set_brightness, arguments: {brightness: 33}}\n\
         \x20 - audio: 50000\n",
    );
    let (pipe, lines) = place.lines("console");
    let device = format!("exec:'{}' | tee '{}'", native().display(), pipe.display());
    let run = place.hil(["run", "--scenario", "mine.yaml", "--dut", &device]).start();
    let shows = |text: &str| {
        let mut lines = std::iter::from_fn(|| lines.recv_timeout(crate::support::LATEST).ok());
        assert!(lines.any(|line| line.contains(text)), "no `{text}`");
    };
    shows("Set brightness to 33");
    run.signal(Signal::SIGINT);
    run.end().exits(130);
    let text = place.read("target/mcp-hil/latest/transcripts/scenario.mine.jsonl");
    let answered = |step: &str, sent: &str| {
        let of = |line: &&str| line.contains(&format!("\"step\":\"{step}\""));
        let lines: Vec<&str> = text.lines().filter(of).collect();
        assert!(lines.iter().any(|line| line.contains(sent)), "{text}");
        assert!(lines.iter().any(|line| line.contains("\"received\"")));
    };
    answered("settings.self.screen.set_brightness", r#"\"brightness\":75"#);
    answered("settings.self.screen.set_theme", r#"\"theme\":\"light\""#);
}

#[test]
fn a_run_can_be_stopped_while_it_waits_for_the_device() {
    let place = Place::new();
    let mut run = place.hil(["run", "--dut", "wait", "--listen", "127.0.0.1:0"]).start();
    run.url();
    run.signal(Signal::SIGINT);
    let done = run.end().exits(130);
    assert!(done.stdout.contains("Summary"), "{done}");
    assert_eq!(place.both_reports()["summary"]["interrupted"], true);
}

#[test]
fn a_killed_harness_leaves_no_device_behind() {
    let place = Place::new();
    let pipe = place.pipe("alive");
    let args = ["run", "--deadline", "1000", "--format", "json", "--dut", &stuck(&pipe)];
    let mut run = place.hil(args.iter().chain(&["--only", "robustness/garbage-text"])).start();
    pipe.opened();
    run.out(r#""event":"case-started","#);
    run.signal(Signal::SIGKILL);
    assert_eq!(run.end().code, None);
    pipe.closed();
}
