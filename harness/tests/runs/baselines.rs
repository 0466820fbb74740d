//! Known failures: the lists that come with the program, and those that it writes itself.

mod crashes;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::{Done, Place, native};
use mcp_hil_core::baseline::{Baseline, Failing};
use mcp_hil_core::catalogue::is_liveness;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_core::transport::Transport;
use mcp_hil_generate::PROPERTIES;
use mcp_hil_judge::compare::SAME_ANSWERS;
use mcp_hil_runner::suite::Suite;
use rstest::rstest;
use serde_json::Value;

/// The lists that come with the program.
fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/baselines");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect()
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
    assert!(files.len() >= 4, "{files:?}");
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
                let mut active = suite.catalogue.iter().map(|it| &*it.id);
                let there =
                    active.any(|it| known.names(it)) || suite.catalogue.active(slug).is_some();
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
    let why = "*:errors.code-integer: for firmware >=2.5, <2.6, but the device has 2.4.2";
    assert!(told.contains(why) && told.contains("FAIL"), "{done}");
    // One that no longer has one of its failures.
    let gone = "\n[[known]]\ncase = \"*\"\nrequirement = \"volume.status\"\nreason = \"r\"\n";
    let done = replay(&[&text, gone].concat()).exits(1);
    let why = "*:volume.status: listed as failing, but it no longer fails";
    assert!(squeezed(&done).contains(why), "{done}");
}

/// The list is that of the firmware, whatever a board has and however it lives.
#[rstest]
#[case::no_camera("mqtt", "--variant no-camera", &["list/", "ids/", "errors/", "arguments/", "volume/"])]
#[case::pressed("websocket", "--stock --button-after-ms 200", &["ids/", "errors/", "session/"])]
#[case::alive("websocket", "--variant stock-life --variant no-camera", &["ids/paths", "errors/hostile", "volume/set"])]
fn the_list_of_stock_firmware_is_for_all_its_boards(
    #[case] transport: &str,
    #[case] life: &str,
    #[case] only: &[&str],
) {
    let place = Place::new();
    let list = shipped_file("xiaozhi-2.4.toml");
    let program = native().display();
    let dut = format!("exec:{program} --mutant stock-2.4 {life}");
    let only = only.iter().flat_map(|only| ["--only", only]);
    let args = ["run", "--dut", &dut, "--transport", transport, "--deadline", "4", "--seed", "7"];
    let args = args.into_iter().chain(["--baseline", &list]).chain(only);
    place.hil(args).end().exits(0);
    let summary = &place.report()["summary"];
    assert!(summary["known"].as_u64().unwrap() > 2, "{summary}");
    assert_eq!(summary["inconclusive"], 0, "{summary}");
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
    place.hil(new).end().exits(2).says(&["known/stock.toml", "hint: `mcp-hil baseline update`"]);
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
    done.prints(&["`known.toml` is unchanged"]);
    assert_eq!(place.read("known.toml"), text);
}

#[rstest]
#[case::no_run(&["baseline", "new", "none", "-o", "b.toml"], 2, &["none/report.json", "hint: "])]
#[case::no_file(&["baseline", "update", "run", "-o", "b.toml"], 2, &["run/report.json"])]
#[case::range(&["baseline", "new", "run", "-o", "b.toml", "--firmware", "two"], 2, &["`two` is not a range of versions"])]
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
    let done = place.hil(["run", "--baseline", "known.toml"]).end().exits(2);
    done.says(&["`known.toml`: unknown requirement `ids.ecco`", "did you mean `ids.echo`?"]);
    assert!(!place.path("target").exists(), "nothing was started");
}

