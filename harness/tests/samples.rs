//! The samples of output in the documentation are what the program prints today.
//!
//! A sample is a fenced block below a line `<!-- sample: NAME -->`. Its first line is the command, `$ mcp-hil ...` or
//! `$ cargo run --release -- ...`; below it stands standard output. Each line `...` stands for lines that are left
//! out. Run with `UPDATE_SAMPLES=1`, the test writes what the program prints into the documents.
//!
//! The device in Python that the manual shows is tried, too.

#![cfg(not(feature = "hil"))]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use support::Place;

/// Rewrites the documents where it is `1`.
const UPDATE: &str = "UPDATE_SAMPLES";

/// A line of a sample that stands for any number of lines.
const LEFT_OUT: &str = "...";

/// One fenced block.
#[derive(Debug)]
struct Sample {
    document: PathBuf,
    name: String,
    /// Arguments of the program.
    arguments: Vec<String>,
    /// The lines of the document that hold the output, counted from 0.
    lines: std::ops::Range<usize>,
    output: Vec<String>,
}

#[test]
fn samples_in_the_documentation_are_what_the_program_prints() {
    let samples = all_samples();
    let names: Vec<&str> = samples.iter().map(|sample| &*sample.name).collect();
    for name in ["good-run", "failing-run", "changed-answer"] {
        assert!(names.contains(&name), "no sample `{name}` in {names:?}");
    }
    let runs: Vec<_> = samples
        .iter()
        .map(|sample| {
            let place = Place::new();
            prepare(&place, &sample.name);
            // In CI other files are written, and lines name them.
            let run = place.hil(&sample.arguments).without_env("CI").start();
            (sample, place, run)
        })
        .collect();
    let mut wrong: BTreeMap<&Path, Vec<(&Sample, Vec<String>)>> = BTreeMap::new();
    let mut told = String::new();
    for (sample, _place, run) in runs {
        let done = run.end();
        assert!(matches!(done.code, Some(0 | 1)), "{}: {done}", sample.name);
        let printed = without_timing(&done.stdout);
        if let Err(line) = fits(&sample.output, &printed) {
            let new = updated(&sample.output, &printed);
            told.push_str(&format!(
                "{}:{}: sample `{}` is not what the program prints:\n{line}\n\nexpected there:\n{}\n\n",
                sample.document.display(),
                sample.lines.start + 1,
                sample.name,
                new.join("\n"),
            ));
            wrong.entry(&sample.document).or_default().push((sample, new));
        }
    }
    if std::env::var(UPDATE).is_ok_and(|value| value == "1") {
        for (document, samples) in wrong {
            rewrite(document, samples);
        }
        return;
    }
    assert!(
        told.is_empty(),
        "{told}hint: `{UPDATE}=1 cargo test -p mcp-hil --test samples` writes it there"
    );
}

/// What a command finds in the folder where it runs.
fn prepare(place: &Place, name: &str) {
    if name != "changed-answer" {
        return;
    }
    place.write("kitchen.toml", "name = \"kitchen\"\ntarget = \"native\"\n");
    let arguments = "run --dut kitchen.toml --only call/unknown-tool --snapshots update";
    place.hil(arguments.split(' ')).end().exits(0);
    // The device that was reviewed had another error code.
    let file = "snapshots/kitchen/call/unknown-tool.snap";
    let reviewed = place.read(file);
    let other = reviewed.replace("\"code\": -32602", "\"code\": -32000");
    assert_ne!(other, reviewed);
    place.write(file, other);
}

fn all_samples() -> Vec<Sample> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut documents = vec![root.join("README.md"), root.join("scenarios/README.md")];
    for folder in ["harness/manual", "ci"] {
        let files = std::fs::read_dir(root.join(folder)).unwrap();
        let files = files.map(|file| file.unwrap().path());
        documents.extend(files.filter(|file| file.extension().is_some_and(|end| end == "md")));
    }
    documents.sort();
    documents
        .iter()
        .flat_map(|document| samples_of(document, &std::fs::read_to_string(document).unwrap()))
        .collect()
}

