//! What the reports say: every visible line, the record, and JUnit as its readers see it.

#![cfg(not(feature = "hil"))]

#[path = "report/answers.rs"]
mod answers;
#[path = "report/data.rs"]
mod data;
#[path = "report/github.rs"]
mod github;
#[path = "report/junit.rs"]
mod junit;
#[path = "../boards/tests/missing/mod.rs"]
mod missing;
#[path = "report/schema.rs"]
mod schema;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use data::{
    Shared, case, each_status, green, mixed, no_code, no_description, record, shown, started,
    style, whole_run,
};
use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_record::Ndjson;
use mcp_hil_record::ReadError;
use mcp_hil_record::Record;
use mcp_hil_record::ReportFile;
use mcp_hil_record::Reporter;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{CaseReport, DutInfo, Event, RunStarted, Summary};
use mcp_hil_report::{Progress, Style, Terminal, exit_meaning};

#[test]
fn every_status_has_its_line() {
    let text = shown(style(), &whole_run());
    insta::assert_snapshot!("statuses", text);
    // Status lines of long names may be longer; what is explained below them is not.
    let rows = text.lines().filter(|line| line.starts_with(&" ".repeat(13)));
    for row in rows.filter(|row| !row.contains("repro")) {
        assert!(row.chars().count() <= 80, "more than 80 columns: {row}");
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let colourful = shown(Style { color: true, ..style() }, &whole_run());
    let plain: String = colourful
        .split('\u{1b}')
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once('m').unwrap().1 })
        .collect();
    // Labels without colour lose the spaces at the end of their line, which nobody sees.
    let trimmed: String = plain.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    assert_eq!(trimmed, shown(style(), &whole_run()));
    insta::assert_snapshot!("colours", colourful.replace('\u{1b}', "ESC"));
}

/// What is to be copied, and lines of cases with long names, may be longer.
#[test]
fn on_a_terminal_the_lines_around_the_cases_fit() {
    let text = shown(Style { wraps: true, ..style() }, &whole_run());
    let is_of_run = |line: &&str| {
        ["mcp-hil ", "Starting", " Summary"].iter().any(|word| line.starts_with(word))
    };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().filter(|line| is_of_run(line)).count() >= 3, "{text}");
    for line in lines.iter().filter(|line| is_of_run(line)) {
        assert!(line.chars().count() <= 80, "more than 80 columns: {line}");
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&text), words(&shown(style(), &whole_run())));
}

#[test]
fn verbose_tells_what_was_counted_only() {
    insta::assert_snapshot!("verbose", shown(Style { verbose: true, ..style() }, &each_status()));
}

