//! What a run leaves behind for others: events and records as their schemas describe them, pages and
//! summaries for CI servers, no secret in any of them, and a verdict even where nothing can be written.

mod coverage;
mod schema;
mod secrets;
mod trouble;

use std::fs::File;
use std::io::{Read, Write};

use crate::support::{Done, Hil, Place};
use serialport::{SerialPort, TTYPort};

/// A run as a job of GitHub sees it.
fn on_github(place: &Place, args: &[&str]) -> Hil {
    place
        .hil(args)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_WORKSPACE", place.path("").as_os_str())
        .env("GITHUB_STEP_SUMMARY", place.path("step.md").as_os_str())
}

/// The lines that a runner takes for commands.
fn commands(done: &Done) -> Vec<&str> {
    let lines = done.stdout.lines().chain(done.stderr.lines());
    lines.filter(|line| line.trim_start().starts_with("::")).collect()
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let place = Place::new();
    let own = "title: own\nsteps:\n  - request: {method: no/such}\n    \
               expect: {requirement: errors.code-integer, answer: error}\n";
    place.write("mine/errors/mine.yaml", own);
    let args = [
        "run",
        "--mutant",
        "error-code-string",
        "--scenarios",
        "mine",
        "--only",
        "errors/mine",
        "--only",
        "errors/method-not-found",
        "--summary",
        "own/summary.md",
    ];
    let done = on_github(&place, &args).end().exits(1);
    let commands = commands(&done);
    assert!(commands[0].starts_with("::stop-commands::mcp-hil-"), "{done}");
    let word = commands[0].trim_start_matches("::stop-commands::");
    assert_eq!(commands[1], format!("::{word}::"));
    // What the program has built in is no file of this repository; the own scenario shows the same.
    let own = "::error file=mine/errors/mine.yaml,line=3,title=native/ws errors.code-integer::\
               errors.code-integer%0A";
    assert!(commands.iter().any(|line| line.starts_with(own)), "{commands:#?}");
    assert!(commands[2..].iter().all(|line| line.contains("%0Arepro mcp-hil run --dut native")));
    let summary = place.read("own/summary.md");
    assert!(summary.starts_with("## ❌ mcp-hil: not conforming\n"), "{summary}");
    assert!(summary.contains("scenario     "), "{summary}");
    assert_eq!(place.read("step.md"), format!("{summary}\n"));
    let junit = place.read("target/mcp-hil/latest/junit.xml");
    assert!(junit.contains(">mine/errors/mine.yaml:3\n"), "{junit}");
    assert!(junit.contains("\nfirmware     sha256 "), "{junit}");
    // The next command of the same step adds its own.
    on_github(&place, &["replay", "target/mcp-hil/latest", "--scenarios", "mine"]).end().exits(1);
    assert_eq!(place.read("step.md").matches("## ❌ mcp-hil").count(), 2);
}

#[test]
fn events_stay_alone_on_standard_output() {
    let place = Place::new();
    let args = ["run", "--only", "ids/zero", "--format", "json"];
    let done = on_github(&place, &args).end().exits(0);
    assert!(done.events().len() > 4);
    assert!(done.stderr.starts_with("::stop-commands::"), "{done}");
    assert_eq!(commands(&done).len(), 2, "{done}");
}

#[test]
fn a_device_gives_the_runner_no_command() {
    let place = Place::new();
    // Its console is told when it never comes.
    let dut = "exec:echo '::error::x'; echo '::add-mask::FAIL'; exit 1";
    let done = on_github(&place, &["run", "--dut", dut]).end().exits(3);
    let lines: Vec<&str> = done.stdout.lines().chain(done.stderr.lines()).collect();
    let off = lines.iter().position(|line| line.starts_with("::stop-commands::"));
    let on = lines.iter().position(|line| line.starts_with("::mcp-hil-"));
    let (off, on) = (off.expect("commands are off"), on.expect("commands are on again"));
    let told = |line: &&str| line.contains("add-mask");
    assert!(lines[off..on].iter().any(told), "{done}");
    let after = lines[on + 1..].iter().filter(|line| line.trim_start().starts_with("::"));
    assert_eq!(after.count(), 1, "one annotation about the bench\n{done}");
    assert!(place.read("step.md").contains("no verdict"), "{done}");
}

#[test]
fn without_github_there_are_no_commands() {
    let place = Place::new();
    let done = place.hil(["run", "--only", "ids/zero"]).end().exits(0);
    assert!(commands(&done).is_empty(), "{done}");
    assert!(!place.path("step.md").exists());
}

