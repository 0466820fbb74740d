//! JUnit, read back by those who read it: an XML parser, and the Python package `junitparser`.

use std::path::Path;
use std::process::Command;

use mcp_hil::event::{CaseReport, Event, Summary};
use mcp_hil::report::{JunitFile, Reporter, junit};
use mcp_hil_core::verdict::{Finding, Verdict};
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event as Xml;

use crate::data::{case, catalogue, green, no_code, record, started, whole_run};

fn render(events: &[Event]) -> String {
    String::from_utf8(junit::render(&record(events), &catalogue()).unwrap()).unwrap()
}

/// A run of one case that comes to something.
fn run_of(cases: Vec<CaseReport>, summary: Summary) -> Vec<Event> {
    let mut events = vec![Event::RunStarted(started())];
    events.extend(cases.into_iter().map(Event::CaseFinished));
    events.push(Event::RunFinished(summary));
    events
}

/// Reads XML strictly; the names of its elements, and all its text.
fn parse(xml: &str) -> (Vec<String>, String) {
    let forbidden = |c: char| !matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(
        !xml.contains(forbidden),
        "XML 1.0 forbids {:?}",
        xml.chars().find(|c| forbidden(*c))
    );
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let (mut names, mut text) = (Vec::new(), String::new());
    let mut depth = 0_i32;
    loop {
        let event = reader
            .read_event()
            .unwrap_or_else(|error| panic!("{error}: {xml}"));
        match &event {
            Xml::Start(start) | Xml::Empty(start) => {
                depth += i32::from(matches!(event, Xml::Start(_)));
                names.push(String::from_utf8(start.name().as_ref().to_vec()).unwrap());
                for attribute in start.attributes() {
                    let value = attribute
                        .unwrap()
                        .normalized_value(quick_xml::XmlVersion::Implicit1_0);
                    text += &value.unwrap();
                }
            }
            Xml::End(_) => depth -= 1,
            Xml::CData(data) => text += &data.decode().unwrap(),
            Xml::Text(data) => assert!(
                data.iter().all(u8::is_ascii_whitespace),
                "text outside CDATA"
            ),
            Xml::Eof => break,
            Xml::Decl(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(depth, 0, "elements left open");
    (names, text)
}

/// All snapshots of the reports lie in one folder.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("report__{name}"), text);
    });
}

fn number_of(names: &[String], name: &str) -> usize {
    names.iter().filter(|known| *known == name).count()
}

#[test]
fn verdicts_are_told_in_junit_words() {
    let xml = render(&whole_run());
    parse(&xml);
    // One element a line, so that a change shows as one line.
    snapshot("junit", &xml.replace("><", ">\n<"));
}

/// What the schema of Jenkins (`junit-10.xsd` of its xUnit plugin) has for each element, and `file`, which
/// GitLab reads.
const KNOWN: [(&str, &[&str]); 8] = [
    ("testsuites", &[]),
    (
        "testsuite",
        &[
            "id",
            "name",
            "package",
            "tests",
            "errors",
            "failures",
            "hostname",
            "timestamp",
            "time",
        ],
    ),
    ("testcase", &["name", "time", "classname", "file"]),
    ("failure", &["type", "message"]),
    ("error", &["type", "message"]),
    ("skipped", &["type", "message"]),
    ("system-out", &[]),
    ("system-err", &[]),
];

#[test]
fn nothing_is_in_the_file_that_readers_do_not_know() {
    let xml = render(&whole_run());
    let mut reader = Reader::from_str(&xml);
    let mut names = std::collections::BTreeSet::new();
    loop {
        match reader.read_event().unwrap() {
            Xml::Start(start) | Xml::Empty(start) => {
                let element = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
                let known = KNOWN.iter().find(|(name, _)| *name == element);
                let (_, attributes) = known.unwrap_or_else(|| panic!("element {element}"));
                let mut name = String::new();
                for attribute in start.attributes().map(Result::unwrap) {
                    let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
                    assert!(attributes.contains(&&*key), "{element}: {key}");
                    let value = String::from_utf8(attribute.value.to_vec()).unwrap();
                    match &*key {
                        "time" => assert!(value.parse::<f64>().is_ok() && !value.contains('e')),
                        "name" | "classname" => name += &format!("{value} "),
                        _ => {}
                    }
                }
                assert!(
                    element != "testcase" || names.insert(name),
                    "a case is there twice"
                );
            }
            Xml::Eof => break,
            _ => {}
        }
    }
    assert!(names.len() > 6, "{names:?}");
}