#[test]
fn quiet_tells_what_went_wrong_and_the_sum() {
    let quiet = Style { quiet: true, ..style() };
    let text = shown(quiet, &whole_run());
    for word in ["FAIL", "INCONC", "ERROR", "Summary", "Starting"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    for word in ["PASS [", "WARN [", "KNOWN [", "N/A [", "Ready ["] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_failure_holds_all_that_a_bug_report_needs() {
    let flood = format!(r#"{{"text":"{}"}}"#, "音量".repeat(3_000));
    let findings = vec![
        Finding { step: Some("call it again".into()), ..no_code() },
        Finding {
            requirement: "ids.echo".into(),
            expected: "id 7, as a number, in the one answer to `tools/call`; strings and clamped numbers are other ids".into(),
            received: "\u{1b}[2J\u{1b}[31mid\0 \"7\"\u{202e}\r\n\u{9b}1A".into(),
            ..no_code()
        },
        Finding { requirement: "own.rule".into(), received: flood, sent: None, seq: None, ..no_code() },
        Finding { received: String::new(), known: true, ..no_code() },
        no_description(),
    ];
    let case = CaseReport { findings, ..case("errors/unknown-method", Verdict::Fail) };
    insta::assert_snapshot!("failure", shown(style(), &[Event::CaseFinished(case)]));
}

#[test]
fn the_same_evidence_is_printed_once() {
    let failed = |id: &str, findings: Vec<Finding>| {
        Event::CaseFinished(CaseReport { findings, ..case(id, Verdict::Fail) })
    };
    let otherwise = Finding { expected: "error.code is -32601".into(), ..no_code() };
    let elsewhere = CaseReport {
        dut: "s3-bench".into(),
        transport: "mqtt".into(),
        findings: vec![no_code()],
        ..case("errors/unknown-method", Verdict::Fail)
    };
    insta::assert_snapshot!(
        "again",
        shown(
            style(),
            &[
                failed("errors/unknown-method", vec![no_code()]),
                failed("errors/unknown-tool", vec![no_code(), otherwise, no_code()]),
                Event::CaseFinished(elsewhere),
            ],
        )
    );
}

#[test]
fn a_late_answer_revises_the_line() {
    let late = Finding { late: true, ..no_code() };
    let revised = |findings: Vec<Finding>| {
        Event::CaseRevised(CaseReport { findings, ..case("ids/zero", Verdict::Fail) })
    };
    insta::assert_snapshot!(
        "late",
        shown(
            style(),
            &[
                Event::CaseFinished(case("ids/zero", Verdict::Pass)),
                revised(vec![no_description(), late]),
            ],
        )
    );
}

#[test]
fn summaries_say_what_a_run_comes_to() {
    let nothing = Summary {
        cases: 0,
        passed: 0,
        exercised: 0,
        required: 0,
        not_applicable: 3,
        exit: 4,
        ..green()
    };
    let bench = Summary {
        duts: 0,
        exit: 3,
        bench_error: Some(
            "no device connected to 127.0.0.1:8765 within 60 s\n\nhint: the device dials out; is its address this one?".into(),
        ),
        ..Summary { not_applicable: 0, ..nothing.clone() }
    };
    let unexercised: Vec<String> = (1..=15).map(|at| format!("area.rule-{at}")).collect();
    let summaries = [
        ("green", green()),
        ("failed", mixed()),
        ("nothing ran", nothing),
        ("bench error", bench),
        ("interrupted", Summary { cases: 12, passed: 12, interrupted: true, exit: 130, ..green() }),
        (
            "stale",
            Summary {
                stale: vec![
                    "errors/unknown-method errors.code-integer: passes now".into(),
                    "ids/ : expired on 2026-01-31 (ids are C ints)".into(),
                ],
                exit: 1,
                ..green()
            },
        ),
        ("unexercised", Summary { exercised: 116, unexercised, exit: 1, ..green() }),
    ];
    let mut text = String::new();
    for (name, summary) in summaries {
        let events = [Event::RunStarted(started()), Event::RunFinished(summary)];
        let shown = shown(style(), &events);
        let end = shown.lines().skip(2).collect::<Vec<_>>().join("\n");
        text += &format!("## {name}\n{end}\n\n");
    }
    insta::assert_snapshot!("summaries", text);
}

#[test]
fn the_first_lines_name_every_device() {
    let mut run = RunStarted { strict: true, cases: 1, ..started() };
    run.duts.push(DutInfo {
        name: "s3-bench".into(),
        target: "exec".into(),
        transport: "mqtt".into(),
        fidelity: "a program of yours".into(),
        level: "host process".into(),
        cannot_show: Vec::new(),
        reference: false,
        in_place_of: None,
    });
    insta::assert_snapshot!(
        "devices",
        shown(
            style(),
            &[
                Event::RunStarted(run),
                Event::Notice { text: "limit MAX_PAGES (100) struck\u{7}".into() },
                Event::CaseFinished(case("list/pagination", Verdict::Pass)),
            ]
        )
    );
}

#[test]
fn progress_is_erased_before_each_line() {
    let started_case = Event::CaseStarted {
        dut: "native".into(),
        transport: "websocket".into(),
        case: "list/pagination".into(),
    };
    let events = [
        Event::RunStarted(started()),
        started_case,
        Event::CaseFinished(case("list/pagination", Verdict::Pass)),
        Event::RunFinished(green()),
    ];
    let terminal = Shared::default();
    let progress = Progress::with_clock(terminal.clone(), 80, false, || Duration::ZERO);
    // Otherwise a case that passed has no line on a terminal.
    let style = Style { verbose: true, ..style() };
    let report = Terminal::new(terminal.clone(), terminal.clone(), style);
    let mut report = report.live(progress);
    for event in &events {
        report.event(event).unwrap();
    }
    let text = terminal.text();
    insta::assert_snapshot!("progress", text.replace('\u{1b}', "ESC").replace('\r', "CR"));
}

#[test]
fn a_terminal_keeps_only_what_must_be_read() {
    let red = |id: String| {
        let findings = vec![no_code()];
        Event::CaseFinished(CaseReport { findings, ..case(&id, Verdict::Fail) })
    };
    let mut events = vec![Event::RunStarted(started())];
    events.extend((0..60).map(|at| Event::CaseFinished(case(&format!("ids/{at}"), Verdict::Pass))));
    events.extend((0..50).map(|at| red(format!("errors/{at}"))));
    let late = Finding { late: true, ..no_code() };
    let revised = CaseReport { findings: vec![late], ..case("errors/0", Verdict::Fail) };
    events.extend((0..20).map(|_| Event::CaseRevised(revised.clone())));
    events.push(Event::RunFinished(data::ended(&events, mixed())));
    let kept = |live: bool| {
        let text = Shared::default();
        let mut report = Terminal::new(text.clone(), text.clone(), style());
        if live {
            let line = Shared::default();
            report = report.live(Progress::with_clock(line, 80, false, || Duration::ZERO));
        }
        events.iter().for_each(|event| report.event(event).unwrap());
        text.text()
    };
    let (terminal, log) = (kept(true), kept(false));
    let of = |text: &str, word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!((of(&terminal, "    PASS"), of(&terminal, "    FAIL")), (0, 3), "{terminal}");
    assert!(terminal.contains("and 48 more lines of cases that did not pass\n"), "{terminal}");
    assert!(terminal.contains("cases        50: errors/0, "), "{terminal}");
    assert!(terminal.lines().count() <= 40, "{terminal}");
    // A log has every case, and each thing about it once.
    assert_eq!((of(&log, "    PASS"), of(&log, "    FAIL")), (60, 51), "{log}");
}

#[test]
fn progress_tells_rate_and_time_left() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = {
        let seconds = seconds.clone();
        move || Duration::from_secs(seconds.load(Ordering::Relaxed))
    };
    let (line, report) = (Shared::default(), Shared::default());
    let progress = Progress::with_clock(line.clone(), 64, false, clock);
    let mut terminal = Terminal::new(report.clone(), report, style()).live(progress);
    let mut pass = |events: &[Event]| {
        let events = events.iter();
        events.for_each(|event| terminal.event(event).unwrap());
        line.text().rsplit("\u{1b}[2K").next().unwrap().to_owned()
    };
    let begin = |id: &str| Event::CaseStarted {
        dut: "native".into(),
        transport: "websocket".into(),
        case: id.into(),
    };
    let end = |id: &str| Event::CaseFinished(case(id, Verdict::Pass));
    assert_eq!(
        pass(&[Event::RunStarted(started())]),
        " Running [   1/41  ] waiting for the device"
    );
    assert_eq!(pass(&[begin("ids/a")]), " Running [   1/41  ] native/ws  ids/a");
    // One case says nothing about the others.
    pass(&[end("ids/a"), begin("ids/b"), end("ids/b"), begin("ids/c")]);
    seconds.store(1, Ordering::Relaxed);
    assert_eq!(
        pass(&[end("ids/c"), begin("ids/d")]),
        " Running [   4/41  ] native/ws  ids/d  3.0/s, about 13 s left"
    );
    // A long name gives way to the figures. Wide characters take two columns; the last one stays free.
    seconds.store(3, Ordering::Relaxed);
    assert_eq!(
        pass(&[end("ids/d"), begin(&"音".repeat(40))]),
        " Running [   5/41  ] native/ws  音音音  1.3/s, about 28 s left"
    );
}

/// Tells each write.
struct Told(std::sync::mpsc::Sender<()>);

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn progress_lives_while_nothing_happens() {
    let (tell, told) = std::sync::mpsc::channel();
    let report = Shared::default();
    let progress = Progress::new(Told(tell), 80, false);
    let mut terminal = Terminal::new(report.clone(), report, style()).live(progress);
    terminal.event(&Event::RunStarted(started())).unwrap();
    let drawn = || told.recv_timeout(Duration::from_secs(60));
    drawn().expect("it is put up");
    while told.try_recv().is_ok() {}
    drawn().expect("it is drawn again by itself");
    // Nothing draws when nobody reports any more.
    drop(terminal);
    while drawn().is_ok() {}
    assert!(told.recv().is_err());
}

#[test]
fn exit_codes_have_a_meaning() {
    assert_eq!(exit_meaning(&green()), None);
    for exit in [1, 2, 3, 4, 101, 130] {
        let meaning = exit_meaning(&Summary { exit, ..green() }).unwrap();
        assert!(meaning.starts_with(&format!("{exit}: ")), "{meaning}");
    }
}

/// Takes some writes, then says that the reader has gone.
struct Pipe(usize);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reporter_that_cannot_write_stops_no_other() {
    let (talk, stream) = (Shared::default(), Shared::default());
    let mut reporters = Reporters::new(talk.clone());
    reporters.add("standard output", Terminal::new(Pipe(1), Pipe(0), style()));
    reporters.add("the stream", Ndjson::new(stream.clone()));
    reporters.add("report.json", ReportFile::record("/dev/null/report.json"));
    whole_run().iter().for_each(|event| reporters.event(event));

    assert_eq!(stream.text().lines().count(), whole_run().len());
    let failures: Vec<_> = reporters.failures().map(|(name, error)| (name, error.kind())).collect();
    assert_eq!(failures[0], ("standard output", io::ErrorKind::BrokenPipe));
    assert_eq!(failures[1].0, "report.json");
    assert_eq!(talk.text().lines().count(), 2, "{}", talk.text());
    assert!(talk.text().starts_with("mcp-hil: cannot write standard output: "));
}

#[test]
fn notices_that_nobody_reads_end_no_report() {
    let out = Shared::default();
    let mut report = Terminal::new(out.clone(), Pipe(0), style());
    report.event(&Event::Notice { text: "x".into() }).unwrap();
    report.event(&Event::RunFinished(green())).unwrap();
    assert!(out.text().contains("41 passed"));
}

#[test]
fn the_stream_reads_back_as_the_same_events() {
    let out = Shared::default();
    let mut stream = Ndjson::new(out.clone());
    let events = whole_run();
    events.iter().for_each(|event| stream.event(event).unwrap());
    let back: Vec<Event> =
        out.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(format!("{back:?}"), format!("{events:?}"));
}

#[test]
fn the_record_holds_the_last_word_on_each_case() {
    let mut events = whole_run();
    let end = events.pop().unwrap();
    let revised =
        CaseReport { findings: vec![no_code()], ..case("list/pagination", Verdict::Fail) };
    events.extend([Event::CaseRevised(revised), Event::Notice { text: "late".into() }, end]);
    let record = record(&events);
    assert_eq!(record.cases.len(), 7);
    assert_eq!(
        (&*record.cases[0].case, record.cases[0].verdict),
        ("list/pagination", Verdict::Fail)
    );

    let mut text = Vec::new();
    record.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("{\n  \"schema\": 1,\n") && text.ends_with("}\n"));
    assert_eq!(format!("{:?}", Record::read(&text).unwrap()), format!("{record:?}"));
    let newer = text.replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert!(matches!(Record::read(&newer), Err(ReadError::Schema { found: 2 })));
    assert!(matches!(Record::read("[]"), Err(ReadError::Json(_))));
}
