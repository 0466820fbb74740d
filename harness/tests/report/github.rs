//! The summary in Markdown and the annotations, as GitHub gets them.

use std::path::{Path, PathBuf};

use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_record::Reporter;
use mcp_hil_record::event::{CaseReport, Event, Summary};
use mcp_hil_report::{Annotations, StepSummary, Workspace, markdown};
use proptest::prelude::*;

use crate::data::{
    Shared, case, catalogue, ended, green, mixed, no_code, no_description, record, started,
    whole_run,
};

fn summary_of(events: &[Event]) -> String {
    markdown::render(&record(events), &catalogue(), markdown::LIMIT)
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("report__{name}"), text);
    });
}

fn run_of(cases: Vec<CaseReport>, summary: Summary) -> Vec<Event> {
    let mut events = vec![Event::RunStarted(started())];
    events.extend(cases.into_iter().map(Event::CaseFinished));
    let summary = ended(&events, summary);
    events.push(Event::RunFinished(summary));
    events
}

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("github").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What the runner reads, without the word that is drawn by chance.
fn annotations(events: &[Event], root: &Path) -> String {
    let (out, root) = (Shared::default(), root.to_owned());
    let current = root.join("deeper");
    let workspace = Workspace { root, current };
    let mut reporter = Annotations::new(out.clone(), workspace).unwrap();
    for event in events {
        reporter.event(event).unwrap();
    }
    let text = out.text();
    let word = text.lines().next().unwrap();
    let word = word.strip_prefix("::stop-commands::").unwrap();
    assert!(word.len() > 30 && !word.contains(':'), "{word}");
    text.replace(word, "WORD")
}

#[test]
fn a_summary_begins_with_the_verdict() {
    let mut events = whole_run();
    let Some(Event::RunFinished(summary)) = events.last_mut() else { unreachable!() };
    summary.stale = vec!["ids/zero: listed as failing, but it no longer fails".into()];
    summary.unexercised = vec!["list.description".into()];
    snapshot("summary", &summary_of(&events));
    let good = summary_of(&run_of(vec![case("ids/zero", Verdict::Pass)], green()));
    assert!(good.starts_with("## ✅ mcp-hil: conforming\n"), "{good}");
    let bench = Summary {
        exit: 3,
        bench_error: Some("no device\u{1b}[2J\n\n```\nhint: is it switched on?".into()),
        ..Summary::default()
    };
    snapshot("summary_bench", &summary_of(&run_of(Vec::new(), bench)));
}

#[test]
fn nothing_that_a_device_says_means_anything_in_a_summary() {
    let evil = "</code></td><script>alert(1)</script>|\\|`x` ``` **b** _i_ [l](http://evil.example) \
                www.evil.example @somebody #1 $x$ ![p](x) ~~s~~ &lt;\r\n## no\u{202e}";
    let finding = Finding {
        expected: evil.into(),
        received: evil.into(),
        sent: Some("````\n# out of the fence".into()),
        ..no_code()
    };
    let failed = CaseReport {
        dut: evil.into(),
        case: evil.into(),
        findings: vec![finding],
        ..case("x/y", Verdict::Fail)
    };
    let text = summary_of(&run_of(vec![failed], mixed()));
    let (mut fence, mut outside) = (None, String::new());
    for line in text.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            None => outside += &format!("{line}\n"),
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "a fence that nobody closes\n{text}");
    for forbidden in
        ["<script", "</td", "**b", "](", "@some", "`x", "http:/", "www.", "$x", "~~s", "\\"]
    {
        assert!(!outside.contains(forbidden), "`{forbidden}` in\n{outside}");
    }
    let rows = outside.lines().filter(|line| line.starts_with("| <code>errors"));
    let cells: Vec<usize> = rows.map(|row| row.matches('|').count()).collect();
    assert_eq!(cells, [5], "a row of four cells\n{outside}");
    assert!(text.contains("repro        mcp-hil run"), "{text}");
    assert!(text.contains("transcript   transcripts/x.y.jsonl seq 12"), "{text}");
}

#[test]
fn a_summary_never_grows_too_large() {
    // Each in a way of its own, or they would be one cause.
    let finding = |at: usize| Finding {
        requirement: format!("area-{at}.rule"),
        received: "[`音".repeat(4_000),
        sent: Some("[`音".repeat(4_000)),
        seq: Some(at as u64),
        ..no_code()
    };
    let failed = |at: usize| CaseReport {
        findings: vec![finding(at); 3],
        ..case(&format!("ids/{at}"), Verdict::Fail)
    };
    let cases: Vec<CaseReport> = (0..1_200).map(failed).collect();
    let events = run_of(cases, mixed());
    for limit in [4_096, 100_000, markdown::LIMIT] {
        let text = markdown::render(&record(&events), &catalogue(), limit);
        assert!(text.len() <= limit, "{} of {limit}", text.len());
        assert!(text.starts_with("## ❌ mcp-hil: not conforming\n"));
    }
    let text = summary_of(&events);
    assert!(text.contains("1100 more causes not in the table."), "the table is cut");
    assert!(text.contains("is only in the reports: this page is full."), "the evidence is cut");
}