#[rstest]
#[case::misspelt("ids/larg", "did you mean `ids/large`?")]
#[case::without_a_name("", "`mcp-hil list` shows all cases")]
fn a_case_that_there_is_not_is_refused(#[case] case: &str, #[case] hint: &str) {
    let place = Place::new();
    place.write("known.toml", format!("[[known]]\ncase = \"{case}\"\nreason = \"r\"\n"));
    let done = place.hil(["run", "--baseline", "known.toml"]).end().exits(2);
    done.says(&[&format!("`known.toml`: no case `{case}`"), hint]);
    // Another suite need not have it.
    let rules = ["--rules", "jsonrpc-2.0", "--only", "ids/large"];
    let run = ["run", "--dut", "native", "--baseline", "known.toml"];
    place.hil(run.into_iter().chain(rules)).end().exits(0);
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

/// A list that takes any failure of any case for known.
const ANYTHING: &str = "[[known]]\ncase = \"*\"\nreason = \"whatever it is\"\n";

#[test]
fn a_shipped_list_covers_a_crash_only_by_name_and_in_one_case() {
    let suite = Suite::load(&[], None).unwrap();
    let mut cases: Vec<String> = suite.cases.iter().map(|case| case.id.to_string()).collect();
    cases.extend(PROPERTIES.iter().map(|property| property.id.to_owned()));
    cases.extend([BRING_UP, CLOSE].map(str::to_owned));
    let catalogue = suite.catalogue.iter();
    let crashes: Vec<&str> =
        catalogue.map(|requirement| &*requirement.id).filter(|slug| is_liveness(slug)).collect();
    assert!(crashes.contains(&"liveness.no-panic"), "{crashes:?}");
    for path in shipped() {
        let name = path.display().to_string();
        let baseline = Baseline::load(&name, &std::fs::read_to_string(&path).unwrap()).unwrap();
        for (case, requirement) in cases.iter().flat_map(|case| {
            let crashes = crashes.iter();
            crashes.map(move |slug| (case, *slug))
        }) {
            let failing = Failing {
                case,
                requirement,
                transport: Some(Transport::WebSocket),
                firmware: Some("2.4.2"),
            };
            // A crash that a device is known for is listed by its requirement, in the one case that shows it.
            let covering = baseline.covering(&failing, "2030-01-01");
            let wide = covering.map(|at| &baseline.known[at]).filter(|entry| {
                entry.case != *case || entry.requirement.as_deref() != Some(requirement)
            });
            assert_eq!(wide, None, "{name}: {case} {requirement}");
        }
    }
}

#[rstest]
#[case::panic("stock-2.4-panics-at-large-id", "ids/large", "liveness.no-panic")]
#[case::generated("stock-2.4-panics-at-large-id", "properties/ids", "liveness.no-panic")]
#[case::process_end("stock-2.4-dies-at-fraction", "arguments/fraction", "liveness.no-reset")]
fn a_crash_in_a_case_that_may_fail_is_red(
    #[case] mutant: &str,
    #[case] case: &str,
    #[case] requirement: &str,
) {
    let place = Place::new();
    place.write("anything.toml", ANYTHING);
    for list in [&*shipped_file("xiaozhi-2.4.toml"), "anything.toml"] {
        let args = ["run", "--mutant", mutant, "--only", case, "--seed", "7"];
        let args = args.into_iter().chain(["--cases", "12", "--baseline", list]);
        place.hil(args).end().exits(1);
        let report = place.report();
        let cases = report["cases"].as_array().unwrap();
        let failed = cases.iter().find(|it| it["case"] == case).unwrap();
        let findings = failed["findings"].as_array().unwrap();
        let crash = findings.iter().find(|it| it["requirement"] == requirement);
        let crash = crash.unwrap_or_else(|| panic!("{list}: {failed:#}"));
        assert_eq!((&crash["verdict"], &crash["known"]), (&"fail".into(), &Value::Null));
        assert_eq!(failed["known"], Value::Null, "{list}");
    }
}

#[test]
fn an_entry_for_every_case_says_what_it_covered() {
    let place = Place::new();
    place.write("anything.toml", ANYTHING);
    let done = stock(&place, &["--only", "ids/large", "--baseline", "anything.toml"]).exits(0);
    let covered = &place.report()["summary"]["covered"];
    assert_eq!(covered[0]["entry"], "*", "{covered}");
    let failures = covered[0]["failures"].as_array().unwrap();
    assert!(failures.contains(&"ids/large:ids.echo".into()), "{covered}");
    let told = squeezed(&done);
    assert!(told.contains("covered * (any requirement): "), "{done}");
}

/// Runs over a transport; the folder of the run.
fn kept(place: &Place, mutant: &[&str], transport: &str) -> String {
    let only = ["run", "--only", "ids/", "--transport", transport];
    let code = i32::from(!mutant.is_empty());
    place.hil(only.iter().chain(mutant)).end().exits(code);
    let folder = std::fs::canonicalize(place.latest()).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn several_runs_show_what_fails_now_and_then_and_over_which_transport() {
    let place = Place::new();
    let stock = ["--mutant", "stock-2.4"];
    let bad = kept(&place, &stock, "websocket");
    let good = kept(&place, &[], "websocket");
    let entry = |file: &str| {
        let baseline = Baseline::load(file, &place.read(file)).unwrap();
        let known = baseline.known.into_iter();
        let mut own = known
            .filter(|it| it.case == "ids/large" && it.requirement.as_deref() == Some("ids.echo"));
        let entry = own.next().expect("an entry");
        assert_eq!(own.next(), None, "one entry");
        entry
    };
    let now_and_then = ["baseline", "new", &bad, &good, "-o", "seeds.toml"];
    place.hil(now_and_then).end().exits(0);
    let seeds = entry("seeds.toml");
    assert!(seeds.intermittent, "{seeds:?}");
    assert!(seeds.reason.ends_with("(in 1 of 2 runs of the case)"), "{seeds:?}");
    assert_eq!(seeds.transport, None);

    let other = kept(&place, &[], "mqtt");
    let over_one = ["baseline", "new", &bad, &other, "-o", "transports.toml"];
    let done = place.hil(over_one).end().exits(0);
    done.prints(&["added: ids/large:ids.echo over websocket"]);
    let transports = entry("transports.toml");
    assert!(!transports.intermittent, "{transports:?}");
    assert_eq!(transports.transport, Some(Transport::WebSocket));

    // The same run twice is not two.
    let twice = ["baseline", "new", &bad, &bad, "-o", "twice.toml"];
    place.hil(twice).end().exits(2).says(&["is given twice"]);
    // What the list has as failing always does not, in one run of two.
    place.hil(["baseline", "new", &bad, "-o", "always.toml"]).end().exits(0);
    let update = ["baseline", "update", &bad, &good, "-o", "always.toml"];
    let done = place.hil(update).end().exits(0);
    done.prints(&["to decide: ids/large:ids.echo: it does not fail in 1 of 2 runs"]);
}

#[test]
fn what_generated_inputs_show_is_listed_for_all_properties() {
    let place = Place::new();
    let args = ["--only", "properties/ids", "--only", "ids/", "--cases", "8", "--seed", "7"];
    stock(&place, &args).exits(1);
    let latest = place.latest();
    let new = ["baseline", "new", latest.to_str().unwrap(), "-o", "list.toml"];
    place.hil(new).end().exits(0);
    let baseline = Baseline::load("list.toml", &place.read("list.toml")).unwrap();
    let drawn = baseline.known.iter().filter(|it| it.case.starts_with("properties"));
    let mut slugs = BTreeSet::new();
    for known in drawn {
        assert!(known.intermittent, "{known:?}");
        match known.requirement.clone() {
            Some(slug) => {
                assert_eq!(known.case, "properties/");
                slugs.insert(slug);
            }
            // Answers under other ids are taken for those of other requests.
            None => assert_eq!(known.case, "properties/ids"),
        }
    }
    // Several requirements of ids were broken, and one of errors.
    let there = ["ids.", "errors.code-integer"].map(str::to_owned);
    assert!(there.iter().all(|slug| slugs.contains(slug)), "{slugs:?}");
    // With other inputs the list holds as well.
    let other = ["--only", "properties/ids", "--cases", "8", "--seed", "8"];
    stock(&place, &[&other[..], &["--baseline", "list.toml"]].concat()).exits(0);
}

#[test]
fn what_each_connection_shows_is_listed_for_every_case() {
    let place = Place::new();
    let run = |only: &str, list: &[&str]| {
        let args = ["run", "--mutant", "hello-transport-missing", "--only", only];
        place.hil(args.iter().chain(list)).end()
    };
    run("session/", &[]).exits(1);
    let latest = place.latest();
    let new = ["baseline", "new", latest.to_str().unwrap()];
    place
        .hil(new.iter().chain(&["-o", "list.toml"]))
        .end()
        .exits(0)
        .prints(&["added: *:hello.transport"]);
    let baseline = Baseline::load("list.toml", &place.read("list.toml")).unwrap();
    assert_eq!(baseline.known.len(), 1, "{baseline:?}");
    assert!(!baseline.known[0].intermittent, "{baseline:?}");
    // Connections of other cases show it as well.
    run("hello/", &["--baseline", "list.toml"]).exits(0);
}
