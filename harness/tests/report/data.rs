//! Events that the tests of the reports are made of.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{Catalogue, Level, RuleSet};
use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_record::Record;
use mcp_hil_record::Recorder;
use mcp_hil_record::Reporter;
use mcp_hil_record::cause::causes;
use mcp_hil_record::event::{CaseReport, DutInfo, DutReady, Event, RunStarted, SCHEMA, Summary};
use mcp_hil_report::{Style, Terminal};

const REQUIREMENTS: &str = r#"
[[requirement]]
id = "errors.code-integer"
level = "MUST"
text = "The code of an error is an integer."
source = "JSON-RPC 2.0"
section = "5.1"
rules = ["jsonrpc-2.0"]

[[requirement]]
id = "ids.echo"
level = "MUST"
text = "An answer carries the id of its request."
source = "xiaozhi MCP flow"
section = "Error handling, invalid id"
rules = ["xiaozhi"]

[[requirement]]
id = "list.description"
level = "SHOULD"
text = "A tool has a description."
source = "MCP 2024-11-05"
section = "server/tools, Tool"
rules = ["xiaozhi"]
"#;

pub(crate) fn catalogue() -> Arc<Catalogue> {
    Arc::new(Catalogue::load([("test.toml", REQUIREMENTS)], RuleSet::DEFAULT).unwrap())
}

pub(crate) fn style() -> Style {
    Style {
        color: false,
        width: 80,
        wraps: false,
        verbose: false,
        quiet: false,
        catalogue: catalogue(),
    }
}

/// A writer whose text can be read while a reporter holds it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the terminal shows of some events: standard output and standard error in one.
pub(crate) fn shown(style: Style, events: &[Event]) -> String {
    let terminal = Shared::default();
    let mut report = Terminal::new(terminal.clone(), terminal.clone(), style);
    for event in events {
        report.event(event).unwrap();
    }
    if !matches!(events.last(), Some(Event::RunFinished(_))) {
        // The end of a run tells its causes.
        report.event(&Event::RunFinished(ended(events, Summary::default()))).unwrap();
    }
    terminal.text()
}

/// A summary with the causes of the cases among some events.
pub(crate) fn ended(events: &[Event], summary: Summary) -> Summary {
    let mut recorder = Recorder::default();
    recorder.take(&Event::RunStarted(started()));
    events.iter().for_each(|event| recorder.take(event));
    Summary { causes: causes(&recorder.record().unwrap().cases), ..summary }
}

pub(crate) fn record(events: &[Event]) -> Record {
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.take(event));
    recorder.record().unwrap().clone()
}

pub(crate) fn started() -> RunStarted {
    RunStarted {
        schema: SCHEMA,
        tool: "mcp-hil 0.1.0".into(),
        run: "run-7".into(),
        started: "2026-08-21T10:11:12Z".into(),
        seed: 7,
        strict: false,
        rules: vec!["xiaozhi".into(), "jsonrpc-2.0".into()],
        duts: vec![DutInfo {
            name: "native".into(),
            target: "native".into(),
            transport: "websocket".into(),
            fidelity: "simulation, no board attached".into(),
            level: "host process".into(),
            cannot_show: vec!["radio".into(), "flash".into()],
            reference: false,
            in_place_of: None,
        }],
        cases: 41,
        basis: None,
        joined: Vec::new(),
        at_once: None,
    }
}

pub(crate) fn ready() -> DutReady {
    let facts = Facts {
        tools: (0..30).map(|at| format!("self.tool_{at}")).collect(),
        user_tools: vec!["self.reboot".into()],
        ..Facts::default()
    };
    DutReady {
        identity: None,
        dut: "native".into(),
        transport: "websocket".into(),
        server: Some(("reference-device".into(), "1.2.0".into())),
        facts,
        took_us: 132_000,
    }
}

