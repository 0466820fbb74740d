//! The HTML report: what stands in it, what does not get into it, and how a real browser shows it.

#![cfg(not(feature = "hil"))]

#[path = "html/browser.rs"]
mod browser;
#[path = "html/chromium.rs"]
mod chromium;
#[allow(dead_code, reason = "shared with the tests of the other reports")]
#[path = "report/data.rs"]
mod data;
mod support;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chromium::Browser;
use data::{case, catalogue, each_status, mixed, no_code, ready, record, started, whole_run};
use mcp_hil_core::identity::Identity;
use mcp_hil_core::transcript::{Entry, Role, TargetEvent, What};
use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_core::wire::Frame;
use mcp_hil_record::Record;
use mcp_hil_record::Reporter;
use mcp_hil_record::event::{Basis, CaseReport, DutReady, Event};
use mcp_hil_report::{Sources, html};
use serde_json::{Value, json};
use support::Place;

/// Ends every element that a text could be in, and then does harm.
const HOSTILE: &str = "</script></pre></details><script>document.title='taken'</script>\
    <img src=x onerror=\"document.title='taken'\">'\"><!--<script>\u{202e}\u{2028}\u{0}\u{1b}[2J{{data}}";

/// A page of a run whose folder is there.
fn page(record: &Record, folder: &Path) -> String {
    let sources = Sources { folder: folder.to_owned(), compare: None };
    html::render(record, &catalogue(), &sources)
}

fn entry(seq: u64, what: What) -> Entry {
    Entry {
        seq,
        at_us: 1_000_000 + seq * 700,
        case: "errors/unknown-method".into(),
        step: Some("1.0".into()),
        what,
    }
}

fn sent(seq: u64, text: &str) -> Entry {
    let frame = Frame::Text(text.to_owned());
    let role = Role::Stimulus;
    entry(seq, What::Sent { role, frame })
}

fn received(seq: u64, text: &str) -> Entry {
    let frame = Frame::Text(text.to_owned());
    entry(seq, What::Received { frame })
}

/// A request and its answer inside of their envelopes.
fn exchange(seq: u64) -> [Entry; 2] {
    let wrap = |payload: Value| json!({"session_id": "5b", "type": "mcp", "payload": payload});
    let call = json!({"name": "self.audio_speaker.set_volume", "arguments": {"volume": seq % 101}});
    let request = json!({"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": call});
    let answer = json!({"jsonrpc": "2.0", "id": seq, "result": {
        "content": [{"type": "text", "text": "true"}], "isError": false}});
    [sent(seq, &wrap(request).to_string()), received(seq + 1, &wrap(answer).to_string())]
}

fn write(place: &Place, name: &str, entries: &[Entry]) {
    let mut text = String::new();
    for entry in entries {
        text += &serde_json::to_string(entry).unwrap();
        text += "\n";
    }
    place.write(name, text);
}

/// A run with a case of each status, and what was recorded of the one that failed.
fn a_run(place: &Place) -> Record {
    let mut entries = vec![
        entry(8, What::Target { event: TargetEvent::Started }),
        entry(9, What::Console { line: "I (12) MCP: \u{1b}[2Jready".into() }),
    ];
    entries.extend(exchange(10));
    entries.push(sent(
        12,
        r#"{"session_id":"5b","type":"mcp","payload":{"id":12,"big":9007199254740993}}"#,
    ));
    entries.push(received(
        13,
        r#"{"session_id":"5b","type":"mcp","payload":{"id":12,"text":"\ud800"}}"#,
    ));
    write(place, "transcripts/errors.unknown-method.jsonl", &entries);
    record(&whole_run())
}

#[test]
fn everything_but_timelines_is_there_without_a_script() {
    let place = Place::new();
    let mut run = a_run(&place);
    let identity = Identity {
        board_type: Some("bread-compact".into()),
        chip: Some("esp32s3".into()),
        elf_sha256: Some("0123abcd".into()),
        ..Identity::default()
    };
    run.duts[0] = DutReady { identity: Some(identity), ..ready() };
    let page = page(&run, place.path("").as_path());
    let before_data = page.split("<script").next().unwrap();
    for text in [
        ">Not conforming</h1>",
        ">PASS</span><b>list/pagination</b>",
        ">WARN</span><b>list/descriptions</b>",
        ">FAIL</span><b>errors/unknown-method</b>",
        ">KNOWN</span><b>errors/unknown-tool</b>",
        ">INCONC</span><b>robustness/deep-nesting</b>",
        ">ERROR</span><b>session/reconnect</b>",
        ">N/A</span><b>volume/mute</b>",
        "<h5>expected</h5><pre>error.code is an integer</pre>",
        "Method not implemented: no/such",
        "<a href=\"#native/ws/errors/unknown-method@12\">transcripts/errors.unknown-method.jsonl line 5</a>",
        "<code>mcp-hil run --dut native --only errors/unknown-method</code>",
        // The matrix, by document and section.
        "<b>JSON-RPC 2.0</b>",
        ">5.1</th>",
        "The code of an error is an integer.",
        ">broken <small>",
        // Device and provenance.
        "<dt>target</dt><dd><code>native</code></dd>",
        "<b>host process</b>: simulation, no board attached",
        "<dt>not observed</dt><dd>radio, flash</dd>",
        "<dt>chip</dt><dd>esp32s3</dd>",
        "<dt>firmware hash</dt><dd>0123abcd</dd>",
        "reference-device 1.2.0",
        // Latency.
        "1 answer: median 700 µs",
        "call self.audio_speaker.set_volume",
    ] {
        assert!(before_data.contains(text), "{text} is missing in {before_data}");
    }
    assert_eq!(page, self::page(&run, place.path("").as_path()), "the same bytes again");
}