#[test]
fn a_summary_is_added_to_what_the_step_has_written() {
    let folder = folder("step");
    let (step, own) = (folder.join("step.md"), folder.join("new/own.md"));
    std::fs::write(&step, "# Before\n").unwrap();
    let mut added = StepSummary::new(&step, catalogue());
    let mut file = markdown::file(&own, catalogue());
    for event in &whole_run() {
        added.event(event).unwrap();
        file.event(event).unwrap();
    }
    let text = summary_of(&whole_run());
    assert_eq!(std::fs::read_to_string(&own).unwrap(), text);
    assert_eq!(std::fs::read_to_string(&step).unwrap(), format!("# Before\n{text}\n"));
    // One byte too many, and GitHub shows nothing of all that.
    let full = "x".repeat(markdown::LIMIT - 5_000);
    std::fs::write(&step, &full).unwrap();
    let mut added = StepSummary::new(&step, catalogue());
    whole_run().iter().for_each(|event| added.event(event).unwrap());
    let written = std::fs::read_to_string(&step).unwrap();
    assert!(written.len() <= markdown::LIMIT && written.len() > full.len(), "{}", written.len());
    let mut added = StepSummary::new(&step, catalogue());
    let events = whole_run();
    let last = events.iter().map(|event| added.event(event)).last().unwrap();
    assert!(last.unwrap_err().to_string().contains("too much"));
    assert_eq!(std::fs::read_to_string(&step).unwrap(), written);
}

#[test]
fn annotations_stand_beside_the_steps_of_scenarios() {
    let root = folder("beside");
    std::fs::create_dir_all(root.join("deeper/scripts")).unwrap();
    std::fs::write(root.join("deeper/scripts/a,b:c.yaml"), "").unwrap();
    std::fs::write(root.join("deeper/errors.yaml"), "").unwrap();
    let failed = CaseReport {
        file: Some("scripts/a,b:c.yaml".into()),
        line: Some(12),
        findings: vec![Finding { received: "100% ::error::\r\nx".into(), ..no_code() }],
        ..case("errors/own", Verdict::Fail)
    };
    // By its whole path, from wherever the program was called.
    let absolute = CaseReport {
        file: Some(root.join("deeper/errors.yaml").display().to_string()),
        findings: vec![no_code()],
        ..case("errors/absolute", Verdict::Fail)
    };
    // A file of the program's own repository, which is not here.
    let built_in = CaseReport {
        findings: vec![no_code(), no_description()],
        ..case("errors/built-in", Verdict::Fail)
    };
    let text = annotations(&run_of(vec![failed, absolute, built_in], mixed()), &root);
    snapshot("annotations", &text);
    snapshot("annotations_whole", &annotations(&whole_run(), &root));
}

#[test]
fn a_red_run_has_an_annotation() {
    let root = folder("red");
    let bench = Summary { exit: 3, bench_error: Some("no board\n\nhint: none".into()), ..green() };
    let nothing = Summary { exit: 4, ..Summary::default() };
    let stale = Summary { exit: 1, stale: vec!["a: b".into()], ..green() };
    let unexercised = Summary { exit: 1, unexercised: vec!["ids.echo".into()], ..green() };
    for (summary, says) in [
        (bench, "no board%0A%0Ahint"),
        (nothing, "nothing ran"),
        (stale, "a: b"),
        (unexercised, "ids.echo"),
    ] {
        let text = annotations(&run_of(Vec::new(), summary), &root);
        assert_eq!(text.matches("\n::error ").count(), 1, "{text}");
        assert!(text.contains(says), "{text}");
    }
    let text = annotations(&run_of(vec![case("ids/zero", Verdict::Pass)], green()), &root);
    assert_eq!(text, "::stop-commands::WORD\n::WORD::\n");
}

#[test]
fn no_more_annotations_than_are_shown() {
    let root = folder("many");
    let failed = |at: usize| CaseReport {
        findings: vec![Finding {
            requirement: format!("area-{at}.rule"),
            expected: "x".repeat(at + 1),
            ..no_code()
        }],
        ..case(&format!("ids/{at}"), Verdict::Fail)
    };
    let text = |number| annotations(&run_of((0..number).map(failed).collect(), mixed()), &root);
    assert_eq!(text(10).matches("\n::error ").count(), 10);
    assert!(!text(10).contains("more annotation"));
    let many = text(25);
    assert_eq!(many.matches("\n::error ").count(), 10);
    assert!(many.contains("16 more annotations of this kind"), "{many}");
}

proptest! {
    #[test]
    fn nothing_gives_the_runner_a_command(texts in prop::collection::vec(any::<String>(), 6)) {
        let finding = Finding {
            requirement: texts[0].clone(),
            expected: format!("\n::add-mask::{}", texts[1]),
            received: format!("\r\n::set-output name=a::{}\n##[error]", texts[2]),
            ..no_code()
        };
        let failed = CaseReport {
            case: texts[3].clone(),
            reason: Some(texts[4].clone()),
            repro: format!("{}\n::error::x", texts[5]),
            findings: vec![finding],
            ..case("x/y", Verdict::Fail)
        };
        let text = annotations(&run_of(vec![failed], mixed()), Path::new("/nowhere"));
        let lines: Vec<&str> = text.lines().collect();
        prop_assert_eq!(lines.len(), 3, "{}", text);
        prop_assert!(lines[2].starts_with("::error title="));
        prop_assert_eq!(text.matches('\r').count(), 0);
    }
}