pub(crate) fn case(id: &str, verdict: Verdict) -> CaseReport {
    CaseReport {
        dut: "native".into(),
        transport: "websocket".into(),
        case: id.into(),
        title: format!("title of {id}"),
        file: Some(format!("{id}.yaml")),
        line: None,
        verdict,
        reason: None,
        known: false,
        attempts: None,
        flaky: false,
        took_us: 41_000,
        findings: Vec::new(),
        exercised: vec!["ids.echo".into(), "errors.code-integer".into()],
        transcript: Some(format!("transcripts/{}.jsonl", id.replace('/', "."))),
        repro: format!("mcp-hil run --dut native --only {id}"),
        generated: None,
    }
}

pub(crate) fn no_code() -> Finding {
    Finding {
        requirement: "errors.code-integer".into(),
        level: Level::Must,
        verdict: Verdict::Fail,
        step: None,
        expected: "error.code is an integer".into(),
        received: r#"{"message":"Method not implemented: no/such"}"#.into(),
        sent: Some(r#"{"jsonrpc":"2.0","id":12,"method":"no/such","params":{}}"#.into()),
        seq: Some(12),
        console: Vec::new(),
        places: Vec::new(),
        transcript: None,
        late: false,
        known: false,
    }
}

pub(crate) fn silent() -> Finding {
    Finding {
        requirement: "ids.echo".into(),
        verdict: Verdict::Inconclusive,
        expected: "an answer to the request".into(),
        received: "no answer, fence lost".into(),
        sent: Some(r#"{"jsonrpc":"2.0","id":31,"method":"tools/list"}"#.into()),
        seq: Some(31),
        ..no_code()
    }
}

pub(crate) fn no_description() -> Finding {
    Finding {
        requirement: "list.description".into(),
        level: Level::Should,
        verdict: Verdict::Pass,
        expected: "description is a string".into(),
        received: r#"{"name":"self.lamp.get_state"}"#.into(),
        sent: None,
        seq: Some(4),
        ..no_code()
    }
}

/// A case of each status.
pub(crate) fn each_status() -> Vec<Event> {
    let failed =
        CaseReport { findings: vec![no_code()], ..case("errors/unknown-method", Verdict::Fail) };
    let warned =
        CaseReport { findings: vec![no_description()], ..case("list/descriptions", Verdict::Pass) };
    let known = CaseReport {
        known: true,
        findings: vec![Finding { known: true, ..no_code() }],
        ..case("errors/unknown-tool", Verdict::Fail)
    };
    let unclear = CaseReport {
        reason: Some("no answer, fence lost".into()),
        findings: vec![silent()],
        took_us: 5_003_000,
        ..case("robustness/deep-nesting", Verdict::Inconclusive)
    };
    let broken = CaseReport {
        reason: Some("the connection could not be made again: no device within 10 s".into()),
        ..case("session/reconnect", Verdict::Error)
    };
    let not_applicable = CaseReport {
        reason: Some("the device has no `mute`".into()),
        took_us: 0,
        exercised: Vec::new(),
        ..case("volume/mute", Verdict::NotApplicable)
    };
    [case("list/pagination", Verdict::Pass), warned, failed, known, unclear, broken, not_applicable]
        .into_iter()
        .map(Event::CaseFinished)
        .collect()
}

pub(crate) fn green() -> Summary {
    Summary {
        duts: 1,
        cases: 41,
        passed: 41,
        required: 131,
        exercised: 131,
        took_us: 4_118_000,
        folder: "target/mcp-hil/run-7".into(),
        ..Summary::default()
    }
}

pub(crate) fn mixed() -> Summary {
    let summary = Summary {
        cases: 6,
        passed: 2,
        failed: 1,
        known: 1,
        inconclusive: 1,
        errors: 1,
        not_applicable: 1,
        warnings: 1,
        exit: 1,
        ..green()
    };
    ended(&each_status(), summary)
}

/// A whole run with a case of each status.
pub(crate) fn whole_run() -> Vec<Event> {
    let mut events = vec![Event::RunStarted(started()), Event::DutReady(Box::new(ready()))];
    events.extend(each_status());
    events.push(Event::RunFinished(mixed()));
    events
}
