//! Known failures: the lists that come with the program, and those that it writes itself.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcp_hil::suite::Suite;
use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::compare::SAME_ANSWERS;
use mcp_hil_core::generate::PROPERTIES;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use rstest::rstest;
use support::{Done, Place};

/// The lists that come with the program.
fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/baselines");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect()
}

fn shipped_file(name: &str) -> String {
    let find = |path: &PathBuf| path.file_name().is_some_and(|it| it == name);
    let path = shipped().into_iter().find(find).expect(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_shipped_lists_name_is_there() {
    let suite = Suite::load(&[], None).unwrap();
    let cases: BTreeSet<String> = suite.cases.iter().map(|case| case.id.to_string()).collect();
    let generated = PROPERTIES.iter().map(|property| property.id.to_owned());
    let around = [BRING_UP, CLOSE, SAME_ANSWERS].map(str::to_owned);
    let cases: Vec<String> = cases.into_iter().chain(generated).chain(around).collect();
    let files = shipped();
    assert!(files.len() >= 3, "{files:?}");
    for path in files {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let baseline = Baseline::load(&name, &text).unwrap();
        assert!(!baseline.known.is_empty(), "{name}");
        for known in &baseline.known {
            let entry = known.name();
            let covered = cases.iter().any(|case| known.covers(case));
            assert!(covered, "{name}: `{entry}` is about no case");
            if let Some(slug) = &known.requirement {
                let there = suite.catalogue.active(slug).is_some();
                assert!(there, "{name}: `{entry}` names no requirement in force");
            }
            assert!(!known.review, "{name}: nobody has reviewed `{entry}`");
            assert_eq!(known.expires, None, "{name}: `{entry}` would end by itself");
        }
    }
}

/// What was printed, without the line breaks that the width of a terminal makes.
fn squeezed(done: &Done) -> String {
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    words.join(" ")
}

/// Runs the simulated stock device over WebSocket.
fn stock(place: &Place, args: &[&str]) -> Done {
    let run = ["run", "--mutant", "stock-2.4", "--deadline", "4"];
    place.hil(run.iter().chain(args)).end()
}

#[test]
fn stock_firmware_fails_as_its_list_says_and_in_nothing_else() {
    let place = Place::new();
    let list = shipped_file("xiaozhi-2.4.toml");
    let args = ["--cases", "8", "--seed", "7", "--baseline", &list];
    stock(&place, &args).exits(0);
    let report = place.report();
    let summary = &report["summary"];
    assert_eq!(summary["failed"], 0, "{summary}");
    assert!(summary["known"].as_u64().unwrap() > 40, "{summary}");
    assert_eq!(summary["stale"].as_array().unwrap().len(), 0, "{summary}");

    // The same device with a firmware that the list is not for.
    let replay = |list: &str| {
        let name = place.write("other.toml", list);
        let latest = place.latest();
        let args = ["replay", latest.to_str().unwrap(), "--baseline"];
        place.hil(args).arg(name).end()
    };
    let text = std::fs::read_to_string(&list).unwrap();
    replay(&text).exits(0);
    let done = replay(&text.replace(">=2.4.0, <2.5", ">=2.5, <2.6")).exits(1);
    let told = squeezed(&done);
    let why = "*:errors.code-integer: for firmware >=2.5, <2.6, and the device has 2.4.2";
    assert!(told.contains(why) && told.contains("FAIL"), "{done}");
    // One that no longer has one of its failures.
    let gone = "\n[[known]]\ncase = \"*\"\nrequirement = \"volume.status\"\nreason = \"r\"\n";
    let done = replay(&[&text, gone].concat()).exits(1);
    let why = "*:volume.status: listed as failing, but it no longer fails";
    assert!(squeezed(&done).contains(why), "{done}");
}

#[test]
fn a_list_that_is_written_off_a_run_is_one_for_that_run() {
    let place = Place::new();
    let only = ["--only", "ids/", "--only", "errors/"];
    stock(&place, &only).exits(1);
    let latest = place.latest();
    let run = latest.to_str().unwrap();
    let new = ["baseline", "new", run, "-o", "known/stock.toml"];
    let done = place.hil(new).end().exits(0);
    done.prints(&["added: ids/large:ids.echo", "review = true"]);
    let text = place.read("known/stock.toml");
    assert!(text.contains("2.4.2"), "{text}");
    let list = ["--baseline", "known/stock.toml"];
    let done = stock(&place, &[&only[..], &list].concat()).exits(0);
    done.says(&["nobody has reviewed yet: ", "ids/large:ids.echo,"]);
    // It is there already, and may hold what people wrote.
    place
        .hil(new)
        .end()
        .exits(2)
        .says(&["known/stock.toml", "hint: `mcp-hil baseline update`"]);
}

const OURS: &str = "\
# Of the desk.

# Said on the phone.
[[known]]
case = \"ids/large\"
requirement = \"ids.echo\"
reason = \"an int\" # of 32 bits
link = \"https://example.org/17\"

[[known]]
case = \"ids/zero-paths\"
requirement = \"ids.zero\"
reason = \"was wrong once\"

[[known]]
case = \"errors/\"
reason = \"no codes\"
expires = \"2020-02-02\"
";

#[test]
fn a_list_is_brought_up_to_date_and_keeps_what_people_wrote() {
    let place = Place::new();
    stock(&place, &["--only", "ids/", "--only", "errors/"]).exits(1);
    place.write("known.toml", OURS);
    let latest = place.latest();
    let run = latest.to_str().unwrap();
    let update = ["baseline", "update", run, "-o", "known.toml"];
    let done = place.hil(update).end().exits(0);
    done.prints(&[
        "dropped: ids/zero-paths:ids.zero: listed as failing, but it no longer fails",
        "added: ids/fraction:ids.fraction",
        "to decide: errors/: expired on 2020-02-02",
    ]);
    let text = place.read("known.toml");
    let kept = OURS.split("\n[[known]]").next().unwrap();
    assert!(text.starts_with(kept), "{text}");
    assert!(!text.contains("was wrong once"), "{text}");
    let last = OURS.rsplit("\n[[known]]").next().unwrap();
    assert!(text.contains(last), "{text}");
    // What a person has to decide on is not doubled.
    assert!(!text.contains("errors/hostile-method"), "{text}");
    // Once more, it changes nothing.
    let done = place.hil(update).end().exits(0);
    done.prints(&["`known.toml` stays as it is"]);
    assert_eq!(place.read("known.toml"), text);
}

#[rstest]
#[case::no_run(&["baseline", "new", "none", "-o", "b.toml"], 2, &["none/report.json", "hint: "])]
#[case::no_file(&["baseline", "update", "run", "-o", "b.toml"], 2, &["run/report.json"])]
#[case::range(&["baseline", "new", "run", "-o", "b.toml", "--firmware", "two"], 2, &["`two` is no range of versions"])]
#[case::date(&["baseline", "new", "run", "-o", "b.toml", "--expires", "soon"], 2, &["YYYY-MM-DD"])]
fn a_mistake_is_named(#[case] args: &[&str], #[case] code: i32, #[case] said: &[&str]) {
    let place = Place::new();
    place.write("run/report.json", "{\"schema\": 1, ");
    place.hil(args).end().exits(code).says(said);
    assert!(!place.path("b.toml").exists(), "nothing was written");
}

#[test]
fn a_requirement_that_there_is_not_is_named() {
    let place = Place::new();
    place.write(
        "known.toml",
        "[[known]]\ncase = \"*\"\nrequirement = \"ids.ecco\"\nreason = \"r\"\n",
    );
    let done = place
        .hil(["run", "--baseline", "known.toml"])
        .end()
        .exits(2);
    done.says(&[
        "`known.toml`: unknown requirement `ids.ecco`",
        "did you mean `ids.echo`?",
    ]);
    assert!(!place.path("target").exists(), "nothing was started");
}

#[test]
fn a_damaged_list_and_a_folder_that_cannot_be_written_are_named() {
    let place = Place::new();
    stock(&place, &["--only", "ids/large"]).exits(1);
    let latest = place.latest();
    let run = latest.to_str().unwrap();
    place.write("known.toml", "[[known]\n");
    let update = ["baseline", "update", run, "-o", "known.toml"];
    place.hil(update).end().exits(2).says(&["known.toml:1:"]);
    assert_eq!(place.read("known.toml"), "[[known]\n");
    let new = ["baseline", "new", run, "-o", "known.toml/b.toml"];
    let done = place.hil(new).end().exits(3);
    done.says(&["cannot write `known.toml/b.toml`", "hint: "]);
}