#[test]
fn every_failure_is_told_with_its_transcript_and_the_command_that_runs_it_again() {
    let place = Place::new();
    let args = [
        "run",
        "--mutant",
        "error-code-string",
        "--only",
        "errors/",
        "--only",
        "ids/",
        "--only",
        "properties/ids",
        "--cases",
        "4",
        "--summary",
        "own.md",
    ];
    let done = on_github(&place, &args).end().exits(1);
    let report = place.both_reports();
    let junit = place.read("target/mcp-hil/latest/junit.xml");
    let summary = place.read("own.md");
    let red = report["cases"].as_array().unwrap().iter();
    let red: Vec<_> = red.filter(|case| case["verdict"] == "fail").collect();
    assert!(red.len() > 4);
    let block = |text: &str, begin: String, end: &str| {
        let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no {begin}\n{text}"));
        rest.split(end).next().unwrap().to_owned()
    };
    for case in red {
        let id = case["case"].as_str().unwrap();
        let transcript = case["transcript"].as_str().unwrap();
        let junit = block(&junit, format!(" name=\"{id}\" time="), "</testcase>");
        // A case is told with the commands of its causes, for these were tried; one of a generated input is no other.
        let told: Vec<&str> =
            junit.lines().filter_map(|line| line.strip_prefix("repro        ")).collect();
        let causes = report["summary"]["causes"].as_array().unwrap().iter();
        let spoils = |cause: &&serde_json::Value| {
            cause["cases"].as_array().unwrap().iter().any(|spoilt| spoilt["case"] == id)
        };
        let tried: Vec<&str> =
            causes.filter(spoils).map(|cause| cause["repro"].as_str().unwrap()).collect();
        assert!(!told.is_empty() && told.iter().all(|repro| tried.contains(repro)), "{junit}");
        assert!(junit.contains(transcript), "no `{transcript}` in {junit}");
    }
    for cause in report["summary"]["causes"].as_array().unwrap() {
        let slug = cause["finding"]["requirement"].as_str().unwrap();
        let repro = cause["repro"].as_str().unwrap();
        let transcript = cause["transcript"].as_str().unwrap();
        let blocks = [
            block(&done.stdout, format!("] {slug}\n"), "\n   Cause"),
            block(&summary, format!("<summary>{slug} native/ws</summary>"), "</details>"),
            block(&done.stdout, format!("title=native/ws {slug}::"), "\n"),
        ];
        for block in blocks {
            assert!(block.contains(repro), "no `{repro}` in {block}");
            assert!(block.contains(transcript), "no `{transcript}` in {block}");
        }
    }
}

#[test]
fn old_runs_are_deleted_and_nothing_else() {
    let place = Place::new();
    let runs = || -> Vec<String> {
        let folder = std::fs::read_dir(place.path("target/mcp-hil")).unwrap();
        let mut names: Vec<String> =
            folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    for _ in 0..3 {
        place.hil(["run", "--dut", "native", "--only", "ids/zero", "--inputs", "0"]).end().exits(0);
    }
    // What is no run that has ended stays, and what a link leads to.
    place.write("target/mcp-hil/running/transcripts/ids.zero.jsonl", "{}");
    place.write("elsewhere/report.json", "{}");
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("target/mcp-hil/kept")).unwrap();
    let all = runs();
    place
        .hil(["clean", "--keep", "1", "--dry-run"])
        .end()
        .exits(0)
        .prints(&["would delete 2 runs"]);
    assert_eq!(runs(), all);
    place.hil(["clean", "--keep", "1"]).end().exits(0).prints(&["deleted 2 runs"]);
    let left = runs();
    assert_eq!(left.len(), all.len() - 2, "{left:?}");
    assert!(place.path("target/mcp-hil/latest/report.json").exists());
    assert!(place.path("elsewhere/report.json").exists());
    place.hil(["clean", "--keep", "0"]).end().exits(0).prints(&["deleted 0 runs"]);
    place.hil(["clean", "--out", "nowhere"]).end().exits(3);
}

/// What the test writes to a terminal after the program has ended.
const END: &str = "<end of the run>";

/// What a terminal gets of a run, standard output and standard error together.
fn on_a_terminal(place: &Place, ci: bool) -> String {
    let (mut master, mut slave) = TTYPort::pair().expect("a terminal");
    master.set_timeout(crate::support::LATEST).unwrap();
    let path = slave.name().expect("a name");
    let open = || File::options().write(true).open(&path).expect("the terminal opens");
    let mut hil = place.hil(["run", "--only", "ids/"]);
    hil.0.stdout(open()).stderr(open()).env_remove("CI");
    if ci {
        hil.0.env("CI", "true");
    }
    let mut child = hil.0.spawn().expect("the program starts");
    drop(hil);
    // The terminal stays open until all of it has been read: closing the last handle discards what is still in it.
    let ended = std::thread::spawn(move || {
        let status = child.wait().unwrap();
        slave.write_all(END.as_bytes()).unwrap();
        (status, slave)
    });
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while !text.ends_with(END.as_bytes()) {
        let length = master.read(&mut part).expect("the terminal is read to its end");
        text.extend(&part[..length]);
    }
    assert!(ended.join().unwrap().0.success());
    text.truncate(text.len() - END.len());
    String::from_utf8(text).unwrap()
}

#[test]
fn progress_is_for_terminals_and_for_nobody_else() {
    let place = Place::new();
    let live = on_a_terminal(&place, false);
    assert!(live.contains("\u{1b}[2K Running [   1/"), "{live}");
    assert!(live.contains("/s, about "), "{live}");
    let (_, last) = live.rsplit_once("\u{1b}[2K").unwrap();
    assert!(
        last.contains(" Summary [") && !last.contains("Running"),
        "the line is taken away again\n{live}"
    );
    let in_ci = on_a_terminal(&place, true);
    assert!(in_ci.contains(" Summary [") && !in_ci.contains("Running"), "{in_ci}");
    let piped = place.hil(["run", "--only", "ids/"]).end().exits(0);
    assert!(!piped.stdout.contains("Running") && piped.stderr.is_empty(), "{piped}");
}