#[test]
fn names_do_not_hang_on_what_became_of_the_cases() {
    let cases = |verdict| vec![case("ids/zero", verdict), case("list/pagination", verdict)];
    let names = |events: &[Event]| {
        let xml = render(events);
        let tags = xml
            .split('<')
            .filter(|tag| tag.starts_with("testcase name"));
        let of = |tag: &str, name: &str| {
            tag.split_once(name)
                .unwrap()
                .1
                .split('"')
                .next()
                .unwrap()
                .to_owned()
        };
        tags.map(|tag| (of(tag, "classname=\""), of(tag, "name=\"")))
            .collect::<Vec<_>>()
    };
    let good = names(&run_of(cases(Verdict::Pass), green()));
    let mut other = started();
    (other.seed, other.run, other.started) = (8, "run-8".into(), "2026-09-01T00:00:00Z".into());
    let mut events = run_of(cases(Verdict::Fail), Summary { exit: 1, ..green() });
    events[0] = Event::RunStarted(other);
    assert_eq!(names(&events), good);
    assert_eq!(
        good[0],
        ("mcp-hil.native.websocket.ids".into(), "ids/zero".into())
    );
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    assert_eq!(render(&whole_run()), render(&whole_run()));
}

#[test]
fn a_bench_that_failed_is_one_error() {
    let error = "no device connected within 60 s\n\nhint: is it switched on?";
    let summary = Summary {
        exit: 3,
        bench_error: Some(error.into()),
        ..Summary::default()
    };
    let xml = render(&run_of(Vec::new(), summary));
    let (names, text) = parse(&xml);
    assert_eq!(names, ["testsuites", "testsuite", "testcase", "error"]);
    assert!(
        xml.contains(r#"name="bench""#) && text.contains("switched on"),
        "{xml}"
    );
}

#[test]
fn the_file_is_never_greener_than_the_exit_code() {
    let passed = || vec![case("ids/zero", Verdict::Pass)];
    let stale = vec!["ids/zero: passes now".to_owned()];
    let unexercised = vec!["ids.echo".to_owned()];
    let red = [
        (
            "nothing-ran",
            Vec::new(),
            Summary {
                exit: 4,
                ..Summary::default()
            },
        ),
        (
            "interrupted",
            passed(),
            Summary {
                exit: 130,
                interrupted: true,
                ..green()
            },
        ),
        (
            "baseline",
            passed(),
            Summary {
                exit: 1,
                stale,
                ..green()
            },
        ),
        (
            "unexercised",
            passed(),
            Summary {
                exit: 1,
                unexercised: unexercised.clone(),
                ..green()
            },
        ),
        ("exit", passed(), Summary { exit: 1, ..green() }),
    ];
    for (name, cases, summary) in red {
        let xml = render(&run_of(cases, summary));
        let (names, _) = parse(&xml);
        assert!(
            xml.contains(&format!(r#"<testcase name="{name}""#)),
            "{name}: {xml}"
        );
        assert_eq!(
            number_of(&names, "error") + number_of(&names, "failure"),
            1,
            "{name}"
        );
    }
    let forgiven = render(&run_of(
        passed(),
        Summary {
            unexercised,
            ..green()
        },
    ));
    assert_eq!(number_of(&parse(&forgiven).0, "testcase"), 1);
}

#[test]
fn a_file_is_written_with_its_folder() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report/new");
    // Left by an earlier run of this test, or not there.
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.join("junit.xml");
    let mut reporter = JunitFile::new(&path, catalogue());
    whole_run()
        .iter()
        .for_each(|event| reporter.event(event).unwrap());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        render(&whole_run())
    );
}

const READ_BACK: &str = r#"
import sys
try:
    from junitparser import JUnitXml
except ImportError:
    print("no junitparser"); sys.exit(0)
def walk(suite):
    print(f"{suite.name}: {suite.tests} tests, {suite.failures} failures, {suite.errors} errors")
    for case in suite:
        results = [f"{type(r).__name__} {r.type}: {r.message}" for r in case.result]
        print(f"  {case.classname} {case.name} {case.time} {results}")
for suite in JUnitXml.fromfile(sys.argv[1]):
    walk(suite)
"#;

/// Needs `python3` with the package `junitparser`; `MCP_HIL_PYTHON` names another interpreter.
#[test]
fn junitparser_reads_what_we_mean() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("read-back.xml");
    std::fs::write(&file, render(&whole_run())).unwrap();
    let python = std::env::var_os("MCP_HIL_PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(python)
        .arg("-c")
        .arg(READ_BACK)
        .arg(&file)
        .output();
    let text = output
        .as_ref()
        .map(|output| String::from_utf8_lossy(&output.stdout));
    match &text {
        Ok(text) if text.trim() != "no junitparser" => {
            let output = output.as_ref().unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            snapshot("junitparser", text);
        }
        _ => {
            // Part of a required set-up? Then its absence is a failure, and no silent skip.
            assert!(
                std::env::var_os("MCP_HIL_REQUIRE_PYTHON").is_none(),
                "python3 with `junitparser` is required here and is not there",
            );
            eprintln!(
                "NOT RUN: reading the report back with `junitparser`, which python3 does not have; \
                 the XML was checked by the other tests only (pip install junitparser)"
            );
        }
    }
}

/// Text as devices may send it: any characters, with those that break XML often among them.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "]]>",
            "]]",
            "]",
            ">",
            "<![CDATA[",
            "&",
            "<",
            "\"",
            "'",
            "\0",
            "\u{1b}[31m",
            "\u{1b}[",
            "\r\n",
            "\t",
            "\u{fffe}",
            "\u{ffff}",
            "\u{85}",
            "\u{2028}",
            "\u{10ffff}",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_gives_xml_that_parses(
        texts in prop::collection::vec(any_text(), 12),
        verdict in prop::sample::select(vec![
            Verdict::NotApplicable, Verdict::Pass, Verdict::Inconclusive, Verdict::Fail, Verdict::Error,
        ]),
        known in any::<bool>(),
    ) {
        let text = |at: usize| texts[at].clone();
        let finding = Finding {
            requirement: text(0),
            expected: text(1),
            received: text(2),
            sent: Some(text(3)),
            step: Some(text(4)),
            verdict,
            ..no_code()
        };
        let broken = CaseReport {
            dut: text(5),
            case: text(6),
            file: Some(text(7)),
            reason: known.then(|| text(8)),
            transcript: Some(text(9)),
            repro: text(10),
            findings: vec![finding],
            known,
            ..case("x", verdict)
        };
        let summary = Summary {
            exit: 1,
            bench_error: Some(text(11)),
            stale: vec![text(0)],
            unexercised: vec![text(1)],
            ..Summary::default()
        };
        let (names, _) = parse(&render(&run_of(vec![broken], summary)));
        prop_assert_eq!(number_of(&names, "testcase"), 4);
    }

    #[test]
    fn evidence_survives_markup(text in "[ -~]{0,80}") {
        let finding = Finding { received: format!("<{text}]]>{text}"), ..no_code() };
        let failed = CaseReport { findings: vec![finding], ..case("x/y", Verdict::Fail) };
        let (_, read) = parse(&render(&run_of(vec![failed], Summary { exit: 1, ..green() })));
        let wanted = format!("received     <{text}]]>{text}\n");
        prop_assert!(read.contains(&wanted), "{:?} is not in {}", wanted, read);
    }
}