fn samples_of(document: &Path, text: &str) -> Vec<Sample> {
    let lines: Vec<&str> = text.lines().collect();
    let mut samples = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = line.strip_prefix("<!-- sample: ") else {
            continue;
        };
        let name = name.strip_suffix(" -->").unwrap();
        let place = format!("{}:{}", document.display(), at + 1);
        assert!(lines[at + 1].starts_with("```"), "{place}: no block below it");
        let command = ["$ mcp-hil ", "$ cargo run --release -- "];
        let arguments = command.iter().find_map(|command| lines[at + 2].strip_prefix(command));
        let arguments = arguments.unwrap_or_else(|| panic!("{place}: no command of mcp-hil"));
        let first = at + 3;
        let length = lines[first..].iter().position(|line| *line == "```");
        let end = first + length.unwrap();
        samples.push(Sample {
            document: document.to_owned(),
            name: name.to_owned(),
            arguments: arguments.split(' ').map(str::to_owned).collect(),
            lines: first..end,
            output: lines[first..end].iter().map(|line| (*line).to_owned()).collect(),
        });
    }
    samples
}

fn rewrite(document: &Path, mut samples: Vec<(&Sample, Vec<String>)>) {
    let text = std::fs::read_to_string(document).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the last one on, so that the places of the others stay.
    samples.sort_by_key(|(sample, _)| std::cmp::Reverse(sample.lines.start));
    for (sample, new) in samples {
        lines.splice(sample.lines.clone(), new);
    }
    std::fs::write(document, lines.join("\n") + "\n").unwrap();
}

/// What was printed without the rows `timing`, `round trips` and `waited` of the summary, which are there on a busy
/// machine only.
fn without_timing(stdout: &str) -> Vec<String> {
    let mut is_timing = false;
    let keep = |line: &&str| {
        let label = line.get(4..17).unwrap_or_default().trim();
        is_timing =
            ["timing", "round trips", "waited"].contains(&label) || is_timing && label.is_empty();
        !is_timing
    };
    stdout.lines().filter(keep).map(str::to_owned).collect()
}

/// A line without what differs from one run to the next.
fn plain(line: &str) -> String {
    const DIFFER: [(&str, &str); 7] = [
        (r"\[ *\d+\.\d+s\]", "[time]"),
        (r"\bseed \d+", "seed N"),
        (r"\bseq \d+", "seq N"),
        (r"\b\d+ exchanges", "N exchanges"),
        (r"\b\d{4}-\d\d-\d\dT\d{6}Z", "DATE"),
        // A session id, also where the end of a line cuts it.
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}", "UUID"),
        (r#"\b[0-9a-f]{12}""#, "UUID\""),
    ];
    let mut line = line.to_owned();
    for (pattern, mark) in DIFFER {
        let pattern = Regex::new(pattern).unwrap();
        line = pattern.replace_all(&line, mark).into_owned();
    }
    line
}

/// Whether a sample is what was printed; else the first line that is not.
fn fits(sample: &[String], printed: &[String]) -> Result<(), String> {
    let plain =
        |lines: &[String]| -> Vec<String> { lines.iter().map(|line| plain(line)).collect() };
    let (sample, printed) = (plain(sample), plain(printed));
    let mut from = 0;
    let parts: Vec<&[String]> = sample.split(|line| line.trim() == LEFT_OUT).collect();
    for (at, part) in parts.iter().enumerate() {
        let [.., last] = part else {
            continue;
        };
        let (is_first, is_last) = (at == 0, at + 1 == parts.len());
        // How many lines are the same from there on.
        let same = |start: usize| {
            let pairs = part.iter().zip(&printed[start..]);
            pairs.take_while(|(line, printed)| line == printed).count()
        };
        let is_here = |start: usize| {
            same(start) == part.len() && (!is_last || start + part.len() == printed.len())
        };
        let starts = || from..if is_first { 1 } else { printed.len() };
        let Some(found) = starts().find(|start| is_here(*start)) else {
            let most = starts().map(same).max().unwrap_or_default();
            return Err(part.get(most).unwrap_or(last).clone());
        };
        from = found + part.len();
    }
    Ok(())
}

/// The sample with the lines that were printed, and the same parts left out.
fn updated(sample: &[String], printed: &[String]) -> Vec<String> {
    // Numbers and times may be others: the line is the same.
    let digits = Regex::new(r"[ \d.]+").unwrap();
    let stem = |line: &String| digits.replace_all(&plain(line), " ").into_owned();
    let (mut new, mut from, mut is_left_out) = (Vec::new(), 0, false);
    for line in sample {
        if line.trim() == LEFT_OUT {
            new.push(line.clone());
            is_left_out = true;
            continue;
        }
        let rest = printed[from..].iter();
        // One that is no longer printed goes.
        if let Some(skipped) = rest.clone().position(|other| stem(other) == stem(line)) {
            if !is_left_out {
                new.extend_from_slice(&printed[from..from + skipped]);
            }
            new.push(printed[from + skipped].clone());
            from += skipped + 1;
            is_left_out = false;
        }
    }
    if !is_left_out {
        new.extend_from_slice(&printed[from..]);
    }
    new
}

