//! JUnit, read back by those who read it: an XML parser, and the Python package `junitparser`.

use std::path::Path;
use std::process::Command;

use mcp_hil_core::identity::Identity;
use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_record::Reporter;
use mcp_hil_record::cause::Shown;
use mcp_hil_record::event::{CaseReport, DutReady, Event, Summary};
use mcp_hil_report::junit;
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event as Xml;

use crate::data::{case, catalogue, ended, green, no_code, ready, record, started, whole_run};
use crate::schema::breaks;

fn render(events: &[Event]) -> String {
    String::from_utf8(junit::render(&record(events), &catalogue()).unwrap()).unwrap()
}

/// A run of one case that comes to something.
fn run_of(cases: Vec<CaseReport>, summary: Summary) -> Vec<Event> {
    let mut events = vec![Event::RunStarted(started())];
    events.extend(cases.into_iter().map(Event::CaseFinished));
    let summary = ended(&events, summary);
    events.push(Event::RunFinished(summary));
    events
}

/// Reads XML strictly; the names of its elements, and all its text.
fn parse(xml: &str) -> (Vec<String>, String) {
    let forbidden = |c: char| !matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(!xml.contains(forbidden), "XML 1.0 forbids {:?}", xml.chars().find(|c| forbidden(*c)));
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let (mut names, mut text) = (Vec::new(), String::new());
    let mut depth = 0_i32;
    loop {
        let event = reader.read_event().unwrap_or_else(|error| panic!("{error}: {xml}"));
        match &event {
            Xml::Start(start) | Xml::Empty(start) => {
                depth += i32::from(matches!(event, Xml::Start(_)));
                names.push(String::from_utf8(start.name().as_ref().to_vec()).unwrap());
                for attribute in start.attributes() {
                    let value =
                        attribute.unwrap().normalized_value(quick_xml::XmlVersion::Implicit1_0);
                    text += &value.unwrap();
                }
            }
            Xml::End(_) => depth -= 1,
            Xml::Text(data) => text += &data.decode().unwrap(),
            // Signs and what is not ASCII.
            Xml::GeneralRef(sign) => match sign.resolve_char_ref().unwrap() {
                Some(character) => text.push(character),
                None => text += resolve_predefined_entity(&sign.decode().unwrap()).unwrap(),
            },
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
    snapshot("junit", &xml);
}

#[test]
fn nothing_is_in_the_file_that_readers_do_not_know() {
    let good = render(&whole_run());
    assert_eq!(breaks(&good), [""; 0]);
    for (from, to, says) in [
        ("<testcase ", "<testcase file=\"x\" ", "`testcase` has `file`"),
        ("skipped=\"2\"", "skipped=\"0\"", "a suite says"),
        ("time=\"0.041\"", "time=\"0.0412\"", "time 0.0412"),
        ("<properties>", "<testcase name=\"x\" classname=\"y\"><properties>", "`properties` in"),
        (" errors=\"2\" skipped", " skipped", "`testsuite` lacks `errors`"),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        let bad = good.replacen(from, to, 1);
        let caught = std::panic::catch_unwind(|| breaks(&bad));
        let told = caught.map_or_else(|_| says.to_owned(), |told| told.join("; "));
        assert!(told.contains(says), "{says}: {told}");
    }
}

#[test]
fn a_suite_says_what_was_tested_and_how() {
    let mut events = whole_run();
    let identity = Identity {
        application: Some("xiaozhi".into()),
        version: Some("2.4.2".into()),
        elf_sha256: Some("0123abcd".into()),
        ..Identity::default()
    };
    events[1] = Event::DutReady(Box::new(DutReady { identity: Some(identity), ..ready() }));
    let xml = render(&events);
    for (name, value) in [
        ("device", "native"),
        ("transport", "websocket"),
        ("target", "native"),
        ("fidelity", "simulation, no board attached"),
        ("not observed", "radio, flash"),
        ("program", "mcp-hil 0.1.0"),
        ("seed", "7"),
        ("rules", "xiaozhi + jsonrpc-2.0"),
        ("server", "reference-device 1.2.0"),
        ("identity", "xiaozhi 2.4.2, elf 0123abcd"),
        ("firmware", "sha256 0123abcd"),
        ("file:errors/unknown-method", "errors/unknown-method.yaml"),
    ] {
        let property = format!("<property name=\"{name}\" value=\"{value}\"/>");
        assert!(xml.contains(&property), "{property}: {xml}");
    }
    // A device without a hash has its own word for it.
    let said = "<property name=\"firmware\" value=\"reference-device 1.2.0\"/>";
    assert!(render(&whole_run()).contains(said));
}

#[test]
fn what_the_console_said_of_a_crash_is_in_system_err() {
    let console =
        vec!["Guru Meditation Error: Core 0 panic'ed".to_owned(), "PC: 0x4200".to_owned()];
    let crash = Finding { console, ..no_code() };
    let failed = CaseReport { findings: vec![crash.clone(), crash], ..case("x/y", Verdict::Fail) };
    let xml = render(&run_of(vec![failed], Summary { exit: 1, ..green() }));
    let err = xml.split("<system-err>").nth(1).unwrap().split("</system-err>").next().unwrap();
    assert_eq!(err, "Guru Meditation Error: Core 0 panic'ed\nPC: 0x4200");
}

/// The command of a case is that of its cause, for that was tried.
#[test]
fn commands_are_those_that_were_tried() {
    let failed = CaseReport { findings: vec![no_code()], ..case("x/y", Verdict::Fail) };
    let mut events = run_of(vec![failed], Summary { exit: 1, ..green() });
    let Some(Event::RunFinished(summary)) = events.last_mut() else { unreachable!() };
    summary.causes[0].repro = "mcp-hil run --only x/x --only x/y".into();
    summary.causes[0].shown = Shown::AfterOthers;
    let xml = render(&events);
    assert!(xml.contains("\nrepro        mcp-hil run --only x/x --only x/y\n"), "{xml}");
    assert!(!xml.contains("--dut native --only x/y"), "{xml}");
    let Some(Event::RunFinished(summary)) = events.last_mut() else { unreachable!() };
    summary.causes[0].shown = Shown::Not(4);
    let xml = render(&events);
    assert!(
        xml.contains("\nrepro        none: seen once, and not seen again in 4 tries\n"),
        "{xml}"
    );
    assert!(!xml.contains("--only"), "{xml}");
}

#[test]
fn names_do_not_hang_on_what_became_of_the_cases() {
    let cases = |verdict| vec![case("ids/zero", verdict), case("list/pagination", verdict)];
    let names = |events: &[Event]| {
        let xml = render(events);
        let tags = xml.split('<').filter(|tag| tag.starts_with("testcase "));
        let of = |tag: &str, name: &str| {
            tag.split_once(name).unwrap().1.split('"').next().unwrap().to_owned()
        };
        tags.map(|tag| (of(tag, "classname=\""), of(tag, " name=\""))).collect::<Vec<_>>()
    };
    let good = names(&run_of(cases(Verdict::Pass), green()));
    let mut other = started();
    (other.seed, other.run, other.started) = (8, "run-8".into(), "2026-09-01T00:00:00Z".into());
    let mut events = run_of(cases(Verdict::Fail), Summary { exit: 1, ..green() });
    events[0] = Event::RunStarted(other);
    assert_eq!(names(&events), good);
    assert_eq!(good[0], ("mcp-hil.native.websocket.ids".into(), "ids/zero".into()));
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    assert_eq!(render(&whole_run()), render(&whole_run()));
}

#[test]
fn a_bench_that_failed_is_one_error() {
    let error = "no device connected within 60 s\n\nhint: is it switched on?";
    let summary = Summary { exit: 3, bench_error: Some(error.into()), ..Summary::default() };
    let xml = render(&run_of(Vec::new(), summary));
    let (names, text) = parse(&xml);
    assert_eq!(names, ["testsuites", "testsuite", "testcase", "error"]);
    assert!(xml.contains(r#" name="bench""#) && text.contains("switched on"), "{xml}");
}

#[test]
fn the_file_is_never_greener_than_the_exit_code() {
    let passed = || vec![case("ids/zero", Verdict::Pass)];
    let stale = vec!["ids/zero: passes now".to_owned()];
    let unexercised = vec!["ids.echo".to_owned()];
    let red = [
        ("nothing-ran", Vec::new(), Summary { exit: 4, ..Summary::default() }),
        ("interrupted", passed(), Summary { exit: 130, interrupted: true, ..green() }),
        ("baseline", passed(), Summary { exit: 1, stale, ..green() }),
        ("unexercised", passed(), Summary { exit: 1, unexercised: unexercised.clone(), ..green() }),
        ("exit", passed(), Summary { exit: 1, ..green() }),
    ];
    for (name, cases, summary) in red {
        let xml = render(&run_of(cases, summary));
        let (names, _) = parse(&xml);
        assert!(xml.contains(&format!(r#" name="{name}" time="#)), "{name}: {xml}");
        assert_eq!(number_of(&names, "error") + number_of(&names, "failure"), 1, "{name}");
    }
    let forgiven = render(&run_of(passed(), Summary { unexercised, ..green() }));
    assert_eq!(number_of(&parse(&forgiven).0, "testcase"), 1);
}

#[test]
fn a_file_is_written_with_its_folder() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report/new");
    // Left by an earlier run of this test, or not there.
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.join("junit.xml");
    let mut reporter = junit::file(&path, catalogue());
    whole_run().iter().for_each(|event| reporter.event(event).unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), render(&whole_run()));
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
    let output = Command::new(python).arg("-c").arg(READ_BACK).arg(&file).output();
    let text = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout));
    match &text {
        Ok(text) if text.trim() != "no junitparser" => {
            let output = output.as_ref().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            snapshot("junitparser", text);
        }
        _ => {
            crate::missing::PYTHON.is_missing("no `junitparser`");
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
        let xml = render(&run_of(vec![broken], summary));
        let (names, _) = parse(&xml);
        prop_assert_eq!(breaks(&xml), [""; 0]);
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