#[test]
fn a_requirement_is_told_by_the_cases_that_break_it() {
    let place = Place::new();
    let page = page(&a_run(&place), place.path("").as_path());
    // Six cases exercise it, and one breaks it.
    assert!(
        page.contains(
            "data-find=\"broken:errors.code-integer\" title=\"show the cases\">broken <small>×1</small>"
        ),
        "{}",
        page.split("<tr id=\"requirement/errors.code-integer\">").nth(1).unwrap()
    );
    assert!(page.contains("id=\"native/ws/errors/unknown-method\" data-status=\"fail\" data-timeline=\"t0\" data-found=\"broken:errors.code-integer\""));
}

#[test]
fn a_requirement_links_to_its_text_and_that_to_its_document() {
    let place = Place::new();
    let page = page(&a_run(&place), place.path("").as_path());
    let case = page.split("id=\"native/ws/errors/unknown-method\"").nth(1).unwrap();
    let case = case.split("</details>").next().unwrap();
    let link = "<a href=\"#requirement/errors.code-integer\"><code>errors.code-integer</code></a>";
    // In the evidence, and in the list of what was exercised.
    assert_eq!(case.matches(link).count(), 2, "{case}");
    assert!(
        case.contains("(MUST, <a href=\"#document/JSON-RPC_202.0\">JSON-RPC 2.0 section 5.1</a>)")
    );
    let document =
        page.split("<details class=\"document\" id=\"document/JSON-RPC_202.0\"").nth(1).unwrap();
    let row = document.split("<tr id=\"requirement/errors.code-integer\">").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    let published = "<a href=\"https://www.jsonrpc.org/specification\" rel=\"noreferrer noopener\">JSON-RPC 2.0 section 5.1</a>";
    assert!(
        row.contains("<p>The code of an error is an integer.</p>") && row.contains(published),
        "{row}"
    );
    assert!(row.contains("<td>MUST</td>"), "{row}");
}