/// The interpreter that has `websockets`; says so where there is none.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("MCP_HIL_PYTHON").unwrap_or_else(|| "python3".into());
    let has = Command::new(&named)
        .args(["-c", "import websockets.sync.client"])
        .stderr(Stdio::null())
        .status();
    if has.is_ok_and(|status| status.success()) {
        return Some(named.into());
    }
    support::missing::PYTHON.is_missing("no `websockets`");
    None
}

#[test]
fn the_device_in_python_of_the_manual_conforms() {
    let Some(python) = python() else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("manual/devices.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, device) = page.split_once("\n```python\n").unwrap();
    let (device, _) = device.split_once("\n```\n").unwrap();
    let place = Place::new();
    place.write("device.py", format!("{device}\n"));
    let dut = format!("exec:'{}' device.py", python.display());
    // Without what waits for the reconnect that the page says it lacks.
    let areas = ["call/", "envelope/", "initialize/", "jsonrpc/", "list/"];
    let only = areas.iter().flat_map(|area| ["--only", area]);
    place
        .hil(["run", "--strict", "--inputs", "0", "--dut", &dut].into_iter().chain(only))
        .end()
        .exits(0);
}

fn lines(text: &str) -> Vec<String> {
    text.split('/').map(str::to_owned).collect()
}

#[test]
fn a_sample_may_leave_lines_out_and_times_open() {
    let printed = lines("seed 7/PASS [  0.100s] a/PASS [  0.200s] b/2 cases/end");
    let fits = |sample: &str| fits(&lines(sample), &printed);
    for good in [
        "seed 9/PASS [ 12.345s] a/PASS [  0.000s] b/2 cases/end",
        "seed 9/.../end",
        ".../PASS [  0.000s] b/  ...",
        ".../2 cases/end",
    ] {
        assert_eq!(fits(good), Ok(()), "{good}");
    }
    for (bad, line) in [
        ("seed 9/end", "end"),
        (".../PASS [  0.000s] a/PASS [  0.000s] c/...", "PASS [time] c"),
        ("PASS [  0.000s] a/...", "PASS [time] a"),
        (".../3 cases/end", "3 cases"),
        (".../2 cases", "2 cases"),
        (".../PASS [  0.000s] b/.../PASS [  0.000s] a/...", "PASS [time] a"),
    ] {
        assert_eq!(fits(bad), Err(line.to_owned()), "{bad}");
    }
}

#[test]
fn the_rows_of_slow_answers_are_no_part_of_a_sample() {
    let row = |label: &str, text: &str| format!("    {label:13}{text}\n");
    let slow = row("timing", "calls: median 150 ms,") + &row("", "slowest 1.2 s");
    let timing = slow + &row("round trips", "7787 of about 335 µs");
    let rest = " Summary [  1.000s] 2 cases\n".to_owned() + &row("answers", "3 as reviewed");
    let stdout = rest.clone() + &timing + &row("report", "folder");
    assert_eq!(without_timing(&stdout).join("\n") + "\n", rest + &row("report", "folder"));
}

#[test]
fn an_updated_sample_fits_and_leaves_the_same_out() {
    let printed = lines("seed 7/new/PASS [  0.100s] a/PASS [  0.200s] b/20 cases/end");
    let new = updated(&lines("seed 9/PASS [  0.900s] a/.../gone/3 cases/end"), &printed);
    assert_eq!(new, lines("seed 7/new/PASS [  0.100s] a/.../20 cases/end"));
    assert_eq!(fits(&new, &printed), Ok(()));
}

#[test]
fn a_sample_is_found_with_its_command() {
    let text =
        "text\n<!-- sample: one -->\n```console\n$ mcp-hil run --only ids/\nout\n...\n```\nmore\n";
    let samples = samples_of(Path::new("here.md"), text);
    let [sample] = &samples[..] else {
        panic!("{samples:?}");
    };
    assert_eq!(sample.arguments, ["run", "--only", "ids/"]);
    assert_eq!(sample.output, ["out", "..."]);
    assert_eq!((sample.lines.start, &*sample.name), (4, "one"));
}
