//! A failure is read in ten seconds: what reports say of a device with a defect is short, and nothing is said twice.

#![cfg(not(feature = "hil"))]

#[allow(dead_code, reason = "shared with the tests of the reports")]
#[path = "report/data.rs"]
mod data;
#[path = "report/schema.rs"]
mod schema;
mod support;

use std::time::Duration;

use data::Shared;
use mcp_hil_record::Reporter;
use mcp_hil_record::event::Event;
use mcp_hil_report::{Progress, Terminal};
use rstest::rstest;
use support::Place;

/// Most lines that a terminal keeps of a run with one cause, and of one with two.
const LINES: usize = 40;
const LINES_OF_A_CAUSE: usize = 22;

/// Most bytes of a summary of at most four causes.
const SUMMARY: usize = 4 << 10;

/// What a terminal keeps of a run: the line at its bottom is not kept.
fn terminal(events: &[Event]) -> String {
    let (line, text) = (Shared::default(), Shared::default());
    let progress = Progress::with_clock(line, 80, false, || Duration::ZERO);
    let mut report = Terminal::new(text.clone(), text.clone(), data::style()).live(progress);
    events.iter().for_each(|event| report.event(event).unwrap());
    text.text()
}

/// A text that a device may have said or been sent, as far as it stands in one line of a report.
fn evidence(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| {
            let labels = ["expected     ", "received     ", "sent         "];
            labels.iter().find_map(|label| line.strip_prefix(label))
        })
        .filter(|text| text.len() > 30)
        .collect()
}

#[rstest]
#[case("id-int32-saturated")]
#[case("error-code-missing")]
#[case("answer-twice-late")]
#[case("long-string-panics")]
#[case("drop-at-fortieth")]
#[case("hello-transport-missing")]
fn a_defect_is_told_in_few_words(#[case] mutant: &str) {
    let place = Place::new();
    let args = ["run", "--dut", "native", "--snapshots", "off", "--no-confirm", "--inputs", "5"];
    let more = ["--mutant", mutant, "--format", "json", "--summary", "summary.md"];
    let done = place.hil(args.iter().chain(&more)).end().exits(1);
    let events = done.stdout.lines().map(|line| serde_json::from_str(line).expect("an event"));
    let events: Vec<Event> = events.collect();
    let Some(Event::RunFinished(end)) = events.last() else { panic!("{done}") };
    let causes = end.causes.len();
    assert!((1..=4).contains(&causes), "{causes}");

    let text = terminal(&events);
    let lines = text.lines().count();
    assert!(lines <= LINES + (causes - 1) * LINES_OF_A_CAUSE, "{lines} lines\n{text}");
    // Two causes may be shown by messages that are alike.
    for part in text.split("   Cause [") {
        let mut lines: Vec<&str> = part.lines().filter(|line| line.len() > 40).collect();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), all, "a line is there twice\n{part}");
    }

    let summary = place.read("summary.md");
    assert!(summary.len() <= SUMMARY, "{} bytes\n{summary}", summary.len());
    for text in evidence(&summary) {
        assert_eq!(summary.matches(text).count(), 1, "twice: {text}\n{summary}");
    }

    let junit = place.read("target/mcp-hil/latest/junit.xml");
    assert_eq!(schema::breaks(&junit), [""; 0]);
}