#[test]
fn the_slowest_answer_stands_in_a_chart() {
    let place = Place::new();
    let mut entries: Vec<Entry> = (10..16).step_by(2).flat_map(exchange).collect();
    let ask = |seq| sent(seq, &format!(r#"{{"payload":{{"id":{seq},"method":"tools/list"}}}}"#));
    let mut late = received(21, r#"{"payload":{"id":20,"result":{}}}"#);
    late.at_us += 2_000_000;
    entries.extend([ask(20), late]);
    write(&place, "transcripts/errors.unknown-method.jsonl", &entries);
    let page = page(&record(&whole_run()), place.path("").as_path());
    let chart = page.split("<figure class=\"chart\">").nth(1).unwrap();
    let chart = chart.split("</figure>").next().unwrap();
    let worst = chart.split("<g class=\"worst\">").nth(1).unwrap().split("</g>").next().unwrap();
    assert!(worst.contains(">tools/list</text>") && worst.contains(">2 s</text>"), "{worst}");
    assert_eq!(chart.matches("<g class=\"row\">").count(), 1, "{chart}");
    assert!(chart.contains("<a href=\"#native/ws/errors/unknown-method@21\">here</a>"), "{chart}");
}

#[test]
fn what_is_broken_comes_first() {
    let place = Place::new();
    let page = page(&a_run(&place), place.path("").as_path());
    let at = |text: &str| page.find(text).unwrap();
    let order = [
        "errors/unknown-method</b>",
        "session/reconnect</b>",
        "robustness/deep-nesting</b>",
        "errors/unknown-tool</b>",
        "list/pagination</b>",
    ];
    assert!(order.is_sorted_by_key(|text| at(text)));
}

/// A run in which everything that a device or a file can say is hostile.
fn hostile(place: &Place) -> Record {
    let text = |what: &str| format!("{what} {HOSTILE}");
    let finding = Finding {
        requirement: text("slug"),
        expected: text("expected"),
        received: text("received"),
        sent: Some(text("sent")),
        step: Some(text("step")),
        ..no_code()
    };
    let case = CaseReport {
        title: text("title"),
        reason: Some(text("reason")),
        findings: vec![finding],
        exercised: vec![text("exercised")],
        repro: text("repro"),
        file: Some(text("file")),
        ..case("errors/unknown-method", Verdict::Fail)
    };
    let mut known = ready();
    known.server = Some((text("name"), text("version")));
    known.identity = Some(Identity { chip: Some(text("chip")), ..Identity::default() });
    known.facts.tools = vec![text("tool")];
    let summary = mcp_hil_record::event::Summary {
        bench_error: Some(text("bench")),
        stale: vec![text("stale")],
        ..mixed()
    };
    let other = CaseReport { transcript: None, ..self::case(&text("id"), Verdict::Pass) };
    let entries = [
        sent(11, &text("sent")),
        received(12, &text("received")),
        entry(13, What::Console { line: text("console") }),
        entry(14, What::Target { event: TargetEvent::Exited(text("exited")) }),
    ];
    write(place, "transcripts/errors.unknown-method.jsonl", &entries);
    record(&[
        Event::RunStarted(started()),
        Event::DutReady(Box::new(known)),
        Event::Notice { text: text("notice") },
        Event::CaseFinished(case),
        Event::CaseFinished(other),
        Event::RunFinished(summary),
    ])
}

/// The rows of a timeline as the script gets them.
fn timeline(page: &str, number: usize) -> Value {
    let data = page.split(&format!("id=\"t{number}\">")).nth(1).unwrap();
    let data = data.split("</script>").next().unwrap();
    let data = data_encoding::BASE64.decode(data.as_bytes()).unwrap();
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(&data[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn no_text_of_a_device_is_markup() {
    let place = Place::new();
    let page = page(&hostile(&place), place.path("").as_path());
    // The page's own script and the data of one timeline.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    for unseen in ['\u{202e}', '\u{2028}', '\u{0}', '\u{1b}'] {
        assert!(!page.contains(unseen), "{unseen:?}");
    }
    let data = timeline(&page, 0);
    assert_eq!(data["rows"].as_array().unwrap().len(), 4);
    assert!(data["rows"][1][4].as_str().unwrap().contains("</script>"));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let place = Place::new();
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(50_000));
    write(&place, "transcripts/long.jsonl", &[received(1, &long)]);
    place.write("transcripts/broken.jsonl", "{\"seq\":1}\n");
    let of = |id: &str| case(id, Verdict::Pass);
    let outside = CaseReport { transcript: Some("../outside.jsonl".into()), ..of("outside") };
    let mut events = vec![Event::RunStarted(started())];
    events.extend([of("long"), of("broken"), of("missing"), outside].map(Event::CaseFinished));
    events.push(Event::RunFinished(data::green()));
    let page = page(&record(&events), place.path("").as_path());
    assert!(page.len() < 200_000, "{}", page.len());
    assert!(timeline(&page, 0)["rows"][0][4].as_str().unwrap().contains("bytes cut] ..."));
    for text in [
        "`transcripts/broken.jsonl`, line 1: ",
        "`transcripts/missing.jsonl` cannot be read: ",
        "`../outside.jsonl` cannot be read: it is not in the run&#39;s folder",
    ] {
        assert!(page.contains(text), "{text} is missing");
    }
}

#[test]
fn many_findings_and_endless_evidence_leave_a_page_that_opens() {
    // Ten times what is shown of it; all of them together still fit into memory.
    let finding = Finding { received: "x".repeat(30_000), ..no_code() };
    let case = CaseReport { findings: vec![finding; 100], ..case("a", Verdict::Fail) };
    let mut events = vec![Event::RunStarted(started())];
    events.extend(
        (0..100)
            .map(|n| Event::CaseFinished(CaseReport { case: format!("a/{n}"), ..case.clone() })),
    );
    events.push(Event::RunFinished(mixed()));
    let page = page(&record(&events), Path::new("nowhere"));
    assert!(page.len() < 16 << 20, "{}", page.len());
    assert!(page.contains("60 more findings are left out here"));
}

#[test]
fn the_newest_earlier_run_of_the_same_device_is_compared() {
    let place = Place::new();
    let earlier = |name: &str, hour: &str, target: &str, server: &str, verdict: Verdict| {
        let mut run = started();
        run.started = format!("2026-08-20T{hour}:00:00Z");
        run.duts[0].target = target.into();
        let mut ready = ready();
        // Another version is no other device.
        ready.server = Some((server.into(), "0.9".into()));
        let cases =
            [case("errors/unknown-method", verdict), case("list/pagination", Verdict::Fail)];
        let mut events = vec![Event::RunStarted(run), Event::DutReady(Box::new(ready))];
        events.extend(cases.map(Event::CaseFinished));
        events.push(Event::RunFinished(mixed()));
        let mut text = Vec::new();
        record(&events).write(&mut text).unwrap();
        place.write(&format!("runs/{name}/report.json"), text);
    };
    earlier("2026-08-20T01", "01", "native", "reference-device", Verdict::Fail);
    earlier("2026-08-20T02", "02", "native", "reference-device", Verdict::Pass);
    earlier("2026-08-20T03", "03", "qemu", "reference-device", Verdict::Fail);
    earlier("2026-08-20T033", "03", "native", "another-device", Verdict::Fail);
    place.write("runs/2026-08-20T04/report.json", "{");
    earlier("2026-08-22T05", "05", "native", "reference-device", Verdict::Fail);
    let run = place.write("runs/2026-08-21T10/junit.xml", "");
    let run = run.parent().unwrap();
    let page = page(&record(&whole_run()), run);
    for text in [
        "<code>2026-08-20T02</code>",
        "1 newly broken",
        "1 fixed",
        "<a href=\"#native/ws/errors/unknown-method\">native/ws/errors/unknown-method</a> <span \
         class=\"dim\">now broken: errors.code-integer</span>",
    ] {
        assert!(page.contains(text), "{text} is missing");
    }
    let sources = Sources { folder: run.into(), compare: Some(place.path("runs/2026-08-20T01")) };
    let other = html::render(&record(&whole_run()), &catalogue(), &sources);
    assert!(other.contains("<code>2026-08-20T01</code>") && other.contains("0 newly broken"));
    assert!(
        !self::page(&record(&whole_run()), Path::new("nowhere")).contains("Since the previous run")
    );
}

#[test]
fn a_run_of_other_cases_is_not_compared() {
    let place = Place::new();
    let of = |selected: &[&str]| {
        let mut run = started();
        run.basis = Some(Basis {
            requirements: String::new(),
            scenarios: String::new(),
            options: Vec::new(),
            baseline: None,
            firmware: None,
            selected: selected.iter().map(ToString::to_string).collect(),
            whole_suite: false,
            shard: None,
        });
        let mut events = vec![Event::RunStarted(run)];
        events.extend([case("errors/unknown-method", Verdict::Pass)].map(Event::CaseFinished));
        events.push(Event::RunFinished(mixed()));
        record(&events)
    };
    let mut text = Vec::new();
    of(&["errors/unknown-method"]).write(&mut text).unwrap();
    place.write("runs/2026-08-20T01/report.json", text);
    let run = place.write("runs/2026-08-21T10/junit.xml", "");
    let run = run.parent().unwrap();
    let compared = |record: &Record| page(record, run).contains("Since the previous run");
    assert!(compared(&of(&["errors/unknown-method"])));
    assert!(!compared(&of(&["errors/unknown-method", "list/pagination"])));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let mut file = html::file("/proc/no/report.html", Arc::clone(&catalogue()), Sources::default());
    let mut events = whole_run();
    let last = events.pop().unwrap();
    events.iter().for_each(|event| file.event(event).unwrap());
    file.event(&last).unwrap_err();
}

#[test]
fn a_run_leaves_a_page_without_its_secrets() {
    let place = Place::new();
    let token = "t0ken-that-nobody-may-see";
    let arguments = [
        "run",
        "--dut",
        "native",
        "--cases",
        "1",
        "--only",
        "initialize/",
        "--only",
        "session/",
        "--token",
        token,
        "--html",
        "out/page.html",
    ];
    let done = place.hil(arguments).end();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let page = place.read("out/page.html");
    assert_eq!(page, place.read("target/mcp-hil/latest/report.html"));
    let timelines: Vec<String> = (0..page.matches("application/octet-stream").count())
        .map(|number| timeline(&page, number).to_string())
        .collect();
    assert!(page.contains("initialize/full"));
    assert!(timelines.iter().any(|rows| rows.contains("${MCP_HIL_WS_TOKEN}")));
    assert!(!page.contains(token) && !timelines.concat().contains(token));

    let replayed = place.hil(["replay", "target/mcp-hil/latest", "--html", "again.html"]).end();
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert!(place.read("again.html").contains("initialize/full"));

    let refused = place.hil(["run", "--dut", "native", "--compare", "nowhere"]).end();
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot read `nowhere/report.json`"), "{}", refused.stderr);
}
